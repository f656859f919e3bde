"""The exam: each check made in turn, judged, and reported."""

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from workbench.certify.checks import CHECKS, Check
from workbench.certify.exam import Exam, Exchange, NoAnswer, is_accepted
from workbench.certify.payments import NotExamined, Payment, Payments
from workbench.certify.report import FAILED, NOT_EXAMINED, PASSED, Report, Row
from workbench.certify.sending import Target
from workbench.domain.gaps import written
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
_MOST_TIMEOUTS: Final = 2
_ORDERS_S: Final = 5.0
_POLL_S: Final = 0.2
_SHOWN: Final = 3
"""So many faults of one check are shown, and so many messages with the same."""

Checkout = Callable[[str], object]
Orders = Callable[[], Mapping[str, int]]


def certify(  # noqa: PLR0913  each is another thing about the shop
    session: Session,
    url: str,
    secret: str,
    *,
    checkout: Checkout | None = None,
    orders: Orders | None = None,
    printed: Callable[[], str] = str,
    limit_s: int | None = None,
) -> Report:
    """Examine the webhook endpoint at `url`, on this machine, that verifies with `secret`.

    `checkout` makes the shop create a payment in the sandbox of `session`, for the customer whose number it is handed;
    without it the payments are made here, and the shop does not know them. `orders` gives how often the order of each
    payment was fulfilled, by the payment's id; without it, that is not examined. `printed` gives what the shop has
    printed since it was last asked, which is shown where a check fails. `limit_s` is how long an answer may
    take, in seconds (15, as the sandbox waits). The session's clock moves on by a day and some minutes. It takes
    seconds for a quick endpoint, and never more than some minutes.
    Raises ExamRefused: the URL is not of this machine, nothing listens there, or the secret is none.
    """
    register = session.control.gaps()
    rows = {row["name"]: row["value"] for row in register}
    switched = ", ".join(
        f"{row['name']} = {written(row['value'])}" for row in register if row["value"] != row["default"]
    )
    scheme = rows["signature_scheme"]
    limit_s = limit_s or int(rows["delivery_timeout_s"])
    target = Target(url, patience_s=limit_s + _PATIENCE_S)
    check_secret(secret, scheme)
    if not target.listens():
        raise ExamRefused(f"Nothing listens at {url}.", hint='Start your shop first, or start it with --cmd "…".')
    exam = Exam(target, secret, scheme, Payments(session, checkout, rows, switched))
    began = time.monotonic()
    if orders is not None:
        orders()
    try:
        exam.first = exam.yesterday = exam.payments.paid()
    except NotExamined as error:
        raise ExamRefused(f"No payment could be made: {error}.") from None
    session.clock.advance(days=1)
    results = list(_results(exam, limit_s, printed, until=began + _EXAM_S))
    found, why_not = _fulfilled(orders, results)
    if checkout is None and found and not any(found.values()):
        found, why_not = {}, (NOT_EXAMINED, "the shop does not know the payments: let --checkout make them")
    shown = [row for each in results for row in (_row(each), *_order_row(each, found, why_not))]
    return Report(url, rfc3339(int(time.time() * 1000)), round(time.monotonic() - began, 1), tuple(shown), switched)


def new_secret(scheme: str = STANDARD) -> str:
    """A signing secret, drawn; `scheme` is a row of `SCHEMES`."""
    return SCHEMES[scheme].new_secret(secrets.token_bytes(32))


def check_secret(secret: str, scheme: str = STANDARD) -> None:
    """Raises ExamRefused: the scheme takes no such secret."""
    try:
        SCHEMES[scheme].key(secret)
    except SignatureRefused as refused:
        raise ExamRefused(refused.message, hint="It is not shown here.") from None


class _Result(NamedTuple):
    check: Check
    verdict: str
    came: str
    payment: Payment | None = None
    printed: str = ""


def _results(exam: Exam, limit_s: int, printed: Callable[[], str], *, until: float) -> Iterator[_Result]:
    """Each check, made and judged; after one that shows that nothing more will come, the rest are not made."""
    timeouts, stopped = 0, ""
    for check in CHECKS:
        if not stopped and time.monotonic() > until:
            stopped = f"{_EXAM_S} s are up"
        if stopped:
            yield _Result(check, NOT_EXAMINED, stopped)
            continue
        exam.exchanges, payment = [], None
        printed()
        try:
            payment = check.run(exam)
        except NoAnswer:
            timeouts += 1
        except (NotExamined, ApiError) as error:
            yield _Result(check, NOT_EXAMINED, str(error))
            continue
        except ExamRefused as error:
            # It did its work for the first payment, before this.
            yield _Result(check, FAILED, str(error), None, printed())
            continue
        verdict, came = _judged(check, exam.exchanges, limit_s)
        yield _Result(check, verdict, came, payment, printed() if verdict == FAILED else "")
        if check is CHECKS[0] and not any(is_accepted(each.reply) for each in exam.exchanges):
            # Whoever refuses everything refuses what is forged too, which is no merit.
            stopped = "no genuine message was accepted"
        elif timeouts >= _MOST_TIMEOUTS:
            stopped = "answers did not come in time any more"


def _judged(check: Check, exchanges: Sequence[Exchange], limit_s: int) -> tuple[str, str]:
    faults: dict[str, list[str]] = {}
    for each in exchanges:
        if fault := check.judge(each.reply, limit_s):
            faults.setdefault(fault, []).append(each.label)
    if faults:
        return FAILED, _some([f"{_some(labels, ', ')}: {fault}" for fault, labels in faults.items()], "; ")
    counts = Counter(str(each.reply.status_code) for each in exchanges)
    listed = ", ".join(status if count == 1 else f"{count} times {status}" for status, count in counts.items())
    return PASSED, f"{listed}, at most {max(each.reply.latency_ms for each in exchanges)} ms"


def _some(texts: Sequence[str], between: str) -> str:
    """The first of them, and how many more there are."""
    more = [f"and {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else []
    return between.join([*texts[:_SHOWN], *more])


def _fulfilled(orders: Orders | None, results: Sequence[_Result]) -> tuple[dict[str, int], tuple[str, str]]:
    """How often the order of each check's payment was fulfilled, once that settles; the verdict on those not found."""
    if orders is None:
        return {}, (NOT_EXAMINED, "without --orders")
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
        found = {name: sum(read.get(each, 0) for each in ids) for name, ids in paid.items()}
        if time.monotonic() > until or (found == last and all(found[name] >= awaited[name] for name in awaited)):
            return found, (NOT_EXAMINED, "its payment was not made")
        last = found
        time.sleep(_POLL_S)


def _row(result: _Result) -> Row:
    name, title, *told = result.check[:7]
    row = Row(name, title, result.verdict, result.came, *told)
    return row._replace(notebook=notebook_name(row.notebook), printed=result.printed)


def _order_row(result: _Result, found: Mapping[str, int], why_not: tuple[str, str]) -> list[Row]:
    check, order = result.check, result.check.order
    if order is None:
        return []
    count = found.get(check.name)
    if count is None:
        verdict, came = why_not
    elif count < order.fulfilled and result.verdict == FAILED:
        verdict, came = NOT_EXAMINED, "its messages were not accepted"
    elif not count and not order.fulfilled and not any(found.values()):
        verdict, came = NOT_EXAMINED, "no order was fulfilled at all"
    else:
        verdict, came = PASSED if count == order.fulfilled else FAILED, _times(count)
    title = f"{check.title}: its order"
    told = check.sent, _times(order.fulfilled), order.why, order.fix, notebook_name(check.notebook)
    return [Row(f"{check.name}.order", title, verdict, came, *told)]


def _times(count: int) -> str:
    return {0: "not fulfilled", 1: "fulfilled once"}.get(count, f"fulfilled {count} times")
