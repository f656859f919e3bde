"""Texts and moments that several sections show."""

from datetime import datetime

from workbench.domain.ids import short_id
from workbench.domain.moments import LUSAKA, moment


def lusaka(at: str) -> tuple[str, str]:
    """The day and the time of day in Lusaka of a moment as the trace has it."""
    there = datetime.fromisoformat(at).astimezone(LUSAKA)
    return there.strftime("%Y-%m-%d"), there.strftime("%H:%M:%S")


def whole_text(text: str) -> str:
    """Text that can be sent: half of a surrogate pair, which a browser may send, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def when(at_s: float | None) -> str:
    """A moment in Lusaka, to the second; a dash for none."""
    return "-" if at_s is None else moment(int(at_s * 1000)).astimezone(LUSAKA).strftime("%Y-%m-%d %H:%M:%S")


def span(seconds: float) -> str:
    """How long that is, in the two largest units that count: `1 d 2 h`, `5 min`, `20 s`."""
    left, parts = max(0, round(seconds)), []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def counted(count: int, one: str, many: str = "") -> str:
    """`1 event`, `2 events`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def short_path(path: str) -> str:
    """A path with the ids in it shortened."""
    return "/".join(short_id(each) for each in path.split("/"))
