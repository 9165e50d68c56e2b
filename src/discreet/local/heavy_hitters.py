"""Heavy hitters: the texts that many people hold, found without a list of candidates, prefix by prefix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import Number, count, share, shown
from discreet.local.bloom import text_of, texts, written
from discreet.local.frequencies import Reals, reach
from discreet.local.local_mechanism import Reporter, Reports, Tally, Whole, client, hoeffding, price
from discreet.local.matching_pursuit import ALPHA, Pursuit
from discreet.local.sketch import CellCounts, HadamardSketch
from discreet.mechanisms import Pair
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy, below, belows
from discreet.privacy.divergence import Channel

_MOST_LENGTH, _MOST_STEP, _MOST_TRIED = 64, 12, 1 << 22
KEPT = 32


@dataclass(frozen=True, eq=False)
class Hitters:
    """Texts that were found, the largest share first, with standard errors and p-values.

    Shares are estimated from those people who told whole texts, and errors cover the drawing of those from all. A text
    that was not tried is not found: `tried` is how many whole texts were. `chances` are p-values after Bonferroni's
    correction for all that were tried: a list that was made without the reports of whole texts. They are over the
    choice of the key, and hold if nobody chose a text by it.
    """

    people: int
    tried: int
    values: tuple[str, ...]
    shares: Reals
    errors: Reals
    chances: Reals
    jump: float = 0.0

    @property
    def counts(self) -> Reals:
        """How many of all people who reported."""
        return self.shares * self.people

    def interval(self, confidence: Number = USUAL) -> tuple[Reals, Reals]:
        """Ends that cover the shares of all texts that were found, together, with about this probability.

        Of all that were tried (Bonferroni), as it was chance which of them were found. By the normal law, and further
        out by `jump`: what one report, or a large text that was lost and shares one row, adds to a share.
        """
        far = reach(confidence, max(1, self.tried))
        off = far * self.errors + (max(0.0, far**2 - 1) / 6 + 1 / 2) * self.jump
        return self.shares - off, self.shares + off


@client("heavy-hitters")
@dataclass(frozen=True)
class HeavyHitters(Reporter):
    """Draws how much of the text's beginning is told, then tells that as `HadamardSketch` does.

    A text is its first `length` bytes, filled up with zeros. Prefixes of `start` bits are told by some people, others
    tell `step` more, and so on up to the whole: each person reports once, about one length. What is neither text nor
    bytes nor whole number is refused.

    Guarantee: Pure(epsilon) for any two texts of the person who reports, whoever reads the report.
    Proof: length, row and coordinate do not depend on the text; given all three, the report is a `RandomizedResponse`
        on one bit (docs/proofs/hitters.md).
    Source: Wang, Li & Jha 2018, *Locally differentially private heavy hitter identification* (PEM).
    """

    epsilon: Fraction
    length: int = 8
    start: int = 8
    step: int = 8
    rows: int = 64
    width: int = 1024
    key: int = 0

    def __post_init__(self) -> None:
        settle(self, epsilon=price(self.epsilon))
        for name, most in (("length", _MOST_LENGTH), ("start", 16), ("step", _MOST_STEP)):
            settle(self, **{name: count(getattr(self, name), name)})
            if getattr(self, name) > most:
                raise Refusal(f"expected {name} <= {most}, got {name}={shown(getattr(self, name))}")
        if self.start > 8 * self.length:
            raise Refusal(f"expected start <= 8 * length, got start={self.start} length={self.length}")
        settle(self, rows=count(self.rows, "rows"))
        settle(self, width=self.sketch.width, key=self.sketch.key)

    @cached_property
    def prefixes(self) -> tuple[int, ...]:
        """How many bits are told, at each level."""
        whole = 8 * self.length
        return (*range(self.start, whole, self.step), whole)

    @cached_property
    def sketch(self) -> HadamardSketch:
        """The rows of all levels, one level after another."""
        return HadamardSketch(self.epsilon, self.rows * len(self.prefixes), self.width, self.key)

    @property
    def form(self) -> np.dtype[Any]:
        """As `HadamardSketch` has it, with `rows` rows for every level."""
        return self.sketch.form

    def prefix(self, value: object, level: int) -> bytes:
        """What is told of a text at a level."""
        text = text_of(written(value))[: self.length].ljust(self.length, b"\0")
        bits = self.prefixes[level]
        return _prefix(int.from_bytes(text, "big") >> 8 * self.length - bits, bits)

    def _cell(self, value: object, row: int) -> int:
        functions = self.sketch.functions
        return functions.cell(functions.digest(self.prefix(value, row // self.rows)), row)

    def channel(self, values: Iterable[bytes | str | int], row: int = 0) -> Channel[Any, int]:
        """All probabilities of all reports, given the row, which is drawn without a look at the text."""
        asked = {value: self.prefix(value, row // self.rows) for value in values}
        law = self.sketch.channel(dict.fromkeys(asked.values()), row)
        return Channel({value: law[told] for value, told in asked.items()})

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> int:
        """One person's report."""
        row = below(self.sketch.rows, rng=rng)
        return self.sketch.said(row, self._cell(value, row), rng)

    def _truths(self, given: NDArray[np.generic]) -> Whole:
        """A person's text as bytes, one number each."""
        filled = b"".join(text_of(text)[: self.length].ljust(self.length, b"\0") for text in texts(given))
        return np.frombuffer(filled, dtype=np.uint8).reshape(given.size, self.length).astype(np.int64)

    def randomize(self, truths: Whole, rng: Entropy) -> Reports:
        """A report for each, in arrays."""
        rows = belows(self.sketch.rows, len(truths), rng=rng)
        held = [
            self._cell(text.tobytes(), row) for text, row in zip(truths.astype(np.uint8), rows.tolist(), strict=True)
        ]
        return self.sketch.told(rows, np.array(held, dtype=np.int64), rng)

    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""
        return self.sketch.strange(reports)

    def sums(self, reports: Reports) -> Whole:
        """What a tally keeps: a sketch for every level."""
        return self.sketch.sums(reports)

    @property
    def _together(self) -> int:
        return max(1 << 15, self.sketch.rows * self.width)

    @property
    def _nothing(self) -> Whole:
        return np.zeros(self.sketch.rows * (1 + self.width), dtype=np.int64)

    def estimate(self, tally: Tally, kept: int = KEPT, alpha: Number = ALPHA) -> Hitters:
        """The texts that many people hold, found from their beginnings on: `kept` prefixes go on from each level.

        One that nobody holds is among them with a probability of at most `alpha`, over coins and hash functions. Free,
        however often it is done.
        """
        known, level = self.understood(tally), float(share(alpha, "alpha"))
        if count(kept, "kept") << max(self.step, self.start) > _MOST_TRIED:
            raise Refusal(f"expected kept * 2^step <= 2^22, got kept={kept}", hint="keep fewer, or take smaller steps")
        sums = known.counts.reshape(len(self.prefixes), self.rows, 1 + self.width)
        if not sums[:, :, 0].sum(axis=1).all():
            raise Refusal(
                f"{known.people} reports are too few: of one length nobody told anything", hint="ask more people"
            )
        tried, before = [0], 0
        for at, bits in enumerate(self.prefixes[:-1]):
            tried = _longer(tried, bits - before)
            shares = self._level(at, sums[at], tried).shares
            tried, before = [tried[i] for i in np.argsort(-shares, kind="stable")[:kept]], bits
        tried = _longer(tried, self.prefixes[-1] - before)
        last = self._level(len(sums) - 1, sums[-1], tried)
        order = [i for i in np.argsort(-last.shares, kind="stable") if last.chances[i] <= level]
        values = tuple(self._text(tried[i]) for i in order)
        columns = last.shares[order], last.errors[order], last.chances[order]
        return Hitters(known.people, len(tried), values, *columns, last.jump)

    def _level(self, at: int, sums: Whole, tried: list[int]) -> Pursuit:
        """The shares of these prefixes among the people of one level, without what the surest add to the others."""
        rows = CellCounts(sums[:, 0], self.sketch.supports(sums), self.sketch.inside)
        digests = self.sketch.functions.digests([_prefix(prefix, self.prefixes[at]) for prefix in tried])
        return Pursuit.of(rows, self.sketch.functions.table(digests, self.rows, at * self.rows))

    def _text(self, whole: int) -> str:
        """Without the zeros that filled it up; a byte that is no text is shown by its number."""
        return whole.to_bytes(self.length, "big").rstrip(b"\0").decode("utf-8", "backslashreplace")

    def pairs(self) -> tuple[Pair[str], ...]:
        """Two texts that begin differently and share few cells."""
        some = [chr(32 + 6 * number) for number in range(16)]
        rows = range(min(self.sketch.rows, 64))
        apart = [sum(self._cell(some[0], row) != self._cell(text, row) for row in rows) for text in some]
        return (Pair(some[0], some[int(np.argmax(apart))], "a person with one text, and with another"),)

    def error(self, confidence: Number = USUAL, people: int = 1) -> Fraction:
        """An α that a given prefix's share, from so many people of its level, is within; texts in its cells aside."""
        return hoeffding(count(people, "people"), confidence) / self.sketch.odds.gap


def _prefix(bits: int, size: int) -> bytes:
    """So many bits as bytes: how many, and then they."""
    return size.to_bytes(2, "little") + bits.to_bytes(-(-size // 8), "big")


def _longer(prefixes: list[int], more: int) -> list[int]:
    """All prefixes that are so many bits longer."""
    return [prefix << more | end for prefix in prefixes for end in range(1 << more)]
