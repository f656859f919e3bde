"""Used by all operations: the caller, checks of request fields, and the views and pages of stored objects.

An operation is a function of the transaction, the caller, the path parameters and the body. A raised ApiError undoes
all changes. A declined charge and an expired prompt must stay recorded: their functions return the ApiError instead, so
that their changes are committed. The return type shows which functions return errors.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from decimal import Decimal
from functools import cache
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, ParamSpec, Self, TypeAlias, TypeVar, cast

from msgspec import Struct

from workbench.domain.gaps import Gaps
from workbench.domain.money import (
    ISO_4217,
    MAX_MAJOR_DIGITS,
    OFFERED,
    ZMW,
    Currency,
    Money,
    check_size,
    currency_named,
    money_from_integer,
    money_from_major,
    rounded,
)
from workbench.domain.payments import BOUNDS_MAJOR, FAILURES, MOBILE_MONEY, far_from_usual, one_minor, unit_minor
from workbench.domain.phones import Msisdn, Operator, msisdn_from, operator_named
from workbench.domain.wire.base import List, ListQuery, NumberedList, NumberedQuery
from workbench.domain.wire.payments_and_payouts import MobileMoneyMethod
from workbench.errors import AuthenticationFailed, InvalidRequest, NotFound, field_problem, invalid
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.rows import Condition, StoredScript
from workbench.sandbox.store.transaction import Filters, R, Table


class Cause(NamedTuple):
    """The request of the merchant that caused an event; empty if no request did. The event names the request."""

    request_id: str | None = None
    idempotency_key: str | None = None


BY_ITSELF: Final = Cause()
"""The cause of due jobs and of actions through `/sandbox`, which are not requests of the merchant."""


class Caller(NamedTuple):
    """The account and the credential behind a call: `kind` is `secret`, `publishable`, `token` or `nobody`."""

    kind: str
    account: str
    name: str = ""
    """The account's name, which customers see in the prompt."""
    bearer: str | None = None
    """The access token itself, for the operation that refreshes it."""
    cause: Cause = BY_ITSELF
    scenario: str | None = None
    """The scenario that the call requests, or the fault of the service that its number's script asks for."""
    script: StoredScript | None = None
    """The next scenario in the script of the number that is charged."""
    relied: tuple[str, ...] = ()
    """Rows of the register on which accepting the credential relied."""


NOBODY = Caller("nobody", "")


W = TypeVar("W")
Query: TypeAlias = ListQuery | NumberedQuery
"""The query for a page of a list; the register's `pagination` decides which of the two applies."""
Listed: TypeAlias = List[W] | NumberedList[W]
V = TypeVar("V", bound=Struct)


@cache
def _shared(shape: type[Struct], kind: type[Struct]) -> tuple[tuple[str, ...], Callable[[Struct], tuple[Any, ...]]]:
    """The names of the fields that the view `shape` and the stored object `kind` share, and a function to read them."""
    names = tuple(name for name in shape.__struct_fields__ if name in kind.__struct_fields__)
    return names, attrgetter(*names)


def view_of(shape: type[V], stored: Struct, **others: object) -> V:
    """The view of a stored object: fields of the same names, `created` in seconds, `failure_message`, and `others`.

    `payments` builds the frequent views of intents and charges itself, which is twice as fast.
    """
    names, values = _shared(shape, type(stored))
    fields = dict(zip(names, values(stored), strict=True))
    if hasattr(shape, "created"):
        fields["created"] = stored.created_ms // 1000  # type: ignore[attr-defined]  # what has the one has the other
    if hasattr(shape, "failure_message"):
        fields["failure_message"] = FAILURES[code] if (code := fields["failure_code"]) else None
    return shape(**fields | others)


def asked_for(equals: dict[str, Filters]) -> dict[str, Filters]:
    """The filters that a query sets; filters of None are omitted."""
    return {name: value for name, value in equals.items() if value is not None}


class Resource(NamedTuple, Generic[R, W]):
    """A kind of object that merchants retrieve and list; `code` is the error code if an object is not found."""

    name: str
    url: str
    table: Callable[[Transaction], Table[R]]
    view: Callable[[Transaction, R], W]
    code: str
    gone: str = ""
    """The state of objects that count as not found."""

    def find(self, tx: Transaction, caller: Caller, key: str, *, param: str = "id") -> R:
        """The caller's object with this id. Raises NotFound, naming the parameter `param`: there is none."""
        row: Any = self.table(tx).get(key)
        if row is None or row.account != caller.account or (self.gone and row.status == self.gone):
            raise NotFound(f"There is no {self.name} {key[:60]!r}.", code=self.code, param=param)
        return cast("R", row)

    def retrieve(self, tx: Transaction, caller: Caller, **path: str) -> W:
        """The view of the caller's object with the id in the path. Raises NotFound."""
        return self.view(tx, self.find(tx, caller, *path.values()))

    def page(
        self, tx: Transaction, caller: Caller, also: Sequence[Condition] = (), /, *, query: Query, **equals: Filters
    ) -> Listed[W]:
        """The requested page of the caller's objects that meet the conditions `also`.

        `equals` is column → its value; a filter of None is left out. Raises NotFound: a cursor is not the id of an
        object of the caller.
        """
        table, equals = self.table(tx), {"account": caller.account, **asked_for(equals)}
        also = [*also, Condition("status <> ?", (self.gone,))] if self.gone else also
        if isinstance(query, NumberedQuery):
            number, size = query.page, query.per_page
            rows = table.page(size, (number - 1) * size, older_than=None, newer_than=None, also=also, **equals)
            return NumberedList(
                self.url, [self.view(tx, row) for row in rows], number, size, table.count(also, **equals)
            )
        edges: list[int | None] = []
        for param in ("starting_after", "ending_before"):
            cursor = getattr(query, param)
            row: Any = table.first(id=cursor, account=caller.account) if cursor is not None else None
            if cursor is not None and row is None:
                message = f"{param} names no row of this list: {cursor[:60]!r}."
                raise NotFound(message, code="cursor_unknown", param=param)
            edges.append(row and row.seq)
        older_than, newer_than = edges
        rows = table.page(query.limit + 1, older_than=older_than, newer_than=newer_than, also=also, **equals)
        has_more = len(rows) > query.limit
        # One row more than asked for, at the far end, shows that there are more.
        goes_back = newer_than is not None and older_than is None
        rows = rows[-query.limit :] if goes_back else rows[: query.limit]
        return List(url=self.url, has_more=has_more, data=[self.view(tx, row) for row in rows])


P = ParamSpec("P")
T = TypeVar("T")
LIVE_KEY = re.compile(r"(?<![0-9A-Za-z_])[sp]k_live")
"""Matches the beginning of a live key."""


class EveryFault:
    """Collects the faults in a block that continues after each fault, so that a caller learns of all faults at once.

    At the end of the block, the first InvalidRequest is raised, with the fields of all faults in `problems`. Use
    results of `read` only after the block.
    """

    def __init__(self) -> None:
        self._faults: list[InvalidRequest] = []

    def __enter__(self) -> Self:
        return self

    def read(self, value: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls `value` and returns its result; if it raises InvalidRequest, keeps the fault and returns None.

        The `with` block raises a kept fault at its end.
        """
        try:
            return value(*args, **kwargs)
        except InvalidRequest as fault:
            self._faults.append(fault)
            return cast("T", None)  # never seen: the block raises

    def check(self, holds: object, message: str, *, param: str, code: str = "parameter_invalid") -> None:
        """Adds a fault of the field `param` with this error code, unless `holds` is true."""
        if not holds:
            self._faults.append(InvalidRequest(message, code=code, param=param))

    def check_type(self, text: str, param: str) -> None:
        """Adds a fault of the field `param` unless its `text` is `mobile_money`."""
        self.check(text == MOBILE_MONEY, f"{param} must be {MOBILE_MONEY!r}, not {text[:40]!r}.", param=param)

    def __exit__(self, *raised: object) -> None:
        if raised[0] is None and self._faults:
            first = self._faults[0]
            first.problems = tuple(field_problem(fault.param or "", fault.message) for fault in self._faults)
            raise first


def currency_or_kwacha(text: str) -> Currency:
    """The named currency; for an unknown name the kwacha, so that the amount beside it can still be checked."""
    return ISO_4217.get(text.upper(), ZMW)


def read_currency(gaps: Gaps, text: str, documented: Callable[[str], str]) -> Currency:
    """The currency that `text` names.

    `documented` converts a code to the case that the interface shows: `str.upper` or `str.lower`. Raises
    InvalidRequest: the currency is not offered, or the case is wrong while the register's `currency_case` is `strict`.
    """
    currency = currency_named(text, OFFERED[gaps.currencies])
    if gaps.currency_case == "strict" and text != documented(text):
        raise InvalidRequest(f"currency is written {documented(text)!r} here.", param="currency")
    return currency


def _in_bounds(gaps: Gaps, money: Money) -> Money:
    least, most = BOUNDS_MAJOR[gaps.amount_bounds]
    scale = one_minor(money.currency)
    if money.amount_minor < least * scale or (most is not None and money.amount_minor > most * scale):
        raise InvalidRequest(f"{money} is out of bounds.", code="amount_out_of_bounds", param="amount")
    return money


def intent_money(gaps: Gaps, amount: Decimal, currency: Currency) -> Money:
    """The amount of an intent, given in major units. Raises InvalidRequest: not a valid amount, or out of bounds."""
    scaled = rounded(amount, currency) if gaps.intent_amount_scale == "half_even" else amount
    return _in_bounds(gaps, money_from_major(scaled, currency))


def charge_money(gaps: Gaps, amount: int, currency: Currency) -> Money:
    """The amount of a charge, given in the unit of charges.

    Raises InvalidRequest: not a valid amount, or out of bounds.
    """
    return _in_bounds(gaps, money_from_integer(amount, currency, units_minor=unit_minor(gaps, currency.code)))


def whole_units(gaps: Gaps, amount: Decimal, currency: Currency) -> Money:
    """The amount of a charge's refund, given as an integer in the unit of charges.

    Raises InvalidRequest: not an amount, or not whole.
    """
    # The size is checked before the amount becomes an integer: 1e999999 never should.
    check_size(amount, MAX_MAJOR_DIGITS + currency.decimals)
    if amount != amount.to_integral_value():
        message = "amount must be a whole number, like the amount of a charge."
        raise InvalidRequest(message, code="amount_too_precise", param="amount")
    return money_from_integer(int(amount), currency, units_minor=unit_minor(gaps, currency.code))


def read_phone(gaps: Gaps, text: str, *, param: str = "phone") -> Msisdn:
    """The customer's number in the field `param`. Raises InvalidRequest: no phone number, or one without a wallet."""
    return msisdn_from(text, param=param, zed=gaps.zed_mobile, form=gaps.phone_format)


def read_method(gaps: Gaps, method: MobileMoneyMethod) -> tuple[Operator, Msisdn, tuple[str, ...]]:
    """The requested operator, the customer's number, and warnings about the two. Raises InvalidRequest: any fault."""
    details, within = method.mobile_money, "payment_method.mobile_money"
    with EveryFault() as every:
        every.check_type(method.type, "payment_method.type")
        operator = every.read(operator_named, details.provider, param=f"{within}.provider", zed=gaps.zed_mobile)
        phone = every.read(read_phone, gaps, details.phone, param=f"{within}.phone")
    return operator, phone, warnings_of(gaps, operator, phone, f"{within}.provider")


def warnings_of(gaps: Gaps, operator: Operator, phone: Msisdn, param: str) -> tuple[str, ...]:
    """A warning if the number belongs to another operator than `operator`; else empty.

    `param` is the field's name in the warning or error. Raises InvalidRequest: the register refuses such a number.
    """
    if operator == phone.operator:
        return ()
    mismatch = f"{param} is {operator.id}, and the number belongs to {phone.operator.id}"
    if gaps.operator_mismatch == "refused":
        raise InvalidRequest(f"{mismatch}.", code="operator_mismatch", param=param)
    return (f"{mismatch}, which is asked for the money.",)


def amount_warning(gaps: Gaps, money: Money, before_minor: Sequence[int]) -> tuple[str, ...]:
    """A warning if a charge is about a hundred times larger or smaller than earlier charges in its currency.

    `before_minor` has the amounts of those charges. Empty if there is nothing to warn of.
    """
    usual = far_from_usual(money.amount_minor, before_minor)
    if usual is None:
        return ()
    size = "more" if money.amount_minor > usual else "less"
    unit = f"{gaps.charge_amount_unit} units of {money.currency}"
    usually = f"{Money(usual, money.currency)} of the usual charge before it"
    return (f"{money} is far {size} than the {usually}: amounts are in {unit}.",)


def check_known(
    names: Iterable[str], known: Collection[str], says: str, *, param: str, code: str = "parameter_invalid"
) -> None:
    """Raises InvalidRequest, with this `code`, if one of `names` is not in `known`.

    `says` stands between the name and the known names in the message.
    """
    for name in names:
        if name not in known:
            raise InvalidRequest(f"{name[:40]!r} {says} {', '.join(known)}.", code=code, param=param)


def whole_ms(seconds: Decimal, most_s: int) -> int:
    """The milliseconds in `seconds`. Raises InvalidRequest: negative, over `most_s`, or finer than a millisecond."""
    in_bounds = seconds.is_finite() and 0 <= seconds <= most_s
    if in_bounds and seconds * 1000 == (whole := int(seconds * 1000)):
        return whole
    raise invalid(f"seconds is from 0 to {most_s}, in whole milliseconds.", "seconds")


def live_key() -> AuthenticationFailed:
    """The error for a live key."""
    return AuthenticationFailed(
        "This is a live key, and this is the sandbox: nothing live was touched, no money moved.",
        code="live_key_in_sandbox",
        hint="Use a key that begins with sk_test_ or pk_test_, and roll the live key if others could see this call.",
    )
