"""Signing in and out in a browser, and what a browser may do with a page."""

from __future__ import annotations

import re
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from certificate import certificate_in
from console.conftest import PLACES, Place, Watched, opened, settled, signed_in, watched, write
from playwright.sync_api import Browser, expect
from playwright.sync_api import TimeoutError as TooLate

from discreet.curator.custody import Custody


def test_somebody_with_a_token_signs_in_and_out(person: Watched) -> None:
    page = person.page()
    signed_in(page, person.url, person.tokens["ann"])
    settled(page)
    expect(page.get_by_role("heading", name="Ask")).to_be_visible()
    expect(page.get_by_role("banner")).to_contain_text("ann")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in?why=left")
    expect(page.get_by_role("status")).to_have_text("You are signed out.")
    page.goto(f"{person.url}/ask")
    page.wait_for_url("**/sign-in?next=/ask")


def test_a_wrong_token_gets_nobody_in(person: Watched) -> None:
    page = person.page()
    page.goto(f"{person.url}/sign-in")
    page.get_by_label("Your token").fill("no-such-token")
    page.get_by_label("Your token").press("Enter")
    expect(page.get_by_role("alert")).to_have_text("this token lets nobody in")
    assert person.context.cookies() == []
    person.allow("status of 401")


def test_after_signing_in_one_is_where_one_wanted_to_go(person: Watched) -> None:
    page = person.page()
    page.goto(f"{person.url}/budget")
    page.get_by_label("Your token").fill(person.tokens["ann"])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{person.url}/budget")
    expect(page.get_by_role("heading", name="patient")).to_be_visible()


def test_whose_grant_is_revoked_is_out_at_the_next_action(chromium: Browser, place: Place) -> None:
    token = Custody(place.home).let_in("zoe", "analyst")
    with watched(chromium, Place(place.server, place.home, {"zoe": token})) as zoe:
        page, other = zoe.signed_in("zoe"), zoe.page()
        other.goto(f"{zoe.url}/budget")
        settled(other)
        Custody(place.home).shut_out("zoe")
        with suppress(TooLate):  # the other tab may have asked before, and then both are out already
            write(page, "SELECT count(*) FROM visits")
        page.wait_for_url("**/sign-in?why=revoked")
        expect(page.get_by_role("status")).to_contain_text("Your token does not let you in any more.")
        other.wait_for_url("**/sign-in?why=revoked")  # the other tab goes with it
        page.goto(f"{zoe.url}/ledger")
        page.wait_for_url("**/sign-in?next=/ledger")


def test_signing_out_closes_the_other_tabs_as_well(person: Watched) -> None:
    page, other = person.signed_in("ann"), person.page()
    other.goto(f"{person.url}/ledger")
    settled(other)
    page.get_by_role("button", name="Sign out").click()
    other.wait_for_url("**/sign-in?why=left")


def test_every_page_carries_its_policy(person: Watched) -> None:
    """How they look, and that no browser complains of them, is seen wherever a page is used."""
    person.let_in("cleo")
    for path in PLACES:
        told = person.context.request.get(person.url + path, max_redirects=0)
        assert told.status == 200, path
        headers = told.headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["object-src"] == "'none'"
        assert re.fullmatch(r"'self' 'nonce-[\w-]{20,}' 'unsafe-eval'", policy["script-src"])
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["x-frame-options"] == "DENY"
        assert "camera=()" in headers["permissions-policy"]


def test_a_script_that_gets_into_a_page_does_not_run(person: Watched) -> None:
    page = person.signed_in("ann")
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {textContent: 'stolen = 1'}))")
    assert page.evaluate("typeof stolen") == "undefined"
    assert any("Content Security Policy" in each for each in person.complaints)
    person.allow("Content Security Policy")


def test_an_analyst_sees_no_way_to_the_data_and_is_kept_out(person: Watched) -> None:
    page = person.signed_in("ann", "/data")
    expect(page.get_by_text("This page is for custodians.")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_role("link", name="Data")).to_have_count(0)
    assert "visits" not in page.content()
    person.allow("status of 403")


@pytest.mark.slow
def test_the_theme_is_kept(person: Watched) -> None:
    page = person.signed_in("ann")
    page.get_by_role("button", name="Theme: auto").click()
    page.get_by_role("button", name="Theme: light").click()
    page.get_by_role("button", name="Theme: dark").wait_for()
    page.reload()
    page.get_by_role("button", name="Theme: dark").wait_for()
    assert page.evaluate("document.body.classList.contains('body--dark')")


@pytest.mark.slow
def test_the_journal_tells_who_did_what_and_no_more(chromium: Browser, tmp_path: Path) -> None:
    with opened(tmp_path) as place:
        with watched(chromium, place) as ann:
            page = ann.signed_in("ann")
            write(page, "SELECT count(*) AS secretly FROM visits")
            page.get_by_role("button", name="Ask · pays").wait_for()
            page.goto(f"{place.url}/ask?sql=SELECT+count(*)+AS+secretly+FROM+visits")
            page.get_by_role("button", name="Ask · pays").wait_for()
            cookie = ann.context.cookies()[0]["value"]
        lines, text = place.server.lines(), place.server.journal.read_text()
    (told,) = [line for line in lines if line["method"] == "WS" and line["duration"] and line["path"] == "/ask"][-1:]
    assert (told["principal"], told["status"]) == ("ann", 200)
    assert {line["path"] for line in lines} <= {"-", "/sign-in", "/ask", "/console/{name}", "/_nicegui/{file:path}"}
    assert "secretly" not in text
    assert cookie.partition(".")[0] not in text
    assert "Traceback" not in text


@pytest.mark.slow
def test_the_server_stops_though_browsers_are_open(chromium: Browser, tmp_path: Path) -> None:
    with opened(tmp_path) as place, watched(chromium, place) as ann:
        for path in ("/ask", "/budget", "/ledger"):
            page = ann.page()
            if path == "/ask":
                signed_in(page, place.url, place.tokens["ann"])
            page.goto(place.url + path)
            settled(page)
        place.server.process.send_signal(signal.SIGTERM)
        assert place.server.process.wait(timeout=10) == 0  # sockets do not keep it until the time for answers is up
        assert "Traceback" not in place.server.journal.read_text()
        ann.complaints.clear()  # that nobody answers any more


@pytest.mark.slow
def test_a_home_that_breaks_while_people_look_shows_nothing_of_it(chromium: Browser, tmp_path: Path) -> None:
    with opened(tmp_path) as place, watched(chromium, place) as ann:
        page = ann.signed_in("ann")
        (place.home / "ledger.db").write_bytes(b"garbage" * 1000)
        write(page, "SELECT count(*) FROM visits")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("alert")).to_be_visible()
        said = page.get_by_role("alert").inner_text() + page.goto(f"{place.url}/budget").text()  # type: ignore[union-attr]
        journal = place.server.journal.read_text()
        ann.complaints.clear()
    assert not re.search(r"sqlite|Error|Traceback|File \"", said)
    assert "Traceback" not in journal


@pytest.mark.slow
def test_through_tls_the_cookie_never_leaves_it(chromium: Browser, tmp_path: Path) -> None:
    cert, key = certificate_in(tmp_path)
    with opened(tmp_path, "--tls-cert", str(cert), "--tls-key", str(key)) as place:
        context = chromium.new_context(ignore_https_errors=True)
        try:
            page = context.new_page()
            signed_in(page, f"https://127.0.0.1:{place.server.http}", place.tokens["ann"])
            settled(page)
            (cookie,) = context.cookies()
        finally:
            context.close()
    assert cookie["name"] == f"__Host-discreet-{place.server.http}"
    assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Strict")
