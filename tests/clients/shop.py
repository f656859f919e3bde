"""A shop over the client that openapi-python-client generated: argv has the sandbox's address and its secret key."""

import base64
import sys
from decimal import Decimal

from mobile_money_payments_sandbox_client import AuthenticatedClient
from mobile_money_payments_sandbox_client.api.charges import create_charge
from mobile_money_payments_sandbox_client.api.payment_intents import (
    confirm_payment_intent,
    create_payment_intent,
    list_payment_intents,
    retrieve_payment_intent,
)
from mobile_money_payments_sandbox_client.api.refunds import create_refund
from mobile_money_payments_sandbox_client.api.sandbox import sandbox_advance, sandbox_enter
from mobile_money_payments_sandbox_client.models import (
    Advance,
    Charge,
    ConfirmPaymentIntent,
    CreateCharge,
    CreatePaymentIntent,
    CreateRefund,
    Handset,
    Input,
    MobileMoney,
    MobileMoneyMethod,
    PaymentIntent,
    PaymentIntentList,
    PaymentIntentStatus,
    Problem,
    Refund,
)

PHONE = "+260961234567"
EXACT = ("0.01", "0.37", "19.99", "150.10", "123456789.12", "9999999999.99")

base_url, secret_key = sys.argv[1:]
bearer = AuthenticatedClient(base_url=base_url, token=secret_key)
basic = AuthenticatedClient(
    base_url=base_url, token=base64.b64encode(f"{secret_key}:".encode()).decode(), prefix="Basic"
)


def created(amount: str) -> PaymentIntent:
    body = CreatePaymentIntent(amount=float(amount), currency="ZMW", payment_method_types=["mobile_money"])
    intent = create_payment_intent.sync(client=bearer, body=body)
    assert isinstance(intent, PaymentIntent), intent
    return intent


# A number in this client is a float: its shortest text is the amount, to the ngwee.
for amount in EXACT:
    assert Decimal(str(created(amount).amount)) == Decimal(amount), amount

intent = created("150.10")
method = MobileMoneyMethod(type_="mobile_money", mobile_money=MobileMoney(phone=PHONE, provider="mtn"))
confirmed = confirm_payment_intent.sync(intent.id, client=bearer, body=ConfirmPaymentIntent(payment_method=method))
assert isinstance(confirmed, PaymentIntent), confirmed
assert confirmed.status is PaymentIntentStatus.REQUIRES_ACTION

handset = sandbox_enter.sync(PHONE, client=bearer, body=Input(text="1234"))
assert isinstance(handset, Handset), handset
sandbox_advance.sync(client=bearer, body=Advance(seconds=10))
paid = retrieve_payment_intent.sync(intent.id, client=bearer)
assert isinstance(paid, PaymentIntent), paid
assert paid.status is PaymentIntentStatus.SUCCEEDED
latest = list_payment_intents.sync(client=bearer, limit=1)
assert isinstance(latest, PaymentIntentList), latest
assert [each.id for each in latest.data] == [intent.id]

part = create_refund.sync(client=bearer, body=CreateRefund(payment_intent=intent.id, amount=0.37, reason="a leaf"))
assert isinstance(part, Refund), part
assert (str(part.amount), part.currency, part.reason) == ("0.37", "ZMW", "a leaf")

sold = create_charge.sync(
    client=basic,
    idempotency_key="order-1",
    body=CreateCharge(amount=1999, currency="zmw", type_="mobile_money", channel="mtn", phone=PHONE),
)
assert isinstance(sold, Charge), sold
assert (type(sold.amount), sold.amount) == (int, 1999)
whole = create_refund.sync(client=bearer, body=CreateRefund(charge=sold.id))
assert isinstance(whole, Refund), whole
assert (whole.amount, whole.currency) == (1999, "zmw")

refused = create_refund.sync_detailed(client=bearer, body=CreateRefund(charge=sold.id, amount=1))
assert isinstance(refused.parsed, Problem), refused
assert (refused.status_code, refused.parsed.status) == (400, 400)
print(refused.parsed.code.value)  # noqa: T201  what the test reads
