"""All error codes with status, meaning and remedy, and the operators' names for failures."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from workbench import errors


class ErrorCode(NamedTuple):
    """An error code: the exception class that has it, its meaning, and the remedy."""

    kind: type[errors.ApiError]
    means: str
    do: str


_FIND: Final = "Check the id, and that the key belongs to the same account."
_FIX: Final = "Correct the field that `param` names; `errors` lists every one that is wrong."

# fmt: off
_OF_CLASS: Final[Mapping[type[errors.ApiError], Mapping[str, tuple[str, str]]]] = {
    errors.InvalidRequest: {
        "request_invalid": ("The request breaks a rule that has no code of its own.", _FIX),
        "parameter_missing": ("A required field is missing.", _FIX),
        "parameter_invalid": ("A field has the wrong type, format or range.", _FIX),
        "parameter_repeated": ("A query parameter is repeated.", "Send it once."),
        "body_missing": ("There is no body.", "Send a JSON object."),
        "body_not_json": ("The body is not JSON.", "See the line and column in the message."),
        "body_not_utf8": ("The body is not UTF-8, or contains half of a character.", "Encode it as UTF-8."),
        "body_too_deep": ("The body is nested deeper than 32 levels.", "Send a flat object."),
        "body_incomplete": ("The body is shorter than Content-Length says.", "Count its bytes, not its characters."),
        "host_malformed": ("The Host header is missing, repeated or unreadable.",
                           "Send one Host header, such as 127.0.0.1:4242."),
        "duplicate_key": ("A name occurs twice in one object.", "Send each name once."),
        "number_invalid": ("A number is NaN, infinite or has more than 400 digits.", "Send a plain decimal number."),
        "amount_not_finite": ("The amount is not a finite number.", "Send a plain decimal number."),
        "amount_not_positive": ("The amount is zero or less.", "Send more than zero."),
        "amount_too_large": ("The amount has more than ten digits before the point.",
                             "Check the unit: charges count in ngwee, intents in kwacha."),
        "amount_too_precise": ("The amount is finer than the smallest unit.",
                               "Round it yourself, to two decimals, or to a whole number on a charge."),
        "amount_out_of_bounds": ("The amount is outside the bounds in force.",
                                 "See `amount_bounds` in the register of gaps."),
        "amount_not_exact": ("The client got a float, which cannot hold an amount exactly.",
                             "Pass a Decimal, or an int for whole units."),
        "currency_unsupported": ("The currency is not accepted here.", "Send ZMW."),
        "currency_retired": ("ZMK was replaced by ZMW in 2013.", "Send ZMW; 1 ZMW is 1000 ZMK."),
        "phone_invalid": ("The number is not a Zambian number in international format.",
                          "Send +260 and nine digits, without spaces."),
        "phone_without_wallet": ("No operator with wallets has this prefix.",
                                 "Ask the customer for a number of MTN, Airtel or Zamtel."),
        "operator_unknown": ("There is no operator of this name.", "Send mtn, airtel or zamtel."),
        "operator_mismatch": ("The number belongs to another operator than the request names.",
                              "Take the operator from the number's prefix."),
        "pin_invalid": ("The text typed on the handset cannot be a PIN; no try was used.", "Type four digits."),
        "url_refused": ("Webhooks may not go to this address.",
                        "Use http or https, to this machine's loopback or a public address."),
        "event_type_unknown": ("No type of event has this name.", "Use a type, a family such as `charge.*`, or `*`."),
        "refund_exceeds_charge": ("The refund is more than what is left of the charge.",
                                  "Leave `amount` out to refund what is left."),
        "recipe_unknown": ("There is no such recipe for settling a difference.", "Use one that the message lists."),
        "account_unknown": ("No operator or bank issues statements of this account.",
                            "Name an operator's float or the bank: the message lists them."),
        "scenario_unknown": ("This call cannot produce this scenario.", "Use one that the message lists."),
        "version_unknown": ("There is no such version.", "Leave Api-Version out, or send 1."),
        "idempotency_key_missing": ("The header Idempotency-Key is required here.",
                                    "Send one key for each order, and the same key with each retry."),
        "idempotency_key_invalid": ("The header is not one key of 1 to 255 printable characters.",
                                    "Send one UUID or order's reference, in quotes if it holds a comma."),
    },
    errors.AuthenticationFailed: {
        "key_missing": ("There is no Authorization header.", "Send the secret key in the scheme of the operation."),
        "key_invalid": ("The key does not belong to this sandbox.",
                        "Use the key that the sandbox printed when it started."),
        "key_rolled": ("The key was rolled and replaced by a newer one.",
                       "Use the newer key; it was shown once, when the key was rolled."),
        "key_revoked": ("The key was revoked.", "Use another key of the account."),
        "scheme_wrong": ("The key is right, but the authentication scheme is wrong.",
                         "Charges take Basic, intents and plants Bearer; see WWW-Authenticate."),
        "live_key_in_sandbox": ("A live key was sent to the sandbox. Nothing was done.",
                                "Roll the live key if others could see the call; send a test key."),
        "token_expired": ("The token is older than 86400 seconds.", "Refresh it."),
        "token_replaced": ("A refresh gave a newer token.", "Use the newer one."),
        "refresh_token_invalid": ("The refresh token is unknown or was used before.", "Ask for a new token."),
        "credentials_wrong": ("The e-mail address or the password is wrong.", "Here every password but `wrong` works."),
    },
    errors.PermissionDenied: {
        "key_not_allowed": ("A publishable key may not do this.", "Call from your server, with the secret key."),
        "client_secret_missing": ("A publishable key needs the intent's client_secret.",
                                  "Pass the client_secret to the checkout with the key."),
        "client_secret_wrong": ("The client_secret does not belong to this intent.",
                                "Use the client secret from the response that created the intent."),
        "origin_refused": ("The call came from a page of another origin.",
                           "Call from a server; for what a publishable key may do, serve with --allow-origin."),
    },
    errors.HostRefused: {
        "host_refused": ("The sandbox does not answer to the name in the Host header.",
                         "Call 127.0.0.1 or localhost, or serve with --allow-host and the name."),
    },
    errors.PaymentDeclined: {
        "payment_declined": ("The customer or the operator said no.",
                             "Read `decline_code`; show the customer what to do; try again with a new key."),
    },
    errors.NotFound: {
        "not_found": ("The object does not exist.", _FIND),
        "path_not_found": ("There is no such path.", "See /docs for the paths."),
        "intent_not_found": ("There is no such payment intent.", _FIND),
        "charge_not_found": ("There is no such charge.", _FIND),
        "refund_not_found": ("There is no such refund.", _FIND),
        "payout_not_found": ("There is no such payout.", _FIND),
        "payment_not_found": ("There is no such payment.", "Use an id from GET /sandbox/payments."),
        "request_not_found": ("No request with this Request-Id was kept.", "Use an id from GET /sandbox/requests."),
        "event_not_found": ("There is no such event.", _FIND),
        "endpoint_not_found": ("There is no such webhook endpoint, or it was deleted.", _FIND),
        "suspense_not_found": ("No late money arrived for this payment.", "Use one from bench.operator.suspense()."),
        "entry_not_found": ("There is no such entry in the ledger.", "Use an id from bench.ledger.entries."),
        "delivery_not_found": ("There is no such delivery.", _FIND),
        "key_not_found": ("There is no such key.", _FIND),
        "operation_not_found": ("There is no operation with this operationId.", "Use one from /openapi.json."),
        "cursor_unknown": ("The cursor is not the id of a row in this list.", "Use the id of a row from this list."),
    },
    errors.MethodNotAllowed: {"method_not_allowed": ("The path does not accept this method.",
        "The header `Allow` lists the methods.")},
    errors.RequestTimeout: {"body_late": ("The body did not arrive within 10 seconds.",
                                          "Send the body at once; retry with the same idempotency key.")},
    errors.PayloadTooLarge: {"body_too_large": ("The body is over 1 MiB.", "Send only what the operation reads.")},
    errors.TargetTooLong: {"target_too_long": ("The request's first line is over 64 KiB.", "Shorten path and query.")},
    errors.HeadTooLarge: {
        "head_too_large": ("There are over 100 headers, or they are over 64 KiB.", "Send fewer and shorter headers."),
    },
    errors.UnsupportedMediaType: {"media_type_unsupported": ("The body is not declared as JSON.",
                                                             "Send Content-Type: application/json.")},
    errors.StateConflict: {
        "state_conflict": ("The object's current state does not allow this.",
                           "Read `current`, retrieve the object, and act on its state."),
        "idempotency_conflict": ("A request with this key is still in progress.",
        "Wait, then send the same request again."),
        "charge_not_refundable": ("The charge has not succeeded, or is refunded in full.",
                                  "Wait until it succeeds; to stop an unpaid intent, cancel it."),
        "balance_insufficient": ("The payout is more than the available balance.",
                                 "Wait until pending money clears, or pay out less."),
        "endpoint_exists": ("The dashboard allows one webhook endpoint, and it exists already.",
                            "Change its URL, or delete it first; see `endpoint_registration` in the register."),
        "endpoint_not_enabled": ("The webhook endpoint is disabled or deleted.", "Enable it first: PATCH its status."),
        "key_not_active": ("The key was already rolled or revoked.", "List the keys."),
        "key_is_last": ("It is the last secret key.", "Roll it instead."),
        "no_prompt": ("No prompt waits on this handset.", "Confirm an intent for it first."),
        "prompt_expired": ("The prompt has expired.", "Confirm the intent again."),
        "nothing_to_ask": ("The charge is not waiting for the operator's answer.",
                           "Retrieve it: its outcome is known, or its prompt is open."),
        "money_in_suspense": ("Money of an earlier attempt is in suspense, or was credited from there.",
                              "If it was credited, deliver; otherwise have it settled before you confirm again."),
        "suspense_ambiguous": ("Several late sums are in suspense for this payment.", "Name one by its id."),
        "already_settled": ("The difference was already settled, or the entry reversed.",
                            "Reconcile again; to settle it differently, first reverse the entry that settled it."),
        "entry_unsuitable": ("The recipe does not settle entries of this kind.",
                             "Use another recipe, or `reversed`, which works for every kind."),
        "moment_impossible": ("The moment is before what it follows, still to come, or beyond 2099.",
                              "Leave the moment out for now, or advance the clock first."),
        "cursor_ahead": ("The cursor is ahead of the simulation's progress.",
                         "Continue from the cursor in the last response."),
        "simulation_failed": ("A command of the simulation cannot be carried out.",
                              "See the message: a script on its number, or another order of the same name."),
        "clock_busy": ("The clock is already being advanced.", "Wait for that call's response."),
    },
    errors.IdempotencyKeyReused: {"idempotency_key_reused": ("The key was used before, with another body.",
                                                             "One key for one order: use a new key for another body.")},
    errors.RateLimited: {"rate_limited": ("The account has used up its requests for now; nothing was done.",
                                          "Wait as long as `Retry-After` says, then send the same request again.")},
    errors.ServiceFailed: {"service_failed": ("The service failed; the outcome may be unknown.",
                                              "Send the same request again, with the same idempotency key.")},
    errors.ServiceUnavailable: {
        "storage_failed": ("The sandbox cannot write to its file; nothing was done, and the key is not used up.",
                           "See the log for the reason, then send the same request again."),
        "storage_locked": ("Another program has locked the sandbox's file; nothing was done.",
                           "End what the other program does there, then send the same request again."),
    },
    errors.StorageFull: {"storage_full": (
        "The sandbox's disk is full; nothing was done, and the key is not used up. An `advance` stopped where it was.",
        "Free some space, then send the same request again.")},
}
# fmt: on
"""Exception class → (error code → (meaning, remedy))."""
CODES: Final = {
    code: ErrorCode(kind, means, do) for kind, codes in _OF_CLASS.items() for code, (means, do) in codes.items()
}


class OperatorNames(NamedTuple):
    """The names that two operators and an aggregator give to a failure; an empty text if they have no name for it."""

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
"""Our failure code (in `payments.FAILURES`) → the operators' and the aggregator's names."""
