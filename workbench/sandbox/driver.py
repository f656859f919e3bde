"""Runs due jobs at their moments: one driver at a time, a thread of a process, over all that share a store."""

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
from workbench.domain.ussd import UssdSession
from workbench.errors import StateConflict
from workbench.sandbox.messages import log_fault
from workbench.sandbox.outbound import Outbound, Reply
from workbench.sandbox.service import clearing, payments, payouts, refunds, webhooks
from workbench.sandbox.service.lists import BY_ITSELF
from workbench.sandbox.service.webhooks import Sending
from workbench.sandbox.speaking import Speaker
from workbench.sandbox.store import Store, Transaction
from workbench.sandbox.store.database_files import BESIDE, make_private
from workbench.sandbox.store.records import Job
from workbench.sandbox.store.search import Condition
from workbench.sandbox.store.transaction import DELIVER, unwritten
from workbench.text.render import LiveLine

R = TypeVar("R")
Command = tuple[int, Callable[[Transaction], object]]
"""A moment in milliseconds since 1970, and what is done then."""
_SLACK_S = 5
_LOOK_AGAIN_S = 0.05
"""Seconds between looks, while attempts are in flight, at due jobs and at who waits for the driver lock."""
_PUT_OFF_MS = 60_000
MAX_IN_FLIGHT = 8
_TOGETHER = 8
"""Planned commands in one commit, because a commit takes a tenth of a command's time."""
_REPORT_EVERY_S = 1.5
"""Longer than a part of a simulated month takes, which shows its own progress."""
_DRIVES: ContextVar[object] = ContextVar("drives", default=None)
"""The holder of the driver lock, for all that it calls: an application on its own loop runs in its own thread."""


def _of_session(happens: Callable[[Transaction, UssdSession], object]) -> Callable[[Transaction, str], None]:
    """A handler of the USSD session that a job names, if the session still exists."""

    def run(tx: Transaction, session_id: str) -> None:
        session = tx.sessions.get(session_id)
        if session is not None:
            happens(tx, session)

    return run


def _time_out(tx: Transaction, session: UssdSession) -> None:
    if session.ended_seq is None:
        payments.press(tx, BY_ITSELF, session, "timeout")


def _clear_and_pay(tx: Transaction, ref: str) -> None:
    moved = clearing.clear_and_sweep(tx)
    paid = payouts.pay_those_due(tx)
    asked = payouts.ask_daily(tx)
    # Another night as long as there was anything to do: what was swept is credited in the next.
    tx.unschedule(ref)
    if moved or paid or asked:
        clearing.expect(tx)


HANDLERS: Mapping[str, Callable[[Transaction, str], None]] = {
    payments.ACTS: _of_session(lambda tx, session: payments.act(tx, BY_ITSELF, session)),
    payments.PROMPT_TIMEOUT: _of_session(_time_out),
    payments.LATE_MONEY: _of_session(payments.money_comes_late),
    clearing.CLEARING: _clear_and_pay,
    refunds.SENT: refunds.send,
    payouts.RETURN: payouts.give_back,
    webhooks.DROP: webhooks.drop,
}
"""Kind of job → what it does, within the transaction that takes it. Deliveries are sent outside of one."""


class Driver:
    """Runs jobs in order of `(due, seq)`; on a running clock deliveries are sent side by side.

    `raise_bugs` lets what a job raises out to the caller. Without it that is logged and the job put
    off, so that one bug does not hold up everything behind it. `speaker` writes a line about each delivery, and how far
    a long run is; without it a notebook shows the latter.
    """

    def __init__(self, store: Store, outbound: Outbound, *, raise_bugs: bool, speaker: Speaker | None) -> None:
        self._store = store
        self._outbound = outbound
        self._raise_bugs = raise_bugs
        self._lock = DriverLock(store.path)
        self._bug: Exception | None = None
        self._speaker = speaker
        self._report = speaker.write if speaker else LiveLine().show
        self._done, self._report_s, self._has_reported = 0, 0.0, False
        self._lines: list[str] = []
        """Lines to report once their command is committed."""

    def close(self, patience_s: float | None = None) -> None:
        """Close the driver lock's files once the driver is done, or after `patience_s` seconds."""
        self._lock.close(patience_s)

    def run_due(self) -> None:
        """Run what is due now. Whoever drives already runs it too, so nobody waits here.

        A receiver may call the service from another thread while its answer is awaited.
        """
        # Asked again after each turn: what was put down during the turn's last moment is not left behind.
        while (clock_mode := self._store.clock_if_due()) and self._lock.take():
            with self._driving():
                if clock_mode == "running":
                    self._run_side_by_side()
                else:
                    self._run(None)

    def advance(self, by_ms: int) -> None:
        """Move the clock by `by_ms` milliseconds, running everything that falls due on the way.

        Raises StateConflict from within a delivery that an `advance` is waiting for.
        """
        with self._turn():
            self._run(by_ms)

    def do_all(self, planned: Callable[[Transaction], Iterable[Command]], for_s: float) -> None:
        """Do commands at their moments, after all that falls due before; stop after `for_s`, but do at least one.

        `planned` makes the commands once it is this driver's turn. A command that fails is undone; earlier ones stay.
        Raises StateConflict as `advance` does.
        """
        with self._turn():
            with self._command() as tx:
                commands = [*planned(tx)]
            done, together, ends_s = 0, _TOGETHER, time.monotonic() + for_s
            while done < len(commands) and (not done or time.monotonic() < ends_s):
                try:
                    done += self._do(commands[done : done + together])
                except Exception:
                    if together == 1:
                        raise
                    together = 1

    def _do(self, commands: list[Command]) -> int:
        """Do commands in one commit, up to one before which a webhook is due, which is sent; how many are done."""
        done = ahead_ms = 0
        with self._command() as tx:
            while done < len(commands):
                at_ms, do = commands[done]
                until_ms = max(at_ms, tx.now_ms)
                job, sending = self._next(tx, until_ms)
                if sending is not None or self._bug is not None:
                    ahead_ms = until_ms - tx.now_ms
                    break
                if job is None:
                    do(tx)
                    done += 1
        if ahead_ms or sending is not None:
            self._run(ahead_ms)
        return done

    @contextmanager
    def _turn(self) -> Iterator[None]:
        # Who drives starts no more attempts once somebody waits, and those in flight end by this.
        if not self._lock.wait(self._store.gaps.delivery_timeout_s + _SLACK_S):
            raise StateConflict("The clock is already being advanced.", code="clock_busy")
        with self._driving():
            yield

    @contextmanager
    def _driving(self) -> Iterator[None]:
        """Hold the driver lock; report progress now and then if it lasts."""
        try:
            self._done, self._report_s = 0, time.monotonic() + _REPORT_EVERY_S
            yield
        finally:
            self._lock.give_back()
            if self._has_reported:
                self._report("")
                self._has_reported = False

    def _count(self, tx: Transaction, until_ms: int | None) -> None:
        self._done += 1
        if time.monotonic() >= self._report_s:
            self._report_s = time.monotonic() + _REPORT_EVERY_S
            left = tx.jobs.count([Condition("due_ms <= ?", (until_ms or tx.now_ms,))])
            clock = f"the clock is at {rfc3339(tx.now_ms)}" + (f" of {rfc3339(until_ms)}" if until_ms else "")
            self._lines.append(f"{self._done:,} jobs done, {left:,} due; {clock}")

    def _tell(self, tx: Transaction, delivery_id: str, result: str) -> None:
        if self._speaker:
            self._lines.append(self._speaker.attempt(tx, delivery_id, result))

    def pass_time(self, seconds: int) -> None:
        """Let so many seconds go by: the virtual clock is moved, a running one is waited for."""
        with self._store.transaction() as tx:
            mode = tx.clock_mode()
        if mode == "manual":
            self.advance(seconds * 1000)
        else:
            time.sleep(seconds)

    def _run(self, by_ms: int | None) -> None:
        """Run every job that is due now, or falls due while the clock advances by `by_ms` from one job to the next.

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
            reply = _sent(self._outbound, sending)
            somebody_waits = until_ms is None and self._lock.is_wanted()
            with self._command() as tx:
                self._guarded(tx, sending.job, partial(self._recorded, tx, sending, reply), until_ms)
                if somebody_waits:
                    return
                job, sending = self._next(tx, until_ms)

    def _next(self, tx: Transaction, until_ms: int | None) -> tuple[Job | None, Sending | None]:
        """Do the next job and return it, with its attempt still to send. After the last job the clock goes to the end.

        Where one job is done at a time, a claimed job is a dead driver's.
        """
        job = tx.earliest_job(tx.now_ms if until_ms is None else until_ms, takes_over=True)
        if job is not None:
            self._count(tx, until_ms)
            return job, self._guarded(tx, job, partial(self._begun, tx, job), until_ms, writes=job.kind != DELIVER)
        if until_ms is not None and until_ms > tx.now_ms:
            tx.move_clock(until_ms)
        return None, None

    def _run_side_by_side(self) -> None:
        """Run due jobs until all attempts have ended or somebody waits for the driver lock.

        The lock is kept while attempts are in flight: its next holder takes over what is claimed.
        """
        dispatch = Dispatch(self._outbound)
        with self._command() as tx:
            tx.release_claims()
        try:
            while True:
                has_begun = not self._lock.is_wanted() and self._take_one(dispatch)
                if not has_begun and dispatch.is_idle:
                    return
                for sending, reply in dispatch.finished(0 if has_begun else _LOOK_AGAIN_S):
                    self._record(sending, reply)
        finally:
            while not dispatch.is_idle:
                for sending, reply in dispatch.finished(None):
                    self._record(sending, reply)

    def _take_one(self, dispatch: "Dispatch") -> bool:
        """Run, send or set aside the job that is next; False when there is none."""
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
                    # In hand until it is recorded: others are sent meanwhile. Where one is sent at a time, the turn
                    # alone sees to that.
                    tx.claim(job)
        if sending is not None:
            dispatch.start(sending)
        return True

    def _begun(self, tx: Transaction, job: Job) -> Sending | None:
        """Do a job at its moment, all but a delivery: what is to be sent is sent outside of the transaction."""
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

    def _record(self, sending: Sending, reply: Reply) -> None:
        with self._command() as tx:
            self._guarded(tx, sending.job, partial(self._recorded, tx, sending, reply))

    def _recorded(self, tx: Transaction, sending: Sending, reply: Reply) -> None:
        webhooks.record(tx, sending, reply)
        self._tell(tx, sending.delivery.id, str(reply.status_code or reply.fault))

    @contextmanager
    def _command(self) -> Iterator[Transaction]:
        """One commit; a bug in a part of it is raised after it, where bugs are to be."""
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
        """Do a job. If it raises, undo what it wrote and try the job again in a minute.

        During an `advance`, the minute begins at its end.
        """
        try:
            with tx.savepoint() if writes else nullcontext():
                return do()
        except Exception as error:
            if unwritten(error):
                # Nothing can be put off either: the job stays due.
                raise
            if self._raise_bugs:
                self._bug = error
                return None
            log_fault(f"{job.kind} {job.ref} failed and is put off by {_PUT_OFF_MS // 1000} s", error)
            tx.jobs.put(job, due_ms=max(tx.now_ms, until_ms or 0) + _PUT_OFF_MS, claimed=0)
            return None


def _sent(outbound: Outbound, sending: Sending) -> Reply:
    """Send what an attempt needs sent."""
    url, headers, body, timeout_s = sending.url, sending.headers, sending.body, sending.timeout_s
    return outbound.send(url, headers, body, timeout_s, by_sandbox_clock=sending.by_sandbox_clock)


class Dispatch:
    """The attempts in flight of one turn, and the jobs behind them, by endpoint in the order they fell due."""

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
        """Keep a job until there is room."""
        self._waiting.setdefault(endpoint, deque()).append(job)

    def next_ready(self) -> Job | None:
        """A job that waited and for which there is room now; endpoints take turns."""
        endpoint = next((waiting for waiting in self._waiting if self.has_room(waiting)), None)
        if endpoint is None:
            return None
        jobs = self._waiting.pop(endpoint)
        job = jobs.popleft()
        if jobs:
            self._waiting[endpoint] = jobs
        return job

    def start(self, sending: Sending) -> None:
        """Send an attempt in a daemon thread of its own: a process that ends does not wait for a receiver."""
        # Where there are no more threads, nothing is in flight.
        threading.Thread(target=self._send, args=(sending,), daemon=True).start()
        self._busy.add(sending.delivery.endpoint)

    def finished(self, wait_s: float | None) -> Iterator[tuple[Sending, Reply]]:
        """Attempts that have ended; waits `wait_s` seconds for the first, without end for None."""
        try:
            ended = self._done.get(timeout=wait_s)
            while True:
                self._busy.discard(ended[0].delivery.endpoint)
                yield ended
                ended = self._done.get_nowait()
        except Empty:
            return

    def _send(self, sending: Sending) -> None:
        self._done.put((sending, _sent(self._outbound, sending)))


class DriverLock:
    """The lock of whoever runs due jobs, and the place next to it: the holder sees who waits there.

    `store` is a file that other processes may open too; None for one that is private to this process.
    """

    def __init__(self, store: Path | None) -> None:
        self._held, self._next = (_FileLock(f"{store}{ending}" if store else None) for ending in BESIDE)
        self._holder: object = None
        self._look_again = 0.0

    def take(self) -> bool:
        """Take the lock if nobody holds it and nobody waits for it."""
        if not self._taken(0):
            return False
        if self.is_wanted():
            self.give_back()
            return False
        return True

    def wait(self, patience_s: float) -> bool:
        """Take the lock within `patience_s` seconds; its holder sees that somebody waits."""
        until = time.monotonic() + patience_s
        if self._is_drivers() or not self._next.take(patience_s):
            return False
        try:
            return self._taken(max(0.0, until - time.monotonic()))
        finally:
            self._next.free()

    def is_wanted(self) -> bool:
        """True if somebody waits; only the holder asks.

        The file is looked at now and then, as a look takes longer than many a job.
        """
        if time.monotonic() < self._look_again:
            return False
        if not self._next.take(0):
            return True
        self._next.free()
        self._look_again = time.monotonic() + _LOOK_AGAIN_S
        return False

    def give_back(self) -> None:
        """Give the lock back."""
        self._holder = None
        self._held.free()

    def close(self, patience_s: float | None = None) -> None:
        """Let go of the files, once whoever drives is done; nobody drives after that."""
        self._held.close(patience_s)
        self._next.close(patience_s)

    def _taken(self, patience_s: float) -> bool:
        if self._is_drivers() or not self._held.take(patience_s):
            return False
        self._holder = object()
        _DRIVES.set(self._holder)
        return True

    def _is_drivers(self) -> bool:
        """True if the caller runs on behalf of the lock's holder, in any thread."""
        return self._holder is not None and _DRIVES.get() is self._holder


class _FileLock:
    """A lock over the threads and processes that name the same file; without one, over this process's threads."""

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
            is_taken = not self._closed and self._take_file(max(0.0, until - time.monotonic()))
        finally:
            # Also where Ctrl-C comes while it waits, or as it has the file.
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

    def _take_file(self, patience_s: float) -> bool:
        if self._file is None:
            return True
        self._file.execute(f"PRAGMA busy_timeout = {round(patience_s * 1000)}")
        try:
            self._file.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            return False
        return True
