"""Payments: intents, charges in one call, refunds."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from workbench.client.resource import Listed, exact, keyed, listed, whole
from workbench.domain import wire


class PaymentIntents(Listed[wire.PaymentIntent]):
    """Sections 2.1 and 2.2; listing and canceling are assumed."""

    _path, _shape, _page = "/v1/payment_intents", wire.PaymentIntent, wire.List[wire.PaymentIntent]

    def create(
        self,
        *,
        amount: Decimal | int,
        currency: str = "ZMW",
        payment_method_types: Sequence[str] = ("mobile_money",),
        description: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> wire.PaymentIntent:
        """Register an attempt to be paid; `amount` is in kwacha, at most two decimals.

        >>> pay.payment_intents.create(amount=Decimal("150.00"), currency="ZMW")  # doctest: +SKIP
        """
        body = {
            "amount": exact(amount),
            "currency": currency,
            "payment_method_types": listed("payment_method_types", payment_method_types, "mobile_money"),
            "description": description,
            "metadata": metadata,
        }
        url = self._url()
        return self._client.calls.send("POST", url, wire.PaymentIntent, body=body, headers=keyed(idempotency_key))

    def confirm(
        self,
        intent_id: str,
        *,
        phone: str,
        provider: str,
        client_secret: str | None = None,
        idempotency_key: str | None = None,
    ) -> wire.PaymentIntent:
        """Send the prompt to the customer's phone, `+260` and nine digits.

        `client_secret` is needed where the client holds a publishable key.
        """
        method = {"type": "mobile_money", "mobile_money": {"phone": phone, "provider": provider}}
        body = {"payment_method": method, "client_secret": client_secret}
        url = self._url(intent_id) + "/confirm"
        return self._client.calls.send("POST", url, wire.PaymentIntent, body=body, headers=keyed(idempotency_key))

    def retrieve(self, intent_id: str, *, client_secret: str | None = None) -> wire.PaymentIntent:
        """The intent as it is now."""
        query = {"client_secret": client_secret} if client_secret else None
        url = self._url(intent_id)
        return self._client.calls.send("GET", url, wire.PaymentIntent, query=query)

    def cancel(
        self, intent_id: str, *, cancellation_reason: str | None = None, idempotency_key: str | None = None
    ) -> wire.PaymentIntent:
        """End an intent; a prompt that is open is withdrawn. Raises StateConflict when it is paid or being paid."""
        body = {"cancellation_reason": cancellation_reason}
        url = self._url(intent_id) + "/cancel"
        return self._client.calls.send("POST", url, wire.PaymentIntent, body=body, headers=keyed(idempotency_key))


class Charges(Listed[wire.Charge]):
    """Section 2.3; listing is assumed."""

    _host = "charges_url"
    _path, _shape, _page = "/v1/charges", wire.Charge, wire.List[wire.Charge]

    def create(  # noqa: PLR0913  the fields of the request
        self,
        *,
        amount: int,
        channel: str,
        phone: str,
        idempotency_key: str,
        currency: str = "zmw",
        type: str = "mobile_money",  # noqa: A002  the field's name in the interface
        reference: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> wire.Charge:
        """Ask a customer for money in one call; `amount` is a whole number (ngwee in the sandbox).

        `idempotency_key` is yours to choose and to keep: the same key with the same body never
        charges twice. An order's number is a good one.
        Raises PaymentDeclined; `facts["charge"]` names the charge.
        """
        body = {
            "amount": whole(amount),
            "currency": currency,
            "type": type,
            "channel": channel,
            "phone": phone,
            "reference": reference,
            "metadata": metadata,
        }
        url = self._url()
        return self._client.calls.send("POST", url, wire.Charge, body=body, headers=keyed(idempotency_key), basic=True)

    def retrieve(self, charge_id: str) -> wire.Charge:
        """The charge as it is now."""
        url = self._url(charge_id)
        return self._client.calls.send("GET", url, wire.Charge, basic=True)


class Refunds(Listed[wire.Refund]):
    """Money given back; assumed. `list` and `each` take `charge`."""

    _path, _shape, _page = "/v1/refunds", wire.Refund, wire.List[wire.Refund]

    def list(
        self,
        *,
        limit: int = 10,
        starting_after: str | None = None,
        ending_before: str | None = None,
        charge: str | None = None,
    ) -> wire.List[wire.Refund]:
        """A page, newest first; of one `charge`, if named."""
        return self._listed(limit=str(limit), starting_after=starting_after, ending_before=ending_before, charge=charge)

    def each(self, *, charge: str | None = None) -> Iterator[wire.Refund]:
        """Every refund, newest first; of one `charge`, if named."""
        return self._every(charge=charge)

    def create(
        self,
        *,
        charge: str | None = None,
        payment_intent: str | None = None,
        amount: Decimal | int | None = None,
        reason: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> wire.Refund:
        """Refund a charge or an intent, in part or all that is left.

        `amount` is in the unit of what is named: whole ngwee of a charge, as an int, kwacha of an intent.
        Raises InvalidRequest: more than is left, or not exact. Raises StateConflict: nothing was paid.
        """
        if amount is not None:
            amount = exact(amount) if charge is None else whole(amount)
        body = {
            "charge": charge,
            "payment_intent": payment_intent,
            "amount": amount,
            "reason": reason,
            "metadata": metadata,
        }
        return self._client.calls.send("POST", self._url(), wire.Refund, body=body, headers=keyed(idempotency_key))
