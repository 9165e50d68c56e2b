"""Public facts that many calls are about, such as a schema: each process is sent them once."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from functools import cached_property
from itertools import count
from typing import Generic, TypeVar, cast

T = TypeVar("T")
M = TypeVar("M")

_numbers = count(1)


class Facts(Generic[T]):
    """A value that never changes, and what was made of it where it is used."""

    def __init__(self, value: T, number: int | None = None) -> None:
        self.value = value
        self.number = next(_numbers) if number is None else number
        self._made: dict[str, object] = {}
        self._lock = threading.Lock()

    @cached_property
    def written(self) -> bytes:
        """The value as it is sent."""
        return pickle.dumps(self.value, pickle.HIGHEST_PROTOCOL)

    def made(self, name: str, make: Callable[[T], M]) -> M:
        """What `make` makes of the value, once."""
        with self._lock:
            if name not in self._made:
                self._made[name] = make(self.value)
            return cast("M", self._made[name])
