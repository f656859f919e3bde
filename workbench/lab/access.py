"""What a Workbench offers to those who look: its desk and its dashboard. Widgets are loaded when they are shown."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from workbench.control import Clock
from workbench.live import Widget
from workbench.watching import Watchers

if TYPE_CHECKING:
    from workbench.handset import Phone


class ForTheLab:
    """The half of a Workbench that a person sees and touches. Each thing is there once, however often it is shown."""

    clock: Clock
    _closing: ExitStack
    _watchers: Watchers
    _phone_widgets: dict[str, Widget]

    def watch(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Run `callback` soon after anything happens in the sandbox, in a thread of its own.

        Returns the function that ends it. What the callback raises is logged.
        """
        return self._watchers.add(callback)

    def _phone_widget(self, phone: "Phone") -> Widget:
        """The handset to touch: one for each number, kept up to date until the bench is closed."""
        if phone.number not in self._phone_widgets:
            from workbench.lab.phone import PhoneWidget

            widget = PhoneWidget(phone, self.clock)
            self._phone_widgets[phone.number] = widget
            self.watch(widget.refresh)
            self._closing.callback(widget.end)
        return self._phone_widgets[phone.number]
