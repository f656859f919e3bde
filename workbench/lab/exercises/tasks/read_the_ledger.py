"""Notebook 3: the split of a payment, backwards, and where rounding begins to count."""

from workbench.lab.exercises.facts import Bench, kwacha
from workbench.lab.exercises.shape import Exercise, Verdict, done, not_yet, wrong

_FLOAT, _OWED, _OPERATORS_FEE = 1100, 2000, 5000
_NET = 3_900
_ABOUT = range(_NET - 200, _NET + 200)
_SMALLEST = 50
_SMALL = [each for each in range(1, 101) if each != 33]  # noqa: PLR2004  step 9 makes payments of K0.33 itself


def _posted(bench: Bench, code: int, side: str) -> dict[int, int]:
    """What stood on a kind of account when money was secured, in ngwee by the number of the entry."""
    rows = bench.ledger.postings
    rows = rows[(rows["kind"] == "funds_secured") & (rows["code"] == code) & (rows["side"] == side)]
    return {int(number): int(minor) for number, minor in zip(rows["number"], rows["amount_minor"], strict=True)}


def _net_of_39(bench: Bench) -> Verdict:
    gross, owed = _posted(bench, _FLOAT, "debit"), _posted(bench, _OWED, "credit")
    refunded = {each.payment_intent or each.id for each in bench.looking().charges.each() if each.amount_refunded}
    rows = bench.ledger.postings
    given_back = set(rows.loc[rows["payment"].isin(refunded), "number"])
    if any(minor == _NET and number not in given_back for number, minor in owed.items()):
        return done("The customer paid K40.00, the service kept K1.00, and the merchant is owed K39.00.")
    if _NET in owed.values():
        return wrong("K39.00 were the merchant's, and the payment was refunded: take another.")
    near = [(minor, owed[number]) for number, minor in gross.items() if minor in _ABOUT]
    if near:
        paid, left = near[-1]
        return wrong(f"Of {kwacha(paid)} the fee is taken, and the merchant is owed {kwacha(left)}.")
    return not_yet("No payment in the books leaves the merchant with K39.00.")


def _smallest_fee(bench: Bench) -> Verdict:
    fees = _posted(bench, _OPERATORS_FEE, "debit")
    small = {number: minor for number, minor in _posted(bench, _FLOAT, "debit").items() if minor in _SMALL}
    charged = [minor for number, minor in small.items() if number in fees]
    if _SMALLEST in charged:
        return done("One percent of 50 ngwee is half a ngwee, which is rounded up. Of 49 the operator keeps nothing.")
    if charged:
        return wrong(f"Of {kwacha(min(charged))} the operator keeps a fee. It does so of a smaller payment, too.")
    if small:
        return wrong(f"Of {kwacha(max(small.values()))} the operator keeps nothing: it is too small.")
    return not_yet("No payment that small is in the books.")


NET_OF_39 = Exercise(
    name="net_of_39",
    notebook="03_read_the_ledger",
    title="K39.00 for the merchant",
    task="A gardener wants exactly K39.00 of a sale. Take a payment that leaves the merchant with that.",
    hints=(
        "Work backwards: the merchant keeps 97.5 percent.",
        "Step 4 has the fee: 2.5 percent, rounded half up. 3900 ngwee are what is left of 4000.",
        "A number ending in 0000001 pays by itself: confirm on it, then pay.wait.",
    ),
    solution="""\
sale = pay.payment_intents.create(amount=Decimal("40.00"), currency="ZMW")
pay.payment_intents.confirm(sale.id, phone=prefixes[provider] + "0000001", provider=provider)
pay.wait(sale.id)
""",
    check=_net_of_39,
)


SMALLEST_FEE = Exercise(
    name="smallest_fee",
    notebook="03_read_the_ledger",
    title="The smallest fee",
    task="The operator's fee is one percent, rounded half up to a whole ngwee. Take the smallest payment of which "
    "the operator keeps anything.",
    hints=(
        "Half a ngwee is rounded up to one.",
        "One percent of which amount is half a ngwee? Try it, and try one ngwee less.",
    ),
    solution="""\
sale = pay.payment_intents.create(amount=Decimal("0.50"), currency="ZMW")
pay.payment_intents.confirm(sale.id, phone=prefixes[provider] + "0000001", provider=provider)
pay.wait(sale.id)
""",
    check=_smallest_fee,
)
