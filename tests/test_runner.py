"""`workbench run` on tiny notebooks, each named for what is wrong with it; each run of it serves many tests."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import ANY
from xml.etree import ElementTree as ET

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import workbench
from tests.conftest import KERNEL, invoke, is_true_soon
from workbench import resources
from workbench.notebook_runs import unwrapped

LIMIT_S = 300
ELSEWHERE = re.compile(
    r"""(?:src|href|action|data)\s*=\s*["']?\s*(?:https?:)?//"""
    r"""|url\(\s*["']?\s*(?:https?:)?//"""
    r"""|@import|\bimport\s*\(|\bfetch\s*\(|(?:from|import)\s+["'](?:https?:)?//""",
    re.IGNORECASE,
)
"""What would make a page ask another host."""
ASSERTS = {
    "equal": ("paid, due = 150, 146\nassert paid == due", "paid == due, with 150 == 146"),
    "text": ('assert "failed" == "succeeded"', "'failed' == 'succeeded'"),
    "within": ("def check(it):\n    assert 3 in it\ncheck([1, 2])", "3 in it, with 3 in [1, 2]"),
    "not": ("assert not len([7])", "not len([7]), with 1"),
    "name": ("found = {}\nassert found", "found, with {}"),
    "said": ("x = 1\nassert x == 2, 'the reason'", "the reason"),
    "once": ("seen = iter([1, 2])\nassert next(seen) == 2", "next(seen) == 2, with 1 == 2"),
    "chain": ("assert 1 < 3 < 2", "1 < 3 < 2, with False"),
    "masked": ("phone = '+260961234567'\nassert phone == ''", "phone == '', with '+26096••••567' == ''"),
    "long": ("assert list(range(10_000)) == 0", "18, 19, ...] == 0"),
    "odd": ("class Odd:\n    def __repr__(self): raise ValueError\nassert Odd()  == 1", "with <Odd instance"),
}
HOLDS = "assert 1 + 1 == 2\nassert 'a' in 'abc'\nassert [1]\nprint([each for each in dir() if 'assert' in each])"
SETUP = (
    "from decimal import Decimal\nfrom workbench import Workbench, exercises\nbench = Workbench(seed=7)\n"
    'phone, provider = "+260961234567", "mtn"'
)
ACTS = '<svg xmlns="http://www.w3.org/2000/svg" class="wb-drawn"><script>acts()</script></svg>'
RAW = [
    f"{SETUP}\n%load_ext workbench",
    "%%http\nGET /v1/balance\nAuthorization: Bearer $bench.secret_key",
    f"from IPython.display import SVG\nassert _.status_code == 200\ndisplay(SVG({ACTS!r}))\nbench.trace.sequence",
    "%%http\nPSOT /v1/balance",
    "print('went on')",
]
PARAMETERS = 'amount: str = "150.00"  # ZMW\ncount: int = 1\npaid: bool = False\nname = "fern"'
SHOWN = "print([amount, count, paid, name])"
BLANK = '# Your code goes here.\n\nexercises.check("second_payment", bench)'
CELL = {"cell_type": "code", "id": "a", "metadata": {}, "source": "1", "outputs": [], "execution_count": None}
EMPTY = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}}
NO_NOTEBOOKS = {
    "not_json": "not json",
    "bad_id": json.dumps({**EMPTY, "cells": [{**CELL, "id": "a b c"}]}),
    "no_source": json.dumps({**EMPTY, "cells": [{name: CELL[name] for name in CELL if name != "source"}]}),
    "no_cells": json.dumps(EMPTY),
}
OLDER = {**EMPTY, "nbformat_minor": 4, "cells": [{name: CELL[name] for name in CELL if name != "id"}]}
"""A notebook as programs write it that give their cells no ids."""


class Run(NamedTuple):
    """One `workbench run`: how it ended, what it said, what it wrote."""

    status: int
    said: str
    out: Path

    def notebook(self, name: str) -> nbformat.NotebookNode:
        return nbformat.read(self.out / f"{name}.ipynb", as_version=4)

    def page(self, name: str) -> str:
        return (self.out / f"{name}.html").read_text("utf-8")

    def printed(self, name: str, tag: str = "") -> str:
        """What its cells print, or those with this tag."""
        cells = [each for each in self.notebook(name).cells if not tag or tag in each.metadata.get("tags", ())]
        outputs = [output for cell in cells for output in cell.get("outputs", ())]
        return "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)

    @property
    def suites(self) -> dict[str, ET.Element]:
        return {suite.get("name", ""): suite for suite in ET.parse(self.out / "junit.xml").getroot()}  # noqa: S314  our own


def write(folder: Path, name: str, *cells: str | nbformat.NotebookNode, metadata: dict[str, Any] = KERNEL) -> Path:
    """A notebook of these cells; a text is a code cell, or a heading."""
    made = [
        each if not isinstance(each, str) else (new_markdown_cell if each.startswith("# ") else new_code_cell)(each)
        for each in cells
    ]
    for place, cell in enumerate(made):
        cell["id"] = f"cell-{place}"
    path = folder / f"{name}.ipynb"
    nbformat.write(new_notebook(cells=made, metadata=metadata), path)
    return path


def tagged(source: str, tag: str) -> nbformat.NotebookNode:
    return new_code_cell(source, metadata={"tags": [tag]})


def caught(source: str) -> str:
    """A cell that prints what an assert in it says."""
    lines = "\n".join(f"    {line}" for line in source.splitlines())
    return f"try:\n{lines}\nexcept AssertionError as error:\n    print(error)"


@pytest.fixture(scope="module")
def run(command: str) -> Callable[..., Run]:
    def start(out: Path, *arguments: str | Path, **variables: str) -> Run:
        done = subprocess.run(  # noqa: S603  our own command
            [command, "run", *map(str, arguments), "--out", str(out)],
            capture_output=True, text=True, check=False, timeout=LIMIT_S, env={**os.environ, **variables},
        )  # fmt: skip
        return Run(done.returncode, done.stdout + done.stderr, out)

    return start


@pytest.fixture(scope="module")
def mixed(run: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run of two notebooks that pass among those that do not, with parameters, for a person with progress."""
    folder, kept = tmp_path_factory.mktemp("mixed"), tmp_path_factory.mktemp("kept")
    fails = r"plants = {}" + "\n" + r"raise ValueError('\x1b[31mred\x00')"
    notebooks = [
        write(folder, "failing", "# Failing", "print('before')", fails, "print('after')"),
        write(folder, "dead", "x = 1", "import os\nos._exit(3)", "print('after')"),
        write(folder, "asserts", HOLDS, *(caught(each) for each, _ in ASSERTS.values()), ASSERTS["equal"][0]),
        write(folder, "raw", *RAW),
        write(folder, "raises", tagged("1 / 0", "raises-exception"), "print('went on')"),
        write(folder, "raises_more", tagged("1 / 0", "raises-exception"), "raise KeyError"),
        write(folder, "shop", "# Shop", tagged(PARAMETERS, "parameters"), SHOWN, metadata={}),
        write(folder, "exercises", f"print('untouched')\n{SETUP}", tagged(BLANK, "exercise")),
    ]
    for name, text in {"older": json.dumps(OLDER), **NO_NOTEBOOKS}.items():
        notebooks.append(folder / f"{name}.ipynb")
        notebooks[-1].write_text(text)
    given = ("-p", "amount", "20.00", "-p", "count", "3", "-p", "paid", "yes", "-p", "name", 'it\'s "q" \\n ✓')
    person = {"WORKBENCH_PROGRESS": str(kept / "progress.json"), "JPY_SESSION_NAME": "x"}
    done = run(folder / "out", *notebooks, *given, **person)
    assert list(kept.iterdir()) == []
    assert not (folder / ".workbench").exists()
    return done


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words",
    [
        "notebook failing, cell 3:\n    plants = {}\n    raise ValueError('\\x1b[31mred\\x00')\n  ValueError: ",
        "notebook dead, cell 2:\n    import os\n    os._exit(3)\n  DeadKernelError",
        f"    assert paid == due\n  AssertionError: {ASSERTS['equal'][1]}",
        "notebook raises_more, cell 2:\n    raise KeyError\n  KeyError: ",
        "ok      raises: 2 cells",
        "notebook raw, cell 4:\n    %%http\n    PSOT /v1/balance\n  UsageError: Line 2: 'PSOT' is no method",
        *(f"  notebook {name}\n" for name in NO_NOTEBOOKS),
        *(f"FAILED  {name}: " for name in NO_NOTEBOOKS),
    ],
)
def test_each_failure_is_named_with_its_source_and_error(mixed: Run, words: str):
    assert mixed.status == 1
    assert words in mixed.said


def test_the_rest_still_runs_a_failed_notebook_is_written_up_to_its_failure_and_no_traceback_is_shown(mixed: Run):
    assert "ok      shop: 2 cells" in mixed.said
    shown = [line.split() for line in mixed.said.splitlines()]
    passed = ["shop", "ok", ANY, "s", str(mixed.out / "shop.html")]
    failed = ["not_json", "FAILED", ANY, "s", "none"]
    assert passed in shown
    assert failed in shown
    assert [row[0] for row in shown if row[3:4] == ["s"]] == [*mixed.suites], "in their order"
    assert f"4 passed, 9 failed; see {mixed.out}".split() in shown
    assert mixed.printed("failing") == "before\n"
    assert len(mixed.notebook("raises").cells) == 2, "with no note of a failure"
    assert "plants" in mixed.page("failing")
    assert "150 == 146" in mixed.page("asserts")
    # A kernel that dies at its start, and is started once more, has a traceback of its own.
    assert all("ipykernel_launcher.py" in each for each in mixed.said.split("Traceback")[1:]), mixed.said
    assert f'File "{Path(workbench.__file__).parent}' not in mixed.said
    assert not {"\x1b", "\x00"} & set(mixed.said)


def test_junit_has_a_suite_for_each_notebook_in_their_order_and_a_case_for_each_cell(mixed: Run):
    paths = ("testcase", "testcase/failure", "testcase/skipped")
    counted = {name: [len(suite.findall(each)) for each in paths] for name, suite in mixed.suites.items()}
    assert list(counted.items())[:10] == [
        ("failing", [3, 1, 1]), ("dead", [3, 1, 1]), ("asserts", [len(ASSERTS) + 2, 1, 0]), ("raw", [5, 1, 1]),
        ("raises", [2, 0, 0]), ("raises_more", [2, 1, 0]), ("shop", [2, 0, 0]), ("exercises", [2, 0, 0]),
        ("older", [1, 0, 0]), ("not_json", [1, 1, 0]),
    ]  # fmt: skip
    assert list(counted)[-len(NO_NOTEBOOKS) :] == list(NO_NOTEBOOKS)
    for name, suite in mixed.suites.items():
        assert [int(suite.get(each, "")) for each in ("tests", "failures", "skipped")] == counted[name]
    failed = mixed.suites["failing"].find("testcase/failure/..")
    assert failed.get("name") == "cell 3: plants = {}"
    assert failed.find("failure").get("message", "").startswith("ValueError: ")


def test_each_kind_of_assert_says_what_its_values_were(mixed: Run):
    cells = {each["id"]: each for each in mixed.notebook("asserts").cells}
    assert cells["cell-0"].outputs[-1].text == "[]\n", "one that holds leaves nothing behind"
    for place, (_, words) in enumerate(ASSERTS.values(), start=1):
        text = cells[f"cell-{place}"].outputs[-1].text
        assert words in text
        assert len(text) < 500
    assert cells[f"cell-{len(ASSERTS) + 1}"].outputs[-1].evalue == ASSERTS["equal"][1]


def test_a_page_asks_no_other_host_and_has_a_language_a_title_its_words_folds_and_diagrams(mixed: Run):
    page = mixed.page("shop")
    assert ELSEWHERE.findall(page + mixed.page("failing")) == []
    assert re.search(r'<html[^>]* lang="en"', page)
    assert all(each in page for each in ("<title>shop</title>", "<h1", "20.00", "<summary>Parameters</summary>"))
    # In the page itself: over a time in Lusaka it shows the moment in UTC. One that holds more than shapes is an image.
    page = mixed.page("raw")
    diagram = re.search(r'<div class="svg wide"><svg [^>]*aria-label="Messages, in order.*?</svg>', page, re.DOTALL)
    assert re.search(r">\d\d:\d\d:\d\d<title>[-\d]+ [:\d]+ UTC</title>", diagram[0])
    assert re.search(r'<img[^>]* src="data:image/svg\+xml;base64,[^>]*>', page)
    assert "<script>acts" not in page


def test_each_parameter_becomes_the_type_that_the_notebook_declares_and_another_runs_without(mixed: Run):
    assert mixed.printed("shop").strip() == str(["20.00", 3, True, 'it\'s "q" \\n ✓'])
    assert mixed.printed("exercises").startswith("untouched\n")


def test_an_exercise_that_is_not_done_is_no_error_and_said(mixed: Run):
    assert "ok      exercises: 2 cells" in mixed.said
    assert mixed.printed("exercises", "exercise").startswith("Not done yet: No intent with the description Fern")


@pytest.mark.thorough
def test_an_exercise_whose_solution_does_not_prove_right_fails_its_notebook(run: Callable[..., Run], tmp_path: Path):
    # The PIN is for another payment, and the Fern is sold by another sandbox.
    asks = "intent = bench.client.payment_intents.create(amount=Decimal(1))\n"
    asks += "bench.client.payment_intents.confirm(intent.id, phone=phone, provider=provider)\n"
    asks += "pay = Workbench(seed=8).client"
    notebooks = [
        write(tmp_path, "elsewhere", SETUP, asks, tagged(BLANK, "exercise")),
        write(tmp_path, "unknown", SETUP, tagged(BLANK.replace("second_payment", "no_such"), "exercise")),
        write(tmp_path, "unchecked", SETUP, tagged("# Your code goes here.", "exercise")),
    ]
    done = run(tmp_path / "out", *notebooks, "--solutions", "--jobs", "1")
    assert done.status == 1
    for words in (
        "notebook elsewhere", "ExerciseNotDone: The exercise second_payment is not done: No intent with",
        "notebook unknown", "RunRefused: A cell tagged exercise has the check of 'no_such', which is no exercise",
        "notebook unchecked", "RunRefused: A cell tagged exercise has the check of no exercise",
    ):  # fmt: skip
        assert words in done.said
    assert "Traceback" not in done.said
    assert 'Decimal("35.50")' in (tmp_path / "out" / "elsewhere.ipynb").read_text().replace("\\", "")


@pytest.mark.thorough
def test_two_runs_write_the_same_bytes_with_one_job_and_with_two_and_no_trace_of_the_run(
    run: Callable[..., Run], tmp_path: Path
):
    notebook = write(
        tmp_path,
        "steady",
        tagged(PARAMETERS, "parameters"),
        "import sys\nfor n in range(50):\n    print(n, flush=True)\n    print(n, file=sys.stderr, flush=True)",
        "print({'mtn', 'airtel', 'zamtel', amount})",
        "from matplotlib.figure import Figure\nfrom workbench.text.render import picture\n"
        "figure = Figure(figsize=(2, 1))\nfigure.subplots().plot([1, 2])\npicture(figure, 'A line that rises.')",
    )
    # The shipped notebook with the most in it that chance could change: signatures, ids, retries.
    shipped = resources.course()["verify_webhooks"].path
    runs = [run(tmp_path / jobs, notebook, shipped, "-p", "amount", "7.00", "--jobs", jobs) for jobs in ("1", "2")]
    assert [each.status for each in runs] == [0, 0], runs[0].said + runs[1].said
    for name in ("steady", shipped.stem):
        assert len({each.page(name) for each in runs}) == len({str(each.notebook(name)) for each in runs}) == 1
    shown = runs[0].page(shipped.stem)
    assert f'href="{resources.notebooks()[0].stem}.html#Contents"' in shown
    assert re.findall(r'href="\w+\.ipynb', shown) == []
    (found,) = re.findall(r"<img[^>]*>", runs[0].page("steady"))
    assert all(each in found for each in ('alt="A line that rises."', 'src="data:image/png;base64,'))
    node = runs[0].notebook("steady")
    nbformat.validate(node)
    for part in (node, *node.cells):
        assert not {"papermill", "execution", "widgets"} & part.metadata.keys()


def test_a_shipped_notebook_is_named_without_folder_number_or_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for slug, row in resources.course().items():
        shipped = row.path
        names = (slug, shipped.stem, f"99_{slug}", shipped.name, *row.former_names)
        assert {resources.notebook(each) for each in names} == {shipped}
        (tmp_path / shipped.name).write_text("")
        assert resources.notebook(shipped.name) == Path(shipped.name), "their own first"
    assert resources.notebook("sub/going_live") == Path("sub/going_live")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("there", "nowhere"), ["nowhere.ipynb"]),
        (("there", "7_verify_webhook"), ["7_verify_webhook is not a notebook here", "Did you mean"]),
        (("there", "orchids"), ["The shipped notebooks are: start_here, "]),
        (("there", "more/there"), ["there"]),
        (("there", "--jobs", "0"), ["--jobs"]),
        (("there", "-p", "alone"), ["-p"]),
        (("shop", "-p", "color", "green"), ["color", "amount, count, name, paid"]),
        (("shop", "-p", "count", "three"), ["count", "int", "'three'"]),
        (("shop", "-p", "paid", "perhaps"), ["paid", "bool", "'perhaps'"]),
        (("there", "-p", "amount", "2.00"), ["No cell of there.ipynb is tagged parameters and assigns"]),
        (("empty", "-p", "amount", "2.00"), ["No cell of empty.ipynb is tagged parameters and assigns a name"]),
        (("there", "--out", "a_file"), ["a_file"]),
        (("there", "--out", "/dev/null/below"), ["/dev/null/below"]),
        (("there", "--out", "."), ["never overwritten"]),
    ],
)
def test_what_is_refused_is_said_in_a_line_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: list[str]
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more").mkdir()
    (tmp_path / "a_file").write_text("")
    for folder, name in ((tmp_path, "there"), (tmp_path / "more", "there"), (tmp_path, "shop")):
        write(folder, name, tagged(PARAMETERS, "parameters") if name == "shop" else 'amount = "1.00"')
    write(tmp_path, "empty", tagged("# amount", "parameters"))
    before = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
    notebooks = {"there", "shop", "empty", "nowhere", "more/there"}
    given = [f"{each}.ipynb" if each in notebooks else each for each in arguments]
    done = invoke("run", *(() if "--out" in given else ("--out", "out")), *given)
    assert done.exit_code == 2
    said = " ".join(done.output.split())
    assert all(each in said for each in words), said
    assert "Traceback" not in said
    assert {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()} == before
    assert not (tmp_path / "out").exists()


def test_a_notebook_that_an_interrupted_run_does_not_finish_fails_in_the_report(command: str, tmp_path: Path):
    begun = tmp_path / "begun"
    path = write(tmp_path, "slow", f"import time\nopen({str(begun)!r}, 'w').close()\ntime.sleep({LIMIT_S})")
    with subprocess.Popen([command, "run", path, "--out", tmp_path / "out"], stderr=subprocess.PIPE) as running:  # noqa: S603  our own command
        assert is_true_soon(begun.exists, 60)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert (running.returncode, b"Interrupted" in said) == (2, True)
    (suite,) = Run(2, "", tmp_path / "out").suites.values()
    assert (suite.get("name"), suite.get("failures")) == ("slow", "1")


def test_lines_in_columns_are_marked_to_stay_so_and_others_may_be_wrapped():
    aligned, long = "key   amount\n───   ──────\n7001  150.00\n", "pi_" + "a" * 20
    made = unwrapped(f"<pre>Rows of\n{aligned}x = 1  # why\n</pre><td>K1,150.00 paid</td><td>{long}</td>")
    assert made.startswith(f'<pre>Rows of\n<span class="aligned">{aligned}</span>x = 1  # why\n</pre>')
    assert made.endswith(f"<td>K1,150.00 paid</td><td data-long>{long}</td>")
    coloured = '<pre><span class="ansi-red">Error</span>   Traceback\nmore</pre>'
    assert unwrapped(coloured) == f'<pre><span class="aligned">{coloured[5:-6]}</span></pre>'
