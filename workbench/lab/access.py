"""What a Workbench offers to those who look: its desk and its dashboard. Widgets are loaded when they are shown."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, cast

import httpx

from workbench.client import PaymentsClient
from workbench.control import Clock, SandboxControl
from workbench.domain import wire
from workbench.domain.masking import Secret
from workbench.live import Widget
from workbench.receiver import Receiver
from workbench.trace import Trace
from workbench.watching import Watchers

if TYPE_CHECKING:
    from workbench.bench import Workbench
    from workbench.handset import Phone
    from workbench.lab.dashboard import Dashboard
    from workbench.lab.desk import Desk


class ForTheLab:
    """The half of a Workbench that a person sees and touches. Each thing is there once, however often it is shown."""

    clock: Clock
    _closing: ExitStack
    _watchers: Watchers
    _phone_widgets: dict[str, Widget]
    _dashboard: "Dashboard | None" = None
    _looking: PaymentsClient | None = None
    _phones: "dict[str, Phone]"
    _receiver: Receiver | None
    _engine: object
    _desk: "Desk | None" = None
    http: httpx.Client
    base_url: str
    secret_key: Secret

    def watch(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Run `callback` soon after anything happens in the sandbox, in a thread of its own.

        Returns the function that ends it. What the callback raises is logged.
        """
        return self._watchers.add(callback)

    def desk(self) -> "Desk":
        """The desk: a payment asked for, paid on the handset and followed to its webhooks, on one screen.

        One for each bench. Over a served sandbox it starts no receiver by itself; there is a button for that.
        """
        if self._desk is None:
            from workbench.lab.desk import Desk

            self._desk = Desk(
                cast("Workbench", self), lambda: self._receiver, lambda: list(self._phones),
                is_served=self._engine is None,
            )  # fmt: skip
        return self._desk

    def looking(self) -> PaymentsClient:
        """Another client of the merchant's, whose reading leaves no trace: for what is drawn anew again and again."""
        if self._looking is None:
            self._looking = PaymentsClient(self.base_url, str(self.secret_key), http=self.http)
            self._looking.calls.always = {wire.UNSEEN: "true"}
        return self._looking

    def dashboard(self) -> "Dashboard":
        """The merchant dashboard: payments, keys, webhook endpoints, events, deliveries, the clock, outages.

        Live in JupyterLab, text and HTML elsewhere.
        """
        if self._dashboard is None:
            from workbench.lab.dashboard import Dashboard

            self._dashboard = Dashboard(cast("Workbench", self))
        return self._dashboard

    def _trace_widget(self, trace: Trace) -> Widget:
        """The trace to look through, which follows what happens."""
        from workbench.lab.trace_board import trace_board

        control = SandboxControl(self.looking())
        return trace_board(trace, lambda seq: control.rows("trace", since=str(seq)), self.watch).widget

    def _phone_widget(self, phone: "Phone") -> Widget:
        """The handset to touch: one for each number, kept up to date until the bench is closed."""
        if phone.number not in self._phone_widgets:
            from workbench.lab.phone import PhoneWidget

            widget = PhoneWidget(phone, self.clock)
            self._phone_widgets[phone.number] = widget
            self.watch(widget.refresh)
            self._closing.callback(widget.end)
        return self._phone_widgets[phone.number]
