"""How much a browser gives away of its owner: the gauge on the page of a survey, and what it refuses."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from server.conftest import People, Person, Place

from discreet.desk import HOME
from discreet.desk.surveys import SurveyPlan

_SPENT = "Privacy price {} of at most {}."


def limited(person: Person, limit: str) -> None:
    """The owner of a device says how much it may give away here."""
    details = person.page.locator("#gauge details")
    expect(details).to_be_visible()
    if details.get_attribute("open") is None:
        person.page.get_by_text("Change the limit").click()
    person.page.get_by_label("At most").fill(limit)
    person.page.get_by_role("button", name="Set the limit").click()


def test_a_device_gives_away_no_more_than_its_owner_allows(place: Place, people: People) -> None:
    """Whatever the questions are called: three in other words, each at 1, and a limit of 2."""
    person = people()
    asked = [
        place.surveys.made(HOME, SurveyPlan(f"How often do you lie, {i}?", ("never", "at times"), 1)) for i in range(3)
    ]
    person.page.goto(place.address(asked[0]))
    expect(person.page.get_by_text(f"{_SPENT.format(0, 5)} This question takes 1.")).to_be_visible()
    limited(person, "0")
    expect(person.page.get_by_text("A limit is a number above 0")).to_be_visible()
    limited(person, "2")
    expect(person.page.get_by_text(_SPENT.format(0, 2))).to_be_visible()  # before the page is left
    for done, task in enumerate(asked[:2], start=1):
        person.answer(place.address(task), "never")
        expect(person.page.get_by_text(_SPENT.format(done, 2))).to_be_visible()
    person.page.goto(place.address(asked[2]))
    expect(person.page.get_by_role("heading", name="Enough was asked here")).to_be_visible()
    expect(person.page.locator("form")).to_have_count(0)
    expect(person.page.get_by_role("meter")).to_have_attribute("aria-valuetext", "2 of at most 2")
    assert len(person.sent) == 2
    person.page.goto(place.address(asked[0]))  # what was sent may be seen again
    person.received()
    person.page.goto(place.address(asked[2]))
    limited(person, "2,999")
    expect(person.page.get_by_text(_SPENT.format(2, "2.999"))).to_be_visible()
    expect(person.page.get_by_role("heading", name="Enough was asked here")).to_be_visible()
    limited(person, "3")
    person.page.get_by_label("at times").check()
    person.roll()
    person.received()
    expect(person.page.get_by_text(_SPENT.format(3, 3))).to_be_visible()
    assert sorted(person.kept()["spent"].values()) == ["1", "1", "1"]
    assert len(person.sent) == 3


@pytest.mark.slow
def test_a_second_window_does_not_go_beyond_the_limit(place: Place, people: People) -> None:
    """Both pages were opened while there was room for one answer."""
    person = people()
    one, other = (place.surveys.made(HOME, SurveyPlan(f"Window {i}?", ("yes", "no"), 1)) for i in range(2))
    person.page.goto(place.address(one))
    limited(person, "1")
    expect(person.page.get_by_text(_SPENT.format(0, 1))).to_be_visible()
    second = person.another_window()
    second.goto(place.address(other))
    second.get_by_label("yes").check()
    person.answer(place.address(one), "no")
    second.get_by_role("button", name="Roll the dice and send").click()
    expect(second.get_by_role("heading", name="Enough was asked here")).to_be_visible()
    assert len(person.sent) == 1


@pytest.mark.slow
def test_another_spelling_of_a_question_rolls_nothing(place: Place, people: People) -> None:
    person = people()
    sent: list[bytes] = []
    for question in (
        "Do you pray?",
        "Do you pray? ",
        "do  you PRAY?",
        "Do\u00a0you pr\u00aday?",
        "Ｄo you pray?\u200b",
    ):
        task = place.surveys.made(HOME, SurveyPlan(question, ("yes", "no ", "at times"), 1))
        if not sent:
            person.answer(place.address(task), "yes")
        else:
            person.page.goto(place.address(task))
            expect(person.page.get_by_role("heading", name="You answered this before")).to_be_visible()
            person.page.get_by_role("button", name="Send it again").click()
            person.received()
        sent.append(person.sent[-1][56:])
    assert len(set(sent)) == 1
    assert list(person.kept()["spent"].values()) == ["1"]


_AS_BEFORE = """
([meant, asked]) => new Promise((resolve) => {
  const asking = indexedDB.open("discreet-survey");
  asking.onsuccess = () => {
    const turn = asking.result.transaction("kept", "readwrite");
    const kept = turn.objectStore("kept");
    const found = kept.get(`question/${meant}`);
    found.onsuccess = () => {
      kept.put(found.result, `question/${asked}`);
      for (const name of [`question/${meant}`, "spent"]) kept.delete(name);
    };
    turn.oncomplete = () => resolve(asking.result.close());
  };
})
"""


@pytest.mark.slow
def test_what_was_kept_before_there_was_a_sum_is_found_and_counted(place: Place, people: People) -> None:
    person, task = people(), place.albums
    said = person.answer(place.address(task), "2")
    person.page.evaluate(_AS_BEFORE, [task.meant.hex(), task.asked.hex()])
    assert "spent" not in person.kept()
    person.page.reload()
    assert person.received() == said
    expect(person.page.get_by_text(_SPENT.format(1, 5))).to_be_visible()
    assert person.kept()["spent"] == {f"{task.meant.hex()}/open": "1"}
    assert len(person.sent) == 1


_PRICES = """
async ([prices, price, limit]) => {
  const { added, fits, limitOf, part, read, seen } = await import("/survey/static/limit.js");
  const sum = added(prices);
  return [read(sum), fits(prices, price, limit), part(sum, limit), limitOf(limit), seen(" A\\u00a0b ")];
}
"""


def test_prices_add_up_exactly(place: Place, people: People) -> None:
    page = people().page
    page.goto(place.address(place.albums))
    tenths = ["1/10", "0.1"] * 4
    assert page.evaluate(_PRICES, [tenths, "1/5", "1"]) == ["0.8", True, 0.8, "1", "a b"]
    assert page.evaluate(_PRICES, [tenths, "2001/10000", "1"]) == ["0.8", False, 0.8, "1", "a b"]
    thirds = ["1/3"] * 3  # of doubles, three would be less than one
    assert page.evaluate(_PRICES, [thirds, "1/1000000", "1"]) == ["1", False, 1, "1", "a b"]
    assert page.evaluate(_PRICES, [["1/3"], "1", "2.5"]) == ["0.334", True, 0.133, "2.5", "a b"]
