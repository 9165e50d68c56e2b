"""Calls into a sandbox: what answers them, the values that are shared by many, and the messages that carry them."""

from __future__ import annotations

import io
import pickle
import socket
import struct
import threading
from collections.abc import Callable
from functools import cached_property
from itertools import count
from typing import Any, Generic, Protocol, TypeVar, cast

from sqlglot import serde

from discreet import errors
from discreet.errors import DiscreetError, Fault, Ground, Refusal

T = TypeVar("T")
M = TypeVar("M")

_numbers = count(1)

_LENGTH = struct.Struct("!Q")
_CHUNK = 1 << 16
Said = tuple[str, str, str, str, tuple[int, int] | None, str | None]  # class, message, hint, ground, place, repair
_ROOTS = ("discreet", "sqlglot", "datetime", "decimal", "fractions", "collections", "uuid")
_PLAIN = ("set", "frozenset", "complex", "bytearray", "object")


class SharedValue(Generic[T]):
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


class Sandbox(Protocol):
    """Calls a function in somebody's name. The function and all that it is given and returns are plain values."""

    def call(
        self,
        who: str,
        function: Callable[..., T],
        /,
        *given: object,
        facts: SharedValue[Any] | None = None,
        rows: int = 0,
    ) -> T:
        """Its value, or Exceeded. Facts are its first argument; for noisy tables of many `rows` it may take more."""
        ...


class Direct:
    """Just calls it: for one's own questions, in one's own process."""

    def call(
        self,
        _: str,
        function: Callable[..., T],
        /,
        *given: object,
        facts: SharedValue[Any] | None = None,
        rows: int = 0,  # noqa: ARG002  # nothing is limited here
    ) -> T:
        """Its value."""
        return function(*given) if facts is None else function(facts, *given)


DIRECT = Direct()


# messages: a length, and then bytes -----------------------------------------------------------------------------------


class Over(Exception):
    """The other side is gone, or says more than it may."""


def send(there: socket.socket, body: bytes) -> None:
    """One message."""
    there.sendall(_LENGTH.pack(len(body)) + body if len(body) < _CHUNK else _LENGTH.pack(len(body)))
    if len(body) >= _CHUNK:
        there.sendall(body)


def receive(there: socket.socket, most: int) -> bytes:
    """The next message, of so many bytes at most."""
    (size,) = _LENGTH.unpack(_exactly(there, _LENGTH.size))
    if size > most:
        raise Over
    return _exactly(there, size)


def _exactly(there: socket.socket, size: int) -> bytes:
    body = bytearray(size)
    view = memoryview(body)
    while view:
        came = there.recv_into(view)
        if not came:
            raise Over
        view = view[came:]
    return bytes(body)


# what may be in a reply -----------------------------------------------------------------------------------------------


class _Values(pickle.Unpickler):
    """Values and nothing else: a process in which strangers' SQL runs names no function here, and no other class."""

    def find_class(self, module: str, name: str) -> object:
        if module == "builtins" and name in _PLAIN:
            return super().find_class(module, name)
        if module.partition(".")[0] in _ROOTS:
            named = super().find_class(module, name)
            if isinstance(named, type) and named.__module__ == module:  # not what our modules have from elsewhere
                return named
        if (module, name) == ("copyreg", "_reconstructor"):
            return super().find_class(module, name)
        if (module, name) == (serde.__name__, serde.load.__name__):
            return _tree
        raise pickle.UnpicklingError(f"{module}.{name} is no value")


def _tree(written: list[dict[str, Any]]) -> object:
    """A tree of SQL: its parts name classes too, which are the parser's own."""
    _check(written)
    return serde.load(written)


def _check(written: list[dict[str, Any]] | None) -> None:
    for part in written or ():
        named = part.get(serde.CLASS, "")
        if "." in named and named != serde.DATA_TYPE and not named.startswith("sqlglot.expressions."):
            raise pickle.UnpicklingError(f"{named} is no part of SQL")
        _check(part.get(serde.TYPE))


def restored(body: bytes) -> object:
    """What a process replied."""
    return _Values(io.BytesIO(body)).load()


# errors ---------------------------------------------------------------------------------------------------------------


def said(error: DiscreetError) -> Said:
    """An error of ours, without the tree that it was found in."""
    if not isinstance(error, Refusal):
        return Fault.__name__, "", "", "", None, None
    kind = next(each.__name__ for each in type(error).__mro__ if each.__module__ == errors.__name__)
    return kind, error.message, error.hint, error.ground.value, error.place, error.repair


def heard(told: Said) -> DiscreetError:
    """The error again."""
    kind, message, hint, ground, place, repair = told
    if kind == Fault.__name__:
        return Fault()
    made: type[Refusal] = getattr(errors, kind)
    return made(message, hint=hint, place=place, repair=repair, ground=Ground(ground))
