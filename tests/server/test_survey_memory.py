"""What a browser remembers of a survey: one report of a person to a question, and whose key signs here."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from playwright.sync_api import Page, Route, expect
from server.conftest import ALBUMS, People, Person, Place

from discreet.desk import HOME
from discreet.desk.surveys import SurveyPlan
from discreet.ledger.signed_head import public_part
from discreet.server.http import survey_pages
from discreet.server.http.survey_pages import Dice
from discreet.survey.collector import TaskStanding
from discreet.survey.task import Task
from discreet.transport.signing_keys import Handover, handed_over

_AT_ONCE = """
([at, answer]) => {
  setTimeout(() => {
    while (Date.now() < at);
    document.getElementById(`answer-${answer}`).checked = true;
    document.querySelector("form button").click();
    document.querySelector("form button")?.click();
  }, at - Date.now() - 50);
}
"""


def test_what_was_sent_is_all_that_is_kept(place: Place, people: People) -> None:
    person, task = people(), place.albums
    said = person.answer(place.address(task), "3")
    (body,) = person.sent
    kept = person.kept()
    (question,) = [name for name in kept if name.startswith("question/")]
    assert set(kept) == {"keys", question, f"last/{task.id}/open", f"signer/{task.id}", "spent"}
    assert question == f"question/{task.meant.hex()}"
    assert kept["spent"] == {f"{task.meant.hex()}/open": "1"}
    (send,) = kept[question]["open"]["sends"].values()
    assert kept[question] == {"open": {"report": body[56:].hex(), "sends": {task.digest.hex(): send}}}
    assert send == {"body": body.hex(), "outcome": "accepted", "when": send["when"]}
    person.page.reload()
    assert person.received() == said
    expect(person.page.locator("form")).to_have_count(0)
    assert person.sent == [body]


@pytest.mark.slow
def test_windows_that_send_in_the_same_moment_send_the_same(place: Place, people: People) -> None:
    """In processes of their own, each with another answer, each clicked twice."""
    task = place.albums
    for _ in range(4):
        person, before = people(), place.accepted(task)
        windows: list[Page] = [person.page, person.another_window(), person.another_window()]
        for window in windows:
            window.goto(place.address(task))
            expect(window.locator("form")).to_be_visible()
        at = 1000 * time.time() + 800
        for answer, window in enumerate(windows):
            window.evaluate(_AT_ONCE, [at, answer])
        for window in windows:
            expect(window.get_by_role("heading", name="Received")).to_be_visible()
        assert len(person.sent) == 3
        assert len(set(person.sent)) == 1
        assert place.accepted(task) == before + 1


@pytest.mark.slow
def test_two_windows_of_one_device_send_one_report(place: Place, people: People) -> None:
    person, task, before = people(), place.albums, place.accepted(place.albums)
    person.choose(place.address(task), "1")
    second = person.another_window()
    second.goto(place.address(task))
    second.get_by_label("4", exact=True).check()
    second.get_by_role("button", name="Roll the dice and send").dblclick()
    expect(second.get_by_role("heading", name="Received")).to_be_visible()
    person.roll()
    expect(person.page.get_by_text("This very report had arrived before. It counts once.")).to_be_visible()
    one, other = person.sent
    assert one == other
    assert place.accepted(task) == before + 1


def test_what_stands_behind_the_address_of_an_open_survey_makes_nobody_another(place: Place, people: People) -> None:
    person, task, before = people(), place.albums, place.accepted(place.albums)
    said = person.answer(place.address(task), "1")
    for end in ("utm", "%", "x" * 43):
        person.page.goto("about:blank")
        person.page.goto(place.address(task, end))
        assert person.received() == said
    assert {each.all_headers().get("authorization") for each in person.requests} == {None}
    assert place.accepted(task) == before + 1


@pytest.mark.slow
def test_a_second_invitation_on_a_device_asks_whose_it_is(place: Place, people: People) -> None:
    task = place.surveys.made(HOME, SurveyPlan("By invitation, twice?", ALBUMS, 1, invited=True))
    mine, another, third = place.surveys.invited(HOME, task.id, 3)
    person = people()
    person.answer(place.address(task, mine), "2")
    person.page.goto(place.address(task, another))  # in the same window: the address behind # changes alone
    expect(person.page.get_by_role("heading", name="Was that you?")).to_be_visible()
    assert another not in person.page.url
    expect(person.page.locator("form")).to_have_count(0)
    person.page.get_by_role("button", name="It was me").click()
    person.received()
    first, second = person.sent
    assert first[56:] == second[56:]  # nothing was rolled
    assert first[40:56] != second[40:56]
    person.page.goto(place.address(task, third))
    person.page.get_by_role("button", name="I am somebody else").click()
    expect(person.page.get_by_text("Your true answer")).to_be_focused()
    person.page.get_by_label("4", exact=True).check()
    person.roll()
    person.received()
    assert place.accepted(task) == 3


def test_a_new_version_that_asks_the_same_gets_the_same_report(place: Place, people: People) -> None:
    task = place.surveys.made(HOME, SurveyPlan("Do you sing?", ("never", "at times", "always"), 1))
    person = people()
    said = person.answer(place.address(task), "always")
    after = place.surveys._collector.revise(task.id, minimum=200)
    person.page.reload()
    expect(person.page.get_by_role("heading", name="You answered this before")).to_be_visible()
    expect(person.page.locator("form")).to_have_count(0)
    person.page.get_by_role("button", name="Send it again").click()
    assert person.received() == said
    first, second = person.sent
    assert first[56:] == second[56:]
    assert first[40:56] != second[40:56]
    assert (first[4:36], second[4:36]) == (task.digest, after.digest)
    place.surveys._collector.revise(task.id, question="Do you sing well?")
    person.page.reload()
    expect(person.page.get_by_text("You answered an earlier form of this survey")).to_be_visible()


def test_a_lost_connection_loses_nothing_and_rolls_nothing(place: Place, people: People) -> None:
    person, task = people(), place.albums
    before = place.accepted(task)
    lost = person.page.get_by_text("There is no connection. Nothing is lost.")
    person.choose(place.address(task), "1")
    person.context.set_offline(True)
    person.roll()
    expect(lost).to_be_visible()
    person.page.get_by_role("button", name="Send again").click()
    expect(lost).to_be_visible()
    person.context.set_offline(False)
    person.page.reload()
    expect(person.page.get_by_role("heading", name="Not sent yet")).to_be_visible()
    expect(person.page.locator("form")).to_have_count(0)  # what may have left is not answered otherwise

    def cut(route: Route) -> None:  # it arrives, and the answer is lost
        route.fetch()
        route.abort()

    person.page.route("**/reports", cut)
    person.page.get_by_role("button", name="Send again").click()
    expect(lost).to_be_visible()
    person.page.unroute("**/reports")
    assert place.accepted(task) == before + 1
    person.page.get_by_role("button", name="Send again").click()
    expect(person.page.get_by_text("This very report had arrived before. It counts once.")).to_be_visible()
    assert len(person.sent) == 4
    assert len(set(person.sent)) == 1
    assert place.accepted(task) == before + 1
    words = [each for each in person.complaints if "ERR_INTERNET_DISCONNECTED" in each or "ERR_FAILED" in each]
    assert len(words) == 3  # the browser's own, about requests that failed
    person.complaints[:] = [each for each in person.complaints if each not in words]


@pytest.mark.slow
def test_back_and_forth_and_a_cleared_memory_in_between(place: Place, people: People) -> None:
    person, task, before = people(), place.albums, place.accepted(place.albums)
    said = person.answer(place.address(task), "1")
    person.page.get_by_role("link", name="See the results").click()
    expect(person.page.get_by_role("heading", name="There are no results yet")).to_be_visible()
    person.page.go_back()
    assert person.received() == said
    second = person.another_window()
    second.goto(place.address(task))
    person.context.clear_cookies()
    second.evaluate("localStorage.clear(); sessionStorage.clear()")
    second.reload()
    expect(second.get_by_role("heading", name="Received")).to_be_visible()
    assert place.accepted(task) == before + 1


@pytest.mark.slow
def test_what_was_forgotten_while_it_was_sent_is_remembered_again(place: Place, people: People) -> None:
    """Somebody clears the database in the moment between sending and the receipt."""
    person, task = people(), place.albums

    def forgotten(route: Route) -> None:
        person.page.evaluate(
            """() => new Promise((resolve) => {
              const asking = indexedDB.open("discreet-survey");
              asking.onsuccess = () => {
                const turn = asking.result.transaction("kept", "readwrite");
                turn.objectStore("kept").clear();
                turn.oncomplete = () => resolve(asking.result.close());
              };
            })"""
        )
        route.continue_()

    person.page.route("**/reports", forgotten)
    said = person.answer(place.address(task), "1")
    person.page.reload()
    assert person.received() == said
    assert len(person.sent) == 1


@pytest.mark.slow
def test_a_browser_that_keeps_nothing_sends_nothing(place: Place, people: People) -> None:
    closed = "() => { throw new DOMException('', 'SecurityError'); }"
    for script in (
        f"IDBFactory.prototype.open = {closed}",
        f"Object.defineProperty(globalThis, 'indexedDB', {{ get: {closed} }})",
    ):
        person = people()
        person.page.add_init_script(script)
        person.page.goto(place.address(place.albums))
        expect(person.page.get_by_role("heading", name="This window remembers nothing")).to_be_visible()
        expect(person.page.locator("form")).to_have_count(0)
    full = people()
    full.choose(place.address(place.albums), "1")
    full.page.evaluate(
        "() => { IDBObjectStore.prototype.put = () => { throw new DOMException('', 'QuotaExceededError'); }; }"
    )
    full.roll()
    expect(full.page.get_by_role("heading", name="Nothing was sent")).to_be_visible()
    assert full.sent == []


# who asks -------------------------------------------------------------------------------------------------------------

_STRANGER = "Surveys here used to be signed with another key"


def altered(person: Person, place: Place, task: Task, change: Callable[[str], str]) -> None:
    """Open a page that was changed on its way."""

    def changed(route: Route) -> None:
        answer = route.fetch()
        text = change(answer.text())
        assert text != answer.text()
        route.fulfill(response=answer, body=text)

    person.page.route(place.address(task), changed)
    person.page.goto(place.address(task))
    person.page.unroute(place.address(task))


def shown(person: Person, place: Place, task: Task, handovers: Sequence[Handover] = ()) -> Person:
    """Open the page of a survey as a server draws it that has this document and these handovers."""
    page = survey_pages.answer_page(TaskStanding(task, {}, closed=False, collected=False), handovers, datetime.now(UTC))
    altered(person, place, task, lambda _: page)
    expect(person.page.locator("#stage > :not(.late)").first).to_be_visible()
    return person


def refused(person: Person, sentence: str) -> None:
    """Nobody answers."""
    expect(person.page.get_by_role("heading", name="Do not answer")).to_be_visible()
    expect(person.page.get_by_text(sentence)).to_be_visible()
    expect(person.page.locator("form")).to_have_count(0)
    assert person.sent == []


def test_a_changed_key_is_a_stranger_unless_the_old_one_handed_over(place: Place, people: People) -> None:
    old, new, stranger = (Ed25519PrivateKey.generate() for _ in range(3))
    person, task = people(), place.albums
    shown(person, place, task.sign(old))
    expect(person.page.get_by_text("This device remembers the key")).to_be_visible()
    shown(person, place, task.sign(old))
    expect(person.page.get_by_text("a key that this device knows from before")).to_be_visible()
    claims = [
        [],
        [handed_over(stranger, old)],  # whoever has a key can say that it hands over to another's
        [Handover(public_part(old), public_part(stranger), handed_over(old, new).signature)],
        [replace(handed_over(stranger, stranger), old=public_part(old))],
    ]
    for each in claims:
        refused(shown(person, place, task.sign(stranger), each), _STRANGER)
    assert person.kept()["keys"] == [public_part(old)]
    shown(person, place, task.sign(new), [handed_over(old, new)])
    expect(person.page.get_by_text("the one that this device knew has handed over to it")).to_be_visible()
    expect(person.page.locator("form")).to_be_visible()
    assert person.kept()["keys"] == [public_part(old), public_part(new)]
    refused(shown(person, place, task.sign(old), [handed_over(old, new)]), _STRANGER)  # a survey never goes back
    forked = [handed_over(old, new), handed_over(old, stranger)]
    refused(shown(person, place, task.sign(stranger), forked), _STRANGER)  # an old key introduces nobody any more


@pytest.mark.slow
def test_a_home_that_changed_its_key_is_known_on_every_device(people: People, place: Place) -> None:
    """The server's own: who came before, who came in between, and who comes first now, to old surveys and new."""
    collector = place.surveys._collector
    before = place.surveys.made(HOME, SurveyPlan("Before?", ALBUMS, 1))
    early = people()
    early.answer(place.address(before), "1")
    collector.rotate()
    collector.rotate()
    after = place.surveys.made(HOME, SurveyPlan("After?", ALBUMS, 1))
    assert before.key != after.key
    late = people()
    for person in (early, late):
        person.answer(place.address(after), "1")
        expect(person.page.get_by_text("the signature holds")).to_be_visible()
        person.page.goto(place.address(place.many))  # what an old key signed stays signed
        expect(person.page.get_by_text("a key that this device knows from before")).to_be_visible()
        expect(person.page.locator("form")).to_be_visible()
    assert early.kept()["keys"] == late.kept()["keys"]
    revised = collector.revise(before.id, minimum=200)
    assert revised.key == after.key
    early.page.goto(place.address(before))
    expect(early.page.get_by_role("heading", name="You answered this before")).to_be_visible()


def test_nobody_answers_what_was_changed_on_its_way(place: Place, people: People) -> None:
    """Nor does a key or a signature that is none pass for a browser that cannot check it."""
    person, task = people(), place.albums
    dice, forged = Dice.of(task.client), "The signature of this survey does not hold"
    honest = f'"holder": "{dice.holder}", "other": "{dice.other}"'
    for old, new, sentence in (
        ('"minimum": 3', '"minimum": 1', forged),
        (task.key, task.key[:-2], forged),
        (f'"key": "{task.key}", ', "", forged),
        (task.signature, task.signature.upper(), forged),
        (honest, f'"holder": "{1 << dice.bits}", "other": "0"', "hide less than the survey promises"),
    ):
        altered(person, place, task, lambda text, old=old, new=new: text.replace(old, new))  # type: ignore[misc]
        refused(person, sentence)
    assert person.kept() == {}  # nothing of it is trusted


def test_nobody_answers_another_survey_than_they_opened(place: Place, people: People) -> None:
    person = people()
    other = place.server.call("GET", f"/survey/{place.many.id}").body.decode()
    altered(person, place, place.albums, lambda _: other)
    refused(person, "another survey than the one that you opened")


def test_a_browser_without_signatures_says_so_and_still_knows_a_key(place: Place, people: People) -> None:
    person, task = people(), place.albums
    person.page.add_init_script("SubtleCrypto.prototype.verify = () => Promise.reject(new Error('unknown'))")
    person.page.goto(place.address(task))
    expect(person.page.get_by_text("This browser cannot check the signature of the question.")).to_be_visible()
    expect(person.page.locator("form")).to_be_visible()
    refused(shown(person, place, task.sign(Ed25519PrivateKey.generate())), _STRANGER)
