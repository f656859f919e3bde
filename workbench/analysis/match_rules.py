"""The rules by which an account's rows are matched, as a layout, a file of rules or a call declares them."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

import msgspec
from msgspec.structs import force_setattr

from workbench.resources import wrong_kind

KEY, NARRATIVE, AMOUNT = "key", "key in narrative", "amount"
FIELDS: Final = (AMOUNT, "phone", "fee", "type")
"""The fields that a rule with a window may require to be equal; such a rule always requires `amount`."""
USUAL_DAYS: Final = 1
"""How many days apart the dates of a pair with one key may be, unless a rule by key has `days`."""
_MOST: Final = 366
_EXAMPLE: Final = 'match = [{ on = ["key"] }, { on = ["amount"], days = 3 }]'


class MatchRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One rule of an account's `match`; the rules are tried in their order.

    on: `["key"]`; `["key in narrative"]`, which finds the ledger's key in the statement's description; or `["amount"]`,
    with `phone`, `fee` or `type` if these must be equal too.
    days, minutes: how far apart two rows of one amount may be. For a rule by key, `days` is how far the dates of a pair
    may be apart before the pair is a `date_mismatch`: by default 1.
    nearest: match a row that fits several rows of its amount with the row of the nearest day.

    Raises ValueError: the fields make no rule; the message follows the rule's name.

    >>> MatchRule(on=("amount",), days=3).name
    'amount within 3 days'
    """

    on: tuple[str, ...]
    days: int | None = None
    minutes: int | None = None
    nearest: bool = False

    def __post_init__(self) -> None:
        force_setattr(self, "on", tuple(self.on))  # a list, in Python as in TOML
        by_window = self.has_window
        for holds, otherwise in (
            (
                self.on in {(KEY,), (NARRATIVE,)} or (AMOUNT in self.on and {*self.on} <= {*FIELDS}),
                f'`on` is ["{KEY}"], ["{NARRATIVE}"], or ["{AMOUNT}"] with any of {", ".join(FIELDS[1:])}',
            ),
            (all(0 <= days <= _MOST for days in (self.days or 0, (self.minutes or 0) // 1440)),
             f"`days` and `minutes` are from 0 up, and no window is longer than {_MOST} days"),
            (self.minutes is None or by_window, "only a rule by amount has `minutes`"),
            (not by_window or (self.days is None) != (self.minutes is None), "an amount goes with `days` or `minutes`"),
            (not self.nearest or (by_window and self.days is not None), "`nearest` goes with an amount and `days`"),
        ):  # fmt: skip
            if not holds:
                raise ValueError(f"is no rule: {otherwise}")

    @property
    def has_window(self) -> bool:
        """True if the rule matches rows by their amount within some days or minutes, without a common key."""
        return AMOUNT in self.on

    @property
    def name(self) -> str:
        """The words for this rule in `matches` and in notes, such as `amount within 3 days`."""
        if not self.has_window:
            return self.on[0]
        fields = " and ".join(name for name in FIELDS if name in self.on)
        many, unit = (self.days, "day") if self.minutes is None else (self.minutes, "minute")
        return f"{fields} within {many} {unit}{'' if many == 1 else 's'}{', the nearest' if self.nearest else ''}"

    def __str__(self) -> str:
        """The rule as TOML."""
        given = {name: value for name, value in msgspec.to_builtins(self).items() if name != "on"}
        on = ", ".join(f'"{name}"' for name in self.on)
        more = (f", {name} = {msgspec.json.encode(value).decode()}" for name, value in given.items())
        return f"{{ on = [{on}]{''.join(more)} }}"


MatchRules = tuple[MatchRule, ...]
BY_KEY: Final = MatchRule(on=(KEY,))
WITHOUT_KEYS: Final = (BY_KEY, MatchRule(on=(AMOUNT,), days=2))
"""The rules of an account whose statement has no keys, unless others are declared."""


def match_rules(given: object) -> MatchRules:
    """The rules of one account, `given` as a list: a rule by key comes first, added if missing. Empty for no rules.

    Raises ValueError: no list of rules, or a rule by key after another; the message goes on after a name.
    """
    try:
        rules = msgspec.convert(given, MatchRules)
    except msgspec.ValidationError as error:
        text = str(error)
        why = text.partition(" - at")[0] if text.startswith("is no rule") else f"{wrong_kind(error)}"
        raise ValueError(f"{why}. For example: {_EXAMPLE}") from None
    if BY_KEY.on in (rule.on for rule in rules[1:]):
        raise ValueError(f"has a rule by key after another. For example: {_EXAMPLE}")
    return rules if rules and rules[0].on == BY_KEY.on else (BY_KEY, *rules) if rules else ()


def by_account(given: object) -> Mapping[str, MatchRules]:
    """Account → its rules, `given` as such a mapping, where `*` stands for anything, or as one list for all accounts.

    Raises ValueError: see match_rules.
    """
    tables = given if isinstance(given, Mapping) else {"*": given}
    return {str(account): match_rules(rules) for account, rules in tables.items()}


def rules_of(account: str, declared: Mapping[str, MatchRules]) -> MatchRules:
    """The rules of the first name that fits the account; empty if no name fits."""
    return next((rules for name, rules in declared.items() if fnmatchcase(account, name)), ())


def rules_in_place_of(days: int | None, minutes: int | None, pair_by: object) -> str:
    """The `match = …` line that replaces the former tolerances `days` and `minutes` and the fields of `pair_by`."""
    fields = [*pair_by] if isinstance(pair_by, Sequence) and not isinstance(pair_by, str) else []
    rules = [BY_KEY if days is None else f'{{ on = ["key"], days = {days} }}']
    if fields or minutes is not None:
        on = [name for name in FIELDS if name in (fields or ("phone", AMOUNT))]
        quoted = ", ".join(f'"{name}"' for name in on or [AMOUNT])
        by_day = minutes is None and "time" not in fields
        window = f"days = {days or USUAL_DAYS}" if by_day else f"minutes = {minutes or 15}"
        rules.append(f"{{ on = [{quoted}], {window} }}")
    return f"match = [{', '.join(map(str, rules))}]"
