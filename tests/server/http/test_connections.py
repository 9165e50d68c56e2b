"""Who waits without a request makes room; who is served keeps their place."""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.server.http.connections import Crowd


@dataclass(eq=False)
class Line:
    """A connection."""

    name: str
    waiting: bool
    dropped: list[str] = field(default_factory=list)

    def drop(self) -> None:
        self.dropped.append(self.name)


def entered(crowd: Crowd, *lines: tuple[str, str, bool], dropped: list[str] | None = None) -> list[str]:
    dropped = [] if dropped is None else dropped
    for name, place, waiting in lines:
        crowd.enter(Line(name, waiting, dropped), place)
    return dropped


def test_the_oldest_that_waits_at_an_address_makes_room_for_the_next_from_there() -> None:
    crowd = Crowd(100, 2)
    served, silent = ("served", "a", False), ("silent", "a", True)
    dropped = entered(crowd, served, silent, ("elsewhere", "b", True), ("new", "a", True))
    assert dropped == ["silent"]
    entered(crowd, ("newer", "a", False), dropped=dropped)
    assert dropped == ["silent", "new"]
    entered(crowd, ("newest", "a", True), dropped=dropped)
    assert dropped == ["silent", "new", "newest"]  # both others are being served
    assert len(crowd) == 3


def test_where_all_places_are_taken_the_address_with_the_most_gives_one() -> None:
    crowd = Crowd(3, 3)
    many = [(f"a{i}", "a", True) for i in range(2)]
    assert entered(crowd, ("b0", "b", True), *many, ("c0", "c", True)) == ["a0"]


def test_an_address_that_many_share_is_bounded_by_all_places_alone() -> None:
    crowd = Crowd(3, 1, lambda place: place == "proxy")
    assert entered(crowd, *[(f"p{i}", "proxy", True) for i in range(4)]) == ["p0"]


def test_who_leaves_is_not_counted() -> None:
    crowd, line = Crowd(1, 1), Line("x", waiting=True)
    crowd.enter(line, "a")
    crowd.leave(line)
    crowd.leave(line)
    assert len(crowd) == 0
    assert entered(crowd, ("y", "a", True)) == []
