"""The rules that users declare: how an account's rows are matched, and which breaks get a kind or count as decided.

Users declare rules in layouts, rule files and arguments. Patterns run on RE2 only: none takes exponential time.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple, get_type_hints

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import force_setattr

from workbench.analysis.break_codes import BOOK_IT, CODES, KINDS, as_kind
from workbench.analysis.shapes import DIRECTIONS
from workbench.domain.masking import shortened
from workbench.errors import ReconcileRefused
from workbench.resources import read_toml, wrong_kind

KEY, NARRATIVE, AMOUNT = "key", "key in narrative", "amount"
FIELDS: Final = (AMOUNT, "phone", "fee", "type")
"""The fields that a rule with a window may require to be equal; such a rule always requires `amount`."""
USUAL_DAYS: Final = 1
"""The most days between the dates of two rows matched by key, unless the account's rule by key has `days`."""
_MOST_DAYS: Final = 366
LONGEST_PATTERN: Final = 500
"""The most characters of a pattern."""
EXPECTED, TOLERATED = "expected", "tolerated"
"""The verdicts that a user's rule can give a break."""
_SHOWN: Final = 60
_EXAMPLE: Final = 'match = [{ on = ["key"] }, { on = ["amount"], days = 3 }]'


class MatchRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One rule of an account's `match`; the rules are tried in their order.

    on: `["key"]`; `["key in narrative"]`, which finds the ledger's key, or the name of a batch, in the statement's
    description; or `["amount"]`, with `phone`, `fee` or `type` if these must be equal too.
    days, minutes: for a rule by amount, the most days or minutes between two rows of equal amount. For a rule by key,
    `days` is the most days between the dates of a pair, by default 1; a pair further apart is a `date_mismatch`.
    nearest: match a row that fits several rows of its amount with the row of the nearest day.

    Raises ValueError: the fields make no valid rule. The message begins with `is no rule:`; the caller puts the name of
    the field before it.

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
            (all(0 <= days <= _MOST_DAYS for days in (self.days or 0, (self.minutes or 0) // 1440)),
             f"`days` and `minutes` are from 0 up, and no window is longer than {_MOST_DAYS} days"),
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
        options = {name: value for name, value in msgspec.to_builtins(self).items() if name != "on"}
        on = ", ".join(f'"{name}"' for name in self.on)
        others = (f", {name} = {msgspec.json.encode(value).decode()}" for name, value in options.items())
        return f"{{ on = [{on}]{''.join(others)} }}"


MatchRules = tuple[MatchRule, ...]
BY_KEY: Final = MatchRule(on=(KEY,))
WITHOUT_KEYS: Final = (BY_KEY, MatchRule(on=(AMOUNT,), days=2))
"""The rules of an account whose statement has no keys, unless others are declared."""


def match_rules(declared: object) -> MatchRules:
    """The rules of one account, from the list `declared`; an empty list gives no rules.

    If there are rules, but none by key, a rule by key is put in front.
    Raises ValueError: no list of rules, or a rule by key after another rule. The message has no subject: the caller
    puts the name of the field before the message, as in `match has a rule by key after another`.
    """
    try:
        rules = msgspec.convert(declared, MatchRules)
    except msgspec.ValidationError as error:
        text = str(error)
        why = text.partition(" - at")[0] if text.startswith("is no rule") else f"{wrong_kind(error)}"
        raise ValueError(f"{why}. For example: {_EXAMPLE}") from None
    if BY_KEY.on in (rule.on for rule in rules[1:]):
        raise ValueError(f"has a rule by key after another. For example: {_EXAMPLE}")
    return rules if rules and rules[0].on == BY_KEY.on else (BY_KEY, *rules) if rules else ()


def by_account(declared: object) -> Mapping[str, MatchRules]:
    """Account → its rules. `declared` maps accounts (`*` stands for any text) to lists, or is a list for all accounts.

    Raises ValueError: a list cannot be used; see match_rules.
    """
    tables = declared if isinstance(declared, Mapping) else {"*": declared}
    return {str(account): match_rules(rules) for account, rules in tables.items()}


def rules_of(account: str, declared: Mapping[str, MatchRules]) -> MatchRules:
    """The rules under the first name in `declared` that fits the account; empty if no name fits."""
    return next((rules for name, rules in declared.items() if fnmatchcase(account, name)), ())


def refusal(pattern: str) -> str:
    """Explains, as the end of a sentence, why a pattern cannot be used; empty if it can."""
    if len(pattern) > LONGEST_PATTERN:
        return f"has {len(pattern):,} characters; a pattern has at most {LONGEST_PATTERN}"
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        # The first line of the engine's message: `Invalid regular expression: missing ): (`.
        why = str(error).splitlines()[0].partition(": ")[2]
        return f"is not a regular expression of RE2, which has neither backreferences nor lookaround: {why}"
    return ""


class InputRow(NamedTuple):
    """A source of decisions or rules, as a row of INPUTS. `side` is `decisions` or `rules`.

    `rows` is the number of decisions or rules, or of the accounts in the argument `match`. `sha256` is the SHA-256 of a
    file's bytes, or of the argument `match` as text; None for a DataFrame.
    """

    side: str
    name: str
    sha256: str | None
    rows: int


@dataclass(frozen=True)
class Rule:
    """A user's rule about breaks: it fits a break that meets all its conditions; only the first rule that fits applies.

    account: the account, in which `*` stands for any text.
    narrative, words: regular expressions (RE2's) that are looked for in the statement's `description` and `words`.
    amount_minor: the least and the greatest variance of the break, in minor units, without its sign.
    direction: `in` or `out` of the account: by the statement's row, or the ledger's if the statement has none.
    code: the break's code.
    kind: a name for unknown money, which begins the description of the proposed entry. The kinds `fee` and `rounding`
    also turn the entry into a fee or rounding entry. The journal posts an entry of the kind `interest` against the
    interest account.
    expected: the break was expected: it counts as decided, and keeps its proposed entries.
    tolerated: the break counts as decided, and its proposed entries are removed.
    Raises ReconcileRefused: the rule has no name, condition or effect, or a value that cannot be used.
    """

    name: str
    account: str = ""
    narrative: str = ""
    words: str = ""
    amount_minor: tuple[int, int] | None = None
    direction: str = ""
    code: str = ""
    kind: str = ""
    expected: bool = False
    tolerated: bool = False

    def __post_init__(self) -> None:
        conditions = (self.account, self.narrative, self.words, self.amount_minor, self.direction, self.code)
        least, most = self.amount_minor or (0, 0)
        for holds, otherwise in (
            (self.name.strip(), "it has no name"),
            (any(conditions), "it fits every break: name an account, a narrative, an amount, a direction or a code"),
            (self.kind or self.expected or self.tolerated, "give it a kind, or say that it is expected or tolerated"),
            (not (self.expected and self.tolerated), "it is expected or tolerated, not both"),
            (0 <= least <= most, "amount_minor is a least and a most amount from 0 up, such as [100, 5000]"),
            (self.direction in {"", *DIRECTIONS}, f"direction is {' or '.join(DIRECTIONS)}"),
            (self.code in {"", *CODES}, f"there is no code {self.code!r}; there are {', '.join(CODES)}"),
            *(
                (not (why := refusal(pattern)), f"{shortened(pattern, _SHOWN)!r} {why}")
                for pattern in (self.narrative, self.words)
            ),
        ):
            if not holds:
                raise ReconcileRefused(f"The rule {self.name!r} cannot be used: {otherwise}.")

    @property
    def verdict(self) -> str | None:
        """The verdict that the rule gives to breaks; None if it gives none."""
        return EXPECTED if self.expected else TOLERATED if self.tolerated else None

    def fits(self, breaks: pd.DataFrame) -> pd.Series:
        """A series with the index of `breaks`: True for each break that meets every condition of the rule."""
        is_met = pd.Series(data=True, index=breaks.index)
        if self.account:
            is_met &= breaks["account"].isin([n for n in breaks["account"].unique() if fnmatchcase(n, self.account)])
        if self.code:
            is_met &= breaks["code"] == self.code
        if self.amount_minor:
            is_met &= breaks["variance_minor"].abs().between(*self.amount_minor)
        if self.direction:
            moved = breaks["statement_minor"].fillna(breaks["ledger_minor"]).fillna(0)
            is_met &= (moved > 0 if self.direction == "in" else moved < 0).astype(bool)
        for column, pattern in (("description", self.narrative), ("words", self.words)):
            if pattern:
                texts = pa.array(breaks.loc[is_met, column].dropna().unique(), pa.string())
                matching = texts.filter(pc.match_substring_regex(texts, pattern))
                is_met &= breaks[column].isin(matching.to_pylist()) & (breaks["side"] != "ledger")
        return is_met


_A_RULE: Final = "Rules are a .toml file in which each begins with a line [[rule]], or stands under [match]."


def rules_in(file: Path | str) -> tuple[tuple[Rule, ...], InputRow, Mapping[str, MatchRules]]:
    """The rules of a TOML file in their order, the file as an InputRow, and the matching rules of each account.

    Each table `[[rule]]` has the names of `Rule` as keys; the table `[match]` declares the matching rules.
    Raises ReconcileRefused: the file cannot be read, has an unknown key, or a rule that cannot be used.
    """
    path, content = content_of(file, "rules")
    try:
        declared = read_toml(content)
    except ValueError as error:
        raise ReconcileRefused(f"{path.name} {error}.", hint=_A_RULE) from None
    tables = declared.pop("rule", [])
    try:
        match = by_account(declared.pop("match", {}))
    except ValueError as error:
        raise ReconcileRefused(f"In {path.name}, match {error}.") from None
    if declared or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        other = f"has {', '.join(declared)}, which is no rule" if declared else "has a `rule` that is not a [[rule]]"
        raise ReconcileRefused(f"{path.name} {other}.", hint=_A_RULE)
    rules = tuple(_rule(number, table, path.name) for number, table in enumerate(tables, start=1))
    if twice := [name for name, times in Counter(rule.name for rule in rules).items() if times > 1]:
        raise ReconcileRefused(f"{path.name} has several rules called {', '.join(twice)}.")
    return rules, InputRow("rules", path.name, hashlib.sha256(content).hexdigest(), len(rules)), match


def _rule(number: int, table: Mapping[str, Any], file: str) -> Rule:
    declared, kinds = {"name": f"rule {number}", **table}, get_type_hints(Rule)
    if unknown := [name for name in declared if name not in kinds]:
        hint = f"A rule has {', '.join(field.name for field in fields(Rule))}."
        raise ReconcileRefused(f"Rule {number} in {file} has {', '.join(unknown)}, which no rule takes.", hint=hint)
    for name, value in declared.items():
        try:
            declared[name] = msgspec.convert(value, kinds[name])
        except msgspec.ValidationError as error:
            raise ReconcileRefused(f"In rule {number} of {file}, {name} {wrong_kind(error)}.") from None
    return Rule(**declared)


def ruled(breaks: pd.DataFrame, rules: Sequence[Rule], undecided: Collection[str | None] = ()) -> pd.DataFrame:
    """Applies to each break the first rule that fits: sets `rule` and `verdict`, adapts `proposal` and `settlement`.

    No rule gives a verdict to the breaks with the ids `undecided`.
    """
    if not rules:
        return breaks
    result, is_free = breaks.copy(), pd.Series(data=True, index=breaks.index)
    names: pd.Series = pd.Series(None, index=breaks.index, dtype="string")
    may_decide = ~breaks["id"].isin([*undecided])
    for rule in rules:
        is_hit = is_free & rule.fits(breaks)
        is_free &= ~is_hit
        names[is_hit] = rule.name
        if rule.verdict:
            result.loc[is_hit & may_decide, "verdict"] = rule.verdict
        if rule.tolerated:
            result.loc[is_hit & may_decide, "proposal"] = None
        elif rule.kind:
            proposed = is_hit & result["proposal"].notna()
            # An entry that the ledger has is reversed or changed, whatever its kind.
            unknown = proposed & result["proposal"].str.contains('"unknown_', regex=False).fillna(value=False)
            texts = [as_kind(text, rule.kind) for text in result.loc[proposed, "proposal"]]
            result.loc[proposed, "proposal"] = pd.array(texts, "string")
            if rule.kind in KINDS:
                result.loc[unknown, "settlement"] = BOOK_IT.format(rule.kind)
    result["rule"] = names.astype("category")
    return result


def unknown_kinds(breaks: pd.DataFrame, rules: Sequence[Rule]) -> Iterator[str]:
    """Yields a note for each rule whose kind is not in KINDS, if it fits a break whose proposal books unknown money."""
    for rule in rules if "rule" in breaks else ():
        proposed = breaks.loc[(breaks["rule"] == rule.name).fillna(value=False).astype(bool), "proposal"]
        if rule.kind and rule.kind not in KINDS and proposed.str.contains('"unknown_').any():
            yield (
                f"The rule {rule.name!r} is of the kind {rule.kind!r}, for which no entry is known: its money is "
                f"proposed as unknown money. The kinds are {', '.join(KINDS)}."
            )


def content_of(file: object, noun: str) -> tuple[Path, bytes]:
    """The path and the bytes of a file. Raises ReconcileRefused: reading fails; the message calls the file `noun`."""
    if not isinstance(file, str | Path):
        raise ReconcileRefused(f"Give the path of the {noun}, not a {type(file).__name__}.")
    path = Path(file)
    try:
        return path, path.read_bytes()
    except OSError as error:
        why = f"there is no file {path}" if isinstance(error, FileNotFoundError) else error.strerror
        raise ReconcileRefused(f"The {noun} cannot be read: {why}.") from None
