"""Runs due jobs at their moments. Of all threads and processes that share a store, only one at a time is the driver."""

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

from workbench.domain.moments import rfc3339
from workbench.errors import StateConflict
from workbench.sandbox.messages import Speaker, log_fault
from workbench.sandbox.outbound import Outbound, Reply
from workbench.sandbox.service import BY_ITSELF, balances, payments, webhooks
from workbench.sandbox.service.webhooks import Sending
from workbench.sandbox.store import BESIDE, Store, Transaction, make_private
from workbench.sandbox.store.rows import Condition, Job
from workbench.sandbox.store.transaction import DELIVER, unwritten
from workbench.text.render import LiveLine

R = TypeVar("R")
Command = tuple[int, Callable[[Transaction], object]]
"""A moment in milliseconds since 1970, and the function to run at that moment."""
_SLACK_S = 5
_LOOK_AGAIN_S = 0.05
"""Seconds between two checks: for due jobs while attempts are in flight, and whether somebody waits for the lock."""
_PUT_OFF_MS = 60_000
MAX_IN_FLIGHT = 8
_TOGETHER = 8
"""The most commands of a simulation in one commit; sharing a commit saves a tenth of each command's time."""
_REPORT_EVERY_S = 1.5
"""Seconds between progress reports of a long run; each call of a simulated month ends before the first."""
_DRIVES: ContextVar[tuple[object, ...]] = ContextVar("drives", default=())
"""The holders of driver locks on whose behalf the current code runs.

There are several if one sandbox's webhook makes a shop call another sandbox. All code that a holder calls inherits
this tuple, also in an ASGI application's own thread.
"""


def _clear_and_pay(tx: Transaction, ref: str) -> None:
    moved = balances.clear_and_sweep(tx)
    paid = balances.pay_payouts_due(tx)
    requested = balances.request_daily_payouts(tx)
    # If anything was done this night, the next night is scheduled too: it credits the swept money.
    tx.unschedule(ref)
    if moved or paid or requested:
        balances.expect_clearing(tx)


HANDLERS: Mapping[str, Callable[[Transaction, str], object]] = {
    payments.ACTS: lambda tx, ref: payments.act(tx, BY_ITSELF, tx.sessions[ref]),
    payments.PROMPT_TIMEOUT: lambda tx, ref: payments.press(tx, BY_ITSELF, tx.sessions[ref], "timeout"),
    payments.LATE_MONEY: lambda tx, ref: payments.money_comes_late(tx, tx.sessions[ref]),
    balances.CLEARING: _clear_and_pay,
    payments.REFUND_SENT: payments.send_refund,
    balances.PAYOUT_RETURN: balances.return_payout,
    webhooks.DROP: webhooks.drop,
}
"""Kind of job → its handler, which runs in the job's transaction; deliveries are sent outside of a transaction.

When a prompt ends, its jobs are deleted; only its late money can get a new one.
"""


class Driver:
    """Runs jobs in order of `(due, seq)`; with a running clock, deliveries are sent concurrently.

    With `raise_bugs`, an exception in a job is raised to the caller. Otherwise it is logged and the job is postponed,
    so that one bug does not block the other jobs. `speaker` writes a line about each delivery, and the progress of a
    long run; if it is None, a notebook shows the progress.
    """

    def __init__(self, store: Store, outbound: Outbound, *, raise_bugs: bool, speaker: Speaker | None) -> None:
        self._store = store
        self._outbound = outbound
        self._raise_bugs = raise_bugs
        self._lock = DriverLock(store.path)
        self.close = self._lock.close
        self._bug: Exception | None = None
        self._speaker = speaker
        self._report = speaker.write if speaker else LiveLine().show
        self._done, self._report_s, self._has_reported = 0, 0.0, False
        self._lines: list[str] = []
        """Lines to report once their command is committed."""

    def run_due(self) -> None:
        """Runs the jobs that are due now; if another thread or process is the driver, leaves them to it.

        It never waits for that driver, which may be awaiting the response of a receiver that makes this very call.
        """
        # Checked again after each run: a job that came in a run's last moment is not left behind.
        while clock_mode := self._store.clock_if_due():
            run = self._run_side_by_side if clock_mode == "running" else partial(self._run, None)
            if not self._drive(self._lock.take, run):
                return

    def advance(self, by_ms: int) -> None:
        """Moves the clock by `by_ms` milliseconds, running every job that falls due on the way.

        Raises StateConflict: the clock is already being advanced, for instance if a webhook's receiver calls this.
        """
        self._drive_after_waiting(partial(self._run, by_ms))

    def do_all(self, planned: Callable[[Transaction], Iterable[Command]], for_s: float) -> None:
        """Runs commands at their moments, each after all jobs due before it; stops after `for_s` seconds.

        At least one command runs. `planned` makes the commands once the driver lock is taken. A failed command is
        undone and its exception raised; earlier commands stay committed. Raises StateConflict as `advance` does.
        """

        def run() -> None:
            with self._command() as tx:
                commands = [*planned(tx)]
            done, together, ends_s = 0, _TOGETHER, time.monotonic() + for_s
            while done < len(commands) and (not done or time.monotonic() < ends_s):
                try:
                    ran, ahead_ms = self._do(commands[done : done + together])
                except Exception:
                    if together == 1:
                        raise
                    together = 1
                    continue
                done += ran
                if ahead_ms is not None:
                    self._run(ahead_ms)

        self._drive_after_waiting(run)

    def _do(self, commands: list[Command]) -> tuple[int, int | None]:
        """Runs commands in one commit, until a webhook is due or a job fails.

        Returns the number of commands that ran, and the milliseconds by which `_run` must then advance the clock; None
        if every command ran.
        """
        done = 0
        with self._command() as tx:
            while done < len(commands):
                at_ms, do = commands[done]
                until_ms = max(at_ms, tx.now_ms)
                job, sending = self._next(tx, until_ms)
                if sending is not None or self._bug is not None:
                    self._bug = None  # the job is still due: `_run` runs it again, and raises
                    return done, until_ms - tx.now_ms
                if job is None:
                    do(tx)
                    done += 1
        return done, None

    def _drive_after_waiting(self, run: Callable[[], object]) -> None:
        # Once somebody waits, the driver starts no more attempts, and attempts in flight end within this time.
        patience_s = self._store.gaps.delivery_timeout_s + _SLACK_S
        if not self._drive(partial(self._lock.wait, patience_s), run):
            raise StateConflict("The clock is already being advanced.", code="clock_busy")

    def _drive(self, take: Callable[[], bool], run: Callable[[], object]) -> bool:
        """Calls `run` once `take` has taken the driver lock; False if `take` fails, or if the caller has the lock."""
        if self._lock.is_drivers():
            return False
        # Code that another sandbox's driver runs may call this sandbox.
        before = _DRIVES.get()
        try:
            if not take():
                return False
            self._done, self._report_s = 0, time.monotonic() + _REPORT_EVERY_S
            try:
                run()
            finally:
                if self._has_reported:
                    self._report("")  # takes the notebook's line away
            return True
        finally:
            self._lock.give_back()
            _DRIVES.set(before)

    def _count(self, tx: Transaction, until_ms: int | None) -> None:
        self._done += 1
        if time.monotonic() >= self._report_s:
            self._report_s = time.monotonic() + _REPORT_EVERY_S
            due = tx.jobs.count([Condition("due_ms <= ?", (until_ms or tx.now_ms,))])
            clock = f"the clock is at {rfc3339(tx.now_ms)}" + (f" of {rfc3339(until_ms)}" if until_ms else "")
            self._lines.append(f"{self._done:,} jobs done, {due:,} due; {clock}")

    def _tell(self, tx: Transaction, delivery_id: str, result: str) -> None:
        if self._speaker:
            self._lines.append(self._speaker.attempt(tx, delivery_id, result))

    def pass_time(self, seconds: int) -> None:
        """Lets `seconds` pass: advances a manual clock, or sleeps while a running clock goes on."""
        with self._store.reading() as tx:
            mode = tx.clock_mode()
        if mode == "manual":
            self.advance(seconds * 1000)
        else:
            time.sleep(seconds)

    def _run(self, by_ms: int | None) -> None:
        """Runs every job that is due now; with `by_ms`, also those that fall due while the clock advances, job by job.

        The result of an attempt is recorded in the commit that takes the next job.
        """
        with self._command() as tx:
            until_ms = None if by_ms is None else tx.now_ms + by_ms
            job, sending = self._next(tx, until_ms)
        while job is not None:
            if sending is None:
                with self._command() as tx:
                    job, sending = self._next(tx, until_ms)
                continue
            reply = _reply_to(self._outbound, sending)
            somebody_waits = until_ms is None and self._lock.is_wanted()
            with self._command() as tx:
                self._guarded(tx, sending.job, partial(self._recorded, tx, sending, reply), until_ms)
                if somebody_waits:
                    return
                job, sending = self._next(tx, until_ms)

    def _next(self, tx: Transaction, until_ms: int | None) -> tuple[Job | None, Sending | None]:
        """Runs the next job; returns it, and the attempt to send if it is a delivery. Both are None if no job is due.

        When no job is due by `until_ms` (None: by now), the clock moves to `until_ms`. Only drivers claim jobs,
        and this one runs its jobs one at a time: so a claimed job was left by a driver that has died.
        """
        job = tx.earliest_job(tx.now_ms if until_ms is None else until_ms, takes_over=True)
        if job is not None:
            self._count(tx, until_ms)
            return job, self._guarded(tx, job, partial(self._begun, tx, job), until_ms, writes=job.kind != DELIVER)
        if until_ms is not None and until_ms > tx.now_ms:
            tx.move_clock(until_ms)
        return None, None

    def _run_side_by_side(self) -> None:
        """Runs due jobs, sending deliveries concurrently, until none is left or somebody waits for the driver lock.

        Then waits for the attempts in flight. The lock is kept during that time, because its next holder takes over
        claimed jobs.
        """
        dispatch = Dispatch(self._outbound)
        with self._command() as tx:
            tx.release_claims()
        try:
            while True:
                has_begun = not self._lock.is_wanted() and self._take_one(dispatch)
                if not has_begun and dispatch.is_idle:
                    return
                self._record(dispatch.finished(0 if has_begun else _LOOK_AGAIN_S))
        finally:
            while not dispatch.is_idle:
                self._record(dispatch.finished(None))

    def _take_one(self, dispatch: "Dispatch") -> bool:
        """Runs the next due job; sends its delivery or makes it wait for its endpoint. False if no job is due."""
        sending = None
        with self._command() as tx:
            job = dispatch.next_ready() or tx.earliest_job(tx.now_ms)
            if job is None:
                return False
            stored = tx.deliveries.get(job.ref) if job.kind == DELIVER else None
            if stored is not None and not dispatch.has_room(stored.endpoint):
                dispatch.put_behind(stored.endpoint, tx.claim(job))
            else:
                sending = self._guarded(tx, job, partial(self._begun, tx, job), writes=job.kind != DELIVER)
                self._count(tx, None)
                if sending is not None:
                    # Claimed until it is recorded: others are sent meanwhile. Where attempts are sent one at a time,
                    # the driver lock is enough.
                    tx.claim(job)
        if sending is not None:
            dispatch.start(sending)
        return True

    def _begun(self, tx: Transaction, job: Job) -> Sending | None:
        """Runs a job at its moment; for a delivery, only prepares the attempt, which is to be sent after the commit."""
        if job.due_ms > tx.now_ms:
            tx.move_clock(job.due_ms)
        if job.kind == DELIVER:
            sending = webhooks.sending_for(tx, job)
            if sending is None:
                self._tell(tx, job.ref, "")
            return sending
        HANDLERS[job.kind](tx, job.ref)
        tx.jobs.remove(job)
        return None

    def _record(self, ended: Iterable[tuple[Sending, Reply]]) -> None:
        for sending, reply in ended:
            with self._command() as tx:
                self._guarded(tx, sending.job, partial(self._recorded, tx, sending, reply))

    def _recorded(self, tx: Transaction, sending: Sending, reply: Reply) -> None:
        webhooks.record(tx, sending, reply)
        self._tell(tx, sending.delivery.id, str(reply.status_code or reply.fault))

    @contextmanager
    def _command(self) -> Iterator[Transaction]:
        """Opens a transaction; after the commit, writes its log lines and raises the exception of a failed job."""
        self._lines = []
        with self._store.transaction() as tx:
            yield tx
        for line in self._lines:
            self._report(line)
            self._has_reported = True
        if self._bug is not None:
            bug, self._bug = self._bug, None
            raise bug

    def _guarded(
        self, tx: Transaction, job: Job, do: Callable[[], R], until_ms: int | None = None, *, writes: bool = True
    ) -> R | None:
        """Returns the result of `do`; if it raises, undoes its writes, postpones the job by a minute and returns None.

        During an `advance`, the minute begins at the end of the advance, `until_ms`. Without `writes`, nothing is
        undone. With `raise_bugs`, `_command` raises the exception later. The error of a store that cannot be written is
        raised at once, and the job stays due.
        """
        try:
            with tx.savepoint() if writes else nullcontext():
                return do()
        except Exception as error:
            if unwritten(error):
                # Nothing can be written, so the job stays due.
                raise
            if self._raise_bugs:
                self._bug = error
                return None
            log_fault(f"{job.kind} {job.ref} failed and is put off by {_PUT_OFF_MS // 1000} s", error)
            tx.jobs.put(job, due_ms=max(tx.now_ms, until_ms or 0) + _PUT_OFF_MS, claimed=0)
            return None


def _reply_to(outbound: Outbound, sending: Sending) -> Reply:
    """Sends an attempt's message and returns the reply."""
    url, headers, body, timeout_s = sending.url, sending.headers, sending.body, sending.timeout_s
    return outbound.send(url, headers, body, timeout_s, by_sandbox_clock=sending.by_sandbox_clock)


class Dispatch:
    """The attempts in flight of one run, and the deliveries that wait for their endpoint, oldest due moment first."""

    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound
        self._busy: set[str] = set()
        self._waiting: dict[str, deque[Job]] = {}
        self._done: SimpleQueue[tuple[Sending, Reply]] = SimpleQueue()

    @property
    def is_idle(self) -> bool:
        """True if no attempt is in flight."""
        return not self._busy

    def has_room(self, endpoint: str) -> bool:
        """True if an attempt to this endpoint may start now."""
        return endpoint not in self._busy and len(self._busy) < MAX_IN_FLIGHT

    def put_behind(self, endpoint: str, job: Job) -> None:
        """Queues a job until its endpoint has room."""
        self._waiting.setdefault(endpoint, deque()).append(job)

    def next_ready(self) -> Job | None:
        """Removes and returns a waiting job whose endpoint has room now, else None; endpoints take turns."""
        endpoint = next((waiting for waiting in self._waiting if self.has_room(waiting)), None)
        if endpoint is None:
            return None
        jobs = self._waiting.pop(endpoint)
        job = jobs.popleft()
        if jobs:
            self._waiting[endpoint] = jobs
        return job

    def start(self, sending: Sending) -> None:
        """Sends an attempt in its own daemon thread, so that a process can end without waiting for a receiver."""
        # If no thread can be started, the attempt does not count as in flight.
        threading.Thread(target=self._send, args=(sending,), daemon=True).start()
        self._busy.add(sending.delivery.endpoint)

    def finished(self, wait_s: float | None) -> Iterator[tuple[Sending, Reply]]:
        """Yields finished attempts with their replies; waits `wait_s` seconds for the first (None: without limit)."""
        try:
            ended = self._done.get(timeout=wait_s)
            while True:
                self._busy.discard(ended[0].delivery.endpoint)
                yield ended
                ended = self._done.get_nowait()
        except Empty:
            return

    def _send(self, sending: Sending) -> None:
        self._done.put((sending, _reply_to(self._outbound, sending)))


class DriverLock:
    """The driver's lock, and a second lock for the next in line, which shows the holder that somebody waits.

    `store` is the file of a store that other processes may open; None for a store that only this process uses.
    """

    def __init__(self, store: Path | None) -> None:
        self._held, self._next = (_FileLock(f"{store}{ending}" if store else None) for ending in BESIDE)
        self._holder: object = None
        self._look_again = 0.0

    def take(self) -> bool:
        """Takes the lock if nobody holds it or waits for it; otherwise returns False."""
        if not self._acquire(0):
            return False
        if self.is_wanted():
            self.give_back()
            return False
        return True

    def wait(self, patience_s: float) -> bool:
        """Takes the lock within `patience_s` seconds, showing its holder that somebody waits; False if it cannot."""
        until = time.monotonic() + patience_s
        if not self._next.take(patience_s):
            return False
        try:
            return self._acquire(max(0.0, until - time.monotonic()))
        finally:
            self._next.free()

    def is_wanted(self) -> bool:
        """True if somebody waits for the lock; only the holder may call this.

        The lock file is checked every 50 ms, because a check takes longer than many jobs; in between, returns False.
        """
        if time.monotonic() < self._look_again:
            return False
        if not self._next.take(0):
            return True
        self._next.free()
        self._look_again = time.monotonic() + _LOOK_AGAIN_S
        return False

    def give_back(self) -> None:
        """Releases the lock if the caller holds it."""
        if self.is_drivers():
            self._holder = None
            self._held.free()

    def close(self, patience_s: float | None = None) -> None:
        """Prevents further drivers, and closes each lock file once nobody holds its lock.

        Waits up to `patience_s` seconds for each file (None: without limit); a file whose lock is still held stays
        open.
        """
        self._held.close(patience_s)
        self._next.close(patience_s)

    def is_drivers(self) -> bool:
        """True if the caller runs on behalf of the lock's holder, in any thread."""
        return self._holder in _DRIVES.get()

    def _acquire(self, patience_s: float) -> bool:
        # Once the lock is taken, its holder is noted with no call in between: Ctrl-C comes only at a call.
        holder = object()
        _DRIVES.set((*_DRIVES.get(), holder))
        if not self._held.take(patience_s):
            return False
        self._holder = holder
        return True


class _FileLock:
    """A lock among the threads and processes that open the same file; without a file, among this process's threads."""

    def __init__(self, path: str | None) -> None:
        self._threads = threading.Lock()
        self._closed = False
        self._file: sqlite3.Connection | None = None
        if path is not None:
            make_private(path)
            self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)

    def take(self, patience_s: float) -> bool:
        until = time.monotonic() + patience_s
        if not self._threads.acquire(timeout=patience_s):
            return False
        is_taken = False
        try:
            if self._file is not None and not self._closed:
                left_s = max(0.0, until - time.monotonic())
                self._file.execute(f"PRAGMA busy_timeout = {round(left_s * 1000)}")
                self._file.execute("BEGIN EXCLUSIVE")
            is_taken = not self._closed
        except sqlite3.OperationalError:
            pass  # another process holds the lock
        finally:
            # Also if Ctrl-C comes during the wait, or once the file is locked.
            if not is_taken:
                self.free()
        return is_taken

    def free(self) -> None:
        if self._file is not None and self._file.in_transaction:
            self._file.execute("ROLLBACK")
        self._threads.release()

    def close(self, patience_s: float | None) -> None:
        self._closed = True
        if not self._threads.acquire(timeout=-1 if patience_s is None else patience_s):
            return  # the process ends, and with it the lock
        if self._file is not None:
            self._file.close()
            self._file = None
        self._threads.release()
