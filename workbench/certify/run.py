"""The exam: each check made in turn, judged, and reported."""

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from workbench.certify.causes import causes_of, command_failed
from workbench.certify.checks import CHECKS, REFUSED_BADLY, Check, Order, Result, refused
from workbench.certify.exam import Exam, Exchange, NoAnswer, is_accepted
from workbench.certify.payments import NotExamined, Payments
from workbench.certify.report import FAILED, NOT_EXAMINED, PASSED, WARNING, Report, Row, switched_text
from workbench.certify.sending import Target
from workbench.certify.shop import ShopOrder, total
from workbench.domain.moments import rfc3339
from workbench.domain.signatures import SCHEMES, STANDARD
from workbench.errors import ApiError, ExamRefused, SignatureRefused
from workbench.resources import notebook_name
from workbench.session import Session

DAY_S: Final = 86_400
_PATIENCE_S: Final = 5
"""How much longer than the limit an answer is waited for: one that is late is another fault than none."""
_EXAM_S: Final = 300
"""No check is begun later than that."""
_TIME_UP: Final = f"{_EXAM_S} s are up"
_MOST_TIMEOUTS: Final = 2
_ORDERS_S: Final = 5.0
_POLL_S: Final = 0.2
_GONE: Final = "nothing listens any more"
_SHOWN: Final = 3
"""So many faults of one check are shown, and so many messages with the same."""

Checkout = Callable[[str], object]
Orders = Callable[[], Mapping[str, int | ShopOrder]]
_Told = tuple[str, str]
"""A verdict, and what came back."""


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
    without it the payments are made here, and the shop does not know them. `orders` gives how often the order of each
    payment was fulfilled, by the payment's id, or that with the order's status; without it, that is not examined.
    `printed` gives what the shop has printed since it was last asked, which is shown where a check fails. `restart`
    ends the shop and starts it again. `ended` is handed each check that has a verdict, as it ends. `limit_s` is how
    long an answer may take, in seconds (15, as the sandbox waits). The session's clock moves on by a day and some
    minutes. It takes seconds for a quick endpoint, and never more than some minutes.
    Raises ExamRefused: the URL is not of this machine, nothing listens there, or the secret is none. Interrupted, with
    the report of what is known.
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
    exam = Exam(target, secret, scheme, Payments(session, checkout, rows, switched_text(switched)), restart)
    began = time.monotonic()
    if orders is not None:
        orders()
    try:
        exam.first = exam.yesterday = exam.payments.paid()
    except NotExamined as error:
        raise ExamRefused(f"No payment could be made: {error}.") from None
    session.clock.advance(days=1)
    results: list[Result] = []
    of_orders: list[Row] = []
    causes: list[Row] = []
    explained: dict[str, Row] = {}

    def report() -> Report:
        left = [Result(each, NOT_EXAMINED, "interrupted") for each in CHECKS[len(results) :]]
        orders_left = _order_rows([*results, *left], {}, (NOT_EXAMINED, "interrupted"))
        rows = [*map(_row, [*results, *left]), *(of_orders or orders_left)]
        shown = tuple(row.explained_by(explained.get(row.name) or explained.get(row.of)) for row in rows)
        took_s = round(time.monotonic() - began, 1)
        return Report(url, rfc3339(int(time.time() * 1000)), took_s, shown, switched, tuple(causes))

    try:
        for each in _results(exam, limit_s, printed, until=began + _EXAM_S):
            results.append(each)
            _hand(ended, [_row(each)])
        found, why_not = _fulfilled(orders, results)
        if checkout is None and found and not any(each.fulfilled for each in found.values()):
            found, why_not = {}, (NOT_EXAMINED, "the shop does not know the payments: let --checkout make them")
        of_orders += _order_rows(results, found, why_not)
        _hand(ended, of_orders)
        causes, explained = causes_of(exam, results, limit_s)
        if why_not[0] == FAILED:
            causes.append(command_failed(why_not[1]))
            explained |= {row.name: causes[-1] for row in of_orders if row.verdict == FAILED}
    except KeyboardInterrupt:
        raise Interrupted(report()) from None
    return report()


def _hand(ended: Callable[[Row], object], rows: Iterable[Row]) -> None:
    for row in rows:
        if row.verdict != NOT_EXAMINED:
            ended(row)


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
    """Each check, made and judged; after one that shows that nothing more will come, the rest are not made."""
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
            yield Result(check, FAILED, str(error), None, printed())
            stopped = "" if exam.listens() else _GONE
            continue
        result = _judged(check, exam.exchanges, limit_s)
        yield result._replace(payment=payment, printed="" if result.verdict == PASSED else printed())
        stopped = _why_stopped(exam, result, timeouts)


def _why_stopped(exam: Exam, result: Result, timeouts: int) -> str:
    """Why no further check is made after this one, or nothing."""
    if result.check is CHECKS[0] and not any(is_accepted(each.reply) for each in exam.exchanges):
        # Whoever refuses everything refuses what is forged too, which is no merit.
        return "no genuine message was accepted"
    if timeouts >= _MOST_TIMEOUTS:
        return "answers did not come in time any more"
    return _GONE if result.verdict == FAILED and not exam.listens() else ""


def _judged(check: Check, exchanges: Sequence[Exchange], limit_s: int) -> Result:
    faults: dict[str, list[Exchange]] = {}
    for each in exchanges:
        if fault := check.judge(each.reply, limit_s):
            faults.setdefault(fault, []).append(each)
    if faults:
        came = [f"{_some([each.label for each in those], ', ')}: {fault}" for fault, those in faults.items()]
        faulty = [each for those in faults.values() for each in those]
        return Result(check, WARNING if check.warns else FAILED, _some(came, "; "), faulty=faulty)
    counts = Counter(str(each.reply.status_code) for each in exchanges)
    listed = ", ".join(status if count == 1 else f"{count} times {status}" for status, count in counts.items())
    return Result(check, PASSED, f"{listed}, at most {max(each.reply.latency_ms for each in exchanges)} ms")


def _some(texts: Sequence[str], between: str) -> str:
    """The first of them, and how many more there are."""
    more = [f"and {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else []
    return between.join([*texts[:_SHOWN], *more])


def _fulfilled(orders: Orders | None, results: Sequence[Result]) -> tuple[dict[str, ShopOrder], _Told]:
    """The order of each check's payment, once that settles; the verdict on those not found."""
    if orders is None:
        return {}, (NOT_EXAMINED, "--orders would examine it")
    paid = {each.check.name: each.payment.ids for each in results if each.check.order and each.payment}
    awaited = {
        each.check.name: each.check.order.fulfilled for each in results if each.check.order and each.verdict == PASSED
    }
    until, last = time.monotonic() + _ORDERS_S, None
    while True:
        try:
            read = orders()
        except ExamRefused as error:
            # It did its work before the first check.
            return {}, (FAILED, str(error))
        given = {each: ShopOrder(order) if isinstance(order, int) else order for each, order in read.items()}
        found = {name: total(given[each] for each in ids if each in given) for name, ids in paid.items()}
        if time.monotonic() > until or (
            found == last and all(found[name].fulfilled >= awaited[name] for name in awaited)
        ):
            return found, (NOT_EXAMINED, "its payment was not made")
        last = found
        time.sleep(_POLL_S)


def _row(result: Result) -> Row:
    name, title, *told = result.check[:7]
    row = Row(name, title, result.verdict, result.came, *told)
    if result.check.judge is refused and result.faulty and not any(is_accepted(each.reply) for each in result.faulty):
        row = row._replace(why=REFUSED_BADLY[0], fix=REFUSED_BADLY[1])
    return row._replace(notebook=notebook_name(row.notebook), printed=result.printed)


def _order_rows(results: Iterable[Result], found: Mapping[str, ShopOrder], why_not: _Told) -> list[Row]:
    """The rows about the orders of the checks' payments: how often each was fulfilled, and what status it has."""
    rows = []
    for result in results:
        check, order = result.check, result.check.order
        if order is None:
            continue
        told = order.why, order.fix, notebook_name(check.notebook)
        asked = {
            "order": _counted(result, order, found, why_not),
            "status": _status(order, found.get(check.name), why_not),
        }
        expected = {"order": _times(order.fulfilled), "status": order.status}
        rows += [
            Row(f"{check.name}.{what}", f"{check.title}: its {what}", *asked[what], check.sent, expected[what], *told)
            for what in asked
            if expected[what]
        ]
    return rows


def _counted(result: Result, order: Order, found: Mapping[str, ShopOrder], why_not: _Told) -> _Told:
    if (has := found.get(result.check.name)) is None:
        # Not examined yet, a check without --cmd or with too little time left is not examined for that very reason.
        return (NOT_EXAMINED, result.came) if result.verdict == NOT_EXAMINED and why_not[0] != FAILED else why_not
    if has.fulfilled < order.fulfilled and result.verdict == FAILED:
        return NOT_EXAMINED, "its messages were not accepted"
    if not has.fulfilled and not order.fulfilled and not any(each.fulfilled for each in found.values()):
        return NOT_EXAMINED, "no order was fulfilled at all"
    though = (
        ", although the message was rejected" if has.fulfilled and not order.fulfilled and _all_refused(result) else ""
    )
    return PASSED if has.fulfilled == order.fulfilled else FAILED, f"{_times(has.fulfilled)}{though}"


def _all_refused(result: Result) -> bool:
    return result.check.judge is refused and not any(is_accepted(each.reply) for each in result.faulty)


def _status(order: Order, has: ShopOrder | None, why_not: _Told) -> _Told:
    if has is None:
        return why_not
    if not has.status:
        return NOT_EXAMINED, '--orders with a "status" in each line would examine it'
    return PASSED if has.status.casefold() == order.status else FAILED, has.status


def _times(count: int) -> str:
    return {0: "not fulfilled", 1: "fulfilled once"}.get(count, f"fulfilled {count} times")
