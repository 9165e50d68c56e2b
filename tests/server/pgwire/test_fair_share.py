"""As long as others are there, nobody has more than their share of the loop; alone one waits for nothing."""

from __future__ import annotations

from discreet.server.pgwire.fair_share import Pace


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_who_is_alone_never_waits() -> None:
    pace = Pace(Clock())
    assert {pace.wait("eve", 10_000) for _ in range(1000)} == {0.0}


def test_who_says_much_waits_for_who_says_little() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.wait("ann", 100) == 0
    waits = [pace.wait("eve", 10_000) for _ in range(100)]
    assert waits[-1] > 2.0  # a hundred times twenty milliseconds, and as much for ann
    assert pace.wait("ann", 100) == 0
    clock.now = 10.0
    assert pace.wait("eve", 10_000) == 0  # ann said nothing for long


def test_strangers_are_others_too() -> None:
    pace = Pace(Clock())
    pace.coming = 1
    assert [pace.wait("eve", 10_000) for _ in range(10)][-1] > 0
