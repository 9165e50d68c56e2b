"""LRU cache: so many values by their keys, of which the one that was not asked for the longest goes first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """So many values, the least recently used of which goes first. Any thread may ask."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value, if it is still kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Keep a value."""
        with self._lock:
            self._add(key, value)

    def drop(self, key: K) -> None:
        """Keep this value no longer."""
        with self._lock:
            self._values.pop(key, None)

    def made(self, key: K, make: Callable[[], V]) -> V:
        """The value, made now if it is not kept; by one thread at a time."""
        with self._lock:
            if key not in self._values:
                self._add(key, make())
            self._values.move_to_end(key)
            return self._values[key]

    def _add(self, key: K, value: V) -> None:
        self._values[key] = value
        while len(self._values) > self._most:
            self._values.popitem(last=False)
