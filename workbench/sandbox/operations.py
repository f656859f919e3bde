"""All operations of the service, under `/v1` and `/plants`, and how they are marked as deprecated.

A call under `/sandbox` marks an operation as deprecated, to test how a client reacts to the headers Deprecation (RFC
9745) and Sunset (RFC 8594); a reset removes the marks.
"""

from collections.abc import Callable, Mapping
from email.utils import formatdate
from functools import cache
from operator import attrgetter
from typing import Any, Final, NamedTuple, get_args, get_origin

from msgspec.structs import replace

from workbench.domain import scenarios
from workbench.domain.gaps import Gaps
from workbench.domain.moments import milliseconds_in, rfc3339
from workbench.domain.wire import keys_and_events as wire
from workbench.domain.wire import payments_and_payouts as money
from workbench.domain.wire.base import List, ListQuery, NumberedList, View, numbered_query
from workbench.domain.wire.sandbox_controls import DASHBOARD, Deprecate, Deprecated
from workbench.errors import NotFound, StateConflict
from workbench.sandbox.messages import JSON
from workbench.sandbox.service import Caller, accounts, balances, payments, webhooks
from workbench.sandbox.store import Transaction

BEARER: Final = ("Bearer",)
BASIC: Final = ("Basic",)
EITHER: Final = ("Bearer", "Basic")
NO_KEY: Final = ()
ERRORS: Final = 400
"""The lowest status of an operation's error; no operation redirects."""

ANY_POST: Final = scenarios.FAULTS
"""Scenarios that the header Sandbox-Scenario can request in every POST."""
PAYMENT: Final = scenarios.SCRIPTABLE


class Link(NamedTuple):
    """A link from a response to an operation: the response's member `gives` is the value of the parameter `takes`."""

    name: str
    leads_to: str
    takes: str
    gives: str = "id"


def _to(takes: str, **leads_to: str) -> tuple[Link, ...]:
    """Links (name → operation id) to operations whose parameter `takes` is the id in the response."""
    return tuple(Link(name, operation, takes) for name, operation in leads_to.items())


class Operation(NamedTuple):
    """An operation: its route, who may call it, the function that runs, its request and response, and its source.

    The fields of `query` are the parameters of the query, the fields of `body` the members of the body.
    """

    id: str
    """The operation id, which names the method in a generated client."""
    method: str
    path: str
    run: Callable[..., Any]
    response: Any
    """The struct of the response's body, for the description."""
    source: str = "assumed"
    """The sections of the interface that document the operation, or `assumed`."""
    gap: str = "4"
    """For an `assumed` operation, the section of the interface that leaves it open: 4 endpoints, 5 keys, 6 events."""
    schemes: tuple[str, ...] = EITHER
    says: str = ""
    """The description, if several operations share `run`; otherwise the docstring of `run` has it after the path."""
    body: type[View] | None = None
    query: type[View] | None = None
    publishable: bool = False
    creates: bool = False
    needs_idempotency_key: bool = False
    body_optional: bool = False
    scenarios: tuple[str, ...] = ()
    """The scenarios that Sandbox-Scenario can request for this operation."""
    refuses: tuple[int, ...] = ()
    """The error statuses that `run` itself causes: 402 declined, 404 for an id in the body, 409 for a state."""
    phone: Callable[[Any], str] | None = None
    """Reads the customer's number, whose script may fail the call, from the body; None if bodies have no number."""
    plain_400: bool = False
    """True if an invalid body gets the documented Error instead of a problem."""
    no_store: bool = False
    """True if the response contains a token or key, which no cache may store."""
    traced: bool = True
    untraced_id: str = "ctl"
    """The prefix of the Request-Id of an untraced call; ids are counted separately for each prefix."""
    shows: tuple[tuple[int, str], ...] = ()
    """(status, media type) of the responses that the interface documents for this operation."""
    links: tuple[Link, ...] = ()
    success: int = 200
    shown: Callable[[Any], object] | None = None
    """Makes the body from the result of `run`; None if the result is the body itself."""
    gone: tuple[str, ...] = ()
    """Rows of the register that can remove the operation from the interface; it then responds with 404."""

    @property
    def takes_keys(self) -> bool:
        """True if the operation uses idempotency keys.

        Responses under `/sandbox` are not kept, since such an action may be repeated; nor are responses to calls
        without an API key, which belong to no account.
        """
        return self.method == "POST" and bool(self.schemes) and self.traced


# Caches find an operation by its identity, which is quicker than by all its fields.
Operation.__hash__ = object.__hash__  # type: ignore[method-assign]  # the class of a named tuple takes no such member

# fmt: off
OPERATIONS: tuple[Operation, ...] = (
    Operation("createPaymentIntent", "POST", "/v1/payment_intents", payments.create_intent, money.PaymentIntent,
              "2.1, 4", schemes=BEARER, body=money.CreatePaymentIntent, creates=True, scenarios=ANY_POST,
              links=_to("intent_id", confirm="confirmPaymentIntent", retrieve="retrievePaymentIntent",
                        cancel="cancelPaymentIntent")),
    Operation("listPaymentIntents", "GET", "/v1/payment_intents", payments.INTENTS.page, List[money.PaymentIntent],
              schemes=BEARER, query=ListQuery, says="The intents, newest first."),
    Operation("retrievePaymentIntent", "GET", "/v1/payment_intents/{intent_id}", payments.retrieve_intent,
              money.PaymentIntent, schemes=BEARER, query=money.ClientSecretQuery, publishable=True),
    Operation("confirmPaymentIntent", "POST", "/v1/payment_intents/{intent_id}/confirm", payments.confirm_intent,
              money.PaymentIntent, "2.2, 4", schemes=BEARER, body=money.ConfirmPaymentIntent, publishable=True,
              scenarios=PAYMENT, refuses=(409,), phone=attrgetter("payment_method.mobile_money.phone"),
              links=(*_to("intent_id", retrieve="retrievePaymentIntent", cancel="cancelPaymentIntent"),
                     Link("charge", "retrieveCharge", "charge_id", gives="latest_charge"))),
    Operation("cancelPaymentIntent", "POST", "/v1/payment_intents/{intent_id}/cancel", payments.cancel_intent,
              money.PaymentIntent, schemes=BEARER, body=money.CancelPaymentIntent, body_optional=True,
              scenarios=ANY_POST, refuses=(409,)),
    Operation("createCharge", "POST", "/v1/charges", payments.create_charge, money.Charge, "2.3, 4", schemes=BASIC,
              body=money.CreateCharge, creates=True, needs_idempotency_key=True, scenarios=PAYMENT, refuses=(402,),
              phone=attrgetter("phone"), shows=((200, JSON),),
              links=(*_to("charge_id", retrieve="retrieveCharge"), *_to("charge", refunds="listRefunds"))),
    Operation("listCharges", "GET", "/v1/charges", payments.CHARGES.page, List[money.Charge], query=ListQuery,
              says="The charges, including the charges of intents, newest first."),
    Operation("retrieveCharge", "GET", "/v1/charges/{charge_id}", payments.CHARGES.retrieve, money.Charge,
              says="Retrieve a charge."),
    Operation("createRefund", "POST", "/v1/refunds", payments.create_refund, money.Refund, body=money.CreateRefund,
              creates=True, scenarios=(*scenarios.REFUND_FAILURES, *ANY_POST), refuses=(404, 409),
              links=_to("refund_id", retrieve="retrieveRefund")),
    Operation("listRefunds", "GET", "/v1/refunds", payments.list_refunds, List[money.Refund],
              query=money.RefundsQuery),
    Operation("retrieveRefund", "GET", "/v1/refunds/{refund_id}", payments.REFUNDS.retrieve, money.Refund,
              says="Retrieve a refund."),
    Operation("createPayout", "POST", "/v1/payouts", balances.create_payout, money.Payout, body=money.CreatePayout,
              creates=True, scenarios=(*scenarios.PAYOUT_SCENARIOS, *ANY_POST), refuses=(409,),
              links=_to("payout_id", retrieve="retrievePayout")),
    Operation("listPayouts", "GET", "/v1/payouts", balances.PAYOUTS.page, List[money.Payout], query=ListQuery,
              says="The payouts, newest first."),
    Operation("retrievePayout", "GET", "/v1/payouts/{payout_id}", balances.PAYOUTS.retrieve, money.Payout,
              says="Retrieve a payout."),
    Operation("retrieveBalance", "GET", "/v1/balance", balances.balance, money.Balance),
    Operation("listEvents", "GET", "/v1/events", webhooks.list_events, List[wire.Event], gap="6",
              query=wire.EventsQuery),
    Operation("retrieveEvent", "GET", "/v1/events/{event_id}", webhooks.EVENTS.retrieve, wire.Event, gap="6",
              says="An event, byte for byte as it is sent.", links=_to("event_id", replay="replayEvent")),
    Operation("replayEvent", "POST", "/v1/events/{event_id}/replay", webhooks.replay_event, List[wire.Delivery],
              gap="6", scenarios=ANY_POST),
    Operation("createWebhookEndpoint", "POST", "/v1/webhook_endpoints", webhooks.create_endpoint,
              wire.WebhookEndpoint, gap="6", body=wire.CreateWebhookEndpoint, creates=True, no_store=True,
              scenarios=ANY_POST,
              links=_to("endpoint_id", retrieve="retrieveWebhookEndpoint", update="updateWebhookEndpoint",
                        roll="rollWebhookEndpointSecret", delete="deleteWebhookEndpoint")),
    Operation("listWebhookEndpoints", "GET", "/v1/webhook_endpoints", webhooks.ENDPOINTS.page,
              List[wire.WebhookEndpoint], gap="6", query=ListQuery, says="The endpoints, newest first."),
    Operation("retrieveWebhookEndpoint", "GET", "/v1/webhook_endpoints/{endpoint_id}", webhooks.ENDPOINTS.retrieve,
              wire.WebhookEndpoint, gap="6", says="An endpoint, without its secret."),
    Operation("updateWebhookEndpoint", "PATCH", "/v1/webhook_endpoints/{endpoint_id}", webhooks.update_endpoint,
              wire.WebhookEndpoint, gap="6", body=wire.UpdateWebhookEndpoint),
    Operation("deleteWebhookEndpoint", "DELETE", "/v1/webhook_endpoints/{endpoint_id}", webhooks.delete_endpoint,
              wire.Deleted, gap="6", links=_to("endpoint_id", gone="retrieveWebhookEndpoint")),
    Operation("rollWebhookEndpointSecret", "POST", "/v1/webhook_endpoints/{endpoint_id}/roll_secret",
              webhooks.roll_endpoint_secret, wire.WebhookEndpoint, gap="6", no_store=True, scenarios=ANY_POST),
    Operation("listDeliveries", "GET", "/v1/deliveries", webhooks.list_deliveries, List[wire.Delivery], gap="6",
              query=wire.DeliveriesQuery),
    Operation("retrieveDelivery", "GET", "/v1/deliveries/{delivery_id}", webhooks.DELIVERIES.retrieve, wire.Delivery,
              gap="6", says="A delivery and each attempt at it.", links=_to("delivery_id", replay="replayDelivery")),
    Operation("replayDelivery", "POST", "/v1/deliveries/{delivery_id}/replay", webhooks.replay_delivery,
              wire.Delivery, gap="6", scenarios=ANY_POST, refuses=(409,)),
    Operation("replayDeadLetters", "POST", "/v1/dead_letters/replay", webhooks.replay_dead_letters,
              List[wire.Delivery], gap="6", scenarios=ANY_POST),
    Operation("listApiKeys", "GET", "/v1/api_keys", accounts.KEYS.page, List[wire.ApiKey], gap="5",
              query=ListQuery, says="The keys, masked, newest first."),
    Operation("createApiKey", "POST", "/v1/api_keys", accounts.create_key, wire.ApiKey, gap="5",
              body=wire.CreateApiKey, body_optional=True, creates=True, no_store=True, scenarios=ANY_POST,
              links=_to("key_id", roll="rollApiKey", revoke="revokeApiKey")),
    Operation("rollApiKey", "POST", "/v1/api_keys/{key_id}/roll", accounts.roll_key, wire.ApiKey, gap="5",
              no_store=True, scenarios=ANY_POST, refuses=(409,)),
    Operation("revokeApiKey", "DELETE", "/v1/api_keys/{key_id}", accounts.revoke_key, wire.ApiKey, gap="5",
              refuses=(409,)),
    Operation("createPlant", "POST", "/plants", accounts.create_plant, wire.Plant, "2.4, 4", schemes=BEARER,
              body=wire.NewPlant, plain_400=True, shows=((200, JSON), (400, JSON))),
    Operation("issueToken", "POST", "/v1/auth/token", accounts.issue_token, wire.Token, "4, 5", schemes=NO_KEY,
              body=wire.TokenRequest, no_store=True),
    Operation("refreshToken", "POST", "/v1/auth/refresh", accounts.refresh_token, wire.Token, "4, 5", schemes=NO_KEY,
              body=wire.RefreshRequest, no_store=True, body_optional=True),
)
# fmt: on

_VERSION: Final = "/v1"


def _named_token(pair: wire.Token) -> wire.NamedToken:
    return wire.NamedToken(pair.access_token, pair.refresh_token)


_TOKENS: Final[Mapping[str, tuple[type[View], Callable[[wire.Token], View]]]] = {
    "token": (wire.NamedToken, _named_token),
    "data.token": (wire.WrappedToken, lambda pair: wire.WrappedToken(_named_token(pair))),
}
"""Value of the register's `token_field` → the struct of a token response, and the function that makes it."""


def _changed(row: Operation, gaps: Gaps) -> Operation:
    """The operation with the changes that this register makes."""
    if gaps.success_status == "201_created" and row.creates:
        row = row._replace(success=201)
    if gaps.charge_wait == "accepted" and row.id == "createCharge":
        row = row._replace(success=202)
    if gaps.confirm_response == "accepted" and row.id == "confirmPaymentIntent":
        row = row._replace(success=202, response=money.AcceptedIntent)
        row = row._replace(shown=lambda intent: money.AcceptedIntent(intent.id, intent.status))
    if gaps.pagination == "page" and row.query is not None and issubclass(row.query, ListQuery):
        of_rows: Any = NumberedList
        row = row._replace(query=numbered_query(row.query), response=of_rows[get_args(row.response)])
    if gaps.token_field in _TOKENS and row.response is wire.Token:
        row = row._replace(response=_TOKENS[gaps.token_field][0], shown=_TOKENS[gaps.token_field][1])
    if gaps.extra_endpoints == "absent" and row.source == "assumed":
        row = row._replace(gone=("extra_endpoints",))
    if gaps.endpoint_registration == "dashboard" and row.path.startswith(webhooks.ENDPOINTS.url):
        row = row._replace(gone=(*row.gone, "endpoint_registration"))
    return row


@cache
def in_force(gaps: Gaps) -> tuple[Operation, ...]:
    """All operations with the changes that this register makes.

    An operation that the register removes from the interface is listed twice: marked as `gone`, and at the end with its
    path on the sandbox's dashboard.
    """
    changed = tuple(_changed(row, gaps) for row in OPERATIONS)
    return (*changed, *(_on_dashboard(row) for row in changed if row.gone))


def _on_dashboard(row: Operation) -> Operation:
    """The operation as an action of a person on the merchant's dashboard, which is no call of the merchant."""
    is_list = get_origin(row.response) in (List, NumberedList)
    return row._replace(
        path=row.path.replace(_VERSION, DASHBOARD, 1),
        source="sandbox",
        publishable=False,
        traced=False,
        gone=(),
        # The address of a list is the one on the dashboard.
        shown=(lambda page: replace(page, url=page.url.replace(_VERSION, DASHBOARD, 1))) if is_list else None,
    )


_SINCE, _SUNSET = "deprecated {}", "sunset {}"
"""The names of an operation's counters: for the moment of its deprecation, and for that of its removal.

Both values are milliseconds since 1970; 0 stands for never.
"""
MARKS: Final = "deprecations"
"""The counter of operations marked as deprecated since the last reset; as long as it is 0, no mark is looked up."""


def deprecate(tx: Transaction, caller: Caller, body: Deprecate, *, operation_id: str) -> Deprecated:
    """POST /sandbox/operations/{operation_id}/deprecation: mark an operation as deprecated, or remove the mark.

    The operation's responses and /openapi.json then say so. Raises NotFound: no such operation. Raises StateConflict:
    the operation would be gone before it is deprecated.
    """
    if operation_id not in {operation.id for operation in OPERATIONS}:
        raise NotFound(f"There is no operation {operation_id[:60]!r}.", code="operation_not_found", param="id")
    if not body.marked:
        _mark(tx, operation_id, 0, 0)
        return Deprecated(operation_id)
    since_ms = _moment_ms(body.deprecated_at, "deprecated_at") or tx.now_ms
    sunset_ms = _moment_ms(body.sunset_at, "sunset_at")
    if sunset_ms and sunset_ms < since_ms:
        message = "An operation is gone after it is deprecated, not before."
        raise StateConflict(message, code="moment_impossible", param="sunset_at")
    _mark(tx, operation_id, since_ms, sunset_ms)
    return Deprecated(operation_id, rfc3339(since_ms), rfc3339(sunset_ms) if sunset_ms else None)


def _moment_ms(moment: str | None, param: str) -> int:
    """A moment in milliseconds since 1970; 0 stands for None, so the moment 0 itself becomes 1."""
    return 0 if moment is None else milliseconds_in(moment, param=param) or 1


def deprecation_headers(tx: Transaction, operation: str) -> dict[str, str]:
    """The headers Deprecation and Sunset of a marked operation; none if the register does not announce deprecations."""
    if tx.gaps.deprecation == "none":
        return {}
    since_ms, sunset_ms = tx.last(_SINCE.format(operation)), tx.last(_SUNSET.format(operation))
    since = {"Deprecation": f"@{since_ms // 1000}"} if since_ms else {}
    return since | ({"Sunset": formatdate(sunset_ms // 1000, usegmt=True)} if sunset_ms else {})


def deprecated_in(tx: Transaction) -> frozenset[str]:
    """The ids of the operations marked as deprecated; none if the register does not announce deprecations."""
    marks = (operation.id for operation in OPERATIONS if tx.last(_SINCE.format(operation.id)))
    return frozenset(marks if tx.last(MARKS) and tx.gaps.deprecation != "none" else ())


def forget_marks(tx: Transaction) -> None:
    """Removes the deprecation marks of all operations."""
    if tx.last(MARKS):
        for operation in OPERATIONS:
            _mark(tx, operation.id, 0, 0)
        tx.note(MARKS, 0)


def _mark(tx: Transaction, operation: str, since_ms: int, sunset_ms: int) -> None:
    tx.count_up(MARKS)
    tx.note(_SINCE.format(operation), since_ms)
    tx.note(_SUNSET.format(operation), sunset_ms)
