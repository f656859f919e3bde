"""The page of references: each figure on it is the product's own, and each row says where its figure comes from."""

import inspect
import re

from workbench import reconcile
from workbench.analysis.simulate import month
from workbench.analysis.simulate.month import Traffic
from workbench.domain.gaps import REGISTER
from workbench.domain.money import ISO_4217, ZMW, money_text
from workbench.domain.phones import OPERATORS, WITHOUT_WALLET, Operator
from workbench.resources import guide_paths

TEXT = guide_paths()["references"].read_text("utf-8")
ROWS = {cells[0].strip("` "): cells[1:] for cells in (line[1:-1].split(" | ") for line in TEXT.splitlines()
        if line.startswith("| `"))}  # fmt: skip
DATED = re.compile(
    r"\b(?:19|20)\d\d\b|version \d|libphonenumber \d|RFC \d|without a date|No date|^the (?:same|libraries)"
)


def listed(values: object) -> str:
    return ", ".join(map(str, values)) if isinstance(values, tuple) else str(values)


def percent(per_100k: int) -> str:
    return f"{f'{per_100k / 1_000:.2f}'.removesuffix('0')} %"


def of_the_product() -> dict[str, str]:
    """Each figure as the product's tables have it, in the words of the page."""
    shares = month.HOURLY_SHARES
    at = {each: [f"{hour:02}:00" for hour, share in enumerate(shares) if share == each] for each in shares}
    least, most = min(shares), max(shares)
    rows = {row.name: listed(row.default) for row in REGISTER if row.name in ROWS}
    (pin_length,) = {each.pin_length for each in OPERATORS.values()}
    assert Operator("x", "X", "X", ()).pin_length == pin_length
    return rows | {
        "ZMW": f"{ISO_4217[ZMW.code].numeric}, {ISO_4217[ZMW.code].decimals} decimals",
        **{f'OPERATORS["{name}"].prefixes': listed(each.prefixes) for name, each in OPERATORS.items()},
        "WITHOUT_WALLET": ", ".join(WITHOUT_WALLET),
        "Traffic.largest_minor": money_text(Traffic.largest_minor, ZMW.code),
        "Traffic.mean_minor": money_text(Traffic.mean_minor, ZMW.code),
        "Traffic.sigma": str(Traffic.sigma),
        "HOURLY_SHARES": f"{len(shares)} shares, the largest {most} % at {' and '.join(at[most])}, "
        f"the smallest {least} % at {' and '.join(at[least])}",
        "FAILURES": ", ".join(f"{code} {percent(often)}" for code, often in month.FAILURES.items()),
        "_OPERATOR_WEIGHTS": ", ".join(f"{name} {share} %" for name, share in month._OPERATOR_WEIGHTS.items()),  # noqa: SLF001  what the page states
        "cut_off": str(inspect.signature(reconcile).parameters["cut_off"].default),
        "pin_length": str(pin_length),
    }


def test_each_figure_on_the_page_is_the_products_own():
    assert {name: cells[0].strip() for name, cells in ROWS.items()} == of_the_product()


def test_each_row_with_a_source_says_of_which_date_and_the_last_table_has_none():
    sourced, _, chosen = TEXT.partition("## Our choice")
    with_source = [name for name, cells in ROWS.items() if len(cells) == 3]
    assert [name for name in with_source if f"| `{name}` |" not in sourced] == []
    assert [name for name in ROWS if name not in with_source and f"| `{name}` |" not in chosen] == []
    assert [name for name in with_source if not DATED.search(ROWS[name][2].strip())] == []


def test_weights_are_percent_and_a_first_tier_wallets_limit_is_the_registers_too():
    assert sum(month._OPERATOR_WEIGHTS.values()) == 100  # noqa: SLF001  percent
    (bounds,) = [row for row in REGISTER if row.name == "amount_bounds"]
    assert bounds.alternatives["1_to_20000"].endswith(f"{Traffic.largest_minor // 100:,}.00 ZMW")
