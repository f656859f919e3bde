from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.masking import mask
from workbench.domain.phones import OPERATORS
from workbench.domain.references import FORMATS, reference

AT_MS = 1_767_592_860_000
"""2026-01-05, 08:01 in Lusaka."""
LAST_MS = 253_402_207_200_000 - 1
"""The last millisecond before the year 10000 in Lusaka."""
WITH_SEQ = sorted(kind for kind, shape in FORMATS.items() if "seq" in shape)
KINDS = st.sampled_from(WITH_SEQ)
SEQS = st.integers(1, 2**63 - 1)
MOMENTS = st.integers(0, LAST_MS)


def test_what_a_movement_is_known_as():
    known = {
        "mtn": "4000000042", "airtel": "MP260105.0801.00000042", "zamtel": "ZK260105-0000042",
        "sweep": "SWP20260105-MTN", "recall": "RCL20260105-0000042", "top_up": "TOP20260105-0000042",
        "credit": "STL20260105", "return": "RTN20260105-0000042",
    }  # fmt: skip
    assert {kind: reference(kind, AT_MS, seq=42, operator="mtn") for kind in known} == known
    assert set(OPERATORS) <= set(FORMATS)


def test_a_day_is_lusakas():
    before_midnight_utc = 1_767_650_400_000  # 2026-01-05, 22:00 UTC
    assert reference("credit", before_midnight_utc) == "STL20260106"
    assert reference("credit", before_midnight_utc - 1) == "STL20260105"


@given(KINDS, KINDS, MOMENTS, MOMENTS, SEQS, SEQS)
def test_no_two_kinds_or_seqs_have_one_id(kind: str, other: str, at_ms: int, then_ms: int, seq: int, later: int):
    if kind != other:
        assert reference(kind, at_ms, seq=seq) != reference(other, then_ms, seq=seq)
    if seq != later:
        assert reference(kind, at_ms, seq=seq) != reference(kind, then_ms, seq=later)


@given(st.sampled_from(sorted(FORMATS)), st.integers(1, 10**7 - 1))
def test_no_id_is_taken_for_a_customers_number(kind: str, seq: int):
    known_as = reference(kind, AT_MS, seq=seq, operator="mtn")
    assert mask(f"Reference {known_as}.") == f"Reference {known_as}."
