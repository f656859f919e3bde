"""The figures of a reconciliation as pictures with words: in a notebook, on a page, and for who does not see them."""

from collections.abc import Mapping, Sequence
from typing import Final

from workbench.analysis.report import totals
from workbench.analysis.report.source import Reconciled
from workbench.analysis.report.words import counted
from workbench.domain.money import major_text
from workbench.render import Picture, percent, picture

_MOST_NAMED: Final = 8


class Figures:
    """Pictures of results: `ageing()`, `daily_variance()` and `match_rate()`.

    Where accounts are in several currencies, say which one: amounts of two are never added.
    """

    def __init__(self, result: Reconciled) -> None:
        self._result = result

    def __repr__(self) -> str:
        return "Figures: ageing(), daily_variance(), match_rate()"

    def ageing(self, currency: str | None = None) -> Picture:
        """How much is open, by age. Raises ReportRefused: several currencies, and none was named."""
        from workbench.analysis.report import draw

        currency = totals.currency_of(self._result, currency)
        found = totals.by_bucket(self._result, currency)
        with draw.own_look():
            figure = draw.ageing(list(found), list(found.values()), currency)
            named = {f"{bucket} days": net for bucket, net in found.items()}
            return picture(figure, _in_words(f"Open breaks by age, in {currency}", named, currency))

    def daily_variance(self, currency: str | None = None) -> Picture:
        """How far the sides are apart, by business date. Raises ReportRefused: as for `ageing`."""
        from workbench.analysis.report import draw

        currency = totals.currency_of(self._result, currency)
        found = totals.by_day(self._result, currency)
        with draw.own_look():
            figure = draw.daily_variance(list(found), list(found.values()), currency)
            named = {day.isoformat(): net for day, net in found.items()}
            return picture(figure, _in_words(f"Variance by business date, in {currency}", named, currency))

    def match_rate(self) -> Picture:
        """The share of the net value that matched, by account."""
        from workbench.analysis.report import draw

        found = totals.by_account(self._result)
        with draw.own_look():
            return picture(draw.match_rate(found), _rates_in_words(found))


def _in_words(title: str, nets: Mapping[str, totals.Net], currency: str) -> str:
    """Each bar in words, or the largest where there are many."""
    if not nets:
        return f"{title}: none."
    largest = sorted(nets, key=lambda name: nets[name].down_minor - nets[name].up_minor)[:_MOST_NAMED]
    text = [f"{name}: {_net(net, currency)}" for name, net in nets.items() if name in largest]
    rest = f"; and {counted(len(nets) - len(largest), 'smaller day')}" if len(nets) > len(largest) else ""
    return f"{title}. {'; '.join(text)}{rest}."


def _net(net: totals.Net, currency: str) -> str:
    sums = [major_text(minor, currency, signed=True) for minor in (net.up_minor, net.down_minor) if minor]
    return f"{counted(net.breaks, 'break')}, {' and '.join(sums) or 'no variance'}"


def _rates_in_words(accounts: Sequence[totals.Account]) -> str:
    text = [f"{each.account} {percent(each.matched_minor, each.value_minor)}" for each in accounts]
    return f"Share of the net value that matched, by account. {'; '.join(text) or 'No rows'}."
