"""The console's first page is usable within 1.5 s with twenty tabs open, and a price stands 150 ms after one paused.

The server is `discreet serve` in a process of its own, the browser is this machine's Chromium without a screen; both
share two cores. (1) In a new tab, after signing in and with twenty other tabs of the console open: from the start of
the navigation to /ask, by the browser's own clock, until the editor takes text and knows its names; median of five.
Beside it the same right after signing in, with no other tab and nothing kept from before. (2) A question is typed key
by key; from the last input event to the frame in which its expected error stands, both by the browser's clock, less
the pause that the page waits for another keystroke; median of twenty, each a question that the server never saw. `load`
is how many processes wanted the cores meanwhile.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, sync_playwright

from benchmarks.doors import Home, Served, served
from benchmarks.query import load, table
from discreet.console.ask import _PAUSE

TABS, TIMES, PRICES = 20, 5, 20
FIRST_BAR, PRICE_BAR = 1500, 150  # milliseconds
ELSEWHERE = ("/ask", "/budget", "/history", "/ledger", "/promise")
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]

# runs before any script of a page: when the editor became usable, when a key last changed it, when a text stood there
WATCH = """
(() => {
  const seen = (window.seen = { usable: null, typed: null, shown: null, wanted: null });
  const look = () => {
    if (seen.usable === null && document.querySelector(".d-editor[data-ready] .cm-content")) {
      seen.usable = performance.now();
    }
    const told = document.querySelector(".d-expects")?.textContent ?? "";
    if (seen.wanted && seen.shown === null && told.includes(seen.wanted)) {
      requestAnimationFrame(() => (seen.shown = performance.now()));
      seen.wanted = null;
    }
  };
  new MutationObserver(look).observe(document, {
    subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ["data-ready"],
  });
  document.addEventListener("input", () => (seen.typed = performance.now()), true);
})();
"""


@contextmanager
def browser(server: Served) -> Iterator[tuple[BrowserContext, str, float]]:
    """A browser in which ana is signed in, where the server is, and how long the first page took right then."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        sys.exit("there is no Chromium on this machine")
    url = f"http://127.0.0.1:{server.http}"
    with sync_playwright() as playwright:
        program = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        context = program.new_context(viewport={"width": 1280, "height": 800})
        context.add_init_script(WATCH)
        page = context.new_page()
        page.goto(f"{url}/sign-in")
        page.get_by_label("Your token").fill(server.home.token)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{url}/ask", wait_until="commit")
        yield context, url, usable(page)
        program.close()


def opened(context: BrowserContext, url: str) -> float:
    """How long the first page takes in a new tab."""
    page = context.new_page()
    page.goto(f"{url}/ask", wait_until="commit")
    return usable(page)


def usable(page: Page) -> float:
    """Milliseconds from the start of a navigation to the first page until its editor can be used; the tab is closed."""
    page.wait_for_function("window.seen.usable !== null", polling=100)
    found = float(page.evaluate("window.seen.usable"))
    page.close()
    return found


def crowded(context: BrowserContext, url: str) -> None:
    """Open other tabs, each with its socket."""
    for number in range(TABS):
        page = context.new_page()
        page.goto(url + ELSEWHERE[number % len(ELSEWHERE)])
        page.wait_for_function("window.did_handshake === true")


def priced(page: Page, number: int) -> float:
    """Milliseconds from the last input event of a new question until its expected error is drawn."""
    name = f"total{number:02}x"  # shown when its last letter is there, and not before
    page.get_by_label("SQL", exact=True).press("Control+A")
    page.keyboard.insert_text(f" FROM visits WHERE cost > {1000 + number}")
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("SELECT count(*) AS ")
    page.wait_for_timeout(400)  # whatever was under way is over
    page.evaluate("name => Object.assign(window.seen, { typed: null, shown: null, wanted: name })", name)
    page.keyboard.type(name, delay=30)
    page.wait_for_function("window.seen.shown !== null", polling=50)
    typed, shown = page.evaluate("[window.seen.typed, window.seen.shown]")
    return float(shown - typed)


def first_page(context: BrowserContext, url: str, alone: float) -> Iterator[Sequence[str]]:
    """The first page with an empty cache, then in the crowd."""
    yield ("alone, nothing kept", f"{alone:.0f} ms", "", "", load())
    crowded(context, url)
    taken = sorted(opened(context, url) for _ in range(TIMES))
    span = f"{taken[0]:.0f}–{taken[-1]:.0f} ms"
    yield (f"with {TABS} other tabs", f"{statistics.median(taken):.0f} ms", span, f"{FIRST_BAR} ms", load())


def price_tag(context: BrowserContext, url: str) -> Iterator[Sequence[str]]:
    """Prices while typing, in the same crowd."""
    page = context.new_page()
    page.goto(f"{url}/ask")
    page.wait_for_function("window.seen.usable !== null", polling=100)
    page.get_by_label("SQL", exact=True).click()
    pause = 1000 * _PAUSE
    taken = sorted(priced(page, number) - pause for number in range(PRICES))
    span = f"{taken[0]:.0f}–{taken[-1]:.0f} ms"
    median = statistics.median(taken)
    yield (f"{PRICES} questions", f"{median:.0f} ms", span, f"{PRICE_BAR} ms", f"{pause:.0f} ms", load())


def main() -> None:
    """Print the tables."""
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Home.made(Path(folder))) as server,
        browser(server) as (context, url, alone),
    ):
        first = list(first_page(context, url, alone))
        price = list(price_tag(context, url))
    print(table(("first page", "median", "span", "bar", "load"), first))
    print()
    print(table(("price after the pause", "median", "span", "bar", "the pause", "load"), price))


if __name__ == "__main__":
    main()
