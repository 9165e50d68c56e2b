"""Surveys in a process of their own, and people with a browser each, of which nothing escapes notice."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, ViewportSize, expect, sync_playwright
from server.served import Server, served

from discreet.curator.custody import found_home
from discreet.desk import HOME, Desk
from discreet.desk.surveys import Plan, Surveys
from discreet.local.task import Task
from discreet.server.http.dice import Dice

ALBUMS = ("none", "1", "2", "3", "4")
QUESTION = "How many Justin Bieber albums do you own?"
NARROW: ViewportSize = {"width": 390, "height": 844}
_ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]

# Random bytes that a test chose, in the order in which the page asks for them.
_HOOK = """
(script) => {
  const left = script.map((text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16)));
  crypto.getRandomValues = (array) => { array.set(left.shift()); return array; };
}
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
    albums = surveys.made(HOME, Plan(QUESTION, ALBUMS, 1, minimum=3))
    many = surveys.made(HOME, Plan("Which month?", tuple(f"month {i}" for i in range(1, 13)), 1, minimum=3))
    invited = surveys.made(HOME, Plan("Yes or <b>no</b> & “why”?", ("yes", "</script>no"), "0.5", invited=True))
    with served(home, "--rate", "1000") as server:
        yield Place(server, surveys, albums, many, invited)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no Chromium, and pages that no browser saw are not tested")
        pytest.skip("there is no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        browser.close()


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

    def kept(self) -> dict[str, str]:
        """What the device remembers for good."""
        found: dict[str, str] = self.page.evaluate("Object.fromEntries(Object.entries(localStorage))")
        return found

    def roll(self, address: str, answer: str) -> None:
        """Open the page, choose, and look at what would be sent."""
        self.page.goto(address)
        self.page.get_by_label(answer, exact=True).check()
        self.page.get_by_role("button", name="Roll the dice").click()
        expect(self.page.get_by_role("heading", name="What leaves your device")).to_be_visible()

    def send(self) -> None:
        self.page.get_by_role("button", name="Send this").click()
        expect(self.page.get_by_role("heading", name="Received")).to_be_visible()


People = Callable[..., Person]


@pytest.fixture
def people(chromium: Browser) -> Iterator[People]:
    """Makes people; in the end none of their browsers complained."""
    made: list[Person] = []

    def another(script: Sequence[bytes] = (), **options: Any) -> Person:  # noqa: ANN401  # Playwright's
        context = chromium.new_context(**options)
        person = Person(context, context.new_page())
        if script:
            context.add_init_script(f"({_HOOK})({json.dumps([each.hex() for each in script])})")
        person.page.on("request", lambda sent: person.requests.append(sent))  # noqa: PLW0108  # it sets marks on it
        person.page.on("console", lambda said: person.complaints.append(said.text))
        person.page.on("pageerror", lambda broken: person.complaints.append(str(broken)))
        made.append(person)
        return person

    yield another
    for person in made:
        person.context.close()
    assert [each for person in made for each in person.complaints] == []


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
