"""Texts by RAPPOR in a real browser: the device's own bits for good, the client's coins, and what a change tells."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from server.conftest import People, Person, Place

from discreet.desk import HOME
from discreet.desk.surveys import BloomFilter, SurveyPlan, path
from discreet.local import Rappor
from discreet.local.rappor import Device
from discreet.server.http.survey_pages import told_dice
from discreet.survey.task import Task, fresh_ids, packed, unpacked

SECRET = bytes(range(32))
TEXTS = ("cat", "Šárka é", "x" * 200, "0", "犬")
CLIENTS = [
    Rappor(Fraction(2), 64, 2, 32),
    Rappor(Fraction(1, 3), 100, 3, 300, Fraction(1, 5), Fraction(1)),
    Rappor.flipping("0.5", bits=16, cohorts=1),
]
_PERMANENT = """
async ([dice, secret, texts]) => {
  const { law, unhex, hex } = await import("/survey/static/report.js");
  const { permanent } = await import("/survey/static/rappor.js");
  const found = [];
  for (const text of texts) {
    const { cohort, kept, tag } = await permanent(law(dice), unhex(secret), text);
    found.push([cohort, [...kept], hex(tag)]);
  }
  return found;
}
"""
_INSTANT = """
async ([dice, cohort, kept, coins]) => {
  const { law, unhex, hex } = await import("/survey/static/report.js");
  const { instant } = await import("/survey/static/rappor.js");
  return hex(instant(law(dice), { cohort, kept: Uint8Array.from(kept) }, unhex(coins)));
}
"""
_KEEPS = """
async ([dice, epsilon, parameters]) => {
  const { keeps, law } = await import("/survey/static/report.js");
  const { agrees } = await import("/survey/static/rappor.js");
  return dice.map((each) => [keeps(law(each), epsilon), agrees(law(each), parameters)]);
}
"""


@pytest.fixture(scope="module")
def page(place: Place, chromium: Browser) -> Iterator[Page]:
    with chromium.new_context() as context:
        found = context.new_page()
        found.goto(place.address(place.albums))
        yield found


def asked(place: Place, question: str, epsilon: int = 2) -> Task:
    plan = SurveyPlan(question, (), epsilon, minimum=3, texts=BloomFilter(64, 2, 8))
    return place.surveys.made(HOME, plan)


@pytest.mark.parametrize("client", CLIENTS, ids=["usual", "odd", "steep"])
def test_bits_that_are_kept_for_good_are_those_of_the_package(page: Page, client: Rappor) -> None:
    """HMAC under the device's secret, to the bit: a text finds its old response in a browser and in Python alike."""
    device = Device(client, SECRET)
    found = page.evaluate(_PERMANENT, [told_dice(client), SECRET.hex(), TEXTS])
    assert [cohort for cohort, _, _ in found] == [device.cohort] * len(TEXTS)
    assert [bits for _, bits, _ in found] == [device.permanent(text).astype(int).tolist() for text in TEXTS]
    assert len({tag for _, _, tag in found}) == len(TEXTS)


@pytest.mark.parametrize("client", CLIENTS, ids=["usual", "odd", "steep"])
def test_a_report_is_told_by_coins_of_the_clients_own_odds(page: Page, client: Rappor) -> None:
    kept = [i % 2 for i in range(client.bits)]
    edges = [int((client.loud if bit else client.quiet) * 2**64) for bit in kept]
    for less, expected in ((1, True), (0, False)):
        coins = b"".join(min(edge - less, 2**64 - 1).to_bytes(8, "little") for edge in edges)
        report = bytes.fromhex(page.evaluate(_INSTANT, [told_dice(client), client.cohorts - 1, kept, coins.hex()]))
        rows = client.decode(report)
        assert int(client.cohort(rows)[0]) == client.cohorts - 1
        bits = np.unpackbits(np.frombuffer(report, np.uint8)[-((client.bits + 7) // 8) :], bitorder="little")
        told = [expected or edge == 2**64 for edge in edges]  # what has all the odds is told by every coin
        assert [bool(bit) for bit in bits[: client.bits]] == told
        assert not bits[client.bits :].any()


def test_the_page_knows_coins_that_hide_less_than_promised_or_are_not_those_that_were_signed(page: Page) -> None:
    client = CLIENTS[0]
    good: dict[str, Any] = told_dice(client)
    parameters = {"bits": 64, "hashes": 2, "cohorts": 32, "quiet": "1/2", "loud": "3/4", "key": 0}
    weaker = {**good, "flipped": str(int(good["flipped"]) - 2**20)}
    others = [{**good, name: value} for name, value in (("size", 32), ("cohorts", 16), ("quiet", str(2**62)))]
    found = page.evaluate(_KEEPS, [[good, weaker, {**good, "flipped": "0"}, *others], "2", parameters])
    assert found[:3] == [[True, True], [False, True], [False, True]]
    assert [agree for _, agree in found[3:]] == [False] * 3
    assert page.evaluate(_KEEPS, [[{**good, "hashes": 3}], "2", parameters]) == [[False, False]]


def _told(person: Person, place: Place, task: Task, text: str) -> None:
    person.page.goto(place.address(task))
    person.page.get_by_label("Your true answer").fill(text)
    person.page.get_by_role("button", name="Toss the coins and send").click()


def _arrived(person: Person, task: Task) -> bytes:
    expect(person.page.get_by_role("heading", name="Received")).to_be_visible()
    batch = unpacked(task, person.sent[-1])
    assert batch is not None
    assert (len(batch.reports), batch.malformed, batch.unlikely) == (1, 0, 0)
    return person.sent[-1][56:]


def test_a_text_is_told_once_and_a_change_only_after_a_warning(place: Place, people: People) -> None:
    task, person = asked(place, "Which animal?"), people()
    assert place.server.url + path(task) == place.address(task)
    _told(person, place, task, "  wombat ")
    report = _arrived(person, task)
    kept = person.kept()
    (secret,) = (bytes.fromhex(value) for name, value in kept.items() if name.startswith("secret/"))
    assert isinstance(task.client, Rappor)
    device = Device(task.client, secret)
    assert report[0] == device.cohort
    assert "wombat" not in str(kept)
    assert list(kept["spent"].values()) == ["2"]
    person.page.reload()
    expect(person.page.get_by_role("heading", name="Received")).to_be_visible()
    assert len(person.sent) == 1
    again = place.surveys._collector.revise(task.id)  # the next version asks the same
    _told(person, place, again, "wombat")  # nothing more is lost
    assert _arrived(person, again)[0] == device.cohort
    assert list(person.kept()["spent"].values()) == ["2"]
    last = place.surveys._collector.revise(task.id)
    _told(person, place, last, "lynx")
    expect(person.page.get_by_role("heading", name="This is another text than before")).to_be_visible()
    expect(person.page.get_by_text("whoever reads both reports sees that it changed")).to_be_visible()
    assert len(person.sent) == 2
    person.page.get_by_role("button", name="Tell the new text all the same").click()
    assert _arrived(person, last)[0] == device.cohort
    assert list(person.kept()["spent"].values()) == ["2", "2"]
    expect(person.page.get_by_text("Privacy price 4 of at most 5.")).to_be_visible()
    other = asked(place, "Which plant?")
    person.page.goto(place.address(other))
    expect(person.page.get_by_role("heading", name="Enough was asked here")).to_be_visible()
    assert len(person.sent) == 3


def test_what_browsers_sent_is_decoded(place: Place, people: People) -> None:
    task = asked(place, "Which fruit?", 5)
    person, client = people(), task.client
    _told(person, place, task, "apple")
    _arrived(person, task)
    reports = client.batch(["apple"] * 9_000 + ["plum"] * 3_000)  # so many that noise tips none of what follows
    place.surveys._collector.receive(task.id, packed(task, fresh_ids(len(reports)), reports))
    results = place.surveys.closed(HOME, task.id)
    assert int(results.body["reports"]) == 12_001
    found = {one.text: one.share for one in results.texts(["apple", "plum", "pear"])}
    assert found["apple"] > 0.5
    assert found["plum"] < 0.5
