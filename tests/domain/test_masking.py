import base64
import re
from datetime import datetime
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from workbench.domain.masking import (
    ABROAD,
    NUMBER,
    RULES,
    Secret,
    mask,
    mask_accounts,
    mask_beginning,
    mask_numbers,
    mask_secrets,
    shortened,
    xml_text,
)
from workbench.domain.wire.sandbox_controls import Input

TOKEN = "A1b2C3d4E5f6G7h8I9j0K1l2"
WORD = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=16, max_size=32)
NUMBERS = st.from_regex("[79][567][0-9]{7}", fullmatch=True)


def key(kind: str) -> str:
    return f"{kind}_{TOKEN}"


def basic(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


MASKED = {
    key("sk_test"): "sk_test_••••", key("pk_test"): "pk_test_••••", key("sk_live"): "sk_live_••••",
    f"sk_live{TOKEN}": "sk_live••••", "Bearer sk_live_abc": "Bearer sk_live_••••", key("at"): "at_••••",
    key("rt"): "rt_••••", f"pi_{TOKEN}_secret_{TOKEN}": f"pi_{TOKEN}_secret_••••",
    f"whsec_{basic('a' * 32)}": "whsec_••••", f"sk%5Ftest%5F{TOKEN}": "sk%5Ftest%5F••••",
    "+260961234567": "+26096••••567", "/phones/+260961234567/input": "/phones/+26096••••567/input",
    "/phones/%2B260961234567": "/phones/%2B26096••••567", "/phones/%2b260961234567": "/phones/%2b26096••••567",
    "/phones/%252B260961234567": "/phones/%252B26096••••567", "260961234567": "26096••••567",
    "0961234567": "096••••567", "00260961234567": "0026096••••567", "+260 (96) 1234567": "+260 (96••••567",
    "+260.96.123.4567": "+260.96••••567", "+260/96-123-4567": "+260/96••••567",
    '{"phone": "\\u002b260961234567"}': '{"phone": "+26096••••567"}',
    '{"password": "open sesame"}': '{"password": "••••"}',
    '{"password":"a\\"b","email":"a@b.example"}': '{"password":"••••","email":"a@b.example"}',
    f"Bearer {key('sk_test')}": "Bearer sk_test_••••", f"Bearer {key('at')}": "Bearer at_••••",
    "Bearer eyJhbGciOi.eyJzdWIi.c2ln": "Bearer ••••", f"Basic {basic(key('sk_test') + ':')}": "Basic ••••",
    "+254712345678": "+254••••678", "+263 77 123 4567": "+263••••567", "+263 (77) 123-4567": "+263••••567",
    "+27 82 123 4567": "+27••••567", "+44 20 7946 0958": "+44••••958", "+1 202 555 0123": "+1••••123",
    "+33.1.23.45.67.89": "+33••••7.89", "+260211123456": "+260••••456", "00254712345678": "00254••••678",
    "254712345678": "254••••678", "FRI:263771234567/MSISDN": "FRI:263••••567/MSISDN",
    "/phones/%2B254712345678": "/phones/%2B254••••678", "/phones/%252b27821234567": "/phones/%252b278••••567",
    '{"phone": "\\u002b254712345678"}': '{"phone": "+254••••678"}',
}  # fmt: skip
STAYS = [
    # amounts
    "+1500.00", "-1500.00", "+150000.00", "+2500000.5", "+25 000 000.00", "+25,000,000.00", "+25.000.000,00",
    "(1 250,50)", "K1,234,567.89", "+1500000", "15000000", "+250000.00 31/10/2026", "0.9612345678",
    # days and moments
    "2026-01-05T06:00:00.000Z", "2026-10-31T08:00:00+02:00", "08:00:00 +1000", "31/10/2026 08:15", "1767592800000",
    # identifiers
    f"pi_{TOKEN}", "SW2610310001", "TX00254712345678", "MP254712345678", "261031123456", "7712345678", "0045678912",
    "0211234567", "b3f2k4a7q2z6", "3fa85f64-5717-4562-b3fc-2c963f66afa6", "1254712345678", "25471234567890",
    # and sentences
    "done at_once", "keys begin sk_test_ or pk_test_, never sk_live_", "the password is wrong",
]  # fmt: skip


def test_what_is_masked_and_what_stays():
    assert {text: mask(text) for text in MASKED} == MASKED
    assert [mask(f"before {text} after") for text in MASKED] == [f"before {shown} after" for shown in MASKED.values()]
    assert [mask(text) for text in STAYS] == STAYS
    assert [mask(f"before {text} after") for text in STAYS] == [f"before {text} after" for text in STAYS]
    # A request to repeat keeps its numbers and none of its secrets.
    assert mask_secrets(f"Bearer {key('sk_test')} for +260961234567") == "Bearer sk_test_•••• for +260961234567"


def test_credentials_are_masked_however_the_scheme_is_written():
    for scheme, credentials in (
        ("basic", (basic(key("sk_test") + ":"),)),
        ("bearer", ("eyJhbGciOi.eyJzdWIi.c2ln", f"sk_tset_{TOKEN}", f"sk_test-{TOKEN}", f"at_{TOKEN}")),
    ):
        for written in (scheme, scheme.title(), scheme.upper(), f"{scheme.swapcase()}  "):
            assert not [each for each in credentials if each[8:] in mask(f"{written} {each}")]
    credential = basic(key("sk_test") + ":")
    assert not [each for each in ("ba\u017fic", "BA\u017f\u0130C") if credential in mask(f"{each} {credential}")]


@given(st.text(max_size=10), st.sampled_from(["sk_test_", "pk_test_", "sk_live_", "at_", "rt_", "whsec_"]), WORD)
def test_no_key_is_left_in_any_text(before: str, kind: str, secret: str):
    for text in (f"{before} {kind}{secret} after", f'{{"key": "{kind}{secret}"}}'):
        assert secret not in mask(text)
        assert mask(mask(text)) == mask(text)


@given(NUMBERS, st.text(max_size=10), st.sampled_from(["", " ", '"', "/", ",", ".", "x", "_", "9"]))
def test_no_number_is_left_in_any_text(number: str, before: str, after: str):
    masked = mask(f"{before}+260{number}{after}")
    assert number not in masked
    assert mask(masked) == masked


GAP = st.sampled_from(["", " ", "-", ".", "/", "\u00a0", ") ", " ("])
ABROAD_NUMBERS = st.builds(
    lambda code, digits, gaps: code + "".join(map("".join, zip(gaps, digits, strict=True))),
    st.sampled_from(["27", "211", "234", "243", "254", "255", "256", "258", "263", "264", "265"]),
    st.lists(st.sampled_from("0123456789"), min_size=9, max_size=9),
    st.lists(GAP, min_size=9, max_size=9),
)


@given(
    st.text(max_size=10), st.sampled_from(["+", "%2B", "%252b", "FRI:"]), ABROAD_NUMBERS,
    st.sampled_from(["", " ", '"', "/MSISDN", ", ", ".", "x", "_", "; 2026"]),
)  # fmt: skip
def test_no_number_of_another_country_is_left_in_any_text(before: str, plus: str, number: str, after: str):
    amounts = [*re.finditer(r"[.,][0-9]{1,2}(?![0-9])", number)]
    assume(not amounts)  # as in +254 712 345.67, which is no number that is dialled
    masked = mask(f"{before}{plus}{number}{after}")
    assert number not in masked
    assert "••••" in masked
    assert mask(masked) == masked


@given(
    st.sampled_from(["+", "-", "", "K", "ZMW ", "+K"]), st.integers(0, 10**13 - 1), st.integers(0, 99),
    st.sampled_from([("", "."), ("", ","), (" ", "."), (" ", ","), (",", "."), (".", ","), ("'", "."), ("\xa0", ",")]),
    st.sampled_from(["", " ", ";", ")", " on 31/10/2026", ", paid"]),
)  # fmt: skip
def test_no_amount_is_masked(sign: str, whole: int, part: int, marks: tuple[str, str], after: str):
    thousands, decimal = marks
    text = f"{sign}{whole:,}".replace(",", thousands) + f"{decimal}{part:02}{after}"
    assert mask(text) == text


@given(
    st.datetimes(), st.sampled_from(["%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y %H:%M", "%Y-%m-%dT%H:%M:%S+02:00", "%d %b %Y"])
)
def test_no_day_is_masked(moment: datetime, pattern: str):
    text = moment.strftime(pattern)
    assert [mask(text), mask(f"{text} to {text}")] == [text, f"{text} to {text}"]


@given(st.sampled_from(["pi_", "ch_", "evt_", "msg_", "req_", "MP", "QK", "SW", "JE-"]), WORD)
def test_no_identifier_is_masked(begins: str, rest: str):
    assert mask(begins + rest) == begins + rest


PATTERNS = [*((words, pattern) for words, pattern, _ in RULES), *(((word,), pattern) for word, pattern in ABROAD)]


@pytest.mark.parametrize("place", range(len(PATTERNS)))
@given(st.data())
def test_whatever_a_pattern_finds_has_one_of_its_words(place: int, data: st.DataObject):
    words, pattern = PATTERNS[place]
    found = pattern.search(data.draw(st.from_regex(pattern)))
    assert found is None or any(word in text for word in words for text in (found[0], found[0].lower()))


@given(st.lists(st.one_of(st.from_regex(NUMBER), st.text("0002679+%B .-(", max_size=9))).map("".join))
@example("%252B00260 (9 (6 (1 (2 (3 (4 (5 (6 (7")
def test_around_its_zeros_every_number_is_found(text: str):
    assert mask_numbers(text) == mask_numbers(NUMBER.sub(r"\1••••\2", text))


AROUND = [
    ('"password":"', '"'), ('"password": "', "\\"), ("'password':'", "'"), ('"password":"', '\\""'), ("password=", "&"),
    ("sk_test_", " "), ("pi_", "_secret_a"), ("whsec_", '"'), ("Bearer ", " "), ("Basic ", "A"), ("\\u0061", " "),
]  # fmt: skip
RUNS = st.builds(str.__mul__, st.sampled_from("ax9 "), st.integers(1, 6000))
PIECES = st.one_of(
    st.sampled_from([*MASKED, *(each.replace("_", "\\u005f") for each in MASKED), "bearer ", "basic ", " ", '"', "A"]),
    st.builds(str.join, RUNS, st.sampled_from(AROUND)),
    RUNS,
)
"""Secrets and their beginnings, and what is long: a value in quotes, a key, a run of one letter."""


@given(st.lists(PIECES, min_size=1, max_size=8).map("".join), st.integers(0, 10_000))
@example('{"password":"' + "open sesame " * 1000, 100)
@example("a" * 30 + '"password":"' + "x" * 2500 + '", ' + "b" * 3000, 100)
@example("Bearer " + "a" * 9000 + "A", 100)
@example("sk_test_" + "a" * 2002 + " 0961234567" + " b" * 100, 18)
@settings(max_examples=300)
def test_a_secret_at_the_cut_is_masked_as_in_the_whole_text(text: str, most: int):
    assert mask_beginning(text, most) == mask(text)[:most]


def test_a_value_that_ends_with_the_text_is_masked():
    for rest in ("open sesame", "open\\", ""):
        assert mask('{"password": "' + rest) == '{"password": "••••"'


def test_a_secret_is_whole_but_for_its_repr():
    secret = Secret(key("sk_test"))
    assert str(secret) == f"{secret}" == key("sk_test")
    assert repr([secret]) == "['sk_test_••••']"
    # What is typed on a handset has not even a beginning.
    assert [repr(Input(text=pin)) for pin in ("1", "01234567")] == ["Input(•)", "Input(••••••••)"]


def test_a_text_is_cut_with_a_mark_that_counts_or_not():
    assert [shortened("abcde", most) for most in (6, 5, 4, 1)] == ["abcde", "abcde", "abc…", "…"]
    assert shortened("abcde", 4, counts_mark=False) == "abcd…"


@given(st.text())
def test_a_text_for_xml_is_one_that_a_parser_takes_and_else_as_it_was(text: str):
    told = xml_text(text)
    read = ET.fromstring(f"<t>{escape(told)}</t>").text or ""  # noqa: S314  our own
    assert read == told.replace("\r\n", "\n").replace("\r", "\n")
    assert all(now in (was, "\ufffd") for was, now in zip(text, told, strict=True))
    assert xml_text("a\x00b\x1bc\ud800d\ufffee\tf\n") == "a\ufffdb\ufffdc\ufffdd\ufffde\tf\n"


def test_a_layout_that_is_handed_on_shows_no_account():
    text = "Account 0123456789012, card 4000 1234 5678 9010, reference 12-34, 150.00"
    assert mask_accounts(text) == "Account ••••••••••012, card •••• •••• •••• •010, reference 12-34, 150.00"
