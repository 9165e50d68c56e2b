"""Sessions are bounded in number and in time."""

from __future__ import annotations

from http.cookies import SimpleCookie

import pytest

from discreet.console.headers import Scope
from discreet.console.sessions import BrowserSessions, CookieSeal
from discreet.desk import Visitor

ANN, BOB = Visitor("ann", "analyst", "a"), Visitor("bob", "analyst", "b")
HOUR = 3_600.0


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_session_is_found_by_its_id_and_by_no_other() -> None:
    sessions = BrowserSessions()
    one, _ = sessions.begin(ANN)
    two, _ = sessions.begin(ANN)
    assert one.id != two.id
    assert sessions.find(one.id) is one
    assert sessions.find("") is None
    assert sessions.find(one.id[:-1]) is None


def test_it_ends_when_nothing_is_done_for_an_hour() -> None:
    clock = Clock()
    sessions = BrowserSessions(clock=clock)
    idle, _ = sessions.begin(ANN)
    used, _ = sessions.begin(ANN)
    clock.now = 0.9 * HOUR
    assert sessions.find(used.id) is used
    clock.now = 1.1 * HOUR
    assert sessions.find(idle.id) is None
    assert sessions.swept() == [idle]
    assert idle.over
    assert sessions.find(used.id) is used


def test_it_ends_after_half_a_day_whatever_is_done() -> None:
    clock = Clock()
    sessions = BrowserSessions(clock=clock)
    session, _ = sessions.begin(ANN)
    for hour in range(24):
        clock.now = hour * HOUR / 2
        assert sessions.find(session.id) is session
    clock.now = 12 * HOUR + 1
    assert sessions.find(session.id) is None


def test_one_person_cannot_crowd_out_another() -> None:
    sessions = BrowserSessions(most=100, each=3)
    bobs, _ = sessions.begin(BOB)
    anns = [sessions.begin(ANN)[0] for _ in range(10)]
    assert len(sessions) == 4
    assert sessions.find(bobs.id) is bobs
    assert [session.over for session in anns] == [True] * 7 + [False] * 3


def test_there_are_never_more_than_so_many_and_the_longest_unseen_goes_first() -> None:
    sessions = BrowserSessions(most=5, each=5)
    people = [sessions.begin(Visitor(f"p{i}", "analyst"))[0] for i in range(5)]
    assert sessions.find(people[0].id) is people[0]
    _, ended = sessions.begin(ANN)
    assert ended == [people[1]]
    assert len(sessions) == 5


def test_what_has_ended_is_not_brought_back_by_a_touch() -> None:
    sessions = BrowserSessions()
    session, _ = sessions.begin(ANN)
    sessions.end(session)
    sessions.touch(session)
    assert sessions.find(session.id) is None
    assert len(sessions) == 0


# the cookie that carries a session's id -------------------------------------------------------------------------------

ID = "an-id_of-256-bits"


def scope(scheme: str, cookie: str = "", port: int = 8410) -> Scope:
    return {"scheme": scheme, "server": ("127.0.0.1", port), "headers": [(b"cookie", cookie.encode())]}


def written(seal: CookieSeal, scheme: str) -> tuple[str, str, str]:
    """The name, the value, and what else the header says."""
    pair, _, flags = seal.written(scope(scheme), ID).partition("; ")
    name, _, value = pair.partition("=")
    return name, value, flags


@pytest.mark.parametrize(
    ("scheme", "name", "flags"),
    [
        ("http", "discreet-8410", "Path=/; HttpOnly; SameSite=Strict"),
        ("https", "__Host-discreet-8410", "Path=/; HttpOnly; SameSite=Strict; Secure"),
    ],
)
def test_a_cookie_is_read_by_the_seal_that_wrote_it(scheme: str, name: str, flags: str) -> None:
    """Through TLS its name says that no other server of the domain can have set it."""
    seal = CookieSeal()
    found, value, more = written(seal, scheme)
    assert (found, more) == (name, flags)
    assert seal.read(scope(scheme, f"{name}={value}")) == ID
    assert seal.read(scope(scheme, f"{name}={value}", port=8411)) == ""  # that of another server on this machine
    assert SimpleCookie(seal.cleared(scope(scheme)))[name].value == ""


def test_a_cookie_that_nobody_signed_names_no_session() -> None:
    seal, stranger = CookieSeal(), CookieSeal()
    name, value, _ = written(seal, "http")
    number, _, mark = value.partition(".")
    for forged in (
        written(stranger, "http")[1],
        number,
        f"{number}.",
        f"{number}.{mark[:-1]}",
        f"{number}.{mark}0",
        f"{number}.{'0' * len(mark)}",
        f"another{number}.{mark}",
        f".{mark}",
        "",
    ):
        assert seal.read(scope("http", f"{name}={forged}")) == ""
