"""`workbench run` on tiny notebooks, each named for what is wrong with it."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import workbench
from workbench import resources

LIMIT_S = 120
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
PARAMETERS = 'amount: str = "150.00"  # ZMW\ncount: int = 1\npaid: bool = False\nname = "fern"'
ELSEWHERE = re.compile(
    r"""(?:src|href|action|data)\s*=\s*["']?\s*(?:https?:)?//"""
    r"""|url\(\s*["']?\s*(?:https?:)?//"""
    r"""|@import|\bimport\s*\(|\bfetch\s*\(|(?:from|import)\s+["'](?:https?:)?//""",
    re.IGNORECASE,
)
"""What would make a page ask another host."""


class Run(NamedTuple):
    """One `workbench run`: how it ended, what it said, what it wrote."""

    status: int
    said: str
    out: Path

    def notebook(self, name: str) -> nbformat.NotebookNode:
        return nbformat.read(self.out / f"{name}.ipynb", as_version=4)

    def page(self, name: str) -> str:
        return (self.out / f"{name}.html").read_text("utf-8")

    def printed(self, name: str) -> str:
        return "".join(
            output.get("text", "") for cell in self.notebook(name).cells for output in cell.get("outputs", ())
        )

    @property
    def suites(self) -> dict[str, ET.Element]:
        return {suite.get("name", ""): suite for suite in ET.parse(self.out / "junit.xml").getroot()}  # noqa: S314  our own


def write(folder: Path, name: str, *cells: str | nbformat.NotebookNode, metadata: dict[str, Any] = KERNEL) -> Path:
    """A notebook of these cells; a text is a code cell, or a heading."""
    made = [heading_or_code(cell) if isinstance(cell, str) else cell for cell in cells]
    for place, cell in enumerate(made):
        cell["id"] = f"cell-{place}"
    path = folder / f"{name}.ipynb"
    nbformat.write(new_notebook(cells=made, metadata=metadata), path)
    return path


def heading_or_code(text: str) -> nbformat.NotebookNode:
    return new_markdown_cell(text) if text.startswith("# ") else new_code_cell(text)


def parameters_cell() -> nbformat.NotebookNode:
    return new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})


@pytest.fixture(scope="module")
def run(command: str) -> Callable[..., Run]:
    def start(out: Path, *arguments: str | Path) -> Run:
        line = [command, "run", *map(str, arguments), "--out", str(out)]
        done = subprocess.run(  # noqa: S603  our own command
            line, capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
        return Run(done.returncode, done.stdout + done.stderr, out)

    return start


@pytest.fixture(scope="module")
def mixed(run: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run of a notebook that passes among four that do not."""
    folder = tmp_path_factory.mktemp("mixed")
    notebooks = [
        write(folder, "failing", "# Failing", "print('before')", "plants = {}\nplants['monstera']", "print('after')"),
        write(folder, "dead", "x = 1", "import os\nos._exit(3)", "print('after')"),
        folder / "not_json.ipynb",
        write(folder, "control", r"raise ValueError('\x1b[31mred\x00')"),
        write(folder, "passing", "# Passing", "print('hello from the notebook')", "6 * 7"),
    ]
    notebooks[2].write_text("not json")
    return run(folder / "out", *notebooks)


class TestFailures:
    def test_the_exit_status_is_1(self, mixed: Run):
        assert mixed.status == 1

    @pytest.mark.parametrize(
        "words",
        [
            "notebook failing, cell 3:\n    plants = {}\n    plants['monstera']\n  KeyError: 'monstera'",
            "notebook dead, cell 2:\n    import os\n    os._exit(3)\n  DeadKernelError",
        ],
        ids=["an exception", "a kernel that died"],
    )
    def test_a_failed_cell_is_named_with_its_source_and_error(self, mixed: Run, words: str):
        assert words in mixed.said

    @pytest.mark.parametrize(
        ("name", "error"), [("dead", "DeadKernelError"), ("not_json", "not json"), ("control", "ValueError")]
    )
    def test_what_else_goes_wrong_is_named_too(self, mixed: Run, name: str, error: str):
        assert f"notebook {name}" in mixed.said
        assert error in mixed.said

    def test_the_rest_still_runs(self, mixed: Run):
        assert "ok      passing: 2 cells" in mixed.said
        assert "1 passed, 4 failed" in mixed.said
        assert "hello from the notebook" in mixed.printed("passing")

    def test_a_failed_notebook_is_written_up_to_its_failure(self, mixed: Run):
        assert mixed.printed("failing") == "before\n"
        assert "monstera" in mixed.page("failing")

    def test_no_traceback_of_this_program_is_shown(self, mixed: Run):
        # A kernel that dies at its start, and is started once more, has one of its own.
        assert all("ipykernel_launcher.py" in each for each in mixed.said.split("Traceback")[1:]), mixed.said
        assert f'File "{Path(workbench.__file__).parent}' not in mixed.said

    @pytest.mark.parametrize(
        ("name", "tests", "failures", "skipped"),
        [("failing", 3, 1, 1), ("dead", 3, 1, 1), ("not_json", 1, 1, 0), ("control", 1, 1, 0), ("passing", 2, 0, 0)],
    )
    def test_junit_counts_a_case_for_each_cell(self, mixed: Run, name: str, tests: int, failures: int, skipped: int):
        suite = mixed.suites[name]
        assert [int(suite.get(each)) for each in ("tests", "failures", "skipped")] == [tests, failures, skipped]
        assert len(suite.findall("testcase")) == tests
        assert len(suite.findall("testcase/failure")) == failures
        assert len(suite.findall("testcase/skipped")) == skipped

    def test_junit_names_the_cell_and_holds_the_traceback(self, mixed: Run):
        failed = mixed.suites["failing"].find("testcase/failure/..")
        failure = failed.find("failure")
        assert failed.get("name") == "cell 3: plants = {}"
        assert failure.get("message") == "KeyError: 'monstera'"
        assert "plants['monstera']" in failure.text

    def test_junit_has_one_suite_for_each_notebook_in_their_order(self, mixed: Run):
        assert list(mixed.suites) == ["failing", "dead", "not_json", "control", "passing"]


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


def caught(source: str) -> str:
    """A cell that prints what an assert in it says."""
    lines = "\n".join(f"    {line}" for line in source.splitlines())
    return f"try:\n{lines}\nexcept AssertionError as error:\n    print(error)"


@pytest.fixture(scope="module")
def asserted(run: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("asserted")
    told = write(folder, "told", HOLDS, *(caught(source) for source, _ in ASSERTS.values()))
    return run(folder / "out", told, write(folder, "fails", ASSERTS["equal"][0]))


class TestAsserts:
    def test_a_bare_one_that_fails_shows_its_values_on_the_terminal_and_the_page(self, asserted: Run):
        said = f"AssertionError: {ASSERTS['equal'][1]}"
        assert f"    assert paid == due\n  {said}" in asserted.said
        assert "150 == 146" in asserted.page("fails")
        assert asserted.notebook("fails").cells[-1].outputs[-1].evalue == ASSERTS["equal"][1]

    @pytest.mark.parametrize("name", ASSERTS)
    def test_each_kind_says_what_its_values_were(self, asserted: Run, name: str):
        cell = asserted.notebook("told").cells[1 + [*ASSERTS].index(name)]
        assert ASSERTS[name][1] in cell.outputs[-1].text
        assert len(cell.outputs[-1].text) < 500

    def test_one_that_holds_leaves_nothing_behind(self, asserted: Run):
        assert asserted.notebook("told").cells[0].outputs[-1].text == "[]\n"


class TestPages:
    @pytest.mark.parametrize("name", ["passing", "failing"])
    def test_a_page_asks_no_other_host(self, mixed: Run, name: str):
        assert ELSEWHERE.findall(mixed.page(name)) == []

    def test_a_page_shows_what_was_printed(self, mixed: Run):
        assert "hello from the notebook" in mixed.page("passing")
        assert "<h1" in mixed.page("passing")

    def test_a_page_has_a_language_and_a_title(self, mixed: Run):
        assert re.search(r'<html[^>]* lang="en"', mixed.page("passing"))
        assert "<title>passing</title>" in mixed.page("passing")


@pytest.fixture(scope="module")
def parametrized(run: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("parametrized")
    notebook = write(folder, "shop", parameters_cell(), "print([amount, count, paid, name])")
    other = write(folder, "other", "print('untouched')")
    given = ("-p", "amount", "20.00", "-p", "count", "3", "-p", "paid", "yes", "-p", "name", 'it\'s "q" \\n ✓')
    return run(folder / "out", notebook, other, *given)


class TestParameters:
    def test_each_becomes_the_type_that_the_notebook_declares(self, parametrized: Run):
        assert parametrized.status == 0, parametrized.said
        assert parametrized.printed("shop").strip() == str(["20.00", 3, True, 'it\'s "q" \\n ✓'])

    def test_a_notebook_that_does_not_take_them_runs_without(self, parametrized: Run):
        assert "untouched" in parametrized.printed("other")

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            (("color", "green"), ("color", "amount, count, name, paid")),
            (("count", "three"), ("count", "int", "'three'")),
            (("paid", "perhaps"), ("paid", "bool", "'perhaps'")),
        ],
        ids=["unknown", "no_int", "no_bool"],
    )
    def test_a_wrong_one_is_refused_before_anything_runs(
        self, run: Callable[..., Run], tmp_path: Path, given: tuple[str, str], words: str | tuple[str, ...]
    ):
        done = run(tmp_path / "out", write(tmp_path, "shop", parameters_cell()), "-p", *given)
        assert done.status == 2
        assert all(each in done.said for each in words)
        assert not done.out.exists()

    def test_a_notebook_without_a_cell_tagged_parameters_says_so(self, run: Callable[..., Run], tmp_path: Path):
        done = run(tmp_path / "out", write(tmp_path, "plain", 'amount = "1.00"'), "-p", "amount", "2.00")
        assert done.status == 2
        assert "No cell of plain.ipynb is tagged parameters" in " ".join(done.said.split())

    def test_a_notebook_that_names_no_kernel_takes_them_too(self, run: Callable[..., Run], tmp_path: Path):
        notebook = write(tmp_path, "bare", parameters_cell(), "print(amount)", metadata={})
        done = run(tmp_path / "out", notebook, "-p", "amount", "20.00")
        assert done.status == 0, done.said
        assert done.printed("bare") == "20.00\n"


SHIPPED = "04_verify_webhooks"
"""The shipped notebook with the most in it that chance could change: signatures, ids, retries."""


@pytest.fixture(scope="module")
def runs(run: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("twice")
    notebook = write(
        folder,
        "steady",
        parameters_cell(),
        "import sys\nfor n in range(50):\n    print(n, flush=True)\n    print(n, file=sys.stderr, flush=True)",
        "print({'mtn', 'airtel', 'zamtel', amount})",
        "from workbench import Workbench\nbench = Workbench(seed=7)\nbench",
        "bench.client.charges.create(amount=100, channel='mtn', phone='+260961234567', idempotency_key='k')",
        "bench.trace",
        "from matplotlib.figure import Figure\nfrom workbench.render import picture\n"
        "figure = Figure(figsize=(2, 1))\nfigure.subplots().plot([1, 2])\npicture(figure, 'A line that rises.')",
        "bench.close()",
    )
    shipped = next(each for each in resources.notebooks() if each.stem == SHIPPED)
    return [
        run(folder / name, notebook, shipped, "--jobs", jobs, "-p", "amount", "7.00")
        for name, jobs in (("a", "1"), ("b", "2"))
    ]


@pytest.mark.thorough
class TestTwice:
    def test_both_pass_with_one_job_and_with_two(self, runs: list[Run]):
        assert [each.status for each in runs] == [0, 0], runs[0].said + runs[1].said

    @pytest.mark.parametrize("name", ["steady.ipynb", f"{SHIPPED}.ipynb", "steady.html", f"{SHIPPED}.html"])
    def test_two_runs_write_the_same_bytes(self, runs: list[Run], name: str):
        one, other = ((each.out / name).read_bytes() for each in runs)
        assert one == other

    def test_a_picture_stands_on_the_page_with_its_words(self, runs: list[Run]):
        (found,) = re.findall(r"<img[^>]*>", runs[0].page("steady"))
        assert 'alt="A line that rises."' in found
        assert 'src="data:image/png;base64,' in found

    def test_what_was_executed_is_valid_and_carries_no_trace_of_the_run(self, runs: list[Run]):
        node = runs[0].notebook("steady")
        nbformat.validate(node)
        for part in (node, *node.cells):
            assert not {"papermill", "execution", "widgets"} & part.metadata.keys()


class TestRefusals:
    def test_a_missing_notebook(self, run: Callable[..., Run], tmp_path: Path):
        there = write(tmp_path, "there", "1")
        done = run(tmp_path / "out", there, tmp_path / "nowhere.ipynb")
        assert done.status == 2
        assert "nowhere.ipynb" in done.said
        assert "Traceback" not in done.said
        assert not done.out.exists()

    @pytest.mark.parametrize("where", ["a_file", "a_file/below", "/dev/null/below"])
    def test_a_folder_that_cannot_be_written_to(self, run: Callable[..., Run], tmp_path: Path, where: str):
        (tmp_path / "a_file").write_text("")
        done = run(tmp_path / where, write(tmp_path, "mine", "1"))
        assert done.status == 2
        assert str(tmp_path / where) in done.said.replace("\n", "")
        assert "Traceback" not in done.said

    def test_two_notebooks_of_one_name(self, run: Callable[..., Run], tmp_path: Path):
        (tmp_path / "more").mkdir()
        pair = write(tmp_path, "same", "1"), write(tmp_path / "more", "same", "1")
        done = run(tmp_path / "out", *pair)
        assert done.status == 2
        assert "same" in done.said

    def test_a_notebook_is_never_written_over(self, run: Callable[..., Run], tmp_path: Path):
        notebook = write(tmp_path, "mine", "1")
        before = notebook.read_bytes()
        assert run(tmp_path, notebook).status == 2
        assert notebook.read_bytes() == before

    @pytest.mark.parametrize(
        "option", [("--jobs", "0"), ("--jobs", "many"), ("-p", "alone")], ids=["none", "word", "half"]
    )
    def test_an_option_that_makes_no_sense(self, run: Callable[..., Run], tmp_path: Path, option: tuple[str, str]):
        assert run(tmp_path / "out", write(tmp_path, "mine", "1"), *option).status == 2
