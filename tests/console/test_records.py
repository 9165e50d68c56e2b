"""Budget, history, ledger and promise in a real browser: what was paid, shown again free, and checked without us."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import clinic
import pyarrow.parquet as pq
import pytest
from browser import NARROW
from console.conftest import Place, Watched, opened, settled, watched
from playwright.sync_api import Browser, Locator, Page, expect

import discreet as dp
from discreet.curator.custody import Custody
from discreet.curator.significant_digits import measured
from discreet.desk import HOME, Desk
from discreet.ledger import Hold, SqliteLedger
from discreet.mechanisms import SparseVector

GROUPED = "SELECT region, count(*) AS n FROM visits GROUP BY region ORDER BY region"


@pytest.fixture(scope="module")
def clinic_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A home of its own: ann paid three times, beatrix once, and the staff are on hold."""
    with opened(tmp_path_factory.mktemp("records"), "--rate", "200", epsilon=3, delta="1e-8") as place:
        custody = Custody(place.home)
        place.tokens["beatrix"] = custody.let_in("beatrix", "analyst", allowance="0.75")
        rows = clinic.table([(i, "north", "d1", 1.0, clinic.START, False) for i in range(20)])
        custody.add("shifts", rows, clinic.declared(unit="row", population="staff", epsilon=1, max_rows=None))
        SqliteLedger(place.home / "ledger.db", new=False).append(Hold("staff", held=True))
        ann, beatrix = (place.server.connect(place.tokens[name]) for name in ("ann", "beatrix"))
        ann.query(GROUPED, epsilon="0.5")
        ann.query(clinic.COUNT, epsilon="0.1")
        beatrix.query("SELECT sum(cost) AS costs FROM visits", epsilon="0.25")
        ann.query(clinic.COUNT, epsilon="0.3")
        yield place


@pytest.fixture
def visitor(chromium: Browser, clinic_place: Place) -> Iterator[Watched]:
    with watched(chromium, clinic_place, permissions=["clipboard-read", "clipboard-write"]) as found:
        yield found


def shown(visitor: Watched, who: str, path: str) -> Page:
    """A page, after who has signed in and gone there at once."""
    page = visitor.page()
    page.goto(f"{visitor.url}/sign-in?next={path}")
    page.get_by_label("Your token").fill(visitor.tokens[who])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(visitor.url + path)
    settled(page)
    return page


def card(page: Page, name: str) -> Locator:
    return page.locator("section.d-card").filter(has=page.get_by_role("heading", name=name, exact=True))


def spent(place: Place) -> object:
    return Desk(place.home).budgets(HOME)["patient"].spent


# sessions -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_left_of_a_session_stands_with_its_budget(
    chromium: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with opened(tmp_path_factory.mktemp("sessions"), epsilon=500) as place:
        session = place.server.connect(place.tokens["ann"]).open_session(SparseVector.of(400, 100, 2), "visits")
        session.ask("SELECT count(DISTINCT patient) FROM visits")
        with watched(chromium, place) as visitor:
            patient = card(shown(visitor, "ann", "/budget"), "patient")
            row = patient.get_by_role("region", name="Sessions").locator("tbody tr")
            told = f"{session.entry}sparse-vectorann0 hard answers of 2, 1 questions of 1000open"
            expect(row).to_have_text(told)
            page = shown(visitor, "ann", "/history")
            expect(page.locator(".d-asked").first).to_contain_text("a session of sparse-vector")
            expect(page.locator(".d-asked").first).not_to_contain_text("has no answer")


@pytest.mark.slow
def test_a_stream_grows_while_somebody_looks(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    with opened(tmp_path_factory.mktemp("streams"), epsilon=500) as place:
        db = dp.open(place.home)
        stream = db.open_stream("live", unit="patient", horizon=9, by={"region": ["north", "<b>"]}, epsilon=100)
        stream.push({"patient": [1, 2], "region": ["north", "north"]})
        with watched(chromium, place) as visitor:
            page = shown(visitor, "ann", "/budget")
            live = page.get_by_role("region", name="Stream live")
            expect(live).to_contain_text("1 of 9 steps, open. Protected are all rows of one patient")
            expect(live.locator(".d-wide-picture polyline")).to_have_count(2)
            expect(live).to_contain_text("Rows in which region is NULL or none of the declared keys are left out")
            width = live.get_by_label("Only the last so many steps")
            width.fill("1")
            expect(live).to_contain_text("Counts of the last 1 steps of live")
            stream.push({"patient": [3], "region": ["north"]})
            expect(live).to_contain_text("2 of 9 steps, open", timeout=30_000)
            expect(live).to_contain_text("Counts of the last 1 steps of live")
            expect(width).to_have_value("1")


# budget ---------------------------------------------------------------------------------------------------------------


def test_an_analyst_sees_the_budget_and_of_the_others_only_the_sum(visitor: Watched) -> None:
    page = shown(visitor, "ann", "/budget")
    patient, staff = card(page, "patient"), card(page, "staff")
    expect(patient.locator(".d-big")).to_have_text("1.85left of 3")
    expect(patient.locator(".d-legend")).to_have_text(re.compile("You spent0.9Others together0.25Left1.85"))
    expect(patient.locator(".d-reach li").nth(0)).to_contain_text(
        "about 30more questions at the usual price(price 0.06"
    )
    expect(patient.locator(".d-reach li").nth(1)).to_contain_text("about 6more questions like your last one(price 0.3")
    expect(patient.get_by_role("img", name="Spending grew to 0.9 of 3")).to_be_visible()
    expect(staff).to_contain_text("Closed")
    expect(staff).to_contain_text("For maintenance. Try again later.")
    assert "hold" not in page.locator("#page").inner_text()
    assert "beatrix" not in page.content()
    expect(page.get_by_role("button", name="Lift the hold")).to_have_count(0)
    page.set_viewport_size(NARROW)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_ones_own_limit_is_shown_and_bounds_what_can_be_asked(visitor: Watched) -> None:
    patient = card(shown(visitor, "beatrix", "/budget"), "patient")
    expect(patient).to_contain_text("Left for you0.5")
    expect(patient.locator(".d-reach li").nth(0)).to_contain_text("about 8")  # of 0.06 each in 0.5, not in 1.85


@pytest.mark.slow
def test_a_custodian_sees_who_spent_what_and_lifts_a_hold(visitor: Watched, clinic_place: Place) -> None:
    page = shown(visitor, "cleo", "/budget")
    rows = card(page, "patient").locator("tbody tr")
    expect(rows).to_have_text([re.compile("ann0.9none"), re.compile("beatrix0.250.75")])
    staff = card(page, "staff")
    expect(staff.locator(".d-badge")).to_have_text("On hold")
    staff.get_by_role("button", name="Lift the hold").click()
    page.get_by_role("button", name="Not yet").click()
    assert Desk(clinic_place.home).accounts(HOME)["staff"].held
    staff.get_by_role("button", name="Lift the hold").click()
    page.get_by_role("button", name="Lift it").click()
    expect(card(page, "staff").locator(".d-badge")).to_have_text("Open")
    assert not Desk(clinic_place.home).accounts(HOME)["staff"].held


# history --------------------------------------------------------------------------------------------------------------


def test_what_was_paid_is_found_and_shown_again_free(visitor: Watched, clinic_place: Place) -> None:
    page, before = shown(visitor, "ann", "/history"), spent(clinic_place)
    cards = page.get_by_role("article")
    expect(cards).to_have_count(2)
    expect(cards.nth(0)).to_contain_text("Price 0.4")  # in two payments
    cards.nth(0).get_by_text("2 payments").click()
    expect(cards.nth(0).locator("tbody tr")).to_have_count(2)
    assert "beatrix" not in page.content()
    page.get_by_label("Find").fill("GROUP region")
    expect(page.get_by_role("status")).to_have_text("1 question")
    expect(cards).to_have_count(1)
    cards.nth(0).get_by_role("button", name="Show again").click()
    told = Desk(clinic_place.home).shown(HOME, GROUPED, {})
    numbers = [measured(row[1], spans[1]) for row, spans in zip(told.rows, told.spans, strict=True)]
    cells = cards.nth(0).get_by_role("region", name="The answer").locator("tbody tr")
    expect(cells).to_have_text([f"{row[0]}{n} {give}" for row, (n, give) in zip(told.rows, numbers, strict=True)])
    link = cards.nth(0).get_by_role("link", name="Ask again")
    assert link.get_attribute("href") == f"/ask?sql={quote(GROUPED, safe='')}"
    assert spent(clinic_place) == before


def test_answers_are_taken_along_with_their_citation(visitor: Watched, clinic_place: Place, tmp_path: Path) -> None:
    page, before = shown(visitor, "ann", "/history"), spent(clinic_place)
    first = page.get_by_role("article").nth(1)
    with page.expect_download() as taken:
        first.get_by_role("button", name="Download CSV with a citation").click()
    taken.value.save_as(tmp_path / "answer.zip")
    with zipfile.ZipFile(tmp_path / "answer.zip") as made:
        rows = list(csv.reader(io.StringIO(made.read("answer.csv").decode())))
        body = json.loads(made.read("citation.json"))
    told = Desk(clinic_place.home).shown(HOME, GROUPED, {}).rows
    assert [row[:2] for row in rows[1:]] == [[str(cell) for cell in row] for row in told]
    assert (body["guarantee"], body["head"]["root"]) == ("epsilon 0.5", Desk(clinic_place.home).head(HOME).root)
    with page.expect_download() as taken:
        first.get_by_role("button", name="Download Parquet with a citation").click()
    taken.value.save_as(tmp_path / "answer.parquet")
    table = pq.read_table(tmp_path / "answer.parquet")
    assert json.loads(table.schema.metadata[b"discreet.citation"])["entries"] == body["entries"]
    assert spent(clinic_place) == before
    assert [each.url for each in visitor.answers if "answer" in each.url] == []  # no address has it, so no cache has


def test_a_custodian_sees_everybodys_questions(visitor: Watched) -> None:
    page = shown(visitor, "cleo", "/history")
    expect(page.get_by_role("article")).to_have_count(3)
    expect(page.get_by_role("article").nth(1)).to_contain_text("by beatrix")


# ledger ---------------------------------------------------------------------------------------------------------------


def test_the_ledger_is_verified_and_its_head_kept(visitor: Watched, clinic_place: Place) -> None:
    page = shown(visitor, "ann", "/ledger")
    expect(page.get_by_text("The newest head is kept outside this home.")).to_be_visible()
    expect(page.get_by_text("witness 1")).to_be_visible()
    page.get_by_role("button", name="Copy: All of it").click()
    expect(page.get_by_role("button", name="Copy: All of it")).to_have_text("Copied")
    head = str(page.evaluate("navigator.clipboard.readText()"))
    assert json.loads(head)["root"] == Desk(clinic_place.home).head(HOME).root
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_role("status")).to_contain_text("The ledger holds.")
    kept = page.get_by_label("The head, as you downloaded or copied it")
    check = page.get_by_role("button", name="Does the ledger go on from it?")
    kept.fill(head)
    check.click()
    expect(page.get_by_text("that you knew on")).to_be_visible()
    kept.fill(head.replace('"size": ', '"size": 1'))
    check.click()
    expect(page.get_by_role("alert")).to_contain_text("is not signed by its key")
    kept.fill("a poem")
    check.click()
    expect(page.get_by_role("alert")).to_contain_text("This is not a ledger head")


def test_a_proof_is_checked_without_the_home(visitor: Watched, clinic_place: Place, tmp_path: Path) -> None:
    mine, theirs = (
        next(each for each in Desk(clinic_place.home).history(HOME) if each.principal == name)
        for name in ("ann", "beatrix")
    )
    page = shown(visitor, "ann", "/history")
    page.get_by_role("article").nth(0).get_by_role("link", name="Proof").click()
    page.wait_for_url(f"**/ledger?entry={mine.answer}")
    expect(page.get_by_text(f"Entry {mine.answer} is in the ledger.")).to_be_visible()
    for button in page.get_by_role("button", name=re.compile("^Download (receipt|its head)")).all():
        with page.expect_download() as taken:
            button.click()
        taken.value.save_as(tmp_path / taken.value.suggested_filename)
    (receipt,), (head,) = tmp_path.glob("receipt-*.json"), tmp_path.glob("head-*.json")
    assert f"discreet ledger check {receipt.name} --head {head.name}" in page.locator("#page").inner_text()
    command = [sys.executable, "-m", "discreet", "ledger", "check", receipt.name, "--head", head.name]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert f'"number":{mine.answer}' in said.stdout
    page.get_by_label("Entry", exact=True).fill(str(theirs.entry))
    page.get_by_role("button", name="Prove it").click()
    expect(page.get_by_role("alert")).to_contain_text(f"Entry {theirs.entry} is not yours to read.")
    page.get_by_label("Entry", exact=True).fill("999999")
    page.get_by_label("Entry", exact=True).press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("There is no entry 999999.")


# promise --------------------------------------------------------------------------------------------------------------


def test_everybody_reads_what_is_promised_and_moves_the_slider(visitor: Watched) -> None:
    page = visitor.page()
    page.goto(f"{visitor.url}/sign-in")
    page.get_by_role("link", name=re.compile("What is promised")).click()
    expect(page.locator("#p-count")).to_have_text("96")  # at the price of 3 that holds here
    assert page.locator("#p-after .p-on").count() == 96
    slider = page.get_by_role("slider")
    slider.fill("1")
    expect(page.locator("#p-count")).to_have_text("74")
    assert page.locator("#p-after .p-on").count() == 74
    slider.press("End")
    expect(page.locator("#p-count")).to_have_text("more than 99")
    slider.press("Home")
    expect(page.locator("#p-count")).to_have_text("50")
    page.get_by_role("button", name="Back to the limit that holds here").click()
    expect(page.locator("#p-count")).to_have_text("96")
    page.set_viewport_size(NARROW)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.slow
def test_the_script_and_the_server_say_the_same(visitor: Watched) -> None:
    page = shown(visitor, "ann", "/promise")
    expect(page.locator("#p-real")).to_have_text("The limit that holds for patient is price 3.")
    for row in page.locator(".p-table tbody tr").all():
        price, told = row.locator("td").all_inner_texts()
        page.get_by_role("slider").fill(price.removeprefix("price "))
        expect(page.locator("#p-count")).to_have_text(told.removesuffix(" of 100"))
    page.get_by_label("Whose data?").select_option("staff")
    expect(page.locator("#p-count")).to_have_text("74")
    expect(page.locator("#p-real")).to_have_text("The limit that holds for staff is price 1.")
    assert page.title() == "What is promised · discreet"


# in the end, because it changes the rows ------------------------------------------------------------------------------


def test_after_new_rows_nothing_old_is_shown_and_nothing_is_paid(visitor: Watched, clinic_place: Place) -> None:
    Custody(clinic_place.home).update("visits", clinic.visits(seed=2))
    page, before = shown(visitor, "ann", "/history"), spent(clinic_place)
    first = page.get_by_role("article").nth(0)
    for name in ("Show again", "Download CSV with a citation"):
        first.get_by_role("button", name=name).click()
        expect(first.get_by_role("alert")).to_contain_text(
            "This was not bought before, or its tables have changed since."
        )
    assert spent(clinic_place) == before
