"""The notebooks that `workbench lab` brings: what is somebody's own is never written over."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import invoke
from workbench.errors import LabRefused
from workbench.lab.server import Copies, bring
from workbench.resources import course, former_names

NAMES = A, B = ("00_a.ipynb", "01_b.ipynb")


def ship(folder: Path, content: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in NAMES:
        (folder / name).write_text(f"{content} {name}")
    return folder


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    return ship(tmp_path / "shipped", "first")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mine"


def within(shipped: Path) -> dict[str, Path]:
    return {each.relative_to(shipped).as_posix(): each for each in shipped.rglob("*.ipynb")}


def brought(shipped: Path, folder: Path) -> Copies:
    return bring(within(shipped), folder)


def test_what_has_the_name_of_a_notebook_and_is_none_is_theirs(shipped: Path, folder: Path):
    brought(shipped, folder)
    elsewhere = folder / "elsewhere"
    elsewhere.write_text((folder / A).read_text())
    for name in NAMES:
        (folder / name).unlink()
    (folder / A).symlink_to(elsewhere)
    (folder / B).mkdir()
    ship(shipped, "second")
    assert brought(shipped, folder) == Copies(theirs=NAMES)
    assert (folder / A).is_symlink()
    assert elsewhere.read_text() == f"first {A}"


@pytest.mark.parametrize("damaged", ["", "{", "[]", '"x"', "\udcff", '{"00_a.ipynb": 7, "01_b.ipynb": null}'])
def test_without_its_memory_it_touches_nothing_but_what_is_as_shipped(shipped: Path, folder: Path, damaged: str):
    brought(shipped, folder)
    (folder / ".workbench" / "brought.json").write_text(damaged, errors="surrogateescape")
    (folder / A).write_text("mine")
    assert brought(shipped, folder) == Copies(same=(B,), theirs=(A,))
    ship(shipped, "second")
    assert brought(shipped, folder) == Copies(updated=(B,), theirs=(A,))


@pytest.fixture
def older(folder: Path) -> Path:
    """A folder of the notebooks as an earlier version named them, the first of them edited."""
    before = folder.parent / "before"
    before.mkdir()
    for name in WAS:
        (before / name).write_text(f"before {name}")
    brought(before, folder)
    (folder / "07_a.ipynb").write_text("mine")
    (folder / "99_b.ipynb").write_text("a copy of one's own")
    (folder / ".workbench" / "workspaces").mkdir()
    (folder / LAYOUT).write_text("open: 07_a.ipynb, 08_b.ipynb, 99_b.ipynb")
    return folder


LAYOUT = ".workbench/workspaces/default"
WAS = ("07_a.ipynb", "08_b.ipynb")
FORMER = {A: ["06_a.ipynb", "07_a.ipynb"], B: ["08_b.ipynb"]}


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def kept_before(older: Path) -> None:
    """The folder of what is kept has one by that name, and an older name is no file but a link."""
    (older / "earlier").mkdir()
    (older / "earlier" / "07_a.ipynb").write_text("kept before")
    (older / "08_b.ipynb").unlink()
    (older / "08_b.ipynb").symlink_to("07_a.ipynb")


@pytest.mark.parametrize(("happens", "former", "copies", "earlier"), [
    (lambda _: None, FORMER, Copies(new=NAMES, kept=("07_a.ipynb",)), {"07_a.ipynb": "mine"}),
    (lambda older: (older / "08_b.ipynb").write_text("mine, too"), {A: [*WAS]}, Copies(new=NAMES, kept=WAS),
     {"07_a.ipynb": "mine", "08_b.ipynb": "mine, too"}),
    (lambda older: (older / ".workbench" / "brought.json").unlink(), FORMER, Copies(new=NAMES, kept=WAS),
     {"07_a.ipynb": "mine", "08_b.ipynb": "before 08_b.ipynb"}),
    (kept_before, FORMER, Copies(new=NAMES), {"07_a.ipynb": "kept before"}),
], ids=["one was changed", "two became one", "its memory is gone", "the place is taken"])  # fmt: skip
def test_what_was_changed_under_an_older_name_is_kept_apart_and_the_rest_goes(
    shipped: Path, older: Path, happens: Callable[[Path], object], former: dict[str, list[str]], copies: Copies,
    earlier: dict[str, str],
):  # fmt: skip
    happens(older)
    assert bring(within(shipped), older, former) == copies
    left = {} if copies.kept else {"07_a.ipynb": "mine", "08_b.ipynb": "mine"}
    assert files(older) == {A: f"first {A}", B: f"first {B}", "99_b.ipynb": "a copy of one's own", **left}
    assert files(older / "earlier") == earlier
    named = "07_a.ipynb, 08_b.ipynb, 99_b.ipynb" if left else "00_a.ipynb, 01_b.ipynb, 99_b.ipynb"
    if former is FORMER:
        assert (older / LAYOUT).read_text() == f"open: {named}"
    if len(copies.kept) == 1:
        assert str(copies) == "2 new, 1 that you changed in an earlier course, now in earlier/ (07_a.ipynb)"
    if copies.kept:
        assert bring(within(shipped), older, former) == Copies(same=NAMES)
        ship(shipped, "second")
        assert bring(within(shipped), older, former) == Copies(updated=NAMES)
        assert files(older / "earlier") == earlier


def test_a_notebook_beside_the_course_has_its_own_folder(shipped: Path, folder: Path):
    (shipped / "more").mkdir()
    (shipped / "more" / "c.ipynb").write_text("beside")
    assert brought(shipped, folder) == Copies(new=(*NAMES, "more/c.ipynb"))
    assert (folder / "more" / "c.ipynb").read_text() == "beside"


def test_the_older_names_of_the_notebooks_are_of_files_that_are_not_shipped_now():
    shipped = {each.within for each in course().values()}
    older = [name for names in former_names().values() for name in names]
    assert len({*older}) == len(older)
    assert shipped.isdisjoint(older)


@given(st.lists(st.tuples(st.sampled_from(["ship", "edit", "delete"]), st.sampled_from("xyz")), max_size=12))
@settings(max_examples=50, deadline=None)
def test_whatever_happens_each_notebook_is_brought_or_left_as_is_said_and_no_edit_is_lost(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
):
    top = tmp_path_factory.mktemp("steps")
    shipped, mine, last_brought = top / "n.ipynb", top / "mine" / "n.ipynb", ""
    for step, text in [("ship", "x"), *steps]:
        if step == "delete":
            mine.unlink(missing_ok=True)
        else:
            (shipped if step == "ship" else mine).write_text(text)
        before, now = mine.read_text() if mine.exists() else "", shipped.read_text()
        kinds = (("new", ""), ("same", now), ("updated", last_brought))
        kind = next((kind for kind, text in kinds if before == text), "theirs")
        files = {each: each.stat().st_mtime_ns for each in mine.parent.rglob("*")}
        assert bring({shipped.name: shipped}, mine.parent) == Copies(**{kind: (mine.name,)})
        assert mine.read_text() == (before if kind == "theirs" else now)
        if kind == "same" and last_brought == now:
            assert {each: each.stat().st_mtime_ns for each in mine.parent.rglob("*")} == files
        last_brought = last_brought if kind == "theirs" else now


def test_what_cannot_be_written_is_refused_and_leaves_nothing_behind(
    shipped: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.replace", refuse)
        with pytest.raises(LabRefused, match="no space left on device"):
            brought(shipped, folder)
    assert [path.name for path in folder.iterdir()] == [".workbench"]
    copies = brought(shipped, folder)
    assert copies == Copies(new=NAMES)
    assert str(copies._replace(theirs=("d", "e"))) == "2 new, 2 of your own, left as they are (d, e)"


def test_a_port_that_is_taken_and_a_folder_that_is_a_file_are_said(folder: Path):
    def lab(port: str) -> str:
        done = invoke("lab", folder, "--port", port, "--no-browser")
        assert done.exit_code == 2
        return " ".join(done.output.split())

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"Another program listens on 127.0.0.1:{port} already. Name another port, or 0" in lab(port)
    assert not folder.exists()
    folder.write_text("mine")
    said = lab("0")
    assert "cannot be written into" in said
    assert "Name another folder" in said
    assert folder.read_text() == "mine"
