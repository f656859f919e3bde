"""Causes that explain several failures at once: one row a cause, in the order in which they are tried."""

import json
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import product
from typing import Final, NamedTuple

from workbench.certify.checks import PARSES_FIRST, REFUSED, REFUSED_BADLY, RESPONDS_LATE, Result, accepted, refused
from workbench.certify.exam import Exam, Exchange, is_accepted
from workbench.certify.report import FAILED, WARNING, Row
from workbench.certify.sending import Event
from workbench.resources import notebook_name


class _Seen(NamedTuple):
    """The limit, and the spelling of JSON that the shop verifies in place of the bytes, by its place."""

    limit_s: int
    spelling: int | None


class _Cause(NamedTuple):
    """A cause of failures, and whether it explains one."""

    name: str
    title: str
    came: str
    why: str
    fix: str
    notebook: str
    explains: Callable[[Result, _Seen], bool]
    needs: tuple[str, ...] = ()
    """Checks without which it is another cause."""
    least: int = 2


def _parses_first(result: Result, seen: _Seen) -> bool:
    place = seen.spelling
    return place is not None and result.check.judge is accepted and all(_differs(each, place) for each in result.faulty)


def _differs(exchange: Exchange, place: int) -> bool:
    return exchange.reply.status_code in REFUSED and _spellings(exchange.body)[place] != exchange.body


def _forged(result: Result, fits: Callable[[Exchange], bool]) -> bool:
    return result.check.judge is refused and all(map(fits, result.faulty))


_VERIFY: Final = "verify_webhooks"
CAUSES: Final = (
    _Cause("too_slow", "The responses are late", "no whole response within {limit_s} s", *RESPONDS_LATE,
           "retries_dead_letters_and_replay",
           lambda result, seen: all(each.reply.latency_ms >= seen.limit_s * 1000 for each in result.faulty), least=1),
    _Cause("verifies_after_parsing", "The signature is verified after parsing",
           "genuine messages are rejected, and accepted once the rewritten JSON is what is signed", *PARSES_FIRST,
           _VERIFY, _parses_first, least=1),
    _Cause("verifies_nothing", "Signatures are not verified", "2xx to messages that are not genuine",
           "Anybody who knows the address can tell the shop that an order is paid.",
           "Verify each message with the endpoint's secret before anything else, and respond 400 if that fails.",
           _VERIFY, lambda result, _: _forged(result, lambda each: is_accepted(each.reply)),
           ("wrong_secret", "missing_headers")),
    _Cause("uncaught", "An exception is not caught", "5xx to messages that are rejected", *REFUSED_BADLY, _VERIFY,
           lambda result, _: _forged(result, lambda each: each.reply.status_code in range(500, 1000))),
    _Cause("command", "A command of the exam's fails", "", "Without it, these checks show nothing about your shop.",
           "Run the command by hand, in the shell from which the exam is started.", "going_live",
           lambda result, _: result.broke),
)  # fmt: skip


def causes_of(exam: Exam, results: Iterable[Result], limit_s: int) -> tuple[list[Row], dict[str, Row]]:
    """The causes that explain failures, and the cause of each check by its name.

    A shop that rejects genuine messages is sent some of them again.
    """
    failed = [each for each in results if each.verdict in {FAILED, WARNING} and (each.faulty or each.broke)]
    seen = _Seen(limit_s, _spelling_of(exam, failed))
    rows: list[Row] = []
    of: dict[str, Row] = {}
    for cause in CAUSES:
        group = [each for each in failed if each.check.name not in of and each.broke is (cause.name == "command")]
        group = [each for each in group if cause.explains(each, seen)]
        names = {each.check.name for each in group}
        # The slowest response is no failure beside itself.
        if len(names - {"slow"}) >= cause.least and names.issuperset(cause.needs):
            came = cause.came.format(limit_s=limit_s) or group[0].came
            sent = ", ".join(each.check.title for each in group)
            printed = next(filter(None, (each.printed for each in group)), "")
            told = cause.why, cause.fix, notebook_name(cause.notebook)
            rows.append(Row(cause.name, cause.title, FAILED, came, sent, "", *told, printed))
            of.update(dict.fromkeys(names, rows[-1]))
    return rows, of


def _spelling_of(exam: Exam, failed: Sequence[Result]) -> int | None:
    """Finds the spelling that the shop verifies: sends rejected genuine messages again, signed over each spelling."""
    for result in failed:
        for each in result.faulty if result.check.judge is accepted else ():
            event = Event.read(each.body)
            tried = [place for place in range(len(_spellings(each.body))) if _differs(each, place)]
            if not tried or is_accepted(exam.post(each.body, exam.signed(event))):
                continue
            for place in tried:
                if is_accepted(exam.post(each.body, exam.signed(event._replace(body=_spellings(each.body)[place])))):
                    return place
            break
    return None


def _spellings(body: bytes) -> list[bytes]:
    """The ways in which libraries write JSON again."""
    return [
        json.dumps(json.loads(body, parse_float=number), separators=separators, ensure_ascii=is_ascii).encode(
            errors="backslashreplace"
        )
        for number in (float, _as_in_javascript)
        for separators, is_ascii in product(((",", ":"), (", ", ": ")), (True, False))
    ]


def _as_in_javascript(text: str) -> object:
    return int(Decimal(text)) if Decimal(text) == int(Decimal(text)) else float(text)
