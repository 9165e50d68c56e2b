"""A browser for tests of pages: the one of this machine, which is told to talk to nobody else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, ViewportSize, sync_playwright

NARROW: ViewportSize = {"width": 390, "height": 844}  # a phone
_ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]


@contextmanager
def launched() -> Iterator[Browser]:
    """Chromium. It brings an event loop along, beside which no other can run: a module that is done with it ends it."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no Chromium, and pages that no browser saw are not tested")
        pytest.skip("there is no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        browser.close()
