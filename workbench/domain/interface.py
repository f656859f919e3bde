"""The interface in our words: what each section shows and leaves open, and the question behind each row.

The register, `domain/gaps.py`, says what the sandbox does about each open question.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

PAGE: Final = "/docs/interface"
"""The path of the page on which the sections stand."""


class Open(NamedTuple):
    """Something that a section does not show, and the rows of the register that settle it."""

    says: str
    rows: tuple[str, ...]


class Section(NamedTuple):
    """One section: what it shows and what it does not."""

    number: str
    title: str
    shows: tuple[str, ...] = ()
    leaves_open: tuple[Open, ...] = ()

    @property
    def anchor(self) -> str:
        """Where it stands on its page."""
        return f"section-{self.number}"


class Asked(NamedTuple):
    """What there is to know of a row of the register beside its values."""

    shows: str
    """What the interface shows of it."""
    asks: str
    """The question to the provider."""
    code: tuple[str, ...]
    """The modules in which the row is applied, as paths below the package."""
    notebook: str = ""
    """The slug of the notebook that shows it, if one does."""


def link_to(section: str) -> str:
    """The address at which a section stands; of several, `2.1, 4`, that of the first."""
    return f"{PAGE}#section-{section.partition(',')[0]}"


def _open(says: str, rows: str) -> Open:
    return Open(says, tuple(rows.split()))


# fmt: off
SECTIONS: Final[tuple[Section, ...]] = (
    Section("1", "The service", (
        "Merchants in Zambia are paid through it; ZMW is the only currency shown.",
        ("There are two ways to be paid: a payment intent, which is created first and confirmed with a wallet later, "
        "and a charge, which is a single call."),
        ("A confirmation makes the customer's phone ask for the wallet's PIN, by USSD. After the PIN, the service "
        "books the money in a double-entry ledger and sends the merchant's server a signed webhook."),
        "Test and live are separate: the key decides which of them a call reaches.",
        "There are SDKs for web, Android and iOS. A backend calls the API by HTTP.",
        "A sample API, the plant store, comes with it.",
    ), (
        _open("When received money becomes available, and how it reaches the merchant's bank.",
              "clearing payouts"),
    )),
    Section("2", "Resources"),
    Section("2.1", "Create a payment intent", (
        ("A request has four fields: `amount`, a decimal number; `currency`, an ISO 4217 code in upper case; "
        "`payment_method_types`, a list that includes `mobile_money`; and `description`, free text."),
        "The response is the intent, with its `id` and the `client_secret` that confirms it.",
    ), (
        _open("The status of a successful response.", "success_status"),
        _open("Which other currencies are accepted, and whether case matters.", "currencies currency_case"),
        _open("What other payment method types do.", "payment_method_types"),
    )),
    Section("2.2", "Confirm a payment intent", (
        ("The request has one required object, `payment_method`: its `type` is `mobile_money`, and its `mobile_money` "
        "has the `phone`, in international format with a plus sign, and the `provider`, an operator."),
    )),
    Section("2.3", "Create a charge", (
        ("A request has `amount`, a whole number; `currency`, in lower case; `type`, which is `mobile_money`; "
        "`channel`, an operator; `phone`, as above; `reference`, the merchant's name for the order; and the header "
        "`Idempotency-Key`."),
        ("The response has status 200 and media type `application/json`, with `id`, `status`, `amount`, `currency`, "
        "`channel` and `provider`."),
    )),
    Section("2.4", "The plant store's resources", (
        "A plant has a required `name` and an optional `tag` for its kind.",
        "A new plant also has a required `id`, a 64-bit integer.",
        "An error has `error`, its code as a 32-bit integer, and `message`, a text; both are required.",
    )),
    Section("2.5", "Open questions about the resources", (), (
        _open("Which fields of an intent, a confirmation or a charge are required, and what happens to unknown ones.",
              "required_fields unknown_fields"),
        _open("Which other fields an intent has.", "intent_fields"),
        _open("Which operators `provider` and `channel` can name, and which phone numbers are accepted.",
              "operator_ids phone_format zed_mobile"),
        _open("The units of the intent's decimal amount and of the charge's whole amount.",
              "charge_amount_unit intent_amount_scale"),
        _open("How a charge's `channel` differs from its `provider`.", "channel_and_provider operator_mismatch"),
        _open("What a payment costs, and who pays the fee. Fees are not mentioned.",
              "merchant_fee operator_fee fee_on_refund"),
    )),
    Section("3", "States", (
        "`succeeded` is the only status of a charge that is shown.",
        ("Confirming an intent sends the USSD prompt; after the PIN, the funds are secured and the webhook is sent. "
        "No names of states are given for these steps."),
    ), (
        _open("The other states of charges, all states of intents, and the transitions between them.",
              "intent_states charge_states"),
        _open("Whether the response to a charge waits for the customer.", "charge_wait"),
        _open("How long a prompt waits, and how many wrong PINs are allowed.", "prompt_timeout_s pin_attempts"),
        _open("What happens to money that arrives after its prompt has expired.",
              "late_success confirm_with_money_in_suspense"),
    )),
    Section("4", "Operations", (
        "Paths of payments begin with `/v1`; bodies are JSON.",
        ("`POST /v1/payment_intents`, `POST /v1/payment_intents/{id}/confirm` and `POST /v1/charges` take payments; "
        "`POST /plants` is the sample's. Intents, charges and plants each have their own host."),
        ("`POST /v1/auth/token` and `POST /v1/auth/refresh` are shown as an illustration: an e-mail address and a "
        "password give a bearer token, which can be refreshed."),
        "A request for a new plant gets 200 with the plant, or 400 with an error.",
        "Examples confirm with the secret key; the client secret is described as the means of confirming.",
    ), (
        _open("What the response to a confirmation holds, and what else the request may need.",
              "confirm_response client_secret_on_confirm"),
        _open("Whether payments can be retrieved, listed, canceled or refunded.", "extra_endpoints pagination"),
        _open("What the field of the token is called, which credentials work, and how a token is refreshed.",
              "token_credentials token_field refresh_request"),
    )),
    Section("5", "Keys and tokens", (
        ("Publishable keys begin with `pk_test_` and are for checkouts and SDKs. Secret keys begin with `sk_test_` or "
        "`sk_live` and are for servers only."),
        "Merchants get keys from the developers' part of the dashboard; test keys need no card.",
        ("Intents take the secret key as `Authorization: Bearer`; charges take it by HTTP Basic, as the user name with "
        "an empty password; plants take a bearer token."),
        "A token of the illustrated flow is a bearer token for 24 hours.",
    ), (
        _open("What a publishable key may do, and what a token may do.", "publishable_key access_token_use"),
        _open("Whether a scheme that is shown for one operation works for others.", "auth_schemes"),
        _open("How keys are rolled and revoked.", "key_rotation key_revocation"),
    )),
    Section("6", "Events", (
        "When the customer has entered the PIN and the money is secured, the merchant's server gets a webhook.",
        ("Webhooks are signed with HMAC-SHA256. A failed delivery is retried with backoff; an event that cannot be "
        "delivered becomes a dead letter; and the dashboard can replay an event."),
    ), (
        _open("The names of events.", "event_types"),
        _open("What an event holds.", "event_payload"),
        _open("The signature's header, what is signed, and how old a message may be.",
              "signature_scheme signature_tolerance_s"),
        _open("When and how often a delivery is retried, what counts as delivered, and the order of events.",
              "retry_schedule_s delivery_success delivery_timeout_s delivery_gone delivery_retry_after ordering"),
        _open("How an endpoint is registered, and when it is disabled.",
            "endpoint_registration endpoint_disable_after_s"),
        _open("How long dead letters are kept, and what a replay sends.", "dead_letter replay"),
    )),
    Section("7", "Errors", (
        "A rejected plant gets 400, with `error` and `message` as in section 2.4.",
        "The provider's sandbox can produce failures and edge cases on demand.",
    ), (
        _open("The format, codes and statuses of payment errors.",
              "error_format declined_status reused_key_status"),
        _open("How to ask for a failure.", "failure_triggers"),
    )),
    Section("8", "Limits", (
        "A token of the illustrated flow is valid for 86400 seconds.",
    ), (
        _open("How many requests are allowed.", "rate_limit"),
        _open("The smallest and the largest amount.", "amount_bounds"),
        _open("How long an `Idempotency-Key` is remembered, which calls need one, and which responses it repeats.",
              "idempotency_required idempotency_retention_s idempotency_keeps_errors"),
    )),
    Section("9", "Versions", (
        "Paths of payments contain `/v1`.",
        "The plant store has version 1.0.0, the MIT licence, and a description in OpenAPI 3.1.0.",
        "The SDKs for Android and iOS have version 1.0.0.",
    ), (
        _open("Whether a header selects a version, and how a version is retired.", "version_header deprecation"),
    )),
)

_TYPES = "Bearer on intents and plants, Basic on charges."
_RETRIES = "That failed deliveries are retried with backoff."
_NOTHING = "Nothing."
_FLOW = "A flow with e-mail address and password, described as illustrative."

ROWS: Final[Mapping[str, Asked]] = {
    # 1
    "clearing": Asked(_NOTHING, "When does received money become available to us?",
        ("sandbox/service/clearing.py",), "after_the_payment"),
    "payouts": Asked(_NOTHING, "How and when is available money paid to our bank, and can we ask for it?",
        ("sandbox/service/payouts.py",), "after_the_payment"),
    # 2
    "success_status": Asked("200 for a charge and for a plant; for intents no status.",
        "Which status does a call that creates something have?", ("sandbox/operations.py",),
        "create_an_intent"),
    "currencies": Asked("ZMW alone.", "Which currencies do you accept?", ("sandbox/service/checks.py",),
        "create_an_intent"),
    "currency_case": Asked("Upper case for intents, lower case for charges.",
        "Does the case of a currency code matter, and which case do your responses have?",
        ("sandbox/service/checks.py",),
        "charge_in_one_call"),
    "payment_method_types": Asked("A list that includes `mobile_money`.",
        "May `payment_method_types` hold other types beside `mobile_money`?", ("sandbox/service/checks.py",),
        "create_an_intent"),
    "required_fields": Asked("The names of the fields; that the object `payment_method` is required.",
        "Which fields of each request are required?", ("sandbox/service/checks.py",), "create_an_intent"),
    "intent_fields": Asked("`id` and `client_secret`.", "Which other fields does a payment intent have?",
        ("sandbox/views.py",),
        "create_an_intent"),
    "unknown_fields": Asked(_NOTHING, "What do you do with an unknown field?", ("sandbox/exchange.py",)),
    "phone_format": Asked("International, with a leading plus sign.",
        "Do you accept numbers in national form too?", ("sandbox/service/checks.py",)),
    "operator_ids": Asked("That operators have identifiers, but none of them.",
        "Which values do `provider` and `channel` take, and which do your responses have?", ("sandbox/views.py",),
        "what_is_not_documented"),
    "zed_mobile": Asked(_NOTHING, "Do you take payments from numbers of Zed Mobile?", ("sandbox/service/checks.py",)),
    "charge_amount_unit": Asked("An integer, without its unit.",
        "Is the amount of a charge in ngwee or in kwacha?",
        ("domain/payments.py", "sandbox/service/checks.py"), "charge_in_one_call"),
    "intent_amount_scale": Asked("A decimal number.",
        "What do you do with an amount that has more than two decimals?", ("sandbox/service/checks.py",),
        "create_an_intent"),
    "channel_and_provider": Asked("Both fields, in the response to a charge.",
        "What is the difference between `channel` and `provider` of a charge?", ("sandbox/views.py",),
        "charge_in_one_call"),
    "operator_mismatch": Asked(_NOTHING, "What happens when the phone number belongs to an operator other than the "
    "one named?",
        ("sandbox/service/checks.py",), "charge_in_one_call"),
    "merchant_fee": Asked(_NOTHING, "What fee do you charge us for a payment, and how is it rounded?",
        ("domain/payments.py",), "read_the_ledger"),
    "operator_fee": Asked(_NOTHING, "What does the operator charge for a payment, and who pays it?",
        ("domain/payments.py",), "read_the_ledger"),
    "fee_on_refund": Asked(_NOTHING, "Do we get the fee back when we refund a payment?",
        ("sandbox/service/refunds.py",), "after_the_payment"),
    # 3
    "intent_states": Asked("The behaviour, without names of states.",
        "Which states does a payment intent have, and which transitions?", ("domain/payments.py",),
        "what_is_not_documented"),
    "charge_states": Asked("`succeeded`.", "Which states does a charge have?", ("domain/payments.py",),
        "what_is_not_documented"),
    "charge_wait": Asked("A 200 response with `succeeded`.",
        "Does the response to a charge wait for the customer?", ("sandbox/service/payments.py",),
        "charge_in_one_call"),
    "prompt_timeout_s": Asked(_NOTHING, "How long does the prompt on the customer's phone wait?",
        ("sandbox/service/attempts.py",), "confirm_with_ussd"),
    "pin_attempts": Asked("That a PIN is entered.", "How many wrong PINs may the customer enter?",
        ("sandbox/service/attempts.py",), "confirm_with_ussd"),
    "late_success": Asked(_NOTHING, "What happens to money that arrives after the prompt has expired, and how are we "
        "told?", ("domain/payments.py",), "when_payments_fail"),
    "confirm_with_money_in_suspense": Asked(_NOTHING,
        "How do you respond to a confirmation while late money of the same intent is in suspense?",
        ("sandbox/service/suspense.py",), "when_payments_fail"),
    # 4
    "confirm_response": Asked("The request; not the response.", "What is the response to a confirmation?",
        ("sandbox/operations.py",),
        "confirm_with_ussd"),
    "client_secret_on_confirm": Asked("Examples with the secret key; the client secret as the means of confirming.",
        "When must the client secret be sent on confirm, and where?", ("sandbox/service/payments.py",),
        "confirm_with_ussd"),
    "extra_endpoints": Asked("Six operations.",
        "Can we retrieve, list, cancel and refund payments, and manage endpoints and keys, by the API?",
        ("sandbox/operations.py",), "what_is_not_documented"),
    "pagination": Asked(_NOTHING, "How are lists paged?", ("sandbox/operations.py",)),
    "token_credentials": Asked(_FLOW, "Whose e-mail address and password does the token operation take?",
        ("sandbox/service/accounts.py",),
        "tokens_and_plants"),
    "token_field": Asked("That a bearer token is returned.", "What is the token's field called?",
        ("sandbox/operations.py",),
        "tokens_and_plants"),
    "refresh_request": Asked("The operation, without its payload.", "What does the refresh operation take?",
        ("sandbox/service/accounts.py",), "tokens_and_plants"),
    # 5
    "access_token_use": Asked("That it is sent with later requests.", "Which operations take an access token?",
        ("sandbox/access.py",), "tokens_and_plants"),
    "publishable_key": Asked("That it is for checkouts and SDKs.", "What may a publishable key do?",
        ("sandbox/service/payments.py",), "keys"),
    "auth_schemes": Asked(_TYPES, "Does each operation take Basic as well as Bearer?", ("sandbox/access.py",)),
    "key_rotation": Asked(_NOTHING, "Does the old key still work after it is rolled, and for how long?",
        ("sandbox/service/accounts.py",)),
    "key_revocation": Asked(_NOTHING, "When does a revoked key stop working, and what is the response to it?",
        ("sandbox/service/accounts.py", "sandbox/access.py")),
    # 6
    "event_types": Asked("That there are events.", "What are your events called, and when does each occur?",
        ("sandbox/service/webhooks.py",), "what_is_not_documented"),
    "event_payload": Asked("That a callback is sent.", "What is the body of a webhook?",
        ("sandbox/service/webhooks.py",), "what_is_not_documented"),
    "signature_scheme": Asked("HMAC-SHA256.", "Which header holds the signature, and what exactly is signed?",
        ("sandbox/delivery.py",), "verify_webhooks"),
    "signature_tolerance_s": Asked(_NOTHING, "How old may a webhook be before we should reject it?", ("bench.py",),
        "verify_webhooks"),
    "endpoint_registration": Asked(_NOTHING, "How do we register a webhook endpoint, and may there be several?",
        ("sandbox/service/webhooks.py",),
        "your_own_backend"),
    "retry_schedule_s": Asked(_RETRIES, "When do you try again after a failed delivery, and how often?",
        ("domain/webhooks.py",), "retries_dead_letters_and_replay"),
    "delivery_success": Asked(_NOTHING, "Which of our status codes count as delivered?", ("domain/webhooks.py",)),
    "delivery_timeout_s": Asked(_NOTHING, "How quickly must our endpoint respond?", ("sandbox/delivery.py",)),
    "delivery_gone": Asked(_NOTHING, "Does a 410 from us end the deliveries?", ("domain/webhooks.py",),
        "retries_dead_letters_and_replay"),
    "delivery_retry_after": Asked(_RETRIES, "Do you honour Retry-After, and wait longer after 429, 502 and 504?",
        ("domain/webhooks.py",), "retries_dead_letters_and_replay"),
    "dead_letter": Asked("That undeliverable events go to a dead-letter queue.",
        "When does an event become a dead letter, and how long is it kept?", ("sandbox/service/webhooks.py",),
        "retries_dead_letters_and_replay"),
    "endpoint_disable_after_s": Asked(_NOTHING, "When do you disable an endpoint that keeps failing?",
        ("sandbox/delivery.py",), "retries_dead_letters_and_replay"),
    "replay": Asked("That the dashboard can replay events.", "Does a replayed event keep its id?",
        ("sandbox/service/webhooks.py",), "retries_dead_letters_and_replay"),
    "ordering": Asked(_NOTHING, "In which order do the events of one payment arrive?",
        ("sandbox/service/webhooks.py",), "retries_dead_letters_and_replay"),
    # 7
    "error_format": Asked("`error` and `message`, of the plant store alone.",
        "What does an error of the payment operations look like, and which codes are there?",
        ("sandbox/exchange.py", "sandbox/views.py"),
        "create_an_intent"),
    "declined_status": Asked(_NOTHING, "Which status does the response to a declined charge have?",
        ("sandbox/service/payments.py",),
        "charge_in_one_call"),
    "reused_key_status": Asked(_NOTHING, "What is the response to an idempotency key that is used again with another "
    "body?",
        ("sandbox/idempotency.py",), "idempotency"),
    "failure_triggers": Asked("That failures can be produced on demand.",
    "How do we make your sandbox produce a failure?",
        ("sandbox/service/attempts.py",),
        "when_payments_fail"),
    # 8
    "rate_limit": Asked(_NOTHING, "How many requests may we make, and how do you tell us to slow down?",
        ("sandbox/exchange.py",)),
    "amount_bounds": Asked(_NOTHING, "What are the smallest and the largest amounts of a payment?",
        ("sandbox/service/checks.py",),
        "create_an_intent"),
    "idempotency_required": Asked("The header, on the charge's request.",
        "Which calls need an Idempotency-Key, and which accept one?", ("sandbox/idempotency.py",), "idempotency"),
    "idempotency_retention_s": Asked("The header.", "How long do you remember an Idempotency-Key?",
        ("sandbox/idempotency.py",),
        "idempotency"),
    "idempotency_keeps_errors": Asked("The header.", "Is an error repeated for the same Idempotency-Key?",
        ("sandbox/idempotency.py",), "idempotency"),
    # 9
    "version_header": Asked("`/v1` in the path.", "Can a header select a version?", ("sandbox/exchange.py",)),
    "deprecation": Asked(_NOTHING, "How do you announce that something will be removed?",
        ("sandbox/deprecation.py",)),
}
# fmt: on
