"""Surveys in a process of their own, and people with a browser each, of which nothing escapes notice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from browser import launched
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect
from server.served import Server, served

from discreet.curator.custody import found_home
from discreet.desk import HOME, Desk
from discreet.desk.surveys import SurveyPlan, Surveys
from discreet.server.http.survey_pages import Dice
from discreet.survey.task import Task

ALBUMS = ("none", "1", "2", "3", "4")
QUESTION = "How many Justin Bieber albums do you own?"

# Random bytes that a test chose, in the order in which the page asks for them.
_HOOK = """
(script) => {
  const left = script.map((text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16)));
  crypto.getRandomValues = (array) => { array.set(left.shift()); return array; };
}
"""

_KEPT = """
() => new Promise((resolve, reject) => {
  const asking = indexedDB.open("discreet-survey");
  asking.onerror = () => reject(asking.error);
  asking.onsuccess = () => {
    const file = asking.result;
    const store = file.transaction("kept").objectStore("kept");
    const [names, values] = [store.getAllKeys(), store.getAll()];
    const digits = (byte) => byte.toString(16).padStart(2, "0");
    const hex = (value) => value instanceof Uint8Array ? Array.from(value, digits).join("")
      : value !== null && typeof value === "object" && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, hex(part)])) : value;
    values.onsuccess = () => {
      file.close();
      resolve(Object.fromEntries(names.result.map((name, i) => [name, hex(values.result[i])])));
    };
  };
})
"""


@dataclass(frozen=True)
class Place:
    """A served home with three surveys."""

    server: Server
    surveys: Surveys
    albums: Task
    many: Task
    invited: Task

    def address(self, task: Task, token: str = "") -> str:
        return f"{self.server.url}/survey/{task.id}" + (f"#{token}" if token else "")

    def accepted(self, task: Task) -> int:
        return self.surveys.one(HOME, task.id).counts.get("accepted", 0)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("surveys") / "home"
    found_home(home)
    surveys = Surveys(Desk(home))
    albums = surveys.made(HOME, SurveyPlan(QUESTION, ALBUMS, 1, minimum=3))
    many = surveys.made(HOME, SurveyPlan("Which month?", tuple(f"month {i}" for i in range(1, 13)), 1, minimum=3))
    invited = surveys.made(HOME, SurveyPlan("Yes or <b>no</b> & “why”?", ("yes", "</script>no"), "0.5", invited=True))
    with served(home, "--rate", "1000") as server:
        yield Place(server, surveys, albums, many, invited)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with launched() as browser:
        yield browser
        _devices.clear()


@dataclass
class Person:
    """A device of its own, all that left it, and all that it disliked."""

    context: BrowserContext
    page: Page
    requests: list[Request] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def sent(self) -> list[bytes]:
        """The bodies of all requests that had one."""
        return [body for each in self.requests if (body := each.post_data_buffer) is not None]

    @property
    def traffic(self) -> list[tuple[str, str, dict[str, str], bytes | None]]:
        """Everything that left, to the byte."""
        return [(each.method, each.url, each.all_headers(), each.post_data_buffer) for each in self.requests]

    def kept(self) -> dict[str, Any]:
        """What the device remembers for good, bytes in hexadecimal digits."""
        found: dict[str, Any] = self.page.evaluate(_KEPT)
        return found

    def choose(self, address: str, answer: str) -> None:
        """Open the page and choose. Nothing is rolled yet."""
        self.page.goto(address)
        self.page.get_by_label(answer, exact=True).check()

    def roll(self) -> None:
        """Roll the dice and send what they show."""
        self.page.get_by_role("button", name="Roll the dice and send").click()

    def answer(self, address: str, answer: str) -> str:
        """Answer, and read what was sent."""
        self.choose(address, answer)
        self.roll()
        return self.received()

    def received(self) -> str:
        """What the receipt says."""
        expect(self.page.get_by_role("heading", name="Received")).to_be_visible()
        return self.page.locator("#said").inner_text()

    def another_window(self) -> Page:
        """Of the same browser; what leaves it is seen as well."""
        found = self.context.new_page()
        found.on("request", lambda sent: self.requests.append(sent))  # noqa: PLW0108  # it sets marks on it
        return found


People = Callable[..., Person]

_devices: list[tuple[BrowserContext, Page]] = []  # that belong to nobody, and a page that keeps their process alive


@pytest.fixture
def people(chromium: Browser) -> Iterator[People]:
    """Makes people; in the end none of their browsers complained."""
    made: list[Person] = []
    usual: list[tuple[BrowserContext, Page]] = []

    def another(script: Sequence[bytes] = (), **options: Any) -> Person:  # noqa: ANN401  # Playwright's
        if script or options:
            context = chromium.new_context(**options)
        else:
            usual.append(_devices.pop() if _devices else _device(chromium))
            context, _ = usual[-1]
        person = Person(context, context.new_page())
        if script:
            context.add_init_script(f"({_HOOK})({json.dumps([each.hex() for each in script])})")
        person.page.on("request", lambda sent: person.requests.append(sent))  # noqa: PLW0108  # it sets marks on it
        person.page.on("console", lambda said: person.complaints.append(said.text))
        person.page.on("pageerror", lambda broken: person.complaints.append(str(broken)))
        made.append(person)
        return person

    yield another
    seen = {"/".join(each.url.split("/")[:3]) for person in made for each in person.requests}
    for person in made:
        if all(person.context is not context for context, _ in usual):
            person.context.close()
    for context, anchor in usual:
        _emptied(context, anchor, seen)
        _devices.append((context, anchor))
    assert [each for person in made for each in person.complaints] == []


def _device(browser: Browser) -> tuple[BrowserContext, Page]:
    context = browser.new_context()
    return context, context.new_page()


def _emptied(context: BrowserContext, anchor: Page, seen: Iterable[str]) -> None:
    """As if it were new, but for a process that has our scripts: the next page costs a third of the work."""
    for page in context.pages:
        if page is not anchor:
            page.close()
    context.set_offline(False)
    context.clear_cookies()
    wire = context.new_cdp_session(anchor)
    for origin in seen:
        wire.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    wire.detach()
    if seen and anchor.url == "about:blank":
        anchor.route("**/*", lambda route: route.fulfill(body=""))
    for origin in seen:
        anchor.goto(f"{origin}/anchor")


_REPORTS = """
async ([dice, asked]) => {
  const { hex, law, report, unhex } = await import("/survey/static/report.js");
  return asked.map(([coins, answer]) => hex(report(law(dice), unhex(coins), answer)));
}
"""


def rolled(page: Page, dice: Dice, asked: Sequence[tuple[Sequence[int], int]]) -> list[bytes]:
    """The reports that the page's own script makes of answers, with coins as numbers."""
    size = (dice.bits + 7) // 8
    given = [["".join(coin.to_bytes(size, "big").hex() for coin in coins), answer] for coins, answer in asked]
    return [bytes.fromhex(each) for each in page.evaluate(_REPORTS, [dice.told(), given])]
