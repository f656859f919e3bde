"""The ids that an operator or a bank gives to movements of money, and the ids of sweeps.

The formats are ours; they differ as much as the operators' own formats.
"""

from collections.abc import Mapping
from typing import Final

from workbench.domain.moments import LUSAKA, moment

FORMATS: Final[Mapping[str, str]] = {
    "mtn": "4{seq:09d}",
    "airtel": "MP{at:%y%m%d.%H%M}.{seq:08d}",
    "zamtel": "ZK{at:%y%m%d}-{seq:07d}",
    "zed": "ZM{at:%y%m%d}{seq:08d}",
    "sweep": "SWP{at:%Y%m%d}-{operator}",
    "recall": "RCL{at:%Y%m%d}-{seq:07d}",
    "top_up": "TOP{at:%Y%m%d}-{seq:07d}",
    "credit": "STL{at:%Y%m%d}",
    "return": "RTN{at:%Y%m%d}-{seq:07d}",
}
"""Operator, or kind of movement → format of its ids. Days and minutes are Lusaka's.

An id without a `seq` occurs once a night: one sweep for every operator, and one credit of the bank for all sweeps.
"""


def reference(kind: str, at_ms: int, *, seq: int = 0, operator: str = "") -> str:
    """The id of a movement at a moment, in milliseconds since 1970.

    `kind` is a row of `FORMATS`; `seq` is unique among all that happens in a sandbox.

    >>> reference("airtel", 1_767_592_860_000, seq=42)
    'MP260105.0801.00000042'
    """
    return FORMATS[kind].format(at=moment(at_ms).astimezone(LUSAKA), seq=seq, operator=operator.upper())
