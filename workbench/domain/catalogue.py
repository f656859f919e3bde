"""Every code of an error: its status, its meaning and what to do; and the operators' names for failures."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from workbench import errors


class ErrorCode(NamedTuple):
    """One row: the class that carries the code, what it means, what to do about it."""

    kind: type[errors.ApiError]
    means: str
    do: str


_FIND: Final = "Check the id, and that the key is of the account that it belongs to."
_FIX: Final = "Correct the field that `param` names; `errors` lists every one that is wrong."

# fmt: off
_OF_CLASS: Final[Mapping[type[errors.ApiError], Mapping[str, tuple[str, str]]]] = {
    errors.InvalidRequest: {
        "request_invalid": ("The request breaks a rule that has no code of its own.", _FIX),
        "parameter_missing": ("A field that is needed is not there.", _FIX),
        "parameter_invalid": ("A field is of another type, form or range.", _FIX),
        "parameter_repeated": ("A parameter stands in the query more than once.", "Send it once."),
        "body_missing": ("There is no body.", "Send a JSON object."),
        "body_not_json": ("The body is no JSON.", "Look at the line and column named."),
        "body_not_utf8": ("The body is not UTF-8, or holds half of a character.", "Encode it as UTF-8."),
        "body_too_deep": ("The body is nested deeper than 32 levels.", "Send a flat object."),
        "body_incomplete": ("Less of the body came than Content-Length says.", "Count its bytes, not its characters."),
        "host_malformed": ("There is no header Host, or several, or none that can be read.",
                           "Send one, such as 127.0.0.1:4242."),
        "duplicate_key": ("A name stands twice in one object.", "Send each name once."),
        "number_invalid": ("A number is NaN, infinite or has more than 400 digits.", "Send a plain decimal number."),
        "amount_not_finite": ("The amount is no finite number.", "Send a plain decimal number."),
        "amount_not_positive": ("The amount is zero or less.", "Send more than zero."),
        "amount_too_large": ("The amount has more than ten digits before the point.",
                             "Check the unit: charges count in ngwee, intents in kwacha."),
        "amount_too_precise": ("The amount is finer than the smallest unit.",
                               "Round it yourself, to two decimals, or to a whole number on a charge."),
        "amount_out_of_bounds": ("The amount is outside the bounds in force.",
                                 "See `amount_bounds` in the register of gaps."),
        "amount_not_exact": ("The client was given a float, which holds no amount exactly.",
                             "Pass a Decimal, or an int where whole units are counted."),
        "currency_unsupported": ("The currency is not taken here.", "Send ZMW."),
        "currency_retired": ("ZMK was replaced by ZMW in 2013.", "Send ZMW; 1 ZMW is 1000 ZMK."),
        "phone_invalid": ("The number is not a Zambian one in international form.",
                          "Send +260 and nine digits, without spaces."),
        "phone_without_wallet": ("No operator with wallets has numbers of this prefix.",
                                 "Ask the customer for a number of MTN, Airtel or Zamtel."),
        "operator_unknown": ("There is no operator of this name.", "Send mtn, airtel or zamtel."),
        "operator_mismatch": ("The number belongs to another operator than the one named.",
                              "Take the operator from the number's prefix."),
        "pin_invalid": ("What was typed on the handset cannot be a PIN; no try was lost.", "Type four digits."),
        "url_refused": ("Webhooks may not go to this address.",
                        "Use http or https, to this machine's loopback or a public address."),
        "event_type_unknown": ("No type of event has this name.", "Use a type, a family such as `charge.*`, or `*`."),
        "refund_exceeds_charge": ("More would be refunded than is left of the charge.",
                                  "Leave `amount` out to refund what is left."),
        "recipe_unknown": ("No difference is settled so.", "Use one of those that the message lists."),
        "account_unknown": ("Nobody else keeps books of this account.",
                            "Name an operator's float or the bank: the message lists them."),
        "scenario_unknown": ("This cannot be asked to happen here.", "Use one of those that the message lists."),
        "version_unknown": ("There is no such version.", "Leave Api-Version out, or send 1."),
        "idempotency_key_missing": ("The header Idempotency-Key is required here.",
                                    "Send one key for each order, and the same one with each repetition."),
        "idempotency_key_invalid": ("The header is not one key of 1 to 255 printable characters.",
                                    "Send one UUID or order's reference, in quotes if it holds a comma."),
    },
    errors.AuthenticationFailed: {
        "key_missing": ("There is no Authorization header.", "Send the secret key as the operation takes it."),
        "key_invalid": ("The key is not one of this sandbox.",
                        "Take the key that the sandbox printed when it started."),
        "key_rolled": ("The key was rolled: a newer one is in its place.",
                       "Take the newer one; whoever rolled the key was shown it once."),
        "key_revoked": ("The key was revoked.", "Take another key of the account."),
        "scheme_wrong": ("The key is right in the wrong scheme.",
                         "Charges take Basic, intents and plants Bearer; WWW-Authenticate tells."),
        "live_key_in_sandbox": ("A live key was sent to the sandbox. Nothing was touched.",
                                "Roll the live key if others could see the call; send a test key."),
        "token_expired": ("The token is older than 86400 seconds.", "Refresh it."),
        "token_replaced": ("A refresh gave a newer token.", "Use the newer one."),
        "refresh_token_invalid": ("The refresh token is unknown or was used before.", "Ask for a new token."),
        "credentials_wrong": ("E-mail address and password do not fit.", "Any password but `wrong` is right here."),
    },
    errors.PermissionDenied: {
        "key_not_allowed": ("A publishable key may not do this.", "Call from your server, with the secret key."),
        "client_secret_missing": ("A publishable key needs the intent's client_secret.",
                                  "Hand the client_secret to the checkout with the key."),
        "client_secret_wrong": ("The client_secret is not this intent's.",
                                "Take the one that creating the intent answered."),
        "origin_refused": ("A page of another host called.",
                           "Call from a server; for what a publishable key may do, serve with --allow-origin."),
    },
    errors.HostRefused: {
        "host_refused": ("The sandbox does not answer by the name in the header Host.",
                         "Call it by 127.0.0.1 or localhost, or serve with --allow-host and the name."),
    },
    errors.PaymentDeclined: {
        "payment_declined": ("The customer or the operator said no.",
                             "Read `decline_code`; show the customer what to do; try again with a new key."),
    },
    errors.NotFound: {
        "not_found": ("There is no such thing.", _FIND),
        "path_not_found": ("There is no such path.", "See /docs for those that there are."),
        "intent_not_found": ("There is no such payment intent.", _FIND),
        "charge_not_found": ("There is no such charge.", _FIND),
        "refund_not_found": ("There is no such refund.", _FIND),
        "payout_not_found": ("There is no such payout.", _FIND),
        "payment_not_found": ("There is no such payment.", "Take an id of GET /sandbox/payments."),
        "request_not_found": ("No request of this Request-Id was kept.", "Take an id of GET /sandbox/requests."),
        "event_not_found": ("There is no such event.", _FIND),
        "endpoint_not_found": ("There is no such webhook endpoint, or it was deleted.", _FIND),
        "suspense_not_found": ("No money came late for it.", "Take one of bench.operator.suspense()."),
        "entry_not_found": ("There is no such entry in the ledger.", "Take an id of bench.ledger.entries."),
        "delivery_not_found": ("There is no such delivery.", _FIND),
        "key_not_found": ("There is no such key.", _FIND),
        "operation_not_found": ("There is no operation of this operationId.", "Take one of /openapi.json."),
        "cursor_unknown": ("The cursor is no row of this list.", "Take the id of a row that this list answered."),
    },
    errors.MethodNotAllowed: {"method_not_allowed": ("The path does not take this method.", "`Allow` tells which.")},
    errors.RequestTimeout: {"body_late": ("The body had not come within 10 seconds.",
                                          "Send it at once, and the same again with the same idempotency key.")},
    errors.PayloadTooLarge: {"body_too_large": ("The body is over 1 MiB.", "Send what the operation reads, no more.")},
    errors.UnsupportedMediaType: {"media_type_unsupported": ("The body is not declared as JSON.",
                                                             "Send Content-Type: application/json.")},
    errors.StateConflict: {
        "state_conflict": ("The object is in a state that does not take this.",
                           "Read `current`, retrieve the object, and act on what it is now."),
        "idempotency_conflict": ("A request with this key is being answered.", "Wait, and send the same again."),
        "charge_not_refundable": ("The charge has not succeeded, or is refunded in full.",
                                  "Wait until it has succeeded; cancel an intent that has not."),
        "balance_insufficient": ("The payout is more than is available.",
                                 "Wait for the night's clearing, or ask for less."),
        "endpoint_exists": ("The dashboard takes one webhook endpoint, and there is one.",
                            "Change its URL, or delete it first; see `endpoint_registration` in the register."),
        "endpoint_not_enabled": ("The webhook endpoint is disabled or deleted.", "Enable it first: PATCH its status."),
        "key_not_active": ("The key was rolled or revoked before.", "List the keys."),
        "key_is_last": ("It is the last secret key.", "Roll it instead."),
        "no_prompt": ("No prompt waits on this handset.", "Confirm an intent for it first."),
        "prompt_expired": ("The prompt's time is up.", "Confirm the intent again."),
        "nothing_to_ask": ("The charge does not wait for an answer of the operator.",
                           "Retrieve it: it is settled, or its prompt is open."),
        "money_in_suspense": ("Money of an earlier attempt waits in suspense, or was credited from there.",
                              "Deliver, where it was credited; else have it settled before you confirm again."),
        "suspense_ambiguous": ("Several sums that came late wait for the payment.", "Name one by its own id."),
        "already_settled": ("The difference was settled before, or the entry was reversed.",
                            "Reconcile again; to settle it otherwise, reverse the entry that settled it."),
        "entry_unsuitable": ("The recipe does not settle entries of this kind.",
                             "Use another recipe, or `reversed`, which takes every kind."),
        "moment_impossible": ("The entry would stand before what it settles, or after now; or an end before its start.",
                              "Leave the moment out for now, or advance the clock first."),
        "cursor_ahead": ("The cursor is ahead of what is done of this simulation.",
                         "Go on from the cursor that the last call answered."),
        "simulation_failed": ("A command of the simulation cannot be done.",
                              "See the message: a script on its number, or another order of the same name."),
        "clock_busy": ("The clock is being advanced already.", "Wait for that call's answer."),
    },
    errors.IdempotencyKeyReused: {"idempotency_key_reused": ("The key came with another body before.",
                                                             "One key for one order: use a new key for another body.")},
    errors.RateLimited: {"rate_limited": ("The account's calls of this time are used up; nothing was done.",
                                          "Wait for as long as `Retry-After` says, and send the same again.")},
    errors.ServiceFailed: {"service_failed": ("The service failed; the outcome may be unknown.",
                                              "Send the same again with the same idempotency key.")},
}
# fmt: on
"""By status: class → code → what it means, and what to do about it."""
CODES: Final = {code: ErrorCode(kind, *row) for kind, rows in _OF_CLASS.items() for code, row in rows.items()}


class OperatorNames(NamedTuple):
    """The operators' and an aggregator's names for a failure; empty if they have none."""

    mtn: str = ""
    airtel: str = ""
    pawapay: str = ""


OPERATOR_NAMES: Final[Mapping[str, OperatorNames]] = {
    "insufficient_funds": OperatorNames("NOT_ENOUGH_FUNDS", "DP00800001007", "INSUFFICIENT_BALANCE"),
    "wrong_pin": OperatorNames(airtel="DP00800001002"),
    "declined_by_customer": OperatorNames("APPROVAL_REJECTED", "DP00800001008", "PAYMENT_NOT_APPROVED"),
    "prompt_timeout": OperatorNames("EXPIRED", "DP00800001005", "PAYMENT_NOT_APPROVED"),
    "limit_reached": OperatorNames("PAYER_LIMIT_REACHED", "DP00800001003", "WALLET_LIMIT_REACHED"),
    "payer_not_found": OperatorNames("PAYER_NOT_FOUND", "", "PAYER_NOT_FOUND"),
    "payer_busy": OperatorNames("ONGOING", "DP00800001006", "PAYMENT_IN_PROGRESS"),
    "operator_unavailable": OperatorNames("SERVICE_UNAVAILABLE", "DP00800001000", "PROVIDER_TEMPORARILY_UNAVAILABLE"),
    "operator_unknown": OperatorNames(),
}
"""Our code of a failure (`payments.FAILURES`) → the others' names."""
