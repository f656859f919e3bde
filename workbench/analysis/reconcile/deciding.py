"""A table to decide about the open breaks, by what there is to do; it writes a person's decisions to a file.

The form of JupyterLab holds no logic: the form calls `write`, as `decide` does for a script.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from workbench.analysis import files
from workbench.analysis.break_codes import TIMING, VERDICTS, partners_of
from workbench.analysis.frames import python_rows
from workbench.analysis.reconcile.decisions import WITHDRAWN, Row, decisions_in, ids_of, write_decisions
from workbench.analysis.report.captions import counted, key_text
from workbench.analysis.shapes import DECIDED
from workbench.domain.money import money_text
from workbench.errors import ReconcileRefused, WorkbenchError
from workbench.text.render import Column, Table, bundle, table, with_widget
from workbench.visible import visible

if TYPE_CHECKING:
    # ipywidgets takes its time to load, and only the form needs it.
    import ipywidgets

_MOST: Final = 1_000
"""The most breaks that the form shows; of each code, the largest come first."""
_AT_ONCE: Final = 20
_VERDICTS: Final = (*VERDICTS, WITHDRAWN)
_UNDECIDED: Final = "not decided"
_HEADINGS: Final = ("break", "to do", "account", "key", Column("variance", numeric=True), "verdict")

# JupyterLab hears keys at the document first, and its shortcuts act on whatever has the focus: only the window can hold
# keys back. Keys with Ctrl, Meta or Alt stay JupyterLab's, and so do text fields, where no letter is a shortcut.
# What the browser itself does with a key stays too.
_HOLD_KEYS: Final = """
    export default { render({ el }) {
      const hold = (event) => {
        const isText = event.target.matches("textarea, input:not([type=checkbox])");
        const isLabs = event.ctrlKey || event.metaKey || event.altKey;
        if (!isText && !isLabs && el.closest(".jp-OutputArea-output")?.contains(event.target)) event.stopPropagation();
      };
      window.addEventListener("keydown", hold, true);
      return () => window.removeEventListener("keydown", hold, true);
    } };
    """


class DecisionTable:
    """The breaks of a result that a person decides about, and the file that keeps the decisions.

    `who` decides. `suggestions` (SUGGESTION) are offered as partners, beside breaks with the opposite amount.
    Raises ReconcileRefused: `path` does not end in .csv, or the file exists and cannot be used.
    """

    def __init__(
        self, breaks: pd.DataFrame, path: Path, who: str = "", suggestions: pd.DataFrame | None = None
    ) -> None:
        if path.suffix.lower() != files.CSV:
            raise ReconcileRefused(f"Decisions are kept in a .csv file, and {path.name} is not one.")
        self.path = path
        self.who = who
        self._all = breaks
        # Breaks that a rule has decided need nobody, and rows that may still follow wait.
        mine = breaks[(breaks["code"] != TIMING) & (breaks["verdict"].isna() | breaks["who"].notna())]
        order = mine.assign(moves=mine["variance_minor"].abs()).sort_values(["code", "moves"], ascending=[True, False])
        self._breaks = mine.loc[order.index]
        self._suggested = [] if suggestions is None else list(suggestions["breaks"])
        self._in_file()

    def decide(
        self, breaks: str | Sequence[str], verdict: str, *, why: str, who: str = "", partner: str = "",
        replace: bool = False,
    ) -> None:  # fmt: skip
        """Write down a verdict on one break or several: `match` with a `partner`, `accept`, `write_off` or `ignore`.

        A match without a `partner` joins all `breaks`; to take a suggestion, give its text of ids as `breaks`. `open`
        takes back a decision. Only `replace` replaces another person's decision.
        Raises ReconcileRefused: there is no such break or verdict, `who` or `why` is missing, or another person has
        decided; ReportRefused: the file cannot be written.

        >>> result.decide("decisions.csv", who="Desk").decide("bq4x7m2k5n3a", "accept", why="seen")  # doctest: +SKIP
        """
        names = ids_of({"break": "", "partner": breaks})[1:] if isinstance(breaks, str) else list(breaks)
        if verdict == "match" and not partner:
            names, partner = names[:1], "; ".join(names[1:])
        given = {"verdict": verdict, "partner": partner or None, "who": who or self.who, "why": why}
        self.write([{"break": name, **given} for name in names], replace=replace)

    def write(self, given: Sequence[Mapping[str, str | None]], *, replace: bool = False) -> None:
        """Write down all the decisions or none; each has break, verdict, partner, who and why. Raises: see `decide`."""
        about = {row[0]: row[1:] for row in python_rows(self._all, "id", "account", "key", "code")}
        before, now = self.decided(), datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        new: dict[str, Row] = {}
        for item in given:
            name = item["break"] or ""
            if unknown := [break_id for break_id in ids_of(item) if break_id not in about]:
                raise ReconcileRefused(f"There is no break {', '.join(unknown)} to decide about.")
            old = before.get(name)
            if old is not None and old["who"] != item["who"] and not replace:
                text = f"{old['who']} has decided about {name}: {old['verdict']}, {old['why']}."
                raise ReconcileRefused(text, hint="Pass replace=True to replace that decision.")
            new[name] = {**dict(zip(("account", "key", "code"), about[name], strict=True)), **item, "when": now}
        # The decisions are read here as from the file: rows that it would not take are not written.
        kept = [row for row in self._in_file() if new.keys().isdisjoint(ids_of(row))]
        rows, _ = decisions_in(pd.DataFrame([*kept, *new.values()], columns=list(DECIDED)))
        write_decisions(self.path, rows)

    def decided(self) -> dict[str, Row]:
        """People's decisions by break: the result's decisions, replaced by those that stand in the file now."""
        names = {"break": "id"}
        shown = self._breaks[self._breaks["who"].notna()]
        known = [
            dict(zip(DECIDED, row, strict=True)) for row in python_rows(shown, *(names.get(n, n) for n in DECIDED))
        ]
        told = [
            {**row, "break": name, "partner": "; ".join(other for other in ids_of(row) if other != name) or None}
            for row in self._in_file() for name in ids_of(row)
        ]  # fmt: skip
        return {str(row["break"]): row for row in [*known, *told]}

    def _in_file(self) -> list[Row]:
        return decisions_in(self.path)[0] if self.path.exists() else []

    def partners_of(self, *names: str) -> dict[str, list[str]]:
        """The id of each break in `names` → candidates for its partner, best first: an id, or several with `; `."""
        return partners_of(self._breaks, self._suggested, names)

    def _table(self) -> Table:
        decided, rows = self.decided(), []
        names = ("id", "settlement", "account", "key", "variance_minor", "currency")
        for name, to_do, account, key, minor, currency in python_rows(self._breaks.head(_AT_ONCE), *names):
            said = decided.get(name, {}).get("verdict") or ""
            rows.append((name, to_do, account, key_text(key), money_text(minor, currency), said))
        many = len(self._breaks)
        first = f", the first {_AT_ONCE}" if many > _AT_ONCE else ""
        return table(f"{counted(many, 'break')} to decide about{first}", _HEADINGS, rows)

    def __repr__(self) -> str:
        return f"{self._table()}\n\nDecide with .decide(break, verdict, why=…), which writes {self.path.name}."

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        return with_widget(bundle(repr(self), self._table().html()), self.form)

    def form(self) -> "ipywidgets.VBox":
        """The table as a form of JupyterLab: a row for each break, and a button that writes what is chosen."""
        return _Form(self, self._breaks.head(_MOST), self.decided()).box


class _Form:
    """A form: `_parts` has the breaks to show at once, `_controls` the fields of the breaks that were opened."""

    def __init__(self, decisions: DecisionTable, breaks: pd.DataFrame, decided: Mapping[str, Row]) -> None:
        import ipywidgets

        self._widgets, self._decisions, self._decided = ipywidgets, decisions, decided
        self._parts = dict(_parts(breaks))
        self._called = {
            name: f"{name} {key_text(key)}, {money_text(minor, currency)}"
            for name, key, minor, currency in python_rows(breaks, "id", "key", "variance_minor", "currency")
        }
        self._ids = {text: name for name, text in self._called.items()}
        self._controls: dict[str, Any] = {}
        self._boxes: dict[str, Any] = {}
        self._part = ipywidgets.Dropdown(options=list(self._parts), description="to do", layout={"width": "auto"})
        self._who = ipywidgets.Text(value=decisions.who, description="who")
        self._said = ipywidgets.HTML()
        self._rows = ipywidgets.VBox()
        button = ipywidgets.Button(description="Write decisions", button_style="primary")
        button.on_click(lambda _: self._write())
        self._part.observe(lambda _: self._show(), names="value")
        self._show()
        self.box = ipywidgets.VBox(
            [self._line([self._part, self._who, button]), self._said, self._rows, _keyboard_guard()]
        )

    def _line(self, parts: "Sequence[ipywidgets.Widget]") -> "ipywidgets.HBox":
        """Places widgets side by side, and below each other where the line is too wide."""
        return self._widgets.HBox(parts, layout={"flex_flow": "row wrap"})

    def _show(self) -> None:
        name = self._part.value
        if name is not None and name not in self._boxes:
            self._boxes[name] = self._opened(self._parts[name])
        self._rows.children = self._boxes.get(name, ())

    def _shown(self, ids: str) -> str:
        """An option for one partner or several: the id, the key and the amount of each."""
        text = "; ".join(self._called.get(name, name) for name in ids.split("; "))
        self._ids[text] = ids
        return text

    def _opened(self, breaks: pd.DataFrame) -> list[Any]:
        made = [self._widgets.HTML(f"<b>{escape(breaks['settlement'].iloc[0])}</b>")]
        partners = self._decisions.partners_of(*breaks["id"])
        for row in breaks.to_dict("records"):
            before = self._decided.get(row["id"]) or {}
            labelled, opposite = {"description_width": "initial"}, partners[row["id"]]
            verdicts = [
                verdict for verdict in _VERDICTS if opposite or verdict in {before.get("verdict"), *_VERDICTS[1:]}
            ]
            controls = {
                "verdict": self._widgets.Dropdown(
                    options=[(_UNDECIDED, ""), *((verdict.replace("_", " "), verdict) for verdict in verdicts)],
                    value=before.get("verdict") or "", description="verdict", style=labelled, layout={"width": "13em"},
                ),
                "partner": self._widgets.Combobox(
                    options=[self._shown(name) for name in opposite], value=before.get("partner") or "",
                    description="partner", placeholder="of a match", style=labelled, layout={"width": "24em"},
                ),
                "why": self._widgets.Text(
                    value=before.get("why") or "", description="why", style=labelled, layout={"width": "24em"}
                ),
            }  # fmt: skip
            self._controls[row["id"]] = controls
            told = "" if pd.isna(row["description"]) else f" <q>{escape(visible(row['description']))}</q>"
            text = f"<code>{row['id']}</code> {escape(visible(row['reason']))}{told}"
            said = self._widgets.HTML(f'<div style="line-height:1.4">{text}</div>', layout={"width": "100%"})
            made.append(self._line([said, *controls.values()]))
        return made

    def _write(self) -> None:
        chosen = {
            name: {field: self._ids.get(control.value, control.value) for field, control in controls.items()}
            for name, controls in self._controls.items()
        }
        before = {
            name: {field: row[field] or "" for field in ("verdict", "partner", "why")}
            for name, row in self._decided.items()
        }
        changed = {name: choice for name, choice in chosen.items() if choice["verdict"] and choice != before.get(name)}
        try:
            self._decisions.write(
                [{"break": name, **choice, "who": self._who.value} for name, choice in changed.items()]
            )
        except WorkbenchError as error:
            self._said.value = "<b>Not written.</b> " + "<br>".join(escape(str(error)).splitlines())
            return
        self._decided = {**self._decided, **{name: {**choice} for name, choice in changed.items()}}
        self._said.value = f"{len(changed)} written to {escape(str(self._decisions.path))}."


def _keyboard_guard() -> "ipywidgets.Widget":
    """An invisible widget that keeps keys pressed in the form's dropdowns, boxes and buttons from JupyterLab.

    Without the widget, an arrow in a dropdown moves to the next cell, and `m` turns the cell into Markdown.
    """
    import anywidget

    class KeyboardGuard(anywidget.AnyWidget):
        _esm = _HOLD_KEYS

    return KeyboardGuard()


def _parts(breaks: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The breaks by code, in pieces of up to _AT_ONCE, each with its title."""
    of_code: dict[str, list[int]] = defaultdict(list)
    for place, code in enumerate(breaks["code"]):
        of_code[code].append(place)
    for code, places in of_code.items():
        for start in range(0, len(places), _AT_ONCE):
            piece = places[start : start + _AT_ONCE]
            part = f", {start + 1} to {start + len(piece)}" if len(places) > _AT_ONCE else ""
            yield f"{code}: {len(places)}{part}", breaks.iloc[piece]
