"""What one person's browser may cost everybody else: sockets, pages, messages, memory; and what ends at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

import clinic
import pytest
from console.conftest import Place
from console.test_authentication import cookie_of, form, page_of, socket
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection

from discreet.cli.http_door_for_console import Console, DoorHost
from discreet.console.authentication import Gate
from discreet.console.headers import Message, Receive, Scope, spoken
from discreet.console.pages import Visit
from discreet.console.sessions import LINES, BrowserSessions, Sockets
from discreet.console.upload import Uploads
from discreet.curator.custody import Custody
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.server.http.asgi_app import Door

CONNECTED, TOLD = "40{", '42["open"'


def until(line: ClientConnection, *starts: str) -> str:
    """The first message that begins like one of these."""
    while True:
        said = str(line.recv(timeout=20))
        if said.startswith(starts):
            return said


def closed(line: ClientConnection) -> bool:
    """Whether the other side closes a socket, after whatever it says."""
    try:
        while True:
            line.recv(timeout=20)
    except ConnectionClosed:
        return True
    except TimeoutError:
        return False


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home")


# the editor ----------------------------------------------------------------------------------------------------------


def test_the_editor_of_a_page_takes_no_multiplied_text(place: Place) -> None:
    cookie = cookie_of(place)
    said = place.server.call("GET", f"/ask?{urlencode({'sql': 'abc'})}", headers={"Cookie": cookie}).body.decode()
    page = re.findall(r"['\"]client_id['\"]: ['\"]([0-9a-f-]{36})", said)[0]
    listed = re.findall(r"parseElements\(String\.raw`(.*?)`\)", said, re.DOTALL)[0]
    escapes = {"&#36;": "$", "&#96;": "`", "&gt;": ">", "&lt;": "<", "&amp;": "&"}
    elements = json.loads(re.sub("|".join(escapes), lambda found: escapes[found[0]], listed))
    number, editor = next((key, each) for key, each in elements.items() if each["tag"] == "nicegui-codemirror")
    listener = next(each["listener_id"] for each in editor["events"] if each["type"] == "update:value")
    with socket(place, cookie, page) as line:
        line.send("40")
        until(line, CONNECTED)
        change = {"sections": [3, -1, -3, 0] * 1000, "inserted": []}
        event = {"id": int(number), "client_id": page, "listener_id": listener, "args": [json.dumps(change)]}
        line.send("42" + json.dumps(["event", event]))
        texts: list[str] = []
        while not texts:  # the server says which text it has
            told = json.loads(until(line, '42["update"')[2:])[1]
            texts += [told[number]["props"]["value"]] if number in told else []
    assert texts == ["abc"]


# sockets -------------------------------------------------------------------------------------------------------------


def test_one_person_has_so_many_sockets_and_others_have_theirs(place: Place) -> None:
    anns, cleos = cookie_of(place), cookie_of(place, "cleo")
    with ExitStack() as stack:
        lines = [stack.enter_context(socket(place, anns, "")) for _ in range(LINES)]
        for cookie in (anns, cookie_of(place)):  # nor with another session
            with pytest.raises(InvalidStatus) as refused:
                socket(place, cookie, "")
            assert refused.value.response.status_code == 403
        with socket(place, cleos, page_of(place, cleos)) as line:
            line.send("40")
            assert until(line, CONNECTED)
        lines[0].send("1")  # goodbye
        assert closed(lines[0])
        again(stack, place, anns)


def again(stack: ExitStack, place: Place, cookie: str) -> None:
    """A socket, as soon as the server has noticed that another one is gone."""
    for _ in range(50):
        with contextlib.suppress(InvalidStatus):
            stack.enter_context(socket(place, cookie, ""))
            return
    pytest.fail("a socket that is closed counts still")


def test_all_sockets_together_are_bounded_and_the_closed_ones_are_not_counted() -> None:
    lines, (ann, bob, dan) = Sockets(3, each=2), (Visitor(name, "analyst") for name in ("ann", "bob", "dan"))
    with ExitStack() as stack:
        took = [stack.enter_context(lines.taken(who)) for who in (ann, ann, ann, bob, dan)]
    assert took == [True, True, False, True, False]
    with contextlib.suppress(ZeroDivisionError), lines.taken(ann):
        raise ZeroDivisionError  # a socket that breaks
    with ExitStack() as stack:
        assert all(stack.enter_context(lines.taken(who)) for who in (ann, ann, bob))


def test_people_with_many_sockets_each_leave_some_to_custodians() -> None:
    lines, cleo = Sockets(16, each=4), Visitor("cleo", "custodian")
    crowd = [Visitor(f"analyst {number}", "analyst") for number in range(5)]
    with ExitStack() as stack:
        took = [stack.enter_context(lines.taken(who)) for who in crowd for _ in range(4)]
        assert took == [True] * 14 + [False] * 6
        assert [stack.enter_context(lines.taken(cleo)) for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize("said", ["40", '40{"a":1}', "41", '42["event",{}]', '420["handshake",{}]', "430[1]", "2", "3"])
def test_what_browsers_say(said: str) -> None:
    assert spoken({"type": "websocket.receive", "text": said})
    assert spoken({"type": "websocket.receive", "text": said, "bytes": None})


@pytest.mark.parametrize(
    "said",
    [
        '459999999999-["event",{"_placeholder":true,"num":0}]',
        "461-[]",
        '4"51-[]"',  # as a JSON string
        "4५1-[]",  # a five to Python
        "४51-[]",
        "bAAAA",  # bytes in base 64
        "1",
        "4",
        "44",
        "5",
        "",
    ],
)
def test_what_no_browser_says(said: str) -> None:
    assert not spoken({"type": "websocket.receive", "text": said})
    assert not spoken({"type": "websocket.receive", "text": "3", "bytes": said.encode()})


@pytest.mark.parametrize("sent", ['459999999999-["event",{"_placeholder":true,"num":0}]', b"x" * 100])
def test_a_socket_that_sends_what_no_browser_does_is_closed(place: Place, sent: str | bytes) -> None:
    cookie = cookie_of(place)
    with socket(place, cookie, page_of(place, cookie)) as line:
        line.send("40")
        until(line, CONNECTED)
        line.send(sent)
        assert closed(line)


# messages ------------------------------------------------------------------------------------------------------------


def test_messages_have_a_pace_and_the_sockets_of_a_person_share_it() -> None:
    now = [1000.0]
    lines = Sockets(9, clock=lambda: now[0])
    assert [lines.pause("ann") for _ in range(200)] == [0.0] * 200
    assert [round(lines.pause("ann"), 6) for _ in range(3)] == [0.02, 0.04, 0.06]
    assert lines.pause("bob") == 0.0
    now[0] += 1.06  # what waited was said, and then came nothing for a second
    assert [lines.pause("ann") for _ in range(50)] == pytest.approx([0.0] * 50, abs=1e-6)
    assert lines.pause("ann") == pytest.approx(0.02, abs=1e-6)
    now[0] += 3600.0
    assert [lines.pause("ann") for _ in range(201)][-2:] == pytest.approx([0.0, 0.02], abs=1e-6)


class Asked(Sockets):
    """Counts how often somebody was told to wait."""

    def __init__(self) -> None:
        super().__init__(9)
        self.names: list[str] = []

    def pause(self, name: str) -> float:
        self.names.append(name)
        return super().pause(name)


def test_every_message_of_a_socket_is_paced_and_in_order(home: Path) -> None:
    ends, lines, messages = list[str](), Asked(), [said("40"), *(said(f"42[{i}]") for i in range(5)), said("3")]

    async def listened() -> list[Message]:
        visit = visiting(home, ends)
        heard = visit.heard(source(iter([{"type": "websocket.connect"}, *messages])), lines)
        return [await heard() for _ in range(len(messages) + 1)]

    assert asyncio.run(listened()) == [{"type": "websocket.connect"}, *messages]
    assert lines.names == ["ann"] * len(messages)
    assert ends == []


def test_a_revoked_grant_is_noticed_at_the_next_message(home: Path) -> None:
    ends = list[str]()

    async def listened() -> tuple[Message, Message, Message]:
        visit = visiting(home, ends)
        heard = visit.heard(source(iter([said("42[1]"), said("42[2]"), said("42[3]"), said("42[4]")])), Sockets(9))
        first = await heard()
        Custody(home).shut_out("ann")
        believed = await heard()  # within a second nobody looks again
        visit.session.sure = 0.0
        return first, believed, await heard()

    first, believed, last = asyncio.run(listened())
    assert (first, believed) == (said("42[1]"), said("42[2]"))
    assert last["type"] == "websocket.disconnect"
    assert ends == ["revoked"]


def said(text: str) -> Message:
    return {"type": "websocket.receive", "text": text}


def source(messages: Iterator[Message]) -> Receive:
    async def receive() -> Message:
        return next(messages)

    return receive


def visiting(home: Path, ends: list[str]) -> Visit:
    """Ann at a page; her session ends when it is told to."""
    token = Custody(home).let_in("ann", "analyst")
    desk, sessions = Desk(home), BrowserSessions()
    visitor = desk.bearer(token)
    assert visitor is not None
    session, _ = sessions.begin(visitor)

    def end(why: str) -> None:
        ends.append(why)
        sessions.end(session)

    return Visit(desk, visitor, DoorHost(Door(desk)), session, "/ask", end, sessions.touch, Uploads(home, most=1))


def test_an_open_page_learns_of_a_revoked_grant_from_any_event(place: Place) -> None:
    token = Custody(place.home).let_in("rex", "analyst")
    cookie = form(place, "/sign-in", {"token": token}).headers["set-cookie"].partition(";")[0]
    page = page_of(place, cookie)
    with socket(place, cookie, page) as line:
        line.send("40")
        until(line, CONNECTED)
        Custody(place.home).shut_out("rex")
        threading.Event().wait(1.1)  # as long as a grant is believed
        line.send("42" + json.dumps(["event", {"client_id": page, "id": 0, "args": []}]))  # which asks the desk nothing
        assert json.loads(until(line, TOLD)[2:])[1]["path"] == "/sign-in?why=revoked"
    assert place.server.call("GET", "/session", headers={"Cookie": cookie}).status == 401


# pages ---------------------------------------------------------------------------------------------------------------


def greeted(line: ClientConnection, number: int, page: str) -> bool:
    """Whether a socket that named no page is taken for this one's."""
    line.send(f"42{number}" + json.dumps(["handshake", {"client_id": page, "tab_id": "t", "document_id": "d"}]))
    return until(line, f"43{number}[") == f"43{number}[true]"


def test_a_socket_is_of_one_page(place: Place) -> None:
    cookie = cookie_of(place)
    one, two = page_of(place, cookie), page_of(place, cookie)
    with socket(place, cookie, "") as line, socket(place, cookie, "") as other:
        line.send("40")
        other.send("40")
        assert greeted(line, 0, one)
        assert not greeted(line, 1, two)
        assert greeted(other, 2, two)


def test_so_many_pages_of_one_person_are_kept_and_those_that_somebody_looks_at_longest(place: Place) -> None:
    cookie, cleos = cookie_of(place), cookie_of(place, "cleo")
    hers, looked_at, oldest = page_of(place, cleos), page_of(place, cookie), page_of(place, cookie)
    with socket(place, cookie, looked_at) as line:
        line.send("40")
        until(line, CONNECTED)
        newest = [page_of(place, cookie_of(place) if i % 10 == 0 else cookie) for i in range(LINES - 1)][-1]
        for who, page, there in ((cleos, hers, True), (cookie, oldest, False), (cookie, newest, True)):
            with socket(place, who, "") as new:
                new.send("40")
                assert greeted(new, 0, page) is there
        line.send("420" + json.dumps(["handshake", {"client_id": looked_at}]))  # again, so no: but it is listened to
        assert until(line, "430[") == "430[false]"


# the end -------------------------------------------------------------------------------------------------------------


async def called(gate: Gate, method: str, path: str, body: bytes = b"", cookie: str = "") -> dict[str, str]:
    """The status and the headers of an answer, without a server around it."""
    told: dict[str, str] = {}
    headers = [(b"host", b"here"), (b"origin", b"http://here"), (b"cookie", cookie.encode())]
    scope: Scope = {"type": "http", "method": method, "path": path, "headers": headers, "client": ("127.0.0.1", 1)}

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            told.update({name.decode(): value.decode() for name, value in message["headers"]})
            told["status"] = str(message["status"])

    await gate(scope, receive, send)
    return told


def test_a_session_ends_soon_after_its_grant_whatever_its_pages_do(home: Path) -> None:
    tokens = {name: Custody(home).let_in(name, "analyst") for name in ("ann", "bob")}

    async def looked() -> list[list[str]]:
        desk = Desk(home)
        gate = Gate(desk, DoorHost(Door(desk)), Uploads(home, most=1), Sockets(9))
        signed = [
            await called(gate, "POST", "/sign-in", urlencode({"token": token}).encode()) for token in tokens.values()
        ]
        cookies = [said["set-cookie"].partition(";")[0] for said in signed]
        found = []
        for name in ("nobody", "ann"):
            with contextlib.suppress(Refusal):
                Custody(home).shut_out(name)
            await gate.sweep()
            found.append([(await called(gate, "GET", "/session", cookie=cookie))["status"] for cookie in cookies])
        return found

    assert asyncio.run(looked()) == [["204", "204"], ["401", "204"]]


def test_a_door_that_closes_takes_no_new_question(home: Path) -> None:
    Custody(home).let_in("ann", "analyst")
    lines: list[str] = []

    async def asked() -> tuple[list[str], str]:
        desk, ran = Desk(home), list[str]()
        door = Door(desk, log=lines.append)
        host, ann = DoorHost(door), desk.visitor("ann")
        await host.call(ann, "/ask", lambda: ran.append("before"), question=True)
        door.closing = True
        with pytest.raises(Refusal) as refused:
            await host.call(ann, "/ask", lambda: ran.append("after"), question=True)
        await host.call(ann, "/ask", lambda: ran.append("price"), question=False)
        await asyncio.wait_for(host.quiet(), 10)
        return ran, refused.value.message

    assert asyncio.run(asked()) == (["before", "price"], "this door is closing; nothing was charged")
    assert [json.loads(line)["status"] for line in lines] == [200, 503, 200]


def test_browsers_are_let_go_even_if_an_answer_never_comes(home: Path) -> None:
    Custody(home).let_in("ann", "analyst")
    release = threading.Event()

    async def closed_late() -> bool:
        desk = Desk(home)
        console = Console(Door(desk, log=lambda _: None))
        waiting = asyncio.create_task(
            console._host.call(desk.visitor("ann"), "/ask", lambda: release.wait(60), question=True)
        )
        await asyncio.sleep(0)  # it is under way
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(console.close(), 0.05)
        release.set()
        await waiting
        return console._gate._closing

    assert asyncio.run(closed_late())
