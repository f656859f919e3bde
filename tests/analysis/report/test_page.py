"""The page: complete in itself, readable without seeing its figures, and no text of the inputs is markup."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.analysis.breaks import BREAK_CODES
from workbench.analysis.report import page, write_page
from workbench.analysis.report.captions import headline, proofs
from workbench.errors import ReportRefused

Make = Callable[..., SimpleNamespace]
Row = Callable[..., dict[str, Any]]
VOID = {"meta", "link", "img", "br", "input", "hr"}


class Outline(HTMLParser):
    """Tags in order with their attributes, the text of each, and what was left open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data.strip()))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def text_of(self, tag: str) -> list[str]:
        return [text for inside, text in self.texts if inside == tag]


@pytest.fixture(scope="module")
def written(reconciled: Make) -> str:
    return page.page(reconciled())


class TestSelfContained:
    def test_every_tag_is_closed(self, written: str):
        assert Outline(written).open == []

    def test_nothing_is_fetched_and_nothing_runs(self, written: str):
        outline = Outline(written)
        assert not {"script", "iframe", "object", "embed", "form", "base", "a"} & {tag for tag, _ in outline.tags}
        targets = [
            value for _, attributes in outline.tags for name, value in attributes.items() if name in {"src", "href"}
        ]
        assert len(targets) == 4
        assert all(value and value.startswith("data:") for value in targets)
        assert re.findall(r"https?:|url\(|@import|//[a-z]", re.sub(r'src="data:[^"]*"', "", written)) == []
        assert [name for _, attributes in outline.tags for name in attributes if name.startswith("on")] == []

    def test_its_own_policy_forbids_all_else(self, written: str):
        policies = [each["content"] for each in Outline(written).all("meta") if each.get("http-equiv")]
        assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]

    def test_the_same_results_are_the_same_bytes(self, tmp_path: Path, reconciled: Make, written: str):
        write_page(reconciled(), tmp_path / "again.html")
        assert (tmp_path / "again.html").read_bytes() == written.encode()


class TestReadable:
    def test_headings_are_in_order(self, written: str):
        levels = [int(tag[1]) for tag, _ in Outline(written).tags if re.fullmatch(r"h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))

    def test_tables_have_captions_and_their_headings_a_scope(self, written: str):
        outline = Outline(written)
        assert len(outline.all("table")) == len(outline.all("caption")) > 5
        assert {each.get("scope") for each in outline.all("th")} == {"col", "row"}

    def test_what_scrolls_can_be_reached_and_has_a_name(self, written: str):
        outline = Outline(written)
        ids = [each["id"] for _, each in outline.tags if "id" in each]
        regions = [each for each in outline.all("div") if each.get("class") == "scroll"]
        assert len(ids) == len(set(ids))
        assert len(regions) == len(outline.all("table"))
        assert all(each["tabindex"] == "0" and each["aria-labelledby"] in ids for each in regions)

    def test_every_figure_is_told_in_words(self, written: str):
        alts = [each["alt"] or "" for each in Outline(written).all("img")]
        assert len(alts) == 3
        assert any("0–1 days: 2 breaks, +100.00 and -2.00" in each for each in alts)  # noqa: RUF001  a bucket's name
        assert any("2026-01-09: 1 break, -45.50" in each for each in alts)
        assert any("bank:settlement 100.00 %; operator:mtn:float 0.02 %" in each for each in alts)

    def test_reason_and_settlement_of_every_break_are_there(self, written: str):
        said = Outline(written).text_of("p")
        for code in ("timing", "amount_mismatch", "missing_in_ledger", "missing_in_statement", "invalid_row"):
            assert f"The reason of {code}." in said
            assert f"What settles {code}." in said
            assert BREAK_CODES[code].meaning in said

    def test_hashes_are_there(self, written: str):
        assert {"0" * 64, "1" * 64, "not a file"} <= set(Outline(written).text_of("td"))


class TestText:
    def test_no_text_becomes_markup(self, reconciled: Make, break_row: Row):
        hostile = '"><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}'
        names = ("statement", "account", "key", "entry", "phone", "reason", "settlement")
        result = reconciled(
            breaks=[break_row("timing", 1, **dict.fromkeys(names, hostile))],
            inputs=[{"side": "statement", "name": hostile, "rows": 1}],
            proof=[{**reconciled().proof.iloc[0].to_dict(), "note": hostile, "account": hostile}],
        )
        outline = Outline(page.page(result))
        assert "script" not in {tag for tag, _ in outline.tags}
        assert hostile in outline.text_of("th")
        assert all((each["src"] or "").startswith("data:") for each in outline.all("img"))


class TestLength:
    def test_the_largest_are_listed_and_the_rest_counted_and_a_long_text_is_cut(self, reconciled: Make, break_row: Row):
        breaks = [break_row("timing", -place, key=f"key{place:05}", reason="x" * 10_000) for place in range(1_200)]
        written = page.page(reconciled(breaks=breaks))
        keys = [text for text in Outline(written).text_of("th") if text.startswith("key0")]
        assert keys == [f"key{place:05}" for place in range(1_199, 1_149, -1)]
        assert "The 50 largest; 1,150 more are in the workbook" in written
        assert "x" * 600 + "…" in written
        assert "x" * 601 not in written

    def test_no_rows_at_all_are_a_page_too(self, reconciled: Make):
        written = page.page(reconciled(breaks=[], matches=[], summary=[], proof=[], inputs=[]))
        assert Outline(written).text_of("td").count("none") == 4
        assert '<div class="outcome">' in written


class TestOutcome:
    def test_breaks_are_counted_without_what_may_still_follow(self, reconciled: Make):
        said = headline(reconciled())
        assert said.startswith("4 breaks to settle, and 1 movement within the cut-off that may still follow.")
        assert said.endswith("The proof holds to the last ngwee.")

    def test_clean_is_said(self, reconciled: Make, proof_row: Row):
        result = reconciled(breaks=[], proof=[proof_row("operator:mtn:float", 5, 5, 0)])
        assert headline(result) == "Nothing to settle. The proof holds to the last ngwee."
        assert proofs(result) == [
            "operator:mtn:float: the ledger closes at ZMW 0.05, the statement at ZMW 0.05. They agree."
        ]

    def test_a_closing_balance_that_nobody_told_is_said(self, reconciled: Make, proof_row: Row):
        said = "the statement gives no closing balance: it is worked out from its rows"
        reported, untold = proof_row("bank:settlement", 5, 5, 0), proof_row("operator:mtn:float", 5, 5, 0, note=said)
        assert headline(reconciled(breaks=[], proof=[reported, untold])) == (
            "Nothing to settle. The proof holds to the last ngwee, for operator:mtn:float against a closing balance "
            "worked out from the rows."
        )

    def test_a_proof_that_does_not_hold_names_the_rest(self, reconciled: Make, proof_row: Row):
        row = proof_row("operator:mtn:float", 123_456, 100_000, 20_000, "line 9 does not follow")
        result = reconciled(breaks=[], proof=[row])
        assert "The proof does not hold for operator:mtn:float." in headline(result)
        (said,) = proofs(result)
        assert "Of the difference of +234.56, the breaks +200.00 explain a part; +34.56 stays unexplained (" in said
        assert said.endswith("(line 9 does not follow).")
        assert '<div class="outcome open">' in page.page(result)

    def test_a_folder_that_is_not_there_is_refused(self, tmp_path: Path, reconciled: Make):
        with pytest.raises(ReportRefused, match="cannot be written"):
            write_page(reconciled(), tmp_path / "nowhere" / "out.html")
