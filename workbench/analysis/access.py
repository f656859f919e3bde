"""What a Workbench offers to analysts. Nothing here loads pandas, which takes a second, before it is used."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from workbench.client import PaymentsClient
from workbench.control import SandboxControl

if TYPE_CHECKING:
    import pandas as pd

    from workbench.analysis.ledger import Ledger
    from workbench.analysis.simulate import Simulation, Traffic
    from workbench.analysis.tables import Tables
    from workbench.bench import Workbench


class ForAnalysts:
    """The ledger, tables, settling and simulating: the half of a Workbench that begins when payments were made."""

    client: PaymentsClient
    _control: SandboxControl

    @property
    def ledger(self) -> "Ledger":
        """The double-entry ledger, as DataFrames and T-accounts."""
        from workbench.analysis.ledger import Ledger

        return Ledger(self._control)

    @property
    def tables(self) -> "Tables":
        """Payments, charges, refunds, payouts, events and deliveries, as DataFrames."""
        from workbench.analysis.tables import Tables

        return Tables(self.client, self._control)

    def settle(self, item: object) -> "pd.DataFrame":
        """Post the entries that a break proposes: `item` is a row of `result.breaks`; they can be reversed.

        Raises LedgerRefused: it proposes none. Raises StateConflict: it was settled before.
        """
        from workbench.analysis.settling import settle

        return settle(self._control, item)

    def simulate(  # noqa: PLR0913  each says another thing about the month
        self,
        *,
        payments: int,
        days: int = 30,
        seed: int | str | None = None,
        out: str | Path | None = None,
        breaks: Mapping[str, int] | None = None,
        traffic: "Traffic | None" = None,
        show_progress: bool = False,
    ) -> "Simulation":
        """Drive a month of a merchant's life through this sandbox, from the coming midnight in Lusaka on.

        `payments` customers pay over `days` days; some fail, are refunded, arrive late; nights clear and
        sweep, and payouts are asked for weekly. The clock ends at the last millisecond of the last day. With
        `out`, an empty or new folder, it then holds `ledger.parquet`, `statements/` as each operator and the
        bank would export theirs, and `answers.csv`. `breaks` is how many of each kind are planted in them
        (`{"amount_mismatch": 3}`, `all` for every kind), besides those that happen by themselves; by default
        some of each. One `seed` on one sandbox is one folder, byte for byte; without one it follows from the
        sandbox's own. `traffic` sets shares and rates. No webhooks are sent for what happens meanwhile.
        Raises SimulationRefused: a size, break, folder or sandbox with which that cannot be.
        """
        from workbench.analysis.simulate import simulate

        return simulate(
            cast("Workbench", self),
            self._control,
            payments=payments,
            days=days,
            seed=seed,
            out=out,
            breaks=breaks,
            traffic=traffic,
            show_progress=show_progress,
        )
