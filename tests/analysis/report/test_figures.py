"""The figures: the same bytes in every run, told apart without colour, and nothing netted away."""

from collections.abc import Callable
from datetime import date, timedelta
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import pytest

from workbench.analysis.breaks import BUCKETS
from workbench.analysis.report import Figures, figures, totals
from workbench.analysis.report.totals import Net
from workbench.domain.money import major_text
from workbench.errors import ReportRefused
from workbench.render import percent

Make = Callable[..., SimpleNamespace]
Row = Callable[..., dict[str, Any]]
NAMES = ("ageing", "daily_variance", "match_rate")


class TestPictures:
    @pytest.mark.parametrize("name", NAMES)
    def test_two_are_the_same_bytes_whatever_a_notebook_has_set(self, reconciled: Make, name: str):
        first = getattr(Figures(reconciled()), name)()
        with mpl.rc_context({"figure.facecolor": "black", "font.size": 20, "savefig.dpi": 30, "axes.grid": True}):
            assert getattr(Figures(reconciled()), name)() == first
            assert mpl.rcParams["font.size"] == 20

    @pytest.mark.parametrize("name", NAMES)
    def test_no_rows_are_a_picture_too(self, reconciled: Make, name: str):
        nothing = reconciled(breaks=[], matches=[], summary=[], proof=[], inputs=[])
        assert getattr(Figures(nothing), name)().png.startswith(b"\x89PNG")

    def test_many_days_are_told_by_their_largest(self, reconciled: Make, break_row: Row):
        days = [date(2026, 1, 1) + timedelta(days=place) for place in range(60)]
        breaks = [break_row("timing", place, business_date=day) for place, day in enumerate(days)]
        says = repr(Figures(reconciled(breaks=breaks)).daily_variance())
        assert "2026-03-01: 1 break, +0.59" in says
        assert says.endswith("and 52 smaller days.")

    def test_several_currencies_are_not_added(self, reconciled: Make, proof_row: Row):
        result = reconciled(proof=[proof_row("a", 1, 1, 0), proof_row("b", 1, 1, 0) | {"currency": "USD"}])
        with pytest.raises(ReportRefused, match="USD, ZMW"):
            Figures(result).ageing()
        assert "in USD: none" in repr(Figures(result).ageing("USD"))


class TestDrawing:
    def test_what_is_above_and_below_differs_by_more_than_colour(self):
        figure = figures.ageing(["0", "1"], [Net(2, 100, -50), Net(1, 0, -7)], "ZMW")
        above, below = figure.axes[0].containers
        assert [bar.get_height() for bar in above] == [100, 0]
        assert [bar.get_height() for bar in below] == [-50, -7]
        assert {bar.get_hatch() for bar in above} != {bar.get_hatch() for bar in below}

    def test_days_without_breaks_leave_room(self):
        figure = figures.daily_variance([date(2026, 1, 1), date(2026, 3, 1)], [Net(1, 5, 0), Net(1, 0, -5)], "ZMW")
        axes = figure.axes[0]
        assert [round(bar.get_x() + bar.get_width() / 2) for bar in axes.containers[0]] == [0, 59]
        assert [each.get_text() for each in axes.get_xticklabels()][:2] == ["2026-01-01", "2026-01-11"]

    def test_a_share_that_is_not_whole_is_not_drawn_whole(self):
        nearly = totals.Account("a", "ZMW", 1, 1, 1, 0, 10**12, 10**12 - 1, 1)
        figure = figures.match_rate([nearly])
        assert [bar.get_width() for each in figure.axes[0].containers for bar in each] == [9_999, 1]


class TestTotals:
    def test_opposite_variances_do_not_hide_each_other(self, reconciled: Make, break_row: Row):
        result = reconciled(breaks=[break_row("timing", 500), break_row("timing", -500)])
        assert totals.by_day(result) == {date(2026, 1, 5): Net(2, 500, -500)}
        (code,) = totals.by_code(result)
        assert (code.breaks, code.up_minor, code.down_minor) == (2, 500, -500)

    def test_ages_are_in_their_order(self, reconciled: Make, break_row: Row):
        result = reconciled(breaks=[break_row("timing", 1, bucket=name) for name in reversed(BUCKETS)])
        assert list(totals.by_bucket(result)) == list(BUCKETS)

    def test_rates_count_both_sides(self, reconciled: Make):
        bank, mtn = totals.by_account(reconciled())
        assert (bank.matched_rows, bank.all_rows, bank.matched_minor, bank.value_minor) == (2, 2, 1_000, 1_000)
        assert (mtn.matched_rows, mtn.timing_rows, mtn.all_rows, mtn.variance_minor) == (2, 1, 8, 123_462_039)

    @pytest.mark.parametrize(
        ("part", "whole", "said"),
        [(0, 0, "none"), (0, 1, "0.00 %"), (1, 1, "100.00 %"), (2, 3, "66.66 %"), (10**15 - 1, 10**15, "99.99 %")],
    )
    def test_a_share_is_cut_and_not_rounded(self, part: int, whole: int, said: str):
        assert percent(part, whole) == said

    @pytest.mark.parametrize(
        ("minor", "said"),
        [(0, "0.00"), (5, "+0.05"), (-5, "-0.05"), (-123_456, "-1,234.56"), (2**63 - 1, "+92,233,720,368,547,758.07")],
    )
    def test_amounts_are_exact(self, minor: int, said: str):
        assert major_text(minor, "ZMW", signed=True) == said
