"""Streams, here or behind a door: one set of methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import pyarrow as pa

from discreet.client import sessions
from discreet.client.sessions import DoorCall
from discreet.curator.paid_mechanism import SessionStatus
from discreet.curator.stream_answers import StreamCount, StreamWords
from discreet.curator.stream_picture import counts_picture
from discreet.curator.streams import OpenStream, StreamOrder, StreamStatus
from discreet.errors import Refusal
from discreet.exact import Number, exact
from discreet.mechanisms.registry import rebuilt
from discreet.pictures.charts import Picture
from discreet.stream.declaration import StreamDeclaration


class PaidStream(Protocol):
    """Running counts that were paid whole, wherever their home is."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def standing(self) -> StreamStatus:
        """What is public of it: what was declared and paid, how many steps came, and why it is closed."""
        ...

    def push(self, rows: object, *, step: int | None = None) -> StreamCount:
        """The next step: a file, an Arrow table, a frame, or a dict of columns; none perhaps.

        After a crash, push the same rows with the same `step`: if it was counted, the answer is the one that was drawn.
        """
        ...

    @property
    def counts(self) -> tuple[StreamCount, ...]:
        """What it said after each step so far: free to look at again."""
        ...

    @property
    def closed(self) -> str:
        """Why no step may be pushed any more; nothing while one may."""
        ...

    def window(self, start: int, stop: int) -> StreamCount:
        """What came after step `start` up to step `stop`, from what was said: free."""
        ...

    def windows(self, width: int, every: int = 1) -> tuple[StreamCount, ...]:
        """What came in the last `width` steps, told after every so many steps, from what was said: free.

        At the beginning a window is shorter. With `every=width` they do not overlap.
        """
        ...

    @property
    def bounding(self) -> str:
        """What its numbers leave out before the noise. It follows from what was declared."""
        ...

    def plot(self, window: int | None = None) -> Picture:
        """The running counts so far, or what came in the last so many steps, with their errors."""
        ...

    def close(self) -> None:
        """Give up the steps that are left. Nothing is paid back."""
        ...


@dataclass(frozen=True)
class LocalStream:
    """A stream of a home in this process."""

    _opened: OpenStream

    @property
    def name(self) -> str:
        """What it is called."""
        return self._opened.name

    @property
    def standing(self) -> StreamStatus:
        """What is public of it: what was declared and paid, how many steps came, and why it is closed."""
        return self._opened.standing

    def push(self, rows: object, *, step: int | None = None) -> StreamCount:
        """The next step: a file, an Arrow table, a frame, or a dict of columns; none perhaps.

        After a crash, push the same rows with the same `step`: if it was counted, the answer is the one that was drawn.
        """
        return self._opened.push(pa.table(dict(rows)) if isinstance(rows, Mapping) else rows, step=step)

    @property
    def counts(self) -> tuple[StreamCount, ...]:
        """What it said after each step so far: free to look at again."""
        return self._opened.counts

    @property
    def closed(self) -> str:
        """Why no step may be pushed any more; nothing while one may."""
        return self._opened.closed

    def window(self, start: int, stop: int) -> StreamCount:
        """What came after step `start` up to step `stop`, from what was said: free."""
        return self._opened.window(start, stop)

    def windows(self, width: int, every: int = 1) -> tuple[StreamCount, ...]:
        """What came in the last `width` steps, told after every so many steps, from what was said: free.

        At the beginning a window is shorter. With `every=width` they do not overlap.
        """
        return self._opened.windows(width, every)

    @property
    def bounding(self) -> str:
        """What its numbers leave out before the noise. It follows from what was declared."""
        return self._opened.words.bounding

    def plot(self, window: int | None = None) -> Picture:
        """The running counts so far, or what came in the last so many steps, with their errors."""
        return counts_picture(self.standing, self.counts if window is None else self.windows(window), window)

    def close(self) -> None:
        """Give up the steps that are left. Nothing is paid back."""
        self._opened.close()


@dataclass(frozen=True)
class RemoteStream:
    """A stream by its name. Nothing of it is kept here."""

    name: str
    _call: DoorCall

    @property
    def _path(self) -> str:
        return f"streams/{self.name}"

    @property
    def standing(self) -> StreamStatus:
        """What is public of it: what was declared and paid, how many steps came, and why it is closed."""
        return self._call("GET", self._path, standing)

    def push(self, rows: object, *, step: int | None = None) -> StreamCount:
        """The next step: an Arrow table, a frame, or a dict of columns; none perhaps.

        After a crash, push the same rows with the same `step`: if it was counted, the answer is the one that was drawn.
        """
        body: dict[str, Any] = {"rows": _columns(rows)} if step is None else {"rows": _columns(rows), "step": step}
        return self._call("POST", f"{self._path}/steps", lambda told: counted(told, told["bounding"]), body)

    @property
    def counts(self) -> tuple[StreamCount, ...]:
        """What it said after each step so far: free to look at again."""
        return self._call("GET", self._path, _all_counted)

    @property
    def closed(self) -> str:
        """Why no step may be pushed any more; nothing while one may."""
        return self.standing.session.closed

    def window(self, start: int, stop: int) -> StreamCount:
        """What came after step `start` up to step `stop`, from what was said: free."""
        return self._words.window(self._answers, start, stop)

    def windows(self, width: int, every: int = 1) -> tuple[StreamCount, ...]:
        """What came in the last `width` steps, told after every so many steps, from what was said: free.

        At the beginning a window is shorter. With `every=width` they do not overlap.
        """
        return self._words.windows(self._answers, width, every)

    @property
    def bounding(self) -> str:
        """What its numbers leave out before the noise. It follows from what was declared."""
        return self.standing.bounding

    @property
    def _words(self) -> StreamWords:
        status = self.standing
        named = status.session.mechanism
        return StreamWords(rebuilt(named["name"], named["parameters"]), status.declared)

    @property
    def _answers(self) -> list[tuple[int, ...]]:
        unit = self._words.unit
        return [
            tuple(int(number / unit) for number in (each.by.values() if each.by else [each.count]))
            for each in self.counts
        ]

    def plot(self, window: int | None = None) -> Picture:
        """The running counts so far, or what came in the last so many steps, with their errors."""
        return counts_picture(self.standing, self.counts if window is None else self.windows(window), window)

    def close(self) -> None:
        """Give up the steps that are left. Nothing is paid back."""
        self._call("POST", f"{self._path}/close", standing)


def _columns(rows: object) -> dict[str, list[Any]]:
    """Rows as JSON holds them: of whatever Arrow reads."""
    if isinstance(rows, Mapping):
        rows = pa.table(dict(rows))
    try:
        table = rows if isinstance(rows, pa.Table) else pa.table(rows)
    except (TypeError, ValueError):
        raise Refusal("rows go through a door as an Arrow table, a frame, or a dict of columns") from None
    return {name: [_cell(value) for value in table[name].to_pylist()] for name in table.column_names}


def _cell(value: object) -> object:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def ordered(name: str, order: StreamOrder) -> dict[str, Any]:
    """An order as JSON holds it, prices exactly."""
    said = {word: value for word, value in vars(order).items() if value is not None}
    exactly: dict[str, Any] = {word: _number(said[word]) for word in ("epsilon", "rho", "delta") if word in said}
    sums = {column: [_number(end) for end in ends] for column, ends in order.sums.items()}
    steps = {column: _number(step) for column, step in order.steps.items()}
    by = {column: list(keys) for column, keys in order.by.items()}
    bins = {column: [_number(edge) for edge in edges] for column, edges in order.bins.items()}
    given = {"by": by, "bins": bins, "sums": sums, "steps": steps, "types": dict(order.types)}
    return {**said, **exactly, "name": name, **given}


def _number(value: Number) -> int | str:
    return value if isinstance(value, int) else str(exact(value, "a number"))


def standing(told: dict[str, Any]) -> StreamStatus:
    """What a door says of a stream."""
    session: SessionStatus = sessions.status(told["session"])
    return StreamStatus(told["name"], StreamDeclaration.read(told["name"], told["rows"]), told["horizon"], session)


def counted(told: dict[str, Any], bounding: str) -> StreamCount:
    """What a door says of one step."""
    by = {each["key"]: Fraction(each["count"]) for each in told["by"]}
    count, error, alone, top = (Fraction(told[name]) for name in ("count", "error", "key_error", "top_error"))
    return StreamCount(int(told["step"]), count, error, by, alone, top, int(told["start"]), bounding)


def _all_counted(told: dict[str, Any]) -> tuple[StreamCount, ...]:
    return tuple(counted(each, told["bounding"]) for each in told["counts"])
