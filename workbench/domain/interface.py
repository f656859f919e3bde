"""The interface in our words: what each section shows. The register, `gaps.py`, has what a section leaves open."""

from typing import Final, NamedTuple

PAGE: Final = "/docs/interface"
"""The path of the page with the sections."""


class Section(NamedTuple):
    """A section of the interface, and the statements that it shows."""

    number: str
    title: str
    shows: tuple[str, ...] = ()


def link_to(section: str) -> str:
    """The address of a section; of several sections, such as `2.1, 4`, the address of the first."""
    return f"{PAGE}#section-{section.partition(',')[0]}"


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
    )),
    Section("2", "Resources"),
    Section("2.1", "Create a payment intent", (
        ("A request has four fields: `amount`, a decimal number; `currency`, an ISO 4217 code in upper case; "
        "`payment_method_types`, a list that includes `mobile_money`; and `description`, free text."),
        "The response is the intent, with its `id` and the `client_secret` that confirms it.",
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
    Section("2.5", "Open questions about the resources"),
    Section("3", "States", (
        "`succeeded` is the only status of a charge that is shown.",
        ("Confirming an intent sends the USSD prompt; after the PIN, the funds are secured and the webhook is sent. "
        "No names of states are given for these steps."),
    )),
    Section("4", "Operations", (
        "Paths of payments begin with `/v1`; bodies are JSON.",
        ("`POST /v1/payment_intents`, `POST /v1/payment_intents/{id}/confirm` and `POST /v1/charges` take payments; "
        "`POST /plants` is the sample's. Intents, charges and plants each have their own host."),
        ("`POST /v1/auth/token` and `POST /v1/auth/refresh` are shown as an illustration: an e-mail address and a "
        "password give a bearer token, which can be refreshed."),
        "A request for a new plant gets 200 with the plant, or 400 with an error.",
        "Examples confirm with the secret key; the client secret is described as the means of confirming.",
    )),
    Section("5", "Keys and tokens", (
        ("Publishable keys begin with `pk_test_` and are for checkouts and SDKs. Secret keys begin with `sk_test_` or "
        "`sk_live` and are for servers only."),
        "Merchants get keys from the developers' part of the dashboard; test keys need no card.",
        ("Intents take the secret key as `Authorization: Bearer`; charges take it by HTTP Basic, as the user name with "
        "an empty password; plants take a bearer token."),
        "A token of the illustrated flow is a bearer token for 24 hours.",
    )),
    Section("6", "Events", (
        "When the customer has entered the PIN and the money is secured, the merchant's server gets a webhook.",
        ("Webhooks are signed with HMAC-SHA256. A failed delivery is retried with backoff; an event that cannot be "
        "delivered becomes a dead letter; and the dashboard can replay an event."),
    )),
    Section("7", "Errors", (
        "A rejected plant gets 400, with `error` and `message` as in section 2.4.",
        "The provider's sandbox can produce failures and edge cases on demand.",
    )),
    Section("8", "Limits", (
        "A token of the illustrated flow is valid for 86400 seconds.",
    )),
    Section("9", "Versions", (
        "Paths of payments contain `/v1`.",
        "The plant store has version 1.0.0, the MIT licence, and a description in OpenAPI 3.1.0.",
        "The SDKs for Android and iOS have version 1.0.0.",
    )),
)
# fmt: on
