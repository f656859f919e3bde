"""A shop's page that pays with the publishable key, from an origin that is let in and from one that is not."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from tests.browser.conftest import Watch
from workbench import Workbench
from workbench.bench import Served
from workbench.resources import fixture

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

PHONE, BROKE = "+260961234567", "+260960000002"
PAGE = fixture("checkout.html")


@pytest.fixture
def shops(folder_at: Callable[[Path], str]) -> tuple[str, str]:
    """Two origins at which the page is served."""
    return folder_at(PAGE.parent), folder_at(PAGE.parent)


def checkout(context: "BrowserContext", origin: str, bench: Workbench, served: Served) -> tuple["Page", str]:
    """The page at an origin, for a new intent, and the intent's id."""
    intent = bench.client.payment_intents.create(amount=Decimal("150.00"))
    handed = {"base_url": served.base_url, "key": str(served.publishable_key), "intent": intent.id}
    page = context.new_page()
    page.goto(f"{origin}/{PAGE.name}#{urlencode({**handed, 'client_secret': str(intent.client_secret)})}")
    return page, intent.id


def test_a_page_takes_a_payment_with_a_publishable_key(shops: tuple[str, str], context: "BrowserContext", watch: Watch):
    with Workbench(seed=7) as bench, bench.serve(allow_origins=[shops[0]]) as served:
        page, intent = checkout(context, shops[0], bench, served)
        status, pay = page.get_by_role("status"), page.get_by_role("button", name="Pay")
        page.get_by_label("Phone").fill(BROKE)
        pay.click()
        status.get_by_text("Enter your PIN on your phone.").wait_for()
        bench.clock.advance(5)
        status.get_by_text("The wallet holds less than the amount.").wait_for()
        page.get_by_label("Phone").fill(PHONE)
        pay.click()
        status.get_by_text("Enter your PIN on your phone.").wait_for()
        bench.phone(PHONE).enter_pin("1234")
        status.get_by_text("Paid. Thank you.").wait_for()
        assert bench.client.payment_intents.retrieve(intent).status == "succeeded"
        watch.expect("409")
        pay.click()
        status.get_by_text("It is paid").or_(status.get_by_text("status is succeeded")).wait_for()


def test_no_other_page_may_and_no_page_may_do_more(shops: tuple[str, str], context: "BrowserContext", watch: Watch):
    watch.expect("CORS policy|ERR_FAILED|405|403")
    with Workbench(seed=7) as bench, bench.serve(allow_origins=[shops[0]]) as served:
        page, intent = checkout(context, shops[1], bench, served)
        page.get_by_role("button", name="Pay").click()
        page.get_by_role("status").get_by_text("Not paid: Failed to fetch").wait_for()
        assert bench.client.payment_intents.retrieve(intent).status == "requires_payment_method"
        page, _ = checkout(context, shops[0], bench, served)
        ask = "([url, key]) => fetch(url, {headers: {Authorization: `Bearer ${key}`}}).then(() => 'read', () => 'kept')"
        for path in ("/v1/balance", "/sandbox/phones/+260961234567", "/v1/payment_intents"):
            assert page.evaluate(ask, [served.base_url + path, str(served.secret_key)]) == "kept", path
