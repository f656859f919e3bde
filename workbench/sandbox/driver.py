"""What is due: run at its moment, by one driver at a time over all processes of a store."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from workbench.errors import StateConflict
from workbench.sandbox import delivery
from workbench.sandbox.outbound import Outbound
from workbench.sandbox.service import attempts, nights, payouts, refunds
from workbench.sandbox.service.events import DELIVER
from workbench.sandbox.store import Store, Transaction

_PATIENCE_S = 20


def _customer_acts(tx: Transaction, session_id: str) -> None:
    session = tx.sessions.get(session_id)
    if session is not None:
        attempts.act(tx, session)


def _late_money(tx: Transaction, session_id: str) -> None:
    session = tx.sessions.get(session_id)
    if session is not None:
        attempts.money_comes_late(tx, session)


def _night(tx: Transaction, ref: str) -> None:
    moved = nights.clear_and_sweep(tx)
    paid = payouts.pay_those_due(tx)
    # Another night as long as there was anything to do: what was swept is credited in the next.
    tx.unschedule(ref)
    if moved or paid:
        nights.expect(tx)


def _prompt_timeout(tx: Transaction, session_id: str) -> None:
    session = tx.sessions.get(session_id)
    if session is not None and session.ended_seq is None:
        attempts.press(tx, session, "timeout")


HANDLERS: Mapping[str, Callable[[Transaction, str], None]] = {
    attempts.ACTS: _customer_acts,
    attempts.PROMPT_TIMEOUT: _prompt_timeout,
    attempts.LATE_MONEY: _late_money,
    nights.NIGHT: _night,
    refunds.SENT: refunds.send,
    payouts.RETURN: payouts.give_back,
}
"""Kind of job → what it does, within the transaction that takes it. Deliveries are sent outside of one."""


class Driver:
    """Runs jobs in order of `(due, seq)`.

    The lock is an exclusive transaction on a file beside the store: the operating system gives it
    back even when its holder is killed.
    """

    def __init__(self, store: Store, outbound: Outbound) -> None:
        self._store = store
        self._outbound = outbound
        self._turn = threading.Lock()
        self._holder: int | None = None
        self._closed = False
        self._lock = sqlite3.connect(f"{store.path}-driver", isolation_level=None, check_same_thread=False)

    def close(self) -> None:
        """Let go of the lock's file, once whoever drives is done."""
        with self._turn:
            self._closed = True
            self._lock.close()

    def run_due(self) -> None:
        """Run what is due now. Whoever drives already runs it too, so nobody waits here.

        A receiver may call the service from another thread while its answer is awaited.
        """
        # Asked again after each turn: what was put down during the turn's last moment is not left behind.
        while self._anything_due() and self._take_turn(patience_s=0):
            with self._turn_taken():
                self._run(None)

    def advance(self, by_ms: int) -> None:
        """Move the clock by `by_ms` milliseconds, running everything that falls due on the way.

        Raises StateConflict from within a delivery that an `advance` is waiting for.
        """
        if not self._take_turn(patience_s=_PATIENCE_S):
            raise StateConflict("The clock is being advanced already.", code="clock_busy")
        with self._turn_taken():
            with self._store.transaction() as tx:
                until_ms = tx.now_ms + by_ms
            self._run(until_ms)

    def pass_time(self, seconds: int) -> None:
        """Let so many seconds go by: the virtual clock is moved, a running one is waited for."""
        with self._store.transaction() as tx:
            mode = tx.clock_mode()
        if mode == "manual":
            self.advance(seconds * 1000)
        else:
            time.sleep(seconds)

    def _anything_due(self) -> bool:
        with self._store.transaction() as tx:
            return tx.is_due(tx.now_ms)

    def _take_turn(self, *, patience_s: int) -> bool:
        """Whether this thread drives now, over all threads and processes of the store."""
        if self._holder == threading.get_ident() or not self._turn.acquire(timeout=patience_s):
            return False
        if not self._closed and self._lock_file(patience_s):
            self._holder = threading.get_ident()
            return True
        self._turn.release()
        return False

    def _lock_file(self, patience_s: int) -> bool:
        self._lock.execute(f"PRAGMA busy_timeout = {patience_s * 1000}")
        try:
            self._lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            return False
        return True

    @contextmanager
    def _turn_taken(self) -> Iterator[None]:
        try:
            with self._store.transaction() as tx:
                tx.release_claims()
            yield
        finally:
            self._lock.execute("ROLLBACK")
            self._holder = None
            self._turn.release()

    def _run(self, until_ms: int | None) -> None:
        """Every job that is due by `until_ms`, or by now for None; the clock goes from one to the next."""
        while True:
            with self._store.transaction() as tx:
                job = tx.earliest_job(tx.now_ms if until_ms is None else until_ms)
                if job is None:
                    if until_ms is not None and until_ms > tx.now_ms:
                        tx.move_clock(until_ms)
                    return
                if job.due_ms > tx.now_ms:
                    tx.move_clock(job.due_ms)
                if job.kind == DELIVER:
                    sending = delivery.claim(tx, job, self._outbound)
                else:
                    HANDLERS[job.kind](tx, job.ref)
                    tx.jobs.remove(job)
                    continue
            if sending is not None:
                reply = self._outbound.send(sending.url, sending.headers, sending.body, sending.timeout_s)
                with self._store.transaction() as tx:
                    delivery.record(tx, sending, reply)
