"""What explains several failures at once: one row a cause, in the order in which they are tried."""

import json
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Final, NamedTuple

from workbench.certify.checks import REFUSED, REFUSED_BADLY, Result, accepted, refused
from workbench.certify.exam import Exam, Exchange, is_accepted
from workbench.certify.report import FAILED, WARNING, Row
from workbench.certify.sending import Event
from workbench.resources import notebook_name

_Write = Callable[[bytes], bytes]


class _Seen(NamedTuple):
    """What was found out after the last check: how the shop writes JSON again, if it verifies that."""

    limit_s: int
    written: _Write | None


class _Cause(NamedTuple):
    """A cause of failures, and what the failures that it explains have in common, in words; nothing for others."""

    name: str
    title: str
    why: str
    fix: str
    notebook: str
    shared: Callable[[Result, _Seen], str]
    needs: tuple[str, ...] = ()
    """Checks without which it is another cause."""
    least: int = 2


def _genuine(result: Result) -> bool:
    return result.check.judge is accepted


def _forged(result: Result) -> bool:
    return result.check.judge is refused


def _late(result: Result, seen: _Seen) -> str:
    late = all(each.reply.latency_ms >= seen.limit_s * 1000 for each in result.faulty)
    return f"no whole response within {seen.limit_s} s" if late else ""


def _rewrites(result: Result, seen: _Seen) -> str:
    write = seen.written
    explained = write and _genuine(result) and all(_is_other(write, each) for each in result.faulty)
    return "genuine messages are rejected, and accepted once the rewritten JSON is what is signed" if explained else ""


def _is_other(write: _Write, exchange: Exchange) -> bool:
    return exchange.reply.status_code in REFUSED and write(exchange.body) != exchange.body


def _takes_all(result: Result, _: _Seen) -> str:
    taken = _forged(result) and all(is_accepted(each.reply) for each in result.faulty)
    return "2xx to messages that are not genuine" if taken else ""


def _raises(result: Result, _: _Seen) -> str:
    codes = {each.reply.status_code or 0 for each in result.faulty}
    if min(codes) < 500:  # noqa: PLR2004  any 5xx
        return ""
    shown = ", ".join(map(str, sorted(codes)))
    if _forged(result):
        return f"{shown} to messages that are rejected"
    # Two errors of a handler are one cause only if the shop prints the same one.
    error = ["", *(line.strip() for line in result.printed.splitlines() if line.strip())][-1]
    return f"{shown} to genuine messages: {error}" if error else ""


_VERIFY: Final = "verify_webhooks"
CAUSES: Final[Sequence[_Cause]] = (
    _Cause("too_slow", "The responses are late",
           "A late response counts as none: the message is sent again while you still work on it.",
           "Respond first, work later: record the message, return 200, and do the work in a queue.",
           "retries_dead_letters_and_replay", _late, least=1),
    _Cause("verifies_after_parsing", "The signature is verified after parsing",
           "The bytes are signed. JSON that is parsed and written again has other bytes: 150.0 for 150.00, "
           "other blanks, an escaped letter.",
           "Verify the raw body before anything parses it: request.get_data(), request.body, express.raw().",
           _VERIFY, _rewrites),
    _Cause("verifies_nothing", "Signatures are not verified",
           "Anybody who knows the address can tell the shop that an order is paid.",
           "Verify each message with the endpoint's secret before anything else, and respond 400 if that fails.",
           _VERIFY, _takes_all, ("wrong_secret", "missing_headers")),
    _Cause("no_age", "The age of messages is not checked",
           "Anybody who recorded a message can send it again at any time.",
           "Reject a signed timestamp (webhook-timestamp) more than 300 s away from your clock, in both directions.",
           _VERIFY, lambda result, seen: _takes_all(result, seen) if result.check.name in {"stale", "future"} else ""),
    _Cause("uncaught", "An exception is not caught", *REFUSED_BADLY, _VERIFY,
           lambda result, seen: _raises(result, seen) if _forged(result) else ""),
    _Cause("handler_raises", "The handler raises an exception",
           "Each rejected event is retried for three days and then becomes a dead letter.",
           "Mend the line that raises: what your shop printed names it.", _VERIFY,
           lambda result, seen: _raises(result, seen) if _genuine(result) else ""),
    _Cause("command", "A command of the exam's fails", "Without it, these checks show nothing about your shop.",
           "Run the command by hand, in the shell from which the exam is started.", "certify_your_endpoint",
           lambda result, _: result.came),
)  # fmt: skip


def causes_of(exam: Exam, results: Sequence[Result], limit_s: int) -> tuple[list[Row], dict[str, Row]]:
    """The causes that explain failures, and the cause of each check by its name.

    A shop that rejects genuine messages is sent some of them again.
    """
    failed = [each for each in results if each.verdict in {FAILED, WARNING}]
    seen = _Seen(limit_s, _written_again(exam, failed))
    rows: list[Row] = []
    of: dict[str, Row] = {}
    for cause in CAUSES:
        groups: dict[str, list[Result]] = {}
        for each in failed:
            # Where nothing was sent, a command of the user's has failed.
            fits = each.check.name not in of and bool(each.faulty) is (cause is not CAUSES[-1])
            if fits and (shared := cause.shared(each, seen)):
                groups.setdefault(shared, []).append(each)
        for came, group in groups.items():
            names = {each.check.name for each in group}
            # The slowest response is no failure beside itself.
            if len(names - {"slow"}) >= cause.least and names.issuperset(cause.needs):
                rows.append(_row(cause, came, group))
                of.update(dict.fromkeys(names, rows[-1]))
    return rows, of


def command_failed(came: str) -> Row:
    """The cause of all failures of a command, with its message."""
    return _row(CAUSES[-1], came, [])


def _row(cause: _Cause, came: str, group: Sequence[Result]) -> Row:
    sent = ", ".join(each.check.title for each in group)
    printed = next((each.printed for each in group if each.printed), "")
    return Row(
        cause.name, cause.title, FAILED, came, sent, "", cause.why, cause.fix, notebook_name(cause.notebook), printed
    )


def _written_again(exam: Exam, failed: Iterable[Result]) -> _Write | None:
    """How the shop writes JSON before it verifies; tried with genuine messages that it has rejected, signed so."""
    for result in filter(_genuine, failed):
        for each in result.faulty:
            tried = [write for write in _WRITES if _is_other(write, each)]
            event = Event.read(each.body)
            if not tried or is_accepted(exam.post(each.body, exam.signed(event))):
                continue
            for write in tried:
                if is_accepted(exam.post(each.body, exam.signed(event._replace(body=write(each.body))))):
                    return write
            break
    return None


def _write(number: Callable[[str], object], separators: tuple[str, str], is_ascii: bool, body: bytes) -> bytes:  # noqa: FBT001  by place
    text = json.dumps(json.loads(body, parse_float=number), separators=separators, ensure_ascii=is_ascii)
    return text.encode(errors="backslashreplace")


def _as_in_javascript(text: str) -> object:
    return int(Decimal(text)) if Decimal(text) == int(Decimal(text)) else float(text)


_WRITES: Final = tuple(
    partial(_write, number, separators, is_ascii)
    for number in (float, _as_in_javascript)
    for separators, is_ascii in product(((",", ":"), (", ", ": ")), (True, False))
)
"""The ways in which libraries write JSON again."""
