"""What has happened to one payment, in order, with moments in Lusaka."""

from collections.abc import Callable, Mapping

from workbench.domain.masking import shortened
from workbench.domain.wire.trace import call_of, screen_of
from workbench.lab.parts.seen import Rows, TraceRow
from workbench.lab.parts.words import lusaka, short_path
from workbench.lab.views import AHEAD, DONE, FAILED, NOW, Grid, Row, Step, Steps, headings

_AT_REST = {"requires_payment_method", "succeeded", "failed", "canceled", "refunded"}
"""Statuses in which nothing happens until somebody asks for it."""
_DONE: Mapping[str, str] = {
    "payment_intents": "intent created",
    "confirm": "intent confirmed",
    "cancel": "intent canceled",
    "charges": "charge asked for",
    "refunds": "refund asked for",
}
"""What a call that succeeded has done, by the last segment of its path."""


def timeline(rows: Rows) -> Grid:
    """A line for each row of the trace."""
    days = sorted({lusaka(row["at"])[0] for row in rows})
    shown = tuple(_row(row, with_day=len(days) > 1) for row in rows)
    day = f" on {days[0]}" if len(days) == 1 else ""
    columns = headings("time", "what", "result")
    return Grid(f"Timeline{day}, time in Lusaka", columns, shown, "Nothing yet: send a request.", cards=True)


def steps(rows: Rows, status: str, failure: str, verified: str) -> Steps:
    """How far a payment has come; `verified` says when a webhook about its end was found genuine, if it was."""
    if not rows:
        ahead = ("created", "prompt", "PIN", "paid", "webhook")
        return Steps("How far it is", tuple(Step(text, AHEAD) for text in ahead))
    prompted = _first(rows, lambda row: row["kind"] == "screen" and row["result"] == "prompt")
    answered = _first(rows, lambda row: row["kind"] == "screen" and row["result"] != "prompt")
    secured = _first(rows, lambda row: row["kind"] == "entry" and row["result"] == "funds_secured")
    reached = [
        ("created", _time(rows[0])),
        ("prompt on the phone", prompted),
        ("answered", answered),
        ("paid", secured),
        ("webhook verified", verified if secured else ""),
    ]
    if failure and not secured:
        done = [Step(text, DONE, note) for text, note in reached[:3] if note]
        return Steps("How far it is", (*done, Step("not paid", FAILED, failure.replace("_", " "))))
    # What comes after the first step that is not reached yet lies ahead, as it does of a payment at rest.
    next_text = next((text for text, note in reached if not note), "") if status not in _AT_REST else ""
    way = (Step(text, DONE if note else NOW if text == next_text else AHEAD, note) for text, note in reached)
    return Steps("How far it is", tuple(way))


def _first(rows: Rows, holds: Callable[[TraceRow], bool]) -> str:
    return next((_time(row) for row in rows if holds(row)), "")


def _time(row: TraceRow) -> str:
    return lusaka(row["at"])[1]


def _row(row: TraceRow, *, with_day: bool) -> Row:
    day, time = lusaka(row["at"])
    what, result = _TEXTS[row["kind"]](row)
    cells = (f"{day} {time}" if with_day else time, shortened(what, 96), shortened(result, 48))
    return Row(f"{row['seq']}{row['kind']}", cells)


def _call(row: TraceRow) -> tuple[str, str]:
    method, _, path = str(row["what"]).partition(" ")
    last = path.split("?")[0].rsplit("/", 1)[-1]
    has_succeeded = method == "POST" and str(row["result"]).startswith("2")
    done = _DONE.get(last, "") if has_succeeded else ""
    again = " again" if "Idempotent-Replayed" in call_of(row).response.headers else ""
    return f"Merchant: {done or f'{method} {short_path(path)}'}", f"answered {row['result']}{again}"


def _screen(row: TraceRow) -> tuple[str, str]:
    pressed = screen_of(row).pressed
    return f"Phone: {row['what']}", f"PIN {pressed}" if pressed and set(pressed) == {"•"} else str(pressed or "prompt")


def _entry(row: TraceRow) -> tuple[str, str]:
    return f"Ledger: {row['what']}", str(row["result"]).replace("_", " ")


def _webhook(row: TraceRow) -> tuple[str, str]:
    result = str(row["result"])
    return f"Webhook: {row['what']}", f"answered {result}" if result[:1].isdigit() else result


_TEXTS: Mapping[str, Callable[[TraceRow], tuple[str, str]]] = {
    "call": _call,
    "screen": _screen,
    "entry": _entry,
    "webhook": _webhook,
}
