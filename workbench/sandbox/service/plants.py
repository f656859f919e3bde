"""The sample plant store."""

from workbench.domain import wire
from workbench.sandbox.service.lists import Caller
from workbench.sandbox.store import Transaction


def create(tx: Transaction, caller: Caller, body: wire.NewPlant) -> wire.Plant:
    """POST /plants: create a plant; the response is the plant without its id."""
    return wire.Plant(name=body.name, tag=body.tag)
