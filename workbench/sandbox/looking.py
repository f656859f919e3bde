"""What a person looks through on a dashboard: payments and requests, searched, filtered and counted in the store."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from msgspec.structs import asdict

from workbench.domain import wire
from workbench.domain.moments import milliseconds_in, rfc3339
from workbench.domain.phones import mask_phone
from workbench.domain.wire import control
from workbench.errors import NotFound
from workbench.sandbox import trace
from workbench.sandbox.service import checks, deliveries
from workbench.sandbox.service.lists import Caller
from workbench.sandbox.store import Transaction, transaction
from workbench.sandbox.store.records import Call, Payment
from workbench.sandbox.store.table import Condition, Filters, R, Table
from workbench.snippets import snippet_of
from workbench.steps import step_of

W = TypeVar("W")
_MAX_STATUS: Final = 99


def payments(tx: Transaction, caller: Caller, *, query: wire.PaymentsQuery) -> control.Found[control.Payment]:
    """GET /sandbox/payments: search the intents, and the charges without an intent, newest first."""
    states = tuple(query.status.split(",")) if query.status else ()
    checks.check_known(states, control.PAYMENT_STATES, "is no state of a payment; they are", param="status")
    also = _between(query, "created_ms")
    if query.search is not None:
        also.append(transaction.holds(query.search, "id", "charge", "description", phone="phone"))
    for sign, bound in ((">=", query.min_minor), ("<=", query.max_minor)):
        also += [] if bound is None else [Condition(f"amount_minor {sign} ?", (bound,))]
    equals: dict[str, Filters] = {"account": caller.account}
    equals |= {"state": states} if states else {}
    equals |= {"provider": query.provider} if query.provider else {}
    return _found(tx.payments, query, _payment, also, equals)


def payment(tx: Transaction, caller: Caller, *, payment_id: wire.PathPayment) -> wire.PaymentDetails:
    """GET /sandbox/payments/{payment_id}: a payment, its events, their deliveries, and its rows of the trace."""
    kept = tx.payments.first(id=payment_id, account=caller.account)
    if kept is None:
        raise NotFound(f"There is no payment {payment_id[:60]!r}.", code="payment_not_found", param="id")
    ids = trace.events_of(tx, kept.id)
    rows = trace.of_payment(tx, kept.id, ids)
    return wire.PaymentDetails(
        payment=_payment(kept),
        events=[control.PaymentEvent(each.id, each.type, each.created_ms // 1000) for each in tx.events.all(id=ids)],
        deliveries=deliveries.of_events(tx, ids),
        trace=rows,
        steps=[step_of(asdict(each)) for each in rows],
    )


def requests(tx: Transaction, caller: Caller, *, query: wire.RequestsQuery) -> control.Found[control.LoggedRequest]:  # noqa: ARG001  one signature
    """GET /sandbox/requests: search the requests to the service, newest first."""
    also = _between(query, "at_ms")
    if query.search is not None:
        also.append(transaction.called(query.search))
    if query.status is not None:
        first = query.status * 100
        also.append(Condition("status BETWEEN ? AND ?", (first, first + _MAX_STATUS)))
    return _found(tx.calls, query, _request, also, {"method": query.method} if query.method else {})


def request(tx: Transaction, caller: Caller, *, request_id: wire.PathRequest) -> wire.TraceRow:  # noqa: ARG001  one signature
    """GET /sandbox/requests/{request_id}: a request and its response, masked."""
    kept = tx.calls.get(request_id)
    if kept is None:
        raise NotFound(f"No request {request_id[:60]!r} was kept.", code="request_not_found", param="id")
    return trace.call(kept)


def show_code(tx: Transaction, caller: Caller, *, request_id: wire.PathRequest, query: wire.CodeQuery) -> control.Code:
    """GET /sandbox/requests/{request_id}/code: a request as curl, Python and JavaScript, without keys."""
    same = snippet_of(request(tx, caller, request_id=request_id).detail, query.base_url)
    return control.Code(same.curl, same.python, same.javascript)


def _between(query: wire.FindQuery, column: str) -> list[Condition]:
    moments = ((">=", "since", query.since), ("<", "until", query.until))
    return [
        Condition(f"{column} {sign} ?", (milliseconds_in(text, param=name),))
        for sign, name, text in moments
        if text is not None
    ]


def _found(
    table: Table[R],
    query: wire.FindQuery,
    shown: Callable[[R], W],
    also: Sequence[Condition],
    equals: dict[str, Filters],
) -> control.Found[W]:
    """The page, and how many rows there are before and after it: from the place of a row, new ones shift nothing."""
    total = older = table.count(also, **equals)
    if query.older_than is not None:
        older = table.count([*also, Condition("seq < ?", (query.older_than,))], **equals)
    # Where there is none, it is not looked for among the rows themselves: an index is enough to count.
    rows = table.page(query.limit, older_than=query.older_than, newer_than=None, also=also, **equals) if older else []
    return control.Found([shown(each) for each in rows], total - older + 1, total)


def _payment(kept: Payment) -> control.Payment:
    return control.Payment(
        id=kept.id,
        seq=kept.seq,
        created=kept.created_ms // 1000,
        amount_minor=kept.amount_minor,
        refunded_minor=kept.refunded_minor,
        currency=kept.currency,
        state=kept.state,
        description=kept.description,
        phone=mask_phone(kept.phone) if kept.phone else None,
        provider=kept.provider,
        charge=kept.charge,
        failure_code=kept.failure_code,
    )


def _request(kept: Call) -> control.LoggedRequest:
    headers = {name.lower(): value for name, value in kept.request_headers.items()}
    return control.LoggedRequest(
        id=kept.id,
        seq=kept.seq,
        at=rfc3339(kept.at_ms),
        method=kept.method,
        path=kept.path,
        status=kept.status,
        payment=kept.payment,
        key=headers.get("authorization", ""),
        idempotency_key=headers.get("idempotency-key"),
    )
