"""Short texts of the trace, for a column or a label."""

from workbench.domain.ids import with_short_ids
from workbench.domain.masking import shortened

WIDEST = 64
MASK_NOTE = "secrets masked"


def short(text: str, widest: int = WIDEST) -> str:
    """Text with short identifiers, cut to `widest`; the row holds all of it."""
    return shortened(with_short_ids(text), widest)


def clock_of(at: str) -> str:
    """The moment of a row, to the second."""
    return at[:19].replace("T", " ")
