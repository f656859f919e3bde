"""What the groups of calls share: the client that sends, exact amounts, pages of a list."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Generic, Protocol, TypeVar

from workbench.calls import Calls, checked_text, segment
from workbench.domain import wire
from workbench.errors import InvalidRequest


class Identified(Protocol):
    """What is listed has an id."""

    id: str


T = TypeVar("T", bound=Identified)


class Sender(Protocol):
    """What a group needs of its client."""

    calls: Calls
    base_url: str
    charges_url: str
    plants_url: str


class Resource:
    """One group of calls."""

    def __init__(self, client: Sender) -> None:
        self._client = client


class Listed(Resource, Generic[T]):
    """A group whose objects can be listed and retrieved.

    `_path` follows the host that `_host` names, `_shape` is one object and `_page` a page of them. A group
    that can be filtered names its filters, so that a misspelt one is no argument.
    """

    _host = "base_url"
    _path: str
    _shape: Any
    _page: Any

    def retrieve(self, identifier: str) -> T:
        """The object as it is now. Raises NotFound."""
        made: T = self._client.calls.send("GET", self._url(identifier), self._shape)
        return made

    def list(
        self, *, limit: int = 10, starting_after: str | None = None, ending_before: str | None = None
    ) -> wire.List[T]:
        """A page of 1 to 100 objects, newest first: older than the id `starting_after`, newer than `ending_before`."""
        return self._listed(limit=str(limit), starting_after=starting_after, ending_before=ending_before)

    def each(self) -> Iterator[T]:
        """Every object, newest first, page after page; those that arrive meanwhile are not among them."""
        return self._every()

    def _listed(self, **asked: str | None) -> wire.List[T]:
        query = {name: checked_text(name, value) for name, value in asked.items() if value is not None}
        page: wire.List[T] = self._client.calls.send("GET", self._url(), self._page, query=query)
        return page

    def _every(self, **filters: str | None) -> Iterator[T]:
        after: str | None = None
        while True:
            page = self._listed(limit="100", starting_after=after, **filters)
            yield from page.data
            if not page.has_more:
                return
            after = page.data[-1].id

    def _url(self, *segments: str) -> str:
        return "/".join([f"{getattr(self._client, self._host)}{self._path}", *(segment(each) for each in segments)])


def exact(amount: Decimal | int) -> Decimal | int:
    """The amount, when no float and nothing infinite. Raises InvalidRequest."""
    if isinstance(amount, bool) or not isinstance(amount, Decimal | int):
        raise not_exact(amount, 'a Decimal, such as Decimal("150.00"), or an int')
    if isinstance(amount, Decimal) and not amount.is_finite():
        raise not_exact(amount, "a finite amount")
    return amount


def whole(amount: Decimal | int) -> int:
    """The amount in ngwee, when an int. Raises InvalidRequest."""
    if isinstance(amount, bool) or not isinstance(amount, int):
        raise not_exact(amount, "a whole number of the charge's unit (ngwee in the sandbox), as an int")
    return amount


def not_exact(amount: object, wanted: str) -> InvalidRequest:
    """The error for an amount of another type."""
    return InvalidRequest(
        f"amount must be {wanted}, not {type(amount).__name__} ({amount!r}).", code="amount_not_exact", param="amount"
    )


def keyed(idempotency_key: str | None) -> dict[str, str]:
    """The header of an idempotency key, if there is one. Raises InvalidRequest: not a string."""
    if idempotency_key is None:
        return {}
    return {"Idempotency-Key": checked_text("idempotency_key", idempotency_key, such_as="order-1")}


def listed(name: str, values: Sequence[str], such_as: str) -> list[str]:
    """A list of names. Raises InvalidRequest: one bare string, whose letters would be the names, or no list."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidRequest(
            f'{name} must be a list, such as ["{such_as}"], not {values!r}.', code="parameter_invalid", param=name
        )
    return [*values]
