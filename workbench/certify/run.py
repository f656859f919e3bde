"""Runs the exam: makes and judges the checks in turn, finds the causes of several failures, and reports the results."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Final, NamedTuple

from workbench.certify import checks
from workbench.certify.checks import CHECKS, ORDER_CHECKS, Check, Judge, Result, accepted, refused, times
from workbench.certify.exam import Event, Exam, Exchange, NoAnswer, NotExamined, Orders, ShopOrder, is_accepted, total
from workbench.certify.report import FAILED, NOT_EXAMINED, PASSED, WARNING, Report, Row, some
from workbench.domain.moments import rfc3339
from workbench.domain.signatures import respellings
from workbench.errors import ApiError, ExamRefused
from workbench.resources import notebook_name
from workbench.session import Session

DAY_S: Final = 86_400
_EXAM_S: Final = 300
"""No check begins later than this many seconds after the exam's start."""
_TIME_UP: Final = f"{_EXAM_S} s are up"
MOST_TIMEOUTS: Final = 2
_ORDERS_S: Final = 5.0
_POLL_S: Final = 0.2
_GONE: Final = "nothing listens any more"
_UNACCEPTED: Final = "let your shop accept genuine messages first"
_BROKE: Final = "let the command that failed succeed first"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during an exam; `report` holds the results so far."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report


def certify(  # noqa: PLR0913  every argument is another fact about the shop
    session: Session,
    url: str,
    secret: str,
    *,
    checkout: Callable[[str], object] | None = None,
    orders: Orders | None = None,
    printed: Callable[[], str] = str,
    restart: Callable[[], object] | None = None,
    ended: Callable[[Row], object] = lambda _: None,
    limit_s: int | None = None,
) -> Report:
    """Examines the webhook endpoint at `url`, on this machine, which verifies messages with `secret`.

    `checkout` takes a customer's phone number and makes the shop create a payment in the sandbox of `session`; without
    it the exam makes the payments, and the shop does not know them. `orders` returns payment → the count of its order's
    fulfilments, alone or with the order's status. `printed` returns the shop's output since its previous call.
    `restart` ends the shop and starts it again. `ended` receives each check that has a verdict, when the check ends.
    `limit_s` is the time allowed for a response, in seconds; by default it is the sandbox's `delivery_timeout_s`, 15 s
    unless switched. The exam advances the session's clock by a day and some minutes, and takes seconds for a quick
    endpoint, a few minutes at most.
    Raises ExamRefused: the URL is not on this machine, nothing listens there, the secret is invalid, or no payment can
    be made. Raises Interrupted: Ctrl-C.
    """
    exam = Exam(session, url, secret, checkout, orders, printed, restart, limit_s)
    if not exam.target.listens():
        raise ExamRefused(f"Nothing listens at {url}.", hint='Start your shop first, or start it with --cmd "…".')
    began = time.monotonic()
    if orders is not None:
        orders()
    try:
        exam.first = exam.yesterday = exam.made()
    except NotExamined as error:
        raise ExamRefused(f"No payment could be made: {error}.") from None
    session.clock.advance(days=1)
    results: list[Result] = []
    cause_by_check: dict[str, Row] = {}

    def report() -> Report:
        left = [Result(check, NOT_EXAMINED, "interrupted") for check in (*CHECKS, *ORDER_CHECKS)[len(results) :]]
        shown = tuple(_row(result, cause_by_check) for result in (*results, *left))
        at, took_s = rfc3339(int(time.time() * 1000)), round(time.monotonic() - began, 1)
        return Report(url, at, took_s, shown, exam.switched, (*dict.fromkeys(cause_by_check.values()),))

    try:
        for result in chain(_results(exam, began + _EXAM_S), _order_results(exam, results)):
            results.append(result)
            if result.verdict != NOT_EXAMINED:
                ended(_row(result, cause_by_check))
        cause_by_check = _causes_of(exam, results)
    except KeyboardInterrupt:
        raise Interrupted(report()) from None
    return report()


def _results(exam: Exam, until: float) -> Iterator[Result]:
    """Makes and judges the checks in turn, and yields a result for each.

    At `until`, in seconds of the monotonic clock, the exam stops, or when the shop accepts no genuine message or no
    longer responds: the other checks are not examined. If the endpoint itself used up the time, the last check fails.
    """
    timeouts, stopped = 0, ""
    for check in CHECKS:
        if not stopped and time.monotonic() > until:
            stopped = _TIME_UP
        if stopped:
            # The endpoint, not the making of payments, has used more than half of the time.
            is_slow = stopped == _TIME_UP and check is CHECKS[-1] and exam.waited_ms > _EXAM_S * 500
            slowest = f"{_TIME_UP}; the slowest response took {exam.slowest.reply.latency_ms} ms"
            yield Result(check, FAILED, slowest) if is_slow else Result(check, NOT_EXAMINED, stopped)
            continue
        exam.exchanges, payment = [], None
        exam.printed()
        try:
            payment = check.run(exam)
        except NoAnswer:
            timeouts += 1
        except (NotExamined, ApiError) as error:
            yield Result(check, NOT_EXAMINED, str(error))
            continue
        except ExamRefused as error:
            # The command that fails now has worked for the first payment.
            came, output = _broken(error)
            printed = "\n".join(filter(None, [output, exam.printed()]))
            yield Result(check, FAILED, came, None, printed, broke=True)
            stopped = "" if exam.target.listens() else _GONE
            continue
        result = _judged(exam, check)._replace(payment=payment)
        yield result
        stopped = _why_stopped(exam, result, timeouts)


def _broken(error: ExamRefused) -> tuple[str, str]:
    """The message about a command that failed, and what the command printed."""
    message, _, output = error.message.partition("; it printed:\n")
    return f"{message}. {error.hint}".strip() if output else str(error), output


def _why_stopped(exam: Exam, result: Result, timeouts: int) -> str:
    """The reason to make no further check after this result, or an empty text."""
    if result.check is CHECKS[0] and not any(is_accepted(exchange.reply) for exchange in exam.exchanges):
        # A shop that rejects every message would pass the checks with forged messages undeservedly.
        return _UNACCEPTED
    if timeouts >= MOST_TIMEOUTS:
        return "answers did not come in time any more"
    return _GONE if result.verdict == FAILED and not exam.target.listens() else ""


def _judged(exam: Exam, check: Check) -> Result:
    faults: dict[str, list[Exchange]] = {}
    for exchange in exam.exchanges:
        if fault := check.judge(exchange.reply, exam.limit_ms):
            faults.setdefault(fault, []).append(exchange)
    if faults:
        came = [f"{some([exchange.label for exchange in group], ', ')}: {fault}" for fault, group in faults.items()]
        faulty = [exchange for group in faults.values() for exchange in group]
        return Result(check, WARNING if check.warns else FAILED, some(came, "; "), None, exam.printed(), faulty)
    counts = Counter(str(exchange.reply.status_code) for exchange in exam.exchanges)
    listed = ", ".join(status if count == 1 else f"{count} times {status}" for status, count in counts.items())
    slowest_ms = max(exchange.reply.latency_ms for exchange in exam.exchanges)
    return Result(check, PASSED, f"{listed}, at most {slowest_ms} ms")


def _order_results(exam: Exam, results: Sequence[Result]) -> Iterator[Result]:
    """Judges the orders of the payments in `results`, and yields a result for each check of an order."""
    orders = exam.orders
    made = {result.check.name: result for result in results}
    orders_of: dict[str, ShopOrder] = {}
    broke, why_not, output, gone = False, "" if orders else "--orders would examine it", "", 0
    if orders:
        try:
            orders_of = _settled(exam, orders, results)
            gone = len(exam.known.keys() - orders().keys())
        except ExamRefused as error:
            # The command worked before the first check.
            broke, (why_not, output) = True, _broken(error)
    in_all = total(orders_of.values()).fulfilled
    if not exam.checkout and not in_all and any(made[name].verdict == PASSED for name in orders_of):
        orders_of, why_not = {}, "the shop does not know the payments: let --checkout make them"
    for check in ORDER_CHECKS:
        name, _, what = check.name.partition(".")
        result = made[name]
        if name == "restart" and gone and name in orders_of:
            verdict, came = FAILED, f"{gone} earlier order{'s are' if gone > 1 else ' is'} gone"
        elif name in orders_of:
            judge = _status_verdict if what == "status" else _count_verdict
            verdict, came = judge(result, orders_of[name], in_all)
        elif broke:
            verdict, came = FAILED, why_not
        elif result.verdict == NOT_EXAMINED:
            # The order has the same reason: no --cmd, or too little time.
            verdict, came = NOT_EXAMINED, result.came
        else:
            verdict, came = NOT_EXAMINED, why_not or (_BROKE if result.broke else _UNACCEPTED)
        yield Result(check, verdict, came, None, output, broke=broke)


def _settled(exam: Exam, orders: Orders, results: Sequence[Result]) -> dict[str, ShopOrder]:
    """Check → its payment's order, read until two readings agree and expected fulfilments are in, or for 5 seconds."""
    asked = [
        (result.check.name, result.payment.ids, result.check.order.fulfilled if result.verdict == PASSED else 0)
        for result in results if result.check.order and result.payment
    ]  # fmt: skip
    until, last = time.monotonic() + _ORDERS_S, None
    while True:
        read = {**exam.known, **orders()}
        orders_of = {name: total(read[key] for key in ids if key in read) for name, ids, _ in asked}
        are_fulfilled = all(orders_of[name].fulfilled >= count for name, _, count in asked)
        if time.monotonic() > until or (orders_of == last and are_fulfilled):
            return orders_of
        last = orders_of
        time.sleep(_POLL_S)


def _row(result: Result, cause_by_check: Mapping[str, Row]) -> Row:
    """The report's row for a result; a known cause replaces the check's `why` and `fix`."""
    _, _, name, title, sent, expected, why, fix, notebook, *_ = result.check
    if result.faulty and _is_refused(result):
        why, fix = checks.REFUSED_BADLY
    row = Row(name, title, result.verdict, result.came, sent, expected, why, fix, notebook_name(notebook))
    cause = cause_by_check.get(name) or cause_by_check.get(name.partition(".")[0])
    if cause and result.verdict in {FAILED, WARNING}:
        return row._replace(cause=cause.title, why=cause.why, fix=cause.fix, notebook=cause.notebook)
    return row._replace(printed=result.printed)


def _count_verdict(result: Result, order: ShopOrder, in_all: int) -> tuple[str, str]:
    has, due = order.fulfilled, result.check.order.fulfilled if result.check.order else 0
    if has < due and result.verdict == FAILED:
        return NOT_EXAMINED, _UNACCEPTED
    if not has and not due and not in_all:
        return NOT_EXAMINED, "no order was fulfilled at all"
    is_early = has and not due and _is_refused(result)
    return PASSED if has == due else FAILED, times(has) + ", although the message was rejected" * bool(is_early)


def _status_verdict(result: Result, order: ShopOrder, _: int) -> tuple[str, str]:
    if not order.status:
        return NOT_EXAMINED, '--orders with a "status" in each line would examine it'
    is_due = result.check.order and order.status.casefold() == result.check.order.status
    return PASSED if is_due else FAILED, order.status


def _is_refused(result: Result) -> bool:
    """True if the shop rejected all forged messages of a check."""
    return result.check.judge is refused and not any(is_accepted(exchange.reply) for exchange in result.faulty)


# Causes of several failures


class _Cause(NamedTuple):
    """The signs of a cause: it explains a failed check if all faulty exchanges of the check fit."""

    fits: Callable[[Exchange, int, int | None], bool]
    """A function that returns True if an exchange is a sign of the cause.

    It also takes the limit in milliseconds, and the place of the JSON spelling that the shop verifies, or None.
    """
    judge: Judge | None = None
    """The judge of the checks that the cause may explain; None for all checks."""
    needs: tuple[str, ...] = ()
    """Checks that must be among the failures."""
    least: int = 2
    """The fewest failures that the cause must explain."""


def _is_rejected_respelling(exchange: Exchange, place: int | None) -> bool:
    """True if the shop rejected a message whose bytes differ from the JSON spelling at `place`."""
    if place is None or exchange.reply.status_code not in checks.REFUSED:
        return False
    return _spellings(exchange.body)[place] != exchange.body


_CAUSES: Final[Mapping[str, _Cause]] = {
    "too_slow": _Cause(lambda exchange, limit_ms, _: exchange.reply.latency_ms >= limit_ms, least=1),
    "verifies_after_parsing": _Cause(
        lambda exchange, _, place: _is_rejected_respelling(exchange, place), accepted, least=1
    ),
    "verifies_nothing": _Cause(
        lambda exchange, *_: is_accepted(exchange.reply), refused, needs=("wrong_secret", "missing_headers")
    ),
    "uncaught": _Cause(lambda exchange, *_: exchange.reply.status_code in range(500, 1000), refused),
    "command": _Cause(lambda *_: True),
}
"""Cause → its signs; `checks.toml` has its texts."""


def _causes_of(exam: Exam, results: Iterable[Result]) -> dict[str, Row]:
    """Check name → the cause that explains its failure.

    Sends some genuine messages again to a shop that rejected them.
    """
    failed = [result for result in results if result.verdict in {FAILED, WARNING} and (result.faulty or result.broke)]
    spelling = _verified_spelling(exam, failed)
    cause_by_check: dict[str, Row] = {}
    for texts in checks.texts("cause"):
        cause = _CAUSES[texts["name"]]
        group = [
            result for result in failed
            if result.check.name not in cause_by_check and cause.judge in {None, result.check.judge}
            and result.broke is (texts["name"] == "command")
            and all(cause.fits(exchange, exam.limit_ms, spelling) for exchange in result.faulty)
        ]  # fmt: skip
        names = {result.check.name for result in group}
        # The check `slow` repeats the slowest response of another check, so it does not count as a second failure.
        if len(names - {"slow"}) >= cause.least and names.issuperset(cause.needs):
            came = texts["came"].format(limit_s=exam.limit_ms // 1000) or group[0].came
            sent = ", ".join(result.check.title for result in group)
            printed = next((result.printed for result in group if result.printed), "")
            shown = {**texts, "came": came, "notebook": notebook_name(texts["notebook"])}
            row = Row(**shown, verdict=FAILED, sent=sent, expected="", printed=printed)
            cause_by_check.update(dict.fromkeys(names, row))
    return cause_by_check


def _verified_spelling(exam: Exam, failed: Sequence[Result]) -> int | None:
    """The place of the JSON spelling that the shop verifies; None if unknown.

    Sends a rejected genuine message again, signed over each spelling.
    """
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
    return [
        *respellings(body),
        *respellings(body, lambda text: int(Decimal(text)) if Decimal(text) == int(Decimal(text)) else float(text)),
    ]
