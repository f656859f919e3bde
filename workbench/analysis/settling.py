"""Settling a break: the entries that it proposes are posted to the sandbox's ledger."""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
from msgspec.structs import asdict

from workbench.analysis.frames import frame
from workbench.analysis.ledger_shapes import ENTRIES
from workbench.control import SandboxControl
from workbench.errors import LedgerRefused, StateConflict


def settle(control: SandboxControl, item: object) -> pd.DataFrame:
    """Post what a break proposes; the entries, as `bench.ledger.entries` shows them.

    Where a part of it was posted before, only the rest is.
    Raises LedgerRefused: it proposes nothing. Raises StateConflict: all of it was posted before.
    """
    posted, conflict = [], None
    for body in _bodies(item):
        try:
            posted.append(asdict(control.settle(body)))
        except StateConflict as error:
            if error.code != "already_settled":
                raise
            conflict = error
    if conflict and not posted:
        raise conflict
    return frame(posted, ENTRIES)


def _bodies(item: object) -> list[dict[str, Any]]:
    """The proposal of a mapping, a row of a DataFrame or a named tuple.

    Raises LedgerRefused: there is none, or it is no list of entries in JSON.
    """
    proposal = item.get("proposal") if isinstance(item, Mapping | pd.Series) else getattr(item, "proposal", None)
    if not isinstance(proposal, str):
        raise LedgerRefused(
            "This proposes no entry, so nothing can be posted for it.",
            hint="Settle a row of `result.breaks` with a `proposal`; `settlement` tells what to do about the others.",
        )
    try:
        bodies = json.loads(proposal)
    except json.JSONDecodeError:
        bodies = None
    if not (isinstance(bodies, list) and bodies and all(isinstance(each, dict) for each in bodies)):
        raise LedgerRefused(f"The proposal is no list of entries in JSON: {proposal[:60]!r}.")
    return bodies
