"""Connections of the HTTP door: so many in all and of one address. Who asks nothing makes room for who comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Protocol


class Connection(Protocol):
    """A connection as its place is counted."""

    @property
    def waiting(self) -> bool:
        """Whether nothing is done for it: it says nothing, or has not said all yet."""
        ...

    def drop(self) -> None:
        """Close it."""
        ...


class Crowd:
    """The connections there are, the oldest first. Not for several threads: an event loop owns it.

    Who comes when there is no room is let in, and the oldest connection that only waits is closed: of the same address
    if that has too many, else of the address that has the most. So half a request holds no place for long, and whoever
    sends a whole one at once is heard. Only where every connection is being served the new one is closed.
    """

    def __init__(self, most: int, each: int, shared: Callable[[str], bool] = lambda _: False) -> None:
        """`shared` says which addresses stand for many people, as those of a trusted proxy do."""
        self._most, self._each, self._shared = most, each, shared
        self._places: dict[Connection, str] = {}
        self._many: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._places)

    def enter(self, connection: Connection, place: str) -> None:
        """Count one more, and make room for it."""
        self._places[connection] = place
        self._many[place] += 1
        if self._many[place] > self._each and not self._shared(place):
            self._drop_one(place, connection)
        elif len(self._places) > self._most:
            self._drop_one(max(self._many, key=self._many.__getitem__), connection)

    def leave(self, connection: Connection) -> None:
        """Count one less."""
        place = self._places.pop(connection, None)
        if place is not None:
            self._many[place] -= 1
            if not self._many[place]:
                del self._many[place]

    def _drop_one(self, place: str, new: Connection) -> None:
        waiting = (each for each, where in self._places.items() if where == place and each.waiting)
        dropped = next(waiting, new)
        self.leave(dropped)
        dropped.drop()
