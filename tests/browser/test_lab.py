"""The harness itself: it runs this checkout, and what must not happen is noticed."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

ROOT = Path(__file__).resolve().parents[2]


def test_what_fails_is_noticed(lab: "Lab"):
    lab.open(["from IPython.display import HTML; HTML('<button></button>')", "1 / 0"])
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        lab.run_all()
    assert lab.run("import workbench; print(workbench.__file__)").startswith(str(ROOT))
    (found,) = lab.axe(lab.output(0).locator("button"))
    assert found.startswith("button-name")
    lab.page.evaluate("() => fetch('http://example.org/').catch(() => console.error('no way out'))")
    with pytest.raises(AssertionError, match="other machines"):
        lab.watch.check()
    assert lab.watch.outside == ["http://example.org/"]
    lab.watch.outside.clear()
    with pytest.raises(AssertionError, match="no way out"):
        lab.watch.check()
    lab.watch.expect("no way out|ERR_NAME_NOT_RESOLVED|Content Security Policy|violates")
