"""A reconciliation as a person reads it, in a notebook and at a terminal: verdict, proof, what to do, how to go on."""

from collections.abc import Mapping
from typing import Any, Final

from workbench.analysis.breaks import TIMING
from workbench.analysis.frames import python_rows
from workbench.analysis.report import captions, totals
from workbench.analysis.report.captions import counted
from workbench.analysis.report.totals import Reconciled
from workbench.analysis.shapes import EXACT
from workbench.domain.masking import shortened
from workbench.domain.money import major_text, money_text
from workbench.render import Column, Table, percent, sentence, table
from workbench.visible import visible

_EXAMPLES: Final = 3
_NARRATIVE: Final = 60
_SHOWN: Final = (
    "key", "business_date", "currency", "ledger_amount_minor", "ledger_fee_minor", "ledger_minor",
    "statement_amount_minor", "statement_fee_minor", "statement_minor", "variance_minor", "since_date", "description",
)  # fmt: skip
_GO_ON: Final = (
    'Go on with result.breaks, result.matches and result.proof (tables), result.report("page.html"), '
    'result.to_excel("book.xlsx"), and result.carry_forward for the next run. '
    "Decide with result.decide(), or on the page."
)


def text(result: Reconciled) -> str:
    """As plain text."""
    return "\n\n".join(visible(each, lines=True) if isinstance(each, str) else str(each) for each in _blocks(result))


def html(result: Reconciled) -> str:
    """As HTML without script or style sheet, as much as a notebook's cleaning leaves of one."""
    return "".join(f"<p>{sentence(each)}</p>" if isinstance(each, str) else each.html() for each in _blocks(result))


def _blocks(given: Reconciled) -> list[str | Table]:
    result = totals.named(given)
    blocks: list[str | Table] = [captions.headline(result), *result.notes, _accounts(result)]
    if totals.parts_of(result):
        blocks.append(captions.picture(result))
    for each in totals.by_code(result):
        blocks += [
            f"{'' if each.code == TIMING or each.is_decided else 'To do: '}{captions.to_do(each)}",
            _largest(result, each),
        ]
    return [*blocks, *filter(None, [result.carry_forward.note]), *_known_besides(result), _GO_ON]


def _accounts(result: Reconciled) -> Table:
    """An account a line: how much of it agrees, and what the proof says."""
    counted_in = totals.by_account(result)
    read = [f"{sum(getattr(each, f'{side}_rows') for each in counted_in):,} {side} rows" for side in _SIDES]
    of_account = {each.account: each for each in counted_in}
    breaks = result.breaks["account"].value_counts()
    made = []
    for account, currency, *minors, holds, note in python_rows(result.proof, "account", "currency", *_PROOF):
        mine = of_account.get(account)
        rows, value = ((mine.matched_rows, mine.all_rows), (mine.matched_minor, mine.value_minor)) if mine else _NONE
        amounts = (money_text(minor, currency) for minor in minors)
        proven = "holds" if holds else "does not hold"
        made.append((
            account, captions.bar(*rows), percent(*rows), percent(*value), f"{breaks.get(account, 0):,}", *amounts,
            proven if note in {None, EXACT} else f"{proven}: {note}",
        ))  # fmt: skip
    clean = "clean" if (result.breaks["code"] == TIMING).all() else counted(len(result.breaks), "break")
    return table(f"{' and '.join(read)}: {clean}", ["account", "agrees", *captions.numbers(*_NUMBERS), "proof"], made)


_SIDES: Final = ("ledger", "statement")
_NONE: Final = ((0, 0), (0, 0))
_PROOF: Final = ("difference_minor", "breaks_minor", "holds", "note")
_NUMBERS: Final = ("rows matched", "net value matched", "breaks", "ledger less statement", "sum of breaks")


def _largest(result: Reconciled, code: totals.Code) -> Table:
    """The first few breaks of a code by what they move, with what is said of them."""
    currencies = result.breaks["currency"].astype("string").fillna("")
    breaks = result.breaks[(result.breaks["code"] == code.code) & (currencies == code.currency)]
    first = breaks.loc[breaks["variance_minor"].abs().sort_values(ascending=False, kind="stable").index[:_EXAMPLES]]
    rows = [dict(zip(_SHOWN, row, strict=True)) for row in python_rows(first, *_SHOWN)]
    # A column in which nothing stands tells nothing.
    names = [
        name for name in _SHOWN
        if name != "currency" and (name == "key" or any(row[name] is not None for row in rows))
    ]  # fmt: skip
    headings = [Column(captions.heading(name), numeric=name.endswith("_minor")) for name in names]
    net = money_text(code.net_minor, code.currency, signed=True)
    facts = [counted(code.breaks, "break"), f"{net} net"]
    facts += [f"the oldest {counted(code.oldest_days, 'day')} old"] if code.oldest_days else []
    facts += [f"the largest {len(rows)} of them"] if code.breaks > len(rows) else []
    made = [tuple(_cell(name, row) for name in names) for row in rows]
    return table(f"{code.code}: {', '.join(facts)}", headings, made)


def _cell(name: str, row: Mapping[str, Any]) -> str:
    value = row[name]
    if value is None or name == "key":
        return captions.key_text(value) if name == "key" else ""
    if name.endswith("_minor"):
        return major_text(value, row["currency"], signed=name == "variance_minor")
    return shortened(" ".join(str(value).split()), _NARRATIVE)


def _known_besides(result: Reconciled) -> list[str]:
    """What a person has decided, or is asked to look at."""
    many = len(result.suggestions)
    found = [f"{counted(many, 'suggestion')} to look at: result.suggestions"][: min(many, 1)]
    return [*found, *([result.sign_off] if result.breaks["verdict"].notna().any() else [])]
