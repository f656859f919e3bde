"""Webhook deliveries: claimed in one transaction, sent in none, recorded in another.

A process that dies in between leaves the claim, and the next driver sends again: at least once.
"""

import time
from typing import NamedTuple

from workbench.domain import webhooks
from workbench.domain.masking import mask
from workbench.domain.signatures import headers_for
from workbench.domain.webhooks import Attempt, Delivery
from workbench.sandbox import encode
from workbench.sandbox.outbound import Outbound, Reply
from workbench.sandbox.service.events import DELIVER, emit
from workbench.sandbox.store import Transaction
from workbench.sandbox.store.records import Job


class Sending(NamedTuple):
    """All that one attempt needs, read in the transaction that claimed it."""

    job: Job
    delivery: Delivery
    url: str
    headers: dict[str, str]
    body: bytes
    timeout_s: int


def claim(tx: Transaction, job: Job, outbound: Outbound) -> Sending | None:
    """Take a due delivery in hand; None when its endpoint is disabled, which ends it."""
    delivery = tx.deliveries.get(job.ref)
    event = tx.events.get(delivery.event) if delivery else None
    endpoint = tx.endpoints.get(delivery.endpoint) if delivery else None
    if delivery is None or event is None or endpoint is None or endpoint.status != "enabled":
        if delivery is not None:
            tx.deliveries.put(delivery, status=webhooks.DEAD_LETTER)
        tx.jobs.remove(job)
        return None
    tx.jobs.put(job, claimed=1)
    # A receiver on a socket verifies against its own clock, which is this machine's.
    stamp_s = tx.now_ms // 1000 if outbound.is_in_process(endpoint.url) else int(time.time())
    body = event.body.encode()
    return Sending(
        job,
        delivery,
        endpoint.url,
        {"Content-Type": "application/json", **headers_for(endpoint.secret, event.id, stamp_s, body)},
        body,
        tx.gaps.delivery_timeout_s,
    )


def record(tx: Transaction, sending: Sending, reply: Reply) -> None:
    """Write what came of an attempt, and when the next is due."""
    number = sending.delivery.attempts + 1
    tx.attempts.add(
        Attempt(
            id=tx.new_id("att"),
            seq=tx.next_seq(),
            delivery=sending.delivery.id,
            number=number,
            at_ms=tx.now_ms,
            # On a manual clock no time passes while an answer is awaited.
            latency_ms=0 if tx.clock_mode() == "manual" else reply.latency_ms,
            status_code=reply.status_code,
            answer=reply.answer,
            fault=reply.fault,
            headers={name: mask(value) for name, value in sending.headers.items()},
        )
    )
    jitter = tx.draws.below(401, "jitter", sending.delivery.id, number)
    outcome = webhooks.outcome_of(number, reply.status_code, reply.retry_after_s, jitter, tx.gaps)
    tx.deliveries.put(sending.delivery, status=outcome.status, attempts=number)
    tx.jobs.remove(sending.job)
    if outcome.wait_ms is not None:
        tx.schedule(DELIVER, sending.delivery.id, in_ms=outcome.wait_ms)
    if outcome.disables_endpoint:
        _disable(tx, sending.delivery.endpoint)


def _disable(tx: Transaction, endpoint_id: str) -> None:
    endpoint = tx.endpoints.get(endpoint_id)
    if endpoint is not None and endpoint.status == "enabled":
        disabled = tx.endpoints.put(endpoint, status="disabled")
        emit(tx, endpoint.account, "webhook_endpoint.disabled", encode.webhook_endpoint(disabled, secret=False))
