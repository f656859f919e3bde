"""Notebook 11: a question that the notebook has not asked yet."""

from workbench.lab.exercises.facts import Bench, kwacha
from workbench.lab.exercises.shape import Exercise, Verdict, done, not_yet, wrong

_SATURDAY, _SUNDAY = 5, 6


def _weekends(bench: Bench, weekend_minor: object) -> Verdict:
    if isinstance(weekend_minor, float) or not hasattr(weekend_minor, "__index__"):
        return wrong(f"The answer is a {type(weekend_minor).__name__}. Money is a whole number of ngwee: an int.")
    given = weekend_minor.__index__()
    charges = bench.tables.charges
    paid = charges[charges["status"] == "succeeded"]
    lusaka = charges["business_date"].map(lambda day: day.weekday() >= _SATURDAY).astype(bool)
    right = int(paid.loc[lusaka[paid.index], "amount_minor"].sum())
    days = paid["business_date"].map(lambda day: day.weekday())
    if right == 0:
        return not_yet("No payment of a weekend is in the tables. Run the notebook from its first cell.")
    slips = {
        int(paid["amount_minor"].sum()): "These are all days of the month.",
        **{
            int(paid.loc[days == day, "amount_minor"].sum()): f"These are the {name}s alone."
            for day, name in ((_SATURDAY, "Saturday"), (_SUNDAY, "Sunday"))
        },
        int(charges.loc[lusaka, "amount_minor"].sum()): "Charges that failed are counted in it.",
        int(
            paid.loc[(paid["created_at"].dt.day_of_week >= _SATURDAY), "amount_minor"].sum()
        ): "It goes by days in UTC. A weekend in Lusaka begins two hours earlier: business_date knows that.",
        int(paid.loc[~lusaka[paid.index], "amount_minor"].sum()): "These are the days from Monday to Friday.",
        right // 100: "These are kwacha. The tables count ngwee.",
    }
    if given == right:
        return done(f"{kwacha(right)} on Saturdays and Sundays, from {lusaka[paid.index].sum()} payments.")
    return wrong(f"It is not {kwacha(given)}. {slips.get(given, 'Which charges count, and which days?')}")


WEEKENDS = Exercise(
    name="weekends",
    notebook="11_explore_a_month",
    title="Takings of the weekends",
    task="How much did customers pay on Saturdays and Sundays, as Lusaka counts its days? Put it into "
    "weekend_minor, in ngwee.",
    hints=(
        "Only charges that succeeded count: step 3 calls them paid.",
        'pd.to_datetime(paid["business_date"]).dt.day_of_week is 5 on a Saturday and 6 on a Sunday.',
        'Choose the rows with .loc and a condition, and sum up "amount_minor".',
    ),
    solution="""\
day_of_week = pd.to_datetime(paid["business_date"]).dt.day_of_week
weekend_minor = paid.loc[day_of_week >= 5, "amount_minor"].sum()
""",
    check=_weekends,
)
