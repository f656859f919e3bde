"""Records of live displays in an executed notebook and on a saved page: text and HTML, without a script."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from workbench.domain.ledger import TAccount, t_accounts
from workbench.text import svg
from workbench.text.render import bundle
from workbench.visible import visible

STYLE: Final = f"""<style>
.wb-saved{{{svg.VARIABLES}container-type:inline-size;max-width:760px;box-sizing:border-box;padding:10px 12px;
border:1px solid var(--wb-rule);border-radius:8px;background:var(--wb-paper);color:var(--wb-ink);
font:13px/1.45 {svg.FONT};font-variant-numeric:tabular-nums}}
.wb-saved svg{{display:block;width:100%}}.wb-saved .tight{{display:none;max-width:440px}}
.wb-saved p{{margin:10px 0 4px;font-weight:600}}
.wb-saved .came{{display:flex;flex-wrap:wrap;gap:4px 24px;align-items:flex-start}}
.wb-saved details{{margin-top:8px;overflow-x:auto}}.wb-saved summary{{cursor:pointer;color:var(--wb-blue)}}
@container (max-width:559px){{.wb-saved .wide{{display:none}}.wb-saved .tight{{display:block}}}}
</style>"""
"""CSS with the console's colours and type in the page's colour scheme; the page's width chooses the diagram's shape."""


class Saved(NamedTuple):
    """A record as text and as HTML, with the same facts in both."""

    text: str
    html: str

    @property
    def bundle(self) -> dict[str, str]:
        """The value of `_repr_mimebundle_`."""
        return bundle(*self)


# A handset at one moment

_WIDTH: Final = 32
_CASE: Final = (
    "box-sizing:border-box;width:22em;max-width:100%;max-height:160px;margin:4px 0;overflow:hidden;"
    "border:4px solid #2f3644;border-radius:12px;background:#f4f6f2;color:#16211a;"
    "font:13px/1.35 system-ui,-apple-system,'Segoe UI','Noto Sans',sans-serif;"
    "break-inside:avoid;print-color-adjust:exact"
)
"""CSS of the box around a handset's screen, which has its own colours, readable on any background."""
_BAR: Final = "display:flex;justify-content:space-between;gap:8px;padding:2px 10px;background:#1f3d2c;color:#fff"
_FOOT: Final = "display:block;padding:2px 10px 4px;color:#4b5a50;font-size:11.5px"


def receipt(name: str, operator: str, number: str, lines: Sequence[str], status: str, *, hover: str = "") -> Saved:
    """A lasting record of a handset's screen at one moment: the screen's `lines`, and a line of `status` below.

    Above the screen, the text shows `name`, the HTML `operator` and `number`. HTML shows `hover` when the pointer rests
    on the status.
    """
    folded = [part for line in lines for part in textwrap.wrap(line, _WIDTH) or [""]]
    edge = "─" * (_WIDTH + 2)
    text = [name, f"╭{edge}╮", *(f"│ {line:<{_WIDTH}} │" for line in folded), f"╰{edge}╯", status]
    body = lines[1:] if lines[0] == operator else lines
    over = f' title="{escape(hover)}"' if hover else ""
    html = (
        f'<div class="wb-receipt" role="group" aria-label="{escape(f"Phone {number}, {operator}")}" style="{_CASE}">'
        f'<div style="{_BAR}"><strong>{escape(operator)}</strong><span>{escape(number)}</span></div>'
        f'<div style="padding:5px 10px 2px;overflow-wrap:anywhere">{"<br>".join(map(escape, body))}</div>'
        f'<small style="{_FOOT}"{over}>{escape(status)}</small></div>'
    )
    return Saved("\n".join(text), html)


# The accounts that were posted to

_HALF: Final = 18
_T: Final = (
    "<style>.wb-t{border-collapse:collapse}.wb-t :is(th,td){text-align:right;min-width:8em;padding:2px 8px;border:0}"
    ".wb-t :is(th,td):first-child{border-right:2px solid}.wb-t thead th{border-bottom:2px solid}"
    ".wb-t tfoot td{border-top:1px solid;font-weight:600}</style>"
)


class TAccounts:
    """Every account posted to, from rows of postings (`account`, `code`, `side`, `amount_minor`, `currency`, `number`).

    Each amount has its entry's number beside it, in the form of `entry`.
    """

    def __init__(self, postings: Iterable[Mapping[str, Any]], *, entry: str = "#{}") -> None:
        self._accounts = t_accounts({**row, "entry": entry.format(row["number"])} for row in postings)

    @property
    def html(self) -> str:
        """The accounts as tables in the form of a T."""
        return "".join([_T, *map(_html, self._accounts)]) if self._accounts else ""

    def __repr__(self) -> str:
        return "\n\n".join(map(_text, self._accounts)) or "(no postings yet)"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return bundle(repr(self), self.html)


def _cells(account: TAccount) -> Iterator[tuple[str, ...]]:
    sides = (
        [f"{posting.entry}  {posting.money.plain}" for posting in side] for side in (account.debits, account.credits)
    )
    return zip_longest(*sides, fillvalue="")


def _title(account: TAccount) -> str:
    return visible(f"{account.code} {account.account} ({account.currency})")


def _text(account: TAccount) -> str:
    *lines, total = (f"{a:>{_HALF}} │{b:>{_HALF}}".rstrip() for a, b in (*_cells(account), account.balance))
    rule = "─" * _HALF
    return "\n".join([_title(account), f"{rule}─┬{rule}", *lines, f"{rule}─┼{rule}", total])


def _html(account: TAccount) -> str:
    *lines, total = (f"<tr><td>{a}</td><td>{b}</td></tr>" for a, b in (*_cells(account), account.balance))
    return (
        '<table style="display:inline-table;margin:0 1.5em 1em 0;vertical-align:top" class="wb-t">'
        f'<caption style="white-space:nowrap">{escape(_title(account))}</caption>'
        '<thead><tr><th scope="col">Debit</th><th scope="col">Credit</th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody><tfoot>{total}</tfoot></table>"
    )
