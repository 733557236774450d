"""A server on a port of this machine and headless Chromium, for tests of the workbench."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from docgraph.server.app import create_app
from docgraph.server.limits import Limits
from docgraph.server.state import ServerConfig
from server.server_examples import EXAMPLES, embedded_translator

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AXE = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"
SENTENCES = (EXAMPLES / "harbour.txt").read_text("utf-8").splitlines()
KNOWN = "Le capitaine du port a présenté le rapport sur les dégâts au comité."
"""A correction of the second sentence, which changes the translation of others."""
WIDTHS = {"desktop": (1440, 900), "phone": (390, 844)}


@contextmanager
def running(folder: Path, port: int = 0, **settings: Any) -> Iterator[str]:
    """Yields the address of a server whose database is in a folder; port 0 is any free one."""
    config = replace(ServerConfig(f"sqlite:///{folder / 'jobs.sqlite'}", Limits(), loopback=True), **settings)
    app = create_app(embedded_translator(), config)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.05)
        assert thread.is_alive(), "the server did not start"
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://localhost:{port}/"
    finally:
        server.should_exit = True
        thread.join()


def launch_chromium(playwright: Any) -> Any:
    """Starts headless Chromium; skips the test where it is not installed."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    return playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@contextmanager
def opened(browser: Any, address: str, **settings: Any) -> Iterator[Workbench]:
    """Yields a workbench in a browser of its own; fails if it logs an error or asks another site for anything."""
    width, height = WIDTHS["desktop"]
    viewport = {"width": width, "height": height}
    context = browser.new_context(**{"viewport": viewport, "locale": "en-GB", "reduced_motion": "reduce", **settings})
    workbench = Workbench(context.new_page(), address)
    yield workbench
    context.close()
    assert workbench.problems == []
    assert [url for url in workbench.requests if not url.startswith((address, "blob:"))] == []


needs_axe = pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed (npm install --no-save axe-core)")


def axe_violations(page: Any) -> list[str]:
    """What axe-core finds on a page as it is now: each rule with the first elements that break it."""
    page.evaluate(AXE.read_text("utf-8") + "; 0")
    result = page.evaluate("() => axe.run()")
    return [f"{each['id']} {[node['target'] for node in each['nodes']][:3]}" for each in result["violations"]]


def alone() -> list[str]:
    """The translations of the example."""
    return embedded_translator().translate(SENTENCES).texts


class Workbench:
    """A page of the workbench, and what a user does with it."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address
        self.problems: list[str] = []
        self.requests: set[str] = set()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: message.type in ("error", "warning") and self.problems.append(message.text))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", lambda request: self.requests.add(request.url))

    def expect_problems(self, *parts: str) -> None:
        """Forgives messages of the console that contain a text: browsers log every answer that is not a success."""
        self.problems = [each for each in self.problems if not any(part in each for part in parts)]

    def open_start(self) -> None:
        """Opens the start page."""
        self.page.goto(self.address)
        self.page.locator(".jobs li").first.wait_for()

    def open_text(self, text: str = "\n".join(SENTENCES)) -> None:
        """Translates a text that is pasted into the start page."""
        self.open_start()
        self.page.locator("#text").fill(text)
        self.page.locator(".paste button").click()
        self.wait_until_done()

    def open_file(self, name: str, content: bytes) -> None:
        """Translates a file that is chosen on the start page."""
        self.open_start()
        self.page.locator("#file").set_input_files(
            {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        )
        self.wait_until_done()

    def wait_until_done(self) -> None:
        """Waits until every sentence is translated and the chains are known."""
        self.page.locator(".row").first.wait_for()
        self.page.wait_for_function("() => !document.querySelector('.row[data-state=waiting]')")
        self.page.locator("button[aria-keyshortcuts=C]:not([disabled])").wait_for()

    def row(self, index: int) -> Any:
        """The row of a sentence."""
        return self.page.locator(f"#s{index}")

    def translations(self) -> list[str]:
        """The translations as they are stored: without words that proposals add."""
        script = """() => [...document.querySelectorAll('.row .target > .text')].map((text) => {
            const copy = text.cloneNode(true);
            copy.querySelectorAll('ins').forEach((each) => each.remove());
            return copy.textContent;
        })"""
        texts: list[str] = self.page.evaluate(script)
        return texts

    def proposals(self) -> dict[int, str]:
        """The proposals: sentence -> the translation that is proposed."""
        script = """() => [...document.querySelectorAll('.row.proposed')].map((row) => {
            const copy = row.querySelector('.target > .text').cloneNode(true);
            copy.querySelectorAll('del').forEach((each) => each.remove());
            return [Number(row.dataset.index), copy.textContent];
        })"""
        return dict(self.page.evaluate(script))

    def states(self) -> list[str]:
        """The state of each sentence."""
        states: list[str] = self.page.evaluate(
            "() => [...document.querySelectorAll('.row')].map((r) => r.dataset.state)"
        )
        return states

    def said(self, text: str) -> None:
        """Waits for a message to screen readers that contains a text."""
        self.page.wait_for_function("(text) => document.getElementById('live').textContent.includes(text)", arg=text)

    def correct(self, index: int, translation: str) -> None:
        """Types a translation and confirms it with Enter."""
        self.row(index).locator(".target").click()
        editor = self.row(index).locator("textarea")
        editor.fill(translation)
        editor.press("Enter")
        self.page.locator(f"#s{index}[data-state=confirmed]").wait_for()
        self.page.keyboard.press("Escape")

    def current(self) -> int:
        """The index of the current sentence."""
        return int(self.page.locator('.row[aria-selected="true"]').get_attribute("data-index"))

    def choose(self, index: int) -> None:
        """Makes a sentence current without editing it."""
        self.row(index).locator(".number").click()
        self.page.locator(f"#s{index}[aria-selected=true]").wait_for()
