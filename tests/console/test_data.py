"""A custodian at the Data page: adds a table, brings new rows, lets people in and out, and ends what must end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import clinic
import pyarrow.parquet as pq
import pytest
from browser import NARROW
from console.conftest import Place, Watched, opened, watched
from playwright.sync_api import Browser, Page, expect

from discreet.client import Connection
from discreet.console.upload import FOLDER
from discreet.curator import catalogue
from discreet.curator.custody import Custody
from discreet.errors import Refusal
from discreet.ledger import Hold, SqliteLedger
from discreet.privacy import Approximate

CSV = "person,ward,age,<i>note</i>\np1,north,34,a\np2,south,51,b\np1,north,35,c\n"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A home that these tests change."""
    with opened(tmp_path_factory.mktemp("data"), "--rate", "200") as found:
        yield found


@pytest.fixture
def cleo(chromium: Browser, own: Place) -> Iterator[Watched]:
    with watched(chromium, own) as found:
        yield found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "stays.csv"
    path.write_text(CSV)
    return path


def left(place: Place) -> list[Path]:
    return [path for path in (place.home / FOLDER).rglob("*") if path.is_file()]


def step(page: Page, title: str) -> None:
    """Go on, to the step of this title."""
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("heading", name=title, level=3)).to_be_visible()


def brought(page: Page, file: Path) -> None:
    """Choose a file, and wait until its columns are known."""
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("4 columns")).to_be_visible()


def wide(page: Page) -> int:
    """By how much a page is too wide."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def test_a_table_is_added_step_by_step(cleo: Watched, own: Place, file: Path) -> None:
    page = cleo.signed_in("cleo", "/data")
    page.get_by_role("button", name="Add a table").click()
    expect(page.get_by_text("Up to 1 GiB")).to_be_visible()
    brought(page, file)
    page.get_by_label("Name of the table").fill("visits")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("alert")).to_contain_text("There is a table 'visits' already")
    page.get_by_label("Name of the table").fill("stays")
    step(page, "Whose rows")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose whose rows they are")
    page.get_by_label("A column says whose row it is").check()
    page.get_by_label("Column with the person").click()
    page.get_by_role("option", name="person").click()
    step(page, "Columns")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_role("region", name="age")).to_contain_text("looks like whole number")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose a type for person, ward, age, <i>note</i>")
    page.get_by_role("button", name="Take all proposals").click()
    age = page.get_by_role("region", name="age")
    age.get_by_label("From").fill("120")
    age.get_by_label("To").fill("0")
    page.get_by_role("region", name="ward").get_by_label("Groups, one a line").fill("north\nsouth")
    page.get_by_label("Most rows of one person").fill("9")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("alert")).to_contain_text("low < high")
    age.get_by_label("From").fill("0")
    age.get_by_label("To").fill("120")
    assert wide(page) == 0
    page.set_viewport_size({"width": NARROW["width"], "height": NARROW["height"]})
    assert wide(page) == 0
    step(page, "Budget")
    expect(page.get_by_label("Name of the population")).to_have_value("person")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("alert")).to_contain_text("what all answers together may cost")
    page.get_by_label("Price of all answers together").fill("2")
    page.get_by_role("checkbox", name="Each question about these people must name a price").click()
    expect(page.get_by_text("at most 89 % sure")).to_be_visible()
    step(page, "Review")
    assert wide(page) == 0
    page.get_by_text("For experts").click()
    expect(page.get_by_text("discreet add stays stays.csv")).to_contain_text("--keys ward=north,south")
    assert len(left(own)) == 1
    page.get_by_role("button", name="Add the table").click()
    expect(page.get_by_role("heading", name="stays")).to_be_visible()
    assert left(own) == []
    known = catalogue.read(own.home)
    assert str(known.tables["stays"].column("age").bounds) == "(Fraction(0, 1), Fraction(120, 1))"
    assert (
        known.tables["stays"].max_rows,
        known.populations["person"].total,
        known.populations["person"].require_price,
    ) == (9, Approximate("2", "1e-8"), True)


@pytest.mark.slow
def test_what_somebody_leaves_behind_is_deleted(cleo: Watched, own: Place, file: Path) -> None:
    page = cleo.signed_in("cleo", "/data")
    for leave in ("Back to the tables", "Another file", "Sign out"):
        if page.get_by_role("button", name="Add a table").count():
            page.get_by_role("button", name="Add a table").click()
        brought(page, file)
        assert len(left(own)) == 1
        page.get_by_role("button", name=leave).click()
        if leave == "Sign out":
            page.wait_for_url("**/sign-in?why=left")
        else:
            expect(page.get_by_text("4 columns")).to_have_count(0)
        assert left(own) == []


def test_new_rows_come_and_a_table_goes(cleo: Watched, own: Place, file: Path, tmp_path: Path) -> None:
    pq.write_table(clinic.visits(), tmp_path / "more.parquet")
    Custody(own.home).add("spare", clinic.visits(), clinic.declared(epsilon=None, delta=None))
    page = cleo.signed_in("cleo", "/data")
    spare = page.get_by_role("region", name="spare")
    spare.get_by_role("button", name="Update rows").click()
    dialog = page.get_by_role("dialog")
    dialog.locator("input[type=file]").set_input_files(file)
    expect(dialog.get_by_role("alert")).to_contain_text("The new rows have no column")
    dialog.locator("input[type=file]").set_input_files(tmp_path / "more.parquet")
    expect(spare.get_by_text("version 2")).to_be_visible()
    assert left(own) == []
    spare.get_by_role("button", name="Remove").click()
    button = page.get_by_role("button", name="Remove it")
    expect(button).to_be_disabled()
    page.get_by_label("Type spare to go on").fill("spar")
    expect(button).to_be_disabled()
    page.get_by_label("Type spare to go on").fill("spare")
    button.click()
    expect(spare).to_have_count(0)
    assert "spare" not in catalogue.read(own.home).tables


def test_a_custodian_sees_and_says_whether_questions_about_people_must_name_a_price(cleo: Watched, own: Place) -> None:
    Custody(own.home).require_price("patient", required=True)  # as on the command line
    page = cleo.signed_in("cleo", "/data")
    page.get_by_role("tab", name="Populations").click()
    patient = page.get_by_role("region", name="patient", exact=True)
    ticked = patient.get_by_role("checkbox", name="Each question about these people must name a price")
    expect(ticked).to_be_checked()
    ann = Connection(own.url, own.tokens["ann"])
    with pytest.raises(Refusal, match="price"):
        ann.query(clinic.COUNT)
    ticked.click()
    expect(page.get_by_text("Questions about patient need not name a price.")).to_be_visible()
    expect(ticked).not_to_be_checked()
    assert catalogue.read(own.home).populations["patient"].require_price is False
    assert ann.query(clinic.COUNT).cost is not None
    ticked.click()
    expect(page.get_by_text("Questions about patient must name a price.")).to_be_visible()
    assert catalogue.read(own.home).populations["patient"].require_price is True
    declared = own.home / catalogue.FILE
    text = declared.read_text()
    declared.write_text("no declarations")  # what is refused is said here, and the box stays as it was
    ticked.click()
    expect(patient.get_by_role("alert")).to_be_visible()
    expect(ticked).to_be_checked()
    declared.write_text(text)
    ticked.click()
    expect(ticked).not_to_be_checked()
    expect(patient.get_by_role("alert")).to_have_count(0)


@pytest.mark.slow
def test_a_population_is_lifted_and_closed_for_good(cleo: Watched, own: Place) -> None:
    Custody(own.home).add("ended", clinic.visits(), clinic.declared(population="gone"))
    SqliteLedger(own.home / "ledger.db", new=False).append(Hold("gone", held=True))
    page = cleo.signed_in("cleo", "/data")
    page.get_by_role("tab", name="Populations").click()
    gone = page.get_by_role("region", name="gone")
    expect(gone).to_contain_text("On hold")
    for tool, verb, words in (
        ("Lift the hold", "Lift it", "Open"),
        ("Close for good", "Close it for good", "Closed for good"),
    ):
        gone.get_by_role("button", name=tool).click()
        page.get_by_label("Type gone to go on").fill("gone")
        page.get_by_role("button", name=verb).click()
        expect(gone).to_contain_text(words)
    expect(gone.get_by_role("button")).to_have_count(0)


def test_a_token_is_shown_once_and_lets_its_owner_in(cleo: Watched, own: Place) -> None:
    page = cleo.signed_in("cleo", "/data")
    page.get_by_role("tab", name="People").click()
    page.get_by_role("button", name="Let somebody in").click()
    page.get_by_label("Name").fill("no name")
    page.get_by_role("button", name="Let in", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("A user is named with letters")
    page.get_by_label("Name").fill("dora")
    page.get_by_label("Own limit").fill("0.5")
    page.get_by_role("checkbox", name="Each of their questions must name a price").click()
    page.get_by_role("button", name="Let in", exact=True).click()
    copy = page.get_by_role("button", name="Copy the token")
    token = copy.get_attribute("data-copy") or ""
    assert len(token) == 43
    expect(page.get_by_text("user=dora")).to_have_count(0)  # a way through a door that is shut here
    assert Connection(own.url, token).tables()
    page.get_by_role("button", name="I have given it to them").click()
    expect(copy).to_have_count(0)
    assert token not in page.content()
    row = page.get_by_role("row", name="dora")
    expect(row).to_contain_text("0.5")
    expect(row).to_contain_text("names a price each time")
    row.get_by_role("button", name="Shut out dora").click()
    page.get_by_label("Type dora to go on").fill("dora")
    page.get_by_role("button", name="Shut out", exact=True).click()
    expect(row).to_have_count(0)
    with pytest.raises(Refusal):
        Connection(own.url, token).tables()
