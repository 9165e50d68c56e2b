"""A console of made-up data in a process of its own, and a browser that reports everything it dislikes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import clinic
import pytest
from browser import launched
from playwright.sync_api import Browser, BrowserContext, Page, Response, ViewportSize, expect
from server.served import Server, served

from discreet.curator.custody import Custody

WIDE: ViewportSize = {"width": 1280, "height": 800}
PLACES = ("/ask", "/budget", "/history", "/releases", "/surveys", "/data", "/ledger", "/promise", "/why")

_profiles: dict[tuple[str, str], tuple[BrowserContext, Page | None]] = {}

_PATIENCE = 120_000  # milliseconds until what never comes fails a test: a busy machine shows everything late

expect.set_options(timeout=_PATIENCE)


@dataclass(frozen=True)
class Place:
    """A served home, and what lets people into it: ann asks, cleo keeps the data."""

    server: Server
    home: Path
    tokens: dict[str, str]

    @property
    def url(self) -> str:
        return self.server.url


@contextmanager
def opened(folder: Path, *options: str, **changes: Any) -> Iterator[Place]:  # noqa: ANN401
    """A home of a clinic with its server, for a test that wants one of its own; its `doors` are HTTP alone."""
    doors: Sequence[str] = changes.pop("doors", ("http",))
    home = clinic.home(folder / "home", **changes)
    custody = Custody(home)
    tokens = {"ann": custody.let_in("ann", "analyst"), "cleo": custody.let_in("cleo", "custodian")}
    with served(home, *options, doors=doors) as server:
        try:
            yield Place(server, home, tokens)
        finally:
            for key in [key for key in _profiles if key[0] == server.url]:
                _profiles.pop(key)[0].close()


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with opened(tmp_path_factory.mktemp("console"), "--rate", "200", doors=("http", "pg")) as found:
        yield found


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with launched() as browser:
        yield browser
        _profiles.clear()


@dataclass
class Watched:
    """A browser of one person: what it complained about, and whom it talked to."""

    context: BrowserContext
    url: str
    tokens: dict[str, str]
    complaints: list[str] = field(default_factory=list)
    answers: list[Response] = field(default_factory=list)

    def page(self) -> Page:
        page = self.context.new_page()
        page.on("console", lambda said: self._complain(said.type in {"error", "warning"}, f"console: {said.text}"))
        page.on("pageerror", lambda broken: self._complain(True, f"page: {broken}"))  # noqa: FBT003
        page.on("request", lambda sent: self._complain(self._elsewhere(sent.url), f"elsewhere: {sent.url}"))
        page.on("websocket", lambda socket: self._complain(self._elsewhere(socket.url), f"elsewhere: {socket.url}"))
        page.on("response", lambda answer: self.answers.append(answer))  # noqa: PLW0108  # it sets marks on it
        return page

    def signed_in(self, who: str, path: str = "/ask") -> Page:
        """A page that shows a path, after who has signed in, without a look at the form."""
        self.let_in(who)
        page = self.page()
        page.goto(self.url + path)
        settled(page)
        return page

    def let_in(self, who: str) -> None:
        """From here on the browser is who's."""
        said = self.context.request.post(
            f"{self.url}/sign-in",
            form={"token": self.tokens[who]},
            headers={"Origin": self.url},
            max_redirects=0,
            max_retries=1,  # the server may have closed the connection that was kept for this
        )
        assert said.status == 303

    def allow(self, text: str) -> None:
        """Forget complaints that a test provokes."""
        self.complaints[:] = [each for each in self.complaints if text not in each]

    def _complain(self, wrong: bool, what: str) -> None:  # noqa: FBT001
        if wrong:
            self.complaints.append(what)

    def _elsewhere(self, url: str) -> bool:
        here = self.url.removeprefix("http")
        return not url.startswith((f"http{here}/", f"ws{here}/", "data:", "blob:", "about:"))


def signed_in(page: Page, url: str, token: str) -> None:
    """Fill in the form."""
    page.goto(f"{url}/sign-in")
    page.get_by_label("Your token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{url}/ask")


def settled(page: Page) -> None:
    """When the page has its socket."""
    page.wait_for_function("window.did_handshake === true")


def write(page: Page, sql: str) -> None:
    """Type a question into the editor of the Ask page, in place of what is there."""
    page.wait_for_selector(".d-editor[data-ready]")
    page.get_by_label("SQL", exact=True).click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(sql)


@contextmanager
def watched(browser: Browser, place: Place, **options: Any) -> Iterator[Watched]:  # noqa: ANN401
    """A browser profile with nothing in it but what it has seen of our scripts, which are many.

    In the end it must have had nothing to complain about.
    """
    context, anchor = _profile(browser, place.url, {"viewport": WIDE, **options})
    found = Watched(context, place.url, place.tokens)
    try:
        yield found
        assert found.complaints == []
    finally:
        for page in context.pages:
            if page is not anchor:
                page.close()
        context.clear_cookies()


def _profile(browser: Browser, url: str, wanted: dict[str, Any]) -> tuple[BrowserContext, Page | None]:
    """The profile for a server, as it was left, and from the second time on a page that keeps its process alive.

    A process that has loaded our scripts shows the next page with a third of the work. The server hears nothing of it.
    """
    key = url, repr(sorted(wanted.items()))
    if key not in _profiles:
        _profiles[key] = browser.new_context(**wanted), None
        _profiles[key][0].set_default_timeout(_PATIENCE)
    elif _profiles[key][1] is None:
        context, _ = _profiles[key]
        anchor = context.new_page()
        anchor.route("**/*", lambda route: route.fulfill(body=""))
        anchor.goto(f"{url}/anchor")
        _profiles[key] = context, anchor
    return _profiles[key]


@pytest.fixture
def person(chromium: Browser, place: Place) -> Iterator[Watched]:
    """Somebody at a wide screen, not signed in yet."""
    with watched(chromium, place) as found:
        yield found
