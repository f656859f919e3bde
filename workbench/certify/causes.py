"""Causes that explain several failures at once: one row per cause, in the order in which they are tried."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from workbench.certify.checks import PARSES_FIRST, REFUSED, REFUSED_BADLY, RESPONDS_LATE, Result, accepted, refused
from workbench.certify.exam import Exam, Exchange, is_accepted
from workbench.certify.report import FAILED, WARNING, Row
from workbench.certify.sending import Event
from workbench.domain.signatures import respellings
from workbench.resources import notebook_name


class _Context(NamedTuple):
    """The limit for a response, and the place of the JSON spelling that the shop verifies instead of the bytes."""

    limit_s: int
    spelling: int | None


class _Cause(NamedTuple):
    """A cause of failures, with the function that tells whether it explains a failed check."""

    name: str
    title: str
    came: str
    why: str
    fix: str
    notebook: str
    explains: Callable[[Result, _Context], bool]
    needs: tuple[str, ...] = ()
    """Checks that must be among the failures."""
    least: int = 2
    """The fewest failures that the cause must explain."""


def _parses_first(result: Result, context: _Context) -> bool:
    place = context.spelling
    if place is None or result.check.judge is not accepted:
        return False
    return all(_is_rejected_respelling(exchange, place) for exchange in result.faulty)


def _is_rejected_respelling(exchange: Exchange, place: int) -> bool:
    """True if the shop rejected a message whose bytes differ from the JSON spelling at `place`."""
    return exchange.reply.status_code in REFUSED and _spellings(exchange.body)[place] != exchange.body


def _forged(result: Result, fits: Callable[[Exchange], bool]) -> bool:
    return result.check.judge is refused and all(map(fits, result.faulty))


_VERIFY: Final = "verify_webhooks"
CAUSES: Final = (
    _Cause("too_slow", "The responses are late", "no whole response within {limit_s} s", *RESPONDS_LATE,
           "retries_dead_letters_and_replay",
           lambda result, context: all(
               exchange.reply.latency_ms >= context.limit_s * 1000 for exchange in result.faulty
           ), least=1),
    _Cause("verifies_after_parsing", "The signature is verified after parsing",
           "genuine messages are rejected, and accepted once the rewritten JSON is what is signed", *PARSES_FIRST,
           _VERIFY, _parses_first, least=1),
    _Cause("verifies_nothing", "Signatures are not verified", "2xx to messages that are not genuine",
           "Anybody who knows the address can tell the shop that an order is paid.",
           "Verify each message with the endpoint's secret before anything else, and respond 400 if that fails.",
           _VERIFY, lambda result, _: _forged(result, lambda exchange: is_accepted(exchange.reply)),
           ("wrong_secret", "missing_headers")),
    _Cause("uncaught", "An exception is not caught", "5xx to messages that are rejected", *REFUSED_BADLY, _VERIFY,
           lambda result, _: _forged(result, lambda exchange: exchange.reply.status_code in range(500, 1000))),
    _Cause("command", "A command of the exam's fails", "", "Without it, these checks show nothing about your shop.",
           "Run the command by hand, in the shell from which the exam is started.", "going_live",
           lambda result, _: result.broke),
)  # fmt: skip


def causes_of(exam: Exam, results: Iterable[Result], limit_s: int) -> tuple[list[Row], dict[str, Row]]:
    """The causes that explain failures, and check name → its cause.

    Sends some genuine messages again to a shop that rejected them.
    """
    failed = [result for result in results if result.verdict in {FAILED, WARNING} and (result.faulty or result.broke)]
    context = _Context(limit_s, _verified_spelling(exam, failed))
    rows: list[Row] = []
    cause_by_check: dict[str, Row] = {}
    for cause in CAUSES:
        group = [
            result for result in failed
            if result.check.name not in cause_by_check
            and result.broke is (cause.name == "command") and cause.explains(result, context)
        ]  # fmt: skip
        names = {result.check.name for result in group}
        # The check `slow` repeats the slowest response of another check, so it does not count as a second failure.
        if len(names - {"slow"}) >= cause.least and names.issuperset(cause.needs):
            came = cause.came.format(limit_s=limit_s) or group[0].came
            sent = ", ".join(result.check.title for result in group)
            printed = next((result.printed for result in group if result.printed), "")
            notebook = notebook_name(cause.notebook)
            rows.append(Row(cause.name, cause.title, FAILED, came, sent, "", cause.why, cause.fix, notebook, printed))
            cause_by_check.update(dict.fromkeys(names, rows[-1]))
    return rows, cause_by_check


def _verified_spelling(exam: Exam, failed: Sequence[Result]) -> int | None:
    """Finds the spelling that the shop verifies: sends rejected genuine messages again, signed over each spelling."""
    for result in failed:
        for exchange in result.faulty if result.check.judge is accepted else ():
            event, spellings = Event.read(exchange.body), _spellings(exchange.body)
            places = [place for place in range(len(spellings)) if _is_rejected_respelling(exchange, place)]
            if not places or is_accepted(exam.target.post(exchange.body, exam.signed(event))):
                continue
            for place in places:
                headers = exam.signed(event._replace(body=spellings[place]))
                if is_accepted(exam.target.post(exchange.body, headers)):
                    return place
            break
    return None


def _spellings(body: bytes) -> list[bytes]:
    """The body's JSON as different libraries write it."""
    return [*respellings(body), *respellings(body, _javascript_number)]


def _javascript_number(text: str) -> object:
    return int(Decimal(text)) if Decimal(text) == int(Decimal(text)) else float(text)
