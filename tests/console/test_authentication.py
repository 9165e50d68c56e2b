"""The gate without a browser: forms, cookies, files and sockets as somebody may forge them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

import pytest
from console.conftest import PLACES, Place, opened
from server.served import Reply
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from discreet.curator.custody import Custody


def form(place: Place, path: str, fields: Mapping[str, str], **headers: str) -> Reply:
    """A form as a browser sends it from a page of ours, unless a test says otherwise."""
    usual = {"Content-Type": "application/x-www-form-urlencoded", "Origin": place.url}
    sent = {name.replace("_", "-"): value for name, value in {**usual, **headers}.items() if value}
    return place.server.call("POST", path, body=urlencode(fields).encode(), headers=sent)


def cookie_of(place: Place, who: str = "ann") -> str:
    """The cookie of somebody who has just signed in."""
    said = form(place, "/sign-in", {"token": place.tokens[who]})
    assert said.status == 303
    return said.headers["set-cookie"].partition(";")[0]


def socket(place: Place, cookie: str, page: str, origin: str | None = None) -> ClientConnection:
    """A socket as NiceGUI opens it for a page."""
    asked = urlencode(
        {
            "EIO": 4,
            "transport": "websocket",
            **({"implicit_handshake": "true", "client_id": page} if page else {}),
            "tab_id": "t",
            "document_id": "d",
            "next_message_id": 0,
        }
    )
    headers = {"Cookie": cookie} if cookie else {}
    url = f"ws://127.0.0.1:{place.server.http}/_nicegui_ws/socket.io/?{asked}"
    return connect(url, origin=Origin(origin or place.url), additional_headers=headers, legacy=True)


def page_of(place: Place, cookie: str) -> str:
    """The id of a page that somebody opened."""
    said = place.server.call("GET", "/budget", headers={"Cookie": cookie})
    found = re.search(r"['\"]client_id['\"]: ['\"]([0-9a-f-]{36})", said.body.decode())
    assert found is not None
    return found[1]


def until(line: ClientConnection, start: str) -> str:
    """The first message that begins so."""
    while not (said := str(line.recv(timeout=60))).startswith(start):
        pass
    return said


def test_the_cookie_is_signed_and_out_of_reach(place: Place) -> None:
    said = form(place, "/sign-in", {"token": place.tokens["ann"]}).headers["set-cookie"]
    name, flags = said.partition(";")[0], said.partition(";")[2]
    assert {flag.strip() for flag in flags.split(";")} == {"Path=/", "HttpOnly", "SameSite=Strict"}
    number, mark = name.partition("=")[2].split(".")
    assert len(number) == 43  # 256 bits
    assert place.tokens["ann"] not in said
    for wrong in (f"{number}.{'0' * 64}", f"{number}", f"{'A' * 43}.{mark}", "", "é.é"):
        header = {"Cookie": f"{name.partition('=')[0]}={wrong}"}
        assert place.server.call("GET", "/ask", headers=header).headers["location"] == "/sign-in?next=/ask"


def test_signing_in_gives_a_new_id_and_ends_what_was_before(place: Place) -> None:
    before = cookie_of(place)
    after = (
        form(place, "/sign-in", {"token": place.tokens["ann"]}, Cookie=before).headers["set-cookie"].partition(";")[0]
    )
    assert before != after
    assert place.server.call("GET", "/session", headers={"Cookie": before}).status == 401
    assert place.server.call("GET", "/session", headers={"Cookie": after}).status == 204


def test_signing_out_ends_the_session_on_the_server(place: Place) -> None:
    cookie = cookie_of(place)
    said = form(place, "/sign-out", {}, Cookie=cookie)
    assert "Max-Age=0" in said.headers["set-cookie"]
    assert place.server.call("GET", "/session", headers={"Cookie": cookie}).status == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},  # another port of this machine is the same site, but not us
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null", "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://[", "Sec-Fetch-Site": "same-origin"},
    ],
)
def test_a_form_of_another_page_is_refused(place: Place, headers: dict[str, str]) -> None:
    cookie = cookie_of(place)
    assert form(place, "/sign-out", {}, Cookie=cookie, **headers).status == 403
    said = form(place, "/sign-in", {"token": place.tokens["ann"]}, **headers)
    assert said.status == 403
    assert "set-cookie" not in said.headers
    assert place.server.call("GET", "/session", headers={"Cookie": cookie}).status == 204


@pytest.mark.parametrize(
    "path", [path for path in PLACES if path not in ("/promise", "/why")]
)  # which everybody may read
def test_without_a_session_there_is_only_the_form(place: Place, path: str) -> None:
    said = place.server.call("GET", path)
    assert (said.status, said.headers["location"], said.body) == (303, f"/sign-in?next={path}", b"")


@pytest.mark.parametrize("after", ["//evil.example", "https://evil.example", "/nowhere", '"><script>'])
def test_the_form_leads_nowhere_else(place: Place, after: str) -> None:
    said = place.server.call("GET", f"/sign-in?{urlencode({'next': after, 'why': after})}")
    assert b"evil" not in said.body
    assert b"<script" not in said.body
    assert "script-src 'none'" in said.headers["content-security-policy"]
    sent = form(place, "/sign-in", {"token": place.tokens["ann"], "next": after})
    assert sent.headers["location"] == "/ask"


@pytest.mark.parametrize(
    "path", ["/_nicegui/3.18.0/static/nicegui.js", "/_nicegui/client/x/upload/1", "/_nicegui/auto/static"]
)
def test_nothing_of_what_draws_pages_is_for_strangers(place: Place, path: str) -> None:
    assert place.server.call("GET", path).status == 401


def test_only_files_that_pages_need_are_served(place: Place) -> None:
    cookie = {"Cookie": cookie_of(place)}
    page = place.server.call("GET", "/budget", headers=cookie).body.decode()
    script = re.findall(r'src="(/_nicegui/[^"]+nicegui\.js)"', page)[0]
    found = place.server.call("GET", script, headers=cookie)
    assert (found.status, found.headers["cache-control"]) == (200, "private, max-age=31536000, immutable")
    for path in (
        "/_nicegui/client/x/upload/1",
        "/_nicegui/auto/static/x",
        script.replace("static/nicegui", "static/no"),
    ):
        missing = place.server.call("GET", path, headers=cookie)
        assert missing.status == 404
        assert missing.headers["cache-control"] == "no-store"
    assert place.server.call("POST", script, headers=cookie).status == 404
    assert place.server.call("GET", "/_nicegui_ws/socket.io/?EIO=4&transport=polling", headers=cookie).status == 404
    forged = place.server.call("GET", "/budget", headers={**cookie, "X-Forwarded-Prefix": "//evil.example"})
    assert b"evil" not in forged.body


def test_a_socket_with_a_session_hears_of_its_page(place: Place) -> None:
    cookie = cookie_of(place)
    with socket(place, cookie, page_of(place, cookie)) as line:
        line.send("40")
        assert "sid" in until(line, "40{")


@pytest.mark.parametrize("wrong", ["no session", "forged session", "other origin", "no page of theirs"])
def test_a_strangers_socket_hears_nothing(place: Place, wrong: str) -> None:
    cookie = cookie_of(place)
    page = page_of(place, cookie)
    used = {"no session": "", "forged session": cookie[:-1] + "x", "no page of theirs": cookie_of(place, "cleo")}
    origin = "http://evil.example" if wrong == "other origin" else None
    with pytest.raises(InvalidStatus) as refused:
        socket(place, used.get(wrong, cookie), page, origin)
    assert refused.value.response.status_code == 403


def test_a_socket_cannot_speak_for_somebody_elses_page(place: Place) -> None:
    theirs, mine = cookie_of(place, "cleo"), cookie_of(place)
    victim, own = page_of(place, theirs), page_of(place, mine)
    with socket(place, mine, "") as line:  # it names no page, so NiceGUI would believe whatever it says next
        line.send("40")
        for number, page in enumerate((victim, own)):
            sent = {"client_id": page, "tab_id": "t", "document_id": "d"}
            line.send(f"42{number}" + json.dumps(["handshake", sent]))
        said = [str(line.recv(timeout=60)) for _ in range(4)]
    assert "430[false]" in said
    assert "431[true]" in said


def test_messages_that_make_no_sense_break_nothing_and_say_nothing(place: Place) -> None:
    cookie = cookie_of(place)
    page = page_of(place, cookie)
    with socket(place, cookie, page) as line:
        line.send("40")
        until(line, "40{")
        contents: list[object] = [
            None,
            1,
            "x",
            [],
            {},
            {"client_id": page},
            {"client_id": page, "id": 1, "args": ["{"]},
        ]
        for event in ("event", "javascript_response", "ack", "log", "handshake", "nosuch"):
            for content in contents:
                line.send("42" + json.dumps([event, content]))
        line.send("2")
        line.send("427" + json.dumps(["handshake", {"client_id": page, "tab_id": "t", "document_id": "d"}]))
        assert until(line, "437")  # an answer, so all of it was heard
    text = place.server.journal.read_text()
    assert "Traceback" not in text
    assert "client_id" not in text
    assert place.server.call("GET", "/budget", headers={"Cookie": cookie}).status == 200


def test_wrong_tokens_make_an_address_wait_but_not_who_was_right_before(tmp_path: Path) -> None:
    with opened(tmp_path) as place:
        cookie_of(place)
        tries = [form(place, "/sign-in", {"token": f"wrong-{i}"}) for i in range(12)]
        assert {said.status for said in tries} == {401}
        assert b"this token lets nobody in" in tries[0].body
        assert b"too many tries" in tries[-1].body
        assert b"too many tries" in form(place, "/sign-in", {"token": place.tokens["cleo"]}).body
        assert cookie_of(place)
        journal = place.server.journal.read_text()
    assert "wrong-" not in journal
    assert not any(token in journal for token in place.tokens.values())


def test_programs_do_not_notice_the_console(place: Place) -> None:
    there = place.server.call("GET", "/api/v1/tables", place.tokens["ann"], headers={"Cookie": cookie_of(place)})
    assert there.status == 200
    assert there.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert "set-cookie" not in there.headers
    assert place.server.call("GET", "/api/v1/tables", headers={"Cookie": cookie_of(place)}).status == 401
    assert [place.server.call("GET", path).error["kind"] for path in ("/nowhere", "/")] == ["refusal"] * 2
    assert place.server.call("GET", "/", headers={"Accept": "text/html,*/*"}).headers["location"] == "/ask"
    assert "/ask" not in place.server.call("GET", "/api/v1/openapi.json").json["paths"]


def test_a_page_that_asks_nothing_notices_a_revoked_grant_too(place: Place) -> None:
    token = Custody(place.home).let_in("yan", "analyst")
    cookie = form(place, "/sign-in", {"token": token}).headers["set-cookie"].partition(";")[0]
    assert place.server.call("GET", "/promise", headers={"Cookie": cookie}).status == 200
    Custody(place.home).shut_out("yan")
    said = place.server.call("GET", "/promise", headers={"Cookie": cookie})
    assert (said.status, said.headers["location"]) == (303, "/sign-in?why=revoked")
