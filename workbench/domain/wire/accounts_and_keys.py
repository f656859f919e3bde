"""Bodies of accounts, API keys and bearer tokens, and of section 2.4's example, a list of plants."""

import re
from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from workbench.domain.ids import ACTIVE, KEY_PREFIXES, REVOKED, ROLLED
from workbench.domain.wire.base import (
    Int64,
    Made,
    OfSandbox,
    Seconds,
    ShownSecret,
    Source,
    View,
    by_register,
    is_id,
    meaning,
    required,
)

EMAIL: Final = re.compile(r"[^@\x00-\x20\x7f]+@[^@\x00-\x20\x7f]+")
"""An e-mail address, in a spelling that JSON Schema reads alike."""

BEARER: Final = "Bearer"


def _who(anybody: str) -> Meta:
    """The description of an e-mail address or password: `anybody`, unless the register allows one account alone."""
    says = {
        "any": anybody,
        "one_account": "The e-mail address, or the password, that the sandbox printed when it started.",
    }
    return by_register(lambda gaps: {"description": says[gaps.token_credentials]})


class TokenRequest(View):
    """The e-mail address and the password that get a bearer token (section 4, illustrative)."""

    __source__ = Source("4", ("email", "password"))
    email: Annotated[str, meaning(pattern=f"^{EMAIL.pattern}$"), _who("Any e-mail address.")]
    password: Annotated[str, meaning(minLength=1), _who("Any password except `wrong`.")]


class RefreshRequest(View):
    """A refresh token (section 4, illustrative); empty if the bearer token in the header is to be refreshed."""

    # Without a bearer in the header, which this operation does not ask for, the body is what names the pair.
    __whole__ = required("refresh_token")
    refresh_token: str | None = None


class Token(View):
    """Section 4: a bearer token for 86,400 s; the names of the fields are assumed (RFC 6749 §5.1)."""

    access_token: Annotated[ShownSecret, meaning("Sent as `Authorization: Bearer` for 86400 seconds.")]
    refresh_token: Annotated[ShownSecret, meaning("Works once, for one new pair of tokens.")]
    token_type: Annotated[str, meaning(const=BEARER)] = BEARER
    expires_in: Annotated[int, meaning(const=86_400)] = 86_400


class NamedToken(View):
    """A `Token` with the access token in `token`."""

    token: Annotated[ShownSecret, meaning("Sent as `Authorization: Bearer` for 86400 seconds.")]
    refresh_token: Annotated[ShownSecret, meaning("Works once, for one new pair of tokens.")]
    token_type: Annotated[str, meaning(const=BEARER)] = BEARER
    expires_in: Annotated[int, meaning(const=86_400)] = 86_400


class WrappedToken(View):
    """A `Token` with all fields in `data`."""

    data: NamedToken


class CreateApiKey(View):
    """Assumed: `kind` is secret or publishable."""

    __source__ = Source(gap="5")
    kind: Annotated[str, meaning(enum=[*KEY_PREFIXES])] = "secret"


class ApiKey(Made):
    """Assumed; `masked` tells keys apart, `value` is shown once, when the key is created or rolled."""

    __source__ = Source(gap="5")
    id: Annotated[str, is_id("key")]
    kind: Annotated[str, meaning(enum=[*KEY_PREFIXES])]
    status: Annotated[str, meaning(enum=[ACTIVE, ROLLED, REVOKED])]
    masked: str
    value: Annotated[ShownSecret, meaning("The key itself; shown once, when it is created or rolled.")] | UnsetType = (
        UNSET
    )
    object: Annotated[str, meaning(const="api_key")] = "api_key"
    works_until: (
        Annotated[Seconds, meaning("When a rolled key stops working, if old keys still work for a while.")] | UnsetType
    ) = UNSET


MAX_NAME: Final = 40


class NewAccount(OfSandbox):
    """Another merchant in the same sandbox; `name` is what a customer reads in the prompt."""

    name: Annotated[str, meaning(minLength=1, maxLength=MAX_NAME, pattern=r"[^\s\x1c-\x1f\x85]")]


class NewAccountKeys(View):
    """A new merchant's keys, shown this once."""

    __source__ = Source(gap="")

    id: Annotated[str, is_id("acct")]
    name: str
    secret_key: ShownSecret
    publishable_key: ShownSecret
    object: Annotated[str, meaning(const="account")] = "account"


class MerchantKeys(View):
    """The merchant's oldest active keys; the publishable key is empty if the last one was revoked."""

    __source__ = Source(gap="")

    secret_key: ShownSecret
    publishable_key: ShownSecret
    object: Annotated[str, meaning(const="keys")] = "keys"


class NewPlant(View):
    """A new plant (section 2.4)."""

    __source__ = Source("2.4", ("id", "name", "tag"))
    id: Annotated[Int64, meaning("Identification number of the plant.", format="int64")]
    name: Annotated[str, meaning("Name of the plant.")]
    tag: Annotated[str, meaning("Tag that specifies the type.")] | UnsetType = UNSET


class Plant(View):
    """A plant, without the id that the request gave it (section 2.4)."""

    __source__ = Source("2.4", ("name", "tag"))
    name: Annotated[str, meaning("Name of the plant.")]
    tag: Annotated[str, meaning("Tag that specifies the type.")] | UnsetType = UNSET


class PlantError(View):
    """The error of the sample API (section 2.4)."""

    __source__ = Source("2.4", ("error", "message"))
    error: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1), meaning("Error code.", format="int32")]
    message: Annotated[str, meaning("Error text.")]
