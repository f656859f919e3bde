import base64
import re

from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.ids import FORMATS, Draws, reference, with_short_ids
from workbench.domain.masking import mask
from workbench.domain.phones import OPERATORS

PARTS = st.one_of(st.integers(0, 10**9), st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8))
Key = tuple[str | int, ...]
KEYS = st.lists(PARTS, min_size=1, max_size=4).map(tuple)
KINDS = ("pi", "ch", "evt", "del", "att", "je", "we", "req", "ussd", "tok")


def test_the_values_of_a_seed_are_pinned():
    """A change here changes every identifier and secret in every notebook."""
    draws = Draws("7")
    assert draws.identifier("pi", 1) == "pi_3CwQs4ccyAKWi4CYckUaBSnr"
    assert draws.identifier("ch", 1) == "ch_yDcacoPz5o05akKmyQWLWrD4"
    # Of secrets, the ends alone.
    assert draws.token("key", "plants", "secret").endswith("uRzTzU")
    assert draws.webhook_secret("we_1", 1).endswith("UIxTD6o=")
    assert [draws.below(401, "jitter", "del_1", number) for number in range(1, 6)] == [202, 291, 374, 331, 18]
    assert draws.digest("a", 1, size=4).hex() == "8418af13"


@given(st.text(max_size=10), st.lists(KEYS, min_size=2, max_size=8, unique_by=lambda key: tuple(map(str, key))))
def test_a_seed_and_a_key_are_one_value_whatever_else_is_drawn_and_others_another(seed: str, keys: list[Key]):
    busy = Draws(seed)
    digests = [busy.digest(*each) for each in keys]
    assert len({*digests}) == len(keys)
    assert digests[::-1] == [Draws(seed).digest(*each) for each in keys[::-1]]
    assert digests[0] != Draws(f"{seed}.").digest(*keys[0])


@given(st.sampled_from(KINDS), st.integers(1, 10**6), KEYS)
def test_an_identifier_is_prefix_and_24_letters_a_secret_whsec_and_32_bytes_and_a_number_below(
    kind: str, number: int, key: Key
):
    assert re.fullmatch(f"{kind}_[0-9A-Za-z]{{24}}", Draws("7").identifier(kind, number))
    prefix, _, text = Draws("7").webhook_secret(*key).partition("_")
    assert (prefix, len(base64.b64decode(text, validate=True))) == ("whsec", 32)
    assert 0 <= Draws("7").below(number, *key) < number


def test_identifiers_are_shortened_wherever_they_stand_and_nothing_else_is():
    name = Draws("7").identifier("pi", 1)
    assert with_short_ids(name) == f"{name[:9]}…"
    assert with_short_ids(f"POST /v1/payment_intents/{name}/confirm") == f"POST /v1/payment_intents/{name[:9]}…/confirm"
    assert with_short_ids(f"{name}x") == f"{name}x"


AT_MS = 1_767_592_860_000
"""2026-01-05, 08:01 in Lusaka."""
MOMENTS = st.integers(0, 253_402_207_200_000 - 1)
"""To the last millisecond before the year 10000 in Lusaka."""
WITH_SEQ = st.sampled_from(sorted(kind for kind, shape in FORMATS.items() if "seq" in shape))
SEQS = st.integers(1, 2**63 - 1)


def test_what_a_movement_is_known_as_on_a_day_of_lusakas():
    known = {
        "mtn": "4000000042", "airtel": "MP260105.0801.00000042", "zamtel": "ZK260105-0000042",
        "sweep": "SWP20260105-MTN", "recall": "RCL20260105-0000042", "top_up": "TOP20260105-0000042",
        "credit": "STL20260105", "return": "RTN20260105-0000042",
    }  # fmt: skip
    assert {kind: reference(kind, AT_MS, seq=42, operator="mtn") for kind in known} == known
    assert set(OPERATORS) <= set(FORMATS)
    midnight_ms = 1_767_650_400_000  # 2026-01-05, 22:00 UTC
    assert [reference("credit", midnight_ms - left) for left in (1, 0)] == ["STL20260105", "STL20260106"]


@given(st.tuples(WITH_SEQ, WITH_SEQ), st.tuples(MOMENTS, MOMENTS), SEQS, SEQS)
def test_no_two_kinds_or_seqs_have_one_id(kinds: tuple[str, str], moments: tuple[int, int], seq: int, later: int):
    known_as = reference(kinds[0], moments[0], seq=seq)
    assert kinds[0] == kinds[1] or known_as != reference(kinds[1], moments[1], seq=seq)
    assert seq == later or known_as != reference(kinds[0], moments[1], seq=later)


@given(st.sampled_from(sorted(FORMATS)), st.integers(1, 10**7 - 1))
def test_no_id_is_taken_for_a_customers_number(kind: str, seq: int):
    known_as = reference(kind, AT_MS, seq=seq, operator="mtn")
    assert mask(f"Reference {known_as}.") == f"Reference {known_as}."
