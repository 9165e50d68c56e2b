"""Sample and aggregate: any function of any data, made private by running it on small blocks.

Every row falls into one block, so a row changes one block's result at most, whatever the function is. A private mean or
median of the blocks' results then needs no analysis of the function.

Each block has a process of its own, so that an honest function's number depends on its block alone: what it stores in
memory or prints ends with it, and it inherits no open file. Its time is counted in processor seconds, which hardly
depend on what else the machine holds or does. "Hardly" and "honest" are conditions of the guarantee:
docs/proofs/sample.md, "Isolation", has them all.
"""

from __future__ import annotations

import fcntl
import gc
import math
import os
import resource
import select
import signal
import struct
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Generic, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.declared.grid import Grid
from discreet.errors import Fault, Refusal
from discreet.exact import Number, count, exact, positive, spoken
from discreet.mechanisms.mechanism import USUAL, Pair, Takes, settle
from discreet.mechanisms.median import PureRank
from discreet.mechanisms.registry import registered
from discreet.noise import SECURE, Entropy, belows, laplace, permutation
from discreet.privacy import AddRemove, Loss, Neighbours, Pure, Replace
from discreet.privacy.calibrate import laplace_error

X = TypeVar("X")

_FIXED = "biufcmM"  # kinds of cells whose type says nothing of what the other rows hold
L_co = TypeVar("L_co", bound=Loss, covariant=True)


@registered("block-mean")
@dataclass(frozen=True)
class BlockMean:
    """The mean of a public number of values between two bounds, with Laplace noise.

    Guarantee: Pure(epsilon) when one value is replaced.
    Proof: replacing a value moves the sum by at most upper − lower; the noise on it is discrete Laplace of scale
        (upper − lower) / epsilon, and dividing by the public size loses nothing.
    Source: Dwork, McSherry, Nissim & Smith 2006, Proposition 1.
    """

    takes: ClassVar[Takes] = Takes.ROWS

    epsilon: Fraction
    lower: Fraction
    upper: Fraction
    step: Fraction
    size: int
    neighbours: Neighbours = Replace()

    def __post_init__(self) -> None:
        grid = self.grid
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            lower=grid.lower,
            upper=grid.upper,
            step=grid.step,
            size=count(self.size, "size"),
            neighbours=self.neighbours,
        )
        if not isinstance(self.neighbours, Replace):
            raise Refusal(f"the mean of a public number of values is proved for Replace, got {self.neighbours}")

    @property
    def grid(self) -> Grid:
        """Where the values lie."""
        return Grid(self.lower, self.upper, self.step)

    @property
    def privacy(self) -> Pure:
        """ε."""
        return Pure(self.epsilon)

    @property
    def scale(self) -> Fraction:
        """Of the noise on the sum, in steps."""
        return max(1, self.grid.span) / self.epsilon

    def error(self, confidence: Number = USUAL) -> Fraction:
        """The smallest α with Pr[|answer − mean| ≤ α] ≥ confidence, for the numbers on the grid."""
        return self.step * laplace_error(self.scale, confidence) / self.size

    def pairs(self) -> tuple[Pair[tuple[Fraction, ...]], ...]:
        """One value goes from one bound to the other."""
        low, high = self.grid.value(self.grid.low), self.grid.value(self.grid.high)
        rest = (low,) * (self.size - 1)
        return (Pair((*rest, low), (*rest, high), "one value crosses the whole span"),)

    def __call__(self, values: ArrayLike, /, *, rng: Entropy = SECURE) -> Fraction:
        """The mean with noise."""
        steps = self.grid.steps(values).ravel().tolist()
        if len(steps) != self.size:  # public under Replace, so it may be said
            raise Refusal(f"expected {self.size} values, got {len(steps)}", hint="their number is public and declared")
        return self.step * Fraction(sum(steps) + laplace(self.scale, rng=rng), self.size)


class Aggregate(Protocol[L_co]):
    """A private summary of one number for each block, proved for replacing one of them."""

    @property
    def grid(self) -> Grid:
        """Where the numbers lie."""
        ...

    @property
    def size(self) -> int:
        """How many numbers there are: public."""
        ...

    @property
    def privacy(self) -> L_co:
        """What it loses when one number is replaced."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """A `Replace`."""
        ...

    def error(self, confidence: Number = USUAL, /) -> Fraction:
        """How far the answer is from the summary without noise."""
        ...

    def __call__(self, values: ArrayLike, /, *, rng: Entropy = SECURE) -> Fraction:
        """The summary."""
        ...


@dataclass(frozen=True)
class SampleAggregate(Generic[X, L_co]):
    """Runs a function on random blocks of the rows and releases a private summary of what it returned.

    A block has its rows in a random order, whichever they came in; an array of numbers is cut into arrays, of whose
    type the function may know, and anything else into lists.

    Guarantee: the loss of `aggregate`, whether one row is added, removed or replaced, and however the rows are ordered,
        for any function that looks at its block alone. A row must be all that one unit gives. Conditional on limits
        that are never near: no block's processor time is about `seconds` or its time on the wall about `patience`, and
        memory suffices.
    Proof: docs/proofs/sample.md. Given where the rows fall and who stands before whom, one row changes one block's
        result, and neither depends on the data or on the order in which they came. An exception, a result that is no
        finite number, or too much time is `otherwise`.
    Source: Nissim, Raskhodnikova & Smith 2007, Section 4; Mohan, Thakurta, Shi, Song & Culler 2012 for isolated blocks.
    """

    takes: ClassVar[Takes] = Takes.ROWS

    function: Callable[[Sequence[X]], object]
    aggregate: Aggregate[L_co]
    otherwise: Fraction
    seconds: Fraction = Fraction(10)
    patience: Fraction = Fraction(60)
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle(
            self,
            otherwise=_float_sized(exact(self.otherwise, "otherwise"), "otherwise"),
            seconds=_clocked(positive(self.seconds, "seconds"), "seconds"),
            patience=_clocked(positive(self.patience, "patience"), "patience"),
            neighbours=self.neighbours,
        )
        if not isinstance(self.aggregate.neighbours, Replace):
            raise Refusal(f"the blocks' results need a mechanism for Replace, got {self.aggregate.neighbours}")

    @classmethod
    def mean(
        cls, function: Callable[[Sequence[X]], object], grid: Grid, blocks: int, epsilon: Number
    ) -> SampleAggregate[X, Pure]:
        """The mean of the blocks' results. What fails counts as the middle of the grid."""
        price = positive(epsilon, "epsilon")
        return SampleAggregate(function, BlockMean(price, grid.lower, grid.upper, grid.step, blocks), _middle(grid))

    @classmethod
    def median(
        cls, function: Callable[[Sequence[X]], object], grid: Grid, blocks: int, epsilon: Number
    ) -> SampleAggregate[X, Pure]:
        """The median of the blocks' results. What fails counts as the middle of the grid."""
        price, rank = positive(epsilon, "epsilon"), (count(blocks, "blocks") + 1) // 2
        summary = PureRank(price, grid.lower, grid.upper, grid.step, rank, blocks)
        return SampleAggregate(function, summary, _middle(grid))

    @property
    def privacy(self) -> L_co:
        """What the aggregate loses when one block's result is replaced."""
        return self.aggregate.privacy

    def error(self, confidence: Number = USUAL) -> Fraction:
        """α such that the answer is within α of the blocks' summary without noise, with this probability."""
        return self.aggregate.error(confidence)

    def results(self, rows: Sequence[X] | NDArray[np.generic], *, rng: Entropy = SECURE) -> list[float]:
        """What each block returned. Private."""
        given = _fit(rows)
        places, order = belows(self.aggregate.size, len(given), rng=rng), permutation(len(given), rng=rng)
        blocks = (order[places == block] for block in range(self.aggregate.size))
        return [self._result(_taken(given, where)) for where in blocks]

    def _result(self, block: Sequence[X]) -> float:
        number = number_of(self.function, block, float(self.seconds), float(self.patience))
        return float(self.otherwise) if number is None or not math.isfinite(number) else number

    def __call__(self, rows: Sequence[X] | NDArray[np.generic], /, *, rng: Entropy = SECURE) -> Fraction:
        """The summary with noise."""
        return self.aggregate(self.results(rows, rng=rng), rng=rng)


def _float_sized(number: Fraction, name: str) -> Fraction:
    """Checked here and not when a block fails, because which blocks fail depends on the rows."""
    if abs(number) > Fraction(sys.float_info.max):
        raise Refusal(f"expected {name} within a float's range, got {name}={spoken(number)}")
    return number


def _clocked(seconds: Fraction, name: str) -> Fraction:
    """A timer set to less than a tick would be no timer."""
    if not Fraction(1, 10**6) <= seconds <= 10**9:
        raise Refusal(f"expected 0.000001 <= {name} <= 1000000000, got {name}={spoken(seconds)}")
    return seconds


def _middle(grid: Grid) -> Fraction:
    return (grid.lower + grid.upper) / 2


def _fit(rows: Sequence[X] | NDArray[np.generic]) -> Sequence[X] | NDArray[np.generic]:
    """Rows of which each can be looked at alone.

    The width of a text in an array is that of the longest of them all, and what is more than a plain array may carry
    anything: these become lists.
    """
    plain = not isinstance(rows, np.ndarray) or (type(rows) is np.ndarray and rows.dtype.kind in _FIXED)
    return rows if plain else rows.tolist()  # type: ignore[union-attr]  # an array by now


def _taken(rows: Sequence[X] | NDArray[np.generic], where: NDArray[np.int64]) -> Sequence[X]:
    if isinstance(rows, np.ndarray):
        return rows[where]  # type: ignore[return-value]  # an array of rows is as good as a list of them
    return [rows[int(i)] for i in where]


B = TypeVar("B")

_NUMBER = struct.Struct("<d")
_POLL = 60_000  # milliseconds at most in one call: more than 2^31 would not fit


def number_of(function: Callable[[B], object], block: B, seconds: float, patience: float) -> float | None:
    """The number that `function` returns for `block`; None if it returns none, fails, or takes too long.

    `seconds` is processor time; `patience` is time on the wall, for a function that sleeps or waits. Files that the
    function reads it must open itself.
    """
    child, reading = _started(function, block, seconds)
    try:
        content = _received(reading, time.monotonic() + patience)
    finally:
        os.close(reading)
        _end(child)
    return _NUMBER.unpack(content)[0] if len(content) == _NUMBER.size else None


def _started(function: Callable[[B], object], block: B, seconds: float) -> tuple[int, int]:
    """The child, and where its number can be read."""
    ends: tuple[int, ...] = ()
    try:
        reading, writing = ends = os.pipe()
        child = _forked()
    except OSError:  # no process to be had: the machine's state, not the rows', and still no reason to say more
        for end in ends:
            os.close(end)
        raise Fault from None
    if child == 0:
        _run(function, block, seconds, writing)
    os.close(writing)
    return child, reading


def _forked() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads: the child is left at its end
        return os.fork()


def _run(function: Callable[[B], object], block: B, seconds: float, writing: int) -> NoReturn:
    """In the child: it never returns, whatever happens."""
    try:
        os.setsid()  # so that its own children can be ended with it
        writing = fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, 3)  # in case the parent has no standard output
        _close_files(writing)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold all rows
        gc.freeze()  # so that no collection walks through other blocks' rows, in this block's time
        gc.collect()  # and the next one is due after as many objects, whatever was made before
        signal.setitimer(signal.ITIMER_PROF, seconds)
        result = function(block)
        if isinstance(result, (str, bytes)):  # float() would read them
            os._exit(1)
        os.write(writing, _NUMBER.pack(float(result)))  # type: ignore[arg-type]  # whatever it is, it is tried
    finally:
        os._exit(0)


def _close_files(writing: int) -> None:
    """Every open file but this one: where a file is read and written next is shared with the parent and all blocks."""
    quiet = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(quiet, standard)
    for name in os.listdir("/dev/fd"):  # noqa: PTH208  # names of numbers, not paths
        if int(name) > 2 and int(name) != writing:
            with suppress(OSError):  # the listing's own, closed by now
                os.close(int(name))
    sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # a notebook's go elsewhere


def _received(reading: int, deadline: float) -> bytes:
    """What the child wrote before it ended, or before the deadline."""
    content, poll = b"", select.poll()  # select() takes no file number above 1023
    poll.register(reading, select.POLLIN)
    while len(content) < _NUMBER.size and (left := deadline - time.monotonic()) > 0:
        if poll.poll(min(1000 * left, _POLL)):
            part = os.read(reading, _NUMBER.size - len(content))
            if not part:
                break
            content += part
    return content


def _end(child: int) -> None:
    """The child and whatever it started, unless that left the child's process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    with suppress(ChildProcessError):  # where SIGCHLD is ignored, nobody need wait for it
        os.waitpid(child, 0)
