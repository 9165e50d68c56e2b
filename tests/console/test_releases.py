"""Releases in a real browser: built, tried on made-up rows, published, read, taken along and checked without us."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from urllib.parse import quote

import clinic
import pytest
from browser import NARROW
from console.conftest import Place, Watched, opened, settled, watched
from playwright.sync_api import Browser, Page, expect
from starlette.responses import Response

from discreet.console import downloads
from discreet.console.history import grouped
from discreet.console.prices import PriceWish
from discreet.console.release_builder import quoted
from discreet.console.release_form import ReleaseDraft, choices
from discreet.curator.custody import Custody
from discreet.desk import HOME, Desk, ReleaseOrder, Visitor
from discreet.errors import OverBudget, Refusal
from discreet.privacy import Approximate, Concentrated
from discreet.release import Wish
from discreet.release.folder import checked

COSTS = ReleaseOrder.of(
    "visits", Wish.of("histogram", ("cost",), epsilon="0.2", bins={"cost": 10}, max_rows=3), "Costs"
)
PLAN = ReleaseDraft("visits", ("cost",), by_column={"cost": "10"}, max_rows="3")


@pytest.fixture(scope="module")
def clinic_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A home with two tables: ann may ask about both, bob about the shifts alone."""
    with opened(tmp_path_factory.mktemp("releases"), "--rate", "200", epsilon=3, delta="1e-8") as place:
        custody = Custody(place.home)
        custody.add("shifts", clinic.visits(5), clinic.declared(population="staff", epsilon=1, max_rows=2))
        place.tokens["bob"] = custody.let_in("bob", "analyst", tables=["shifts"])
        yield place


@pytest.fixture
def visitor(chromium: Browser, clinic_place: Place) -> Iterator[Watched]:
    with watched(chromium, clinic_place) as found:
        yield found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(clinic.home(tmp_path / "home", epsilon=3, delta="1e-6"))


def spent(place: Place) -> object:
    found = Desk(place.home).budgets(HOME)["patient"].spent
    assert isinstance(found, Approximate)
    return found.epsilon


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


# what somebody has in mind --------------------------------------------------------------------------------------------


def test_only_what_is_declared_can_be_chosen_and_the_others_say_why() -> None:
    found = {each.name: each for each in choices(clinic.schema().table("visits"))}
    assert [name for name, each in found.items() if not each.refused] == ["region", "cost", "urgent"]
    assert [name for name, each in found.items() if each.number] == ["cost"]
    assert found["patient"].refused == "It says whose a row is."
    assert found["day"].refused == "Neither bounds nor keys are declared."


def test_of_synthetic_rows_keys_of_text_are_found_unless_something_else_is_said() -> None:
    found = {each.name: each for each in choices(clinic.schema().table("visits"), "synthetic")}
    assert [name for name, each in found.items() if each.usual == "found"] == ["diagnosis"]
    assert found["patient"].refused == "It says whose a row is."
    assert found["region"].usual == ""
    assert [each.usual for each in choices(clinic.schema().table("visits"), "marginals")] == [""] * len(found)


def test_a_plan_says_what_a_wish_says() -> None:
    plan = ReleaseDraft(
        "visits", ("region", "urgent"), "marginals", {"cost": "7"}, "who comes", "4", {"ways": "1", "delta": "1e-9"}
    )
    wish = Wish.of("marginals", ("region", "urgent"), epsilon="0.5", delta="1e-9", ways=1, max_rows=4)
    assert plan.order(Fraction(1, 2), Approximate(3, "1e-6")) == ReleaseOrder.of("visits", wish, "who comes")
    assert PLAN.order(Fraction(1, 2), Concentrated(1)).wish.rho == "0.5"
    assert PLAN.with_column("region", wanted=True, among=["region", "cost"]).columns == ("region", "cost")
    assert PLAN.with_column("cost", wanted=False, among=["region", "cost"]).columns == ()


@pytest.mark.parametrize(
    ("plan", "where"),
    [
        (ReleaseDraft("visits", ("cost",), by_column={"cost": "many"}), "cost"),
        (ReleaseDraft("visits", ("cost",), by_column={"cost": "0:5000:10"}), "cost"),
        (ReleaseDraft("visits", ("cost",), by_column={"cost": str(10**9)}), "cost"),
        (ReleaseDraft("visits", ("cost",), max_rows="none"), "max_rows"),
        (ReleaseDraft("visits", ("cost", "urgent"), "marginals", parts={"ways": "5"}), "ways"),
        (ReleaseDraft("visits", ("cost", "urgent"), "marginals", parts={"delta": "2"}), "delta"),
        (ReleaseDraft("visits", ("cost",), parts={"method": "quadtree"}), "method"),
        (ReleaseDraft("visits", ("cost", "urgent", "region")), ""),
        (ReleaseDraft("visits", ("cost",), "marginals"), ""),
        (ReleaseDraft("visits"), ""),
        (ReleaseDraft("wards", ("beds",)), ""),
    ],
)
def test_a_refusal_stands_beside_its_field_and_is_free(desk: Desk, plan: ReleaseDraft, where: str) -> None:
    with pytest.raises(Refusal) as raised:
        quoted(desk, HOME, plan, PriceWish())
    field = raised.value.field
    assert (field if plan.says(field) else "") == where
    assert desk.history(HOME) == []


def test_what_is_quoted_is_what_is_charged_and_what_was_bought_is_free(desk: Desk) -> None:
    found = quoted(desk, HOME, PLAN, PriceWish())
    assert found.tag.price == found.tag.due == Approximate("0.3")  # a tenth of the budget
    assert (found.cells, found.tables, found.shape) == (10, 1, "10 cells")
    assert found.tag.columns == (("one cell", Fraction(30)),)  # Laplace noise of scale 3/0.3, 95 times in 100
    assert found.entry is None
    listed = desk.published(HOME, found.order)
    again = quoted(desk, HOME, PLAN, PriceWish())
    assert listed.loss == found.tag.due
    assert (again.entry, again.tag.due, again.tag.bought) == (listed.entry, None, True)
    dear = quoted(desk, HOME, PLAN, PriceWish(price=Fraction(5)))
    assert dear.tag.over
    with pytest.raises(OverBudget):
        desk.published(HOME, dear.order)


@pytest.mark.parametrize("changes", [{}, {"epsilon": None, "rho": 1, "delta": None}])
@pytest.mark.parametrize("kind", ["histogram", "marginals"])
def test_who_names_an_error_gets_a_price_for_it(tmp_path: Path, changes: dict[str, object], kind: str) -> None:
    desk = Desk(clinic.home(tmp_path / "home", **changes))
    plan = ReleaseDraft("visits", ("region", "urgent"), kind, max_rows="3")
    for error in (Fraction(4), Fraction(400)):
        found = quoted(desk, HOME, plan, PriceWish(error=error))
        assert found.tag.error is not None
        assert error * Fraction(6, 10) <= found.tag.error <= error


def test_who_names_an_error_that_is_known_after_paying_is_told_so(desk: Desk) -> None:
    plan = ReleaseDraft("visits", ("cost",), "ranges", max_rows="3")
    assert quoted(desk, HOME, plan, PriceWish()).tag.columns == (("any count", None),)
    with pytest.raises(Refusal, match="known after paying"):
        quoted(desk, HOME, plan, PriceWish(error=Fraction(19)))


def test_what_becomes_of_rows_in_no_cell_is_chosen_in_the_form_and_told(desk: Desk) -> None:
    plan = ReleaseDraft("visits", ("region", "urgent"), "marginals", max_rows="3")
    usual = quoted(desk, HOME, plan, PriceWish())
    left = quoted(desk, HOME, replace(plan, parts={"outside": "leave out"}), PriceWish())
    assert usual.cells == 12 > left.cells == 6
    assert "counted as (other), in every table" in usual.tag.plan[-1]
    assert "left out of everything" in left.tag.plan[-1]


# pictures, files, receipts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wish", "marks"),
    [
        (Wish.of("histogram", ("region",), epsilon=1), 3),
        (Wish.of("histogram", ("cost",), epsilon=1, bins={"cost": 500}), 46),
        (Wish.of("histogram", ("region", "cost"), epsilon=1, bins={"cost": 100}), 3 * 34),
        (Wish.of("marginals", ("region", "urgent", "cost"), epsilon=1, ways=3), 4 * 3),
    ],
)
def test_a_stamp_is_small_whatever_the_release(desk: Desk, wish: Wish, marks: int) -> None:
    drawn = desk.rehearsed(HOME, ReleaseOrder.of("visits", wish)).thumbnail()
    assert drawn.count("<rect") == marks
    assert len(drawn) < 60_000
    assert 'aria-hidden="true"' in drawn


def test_files_are_those_of_the_certificate_and_nothing_else(desk: Desk, tmp_path: Path) -> None:
    entry = desk.published(HOME, COSTS).entry
    certificate = downloads.certified(desk, HOME, entry)
    assert list(downloads.contents(certificate)) == ["certificate.json", "cells.parquet", "index.html", "release.json"]
    for name in downloads.contents(certificate):
        said = downloads.release_response(desk, HOME, downloads.release_address(entry, name))
        assert said.headers["content-disposition"] == f'attachment; filename="{name}"'
    unpacked(downloads.release_response(desk, HOME, downloads.release_address(entry)), tmp_path)
    assert checked(tmp_path / f"release-{entry}")  # else it refuses
    for path in ("other.json", "../ledger.db", f"release-{entry + 1}.zip", "certificate.JSON", "", "a/b.json"):
        with pytest.raises(Refusal):
            downloads.release_response(desk, HOME, f"/published/{entry}/{path}")
    with pytest.raises(Refusal):
        downloads.release_response(desk, HOME, downloads.release_address(entry - 1, "certificate.json"))


def unpacked(said: Response, folder: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(bytes(said.body))) as archive:
        archive.extractall(folder)


def test_a_payment_for_a_release_is_no_question(desk: Desk) -> None:
    desk.asked(HOME, clinic.COUNT, {"epsilon": "0.1"})
    listed = [
        desk.published(HOME, order)
        for order in (COSTS, ReleaseOrder(COSTS.sql, Wish.of("ranges", ("cost",), epsilon=1)))
    ]
    latest, first, question = grouped(desk.history(HOME))  # of the same rows, and yet two
    assert [latest.latest.answer, first.latest.answer] == [listed[1].entry, listed[0].entry]
    assert [each.release for each in (latest, first, question)] == ["", "Costs", None]
    assert [each.is_question for each in (latest, first, question)] == [False, False, True]
    assert first.holds("costs")
    assert not question.holds("costs")


# in the browser -------------------------------------------------------------------------------------------------------


def priced(page: Page, price: str) -> None:
    field = page.get_by_label("Price", exact=True)
    field.fill(price)
    field.press("Enter")


def test_a_release_is_built_tried_published_read_and_checked(
    visitor: Watched, clinic_place: Place, tmp_path: Path
) -> None:
    page, before = visitor.signed_in("ann", "/releases?new=1"), spent(clinic_place)
    publish = page.get_by_role("button", name=re.compile("^Publish"))
    expect(publish).to_be_disabled()
    expect(page.get_by_role("checkbox", name="diagnosis")).to_be_disabled()
    box = page.get_by_role("checkbox", name="cost")
    box.focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("50 cells")).to_be_visible()
    bins = page.get_by_label("Bins of cost")
    bins.fill("7000000")
    expect(page.locator(".d-pick-column", has=box)).to_contain_text("Take at most")  # beside the field
    expect(publish).to_be_disabled()
    page.get_by_role("button", name="Use the usual").click()
    expect(page.get_by_text("50 cells")).to_be_visible()
    bins.fill("20")
    expect(page.get_by_text("20 cells")).to_be_visible()
    page.get_by_label("Rows of one person that count at most").fill("3")
    page.get_by_label("Name of the release").fill("What <b>visits</b> cost")
    priced(page, "7")
    expect(page.get_by_role("alert")).to_contain_text("This costs 7, and the budget “patient” has 3 left for you.")
    expect(publish).to_be_disabled()
    priced(page, "0.5")
    expect(publish).to_have_text("Publish · pays 0.5")
    expect(page.locator(".d-expects")).to_have_text("one cell± 18")
    page.get_by_role("button", name="Try on made-up rows").click()
    preview = page.get_by_label("Preview of made-up rows")
    expect(preview.get_by_role("note")).to_contain_text("made up from what is declared")
    expect(preview.locator(".d-wide-picture svg line.error")).to_have_count(20)
    priced(page, "0.6")
    expect(preview).to_have_count(0)  # it had the noise of another price
    priced(page, "0.5")
    expect(publish).to_have_text("Publish · pays 0.5")
    assert spent(clinic_place) == before
    publish.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This pays 0.5 of the budget “patient”, of which 2.5 is left then.")
    expect(dialog.get_by_role("button", name="Not yet")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert spent(clinic_place) == before
    publish.click()
    page.get_by_role("dialog").get_by_role("button", name="Publish · pays 0.5").click()
    page.wait_for_url("**/releases?entry=*")
    settled(page)
    assert spent(clinic_place) == before + Fraction(1, 2)  # type: ignore[operator]
    read(page)
    taken(page, tmp_path)


def read(page: Page) -> None:
    """The release on its page: its name as text, pictures, free questions."""
    expect(page.get_by_role("heading", name="What <b>visits</b> cost")).to_be_visible()
    expect(page.locator(".d-wide-picture svg rect")).to_have_count(20)
    page.get_by_label("Show").click()
    page.get_by_role("option", name="Records up to each cost").click()
    expect(page.locator(".d-wide-picture svg polyline")).to_have_count(1)
    page.get_by_text("As a table").click()
    expect(page.get_by_role("region", name="The counts").locator("tbody tr")).to_have_count(20)
    page.get_by_label("cost from").fill("100")
    page.get_by_label("cost to before").fill("210")
    page.get_by_label("cost to before").press("Enter")
    result = page.locator(".d-read").nth(0)
    expect(result).to_contain_text(re.compile(r"[\d,]+ ?records"))
    expect(result).to_contain_text("No error bar")
    expect(result).to_contain_text("The range of cost cuts through a bin")
    page.get_by_label("cost to before").fill("200")
    page.get_by_label("cost to before").press("Enter")
    expect(result).to_contain_text(re.compile(r"[\d,]+ ?± [\d,]+ ?records"))
    page.get_by_label("cost from").fill("5000")
    expect(result).to_have_text("")  # what was counted is of other values
    page.get_by_role("button", name="Count").click()
    expect(result.get_by_role("alert")).to_contain_text("5000 is outside what was released")
    page.get_by_role("button", name="Find the value").click()
    expect(page.locator(".d-read").nth(1)).to_contain_text(re.compile("The truth lies from [0-9]"))
    expect(page.locator("#page")).to_contain_text("right 50 times in 100")


def taken(page: Page, folder: Path) -> None:
    """What anybody checks without us."""
    with page.expect_download() as coming:
        page.get_by_role("link", name="Download everything").click()
    name = coming.value.suggested_filename
    coming.value.save_as(folder / name)
    with zipfile.ZipFile(folder / name) as archive:
        archive.extractall(folder)
    assert checked(folder / name.removesuffix(".zip"))  # else it refuses
    expect(page.locator("#page")).to_contain_text(f"discreet release verify {name.removesuffix('.zip')}")
    with page.expect_download() as coming:
        page.get_by_role("link", name="cells.parquet").click()
    assert coming.value.suggested_filename == "cells.parquet"


def test_who_may_not_ask_about_a_table_sees_none_of_its_releases(visitor: Watched, clinic_place: Place) -> None:
    desk = Desk(clinic_place.home)
    ann = desk.bearer(clinic_place.tokens["ann"])
    assert ann is not None
    entry = desk.published(ann, COSTS).entry
    page = visitor.signed_in("bob", "/releases")
    expect(page.get_by_text("Nothing is published yet.")).to_be_visible()
    page.goto(f"{visitor.url}/releases?entry={entry}")
    expect(page.get_by_role("alert")).to_contain_text(f"There is no release {entry}, or none of yours to read.")
    assert "Costs" not in page.content()
    for name in ("certificate.json", f"release-{entry}.zip"):
        assert visitor.context.request.get(visitor.url + downloads.release_address(entry, name)).status == 404
    page = visitor.signed_in("ann", "/history")  # who paid finds it in the history
    page.get_by_label("Find").fill("costs")
    expect(page.get_by_role("button", name="Show again")).to_have_count(0)
    mine = page.get_by_role("article").filter(has_text="Release: Costs").get_by_role("link", name="Open the release")
    expect(mine).to_have_attribute("href", f"/releases?entry={entry}")
    page.goto(f"{visitor.url}/releases?entry={entry}")  # a click could meet a list that is just drawn anew
    expect(page.get_by_role("heading", name="Costs", exact=True)).to_be_visible()
    page.get_by_role("link", name="All releases").click()
    expect(page.locator(".d-release", has_text="Costs").locator(".d-stamp svg")).to_be_visible()


def test_strangers_get_no_file_of_a_release(clinic_place: Place) -> None:
    assert clinic_place.server.call("GET", "/published/1/certificate.json").status == 401


@pytest.mark.slow
def test_every_view_fits_a_narrow_screen_in_the_dark(chromium: Browser, clinic_place: Place) -> None:
    desk = Desk(clinic_place.home)
    orders = (
        Wish.of("histogram", ("region", "cost"), epsilon="0.01"),
        Wish.of("marginals", ("region", "urgent", "cost"), epsilon="0.01"),
        Wish.of("ranges", ("cost",), epsilon="0.01"),
    )
    made = [desk.published(HOME, ReleaseOrder.of("visits", wish, "a" * 120)).entry for wish in orders]
    with watched(chromium, clinic_place, viewport=NARROW, color_scheme="dark") as person:
        page = person.signed_in("cleo", "/releases")
        expect(page.locator(".d-stamp svg").nth(2)).to_be_visible()
        assert fits(page)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 21, 20)"
        for entry in made:
            page.goto(f"{person.url}/releases?entry={entry}")
            settled(page)
            expect(page.locator(".d-narrow-picture svg")).to_be_visible()
            expect(page.locator(".d-wide-picture svg")).to_be_hidden()
            assert fits(page)
        page.goto(f"{person.url}/releases?new=1")
        settled(page)
        page.get_by_role("radio", name="Tables").check()
        page.get_by_role("checkbox", name="region").check()
        page.get_by_role("checkbox", name="urgent").check()
        page.get_by_role("button", name="Try on made-up rows").click()
        expect(page.get_by_label("Preview of made-up rows")).to_be_visible()
        assert fits(page)


@pytest.mark.slow
def test_a_custodian_makes_a_released_table_public_and_it_is_asked_free(visitor: Watched, clinic_place: Place) -> None:
    entry, before = Desk(clinic_place.home).published(HOME, COSTS).entry, spent(clinic_place)
    page = visitor.signed_in("cleo", f"/releases?entry={entry}")
    page.get_by_label("Its name in SQL").fill("costs of visits")
    page.get_by_role("button", name="Make it public").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was changed.")
    page.get_by_label("Its name in SQL").fill("costs")
    page.get_by_role("button", name="Make it public").click()
    expect(page.get_by_text("costs is a public table now.")).to_be_visible()
    ann = Desk(clinic_place.home).bearer(clinic_place.tokens["ann"])
    assert isinstance(ann, Visitor)
    assert Desk(clinic_place.home).asked(ann, "SELECT sum(count) AS n FROM costs", {}).cost is None
    assert spent(clinic_place) == before


def test_an_address_that_makes_no_sense_leads_to_the_list(visitor: Watched) -> None:
    page = visitor.signed_in("ann", f"/releases?entry={quote('1 or 1')}")
    expect(page.get_by_role("link", name="Make a release")).to_be_visible()
