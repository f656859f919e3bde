"""The results as JUnit XML, which every CI reads: a suite for each notebook, a case for each code cell."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from workbench.domain.masking import xml_text
from workbench.runner.execution import Failure, Result


def write_junit(results: Sequence[Result], path: Path) -> None:
    """Write `junit.xml`; times are in seconds."""
    root = ET.Element("testsuites", name="notebooks")
    for result in results:
        root.append(_suite(result))
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _suite(result: Result) -> ET.Element:
    suite = ET.Element("testsuite", name=result.name, time=f"{result.seconds:.3f}")
    failure = result.failure
    for each in result.timings:
        case = _case(suite, result.name, f"cell {each.cell}: {each.line}", each.seconds)
        if failure and failure.cell == each.cell:
            _failure(case, failure)
        elif not each.ran:
            ET.SubElement(case, "skipped", message="a cell before it failed")
    if failure and all(failure.cell != each.cell for each in result.timings):
        _failure(_case(suite, result.name, "notebook", result.seconds), failure)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    return suite


def _case(suite: ET.Element, notebook: str, name: str, seconds: float) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=notebook, name=xml_text(name), time=f"{seconds:.3f}")


def _failure(case: ET.Element, failure: Failure) -> None:
    element = ET.SubElement(case, "failure", message=xml_text(failure.error))
    element.text = xml_text(f"{failure}\n\n{failure.traceback}")
