"""The table of operations under `/v1` and `/plants`: all that the service offers, on one screen."""

from collections.abc import Callable, Mapping
from functools import cache, reduce
from operator import attrgetter
from typing import Any, Final, NamedTuple, get_args, get_origin

from msgspec.structs import replace

from workbench.domain import scenarios, wire
from workbench.domain.gaps import Gaps, Value
from workbench.sandbox import views
from workbench.sandbox.messages import JSON
from workbench.sandbox.service import charges, deliveries, endpoints, intents, keys, payouts, plants, refunds

BEARER: Final = ("Bearer",)
BASIC: Final = ("Basic",)
EITHER: Final = ("Bearer", "Basic")
NO_KEY: Final = ()

ANY_POST: Final = scenarios.FAULTS
"""What every POST can be asked to run into by the Sandbox-Scenario header."""
PAYMENT: Final = scenarios.SCRIPTABLE


class Link(NamedTuple):
    """What a response leads to: an operation that takes a member of it as a parameter."""

    name: str
    leads_to: str
    takes: str
    gives: str = "id"


def _to(takes: str, **leads_to: str) -> tuple[Link, ...]:
    """Links to operations on the object of the response's id, each by its name."""
    return tuple(Link(name, operation, takes) for name, operation in leads_to.items())


class Operation(NamedTuple):
    """One row: what is routed, who may call, what runs, what it answers, what it reads, and where it comes from.

    What it does is said by the docstring of `run`, after the path; what a path holds by the types of its arguments,
    and what a query or body holds by the fields of its struct.
    """

    id: str
    """As a generated client would call its method."""
    method: str
    path: str
    schemes: tuple[str, ...]
    run: Callable[..., Any]
    response: Any
    """The struct of the answer's body, for the description."""
    source: str
    """The sections of the interface that show it, or `assumed`."""
    gap: str = "4"
    """The section that leaves an assumed operation open: other endpoints, unless it is about events or keys."""
    body: type[wire.View] | None = None
    query: type[wire.View] | None = None
    publishable: bool = False
    """A publishable key may call it."""
    creates: bool = False
    needs_idempotency_key: bool = False
    body_optional: bool = False
    scenarios: tuple[str, ...] = ()
    """What can be asked to go wrong."""
    refuses: tuple[int, ...] = ()
    """The statuses of refusals that come from what it runs alone: 402 declined, 404 named in the body, 409 state."""
    phone: Callable[[Any], str] | None = None
    """The number in the body on which a script may make the call go wrong."""
    plain_400: bool = False
    """What is wrong with the body is answered as the documented Error, not as a problem."""
    no_store: bool = False
    """The answer holds a token or key: no cache may keep it."""
    traced: bool = True
    untraced_id: str = "ctl"
    """What the Request-Id of a response begins with that leaves no trace: each kind is counted by itself."""
    shows: tuple[tuple[int, str], ...] = ()
    """The statuses and media types of responses that the interface shows; those of no other operation are."""
    relies: tuple[str, ...] = ()
    """Rows of the register that settle its success, beside those of its body."""
    links: tuple[Link, ...] = ()
    """What its success leads to."""
    success: int = 200
    """The status of its success."""
    shown: Callable[[Any], object] | None = None
    """What its result looks like on the wire, where that is something else than the result."""
    gone: tuple[str, ...] = ()
    """Rows of the register by whose choice the interface has no such operation, and answers 404."""

    @property
    def takes_keys(self) -> bool:
        """Whether an idempotency key counts here.

        What a person does through `/sandbox` is not kept: doing it twice is meant. Nor is what is asked without a key:
        there is nobody whom the response would belong to.
        """
        return self.method == "POST" and bool(self.schemes) and self.traced


# What is remembered of a row is found by the row itself, which is quicker than by all that stands in it.
Operation.__hash__ = object.__hash__  # type: ignore[method-assign]  # the class of a named tuple takes no such member

# fmt: off
OPERATIONS: tuple[Operation, ...] = (
    Operation("createPaymentIntent", "POST", "/v1/payment_intents", BEARER, intents.create, wire.PaymentIntent,
              "2.1, 4", body=wire.CreatePaymentIntent, creates=True, scenarios=ANY_POST,
              links=_to("intent_id", confirm="confirmPaymentIntent", retrieve="retrievePaymentIntent",
                        cancel="cancelPaymentIntent")),
    Operation("listPaymentIntents", "GET", "/v1/payment_intents", BEARER, intents.listed,
              wire.List[wire.PaymentIntent], "assumed", query=wire.ListQuery),
    Operation("retrievePaymentIntent", "GET", "/v1/payment_intents/{intent_id}", BEARER, intents.retrieve,
              wire.PaymentIntent, "assumed", query=wire.ClientSecretQuery, publishable=True),
    Operation("confirmPaymentIntent", "POST", "/v1/payment_intents/{intent_id}/confirm", BEARER, intents.confirm,
              wire.PaymentIntent, "2.2, 4", body=wire.ConfirmPaymentIntent, publishable=True, scenarios=PAYMENT,
              refuses=(409,), phone=attrgetter("payment_method.mobile_money.phone"),
              relies=("client_secret_on_confirm", "confirm_response", "prompt_timeout_s"),
              links=(*_to("intent_id", retrieve="retrievePaymentIntent", cancel="cancelPaymentIntent"),
                     Link("charge", "retrieveCharge", "charge_id", gives="latest_charge"))),
    Operation("cancelPaymentIntent", "POST", "/v1/payment_intents/{intent_id}/cancel", BEARER, intents.cancel,
              wire.PaymentIntent, "assumed", body=wire.CancelPaymentIntent, body_optional=True, scenarios=ANY_POST,
              refuses=(409,)),
    Operation("createCharge", "POST", "/v1/charges", BASIC, charges.create, wire.Charge, "2.3, 4",
              body=wire.CreateCharge, creates=True, needs_idempotency_key=True, scenarios=PAYMENT, refuses=(402,),
              phone=attrgetter("phone"), shows=((200, JSON),), relies=("charge_wait",),
              links=(*_to("charge_id", retrieve="retrieveCharge"), *_to("charge", refunds="listRefunds"))),
    Operation("listCharges", "GET", "/v1/charges", EITHER, charges.listed, wire.List[wire.Charge], "assumed",
              query=wire.ListQuery),
    Operation("retrieveCharge", "GET", "/v1/charges/{charge_id}", EITHER, charges.retrieve, wire.Charge, "assumed"),
    Operation("createRefund", "POST", "/v1/refunds", EITHER, refunds.create, wire.Refund, "assumed",
              body=wire.CreateRefund, creates=True, scenarios=(*scenarios.OF_REFUNDS, *ANY_POST), refuses=(404, 409),
              relies=("fee_on_refund",), links=_to("refund_id", retrieve="retrieveRefund")),
    Operation("listRefunds", "GET", "/v1/refunds", EITHER, refunds.listed, wire.List[wire.Refund], "assumed",
              query=wire.RefundsQuery),
    Operation("retrieveRefund", "GET", "/v1/refunds/{refund_id}", EITHER, refunds.retrieve, wire.Refund, "assumed"),
    Operation("createPayout", "POST", "/v1/payouts", EITHER, payouts.create, wire.Payout, "assumed",
              body=wire.CreatePayout, creates=True, scenarios=(*scenarios.OF_PAYOUTS, *ANY_POST), refuses=(409,),
              links=_to("payout_id", retrieve="retrievePayout")),
    Operation("listPayouts", "GET", "/v1/payouts", EITHER, payouts.listed, wire.List[wire.Payout], "assumed",
              query=wire.ListQuery),
    Operation("retrievePayout", "GET", "/v1/payouts/{payout_id}", EITHER, payouts.retrieve, wire.Payout, "assumed"),
    Operation("retrieveBalance", "GET", "/v1/balance", EITHER, payouts.balance, wire.Balance, "assumed"),
    Operation("listEvents", "GET", "/v1/events", EITHER, deliveries.events, wire.List[wire.Event], "assumed", "6",
              query=wire.EventsQuery),
    Operation("retrieveEvent", "GET", "/v1/events/{event_id}", EITHER, deliveries.event, wire.Event, "assumed", "6",
              links=_to("event_id", replay="replayEvent")),
    Operation("replayEvent", "POST", "/v1/events/{event_id}/replay", EITHER, deliveries.replay_event,
              wire.List[wire.Delivery], "assumed", "6", scenarios=ANY_POST, relies=("replay",)),
    Operation("createWebhookEndpoint", "POST", "/v1/webhook_endpoints", EITHER, endpoints.create,
              wire.WebhookEndpoint, "assumed", "6", body=wire.CreateWebhookEndpoint, creates=True, no_store=True,
              scenarios=ANY_POST, relies=("signature_scheme",),
              links=_to("endpoint_id", retrieve="retrieveWebhookEndpoint", update="updateWebhookEndpoint",
                        roll="rollWebhookEndpointSecret", delete="deleteWebhookEndpoint")),
    Operation("listWebhookEndpoints", "GET", "/v1/webhook_endpoints", EITHER, endpoints.listed,
              wire.List[wire.WebhookEndpoint], "assumed", "6", query=wire.ListQuery),
    Operation("retrieveWebhookEndpoint", "GET", "/v1/webhook_endpoints/{endpoint_id}", EITHER, endpoints.retrieve,
              wire.WebhookEndpoint, "assumed", "6"),
    Operation("updateWebhookEndpoint", "PATCH", "/v1/webhook_endpoints/{endpoint_id}", EITHER, endpoints.update,
              wire.WebhookEndpoint, "assumed", "6", body=wire.UpdateWebhookEndpoint),
    Operation("deleteWebhookEndpoint", "DELETE", "/v1/webhook_endpoints/{endpoint_id}", EITHER, endpoints.delete,
              wire.Deleted, "assumed", "6", links=_to("endpoint_id", gone="retrieveWebhookEndpoint")),
    Operation("rollWebhookEndpointSecret", "POST", "/v1/webhook_endpoints/{endpoint_id}/roll_secret", EITHER,
              endpoints.roll_secret, wire.WebhookEndpoint, "assumed", "6", no_store=True, scenarios=ANY_POST,
              relies=("signature_scheme",)),
    Operation("listDeliveries", "GET", "/v1/deliveries", EITHER, deliveries.listed, wire.List[wire.Delivery],
              "assumed", "6", query=wire.DeliveriesQuery),
    Operation("retrieveDelivery", "GET", "/v1/deliveries/{delivery_id}", EITHER, deliveries.retrieve, wire.Delivery,
              "assumed", "6", links=_to("delivery_id", replay="replayDelivery")),
    Operation("replayDelivery", "POST", "/v1/deliveries/{delivery_id}/replay", EITHER, deliveries.replay,
              wire.Delivery, "assumed", "6", scenarios=ANY_POST, refuses=(409,), relies=("replay",)),
    Operation("replayDeadLetters", "POST", "/v1/dead_letters/replay", EITHER, deliveries.replay_dead_letters,
              wire.List[wire.Delivery], "assumed", "6", scenarios=ANY_POST, relies=("replay",)),
    Operation("listApiKeys", "GET", "/v1/api_keys", EITHER, keys.listed, wire.List[wire.ApiKey], "assumed", "5",
              query=wire.ListQuery),
    Operation("createApiKey", "POST", "/v1/api_keys", EITHER, keys.create, wire.ApiKey, "assumed", "5",
              body=wire.CreateApiKey, body_optional=True, creates=True, no_store=True, scenarios=ANY_POST,
              links=_to("key_id", roll="rollApiKey", revoke="revokeApiKey")),
    Operation("rollApiKey", "POST", "/v1/api_keys/{key_id}/roll", EITHER, keys.roll, wire.ApiKey, "assumed", "5",
              no_store=True, scenarios=ANY_POST, refuses=(409,), relies=("key_rotation",)),
    Operation("revokeApiKey", "DELETE", "/v1/api_keys/{key_id}", EITHER, keys.revoke, wire.ApiKey, "assumed", "5",
              refuses=(409,), relies=("key_revocation",)),
    Operation("createPlant", "POST", "/plants", BEARER, plants.create, wire.Plant, "2.4, 4", body=wire.NewPlant,
              plain_400=True, shows=((200, JSON), (400, JSON))),
    Operation("issueToken", "POST", "/v1/auth/token", NO_KEY, keys.issue, wire.Token, "4, 5",
              body=wire.TokenRequest, no_store=True, relies=("token_credentials",)),
    Operation("refreshToken", "POST", "/v1/auth/refresh", NO_KEY, keys.refresh, wire.Token, "4, 5",
              body=wire.RefreshRequest, no_store=True, body_optional=True, relies=("refresh_request",)),
)
# fmt: on


# What becomes of an operation by a choice of the register: one table, a choice a row.

_VERSION: Final = "/v1"
_Change = Callable[[Operation], Operation]


def _of(*identifiers: str, **columns: Any) -> _Change:  # noqa: ANN401  columns are of several types
    """Other columns for these operations."""
    return lambda each: each._replace(**columns) if each.id in identifiers else each


def _token(response: type[wire.View], shown: Callable[[Any], object]) -> _Change:
    """Another shape of a pair of tokens."""
    return lambda each: each._replace(response=response, shown=shown) if each.response is wire.Token else each


def _numbered(each: Operation) -> Operation:
    """A list by the numbers of its pages."""
    if each.query is None or not issubclass(each.query, wire.ListQuery):
        return each
    of_rows: Any = wire.NumberedList
    return each._replace(query=wire.numbered(each.query), response=of_rows[get_args(each.response)])


def _gone(name: str, is_meant: Callable[[Operation], bool]) -> _Change:
    """No operation of the interface."""
    return lambda each: each._replace(gone=(*each.gone, name)) if is_meant(each) else each


_CHANGES: Final[Mapping[tuple[str, Value], _Change]] = {
    ("success_status", "201_created"): lambda each: each._replace(success=201) if each.creates else each,
    ("charge_wait", "accepted"): _of("createCharge", success=202),
    ("confirm_response", "accepted"): _of(
        "confirmPaymentIntent", success=202, response=wire.AcceptedIntent, shown=views.accepted_intent
    ),
    ("pagination", "page"): _numbered,
    ("token_field", "token"): _token(wire.NamedToken, views.named_token),
    ("token_field", "data.token"): _token(wire.WrappedToken, views.wrapped_token),
    ("extra_endpoints", "absent"): _gone("extra_endpoints", lambda each: each.source == "assumed"),
    ("endpoint_registration", "dashboard"): _gone(
        "endpoint_registration", lambda each: each.path.startswith(endpoints.URL)
    ),
}
"""Name and value of a row → what becomes of an operation by it, the later ones last."""


@cache
def in_force(gaps: Gaps) -> tuple[Operation, ...]:
    """The operations as this register has them: as they are by default; what is gone stands on the dashboard too."""
    changes = [change for (name, value), change in _CHANGES.items() if getattr(gaps, name) == value]
    changed = tuple(reduce(lambda each, change: change(each), changes, row) for row in OPERATIONS)
    return (*changed, *(on_dashboard(each) for each in changed if each.gone))


def on_dashboard(operation: Operation) -> Operation:
    """The same operation as what a person does on the merchant's dashboard: no call of the merchant's."""
    path = operation.path.replace(_VERSION, wire.DASHBOARD, 1)
    shown = _listed_there if get_origin(operation.response) in (wire.List, wire.NumberedList) else None
    return operation._replace(path=path, source="sandbox", publishable=False, traced=False, gone=(), shown=shown)


def _listed_there(result: wire.List[Any] | wire.NumberedList[Any]) -> object:
    """The address of a list is the one on the dashboard."""
    return replace(result, url=result.url.replace(_VERSION, wire.DASHBOARD, 1))
