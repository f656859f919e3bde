"""The figure of a reconciliation, with a text for people who cannot see it: the same bytes in every run."""

from collections.abc import Mapping
from typing import Final

from matplotlib import style
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from workbench.analysis.frames import python_rows
from workbench.analysis.report import totals
from workbench.analysis.report.captions import counted, signed_text
from workbench.analysis.report.totals import Net, Reconciled
from workbench.domain.money import decimals_of, major_text
from workbench.errors import ReportRefused
from workbench.text.render import Picture, picture

_BLUE, _ORANGE = "#0072b2", "#e69f00"
"""Two colours of the Okabe-Ito palette, which colour-blind people tell apart; lightness differs too."""
_INK: Final = "#333333"
_SIZE: Final = (7.2, 3.4)


def ageing(nets: Mapping[str, Net], currency: str) -> Figure:
    """Variance of the open breaks by age, above and below zero, with the number of breaks below each bar."""
    figure = Figure(figsize=_SIZE, layout="constrained")
    axes, places, bars = figure.subplots(), range(len(nets)), nets.values()
    up, down = [net.up_minor for net in bars], [net.down_minor for net in bars]
    more = axes.bar(places, up, width=0.7, color=_BLUE, label="the ledger has more")
    less = axes.bar(
        places, down, width=0.7, color=_ORANGE, hatch="////", edgecolor=_INK, linewidth=0.6,
        label="the statement has more",
    )  # fmt: skip
    for drawn, minors in ((more, up), (less, down)):
        labels = [signed_text(minor, currency) if minor else "" for minor in minors]
        axes.bar_label(drawn, labels, padding=3, fontsize=8, color=_INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9, colors=_INK)
    axes.axhline(0, color=_INK, linewidth=0.8)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.margins(y=0.18)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    no_minor = "." + "0" * decimals_of(currency)
    in_major_units = FuncFormatter(lambda minor, _: major_text(int(minor), currency).removesuffix(no_minor))
    axes.yaxis.set_major_formatter(in_major_units)
    axes.set_ylabel(f"net variance in {currency}" if currency else "net variance", fontsize=9)
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    axes.set_xticks(places, [f"{bucket}\n{net.breaks:,}" for bucket, net in nets.items()])
    axes.set_xlabel("age in days, and how many breaks")
    return figure


class Figures:
    """Pictures of results: `ageing()`."""

    def __init__(self, result: Reconciled) -> None:
        self._result = result

    def __repr__(self) -> str:
        return "Figures: ageing()"

    @style.context("default")  # whatever a notebook has set
    def ageing(self, currency: str | None = None) -> Picture:
        """The open breaks by age, of the accounts in one currency: amounts in two currencies are never added.

        Raises ReportRefused: no currency is named and there are several, or no account has the named currency.
        """
        there = sorted({code for (code,) in python_rows(self._result.proof, "currency")})
        if currency not in there and (currency or len(there) > 1):
            named = ", ".join(there) or "no currency"
            text = f"The accounts are in {named}; amounts in several currencies are not added."
            raise ReportRefused(text, hint="Choose one: currency=…")
        currency = currency or "".join(there)
        found = totals.nets(self._result, currency, "bucket")
        bars = "; ".join(f"{bucket} days: {_net(net, currency)}" for bucket, net in found.items())
        says = f"Open breaks by age, in {currency}{f'. {bars}' if bars else ': none'}."
        return picture(ageing(found, currency), says)


def _net(net: Net, currency: str) -> str:
    sums = [signed_text(minor, currency) for minor in (net.up_minor, net.down_minor) if minor]
    return f"{counted(net.breaks, 'break')}, {' and '.join(sums) or 'no variance'}"
