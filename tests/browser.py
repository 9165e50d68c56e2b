"""A browser for tests of pages: the one of this machine, which is told to talk to nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from installed import program
from playwright.sync_api import Browser, ViewportSize, sync_playwright

NARROW: ViewportSize = {"width": 390, "height": 844}  # a phone
_ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--process-per-site"]
_open: list[Browser] = []


@contextmanager
def launched() -> Iterator[Browser]:
    """Chromium, the one of this process if it has one.

    It brings an event loop along, beside which no other can run: tests that are without it do not see it (conftest).
    """
    if _open:
        yield _open[0]
        return
    path = program("chromium", "chromium-browser", "google-chrome", package="chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        _open.append(browser)
        yield browser
        _open.clear()
        browser.close()
