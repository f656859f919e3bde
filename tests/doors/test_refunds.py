"""Refunds through both doors: of intents in kwacha, of charges in whole units, never more than was paid."""

from decimal import Decimal
from typing import Any

import pytest

from tests.conftest import Shop, refusal
from workbench.errors import InvalidRequest

DR, CR = "debit", "credit"
ASKED = ["refund.created"]
SENT = ["refund.succeeded", "charge.refunded"]


def refund(shop: Shop, **body: Any) -> Any:  # noqa: ANN401  an httpx response
    return shop.post("/v1/refunds", body)


class TestWhatIsRefunded:
    def test_all_of_a_charge(self, shop: Shop):
        charge = shop.charge(10_000)
        made = refund(shop, charge=charge).json()
        assert (made["status"], made["amount"], made["currency"], made["charge"]) == ("pending", 10_000, "zmw", charge)
        assert (made["payment_intent"], made["object"], made["livemode"]) == (None, "refund", False)
        assert shop.entries(charge)[1:] == [
            # The fee is kept, so the merchant owes what its pending money does not reach.
            ("refund_asked", [(DR, 2000, 9_750), (DR, 1310, 250), (CR, 2100, 10_000)])
        ]
        shop.advance(5)
        assert shop.status(f"/v1/refunds/{made['id']}") == "succeeded"
        assert shop.events()[1:] == ASKED + SENT
        assert shop.entries(charge)[-1] == ("refund_sent", [(DR, 2100, 10_000), (CR, 1100, 10_000)])
        shown = shop.read(f"/v1/charges/{charge}")
        assert (shown["status"], shown["amount_refunded"], shown["refunded"]) == ("succeeded", 10_000, True)
        assert shop.balance() == (0, 0, 250)

    def test_a_part_of_an_intent_in_kwacha(self, shop: Shop):
        intent = shop.paid_intent("100.00")
        asked = {"payment_intent": intent, "amount": 33.33, "reason": "late"}
        made = refund(shop, **asked).json()
        assert {**made, **asked, "currency": "ZMW"} == made
        charge = shop.read(f"/v1/charges/{made['charge']}")
        assert (charge["amount_refunded"], charge["refunded"]) == (3_333, False)
        assert shop.balance() == (9_750 - 3_333, 0, 0)
        assert shop.read(f"/v1/refunds/{made['id']}")["amount"] == Decimal("33.33")
        # The units are those of what is named; without an amount it is what is left.
        assert refund(shop, charge=made["charge"], amount=667).json()["amount"] == 667
        assert refund(shop, payment_intent=intent).json()["amount"] == 60

    def test_several_parts_until_nothing_is_left(self, shop: Shop):
        charge = shop.charge(10_000)
        for amount, left in ((1, 9_999), (4_999, 5_000), (5_000, 0)):
            assert refund(shop, charge=charge, amount=amount).status_code == 200
            over = refund(shop, charge=charge, amount=left + 1)
            assert refusal(over) == (400, "refund_exceeds_charge", "amount")
            assert f"not K{(left + 1) // 100}.{(left + 1) % 100:02}" in over.json()["detail"]
        assert refusal(refund(shop, charge=charge)) == (409, "charge_not_refundable", "charge")
        shop.advance(5)
        assert [each["amount"] for each in shop.read(f"/v1/refunds?charge={charge}")["data"]] == [5_000, 4_999, 1]
        assert shop.read(f"/v1/charges/{charge}")["refunded"] is True
        assert [kind for kind, _ in shop.entries(charge)].count("refund_sent") == 3

    def test_by_the_client_a_part_of_a_charge_is_an_int_and_one_of_an_intent_in_kwacha(self, shop: Shop):
        pay, charge = shop.bench.client_with(shop.key), shop.charge(10_000)
        for amount in (Decimal("10.00"), Decimal(10), 10.0, True):
            with pytest.raises(InvalidRequest, match=r"ngwee.*as an int") as refused:
                pay.refunds.create(charge=charge, amount=amount)
            assert refused.value.code == "amount_not_exact"
        intent = shop.paid_intent("100.00")
        with pytest.raises(InvalidRequest, match=r'Decimal\("150.00"\)'):
            pay.refunds.create(payment_intent=intent, amount=10.0)
        assert list(pay.refunds.each()) == []
        assert pay.refunds.create(payment_intent=intent, amount=Decimal("10.00")).amount == 10
        refund = pay.refunds.create(charge=charge, amount=1_000)
        assert [each.id for each in pay.refunds.each(charge=charge)] == [refund.id]


class TestWhatFails:
    @pytest.mark.parametrize("scenario", ["payer_not_found", "limit_reached", "operator_unavailable"])
    def test_a_refund_that_could_not_be_sent_is_mirrored_and_can_be_asked_again(self, shop: Shop, scenario: str):
        charge = shop.charge(10_000)
        before = shop.balance()
        made = shop.post("/v1/refunds", {"charge": charge, "amount": 4_000}, Sandbox_Scenario=scenario).json()
        shop.advance(5)
        failed = shop.read(f"/v1/refunds/{made['id']}")
        assert (failed["status"], failed["failure_code"]) == ("failed", scenario)
        assert failed["failure_message"]
        assert shop.events()[1:] == ["refund.created", "refund.failed"]
        assert shop.entries(charge)[1:] == [
            ("refund_asked", [(DR, 2000, 4_000), (CR, 2100, 4_000)]),
            ("refund_failed", [(CR, 2000, 4_000), (DR, 2100, 4_000)]),
        ]
        assert shop.balance() == before
        assert refund(shop, charge=charge).json()["amount"] == 10_000

    def test_a_refund_that_fails_after_somebody_reversed_its_entry_is_mirrored_once(self, shop: Shop):
        charge = shop.charge(10_000)
        shop.post("/v1/refunds", {"charge": charge, "amount": 4_000}, Sandbox_Scenario="limit_reached")
        entries = shop.read("/sandbox/ledger/entries")["data"]
        [asked] = [row["id"] for row in entries if (row["kind"], row["payment"]) == ("refund_asked", charge)]
        shop.post("/sandbox/ledger/entries", {"recipe": "reversed", "entry": asked})
        shop.advance(5)
        assert shop.events()[1:] == ["refund.created", "refund.failed"]
        assert [kind for kind, _ in shop.entries(charge)][1:] == ["refund_asked", "reversed"]

    def test_what_a_night_took_for_a_refund_that_failed_is_given_back(self, shop: Shop):
        """Asked seconds before midnight, recovered at midnight, failed after it."""
        old = shop.charge(10_000)
        shop.to_midnight()
        shop.advance(60)
        assert shop.post("/v1/payouts", {"amount": 97.5, "currency": "ZMW"}).status_code == 200
        shop.to_midnight()
        shop.advance(86_400 - 4)
        asked = shop.post("/v1/refunds", {"charge": old, "amount": 50}, Sandbox_Scenario="limit_reached").json()
        shop.charge(1_000)
        assert shop.balance() == (975, 0, 50)
        shop.advance(10)
        assert shop.status(f"/v1/refunds/{asked['id']}") == "failed"
        assert shop.balance() == (0, 975, 0)
        assert [kind for kind, _ in shop.entries(old)][1:] == ["refund_asked", "refund_failed", "recovery_returned"]

    def test_what_did_not_succeed(self, shop: Shop):
        for ending, current in (("0000002", "failed"), ("0000005", "pending"), ("0000012", "pending")):
            answer = refund(shop, charge=shop.charge(10_000, f"+26096{ending}"))
            assert refusal(answer) == (409, "charge_not_refundable", "charge")
            assert answer.json()["current"] == current
        intent = shop.intent()
        assert refusal(refund(shop, payment_intent=intent)) == (409, "charge_not_refundable", "payment_intent")
        shop.confirm(intent, "+260960000004")
        shop.advance(5)
        assert refusal(refund(shop, payment_intent=intent)) == (409, "charge_not_refundable", "charge")
        assert shop.read("/v1/refunds")["data"] == []

    def test_what_names_nothing(self, shop: Shop):
        for body, said in (
            ({}, (400, "parameter_missing", "charge")),
            ({"charge": "ch_x", "payment_intent": "pi_x"}, (400, "parameter_missing", "charge")),
            ({"charge": "ch_x"}, (404, "charge_not_found", "charge")),
            ({"payment_intent": "pi_x"}, (404, "intent_not_found", "payment_intent")),
        ):
            assert refusal(refund(shop, **body)) == said
        assert refusal(shop.get("/v1/refunds/re_x")) == (404, "refund_not_found", "id")

    def test_an_amount_of_a_charge_that_is_none(self, shop: Shop):
        charge = shop.charge(10_000)
        headers = {"Authorization": f"Bearer {shop.key}", "Content-Type": "application/json"}
        for amount, said in {
            "0": "amount_not_positive", "0.5": "amount_too_precise", "1e-999999": "amount_too_precise",
            "1e999999999": "amount_too_large", "10001": "refund_exceeds_charge", "NaN": "number_invalid",
        }.items():  # fmt: skip
            body = f'{{"charge": "{charge}", "amount": {amount}}}'.encode()
            answer = shop.bench.http.post("/v1/refunds", content=body, headers=headers)
            assert refusal(answer) == (400, said, "amount")
