"""A survey in a real browser: nothing but what was rolled leaves a device, once, and nothing else stays on it."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Route, expect
from server.conftest import ALBUMS, NARROW, People, Place, rolled

from discreet.desk import HOME
from discreet.desk.surveys import Plan, lines
from discreet.local import OptimizedUnary
from discreet.local.batch import fresh_ids, packed, unpacked
from discreet.local.task import Task, read_task
from discreet.server.http.dice import Dice

_BYTES = 4 + 32 + 4 + 16 + 1  # of an upload: the mark, the digest, how many, an id, one of five answers

# what leaves ----------------------------------------------------------------------------------------------------------


def coins_for(task: Task, truth: int, report: int) -> bytes:
    """Coins by which an answer becomes this report."""
    dice = Dice.of(task.client)
    step = (report - truth) % dice.choices
    drawn = 0 if step == 0 else dice.holder + (step - 1) * dice.other
    return drawn.to_bytes((dice.bits + 7) // 8, "big")


@pytest.mark.slow
def test_two_truths_with_one_report_leave_the_same_bytes(place: Place, people: People) -> None:
    """All requests of two devices are equal to the byte, whatever the answers: so no request has a trace of them."""
    task, name, before = place.albums, bytes(range(16)), place.accepted(place.albums)
    for said in range(2):
        traffic = []
        for truth, label in enumerate(ALBUMS):
            person = people([coins_for(task, truth, said), name[:15] + bytes([said])])
            person.roll(place.address(task), label)
            expect(person.page.locator("#said")).to_have_text(ALBUMS[said])
            person.page.get_by_role("button", name="Send this").click()
            expect(person.page.get_by_role("heading", name="Received")).to_be_visible()
            traffic.append(person.traffic)
        assert all(each == traffic[0] for each in traffic)
        paths = [url.removeprefix(place.server.url) for _, url, _, _ in traffic[0]]
        assert paths == [
            f"/survey/{task.id}",
            "/survey/static/survey.css",
            "/survey/static/survey.js",
            "/survey/static/memory.js",
            "/survey/static/report.js",
            f"/survey/v1/{task.id}/reports",
        ]
        assert all(not {"cookie", "referer"} & set(headers) for _, _, headers, _ in traffic[0])
    assert place.accepted(task) == before + 2  # the others were replayed: one id counts once


def test_an_upload_is_the_wire_format_and_what_the_page_said(place: Place, people: People) -> None:
    task = place.albums
    ids = set()
    for truth in (0, 4, 4):
        person, before = people(), place.accepted(task)
        person.roll(place.address(task), ALBUMS[truth])
        said = person.page.locator("#said").inner_text()
        person.send()
        (body,) = person.sent
        assert len(body) == _BYTES
        batch = unpacked(task, body)
        assert batch is not None
        assert batch.malformed == 0
        assert ALBUMS[int(batch.reports[0])] == said
        assert place.accepted(task) == before + 1
        ids.add(bytes(batch.ids[0]).ljust(16, b"\0"))
        assert str(person.page.locator(".receipt").inner_text()).endswith(body[40:56].hex())
    assert len(ids) == 3


def test_many_answers_are_a_set_and_arrive_so(place: Place, people: People) -> None:
    person, task = people(), place.many
    assert isinstance(task.client, OptimizedUnary)
    person.roll(place.address(task), "month 7")
    shown = [each == "yes" for each in person.page.locator("#said strong").all_inner_texts()]
    person.send()
    (body,) = person.sent
    assert int.from_bytes(body[56:], "little") == sum(1 << v for v, yes in enumerate(shown) if yes)
    assert place.accepted(task) == 1


# what is remembered ---------------------------------------------------------------------------------------------------


def test_nothing_is_rolled_twice_and_no_answer_is_kept(place: Place, people: People) -> None:
    person, task = people(), place.albums
    address, dice = place.address(task), Dice.of(task.client)
    said: dict[str, str] = {}
    for label in (*ALBUMS, *reversed(ALBUMS)):  # changing one's mind, back and forth, over reloads
        person.roll(address, label)
        text = person.page.locator("#said").inner_text()
        assert said.setdefault(label, text) == text
    (kept,) = person.kept().values()
    coins = json.loads(kept)
    assert set(coins) == {"coins"}
    for truth, label in enumerate(ALBUMS):
        (report,) = rolled(person.page, dice, [([int(coins["coins"], 16)], truth)])
        assert ALBUMS[report[0]] == said[label]
    person.roll(address, "3")
    person.send()
    (body,) = person.sent
    question = next(json.loads(text) for name, text in person.kept().items() if "/question/" in name)
    assert set(question) == {"report", "sends"}  # no coins any more: the device itself cannot tell the answer
    assert question["report"] == body[56:].hex()
    assert question["sends"][task.digest.hex()]["body"] == body.hex()
    person.page.reload()
    expect(person.page.get_by_role("heading", name="Received")).to_be_visible()
    expect(person.page.locator("#said")).to_have_text(said["3"])
    expect(person.page.locator("form")).to_have_count(0)
    assert person.sent == [body]


def test_a_new_version_that_asks_the_same_gets_the_same_report(place: Place, people: People) -> None:
    task = place.surveys.made(HOME, Plan("Do you sing?", ("never", "at times", "always"), 1))
    person = people()
    person.roll(place.address(task), "always")
    person.send()
    said = person.page.locator("#said").inner_text()
    after = place.surveys._collector.revise(task.id, minimum=200)
    person.page.reload()
    expect(person.page.get_by_role("heading", name="You answered this before")).to_be_visible()
    expect(person.page.locator("#said")).to_have_text(said)
    person.send()
    first, second = person.sent
    assert first[56:] == second[56:]
    assert first[40:56] != second[40:56]
    assert (first[4:36], second[4:36]) == (task.digest, after.digest)
    place.surveys._collector.revise(task.id, question="Do you sing well?")
    person.page.reload()
    expect(person.page.get_by_text("You answered an earlier form of this survey")).to_be_visible()


def test_two_windows_of_one_device_send_one_report(place: Place, people: People) -> None:
    person, task, before = people(), place.albums, place.accepted(place.albums)
    person.roll(place.address(task), "1")
    first = person.page
    person.page = person.context.new_page()
    person.page.on("request", lambda sent: person.requests.append(sent))  # noqa: PLW0108  # it sets marks on it
    person.roll(place.address(task), "4")
    person.send()
    first.get_by_role("button", name="Send this").click()
    expect(first.get_by_text("This very report had arrived before. It counts once.")).to_be_visible()
    one, other = person.sent
    assert one == other
    assert place.accepted(task) == before + 1


def test_a_lost_connection_loses_nothing_and_rolls_nothing(place: Place, people: People) -> None:
    person, task = people(), place.albums
    before = place.accepted(task)
    person.roll(place.address(task), "1")
    person.context.set_offline(True)
    person.page.get_by_role("button", name="Send this").click()
    expect(person.page.get_by_text("There is no connection. Nothing is lost.")).to_be_visible()
    person.page.get_by_role("button", name="Send again").click()
    expect(person.page.get_by_text("There is no connection. Nothing is lost.")).to_be_visible()
    person.context.set_offline(False)
    person.page.reload()
    expect(person.page.get_by_role("heading", name="Not sent yet")).to_be_visible()
    expect(person.page.locator("form")).to_have_count(0)  # what may have left is not answered otherwise

    def cut(route: Route) -> None:  # it arrives, and the answer is lost
        route.fetch()
        route.abort()

    person.page.route("**/reports", cut)
    person.page.get_by_role("button", name="Send again").click()
    expect(person.page.get_by_text("There is no connection. Nothing is lost.")).to_be_visible()
    person.page.unroute("**/reports")
    assert place.accepted(task) == before + 1
    person.page.get_by_role("button", name="Send again").click()
    expect(person.page.get_by_text("This very report had arrived before. It counts once.")).to_be_visible()
    assert len(person.sent) == 4
    assert len(set(person.sent)) == 1
    assert place.accepted(task) == before + 1
    lost = [each for each in person.complaints if "ERR_INTERNET_DISCONNECTED" in each or "ERR_FAILED" in each]
    assert len(lost) == 3  # the browser's own words about requests that failed
    person.complaints[:] = [each for each in person.complaints if each not in lost]


# invitations, signatures, phones --------------------------------------------------------------------------------------


def test_an_invitation_is_in_no_address_and_counts_once(place: Place, people: People) -> None:
    task = place.invited
    (token,) = place.surveys.invited(HOME, task.id, 1)
    stranger = people()
    stranger.page.goto(place.address(task))
    expect(stranger.page.get_by_role("heading", name="By invitation")).to_be_visible()
    expect(stranger.page.get_by_role("heading", level=1)).to_have_text(task.question)
    expect(stranger.page.locator("form")).to_have_count(0)
    guest = people()
    guest.roll(place.address(task, token), "</script>no")
    assert token not in guest.page.url
    guest.page.reload()  # the invitation stays with the window
    guest.roll(place.address(task), "yes")
    guest.send()
    assert all(token not in each.url for each in guest.requests)
    asked = [each.all_headers().get("authorization") for each in guest.requests]
    assert asked[-1] == f"Bearer {token}"
    assert set(asked[:-1]) == {None}
    assert all(token not in text for text in guest.kept().values())
    again = people()
    again.roll(place.address(task, token), "yes")
    again.page.get_by_role("button", name="Send this").click()
    expect(again.page.get_by_text("This invitation has sent all the reports that it may.")).to_be_visible()
    liar = people()
    liar.roll(place.address(task, "x" * 43), "yes")
    liar.page.get_by_role("button", name="Send this").click()
    expect(liar.page.get_by_text("This invitation is not known.")).to_be_visible()
    assert place.accepted(task) == 1
    liar.complaints[:] = [each for each in liar.complaints if "401" not in each]


@pytest.mark.parametrize("part", ["signature", "dice"])
def test_nobody_answers_what_was_changed_on_its_way(place: Place, people: People, part: str) -> None:
    person, task = people(), place.albums
    dice = Dice.of(task.client)
    old, new = {
        "signature": ('"minimum": 3', '"minimum": 1'),
        "dice": (f'"holder": "{dice.holder}", "other": "{dice.other}"', f'"holder": "{1 << dice.bits}", "other": "0"'),
    }[part]

    def changed(route: Route) -> None:
        answer = route.fetch()
        assert old in answer.text()
        route.fulfill(response=answer, body=answer.text().replace(old, new))

    person.page.route(place.address(task), changed)
    person.page.goto(place.address(task))
    expect(person.page.get_by_role("heading", name="Do not answer")).to_be_visible()
    expect(person.page.locator("form")).to_have_count(0)
    assert person.sent == []


def test_a_browser_without_signatures_says_so(place: Place, people: People) -> None:
    person = people()
    person.context.add_init_script("SubtleCrypto.prototype.verify = () => Promise.reject(new Error('unknown'))")
    person.page.goto(place.address(place.albums))
    expect(person.page.get_by_text("This browser cannot check the signature of the question.")).to_be_visible()
    expect(person.page.locator("form")).to_be_visible()


def test_keys_a_small_screen_and_the_policy(place: Place, people: People) -> None:
    person = people(viewport=NARROW, color_scheme="dark")
    answer = person.page.goto(place.address(place.albums))
    assert answer is not None
    policy = answer.all_headers()["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    expect(person.page.get_by_text("the signature holds")).to_be_visible()
    person.page.get_by_role("button", name="Roll the dice").click()
    expect(person.page.get_by_text("Choose an answer first.")).to_be_visible()
    person.page.get_by_label("none", exact=True).focus()
    person.page.keyboard.press("ArrowDown")
    expect(person.page.get_by_label("1", exact=True)).to_be_checked()
    person.page.keyboard.press("Enter")
    expect(person.page.get_by_role("heading", name="What leaves your device")).to_be_focused()
    assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    person.page.evaluate("document.body.append(Object.assign(document.createElement('p'), {id: 'probe'}))")
    with pytest.raises(Exception, match="TrustedHTML"):
        person.page.evaluate("document.getElementById('probe').innerHTML = '<b>x</b>'")
    person.complaints[:] = [each for each in person.complaints if "TrustedHTML" not in each]


def test_results_have_error_bars_and_say_what_was_promised(place: Place, people: People) -> None:
    person, task = people(viewport=NARROW), place.surveys.made(HOME, Plan("Tea?", ("yes", "no <i>"), 1, minimum=20))
    address = f"{place.address(task)}/results"
    person.page.goto(address)
    expect(person.page.get_by_role("heading", name="There are no results yet")).to_be_visible()
    body = packed(task, fresh_ids(30), task.client.batch([0] * 20 + [1] * 10))
    kind = {"Content-Type": "application/octet-stream"}
    sent = place.server.call("POST", f"/survey/v1/{task.id}/reports", body=body, headers=kind)
    assert sent.json["accepted"] == 30
    found = place.surveys.closed(HOME, task.id)
    person.page.reload()
    expect(person.page.get_by_text("30 reports were counted.")).to_be_visible()
    expect(person.page.get_by_text("guesses right in at most 74 of 100 cases")).to_be_visible()
    rows = [each.inner_text().split("\t") for each in person.page.locator("tbody tr").all()]
    want = [[each.label, f"{each.share:.1f} %", f"± {2 * each.error:.1f}"] for each in lines(found)]
    assert [[cell.strip().replace("−", "-") for cell in row] for row in rows] == want
    assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    person.page.goto(place.address(task))
    expect(person.page.get_by_role("heading", name="This survey is over")).to_be_visible()
    expect(person.page.locator("form")).to_have_count(0)
    assert read_task(place.server.call("GET", f"/survey/v1/{task.id}").body) == task


def test_there_is_no_page_of_a_survey_that_is_not(place: Place) -> None:
    for path in ("/survey/" + "0" * 32, "/survey/x", "/survey/" + "0" * 32 + "/results", "/survey/static/survey.html"):
        assert place.server.call("GET", path).status in {400, 404}
