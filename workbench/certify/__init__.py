"""The exam for your own webhook endpoint, in any language: sends messages, judges the responses, explains each fix."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from workbench.certify import checks
from workbench.certify.checks import CHECKS, ORDER_CHECKS, Check, Exam, Judge, PaymentEvents, RawEvent, WebhookExchange
from workbench.certify.report import FAILED, NOT_EXAMINED, PASSED, WARNING, Report, ReportRow, first_few
from workbench.certify.shop import NotExamined, Orders, ShopOrder, total
from workbench.domain.moments import rfc3339
from workbench.domain.signatures import respellings
from workbench.errors import ApiError, ExamRefused
from workbench.session import Session

DAY_S: Final = 86_400
_EXAM_S: Final = 300
"""No check begins later than this many seconds after the exam's start."""
MOST_TIMEOUTS: Final = 2
_ORDERS_S: Final = 5.0
_POLL_S: Final = 0.2
_GONE: Final = "nothing listens any more"
_HANGS: Final = "your shop no longer responds"
_UNACCEPTED: Final = "let your shop accept genuine messages first"
_COMMAND_FAILED: Final = "let the command that failed succeed first"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during an exam; `report` holds the results so far."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report


class CheckResult(NamedTuple):
    """The outcome of a check: its row in the report, and the exchanges at fault."""

    check: Check
    row: ReportRow
    payment: PaymentEvents | None = None
    faulty: Sequence[WebhookExchange] = ()
    fault: str = ""
    """The name of the cause, if the failure has one and no exchange shows it: a command, or an order's fulfilments."""

    @property
    def is_rejected(self) -> bool:
        """True for a check of forged messages, if the shop accepted none of them."""
        return self.check.judge is checks.rejected and not any(exchange.is_accepted for exchange in self.faulty)


def certify(  # noqa: PLR0913  every argument is another fact about the shop
    session: Session,
    url: str,
    secret: str,
    *,
    checkout: Callable[[str], object] | None = None,
    orders: Orders | None = None,
    printed: Callable[[], str] = str,
    restart: Callable[[], object] | None = None,
    ended: Callable[[ReportRow], object] = lambda _: None,
    limit_s: int | None = None,
) -> Report:
    """Examines the webhook endpoint at `url`, on this machine, which verifies messages with `secret`.

    `checkout` takes a customer's phone number and makes the shop create a payment in the sandbox of `session`; without
    it the exam makes the payments, and the shop does not know them. `orders` returns payment → how often its order was
    fulfilled, as a number, or as a ShopOrder with the order's status. `printed` returns the shop's output since its
    previous call. `restart` ends the shop and starts it again. `ended` is called with the row of each examined check,
    when the check ends. `limit_s` is the time allowed for a response, in seconds; by default it is the sandbox's
    `delivery_timeout_s`, 15 s unless switched. The exam advances the session's clock by a day and some minutes, and
    takes seconds for a quick endpoint, a few minutes at most.
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
        exam.first = exam.yesterday = exam.make_payment()
    except NotExamined as error:
        raise ExamRefused(f"No payment could be made: {error}.") from None
    session.clock.advance(days=1)
    results: list[CheckResult] = []
    cause_by_check: dict[str, ReportRow] = {}

    def report() -> Report:
        interrupted = [check.row._replace(came="interrupted") for check in (*CHECKS, *ORDER_CHECKS)[len(results) :]]
        rows = (*(_explained(result.row, cause_by_check) for result in results), *interrupted)
        at, took_s = rfc3339(int(time.time() * 1000)), round(time.monotonic() - began, 1)
        return Report(url, at, took_s, rows, exam.switched, (*dict.fromkeys(cause_by_check.values()),))

    try:
        for result in chain(_results(exam, began + _EXAM_S), _order_results(exam, results)):
            results.append(result)
            if result.row.verdict != NOT_EXAMINED:
                ended(result.row)
        cause_by_check = _causes_of(exam, results)
    except KeyboardInterrupt:
        raise Interrupted(report()) from None
    return report()


def _results(exam: Exam, until: float) -> Iterator[CheckResult]:
    """Makes and judges the checks in turn, and yields a result for each.

    The exam stops at `until`, in seconds of the monotonic clock, or when the shop accepts no genuine message or no
    longer responds. Later checks are then not examined; but if time ran out and waiting for the endpoint took more than
    half of it, the last check fails.
    """
    timeouts, stopped, is_slow = 0, "", False
    for check in CHECKS:
        if not stopped and time.monotonic() > until:
            # The endpoint, not the making of payments, has used more than half of the time.
            is_slow = exam.waited_ms > _EXAM_S * 500
            slowest = f", used up by slow responses: the slowest took {exam.slowest.reply.latency_ms} ms"
            stopped = f"{_EXAM_S} s are up{slowest * is_slow}"
        if stopped:
            yield CheckResult(check, check.ended(FAILED if is_slow and check is CHECKS[-1] else NOT_EXAMINED, stopped))
            continue
        exam.exchanges, payment = [], None
        exam.printed()
        try:
            payment = check.run(exam)
        except checks.NoAnswer:
            timeouts += 1
        except (NotExamined, ApiError) as error:
            yield CheckResult(check, check.ended(NOT_EXAMINED, str(error)))
            continue
        except ExamRefused as error:
            # The command that fails now has worked for the first payment.
            message, output = _command_failure(error)
            printed = "\n".join(filter(None, [output, exam.printed()]))
            yield CheckResult(check, check.ended(FAILED, message, printed), fault="command")
            stopped = "" if exam.target.listens() else _GONE
            continue
        result = _judged(exam, check, payment)
        yield result
        if check is CHECKS[0] and not any(exchange.is_accepted for exchange in exam.exchanges):
            # A shop that rejects every message would pass the checks with forged messages undeservedly.
            stopped = _UNACCEPTED
        elif timeouts >= MOST_TIMEOUTS:
            stopped = _HANGS
        elif result.row.verdict == FAILED and not exam.target.listens():
            stopped = _GONE


def _command_failure(error: ExamRefused) -> tuple[str, str]:
    """Splits the error of a failed command into a message and what the command printed."""
    message, _, output = error.message.partition("; it printed:\n")
    return f"{message}. {error.hint}".strip() if output else str(error), output


def _judged(exam: Exam, check: Check, payment: PaymentEvents | None) -> CheckResult:
    faults: dict[str, list[WebhookExchange]] = {}
    for exchange in exam.exchanges:
        if fault := check.judge(exchange.reply, exam.limit_ms):
            faults.setdefault(fault, []).append(exchange)
    if not faults:
        counts = Counter(str(exchange.reply.status_code) for exchange in exam.exchanges)
        listed = ", ".join(status if count == 1 else f"{count} times {status}" for status, count in counts.items())
        slowest_ms = max(exchange.reply.latency_ms for exchange in exam.exchanges)
        return CheckResult(check, check.ended(PASSED, f"{listed}, at most {slowest_ms} ms"), payment)
    parts = [
        f"{first_few([*dict.fromkeys(exchange.label for exchange in group)], ', ')}: {fault}"
        for fault, group in faults.items()
    ]
    row = check.ended(WARNING if check.warns else FAILED, first_few(parts, "; "), exam.printed())
    result = CheckResult(check, row, payment, [*chain.from_iterable(faults.values())])
    return result._replace(row=row._replace(**checks.REJECTED_BADLY)) if result.is_rejected else result


# Orders


def _order_results(exam: Exam, results: Sequence[CheckResult]) -> Iterator[CheckResult]:
    """Judges the orders of the payments in `results`, and yields a result for each check of an order."""
    result_by_check = {result.row.name: result for result in results}
    orders_of: dict[str, ShopOrder] = {}
    command_failed, why_not, output, gone = False, "" if exam.orders else "--orders would examine it", "", 0
    if exam.orders:
        try:
            orders_of = _final_orders(exam, exam.orders, results)
            gone = len(exam.orders_before_restart.keys() - exam.orders().keys())
        except ExamRefused as error:
            # The command worked before the first check; it may ask a shop that has stopped meanwhile.
            stopped = next((result.row.came for result in results if result.row.came in {_GONE, _HANGS}), "")
            command_failed, (why_not, output) = not stopped, (stopped, "") if stopped else _command_failure(error)
    in_all = total(orders_of.values()).fulfilled
    if not exam.checkout and not in_all and any(result_by_check[name].row.verdict == PASSED for name in orders_of):
        orders_of, why_not = {}, "the shop does not know the payments: let --checkout make them"
    for check in ORDER_CHECKS:
        name, _, aspect = check.row.name.partition(".")
        result, fault = result_by_check[name], "command" if command_failed else ""
        order, instead = check.order or checks.Order(0, "", ""), ""
        if name not in orders_of and command_failed:
            verdict, text = FAILED, why_not
        elif name not in orders_of:
            # A check that was not examined has the same reason: no --cmd, or too little time.
            reason = result.row.came if result.row.verdict == NOT_EXAMINED else why_not
            verdict, text = NOT_EXAMINED, reason or (_COMMAND_FAILED if result.fault else _UNACCEPTED)
        elif name == "restart" and gone:
            verdict, text = FAILED, f"{gone} earlier order{'s are' if gone > 1 else ' is'} gone"
            instead = "gone"
        else:
            has, status = orders_of[name]
            is_status = aspect == "status"
            verdict, text = _status_verdict(order, status) if is_status else _count_verdict(result, order, has, in_all)
            instead = "missing" if has < order.fulfilled else ""
            fault = _count_fault(order.fulfilled, has, orders_of.get("valid", orders_of[name]).fulfilled, aspect)
        row = check.ended(verdict, text, output)._replace(**order.instead.get(instead, {}))
        yield CheckResult(check, row, fault=fault)


def _final_orders(exam: Exam, orders: Orders, results: Sequence[CheckResult]) -> dict[str, ShopOrder]:
    """Name of a check → the order of its payment.

    Reads the orders again until two readings agree and hold the expected fulfilments, for at most 5 s.
    """
    expected = [
        (result.row.name, result.payment.ids, result.check.order.fulfilled if result.row.verdict == PASSED else 0)
        for result in results if result.check.order and result.payment
    ]  # fmt: skip
    until, last = time.monotonic() + _ORDERS_S, None
    while True:
        read = {**exam.orders_before_restart, **orders()}
        orders_of = {name: total(read[key] for key in ids if key in read) for name, ids, _ in expected}
        are_fulfilled = all(orders_of[name].fulfilled >= count for name, _, count in expected)
        if time.monotonic() > until or (orders_of == last and are_fulfilled):
            return orders_of
        last = orders_of
        time.sleep(_POLL_S)


def _count_fault(due: int, has: int, of_plain_payment: int, aspect: str) -> str:
    """The name of the cause of a wrong count that the order of a plain paid payment has too; empty if there is none.

    `aspect` is `order` or `status`: an order that was fulfilled twice may still have the right status.
    """
    if not due or has != of_plain_payment:
        return ""
    return "never_fulfilled" if has < due else "counted_twice" if has > due and aspect == "order" else ""


def _count_verdict(result: CheckResult, order: checks.Order, has: int, in_all: int) -> tuple[str, str]:
    due = order.fulfilled
    if has < due and result.row.verdict == FAILED:
        return NOT_EXAMINED, _UNACCEPTED
    if has < due:
        return FAILED, f"{checks.times(has)} in the {_ORDERS_S:g} s after the last message"
    if not has and not due and not in_all:
        return NOT_EXAMINED, "no order was fulfilled at all"
    is_early = has and not due and result.is_rejected
    return PASSED if has == due else FAILED, checks.times(has) + ", although the message was rejected" * bool(is_early)


def _status_verdict(order: checks.Order, status: str | None) -> tuple[str, str]:
    if not status:
        return NOT_EXAMINED, '--orders with a "status" in each line would examine it'
    return PASSED if status.casefold() == order.status else FAILED, status


# Causes of several failures


class _Cause(NamedTuple):
    """Conditions of a cause, which explains a failed check if all faulty exchanges of the check fit."""

    fits: Callable[[WebhookExchange, Exam], bool]
    judge: Judge | None = None
    """The judge of the checks that the cause may explain; None for all checks."""
    needs: tuple[str, ...] = ()
    """Checks that must be among the failures."""
    least: int = 2
    """The fewest failures that the cause must explain."""
    is_of_faults: bool = False
    """True if it explains the checks with its name as their `fault`, which no exchange shows."""


_CAUSES: Final[Mapping[str, _Cause]] = {
    "too_slow": _Cause(lambda exchange, exam: exchange.reply.latency_ms >= exam.limit_ms, least=1),
    "verifies_after_parsing": _Cause(
        lambda exchange, exam: exam.spelling in _rejected_spellings(exchange), checks.accepted, least=1
    ),
    "verifies_nothing": _Cause(
        lambda exchange, _: exchange.is_accepted, checks.rejected, needs=("wrong_secret", "missing_headers")
    ),
    "uncaught": _Cause(lambda exchange, _: exchange.reply.status_code in range(500, 1000), checks.rejected),
    "command": _Cause(lambda *_: True, is_of_faults=True),
    "never_fulfilled": _Cause(lambda *_: True, needs=("valid.order",), least=1, is_of_faults=True),
    "counted_twice": _Cause(lambda *_: True, needs=("valid.order",), least=1, is_of_faults=True),
}
"""Name of a cause → its conditions; `checks.toml` has its texts."""


def _causes_of(exam: Exam, results: Iterable[CheckResult]) -> dict[str, ReportRow]:
    """Name of a check → the report's row of the cause that explains its failure.

    Sends some rejected genuine messages again to find the cause, and sets `spelling` of `exam`.
    """
    failed = [
        result for result in results
        if result.row.verdict in {FAILED, WARNING} and (result.faulty or result.fault)
    ]  # fmt: skip
    exam.spelling = _verified_spelling(exam, failed)
    cause_by_check: dict[str, ReportRow] = {}
    for texts in checks.texts("cause"):
        cause = _CAUSES[texts["name"]]
        group = [
            result for result in failed
            if result.row.name not in cause_by_check and cause.judge in {None, result.check.judge}
            and result.fault == texts["name"] * cause.is_of_faults
            and all(cause.fits(exchange, exam) for exchange in result.faulty)
        ]  # fmt: skip
        names = {result.row.name for result in group}
        # The check `slow` repeats the slowest response of another check, so it does not count as a second failure.
        if len(names - {"slow"}) >= cause.least and names.issuperset(cause.needs):
            figures = {"limit_s": exam.limit_ms // 1000, "patience_s": exam.target.patience_s}
            text = texts["came"].format(**figures) or group[0].row.came
            sent = ", ".join(result.row.title for result in group)
            printed = next((result.row.printed for result in group if result.row.printed), "")
            row = ReportRow(**{**texts, "came": text}, verdict=FAILED, sent=sent, expected="", printed=printed)
            cause_by_check.update(dict.fromkeys(names, row))
    return cause_by_check


def _explained(row: ReportRow, cause_by_check: Mapping[str, ReportRow]) -> ReportRow:
    """Returns the row, with the `why` and `fix` of the cause that explains its failure, if there is such a cause."""
    cause = cause_by_check.get(row.name) or cause_by_check.get(row.name.partition(".")[0])
    if cause is None or row.verdict not in {FAILED, WARNING}:
        return row
    return row._replace(cause=cause.title, why=cause.why, fix=cause.fix, notebook=cause.notebook, printed="")


def _verified_spelling(exam: Exam, failed: Sequence[CheckResult]) -> int | None:
    """Finds out whether the shop verifies signatures over JSON that it writes anew, not over the received bytes.

    Sends a rejected genuine message again with signatures over each spelling of its JSON. Returns the number of the
    accepted spelling, a key of `_rejected_spellings`; None if there is none.
    """
    for result in failed:
        for exchange in result.faulty if result.check.judge is checks.accepted else ():
            spellings = _rejected_spellings(exchange)
            if not spellings or exam.send_genuine(event := RawEvent.read(exchange.body)).is_accepted:
                continue
            for number, body in spellings.items():
                if exam.send_genuine(event, body).is_accepted:
                    return number
            break
    return None


def _rejected_spellings(exchange: WebhookExchange) -> dict[int | None, bytes]:
    """Number of a spelling → the message's JSON as some library writes it, if the bytes differ from the sent ones.

    Empty if the shop did not reject the message.
    """
    if exchange.reply.status_code not in checks.REJECTED:
        return {}
    bodies = (
        *respellings(exchange.body),
        *respellings(exchange.body, lambda text: int(float(text)) if float(text).is_integer() else float(text)),
    )
    return {number: body for number, body in enumerate(bodies) if body != exchange.body}
