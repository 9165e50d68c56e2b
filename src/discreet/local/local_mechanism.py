"""Client: abstract mechanism that randomizes one person's answer, its reports as bytes, and their tally on a server."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.declared.grid import cells, real
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, shown, spoken
from discreet.interval_arithmetic import Interval, log, simpler_up
from discreet.mechanisms.mechanism import USUAL, Takes, settle
from discreet.mechanisms.registry import described, registered
from discreet.noise import SECURE, Entropy
from discreet.noise.bernoulli import DIGITS
from discreet.privacy import Neighbours, Pure, Replace

Whole = NDArray[np.int64]
Reports: TypeAlias = NDArray[Any]

client = registered  # a client is a mechanism like all others, and goes through a door as they do

PERSON = Replace("person")  # any two values of one person, who reports either way
LEAST, MOST = Fraction(1, 10**6), Fraction(20)  # of ε: there, 64 binary digits lose less than 1e-9 of it
TIMES = "mM"  # kinds of array: moments and durations are no numbers, but their lists may be whole ones
_MOST_WRITTEN = 1 << 18
_LONGEST_PART = 10**600  # of a fraction's two
MOST_PEOPLE = 1 << 40  # every sum of this room over so many reports is below the next
_FURTHEST = 1 << 62  # from zero: two such sums add up in 64 bits
_MARK = b"dTL1"
_LONGEST = 1 << 16  # of the client's description
_HEAD = len(_MARK) + 4 + 8  # the mark, how long the description is, how many people
_CHUNK = 1 << 15  # reports that are made or added up at once


def brief(value: Fraction, name: str) -> Fraction:
    """A number that goes into the description of a client and comes out again: of at most so many digits."""
    if max(abs(value.numerator), value.denominator) >= _LONGEST_PART:
        raise Refusal(f"expected {name} as a fraction of numbers below 1e600, got {name}={spoken(value)}")
    return value


def price(epsilon: Number) -> Fraction:
    """ε read exactly, if it lies where the proofs of this room hold."""
    known = brief(positive(epsilon, "epsilon"), "epsilon")
    if not LEAST <= known <= MOST:
        raise Refusal(
            f"expected epsilon between 1e-6 and 20, got epsilon={spoken(known)}",
            hint="less says nothing, and more hides nothing",
        )
    return known


def held(values: ArrayLike | Iterable[object]) -> NDArray[np.generic]:
    """What people have, in `cells`; what is masked is nothing."""
    known = cells(values)
    if isinstance(values, np.ma.MaskedArray) and known.dtype.kind not in TIMES:  # whose cells are nothing anyway
        cut = known.astype(object)
        cut[np.ma.getmaskarray(values)] = None
        return cut
    return known


def number(cell: object) -> Fraction | float:
    """The number that a person has, as `real` reads it; NaN, if it is none, whatever it is.

    An array without a shape is what it holds.
    """
    try:
        if isinstance(cell, np.ndarray) and not cell.ndim:
            return math.nan if np.ma.is_masked(cell) else real(np.asarray(cell)[()])
        return real(cell)
    except Exception:  # noqa: BLE001  # a number of a stranger's making, which breaks when it is read
        return math.nan


def answer(value: object, choices: int) -> int:
    """The value that a cell equals; refused if it is none of those that a person can have."""
    known = number(value)
    if isinstance(known, Fraction) and known.denominator == 1 and 0 <= known < choices:
        return int(known)
    raise off_list(choices)


def off_list(choices: int) -> Refusal:
    """Said of an answer that is not on the list: the same of all of them, and never which it was."""
    return Refusal(
        f"this answer is not on the list: answers are 0 to {choices - 1}", hint="nothing was sent or counted"
    )


def answers(values: NDArray[np.generic], choices: int) -> NDArray[np.int64]:
    """The same for many: all of them are refused if one is."""
    if values.dtype.kind in "iub":
        whole = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64)
        if np.any((whole < 0) | (whole >= choices)):
            raise off_list(choices)
        return whole.astype(np.int64)
    if values.dtype.kind in TIMES and values.size:
        raise off_list(choices)
    return np.array([answer(cell, choices) for cell in values.ravel().tolist()], dtype=np.int64)


def written_down(probabilities: int) -> None:
    """Refuse a channel of more than 2^18 probabilities."""
    if probabilities > _MOST_WRITTEN:
        raise Refusal(
            f"a channel of {spoken(Fraction(probabilities))} probabilities is not written down",
            hint="take fewer values or a coarser grid",
        )


def rounded_up(chance: Interval) -> Fraction:
    """The smallest multiple of 2^−64 that is surely not below the number."""
    return Fraction(math.ceil(chance.up * (1 << DIGITS)), 1 << DIGITS)


def rounded_down(chance: Interval) -> Fraction:
    """The largest multiple of 2^−64 that is surely not above the number."""
    return Fraction(math.floor(chance.down * (1 << DIGITS)), 1 << DIGITS)


def chunks(size: int, each: int) -> Iterator[slice]:
    """Slices of so many, which keep the arrays in between in the processor's cache."""
    return (slice(start, min(start + each, size)) for start in range(0, size, each))


def hoeffding(people: int, confidence: Number = USUAL) -> Fraction:
    """√(ln(2/β) / 2n): a mean of n independent numbers in [0, 1] is so near to its own (Hoeffding 1963, Theorem 2)."""
    rare = 1 - share(confidence, "confidence")
    return simpler_up((log(2 / rare) / (2 * people)).sqrt().up)


def narrowest(values: int) -> np.dtype[Any]:
    """The shortest unsigned integer that holds 0, …, values − 1, little end first."""
    return np.dtype(next(form for form in ("u1", "<u2", "<u4", "<u8") if values <= 1 << 8 * np.dtype(form).itemsize))


@dataclass(frozen=True, eq=False)
class Tally:
    """How many reports there were, and sums over them, for one client: nothing of a single report is left.

    `client` is the description of the client in JSON: sums of reports of two kinds mean nothing together.
    """

    client: str
    people: int
    counts: Whole

    def __post_init__(self) -> None:
        people, counts = count(self.people, "people", least=0), np.asarray(self.counts)
        if people > MOST_PEOPLE:
            raise Refusal(f"expected at most 2^40 reports in a tally, got {shown(people)}")
        if counts.dtype.kind not in "iu" or counts.ndim != 1:
            raise Refusal(f"expected the sums of a tally as whole numbers in a row, got {counts.dtype} {counts.shape}")
        if counts.size and max(abs(int(counts.min())), abs(int(counts.max()))) >= _FURTHEST:
            raise Refusal(f"the sums of a tally are below 2^62, and these go up to {int(np.abs(counts).max())}")
        counts = counts.astype(np.int64)
        counts.setflags(write=False)
        settle(self, people=people, counts=counts)

    def __add__(self, other: Tally) -> Tally:
        """Both crowds together."""
        if self.client != other.client or self.counts.shape != other.counts.shape:
            raise Refusal(f"a tally of {self.client} does not add to one of {other.client}")
        return Tally(self.client, self.people + other.people, self.counts + other.counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.encode() == other.encode()

    def __hash__(self) -> int:
        return hash(self.encode())

    def encode(self) -> bytes:
        """A mark of 4 bytes, the length of the description (4), the number of people (8), the description, the sums.

        Numbers are whole and little end first, sums 8 bytes each.
        """
        text = self.client.encode()
        head = _MARK + len(text).to_bytes(4, "little") + self.people.to_bytes(8, "little")
        return head + text + self.counts.astype("<i8").tobytes()

    @classmethod
    def decode(cls, data: bytes) -> Tally:
        """The tally that `encode` wrote."""
        if not isinstance(data, bytes):
            raise Refusal(f"expected a tally as bytes, got {type(data).__name__}")
        data = plain(data)
        size = int.from_bytes(data[4:8], "little")
        body = data[_HEAD + size :]
        if data[:4] != _MARK or len(data) < _HEAD + size or len(body) % 8 or size > _LONGEST:
            raise Refusal(f"these {len(data)} bytes are no tally")
        try:
            text = data[_HEAD : _HEAD + size].decode()
        except UnicodeDecodeError:
            raise Refusal(f"the description of a tally is no text: {size} bytes that are no UTF-8") from None
        return cls(text, int.from_bytes(data[8:16], "little"), np.frombuffer(body, dtype="<i8").astype(np.int64))


def plain(data: bytes | bytearray | memoryview) -> bytes:
    """The bytes in a buffer, in their order: a copy, unless nobody can change them."""
    try:
        return data if type(data) is bytes else memoryview(data).tobytes()
    except ValueError:
        raise Refusal(f"expected bytes, got a {type(data).__name__} that was released") from None


def label(description: dict[str, Any]) -> str:
    """A description as one text, the same for equal clients."""
    return json.dumps(description, sort_keys=True, separators=(",", ":"))


class Reporter(ABC):
    """A client and the server that understands it. Reports have one width, and many stand one after another.

    A report is public: it may be printed, and a refusal may say which one is strange.
    """

    takes: ClassVar[Takes] = Takes.ANSWER

    epsilon: Fraction

    @property
    def privacy(self) -> Pure:
        """ε."""
        return Pure(self.epsilon)

    @property
    def neighbours(self) -> Neighbours:
        """Any two values of one person."""
        return PERSON

    @property
    @abstractmethod
    def form(self) -> np.dtype[Any]:
        """What one report is in an array, and to the byte what is sent."""

    @abstractmethod
    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""

    def unlikely(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports an honest run sends with a probability below 2^−39 in all, whatever the person has.

        A collector refuses them. docs/proofs/honesty.md.
        """
        return np.zeros(len(reports), dtype=np.bool_)

    def encode(self, reports: Reports | object) -> bytes:
        """One report or an array of many as they are sent: `form.itemsize` bytes each."""
        return self.arranged(reports).tobytes()

    def decode(self, data: bytes | bytearray | memoryview) -> Reports:
        """The reports that were sent, in their order."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise Refusal(f"expected reports as bytes, got {type(data).__name__}")
        sent = plain(data)
        if len(sent) % self.form.itemsize:
            raise Refusal(f"expected a multiple of {self.form.itemsize} bytes, got {len(sent)}")
        return self._checked(np.frombuffer(sent, dtype=self.form))

    def arranged(self, reports: Reports | object) -> Reports:
        """One report or an array of many as an array of this form, if a run of this client can have sent each."""
        if isinstance(reports, (bytes, bytearray, memoryview)):
            return self.decode(reports)
        unit, shape = self.form.subdtype or (self.form, ())
        if isinstance(reports, np.ndarray):
            sent = np.asarray(reports)  # what is masked was sent all the same
            if sent.dtype != unit or sent.ndim != 1 + len(shape) or sent.shape[1:] != shape:
                got = f"{sent.dtype} of shape {sent.shape}"
                raise Refusal(f"expected an array of reports of {type(self).__name__} as {self.form}, got {got}")
            return self._checked(sent)
        return self._checked(self._alone(reports))

    def _alone(self, report: object) -> Reports:
        """One report that is a whole number, or a tuple of such."""
        parts = report if isinstance(report, tuple) else (report,)
        known = not self.form.subdtype and isinstance(report, tuple) == (self.form.names is not None)
        try:
            if known and all(type(part) is int for part in parts):
                return np.array([report], dtype=self.form)
        except (ValueError, OverflowError):
            pass  # too many parts, or one that is too large
        raise Refusal(f"{shown(report)} is no report of {type(self).__name__}")

    def _checked(self, reports: Reports) -> Reports:
        strange = np.flatnonzero(self.strange(reports))
        if strange.size:  # a report is public: what it says may be told
            raise Refusal(f"report {strange[0]} of {len(reports)} is none that {type(self).__name__} sends")
        return reports

    def _people(self, values: ArrayLike | Iterable[object]) -> NDArray[np.generic]:
        """One of the array's cells for each person, and nothing where it is masked."""
        return held(values).ravel()

    @abstractmethod
    def _truths(self, given: NDArray[np.generic]) -> Whole:
        """What people have, as whole numbers."""

    @abstractmethod
    def randomize(self, truths: Whole, rng: Entropy) -> Reports:
        """A report for each, in arrays."""

    @abstractmethod
    def sums(self, reports: Reports) -> Whole:
        """What a tally keeps."""

    @property
    @abstractmethod
    def _nothing(self) -> Whole:
        """What it keeps of no report."""

    @property
    def _together(self) -> int:
        """How many reports are made or added up at once."""
        return _CHUNK

    @property
    def _label(self) -> str:
        return label(described(self))

    def batch(self, values: ArrayLike, /, *, rng: Entropy = SECURE) -> Reports:
        """Many people's reports, each with coins of their own, and each as if made alone."""
        people = self._people(values)
        return self._made(len(people), lambda part: self._truths(people[part]), rng)

    def sample(self, value: object, size: int, *, rng: Entropy = SECURE) -> Reports:
        """Many reports on one value: for an audit."""
        truth = self._truths(self._people([value]))
        many = count(size, "size", least=0)
        return self._made(many, lambda part: np.repeat(truth, part.stop - part.start, axis=0), rng)

    def _made(self, size: int, truths: Callable[[slice], Whole], rng: Entropy) -> Reports:
        out = np.empty(size, dtype=self.form)
        for part in chunks(size, self._together):
            out[part] = self.randomize(truths(part), rng)
        return out

    def tally(self, reports: Reports | object) -> Tally:
        """What a server keeps of the reports. Tallies of two crowds add up to that of both."""
        sent = self.arranged(reports)
        parts = (self.sums(sent[part]) for part in chunks(len(sent), self._together))
        return Tally(self._label, len(sent), sum(parts, start=self._nothing))

    def understood(self, tally: Tally, least: int = 1) -> Tally:
        """The tally, if it is of this client's reports, and of enough of them."""
        if tally.client != self._label or tally.counts.shape != self._nothing.shape:
            raise Refusal(f"expected a tally of {self._label}, got one of {tally.client}")
        if tally.people < least:
            few = f"only {tally.people}" if tally.people else "no"
            raise Refusal(f"there are {few} reports to estimate from", hint=f"it takes {least}")
        return tally
