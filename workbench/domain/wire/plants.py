"""Bodies of section 2.4's example, a list of plants."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from workbench.domain.wire.base import Source, View, meaning
from workbench.domain.wire.field_types import Int64


class NewPlant(View):
    """Section 2.4."""

    __source__ = Source("2.4", ("id", "name", "tag"))
    id: Annotated[Int64, meaning("Identification number of the plant.", format="int64")]
    name: Annotated[str, meaning("Name of the plant.")]
    tag: Annotated[str, meaning("Tag that specifies the type.")] | UnsetType = UNSET


class Plant(View):
    """Section 2.4."""

    __source__ = Source("2.4", ("name", "tag"))
    name: Annotated[str, meaning("Name of the plant.")]
    tag: Annotated[str, meaning("Tag that specifies the type.")] | UnsetType = UNSET


class PlantError(View):
    """Section 2.4, Error."""

    __source__ = Source("2.4", ("error", "message"))
    error: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1), meaning("Error code.", format="int32")]
    message: Annotated[str, meaning("Error text.")]
