"""The sample plant store."""

from workbench.client.resource import Resource
from workbench.domain import wire


class Plants(Resource):
    """Section 2.4, the sample plant store."""

    def create(self, *, id: int, name: str, tag: str | None = None, token: str | None = None) -> wire.Plant:  # noqa: A002  the field's name
        """Add a plant; `token` is a bearer to use in place of the key."""
        body = {"id": id, "name": name, "tag": tag}
        return self._client.calls.send("POST", f"{self._client.plants_url}/plants", wire.Plant, body=body, key=token)
