"""Transports the requests of the console in Jupyter, and of the phone that `workbench lab` docks beside notebooks.

A page sends requests over one comm, and the bench's HTTP client forwards them. Changes are sent over another comm,
because a comm on which a running cell has sent something responds only after the cell has ended.
"""

import logging
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any, ClassVar, Final

import anywidget
import httpx
import ipywidgets
import traitlets
from comm import create_comm, get_comm_manager
from comm.base_comm import BaseComm

from workbench.domain.wire.ledger_and_trace import UNSEEN
from workbench.resources import console
from workbench.session import Session
from workbench.text.render import bundle, with_widget
from workbench.traffic.trace import saved_console

NEWS: Final = "workbench.news"
"""The name of the comm from a kernel to the docked phone, with changes of the bench that was created or used last."""
ASK: Final = "workbench.ask"
"""The name of the comm from the docked phone, with requests to the bench that was created or used last."""
_CHARGES: Final = ("POST", "/v1/charges")
"""The only operation to which the key is sent by Basic authentication."""
_LOST: Final = "The sandbox does not respond. The console continues when the sandbox is back."
_STILL: Final = "To use the console, run bench.console() in a cell in Jupyter."
_CLOSED: Final = "This Workbench is closed. Run the notebook's cells again, from the cell that makes it."

Message = dict[str, Any]


@cache
def files() -> dict[str, str]:
    """Name → text of the console's files, which a served sandbox has too."""
    folder = console("")
    paths = [path.relative_to(folder) for pattern in ("*.js", "*.css", "vendor/*.js") for path in folder.glob(pattern)]
    names = ["look.css", *(path.as_posix() for path in paths)]
    return {name: console(name).read_text("utf-8") for name in names}


class Channel:
    """Responds to the console's pages of one bench, and sends them the bench's changes; each bench has one channel."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.listeners: list[Callable[[Message], None]] = []
        """Callbacks in the watchers' thread; each gets a page of `/sandbox/changes`, or `{"lost": sentence}`."""
        self._last = self._changes().get("last_seq", 0)
        session.closing.callback(self._tell, {"lost": _CLOSED})
        session.watchers.add(self._follow)

    def answer(self, message: Message) -> Message:
        """The response to a page's message, with the message's `number`."""
        if message.get("files"):
            return {"number": message["number"], "files": files(), "base": self._session.base_url}
        try:
            response = self._sent(message["request"])
        except Exception as error:  # noqa: BLE001  whatever went wrong: a page waits for its response
            logging.getLogger("workbench").info("The console's request failed: %r", error)
            return {"number": message["number"], "failed": str(error)}
        content = {"status": response.status_code, "headers": dict(response.headers), "text": response.text}
        return {"number": message["number"], **content}

    def _sent(self, request: Mapping[str, Any]) -> httpx.Response:
        """The sandbox's response; a request without a key gets the session's key, unless it is marked `anonymous`."""
        method, path = str(request.get("method", "GET")), str(request["path"])
        headers, body = dict(request.get("headers") or {}), request.get("body")
        if "Authorization" not in headers and not request.get("anonymous"):
            key, is_basic = str(self._session.secret_key), (method, path.partition("?")[0]) == _CHARGES
            basic = b64encode(f"{key}:".encode()).decode()
            headers["Authorization"] = f"Basic {basic}" if is_basic else f"Bearer {key}"
        # Only the path is taken: a request reaches only this sandbox.
        url = self._session.http.base_url.copy_with(raw_path=path.encode())
        return self._session.http.request(method, url, headers=headers, content=body)

    def _changes(self, query: str = "") -> Message:
        response = self._sent({"path": f"/sandbox/changes{query}", "headers": {UNSEEN: "true"}})
        page: Message = response.raise_for_status().json()
        return page

    def _follow(self) -> None:
        has_more = True
        while has_more:
            try:
                page = self._changes(f"?after={self._last}")
            except (httpx.HTTPError, RuntimeError) as error:  # the latter where the client is closed
                logging.getLogger("workbench").info("The console cannot ask the sandbox: %s", error)
                return self._tell({"lost": _LOST})
            self._last, has_more = page["last_seq"], page["has_more"]
            self._tell(page)
        return None

    def _tell(self, news: Message) -> None:
        for listener in [*self.listeners]:
            listener(news)


class ConsoleWidget(anywidget.AnyWidget):
    """The console in a cell. Its contents and inputs travel as messages, so a saved notebook contains none of them.

    `news` is the id of the model whose comm sends changes; `record` is the HTML to show when no kernel responds.
    """

    _esm = files()["jupyter.js"]
    news = traitlets.Unicode().tag(sync=True)
    record = traitlets.Unicode().tag(sync=True)

    def __init__(self, channel: Channel) -> None:
        self._news = ipywidgets.Widget()
        super().__init__(news=self._news.model_id)
        channel.listeners.append(self._news.send)
        self.on_msg(lambda _widget, message, _buffers: self.send(channel.answer(message)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Console:
    """The console of one bench: live in a cell as long as its kernel runs, and afterwards a record of that moment.

    In `workbench lab` the console's phone is docked beside the notebooks.
    """

    docked: "ClassVar[Console | None]" = None
    """The console whose phone is docked: that of the bench that was created or used last; None if there is none."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @cached_property
    def channel(self) -> Channel:
        """The channel of all pages, created for the first page."""
        return Channel(self._session)

    @cached_property
    def widget(self) -> ConsoleWidget:
        """The live console; every display shows the same widget."""
        return ConsoleWidget(self.channel)

    def dock(self) -> None:
        """Connects the phone beside the notebooks to this bench."""
        if Console.docked is self:
            return
        if Console.docked:
            Console.docked.undock()
        Console.docked = self
        get_comm_manager().register_target(ASK, self._opened)
        self._news = create_comm(target_name=NEWS)
        self.channel.listeners.append(self._news.send)

    def undock(self) -> None:
        """Disconnects the phone beside the notebooks from this bench."""
        self.channel.listeners.remove(self._news.send)
        self._news.close()

    def _opened(self, ask: BaseComm, _: Message) -> None:
        ask.on_msg(lambda message: ask.send(self.channel.answer(message["content"]["data"])))

    def __repr__(self) -> str:
        return f"{saved_console(self._session.untraced).text}\n\n{_STILL}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        saved = saved_console(self._session.untraced)

        def live() -> ConsoleWidget:
            self.widget.record = saved.html
            return self.widget

        return with_widget(bundle(f"{saved.text}\n\n{_STILL}", f"{saved.html}<p>{_STILL}</p>"), live)
