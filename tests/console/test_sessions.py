"""Sessions are bounded in number and in time."""

from __future__ import annotations

from discreet.console.sessions import BrowserSessions
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
