"""Fixtures of the tests of the workbench: a browser, a server, and a page that must not log errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from workbench.chromium import Workbench, launch_chromium, opened, running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed (pip install playwright)"
    )
    with playwright.sync_playwright() as driver:
        browser = launch_chromium(driver)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("workbench")) as address:
        yield address


@pytest.fixture
def workbench(browser: Any, address: str) -> Iterator[Workbench]:
    with opened(browser, address) as workbench:
        yield workbench


@pytest.fixture
def example(workbench: Workbench) -> Workbench:
    """A workbench with the translated example."""
    workbench.open_text()
    return workbench
