"""Ask in a real browser: price while typing, paying once, errors that are seen, refusals that are repaired."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from browser import NARROW
from console.conftest import Place, Watched, opened, settled, watched, write
from playwright.sync_api import Browser, Page, expect

from discreet.curator import Curator

PER_REGION = "SELECT region, count(*) AS n FROM visits GROUP BY region"


@pytest.fixture(scope="module")
def clinic_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    limits = {"epsilon": 3, "delta": "1e-6", "max_rows": 20, "max_groups": 3, "describe": {"cost": "in <i>euros</i>"}}
    with opened(tmp_path_factory.mktemp("ask"), "--rate", "200", **limits) as found:
        yield found


@pytest.fixture
def asker(chromium: Browser, clinic_place: Place) -> Iterator[Watched]:
    with watched(chromium, clinic_place, permissions=["clipboard-read", "clipboard-write"]) as found:
        yield found


def payments(place: Place) -> int:
    return len(Curator(place.home).history(everybody=True))


def button(page: Page, text: str) -> None:
    """When the button that asks says this."""
    expect(page.locator(".d-main-button")).to_have_text(text)


def figures(page: Page) -> list[str]:
    return page.locator(".d-figure-value").all_inner_texts()


def test_a_question_is_priced_as_it_is_written_and_paid_once(asker: Watched, clinic_place: Place) -> None:
    page, before = asker.signed_in("ann"), payments(clinic_place)
    expect(page.get_by_text("Your answer comes here.")).to_be_visible()
    shelf = page.get_by_label("Tables", exact=True)
    expect(shelf).to_contain_text("One person is one patient.")
    expect(shelf).to_contain_text("double · 0 to 1000")
    expect(shelf).to_contain_text("in <i>euros</i>")  # as text
    page.wait_for_selector(".d-editor[data-ready]")
    page.get_by_label("SQL", exact=True).click()
    page.keyboard.type("SELECT reg")
    page.locator(".cm-tooltip-autocomplete li", has_text="region").first.wait_for()
    page.keyboard.press("Escape")
    page.get_by_label("SQL", exact=True).press("Control+A")
    page.keyboard.insert_text("SELECT count(*) AS n FROM ")
    shelf.get_by_role("button", name="visits").click()
    expect(page.get_by_label("SQL", exact=True)).to_have_text("SELECT count(*) AS n FROM visits")
    button(page, "Ask · pays 0.06")
    assert figures(page) == ["0.06", "2.94", "about 49"]
    expect(page.locator(".d-expects")).to_have_text(re.compile(r"n\s*± 1,000"))
    assert payments(clinic_place) == before  # so far everything was free

    page.locator(".d-main-button").dblclick()
    expect(page.get_by_label("Answer", exact=True)).to_contain_text("Paid 0.06. 2.94 is left of the budget.")
    expect(page.get_by_label("Answer", exact=True)).to_contain_text("They do not cover what is left out before it")
    assert payments(clinic_place) == before + 1
    button(page, "Ask · free")
    expect(page.get_by_text("you have this already")).to_be_visible()
    expect(page.locator(".d-single .d-error")).to_have_text(re.compile(r"± 1,0[01]0"))  # with what rounding takes
    assert page.locator(".d-single .d-dot").count() == page.locator(".d-single .d-whisker").count() == 1
    page.get_by_role("button", name="99%").click()
    expect(page.locator(".d-single .d-error")).to_have_text("± 1,600")  # 333 ln 100 = 1535, rounded up
    button(page, "Ask · free")
    page.get_by_label("SQL", exact=True).press("Control+Enter")
    expect(page.get_by_label("Answer", exact=True)).to_contain_text("Free.")
    assert payments(clinic_place) == before + 1
    expect(page.get_by_role("link", name="See it in History")).to_have_attribute("href", "/history")


def test_an_answer_has_error_bars_a_table_and_a_file(asker: Watched, clinic_place: Place) -> None:
    page = asker.signed_in("ann")
    write(page, 'SELECT region, count(*) AS n, avg(cost) AS "<b>mean</b>" FROM visits GROUP BY region ORDER BY region')
    button(page, "Ask · pays 0.06")
    expect(page.locator(".d-expects").last).to_have_text(re.compile(r"<b>mean</b>\s*known after paying"))
    before = payments(clinic_place)
    page.get_by_role("button", name="Try it on made-up data").click()
    made_up = page.get_by_label("Answer", exact=True)
    expect(made_up).to_contain_text("These rows were made up from what is declared.")
    expect(made_up).not_to_contain_text("Paid")
    assert payments(clinic_place) == before
    page.get_by_label("SQL", exact=True).press("Control+Enter")
    expect(page.get_by_role("heading", name="Answer", exact=True)).to_be_visible()
    answer = page.get_by_label("Answer", exact=True)
    expect(answer.locator(".d-bar-label")).to_have_text(["east", "north", "south"])
    assert answer.locator(".d-whisker").count() == 3
    expect(answer.locator("th")).to_have_text(["region", "n", "give or take", "<b>mean</b>", "give or take"])
    assert answer.locator("tbody tr").count() == 3
    expect(answer.locator("tbody td.d-give").first).to_have_text(re.compile(r"^± [\d,]+$|^.+ to .+$"))
    answer.get_by_label("Show").click()
    page.get_by_role("option", name="<b>mean</b>").click()
    expect(answer.locator("figcaption")).to_have_text("<b>mean</b>")
    calls = len(clinic_place.server.lines())
    with page.expect_download() as file:
        page.get_by_role("button", name="Download as CSV").click()
    assert clinic_place.server.lines()[calls]["method"] == "WS"  # made in a thread
    text = Path(file.value.path()).read_text()
    assert text.startswith("region,n,n low 95%,n high 95%,<b>mean</b>,")
    assert len(text.splitlines()) == 4
    assert file.value.suggested_filename.startswith("answer-")


def test_a_refusal_marks_its_place_and_is_repaired(asker: Watched, clinic_place: Place) -> None:
    page, before = asker.signed_in("ann"), payments(clinic_place)
    write(page, 'SELECT count(*) AS "🙂", sum(urgent) AS s FROM visits')
    expect(page.locator(".d-wrong-part")).to_have_text("urgent")
    expect(page.locator(".d-hint:not(.d-earlier)")).to_contain_text("is true or false, and only numbers can be summed")
    expect(page.get_by_role("alert")).to_have_count(0)  # nobody has asked yet
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("Nothing was charged.")
    expect(page.locator(".d-wrong-part")).to_have_text("urgent")
    page.get_by_role("button", name="Use the repaired question").click()
    expect(page.get_by_label("SQL", exact=True)).to_contain_text("CASE WHEN urgent THEN 1 ELSE 0 END")
    button(page, "Ask · pays 0.06")
    expect(page.locator(".d-wrong-part")).to_have_count(0)
    write(page, "SELECT * FROM visits")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("This question would return rows of people")
    expect(page.get_by_label("SQL", exact=True)).to_have_text("SELECT * FROM visits")
    write(page, " ")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("There is no question yet.")
    assert payments(clinic_place) == before


@pytest.mark.slow
def test_price_and_accuracy_follow_each_other_to_the_end_of_the_budget(chromium: Browser, tmp_path: Path) -> None:
    limits = {"epsilon": 1, "delta": "1e-6", "max_rows": 20, "max_groups": 3}
    with opened(tmp_path, "--rate", "200", **limits) as place, watched(chromium, place) as ann:
        page = ann.signed_in("ann")
        write(page, PER_REGION)
        button(page, "Ask · pays 0.02")
        price, error = page.get_by_label("Price", exact=True), page.get_by_label("About ±")
        error.fill("100")
        button(page, "Ask · pays 0.597")
        expect(price).to_have_value("0.597")
        expect(error).to_have_value("100")
        page.locator(".d-dial .q-slider [tabindex]").press("ArrowLeft")
        button(page, "Ask · pays 0.5")
        expect(price).to_have_value("0.5")
        expect(error).to_have_value("120")
        price.fill("nothing")
        expect(page.get_by_text("a number above 0")).to_be_visible()
        price.fill("1e-25")
        page.get_by_role("button", name="Use the usual price").click()
        button(page, "Ask · pays 0.02")
        price.fill("0.8")
        button(page, "Ask · pays 0.8")
        expect(error).to_have_value("75")
        page.get_by_label("SQL", exact=True).click()
        page.keyboard.press("Control+Enter")
        expect(page.get_by_label("Answer", exact=True)).to_contain_text("Paid 0.8. 0.2 is left of the budget.")
        button(page, "Ask · free")

        write(page, f"{PER_REGION} HAVING count(*) > 1".replace("FROM visits", "FROM visits WHERE urgent"))
        expect(page.get_by_role("alert")).to_contain_text(
            "This costs 0.8, and the budget “patient” has 0.2 left for you."
        )
        expect(page.locator(".d-main-button")).to_be_disabled()
        page.get_by_role("button", name="Use what is left: 0.2").click()
        button(page, "Ask · pays 0.2")
        expect(page.get_by_role("alert")).to_have_count(0)
        page.locator(".d-main-button").click()
        expect(page.get_by_label("Answer", exact=True)).to_contain_text("Paid 0.2. 0 is left of the budget.")
        page.get_by_role("button", name="Usual price").click()
        button(page, "Ask · free")
        write(page, "SELECT count(*) AS n FROM visits WHERE cost > 5")
        expect(page.get_by_role("alert")).to_contain_text("Nothing that a question could use is left")
        assert payments(place) == 2


def test_a_link_fills_the_editor_and_asks_nothing(asker: Watched, clinic_place: Place) -> None:
    before = payments(clinic_place)
    sql = 'SELECT count(*) AS n\nFROM visits -- 100 % of them & "more"'
    page = asker.page()
    page.goto(f"{asker.url}/ask?sql={quote(sql)}")
    page.get_by_label("Your token").fill(asker.tokens["ann"])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/ask?sql=*")
    settled(page)
    expect(page.locator(".cm-line")).to_have_text(sql.split("\n"))
    expect(page.locator(".d-main-button")).to_have_text(re.compile("Ask · (pays 0.06|free)"))
    expect(page.get_by_text("Your answer comes here.")).to_be_visible()
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("[data-copied]")).to_be_visible()
    expect(page.locator("[data-copied] .q-icon")).to_be_visible()  # the other pages' buttons change their words
    assert page.evaluate("navigator.clipboard.readText()") == f"{asker.url}/ask?sql={quote(sql, safe='*()')}"
    page.get_by_text("For experts").click()
    expert = page.locator(".d-expert")
    expect(expert).to_contain_text("epsilon 0.06")
    expect(expert).to_contain_text("What is measured")
    expect(expert.locator("pre")).to_contain_text(["curl", "import discreet"])  # psql has no door here
    expert.get_by_label("max_rows").fill("1")
    expect(expert.locator("pre").first).to_contain_text('"max_rows": 1')
    expect(page.locator(".d-expects")).to_have_text(re.compile(r"n\s*± 50"))
    words = page.locator("#page").inner_text().replace(expert.inner_text(), "")
    assert not re.search(r"epsilon|delta|rho|[α-ω]", words)
    assert payments(clinic_place) == before


def test_a_price_that_nobody_saw_is_not_paid(asker: Watched, clinic_place: Place) -> None:
    page, before = asker.signed_in("ann"), payments(clinic_place)
    page.wait_for_selector(".d-editor[data-ready]")
    page.evaluate(
        """sql => {
            const editor = getElement(document.querySelector("[data-names]").id.slice(1)).editor;
            editor.dispatch({changes: {from: 0, to: editor.state.doc.length, insert: sql}});
            document.querySelector(".d-main-button").click();
        }""",
        "SELECT count(*) AS n FROM visits WHERE cost > 7",
    )
    expect(page.get_by_text("This is the price. Look at it, and press Ask again.")).to_be_visible()
    button(page, "Ask · pays 0.06")
    assert payments(clinic_place) == before
    page.locator(".d-main-button").click()
    expect(page.get_by_label("Answer", exact=True)).to_contain_text("Paid 0.06.")
    assert payments(clinic_place) == before + 1
    page.evaluate(
        """() => {
            const sent = socket.emit.bind(socket);
            socket.emit = (name, event) => sent(name, {...event, args: []});
        }"""
    )
    page.locator(".d-dial .q-slider [tabindex]").press("ArrowLeft")
    expect(page.get_by_text("No question was asked; load the page again.")).to_be_visible()


def test_on_a_narrow_screen_everything_fits(asker: Watched) -> None:
    page = asker.page()
    page.set_viewport_size(NARROW)
    page.emulate_media(color_scheme="dark")
    asker.let_in("ann")
    page.goto(f"{asker.url}/ask")
    settled(page)
    page.wait_for_selector(".d-editor[data-ready]")
    expect(page.get_by_role("button", name="patient")).to_be_hidden()
    page.get_by_role("button", name="Tables and columns").click()
    expect(page.get_by_role("button", name="patient")).to_be_visible()
    page.get_by_role("button", name="Tables and columns").click()
    expect(page.get_by_role("button", name="patient")).to_be_hidden()
    page.get_by_role("button", name="Average cost per region").click()
    button(page, "Ask · pays 0.06")
    page.get_by_role("button", name="Try it on made-up data").click()
    expect(page.get_by_role("heading", name="Made-up answer")).to_be_visible()
    page.get_by_text("For experts").click()
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
