"""A reconciliation as text: what each code means, the headline, and the proof as a sentence."""

from collections.abc import Mapping
from typing import Any, Final

from workbench.analysis.breaks import TIMING
from workbench.analysis.frames import python_rows
from workbench.analysis.report.source import Reconciled
from workbench.analysis.shapes import EXACT
from workbench.domain.money import major_text


def is_proven(result: Reconciled) -> bool:
    """Whether the proof holds for every account."""
    return bool(result.proof["holds"].all())


def counted(number: int, one: str, many: str = "") -> str:
    """`1 break`, `2 breaks`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def headline(result: Reconciled) -> str:
    """The outcome in one or two sentences."""
    codes = [code for (code,) in python_rows(result.breaks, "code")]
    waiting = codes.count(TIMING)
    to_settle = len(codes) - waiting
    text = f"{counted(to_settle, 'break')} to settle" if to_settle else "Nothing to settle"
    if waiting:
        text += f", and {counted(waiting, 'movement')} within the cut-off that may still follow"
    return f"{text}. {_proof_in_short(result)}"


def _proof_in_short(result: Reconciled) -> str:
    if not len(result.proof):
        return "There is no account to prove."
    if is_proven(result):
        noted = [account for account, note in python_rows(result.proof, "account", "note") if note and note != EXACT]
        only = f", for {', '.join(noted)} against a closing balance worked out from the rows" if noted else ""
        return f"The proof holds to the last ngwee{only}."
    failing = [account for account, holds in python_rows(result.proof, "account", "holds") if not holds]
    return f"The proof does not hold for {', '.join(failing)}."


def proofs(result: Reconciled) -> list[str]:
    """The proof of each account as sentences."""
    names = [str(each) for each in result.proof.columns]
    return [_proof(dict(zip(names, row, strict=True))) for row in python_rows(result.proof, *names)]


_PARTS: Final = (
    ("breaks_minor", "the breaks"),
    ("tolerated_minor", "what was tolerated"),
    ("brought_minor", "what earlier runs left"),
)


def _proof(row: Mapping[str, Any]) -> str:
    currency = row["currency"]
    ledger, statement = (
        f"{currency} {major_text(row[side], currency)}" for side in ("ledger_minor", "statement_minor")
    )
    text = f"{row['account']}: the ledger closes at {ledger}, the statement at {statement}."
    parts = [f"{what} {major_text(row[name], currency, signed=True)}" for name, what in _PARTS if row[name]]
    explained = " and ".join(parts) or "no break"
    difference = major_text(row["difference_minor"], currency, signed=True)
    if row["unexplained_minor"]:
        rest = major_text(row["unexplained_minor"], currency, signed=True)
        text += f" Of the difference of {difference}, {explained} explain a part; {rest} stays unexplained"
    elif row["difference_minor"] or parts:
        text += f" The difference of {difference} is made of {explained}"
    else:
        text += " They agree"
    return f"{text} ({row['note']})." if row["note"] else f"{text}."
