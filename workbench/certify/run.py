"""The exam: each check made in turn, judged, and reported."""

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Final

from workbench.certify.causes import causes_of
from workbench.certify.checks import CHECKS, ORDER_CHECKS, REFUSED_BADLY, Check, Result, refused, times
from workbench.certify.exam import Exam, Exchange, NoAnswer, is_accepted
from workbench.certify.payments import NotExamined, Payments
from workbench.certify.report import FAILED, NOT_EXAMINED, PASSED, WARNING, Report, Row, some, switched_text
from workbench.certify.sending import Target
from workbench.certify.shop import ShopOrder, total
from workbench.domain.moments import rfc3339
from workbench.domain.signatures import SCHEMES, STANDARD
from workbench.errors import ApiError, ExamRefused, SignatureRefused
from workbench.resources import notebook_name
from workbench.session import Session

DAY_S: Final = 86_400
_PATIENCE_S: Final = 5
"""Seconds beyond the limit for which an answer is awaited: a late answer is another fault than none."""
_EXAM_S: Final = 300
"""No check is begun later than that."""
_TIME_UP: Final = f"{_EXAM_S} s are up"
_MOST_TIMEOUTS: Final = 2
_ORDERS_S: Final = 5.0
_POLL_S: Final = 0.2
_GONE: Final = "nothing listens any more"
_UNACCEPTED: Final = "let your shop accept genuine messages first"
_BROKE: Final = "let the command that failed succeed first"

Checkout = Callable[[str], object]
Orders = Callable[[], Mapping[str, int | ShopOrder]]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during an exam; `report` holds what is known."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report


def certify(  # noqa: PLR0913  each is another thing about the shop
    session: Session,
    url: str,
    secret: str,
    *,
    checkout: Checkout | None = None,
    orders: Orders | None = None,
    printed: Callable[[], str] = str,
    restart: Callable[[], object] | None = None,
    ended: Callable[[Row], object] = lambda _: None,
    limit_s: int | None = None,
) -> Report:
    """Examine the webhook endpoint at `url`, on this machine, that verifies with `secret`.

    `checkout` makes the shop create a payment in the sandbox of `session`, for the customer whose number it is handed;
    without it the payments are made here, and the shop does not know them. `orders` gives payment → how often its order
    was fulfilled, or that with the order's status. `printed` gives what the shop has printed since it was last asked.
    `restart` ends the shop and starts it again. `ended` is handed each check that has a verdict, as it ends. `limit_s`
    is how long an answer may take, in seconds (15, as the sandbox waits). The session's clock moves on by a day and
    some minutes. It takes seconds for a quick endpoint, and never more than some minutes.
    Raises ExamRefused: the URL is not of this machine, nothing listens there, or the secret is none. Interrupted.
    """
    register = session.control.gaps()
    rows = {row["name"]: row["value"] for row in register}
    switched = {row["name"]: row["value"] for row in register if row["value"] != row["default"]}
    scheme = rows["signature_scheme"]
    limit_s = limit_s or int(rows["delivery_timeout_s"])
    target = Target(url, patience_s=limit_s + _PATIENCE_S)
    check_secret(secret, scheme)
    if not target.listens():
        raise ExamRefused(f"Nothing listens at {url}.", hint='Start your shop first, or start it with --cmd "…".')
    known: dict[str, int | ShopOrder] = {}
    payments = Payments(session, checkout, rows, switched_text(switched))
    exam = Exam(target, secret, scheme, payments, restart and partial(_restarted, restart, orders, known))
    began = time.monotonic()
    if orders is not None:
        orders()
    try:
        exam.first = exam.yesterday = exam.payments.paid()
    except NotExamined as error:
        raise ExamRefused(f"No payment could be made: {error}.") from None
    session.clock.advance(days=1)
    results: list[Result] = []
    causes: list[Row] = []
    of: dict[str, Row] = {}

    def report() -> Report:
        left = [Result(each, NOT_EXAMINED, "interrupted") for each in (*CHECKS, *ORDER_CHECKS)[len(results) :]]
        shown = tuple(_row(each, of) for each in (*results, *left))
        took_s = round(time.monotonic() - began, 1)
        return Report(url, rfc3339(int(time.time() * 1000)), took_s, shown, switched, tuple(causes))

    try:
        for each in chain(
            _results(exam, limit_s, printed, until=began + _EXAM_S),
            _of_orders(orders, results, known, is_known=bool(checkout)),
        ):
            results.append(each)
            if each.verdict != NOT_EXAMINED:
                ended(_row(each, of))
        causes, of = causes_of(exam, results, limit_s)
    except KeyboardInterrupt:
        raise Interrupted(report()) from None
    return report()


def new_secret(scheme: str = STANDARD) -> str:
    """A signing secret, drawn; `scheme` is a row of `SCHEMES`."""
    return SCHEMES[scheme].new_secret(secrets.token_bytes(32))


def check_secret(secret: str, scheme: str = STANDARD) -> None:
    """Raises ExamRefused: the scheme takes no such secret."""
    try:
        SCHEMES[scheme].key(secret)
    except SignatureRefused as refused:
        raise ExamRefused(refused.message, hint="It is not shown here.") from None


def _results(exam: Exam, limit_s: int, printed: Callable[[], str], *, until: float) -> Iterator[Result]:
    """Makes and judges the checks, until one shows that nothing more will come; the rest are not made."""
    timeouts, stopped = 0, ""
    for check in CHECKS:
        if not stopped and time.monotonic() > until:
            stopped = _TIME_UP
        if stopped == _TIME_UP and check is CHECKS[-1] and exam.waited_ms > _EXAM_S * 500:
            # The endpoint has used more than half of the time, not the making of payments.
            yield Result(check, FAILED, f"{_TIME_UP}; the slowest response took {exam.slowest.reply.latency_ms} ms")
            continue
        if stopped:
            yield Result(check, NOT_EXAMINED, stopped)
            continue
        exam.exchanges, payment = [], None
        printed()
        try:
            payment = check.run(exam)
        except NoAnswer:
            timeouts += 1
        except (NotExamined, ApiError) as error:
            yield Result(check, NOT_EXAMINED, str(error))
            continue
        except ExamRefused as error:
            # It did its work for the first payment, before this.
            yield Result(check, FAILED, str(error), None, printed(), broke=True)
            stopped = "" if exam.target.listens() else _GONE
            continue
        result = _judged(check, exam.exchanges, limit_s)
        yield result._replace(payment=payment, printed="" if result.verdict == PASSED else printed())
        stopped = _why_stopped(exam, result, timeouts)


def _why_stopped(exam: Exam, result: Result, timeouts: int) -> str:
    """Why no further check is made after this one, or nothing."""
    if result.check is CHECKS[0] and not any(is_accepted(each.reply) for each in exam.exchanges):
        # Whoever refuses everything refuses what is forged too, which is no merit.
        return _UNACCEPTED
    if timeouts >= _MOST_TIMEOUTS:
        return "answers did not come in time any more"
    return _GONE if result.verdict == FAILED and not exam.target.listens() else ""


def _judged(check: Check, exchanges: Sequence[Exchange], limit_s: int) -> Result:
    faults: dict[str, list[Exchange]] = {}
    for each in exchanges:
        if fault := check.judge(each.reply, limit_s):
            faults.setdefault(fault, []).append(each)
    if faults:
        came = [f"{some([each.label for each in those], ', ')}: {fault}" for fault, those in faults.items()]
        faulty = [each for those in faults.values() for each in those]
        return Result(check, WARNING if check.warns else FAILED, some(came, "; "), faulty=faulty)
    counts = Counter(str(each.reply.status_code) for each in exchanges)
    listed = ", ".join(status if count == 1 else f"{count} times {status}" for status, count in counts.items())
    return Result(check, PASSED, f"{listed}, at most {max(each.reply.latency_ms for each in exchanges)} ms")


def _restarted(restart: Callable[[], object], orders: Orders | None, known: dict[str, int | ShopOrder]) -> None:
    """Restart the shop, and remember the orders that it had before."""
    known.update(orders() if orders else {})
    restart()


def _of_orders(
    orders: Orders | None, results: Sequence[Result], known: Mapping[str, int | ShopOrder], *, is_known: bool
) -> Iterator[Result]:
    """The orders of the payments of `results`, judged; `known` are those that the shop had before its restart.

    `is_known` says that the shop has made the payments itself.
    """
    made = {each.check.name: each for each in results}
    found: dict[str, ShopOrder] = {}
    broke, why_not, gone = False, "" if orders else "--orders would examine it", 0
    if orders:
        try:
            found = _settled(lambda: {**known, **orders()}, results)
            gone = len(known.keys() - orders().keys())
        except ExamRefused as error:
            # It did its work before the first check.
            broke, why_not = True, str(error)
        is_taken = any(made[name].verdict == PASSED for name in found)
        if not is_known and is_taken and not any(each.fulfilled for each in found.values()):
            found, why_not = {}, "the shop does not know the payments: let --checkout make them"
    for check in ORDER_CHECKS:
        name, _, what = check.name.partition(".")
        if name in found:
            verdict, came = (_status if what == "status" else _counted)(made[name], name, found)
            if name == "restart" and gone:
                verdict, came = FAILED, f"{gone} earlier order{'s are' if gone > 1 else ' is'} gone"
        elif broke:
            verdict, came = FAILED, why_not
        else:
            # Not examined yet, a check without --cmd or with too little time left is not examined for that very reason.
            verdict, of = NOT_EXAMINED, made[name]
            came = of.came if of.verdict == NOT_EXAMINED else why_not or (_BROKE if of.broke else _UNACCEPTED)
        yield Result(check, verdict, came, broke=broke)


def _settled(orders: Orders, results: Sequence[Result]) -> dict[str, ShopOrder]:
    """Check → the order of its payment, once that settles."""
    asked = [each for each in results if each.check.order and each.payment]
    until, last = time.monotonic() + _ORDERS_S, None
    while True:
        given = {each: order if isinstance(order, ShopOrder) else ShopOrder(order) for each, order in orders().items()}
        found = {
            each.check.name: total(given[payment] for payment in each.payment.ids if payment in given)
            for each in asked if each.payment
        }  # fmt: skip
        if time.monotonic() > until or (found == last and all(_has_come(each, found) for each in asked)):
            return found
        last = found
        time.sleep(_POLL_S)


def _has_come(result: Result, found: Mapping[str, ShopOrder]) -> bool:
    check = result.check
    return result.verdict != PASSED or not check.order or found[check.name].fulfilled >= check.order.fulfilled


def _row(result: Result, of: Mapping[str, Row]) -> Row:
    """The report's row of a result; a known cause replaces why and how to fix it."""
    name, title, sent, expected, *told = result.check[:7]
    if result.check.judge is refused and result.faulty and _is_refused(result):
        told[:2] = REFUSED_BADLY
    why, fix, notebook = told
    row = Row(name, title, result.verdict, result.came, sent, expected, why, fix, notebook_name(notebook))
    if result.verdict in {FAILED, WARNING} and (cause := of.get(name) or of.get(name.partition(".")[0])):
        return row._replace(cause=cause.title, why=cause.why, fix=cause.fix, notebook=cause.notebook)
    return row._replace(printed=result.printed)


def _counted(result: Result, name: str, found: Mapping[str, ShopOrder]) -> tuple[str, str]:
    has, due = found[name].fulfilled, result.check.order.fulfilled if result.check.order else 0
    if has < due and result.verdict == FAILED:
        return NOT_EXAMINED, _UNACCEPTED
    if not has and not due and not any(each.fulfilled for each in found.values()):
        return NOT_EXAMINED, "no order was fulfilled at all"
    is_early = has and not due and result.check.judge is refused and _is_refused(result)
    return PASSED if has == due else FAILED, times(has) + ", although the message was rejected" * bool(is_early)


def _is_refused(result: Result) -> bool:
    return not any(is_accepted(each.reply) for each in result.faulty)


def _status(result: Result, name: str, found: Mapping[str, ShopOrder]) -> tuple[str, str]:
    status = found[name].status
    if not status:
        return NOT_EXAMINED, '--orders with a "status" in each line would examine it'
    return PASSED if result.check.order and status.casefold() == result.check.order.status else FAILED, status
