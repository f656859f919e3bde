"""The figures of a reconciliation, with a text for who does not see them: the same bytes in every run."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Any, Final

from matplotlib import rc_context, rcdefaults
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from workbench.analysis.report import totals
from workbench.analysis.report.captions import counted
from workbench.analysis.report.totals import Account, Net, Reconciled
from workbench.domain.money import decimals_of, major_text, money_text
from workbench.render import Picture, percent, picture

_BLUE, _ORANGE, _GREY = "#0072b2", "#e69f00", "#bbbbbb"
"""Of the Okabe-Ito palette, which colour-blind people tell apart; lightness differs too."""
_INK: Final = "#333333"
_WIDTH, _HEIGHT, _BAR_HEIGHT = 7.2, 3.4, 0.55
_MAX_DATES: Final = 6
_MAX_LABELS: Final = 8
_MOST_NAMED: Final = 8
_WHOLE: Final = 10_000
"""Shares are drawn in ten-thousandths: whole numbers are enough for a picture."""


@contextmanager
def own_look() -> Iterator[None]:
    """Draw and save with matplotlib's own settings, whatever a notebook has set."""
    with rc_context():
        rcdefaults()
        yield


def ageing(nets: Mapping[str, Net], currency: str) -> Figure:
    """Variance of the open breaks by age, above and below zero, with the number of breaks below each bar."""
    figure, axes = _canvas()
    _up_and_down(axes, range(len(nets)), [*nets.values()], currency)
    axes.set_xticks(range(len(nets)), [f"{bucket}\n{net.breaks:,}" for bucket, net in nets.items()])
    axes.set_xlabel("age in days, and how many breaks")
    return figure


def daily_variance(nets: Mapping[date, Net], currency: str) -> Figure:
    """Variance of the breaks by business date, above and below zero."""
    figure, axes = _canvas()
    days = [*nets]
    places = [(day - days[0]).days for day in days]
    _up_and_down(axes, places, [*nets.values()], currency)
    if days:
        wanted = range(0, places[-1] + 1, -(-(places[-1] + 1) // _MAX_DATES))
        axes.set_xticks(wanted, [date.fromordinal(days[0].toordinal() + place).isoformat() for place in wanted])
        axes.set_xlim(-0.8, places[-1] + 0.8)
    axes.set_xlabel("business date")
    return figure


def match_rate(accounts: Sequence[Account]) -> Figure:
    """The share of each account's value that matched, with the percentage beside it."""
    figure, axes = _canvas(1.1 + _BAR_HEIGHT * max(len(accounts), 1))
    for place, each in enumerate(accounts):
        share = each.matched_minor * _WHOLE // each.value_minor if each.value_minor else 0
        axes.barh(place, share, height=0.6, color=_BLUE)
        if share < _WHOLE:
            axes.barh(place, _WHOLE - share, left=share, height=0.6, color="white", edgecolor=_ORANGE, hatch="////")
        total = money_text(each.value_minor, each.currency)
        label = f"{percent(each.matched_minor, each.value_minor)} of {total}"
        axes.annotate(
            label, (0, place), xytext=(6, 0), textcoords="offset points", va="center", color="black", fontsize=9,
            bbox={"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "none"},
        )  # fmt: skip
    axes.set_yticks(range(len(accounts)), [each.account for each in accounts])
    axes.invert_yaxis()
    axes.set_xlim(0, _WHOLE)
    axes.set_xticks(range(0, _WHOLE + 1, _WHOLE // 4), ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel("share of the net value on both sides; hatched: in breaks")
    return figure


def _canvas(height: float = _HEIGHT) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9, colors=_INK)
    return figure, axes


def _up_and_down(axes: Axes, places: Sequence[int], nets: Sequence[Net], currency: str) -> None:
    axes.bar(places, [net.up_minor for net in nets], width=0.7, color=_BLUE, label="the ledger has more")
    axes.bar(
        places, [net.down_minor for net in nets], width=0.7, color=_ORANGE, hatch="////", edgecolor=_INK, linewidth=0.6,
        label="the statement has more",
    )  # fmt: skip
    # The amounts at the ends of the bars, where there are few.
    for place, net in zip(places, nets, strict=True) if len(nets) <= _MAX_LABELS else ():
        for minor, offset, anchor in ((net.up_minor, 3, "bottom"), (net.down_minor, -3, "top")):
            if minor:
                axes.annotate(
                    major_text(minor, currency, signed=True), (place, minor), xytext=(0, offset),
                    textcoords="offset points", ha="center", va=anchor, fontsize=8, color=_INK,
                )  # fmt: skip
    axes.axhline(0, color=_INK, linewidth=0.8)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.margins(y=0.18)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    no_minor = "." + "0" * decimals_of(currency)
    in_major_units = FuncFormatter(lambda minor, _: major_text(int(minor), currency).removesuffix(no_minor))
    axes.yaxis.set_major_formatter(in_major_units)
    axes.set_ylabel(f"net variance in {currency}" if currency else "net variance", fontsize=9)
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))


class Figures:
    """Pictures of results: `ageing()`, `daily_variance()` and `match_rate()`.

    Where accounts are in several currencies, say which one: amounts of two are never added.
    """

    def __init__(self, result: Reconciled) -> None:
        self._result = result

    def __repr__(self) -> str:
        return "Figures: ageing(), daily_variance(), match_rate()"

    @own_look()
    def ageing(self, currency: str | None = None) -> Picture:
        """How much is open, by age. Raises ReportRefused: several currencies, and none was named."""
        currency = totals.currency_of(self._result, currency)
        found = totals.by_bucket(self._result, currency)
        named = {f"{bucket} days": net for bucket, net in found.items()}
        return picture(ageing(found, currency), _caption(f"Open breaks by age, in {currency}", named, currency))

    @own_look()
    def daily_variance(self, currency: str | None = None) -> Picture:
        """How far the sides are apart, by business date. Raises ReportRefused: as for `ageing`."""
        currency = totals.currency_of(self._result, currency)
        found = totals.by_day(self._result, currency)
        says = _caption(f"Variance by business date, in {currency}", found, currency)
        return picture(daily_variance(found, currency), says)

    @own_look()
    def match_rate(self) -> Picture:
        """The share of the net value that matched, by account."""
        found = totals.by_account(self._result)
        text = "; ".join(f"{each.account} {percent(each.matched_minor, each.value_minor)}" for each in found)
        says = f"Share of the net value that matched, by account. {text or 'No rows'}."
        return picture(match_rate(found), says)


def _caption(title: str, nets: Mapping[Any, Net], currency: str) -> str:
    """Each bar as text, or the largest where there are many."""
    if not nets:
        return f"{title}: none."
    largest = sorted(nets, key=lambda name: nets[name].down_minor - nets[name].up_minor)[:_MOST_NAMED]
    text = [f"{name}: {_net(net, currency)}" for name, net in nets.items() if name in largest]
    rest = f"; and {counted(len(nets) - len(largest), 'smaller day')}" if len(nets) > len(largest) else ""
    return f"{title}. {'; '.join(text)}{rest}."


def _net(net: Net, currency: str) -> str:
    sums = [major_text(minor, currency, signed=True) for minor in (net.up_minor, net.down_minor) if minor]
    return f"{counted(net.breaks, 'break')}, {' and '.join(sums) or 'no variance'}"
