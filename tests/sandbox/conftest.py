import itertools
import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from wsgiref.types import StartResponse, WSGIEnvironment

import httpx
import pytest

from tests.conftest import StoreFile
from workbench import PaymentsClient, Workbench
from workbench.domain.gaps import Gaps
from workbench.domain.webhooks import Attempt, StoredDelivery
from workbench.sandbox import driver
from workbench.sandbox.engine import Engine, headers_in
from workbench.sandbox.messages import Arrived, Speaker
from workbench.sandbox.store import Settings, Transaction

START_MS = 1_767_592_800_000
ORDERS = itertools.count(1)
SOON_S = 10


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def bench(store_path: Path) -> Iterator[Workbench]:
    with Workbench(seed=7, store=store_path) as made:
        yield made


@pytest.fixture
def rows(store_path: Path) -> Callable[[str], list[tuple[Any, ...]]]:
    """The rows of a query on the store's file, as a reader beside the sandbox sees them."""
    return StoreFile(store_path).rows


class Arrival(NamedTuple):
    """One message at the merchant's side."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        return json.loads(self.body)


MOST_NOTES = 1_000
"""More than any test schedules."""


class Merchant:
    """A WSGI application that answers each path with the statuses in hand, the last one for ever.

    A path that begins with /slow answers when it is let go.
    """

    def __init__(self) -> None:
        self.answers: dict[str, list[Any]] = defaultdict(lambda: [200])
        self.headers_at: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self.answer = b""
        self.arrivals: list[Arrival] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self.let_go = threading.Event()
        self.in_flight: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        path, body = environ["PATH_INFO"], environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        headers = {
            name.removeprefix("HTTP_").replace("_", "-").lower(): value
            for name, value in environ.items()
            if name.startswith("HTTP_") or name == "CONTENT_TYPE"
        }
        with self._lock:
            self.arrivals.append(Arrival(path, headers, body))
            self.in_flight.update((path, "all"))
            self.most |= self.in_flight
        self.meanwhile()
        if path.startswith("/slow"):
            self.let_go.wait(SOON_S)
        with self._lock:
            self.in_flight.subtract((path, "all"))
        answers = self.answers[path]
        status = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(status, BaseException):
            raise status
        start_response(f"{status} Status", [("Content-Length", str(len(self.answer))), *self.headers_at[path]])
        return [self.answer]

    def at(self, path: str) -> list[Arrival]:
        return [each for each in self.arrivals if each.path == path]

    def texts(self, *paths: str) -> list[str]:
        """The description of the intent of each arrival at these paths."""
        return [each.event["data"]["object"]["description"] for each in self.arrivals if each.path in paths]


class Hook(NamedTuple):
    """An endpoint of the merchant."""

    sandbox: "Sandbox"
    path: str
    id: str
    secret: str

    @property
    def url(self) -> str:
        return f"/v1/webhook_endpoints/{self.id}"

    @property
    def arrivals(self) -> list[Arrival]:
        return self.sandbox.merchant.at(self.path)

    def types(self) -> list[str]:
        return [each.event["type"] for each in self.arrivals]

    def deliveries(self, query: str = "") -> list[dict[str, Any]]:
        return list(self.sandbox.call("GET", f"/v1/deliveries?endpoint={self.id}&limit=100{query}").json()["data"])


class Calling(httpx.BaseTransport):
    """Calls the application alone: what a call makes due is left to the test."""

    def __init__(self, engine: Engine) -> None:
        self._app = engine.app

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = headers_in(request.headers.raw)
        answer = self._app.respond(Arrived(request.method, request.url.raw_path, headers, request.read()))
        return httpx.Response(answer.status, headers=answer.headers, content=answer.body)


class Sandbox:
    """An engine, the client of it, and endpoints of a merchant in this process."""

    def __init__(
        self, merchant: Merchant, path: Path | None = None, clock: str = "manual", *, raise_bugs: bool = True,
        speaker: Speaker | None = None, **gaps: object,
    ) -> None:  # fmt: skip
        start = {"seed": "7", "start_ms": START_MS} if clock == "manual" else {}
        settings = Settings(path=path, clock=clock, gaps=Gaps.chosen(gaps), **start)
        self.merchant = merchant
        self.engine = Engine(settings, raise_bugs=raise_bugs, speaker=speaker)
        self.engine.mount("http://merchant.localhost", merchant, by_sandbox_clock=True)
        self.key = self.engine.store.key("secret")
        at, headers = "http://sandbox.localhost", {"Authorization": f"Bearer {self.key}"}
        self.http = httpx.Client(transport=Calling(self.engine), base_url=at, headers=headers)
        self.client = PaymentsClient(at, self.key, http=self.http)

    def close(self) -> None:
        self.http.close()
        self.engine.close(patience_s=SOON_S)

    def hook(self, path: str = "/a", *enabled_events: str) -> Hook:
        url = f"http://merchant.localhost{path}"
        made = self.client.webhook_endpoints.create(url=url, enabled_events=enabled_events or ("*",))
        return Hook(self, path, made.id, str(made.secret))

    def event(self, description: str | None = None) -> None:
        """One event, due at once and not yet sent."""
        self.client.payment_intents.create(amount=Decimal(1), description=description)

    def told(self) -> None:
        """An event, sent at once to an endpoint at /a."""
        self.hook()
        self.event()
        self.advance(0)

    def call(self, method: str, path: str, body: object = None) -> httpx.Response:
        """A call, and what falls due by it."""
        content = None if body is None else json.dumps(body)
        response = self.http.request(method, path, content=content, headers={"Content-Type": "application/json"})
        self.engine.run_due()
        return response

    def pay(self) -> None:
        phone, key = "+260960000001", f"order-{next(ORDERS)}"
        self.client.charges.create(amount=100, channel="mtn", phone=phone, idempotency_key=key)
        self.engine.run_due()

    def advance(self, seconds: Decimal | float = 0, **more: int) -> httpx.Response:
        body = {"seconds": float(seconds), **more}
        return self.http.post("/sandbox/clock/advance", json=body)

    def schedule(self, *jobs: tuple[int, str]) -> None:
        """Jobs of the kind `note`, each in so many milliseconds."""
        with self.engine.store.transaction() as tx:
            for in_ms, ref in jobs:
                tx.schedule("note", ref, in_ms=in_ms)

    def attempts(self) -> list[Attempt]:
        with self.engine.store.transaction() as tx:
            return tx.attempts.all()

    def deliveries(self) -> list[StoredDelivery]:
        with self.engine.store.transaction() as tx:
            return tx.deliveries.all()

    def outcomes(self) -> list[tuple[str, int]]:
        """Status and number of attempts of each delivery."""
        return [(each.status, each.attempts) for each in self.deliveries()]

    def overtaking(self) -> list[str]:
        """Deliveries first tried before an earlier one of their object, to their endpoint, was over."""
        with self.engine.store.transaction() as tx:
            deliveries, attempts = tx.deliveries.all(), tx.attempts.all()
            about = {each.id: each.object_id for each in tx.events.all()}
        tries = {each.id: [one for one in attempts if one.delivery == each.id] for each in deliveries}
        most = len(self.engine.store.gaps.retry_schedule_s)
        pairs = (
            (tries[one.id], tries[two.id], two.id)
            for one, two in itertools.combinations(deliveries, 2)
            if (one.endpoint, about[one.event]) == (two.endpoint, about[two.event]) and tries[two.id]
        )
        # Over is what was taken, or was tried as often as there are tries, before it was replayed.
        return [
            name
            for earlier, later, name in pairs
            if not (before := [each for each in earlier if each.seq < later[0].seq])
            or (before[-1].status_code != 200 and before[-1].number % most)
        ]

    @property
    def now_s(self) -> int:
        return (START_MS + self.now_ms()) // 1000

    def now_ms(self) -> int:
        """Milliseconds since the start of a manual clock."""
        with self.engine.store.transaction() as tx:
            return tx.now_ms - START_MS


NewSandbox = Callable[..., Sandbox]


@pytest.fixture
def merchant() -> Iterator[Merchant]:
    made = Merchant()
    yield made
    made.let_go.set()


@pytest.fixture
def new_sandbox(merchant: Merchant) -> Iterator[NewSandbox]:
    """Sandboxes of the merchant, closed at the end."""
    with ExitStack() as at_end:
        yield lambda *args, **more: at_end.enter_context(closing(Sandbox(merchant, *args, **more)))


@pytest.fixture
def sandbox(new_sandbox: NewSandbox) -> Sandbox:
    return new_sandbox()


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """(milliseconds since the start, ref) of every job of the kind `note`, as it ran.

    One named `a+5` schedules `a'` in five milliseconds, and one named `bug…` raises.
    """
    made: list[tuple[int, str]] = []

    def note(tx: Transaction, ref: str) -> None:
        made.append((tx.now_ms - START_MS, ref))
        if len(made) > MOST_NOTES:
            pytest.fail("A job that is due again and again keeps the clock where it is.")
        name, _, then_ms = ref.partition("+")
        if then_ms:
            tx.schedule("note", f"{name}'", in_ms=int(then_ms))
        if ref.startswith("bug"):
            message = f"{ref} of +260961234567"
            raise RuntimeError(message)

    monkeypatch.setitem(driver.HANDLERS, "note", note)
    return made
