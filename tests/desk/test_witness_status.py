"""Witnesses are asked once in a while, however many want to know, and nobody waits for somebody else's call."""

from __future__ import annotations

import threading

import pytest

from discreet.desk.ledger_proofs import Lately
from discreet.errors import Busy
from discreet.ledger.home_ledger import Standing


class Asked:
    """Witnesses that count how often they are asked, and say so."""

    def __init__(self) -> None:
        self.times, self.now = 0, 100.0

    def __call__(self) -> list[Standing]:
        self.times += 1
        return [Standing(f"call {self.times}", None)]

    def clock(self) -> float:
        return self.now


def test_what_was_said_is_repeated_for_ten_seconds() -> None:
    asked = Asked()
    lately = Lately(asked, asked.clock)
    assert {lately.said()[0].where for _ in range(100)} == {"call 1"}
    asked.now += 9.9
    assert (lately.said()[0].where, asked.times) == ("call 1", 1)
    asked.now += 0.2
    assert (lately.said()[0].where, asked.times) == ("call 2", 2)


def test_while_one_asks_others_hear_what_was_said_last_or_that_it_is_being_asked() -> None:
    asked, begun, go_on = Asked(), threading.Event(), threading.Event()

    def slowly() -> list[Standing]:
        begun.set()
        assert go_on.wait(30)
        return asked()

    lately = Lately(slowly, asked.clock)
    for before in (None, "call 1"):
        begun.clear()
        go_on.clear()
        first = threading.Thread(target=lately.said)
        first.start()
        assert begun.wait(30)
        if before is None:
            with pytest.raises(Busy, match="the witnesses are being asked just now; try again"):
                lately.said()
        else:
            assert lately.said()[0].where == before
        go_on.set()
        first.join()
        asked.now += 11
    assert asked.times == 2


def test_a_call_that_fails_is_not_remembered_and_the_next_one_asks_again() -> None:
    asked = Asked()

    def broken() -> list[Standing]:
        if asked() and asked.times == 1:
            raise OSError
        return asked()

    lately = Lately(broken, asked.clock)
    with pytest.raises(OSError):  # noqa: PT011  # it has no words
        lately.said()
    assert lately.said()[0].where == "call 3"
