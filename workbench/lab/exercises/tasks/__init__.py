"""All exercises, in the order of the notebooks: a file for each of them."""

from workbench.lab.exercises.tasks import (
    charge_in_one_call,
    confirm_with_ussd,
    create_an_intent,
    explore_a_month,
    idempotency,
    keys_tokens_and_plants,
    large_data,
    read_the_ledger,
    reconcile_a_statement,
    retries_and_replay,
    start_here,
    verify_webhooks,
    when_payments_fail,
    your_own_backend,
)

EXERCISES = (
    *start_here.EXERCISES,
    *create_an_intent.EXERCISES,
    *confirm_with_ussd.EXERCISES,
    *read_the_ledger.EXERCISES,
    *verify_webhooks.EXERCISES,
    *charge_in_one_call.EXERCISES,
    *keys_tokens_and_plants.EXERCISES,
    *when_payments_fail.EXERCISES,
    *retries_and_replay.EXERCISES,
    *idempotency.EXERCISES,
    *your_own_backend.EXERCISES,
    *explore_a_month.EXERCISES,
    *reconcile_a_statement.EXERCISES,
    *large_data.EXERCISES,
)
