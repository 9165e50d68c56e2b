"""`python docs/screens.py [PAGE …]`: pictures of the console and of a survey, on made-up data, for docs/images.

Wide and narrow, light and dark. Whoever changes a page takes them anew, and looks at them.
"""

from __future__ import annotations

import atexit
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright

import discreet
from discreet.cli.demo import visits
from discreet.desk import HOME as LOCAL
from discreet.desk import Desk, ReleaseOrder
from discreet.desk.surveys import SurveyPlan, Surveys
from discreet.release import Wish
from discreet.survey.collector import Collector
from discreet.survey.task import Task, fresh_ids, packed

IMAGES = Path(__file__).parent / "images"
SIZES: dict[str, ViewportSize] = {"wide": {"width": 1280, "height": 800}, "narrow": {"width": 390, "height": 844}}
PAGES = (
    "ask",
    "ask-test",
    "budget",
    "history",
    "releases",
    "releases-new",
    "releases-one",
    "data",
    "ledger",
    "promise",
    "surveys",
    "surveys-new",
)
CUSTODIAN = ("data", "surveys", "surveys-new")  # pages that are shown as a custodian sees them
SURVEY = ("survey-ask", "survey-receipt", "survey-results")  # pages that everybody may read
ALBUMS = ("none", "1", "2", "3", "4")
QUESTION = "How many Justin Bieber albums do you own?"
SQL = "SELECT region, count(*) AS visits, avg(cost) AS cost\nFROM visits GROUP BY region ORDER BY region"
EARLIER = (
    "SELECT count(*) AS visits FROM visits",
    "SELECT reason, count(*) AS visits FROM visits GROUP BY reason ORDER BY visits DESC",
    "SELECT date_trunc('month', day) AS month, count(*) AS visits FROM visits GROUP BY 1 ORDER BY 1",
)
RELEASES = (
    ReleaseOrder.of("visits", Wish.of("histogram", ("region",), epsilon="0.1"), "Visits by region"),
    ReleaseOrder.of("visits", Wish.of("marginals", ("region", "cost"), epsilon="0.2"), "Where it costs how much"),
    ReleaseOrder.of("visits", Wish.of("ranges", ("cost",), epsilon="0.3"), "The cost of a visit, finely"),
    ReleaseOrder.of("visits", Wish.of("histogram", ("cost",), epsilon="0.3", bins={"cost": 25}), "What a visit costs"),
)


def served(home: Path) -> str:
    """The address of a server of a home, which ends with this program."""
    command = [sys.executable, "-m", "discreet", "serve", "--home", str(home), "--http", "127.0.0.1:0", "--pg", "off"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603
    atexit.register(server.wait)
    atexit.register(server.terminate)
    if server.stdout is None:
        raise SystemExit("the server does not speak")
    return server.stdout.readline().split()[-1]


def founded(folder: Path) -> tuple[Path, dict[str, str]]:
    """A home, and the tokens of who may come in."""
    home = folder / "clinic"
    custodian = discreet.create(home)
    columns = {"cost": "what a visit cost, in euros", "reason": "why somebody came, as the reception noted it"}
    custodian.add(
        "visits",
        visits(),
        unit="patient",
        max_rows=8,
        max_groups=4,
        bounds={"cost": (0, 500)},
        keys={"region": ["north", "south", "east", "west"]},
        describe=columns,
        epsilon=3,
        delta="1e-8",
    )
    return home, {"ann": custodian.add_user("ann"), "cleo": custodian.add_user("cleo", role="custodian")}


def signed_in(page: Page, url: str, token: str) -> None:
    """Come in."""
    page.goto(f"{url}/sign-in")
    page.get_by_label("Your token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{url}/ask")
    page.wait_for_function("window.did_handshake === true")


def asked(page: Page, url: str, sql: str) -> None:
    """Ask a question, and wait for its answer."""
    page.goto(f"{url}/ask")
    page.wait_for_selector(".d-editor[data-ready]")
    page.get_by_label("SQL", exact=True).click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(sql)
    price = page.get_by_label("Price", exact=True)
    price.fill("0.3")
    price.press("Enter")
    page.get_by_role("button", name="Ask · pays 0.3").or_(page.get_by_role("button", name="Ask · free")).wait_for()
    page.get_by_label("SQL", exact=True).press("Control+Enter")
    page.get_by_text("See it in History").wait_for()


def prepared(page: Page, url: str, name: str, release: int) -> None:
    """A page with something on it; `release` is the entry of one that was published."""
    if name == "ask":
        asked(page, url, SQL)
        page.evaluate("window.scrollTo(0, 0)")
    else:
        queries = {
            "ask-test": "ask?test=1",
            "releases-new": "releases?new=1",
            "releases-one": f"releases?entry={release}",
            "surveys-new": "surveys?new=1",
        }
        page.goto(f"{url}/{queries.get(name, name)}")
        page.wait_for_function("window.did_handshake === true")
    if name == "ask-test":
        tested(page)
    if name == "releases-new":
        built(page)
    if name == "surveys-new":
        page.get_by_label("Question").fill(QUESTION)
        page.get_by_label("Answers, each on a line of its own").fill("\n".join(ALBUMS))
        page.get_by_text("74 of 100").wait_for()
        page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    if name == "history":
        page.get_by_role("button", name="Show again").first.click()
        page.get_by_role("table").first.wait_for()
    if name == "ledger":
        page.get_by_role("button", name="Verify").click()
    page.wait_for_timeout(1500)


def tested(page: Page) -> None:
    """A private test with its result, and bounds for many questions."""
    page.get_by_role("radio", name="Between what is the mean of everybody?").check()
    page.get_by_label("Price ε").fill("0.2")
    page.get_by_role("button", name="Test · pays 0.2").or_(page.get_by_role("button", name="Show it · free")).click()
    page.get_by_label("Result").wait_for()
    page.get_by_role("button", name="Work it out").click()
    page.get_by_text("noise beats").or_(page.get_by_text("split the sample", exact=False)).first.wait_for()
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")


def built(page: Page) -> None:
    """A release that somebody is about to publish."""
    page.get_by_role("checkbox", name="region").check()
    page.get_by_role("checkbox", name="cost").check()
    page.get_by_label("Bins of cost").fill("20")
    page.get_by_text("80 cells").wait_for()
    page.evaluate("window.scrollTo(0, 0)")


def surveyed(home: Path) -> tuple[Task, Task]:
    """A survey that is open, and one of a thousand people that is over."""
    surveys = Surveys(Desk(home))
    done, opened = (surveys.made(LOCAL, SurveyPlan(QUESTION, ALBUMS, 1)) for _ in range(2))
    albums = np.repeat(np.arange(5), [500, 200, 150, 50, 100])
    Collector(home).receive(done.id, packed(done, fresh_ids(albums.size), done.client.batch(albums)))
    surveys.closed(LOCAL, done.id)
    return opened, done


def answered(page: Page, url: str, name: str, tasks: tuple[Task, Task]) -> None:
    """A page of a survey with something on it."""
    opened, done = tasks
    if name == "survey-results":
        page.goto(f"{url}/survey/{done.id}/results")
        return
    page.goto(f"{url}/survey/{opened.id}")
    if name == "survey-ask":
        page.get_by_label("2", exact=True).check()
        return
    if page.locator("form").or_(page.get_by_role("heading", name="Received")).first.inner_text() != "Received":
        page.get_by_label("2", exact=True).check()
        page.get_by_role("button", name="Roll the dice and send").click()
    page.get_by_role("heading", name="Received").wait_for()


def taken(page: Page, name: str, *, whole: bool = True) -> None:
    """A picture in few colours: nobody sees the difference, and it is a third of the size.

    Where a bar is fixed at the foot of the screen, a picture of the whole page would have it in the middle.
    """
    picture = Image.open(io.BytesIO(page.screenshot(full_page=whole)))
    picture.convert("RGB").quantize(128).save(IMAGES / f"{name}.png", optimize=True)


def main() -> None:
    """Take them all, or those that were named."""
    pages, public = ([name for name in names if not sys.argv[1:] or name in sys.argv[1:]] for names in (PAGES, SURVEY))
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("there is no chromium here")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home, tokens = founded(Path(folder))
        url = served(home)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        with browser.new_page() as page:
            signed_in(page, url, tokens["ann"])
            for sql in EARLIER:
                asked(page, url, sql)
        desk = Desk(home)
        ann = desk.visitor("ann")
        published = [desk.published(ann, order).entry for order in RELEASES]
        tasks = surveyed(home)
        for theme in ("light", "dark"):
            for size, viewport in SIZES.items():
                context = browser.new_context(viewport=viewport, color_scheme=theme)
                page = context.new_page()
                if pages == list(PAGES):
                    page.goto(f"{url}/sign-in")
                    taken(page, f"console-sign-in-{size}-{theme}", whole=False)
                for who in ("ann", "cleo"):
                    signed_in(page, url, tokens[who])
                    for name in pages:
                        if (name in CUSTODIAN) == (who == "cleo"):
                            prepared(page, url, name, published[-1])
                            taken(page, f"console-{name}-{size}-{theme}", whole=size == "wide")
                            print(name, size, theme, flush=True)  # noqa: T201
                for name in public:
                    answered(page, url, name, tasks)
                    taken(page, f"{name}-{size}-{theme}")
                    print(name, size, theme, flush=True)  # noqa: T201
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
