"""All exercises, in the order of the notebooks: a file for each of them."""

from workbench.lab.exercises.tasks.charge_in_one_call import LOST_ANSWER
from workbench.lab.exercises.tasks.confirm_with_ussd import SECOND_TRY
from workbench.lab.exercises.tasks.create_an_intent import EXACT_AMOUNT
from workbench.lab.exercises.tasks.explore_a_month import WEEKENDS
from workbench.lab.exercises.tasks.idempotency import CHARGE_SURELY
from workbench.lab.exercises.tasks.keys_tokens_and_plants import FROM_THE_APP
from workbench.lab.exercises.tasks.large_data import ONE_ACCOUNT
from workbench.lab.exercises.tasks.read_the_ledger import NET_OF_39, SMALLEST_FEE
from workbench.lab.exercises.tasks.reconcile_a_statement import LARGEST_BREAK
from workbench.lab.exercises.tasks.retries_and_replay import LOST_AND_FOUND
from workbench.lab.exercises.tasks.start_here import SECOND_PAYMENT
from workbench.lab.exercises.tasks.verify_webhooks import OWN_MESSAGE
from workbench.lab.exercises.tasks.when_payments_fail import PATIENCE
from workbench.lab.exercises.tasks.your_own_backend import REFUSED_ORDER

EXERCISES = (
    SECOND_PAYMENT,
    EXACT_AMOUNT,
    SECOND_TRY,
    NET_OF_39,
    SMALLEST_FEE,
    OWN_MESSAGE,
    LOST_ANSWER,
    FROM_THE_APP,
    PATIENCE,
    LOST_AND_FOUND,
    CHARGE_SURELY,
    REFUSED_ORDER,
    WEEKENDS,
    LARGEST_BREAK,
    ONE_ACCOUNT,
)
