"""The merchant's money: the balance, and payouts to the bank. Assumed."""

from collections.abc import Mapping
from decimal import Decimal

from workbench.client.resource import Listed, Resource, exact, keyed
from workbench.domain import wire


class Balance(Resource):
    """What is pending, available and owed."""

    def retrieve(self) -> wire.Balance:
        """The balance as it is now."""
        return self._client.calls.send("GET", f"{self._client.base_url}/v1/balance", wire.Balance)


class Payouts(Listed[wire.Payout]):
    """Available money on its way to the merchant's bank."""

    _path, _shape, _page = "/v1/payouts", wire.Payout, wire.List[wire.Payout]

    def create(
        self,
        *,
        amount: Decimal | int,
        currency: str = "ZMW",
        destination: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> wire.Payout:
        """Pay out `amount` kwacha at the coming midnight. Raises StateConflict: more than is available."""
        body = {"amount": exact(amount), "currency": currency, "destination": destination, "metadata": metadata}
        return self._client.calls.send("POST", self._url(), wire.Payout, body=body, headers=keyed(idempotency_key))
