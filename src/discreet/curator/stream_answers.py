"""What a stream says: running counts, what came in a window of steps, the largest keys, and how far off each may be.

All of it is computed from running counts that were paid, so it is free; no error depends on a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from discreet.curator.explain import COVERED
from discreet.declared.group_key import Key
from discreet.errors import Refusal
from discreet.exact import count
from discreet.mechanisms.mechanism import USUAL
from discreet.stream import Stream
from discreet.stream.declaration import StreamDeclaration
from discreet.stream.left_out import left_out
from discreet.stream.stream import Counts


@dataclass(frozen=True)
class StreamCount:
    """What a stream said after one step, or of a window of steps: a count, or one for each key and their total.

    With the stated confidence a number that was chosen beforehand is within its error of the rows that count; those of
    all keys at once are within `top_error`, whichever of them is looked at.
    """

    step: int
    count: Fraction  # of all keys together
    error: Fraction
    by: Mapping[Key, Fraction] = field(default_factory=dict)
    key_error: Fraction = Fraction(0)  # of the count of one key
    top_error: Fraction = Fraction(0)  # of those of all keys
    start: int = 0  # the step after which it begins to count
    bounding: str = field(default="", repr=False)  # what does not count

    def top(self, most: int) -> list[tuple[Key, Fraction]]:
        """The keys with the largest counts, the largest first, each within `top_error`."""
        return sorted(self.by.items(), key=lambda each: -each[1])[: count(most, "most")]


@dataclass(frozen=True)
class StreamWords:
    """How the numbers of one stream are told: its mechanism, and what was declared of its rows."""

    stream: Stream
    declared: StreamDeclaration

    @cached_property
    def bounding(self) -> str:
        """What does not count, or counts as something else, and what errors cover."""
        return bounding(self.declared, self.stream.horizon)

    def running(self, answers: Sequence[Counts], first: int = 1) -> tuple[StreamCount, ...]:
        """Running counts, the first of them after this step."""
        rare = (1 - USUAL) / self.stream.size
        alone, top = self.stream.error(USUAL), self.stream.error(1 - rare)
        errors = (alone, self.stream.error(USUAL, self.stream.size), top)
        return tuple(self._told(0, step, answer, errors) for step, answer in enumerate(answers, start=first))

    def window(self, answers: Sequence[Counts], start: int, stop: int) -> StreamCount:
        """What came after step `start` up to step `stop`: a difference of two running counts, with its own error."""
        if not 0 <= start < stop <= len(answers):
            raise Refusal(f"expected 0 <= start < stop <= {len(answers)}, got start={start} stop={stop}")
        return self._windows(answers, stop - start, [stop])[0]

    def windows(self, answers: Sequence[Counts], width: int, every: int = 1) -> tuple[StreamCount, ...]:
        """What came in the last `width` steps, told every so many steps; at the beginning a window is shorter."""
        width, every = count(width, "width"), count(every, "every")
        return self._windows(answers, width, range(every, len(answers) + 1, every))

    def _windows(self, answers: Sequence[Counts], width: int, stops: Sequence[int]) -> tuple[StreamCount, ...]:
        size, nothing = self.stream.size, (0,) * self.stream.size
        rare = (1 - USUAL) / size
        asked = ((USUAL, 1), (USUAL, size), (1 - rare, 1))
        errors = [self.stream.window_errors(width, stops, *each) for each in asked]
        told = []
        for place, stop in enumerate(stops):
            start = max(0, stop - width)
            before = answers[start - 1] if start else nothing
            came = tuple(after - earlier for after, earlier in zip(answers[stop - 1], before, strict=True))
            alone, together, top = (each[place] for each in errors)
            told.append(self._told(start, stop, came, (alone, together, top)))
        return tuple(told)

    def _told(self, start: int, step: int, answer: Counts, errors: tuple[int, int, int]) -> StreamCount:
        unit, keys = self.unit, self.declared.keys
        numbers = [each * unit for each in answer]
        alone, together, top = (each * unit for each in errors)
        if not keys:
            return StreamCount(step, numbers[0], alone, start=start, bounding=self.bounding)
        by: dict[Key, Fraction] = dict(zip(keys, numbers, strict=True))
        return StreamCount(step, sum(numbers, Fraction(0)), together, by, alone, top, start, self.bounding)

    @property
    def unit(self) -> Fraction:
        """What one whole number of the mechanism stands for."""
        return self.declared.grid.step if self.declared.value else Fraction(1)


def bounding(declared: StreamDeclaration, horizon: int) -> str:
    """What the numbers of a stream leave out before the noise."""
    return " ".join((COVERED, *left_out(declared, horizon)))
