"""A survey in a real browser: nothing but what was rolled leaves a device, and a person is told what and why."""

from __future__ import annotations

import re

import pytest
from browser import NARROW
from playwright.sync_api import Route, expect
from server.conftest import ALBUMS, People, Person, Place

from discreet.desk import HOME
from discreet.desk.surveys import SurveyPlan, doubts, lines
from discreet.local import OptimizedUnary
from discreet.server.http.survey_pages import Dice
from discreet.survey.task import Task, fresh_ids, packed, read_task, unpacked

_BYTES = 4 + 32 + 4 + 16 + 1  # of an upload: the mark, the digest, how many, an id, one of five answers
_BINARY = {"Content-Type": "application/octet-stream"}

# what leaves ----------------------------------------------------------------------------------------------------------

_SCRIPTS = ("limit", "memory", "report", "sheet", "trust")


def coins_for(task: Task, truth: int, report: int) -> bytes:
    """Coins by which an answer becomes this report."""
    dice = Dice.of(task.client)
    step = (report - truth) % dice.choices
    drawn = 0 if step == 0 else dice.holder + (step - 1) * dice.other
    return drawn.to_bytes((dice.bits + 7) // 8, "big")


def _left_behind(person: Person) -> dict[str, object]:
    """Everything of a page that outlives it, or that others could read, but for when it was sent."""
    found: dict[str, object] = person.page.evaluate(
        """async () => ({
          local: {...localStorage}, session: {...sessionStorage}, cookies: document.cookie, title: document.title,
          address: location.href, state: history.state, length: history.length, name: window.name,
          caches: await caches.keys(), databases: await indexedDB.databases(),
          workers: (await navigator.serviceWorker.getRegistrations()).length,
          text: document.body.innerText, markup: document.documentElement.outerHTML,
        })"""
    )
    times = re.compile(r"\d+/\d+/\d{4}, \d+:\d\d:\d\d.[AP]M")
    shown = {name: times.sub("then", str(value)) for name, value in found.items()}
    kept = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "then", str(person.kept()))
    return {**shown, "kept": kept, "read aloud": times.sub("then", person.page.locator("body").aria_snapshot())}


@pytest.mark.slow
def test_two_truths_with_one_report_leave_the_same_bytes(place: Place, people: People) -> None:
    """All requests of two devices, and all that stays on them, are equal to the byte, whatever the answers."""
    task, name, before = place.albums, bytes(range(16)), place.accepted(place.albums)
    for said in range(2):
        traffic, left = [], []
        for truth in (0, *range(len(ALBUMS))):  # the first arrives, and the others had arrived before
            person = people([coins_for(task, truth, said), name[:15] + bytes([said])])
            assert person.answer(place.address(task), ALBUMS[truth]) == ALBUMS[said]
            traffic.append(person.traffic)
            left.append(_left_behind(person))
        assert all(each == traffic[0] for each in traffic)
        assert all(each == left[1] for each in left[1:])
        paths = [url.removeprefix(place.server.url) for _, url, _, _ in traffic[0]]
        assert paths[:3] == [f"/survey/{task.id}", "/survey/static/survey.css", "/survey/static/survey.js"]
        assert sorted(paths[3:-1]) == [f"/survey/static/{name}.js" for name in _SCRIPTS]
        assert paths[-1] == f"/survey/v1/{task.id}/reports"
        assert all(not {"cookie", "referer"} & set(headers) for _, _, headers, _ in traffic[0])
    assert place.accepted(task) == before + 2  # the others were replayed: one id counts once


@pytest.mark.slow
def test_every_set_is_of_one_size_and_one_request(place: Place, people: People) -> None:
    """Whatever is answered and whatever is rolled: the same number of requests, of the same lengths."""
    sizes = set()
    for truth in (1, 7, 12):
        person = people()
        person.answer(place.address(place.many), f"month {truth}")
        sizes.add(tuple((method, url, len(body or b"")) for method, url, _, body in sorted(person.traffic, key=str)))
    assert len(sizes) == 1


def test_an_upload_is_the_wire_format_and_what_the_page_said(place: Place, people: People) -> None:
    task = place.albums
    ids = set()
    for truth in (0, 4, 4):
        person, before = people(), place.accepted(task)
        said = person.answer(place.address(task), ALBUMS[truth])
        (body,) = person.sent
        assert len(body) == _BYTES
        batch = unpacked(task, body)
        assert batch is not None
        assert batch.malformed == 0
        assert ALBUMS[int(batch.reports[0])] == said
        assert place.accepted(task) == before + 1
        ids.add(bytes(batch.ids[0]).ljust(16, b"\0"))
        assert str(person.page.locator(".facts").first.inner_text()).endswith(body[40:56].hex())
    assert len(ids) == 3


def test_many_answers_are_a_set_and_arrive_so(place: Place, people: People) -> None:
    person, task, before = people(), place.many, place.accepted(place.many)
    assert isinstance(task.client, OptimizedUnary)
    person.answer(place.address(task), "month 7")
    shown = [each == "yes" for each in person.page.locator("#said strong").all_inner_texts()]
    (body,) = person.sent
    assert int.from_bytes(body[56:], "little") == sum(1 << v for v, yes in enumerate(shown) if yes)
    assert place.accepted(task) == before + 1


def test_nobody_can_choose_among_rolls(place: Place, people: People) -> None:
    """Before it left, nothing was rolled, or nothing of it is shown: who may decline a roll sends by another law."""
    person, task = people(), place.albums
    person.page.add_init_script(
        "const real = crypto.getRandomValues.bind(crypto); globalThis.draws = 0;"
        "crypto.getRandomValues = (array) => { globalThis.draws += 1; return real(array); };"
    )
    for label in ALBUMS:
        person.choose(place.address(task), label)
        assert person.page.evaluate("draws") == 0
    assert list(person.kept()) == ["keys", f"signer/{task.id}"]
    person.context.set_offline(True)
    person.roll()
    expect(person.page.get_by_role("heading", name="Not sent yet")).to_be_visible()
    assert person.page.evaluate("draws") == 2  # the dice, and an id
    expect(person.page.locator("#said")).to_have_count(0)
    expect(person.page.get_by_role("button")).to_have_text(["Send again"])
    person.context.set_offline(False)
    person.page.reload()
    expect(person.page.get_by_role("button")).to_have_text(["Send again"])
    expect(person.page.locator("#said")).to_have_count(0)
    person.page.get_by_role("button", name="Send again").click()
    assert person.received() == ALBUMS[person.sent[-1][-1]]
    person.complaints[:] = [each for each in person.complaints if "ERR_INTERNET_DISCONNECTED" not in each]


# invitations ----------------------------------------------------------------------------------------------------------


def test_an_invitation_is_in_no_address_and_counts_once(place: Place, people: People) -> None:
    task, before = place.invited, place.accepted(place.invited)
    (token,) = place.surveys.invited(HOME, task.id, 1)
    stranger = people()
    stranger.page.goto(place.address(task))
    expect(stranger.page.get_by_role("heading", name="By invitation")).to_be_visible()
    expect(stranger.page.get_by_role("heading", level=1)).to_have_text(task.question)
    expect(stranger.page.locator("form")).to_have_count(0)
    guest = people()
    guest.choose(place.address(task, token), "</script>no")
    assert token not in guest.page.url
    guest.page.reload()  # the invitation stays with the window
    guest.answer(place.address(task), "yes")
    assert all(token not in each.url for each in guest.requests)
    asked = [each.all_headers().get("authorization") for each in guest.requests]
    assert asked[-1] == f"Bearer {token}"
    assert set(asked[:-1]) == {None}
    assert token not in str(guest.kept())
    again = people()
    again.choose(place.address(task, token), "yes")
    again.roll()
    expect(again.page.get_by_text("This invitation has sent all the reports that it may.")).to_be_visible()
    expect(again.page.get_by_role("button")).to_have_count(0)
    liar = people()
    liar.choose(place.address(task, "x" * 43), "yes")
    liar.roll()
    expect(liar.page.get_by_text("This invitation is not known.")).to_be_visible()
    assert place.accepted(task) == before + 1
    liar.complaints[:] = [each for each in liar.complaints if "401" not in each]


@pytest.mark.slow
@pytest.mark.parametrize("end", ["%", "ä b", "x" * 300, "a/../b"])
def test_a_link_that_was_spoilt_asks_for_the_whole_one(place: Place, people: People, end: str) -> None:
    person = people()
    person.page.goto(place.address(place.invited, end))
    expect(person.page.get_by_role("heading", name="By invitation")).to_be_visible()
    assert person.page.url == place.address(place.invited)


# how it looks and reads -----------------------------------------------------------------------------------------------


def test_keys_a_small_screen_and_the_policy(place: Place, people: People) -> None:
    person = people(viewport=NARROW, color_scheme="dark")
    answer = person.page.goto(place.address(place.albums))
    assert answer is not None
    policy = answer.all_headers()["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    expect(person.page.get_by_text("the signature holds")).to_be_visible()
    person.page.keyboard.press("Tab")  # nothing is before the answers
    person.page.get_by_role("button", name="Roll the dice and send").press("Enter")
    expect(person.page.get_by_role("alert")).to_have_text("Choose an answer first.")
    expect(person.page.get_by_label("none", exact=True)).to_be_focused()
    person.page.keyboard.press("ArrowDown")
    expect(person.page.get_by_label("1", exact=True)).to_be_checked()
    person.page.keyboard.press("Enter")
    expect(person.page.get_by_role("heading", name="Received")).to_be_focused()
    assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    person.page.evaluate("document.body.append(Object.assign(document.createElement('p'), {id: 'probe'}))")
    with pytest.raises(Exception, match="TrustedHTML"):
        person.page.evaluate("document.getElementById('probe').innerHTML = '<b>x</b>'")
    person.complaints[:] = [each for each in person.complaints if "TrustedHTML" not in each]


_FOREIGN = """
async (url) => {
  const failed = (make) => new Promise((resolve) => make(() => resolve("let through"), () => resolve("refused")));
  const element = (name, attributes) => failed((onload, onerror) =>
    document.body.append(Object.assign(document.createElement(name), { onload, onerror, ...attributes })));
  return {
    request: await fetch(url, { mode: "no-cors" }).then(() => "let through", () => "refused"),
    image: await element("img", { src: url }),
    sheet: await element("link", { rel: "stylesheet", href: url }),
    beacon: await new Promise((resolve) => {
      addEventListener("securitypolicyviolation", () => resolve("refused"), { once: true });
      navigator.sendBeacon(url, "x");
    }),
    inline: await new Promise((resolve) => {
      addEventListener("securitypolicyviolation", () => resolve("refused"), { once: true });
      const script = document.createElement("script");
      try { script.text = "globalThis.ran = 1"; } catch { /* a page takes no text for a script */ }
      document.body.append(script);
      resolve(globalThis.ran ? "let through" : "refused");
    }),
    evaluated: await new Promise((resolve) => {
      try { resolve(setTimeout("globalThis.ran = 1") && "let through"); } catch { resolve("refused"); }
    }),
  };
}
"""


@pytest.mark.slow
def test_a_page_reaches_nobody_else_and_runs_nothing_inline(place: Place, people: People) -> None:
    person = people()
    person.page.goto(place.address(place.albums))
    expect(person.page.locator("form")).to_be_visible()
    assert person.page.locator("script:not([src]):not([type='application/json'])").count() == 0
    assert person.page.locator("style, [style]").count() == 0
    elsewhere = place.server.url.replace("127.0.0.1", "localhost") + "/healthz"
    assert set(person.page.evaluate(_FOREIGN, elsewhere).values()) == {"refused"}
    assert all(each.url.startswith(place.server.url) for each in person.requests if each.failure is None)
    person.complaints.clear()  # the browser's own words about each of them


_CONTRAST = """
() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const [r, g, b, a = 1] = parts(getComputedStyle(at).backgroundColor);
      if (a === 1) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((each) => each.nodeType === 3 && each.textContent.trim());
    if (!own || !node.checkVisibility() || node.closest("svg, script, :disabled")) continue;
    const [one, other] = [light(parts(getComputedStyle(node).color)), light(behind(node))];
    found.push((Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05));
  }
  return Math.min(...found);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_and_every_target_hit(place: Place, people: People, scheme: str) -> None:
    """WCAG 2.2 AA: texts of a contrast of 4.5 or more, targets of 24 pixels or more, on a phone; 320 pixels fit."""
    person = people(viewport={"width": 320, "height": 640}, color_scheme=scheme)
    for task, label in ((place.albums, "3"), (place.many, "month 2")):
        person.choose(place.address(task), label)
        sizes = person.page.evaluate(
            "[...document.querySelectorAll('button, a, label')].map((each) => each.getBoundingClientRect().height)"
        )
        assert min(sizes) >= 44
        for _ in range(2):
            assert person.page.evaluate(_CONTRAST) >= 4.5
            assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            if person.page.locator("form").count():
                person.roll()
                person.received()
    person.page.goto(place.address(place.albums) + "/results")
    assert person.page.evaluate(_CONTRAST) >= 4.5


@pytest.mark.slow
def test_what_is_read_aloud(place: Place, people: People) -> None:
    person = people()
    person.choose(place.address(place.albums), "2")
    group = person.page.get_by_role("group", name="Your true answer")
    expect(group.get_by_role("radio")).to_have_count(5)
    expect(group).to_have_accessible_description(place.albums.question)
    person.roll()
    said = person.received()
    expect(person.page.get_by_role("heading", name="Why nobody can be sure")).to_be_visible()
    rows = person.page.locator(".bars li").all_inner_texts()
    told = [re.sub(r"\s+", " ", row).strip() for row in rows]
    assert told == [f"{label} {40 if label == said else 15} of 100" for label in ALBUMS]  # e/(e+4) = 0.40
    expect(person.page.get_by_text("guesses right in at most 74 of 100 cases")).to_be_visible()


# results --------------------------------------------------------------------------------------------------------------


def test_results_have_error_bars_and_say_what_was_promised(place: Place, people: People) -> None:
    person, task = (
        people(viewport=NARROW),
        place.surveys.made(HOME, SurveyPlan("Tea?", ("yes", "no <i>"), 1, minimum=20)),
    )
    address = f"{place.address(task)}/results"
    person.page.goto(address)
    expect(person.page.get_by_role("heading", name="There are no results yet")).to_be_visible()
    body = packed(task, fresh_ids(30), task.client.batch([0] * 20 + [1] * 10))
    sent = place.server.call("POST", f"/survey/v1/{task.id}/reports", body=body, headers=_BINARY)
    assert sent.json["accepted"] == 30
    person.page.reload()
    expect(person.page.get_by_text("only if at least 20 reports are there")).to_be_visible()
    assert "30" not in person.page.locator("main").inner_text()  # how many came is told with the results
    found = place.surveys.closed(HOME, task.id)
    person.page.reload()
    expect(person.page.get_by_text("30 reports were counted.")).to_be_visible()
    expect(person.page.get_by_text("guesses right in at most 74 of 100 cases")).to_be_visible()
    rows = [each.inner_text().split("\t") for each in person.page.locator("tbody tr").all()]
    for sentence in doubts(found):
        expect(person.page.get_by_text(sentence)).to_be_visible()
    want = [
        [each.label, f"{each.share:.1f} %", f"{each.low:.1f} to {each.high:.1f} %", "± 0.0 more"]
        for each in lines(found)
    ]
    assert [[cell.strip().replace("−", "-") for cell in row] for row in rows] == want
    assert person.page.locator(".narrow svg").count() == 1
    assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    person.page.goto(place.address(task))
    expect(person.page.get_by_role("heading", name="This survey is over")).to_be_visible()
    expect(person.page.locator("form")).to_have_count(0)
    assert read_task(place.server.call("GET", f"/survey/v1/{task.id}").body) == task


def test_too_few_reports_come_to_nothing_and_the_page_says_so(place: Place) -> None:
    for reports, sentence in ((19, "There will be no results"), (20, "told as soon as they are counted")):
        task = place.surveys.made(HOME, SurveyPlan(f"Of {reports}?", ("yes", "no"), 1, minimum=20))
        body = packed(task, fresh_ids(reports), task.client.batch([0] * reports))
        place.server.call("POST", f"/survey/v1/{task.id}/reports", body=body, headers=_BINARY)
        place.surveys._collector.close(task.id)
        page = place.server.call("GET", f"/survey/{task.id}/results").body.decode()
        assert sentence in page
        assert "<svg" not in page


def test_there_is_no_page_of_a_survey_that_is_not(place: Place) -> None:
    for path in ("/survey/" + "0" * 32, "/survey/x", "/survey/" + "0" * 32 + "/results", "/survey/static/survey.html"):
        assert place.server.call("GET", path).status in {400, 404}


def test_a_survey_that_no_page_can_roll_says_so(place: Place, people: People) -> None:
    person, task = people(), place.surveys.made(HOME, SurveyPlan("Which?", tuple(str(i) for i in range(60)), 1))
    answer = person.page.goto(place.address(task))
    assert answer is not None
    assert (answer.status, answer.all_headers()["content-type"]) == (200, "text/html; charset=utf-8")
    expect(person.page.get_by_role("heading", name="This survey is not answered in a browser")).to_be_visible()
    assert person.page.locator("script").count() == 0


def test_a_page_that_fails_says_that_nothing_was_sent(place: Place, people: People) -> None:
    person = people()

    def changed(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('id="dice">{', 'id="dice">{{'))

    person.page.route(place.address(place.albums), changed)
    person.page.goto(place.address(place.albums))
    expect(person.page.get_by_role("heading", name="This page does not work here")).to_be_visible()
    assert person.sent == []
