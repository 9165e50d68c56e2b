"""Small things that people met at the console: ports, decimals, answers of before, wide tables, wrong addresses."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from console.conftest import Place, Watched, write
from playwright.sync_api import expect
from pyarrow import parquet

from discreet.console import data, expert_details, price_card
from discreet.curator.custody import Custody, Declared

COLUMNS = 30


# the parts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "origin", "at"),
    [
        (("127.0.0.1", 6543), "http://127.0.0.1:8410", ("127.0.0.1", 6543)),
        (("0.0.0.0", 6543), "https://example.org", ("example.org", 6543)),  # noqa: S104
        (("::", 5439), "https://[2001:db8::1]:8410", ("2001:db8::1", 5439)),
        (("db.example.org", 1), "https://example.org:8410", ("db.example.org", 1)),
    ],
)
def test_the_postgres_door_is_named_where_it_is(wire: tuple[str, int], origin: str, at: tuple[str, int]) -> None:
    assert expert_details.reached(wire, origin) == at
    ways = dict(data.connections("ann", origin, wire))
    assert f"host={at[0]} port={at[1]} " in ways["psql; the password is the token"]


def test_a_door_that_is_shut_is_not_named() -> None:
    assert [title for title, _ in data.connections("ann", "http://localhost:8410", None)] == [
        "In a browser",
        "Python",
    ]


def test_a_decimal_is_a_number_and_a_comma_stands_between_thousands() -> None:
    read = {"0.5": "1/2", ".5": "1/2", "12": "12", "1,500": "1500", "1,234,567.5": "2469135/2", " 3 ": "3"}
    assert {text: str(price_card._number(text)) for text in read} == read
    for wrong in ("0,5", "1,50", ",5", "0", "-1", "x", "", None):
        assert price_card._number(wrong) is None
    assert all(price_card._begun(text) for text in ("0", "0.", "0.0", "."))
    assert not any(price_card._begun(text) for text in ("0,5", "x", "-1"))


def test_the_field_keeps_the_error_that_somebody_wished_for() -> None:
    """A count that is exact in nearly all cases has the error 0, which the field then refused as no number."""
    assert price_card._exact(Fraction(0), Fraction(1, 2)) == "0.5"
    assert price_card._exact(Fraction(3), Fraction(1, 2)) == "3.0"
    assert price_card._exact(Fraction(1234), None) == "1300"  # what is shown covers


# the pages ------------------------------------------------------------------------------------------------------------


def test_snippets_name_the_port_of_the_server(person: Watched, place: Place) -> None:
    page = person.signed_in("ann")
    write(page, "SELECT count(*) AS n FROM visits")
    page.get_by_text("For experts").first.click()
    shown = page.locator(".d-snippet", has_text="psql").locator("pre")
    expect(shown).to_contain_text(f"port={place.server.pg} ")
    assert "5439" not in page.locator(".d-expert").inner_text()


def test_an_answer_of_before_says_so_as_soon_as_the_question_is_another(person: Watched) -> None:
    page, asked = (
        person.signed_in("ann"),
        "SELECT count(*) AS n FROM visits WHERE cost > 11",
    )  # nobody asks it elsewhere
    write(page, asked)
    expect(page.locator(".d-main-button")).to_contain_text("pays")
    page.locator(".d-main-button").click()
    expect(page.get_by_label("Answer", exact=True)).to_contain_text("Paid")
    earlier = page.get_by_text("This is the answer to an earlier question, not to the one above.")
    expect(earlier).to_be_hidden()
    write(page, "SELECT sum(cost) FROM visits")
    expect(earlier).to_be_visible()
    expect(page.locator(".d-stale")).to_have_count(1)
    write(page, asked)
    expect(earlier).to_be_hidden()
    expect(page.locator(".d-stale")).to_have_count(0)


def test_half_a_row_is_an_error_to_wish_for(person: Watched) -> None:
    page = person.signed_in("ann")
    write(page, "SELECT count(*) AS n FROM visits")
    field = page.get_by_label("About ±")
    expect(field).to_be_enabled()
    price = page.get_by_label("Price", exact=True)
    before = price.input_value()
    field.fill("0.5")
    expect(price).not_to_have_value(before)
    price.focus()
    expect(field).to_have_value("0.5")
    expect(page.get_by_text("a number above 0")).to_have_count(0)
    field.fill("0,5")
    expect(page.get_by_text("a number above 0, as 0.5")).to_be_visible()


@pytest.fixture
def wide(place: Place, tmp_path: Path) -> Iterator[None]:
    """A table of many columns."""
    cells = {f"column {i}": pa.array([1, 2]) for i in range(COLUMNS)}
    parquet.write_table(pa.table(cells), tmp_path / "wide.parquet")
    Custody(place.home).add("wide", tmp_path / "wide.parquet", Declared(unit="row", epsilon="1"))
    yield
    Custody(place.home).remove("wide")


@pytest.mark.usefixtures("wide")
def test_all_columns_of_a_table_are_in_sight(person: Watched) -> None:
    page = person.signed_in("cleo", "/data")
    region = page.get_by_label(f"{COLUMNS} columns")
    expect(region.locator("tbody tr")).to_have_count(COLUMNS)
    assert region.evaluate("(box) => box.scrollHeight <= box.clientHeight + 2")
    region.locator("tbody tr").last.scroll_into_view_if_needed()
    expect(region.locator("tbody tr").last).to_be_in_viewport()


def test_an_address_that_there_is_not_is_a_page_with_a_way_home(person: Watched, place: Place) -> None:
    page = person.page()
    for path in ("/nothing", "/ask/more", "/survey/none", f"/survey/{'0' * 32}", "/releases/1"):
        told = page.goto(place.url + path)
        assert told is not None
        assert told.status == 404, path
        expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
    page.get_by_role("link", name="Go to the first page").click()
    expect(page.get_by_label("Your token")).to_be_visible()
    person.allow("404")


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/nothing", f"/survey/v1/{'0' * 32}"])
def test_programs_get_json_whatever_they_say_they_like(place: Place, path: str) -> None:
    for headers in ({}, {"Accept": "text/html"}):
        reply = place.server.call("GET", path, headers=headers)
        assert (reply.status, reply.error["kind"]) == (404, "refusal")
    assert place.server.call("GET", "/nothing").error["kind"] == "refusal"


def test_the_page_of_no_address_repeats_nothing_of_it(place: Place) -> None:
    path = "/%3Cscript%3Ealert(1)%3C/script%3E"
    reply = place.server.call("GET", path, headers={"Accept": "text/html,*/*"})
    assert (reply.status, b"alert" in reply.body) == (404, False)
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert Path(path).name not in reply.text
