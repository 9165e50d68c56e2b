"""What every client and its server do with reports: make many, send them, add them up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Refusal
from discreet.exact import count, shown
from discreet.local.client import PERSON, chunks, held
from discreet.local.report_sums import Tally, Whole, label, plain
from discreet.mechanisms.mechanism import Takes
from discreet.mechanisms.registry import described
from discreet.noise import SECURE, Entropy
from discreet.privacy import Neighbours, Pure

Reports: TypeAlias = NDArray[Any]
_CHUNK = 1 << 15


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
