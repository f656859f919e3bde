import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st
from phonenumbers import PhoneNumberType, carrier

from workbench.domain import phones
from workbench.domain.phones import OPERATORS, WITHOUT_WALLET, msisdn_from, operator_named, phone_hash
from workbench.errors import InvalidRequest

PREFIXES = {prefix: operator.id for operator in OPERATORS.values() for prefix in operator.prefixes}


def test_nine_prefixes_belong_to_three_operators_and_the_numbering_plan_agrees():
    assert {each.id: each.prefixes for each in OPERATORS.values()} == {
        "mtn": ("96", "76", "56"), "airtel": ("97", "77", "57"), "zamtel": ("95", "75", "55"),
    }  # fmt: skip
    for prefix in (f"{number:02d}" for number in range(100)):
        number = phonenumbers.parse(f"+260{prefix}1234567", None)
        mobile = phonenumbers.is_valid_number_for_region(number, "ZM") and (
            phonenumbers.number_type(number) == PhoneNumberType.MOBILE
        )
        assert mobile == (prefix in PREFIXES or prefix in WITHOUT_WALLET), prefix
        name = carrier.name_for_number(number, "en").casefold()
        assert name == PREFIXES[prefix] if prefix in PREFIXES else name not in OPERATORS, prefix


@given(st.sampled_from(sorted(PREFIXES)), st.text("0123456789", min_size=7, max_size=7))
def test_every_number_of_a_prefix_is_its_operators_and_loses_its_middle(prefix: str, digits: str):
    number = msisdn_from(f"+260{prefix}{digits}", param="phone")
    assert (number.e164, number.operator.id) == (f"+260{prefix}{digits}", PREFIXES[prefix])
    assert phones.mask_phone(number.e164) == f"+260{prefix}••••{digits[4:]}"


@given(st.sampled_from(sorted(PREFIXES)), st.text("0123456789", min_size=7, max_size=7))
def test_a_number_in_national_form_is_the_same_one(prefix: str, digits: str):
    number = msisdn_from(f"0{prefix}{digits}", param="phone", form="national")
    assert number == msisdn_from(f"+260{prefix}{digits}", param="phone", form="national")


def test_no_other_form_is_national():
    for text in ("961234567", "00961234567", "0961234567 ", "0\u0661961234567", "260961234567", "096 1234567"):
        with pytest.raises(InvalidRequest) as refused:
            msisdn_from(text, param="phone", form="national")
        assert refused.value.code == "phone_invalid", text
    with pytest.raises(InvalidRequest) as refused:
        msisdn_from("0211234567", param="phone", form="national")
    assert refused.value.code == "phone_without_wallet"


REFUSED = {
    "national form": ["0961234567"],
    "nine digits and nothing else": ["+26096123456", "+2609612345678", "+260961234567\n", "+26096123456\u0661"],
    "not Zambian": ["+254712345678", "+26"],
    "international form": ["260961234567", "00260961234567", "tel:+260961234567", ""],
    r"98 \(Zed Mobile\)": ["+260981234567"], r"79 \(operator not known\)": ["+260791234567"],
    r"00 \(not a mobile prefix\)": ["+260001234567"],
}  # fmt: skip


def test_every_other_form_and_a_number_without_a_wallet_is_refused_with_its_reason():
    for said, texts in REFUSED.items():
        for text in texts:
            with pytest.raises(InvalidRequest, match=said) as refused:
                msisdn_from(text, param="phone")
            code = "phone_without_wallet" if "(" in said else "phone_invalid"
            assert (refused.value.code, refused.value.param) == (code, "phone")


def test_operators_are_named_short_or_long_in_any_case_and_no_other():
    for operator in OPERATORS.values():
        for text in (operator.id, operator.id.title(), operator.long_id, operator.long_id.lower()):
            assert operator_named(text, param="provider") is operator
    assert [each.long_id for each in OPERATORS.values()] == ["MTN_MOMO_ZMB", "AIRTEL_OAPI_ZMB", "ZAMTEL_ZMB"]
    for text in ("", "zed", " mtn", "MTN_MOMO_RWA"):
        with pytest.raises(InvalidRequest, match="mtn, airtel, zamtel") as refused:
            operator_named(text, param="provider")
        assert (refused.value.code, refused.value.param) == ("operator_unknown", "provider")


def test_a_mobile_number_is_masked_however_it_is_written_and_of_another_three_digits_are_left():
    for text in ("+260961234567", "00260961234567", "260 96 123 4567", "096-123-4567", "961234567"):
        assert phones.masked_number(text) == phones.mask_column(text) == "+26096••••567"
    for text in ("+254712345678", "254712345678", "00254 712 345 678", "2547••••5678"):
        assert phones.masked_number(text) == phones.mask_column(text) == "+•••••••••678"
    for text in ("Mwansa", "12", "+•••••••••678"):
        assert (phones.masked_number(text), phones.mask_column(text)) == (None, text)


def test_a_whole_number_has_one_hash_under_a_key_and_a_hidden_one_has_none():
    one, other = (phone_hash(text, b"a key") for text in ("0961234567", "0961234568"))
    assert {phone_hash(text, b"a key") for text in ("+260 96 123 4567", "260961234567", "961-234-567")} == {one}
    assert len({one, other, phone_hash("0961234567", b"another key")}) == 3
    assert [phone_hash(text, b"a key") for text in ("+26096••••567", "26096****567", "no number", "")] == [None] * 4


def test_a_number_with_hidden_digits_is_cut_short_without_its_prefix_or_its_last_three_digits():
    for text in ("096XXXX567", "+26096****567", "+260961234567", "26 shops", "XXXX"):
        assert not phones.is_cut_short(text)
    for text in ("096XXXXX67", "XXXXXXX567", "+260•••••••67"):
        assert phones.is_cut_short(text)
