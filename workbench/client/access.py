"""Who may call: the token flow, and API keys."""

from workbench.client.resource import Listed, Resource
from workbench.domain import wire


class Auth(Resource):
    """Section 4, the illustrative token flow."""

    def token(self, *, email: str, password: str) -> wire.Token:
        """A bearer token, good for 86,400 seconds."""
        url = f"{self._client.base_url}/v1/auth/token"
        return self._client.calls.send("POST", url, wire.Token, body={"email": email, "password": password}, key="")

    def refresh(self, refresh_token: str) -> wire.Token:
        """A new pair for the old, which ends."""
        url = f"{self._client.base_url}/v1/auth/refresh"
        return self._client.calls.send("POST", url, wire.Token, body={"refresh_token": refresh_token}, key="")


class ApiKeys(Listed[wire.ApiKey]):
    """Test keys, masked; a value is shown once. Assumed."""

    _path, _shape, _page = "/v1/api_keys", wire.ApiKey, wire.List[wire.ApiKey]

    def create(self, kind: str = "secret") -> wire.ApiKey:
        """Another key, `secret` or `publishable`; `value` is there this once."""
        return self._client.calls.send("POST", self._url(), wire.ApiKey, body={"kind": kind})

    def roll(self, key_id: str) -> wire.ApiKey:
        """A new key in place of one, which ends at once."""
        return self._client.calls.send("POST", self._url(key_id) + "/roll", wire.ApiKey)

    def revoke(self, key_id: str) -> wire.ApiKey:
        """End a key at once. Raises StateConflict for the last secret key."""
        return self._client.calls.send("DELETE", self._url(key_id), wire.ApiKey)
