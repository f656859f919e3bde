"""A reconciliation in words: what each code means, the headline, and the proof as a sentence."""

from collections.abc import Mapping
from typing import Any, Final

from workbench.analysis.report.source import Reconciled, amount, rows
from workbench.analysis.shapes import EXACT

TIMING: Final = "timing"
MATCHED: Final = "matched"

MEANINGS: Final[Mapping[str, str]] = {
    "invalid_row": "A row that cannot be used: it cannot be read, or has no key.",
    "duplicate_in_ledger": "The ledger has one key in several entries; each further entry is a break.",
    "duplicate_in_statement": "The statement has one key in several rows; each further row is a break.",
    "ambiguous": "Several partners fit equally well, so that only a person can choose.",
    "currency_mismatch": "One key, two currencies.",
    "status_mismatch": "One side has it completed, the other has not.",
    "direction_mismatch": "One side has it coming in, the other going out.",
    "amount_mismatch": "One key, two amounts.",
    "fee_mismatch": "One key and one amount, two fees.",
    "date_mismatch": "The same movement on days further apart than is tolerated.",
    "wrong_reference": "No common key, but phone, amount and time fit: probably one movement.",
    "batch_mismatch": "Several rows that belong together do not add up to those of the other side.",
    "timing": "One side has it, and the other may still follow: it is within the cut-off.",
    "missing_in_statement": "The ledger has it, the statement does not, and it is past the cut-off.",
    "missing_in_ledger": "The statement has it, the ledger does not, and it is past the cut-off.",
    "late_success": "Money that arrived after its payment had failed, and waits in suspense for a decision.",
    "reversed_unmatched": "A reversal that the other side knows nothing of.",
    "payout_unpaid": "A payout that the ledger has paid and the bank has not.",
}
"""Code → what it says, in the order in which rows are classified."""


def is_proven(result: Reconciled) -> bool:
    """Whether the proof holds for every account."""
    return bool(result.proof["holds"].all())


def counted(number: int, one: str, many: str = "") -> str:
    """`1 break`, `2 breaks`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def headline(result: Reconciled) -> str:
    """The outcome in one or two sentences."""
    codes = [code for (code,) in rows(result.breaks, "code")]
    waiting = codes.count(TIMING)
    to_settle = len(codes) - waiting
    said = f"{counted(to_settle, 'break')} to settle" if to_settle else "Nothing to settle"
    if waiting:
        said += f", and {counted(waiting, 'movement')} within the cut-off that may still follow"
    return f"{said}. {_proof_in_short(result)}"


def _proof_in_short(result: Reconciled) -> str:
    if not len(result.proof):
        return "There is no account to prove."
    if is_proven(result):
        noted = [account for account, note in rows(result.proof, "account", "note") if note and note != EXACT]
        only = f", for {', '.join(noted)} against a closing balance worked out from the rows" if noted else ""
        return f"The proof holds to the last ngwee{only}."
    failing = [account for account, holds in rows(result.proof, "account", "holds") if not holds]
    return f"The proof does not hold for {', '.join(failing)}."


def proofs(result: Reconciled) -> list[str]:
    """The proof of each account as sentences."""
    names = [str(each) for each in result.proof.columns]
    return [_proof(dict(zip(names, row, strict=True))) for row in rows(result.proof, *names)]


_PARTS: Final = (
    ("breaks_minor", "the breaks"),
    ("tolerated_minor", "what was tolerated"),
    ("brought_minor", "what earlier runs left"),
)


def _proof(row: Mapping[str, Any]) -> str:
    currency = row["currency"]
    ledger, statement = (f"{currency} {amount(row[side], currency)}" for side in ("ledger_minor", "statement_minor"))
    said = f"{row['account']}: the ledger closes at {ledger}, the statement at {statement}."
    parts = [f"{words} {amount(row[name], currency, signed=True)}" for name, words in _PARTS if row[name]]
    explained = " and ".join(parts) or "no break"
    difference = amount(row["difference_minor"], currency, signed=True)
    if row["unexplained_minor"]:
        rest = amount(row["unexplained_minor"], currency, signed=True)
        said += f" Of the difference of {difference}, {explained} explain a part; {rest} stays unexplained"
    elif row["difference_minor"] or parts:
        said += f" The difference of {difference} is made of {explained}"
    else:
        said += " They agree"
    return f"{said} ({row['note']})." if row["note"] else f"{said}."
