"""The table of calls: each operation, and the call of the client or of a bench that sends it."""

from collections.abc import Mapping
from typing import NamedTuple


class Call(NamedTuple):
    """One operation as a call in Python."""

    method: str
    path: str
    text: str
    """What is called. An id of the path stands in it in braces, or is its first argument."""
    fields: Mapping[str, str] = {}
    """Path in the body → argument; `a.b` is b within a."""
    always: tuple[str, ...] = ()
    """Arguments that the call always sends: a request without them is not this call."""
    fixed: Mapping[str, str] = {}
    """What the call adds to the body by itself."""
    query: tuple[str, ...] = ()
    needs_query: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ("Bearer",)
    keyed: bool = False
    """It takes an idempotency key."""
    is_attribute: bool = False


def _same(*names: str) -> dict[str, str]:
    """Arguments with the names of fields."""
    return {name: name for name in names}


_EITHER = ("Bearer", "Basic")
_PAGE = ("limit", "starting_after", "ending_before")


def _listed(path: str, group: str, *filters: str, schemes: tuple[str, ...] = _EITHER) -> Call:
    return Call("GET", path, f"pay.{group}.list", query=(*_PAGE, *filters), schemes=schemes)


def _of_one(method: str, path: str, text: str) -> Call:
    """A call that takes an id and nothing else."""
    return Call(method, path, f"pay.{text}", schemes=_EITHER)


def _of_bench(method: str, path: str, text: str, *fields: str, is_attribute: bool = False) -> Call:
    path = f"/sandbox/{path}"
    return Call(method, path, f"bench.{text}", _same(*fields), always=fields, is_attribute=is_attribute)


# fmt: off
CALLS: tuple[Call, ...] = (
    Call("POST", "/v1/payment_intents", "pay.payment_intents.create",
         _same("amount", "currency", "payment_method_types", "description", "metadata"),
         always=("amount", "currency", "payment_method_types"), keyed=True),
    _listed("/v1/payment_intents", "payment_intents", schemes=("Bearer",)),
    Call("GET", "/v1/payment_intents/{intent_id}", "pay.payment_intents.retrieve", query=("client_secret",)),
    Call("POST", "/v1/payment_intents/{intent_id}/confirm", "pay.payment_intents.confirm",
         {"payment_method.mobile_money.phone": "phone", "payment_method.mobile_money.provider": "provider",
          "client_secret": "client_secret"},
         always=("phone", "provider"), fixed={"payment_method.type": "mobile_money"}, keyed=True),
    Call("POST", "/v1/payment_intents/{intent_id}/cancel", "pay.payment_intents.cancel",
         _same("cancellation_reason"), keyed=True),
    Call("POST", "/v1/charges", "pay.charges.create",
         _same("amount", "currency", "channel", "phone", "reference", "metadata"),
         always=("amount", "currency", "channel", "phone", "idempotency_key"), fixed={"type": "mobile_money"},
         schemes=("Basic",), keyed=True),
    _listed("/v1/charges", "charges"),
    _of_one("GET", "/v1/charges/{charge_id}", "charges.retrieve"),
    Call("POST", "/v1/refunds", "pay.refunds.create",
         _same("charge", "payment_intent", "amount", "reason", "metadata"), schemes=_EITHER, keyed=True),
    _listed("/v1/refunds", "refunds", "charge"),
    _of_one("GET", "/v1/refunds/{refund_id}", "refunds.retrieve"),
    Call("POST", "/v1/payouts", "pay.payouts.create", _same("amount", "currency", "destination", "metadata"),
         always=("amount", "currency"), schemes=_EITHER, keyed=True),
    _listed("/v1/payouts", "payouts"),
    _of_one("GET", "/v1/payouts/{payout_id}", "payouts.retrieve"),
    Call("GET", "/v1/balance", "pay.balance.retrieve", schemes=_EITHER),
    _listed("/v1/events", "events", "type", "created_since", "search"),
    _of_one("GET", "/v1/events/{event_id}", "events.retrieve"),
    _of_one("POST", "/v1/events/{event_id}/replay", "events.replay"),
    Call("POST", "/v1/webhook_endpoints", "pay.webhook_endpoints.create", _same("url", "enabled_events"),
         always=("url", "enabled_events"), schemes=_EITHER),
    _listed("/v1/webhook_endpoints", "webhook_endpoints"),
    _of_one("GET", "/v1/webhook_endpoints/{endpoint_id}", "webhook_endpoints.retrieve"),
    Call("PATCH", "/v1/webhook_endpoints/{endpoint_id}", "pay.webhook_endpoints.update",
         _same("url", "enabled_events", "status"), schemes=_EITHER),
    _of_one("DELETE", "/v1/webhook_endpoints/{endpoint_id}", "webhook_endpoints.delete"),
    _of_one("POST", "/v1/webhook_endpoints/{endpoint_id}/roll_secret", "webhook_endpoints.roll_secret"),
    _listed("/v1/deliveries", "deliveries", "status", "event", "endpoint"),
    _of_one("GET", "/v1/deliveries/{delivery_id}", "deliveries.retrieve"),
    _of_one("POST", "/v1/deliveries/{delivery_id}/replay", "deliveries.replay"),
    _of_one("POST", "/v1/dead_letters/replay", "deliveries.replay_dead_letters"),
    _listed("/v1/api_keys", "api_keys"),
    Call("POST", "/v1/api_keys", "pay.api_keys.create", _same("kind"), schemes=_EITHER),
    _of_one("POST", "/v1/api_keys/{key_id}/roll", "api_keys.roll"),
    _of_one("DELETE", "/v1/api_keys/{key_id}", "api_keys.revoke"),
    Call("POST", "/plants", "pay.plants.create", _same("id", "name", "tag"), always=("id", "name")),
    Call("POST", "/v1/auth/token", "pay.auth.token", _same("email", "password"), always=("email", "password"),
         schemes=("none",)),
    Call("POST", "/v1/auth/refresh", "pay.auth.refresh", _same("refresh_token"), always=("refresh_token",),
         schemes=("none",)),
    _of_bench("GET", "clock", "clock", is_attribute=True),
    _of_bench("POST", "clock/advance", "clock.advance", "seconds"),
    _of_bench("GET", "phones/{phone}", "phone"),
    Call("POST", "/sandbox/phones/{phone}/input", "bench.phone({phone}).enter_pin", {"text": "pin"}, always=("pin",)),
    _of_bench("GET", "phones/{phone}/messages", "phone({phone}).messages", is_attribute=True),
    _of_bench("POST", "phones/{phone}/cancel", "phone({phone}).cancel"),
    _of_bench("POST", "phones/{phone}/ignore", "phone({phone}).ignore"),
    _of_bench("GET", "operator", "operator.states"),
    _of_bench("POST", "operator/script", "operator.script", "phone", "answers"),
    _of_bench("POST", "operator/outage", "operator.outage", "provider", "seconds"),
    Call("POST", "/sandbox/operator/query", "bench.operator.query", {"charge": "charge_id"}, always=("charge_id",)),
    Call("POST", "/sandbox/webhook_endpoints/{endpoint}/faults", "bench.delivery_faults", _same("faults")),
    _of_bench("GET", "ledger/accounts", "ledger.accounts", is_attribute=True),
    _of_bench("GET", "ledger/entries", "ledger.entries", is_attribute=True),
    _of_bench("GET", "ledger/postings", "ledger.postings", is_attribute=True),
    Call("GET", "/sandbox/ledger/movements", "bench.ledger.statement_of", query=("account",),
         needs_query=("account",)),
    _of_bench("GET", "ledger/verify", "ledger.verify"),
    _of_bench("GET", "trace", "trace", is_attribute=True),
    _of_bench("GET", "gaps", "gaps", is_attribute=True),
    _of_bench("POST", "reset", "reset"),
)
NO_CALL = frozenset({
    ("GET", "/sandbox/webhook_endpoints"), ("POST", "/sandbox/accounts"), ("POST", "/sandbox/ledger/entries"),
    ("POST", "/sandbox/ledger/entries/{entry_id}/repeat"),
})
# fmt: on
"""Operations without a call of their own in Python: they are written as raw HTTP."""
