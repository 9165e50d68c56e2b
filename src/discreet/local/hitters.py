"""Heavy hitters: the texts that many people hold, found without a list of candidates, prefix by prefix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from discreet.errors import Refusal
from discreet.exact import Number, count, share, shown
from discreet.local.bloom import texts, written
from discreet.local.client import client, hoeffding, price
from discreet.local.estimate import Reals
from discreet.local.reporter import Reporter, Reports
from discreet.local.sketch import HadamardSketch, Rows, Sketched
from discreet.local.tally import Tally, Whole
from discreet.mechanisms import Pair
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy, below, belows
from discreet.privacy.divergence import Channel

_MOST_LENGTH, _MOST_STEP, _MOST_TRIED = 64, 12, 1 << 22
KEPT, ALPHA = 32, 0.05
_TAKEN_OFF = 64  # of the largest shares
_NEVER = 1e-15  # a chance


@dataclass(frozen=True, eq=False)
class Hitters:
    """Texts that were found, the largest share first, with standard errors.

    Shares are estimated from those people who told whole texts, and errors cover the drawing of those from all. A text
    that was not tried is not found: `tried` is how many whole texts were.
    """

    people: int
    tried: int
    values: tuple[str, ...]
    shares: Reals
    errors: Reals

    @property
    def counts(self) -> Reals:
        """How many of all people who reported."""
        return self.shares * self.people


@client("heavy-hitters")
@dataclass(frozen=True)
class HeavyHitters(Reporter):
    """Draws how much of the text's beginning is told, then tells that as `HadamardSketch` does.

    A text is its first `length` bytes, filled up with zeros. Prefixes of `start` bits are told by some people, others
    tell `step` more, and so on up to the whole: each person reports once, about one length. What is neither text nor
    bytes nor whole number counts as the empty text.

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
        text = (written(value) or b"")[: self.length].ljust(self.length, b"\0")
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
        filled = b"".join((text or b"")[: self.length].ljust(self.length, b"\0") for text in texts(given))
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

        One that nobody holds is among them with a probability of about `alpha`. Free, however often it is done.
        """
        known, level = self.understood(tally), float(share(alpha, "alpha"))
        if count(kept, "kept") << max(self.step, self.start) > _MOST_TRIED:
            raise Refusal(f"expected kept * 2^step <= 2^22, got kept={kept}", hint="keep fewer, or take smaller steps")
        sums = known.counts.reshape(len(self.prefixes), self.rows, 1 + self.width)
        if not sums[:, :, 0].sum(axis=1).all():
            raise Refusal("there are too few reports: of one length nobody told anything", hint="ask more people")
        tried, before = [0], 0
        for at, bits in enumerate(self.prefixes[:-1]):
            tried = _longer(tried, bits - before)
            shares, _, _ = self._level(at, sums[at], tried)
            tried, before = [tried[i] for i in np.argsort(-shares, kind="stable")[:kept]], bits
        tried = _longer(tried, self.prefixes[-1] - before)
        shares, errors, chances = self._level(len(sums) - 1, sums[-1], tried)
        order = [i for i in np.argsort(-shares, kind="stable") if len(tried) * chances[i] <= level]
        values = tuple(self._text(tried[i]) for i in order)
        return Hitters(known.people, len(tried), values, shares[order], errors[order])

    def _level(self, at: int, sums: Whole, tried: list[int]) -> tuple[Reals, Reals, Reals]:
        """The shares of these prefixes among the people of one level, standard errors, and p-values.

        A text that many hold shows in all texts that have one of its cells. Which those are is known, so the largest
        share is taken off the others, then the largest of what is left, as long as it is surely there (orthogonal
        matching pursuit; Pati, Rezaiifar & Krishnaprasad 1993). The errors cover what smaller shares add.
        """
        rows = Rows(sums[:, 0], self.sketch.supports(sums), self.sketch.inside)
        digests = self.sketch.functions.digests([_prefix(prefix, self.prefixes[at]) for prefix in tried])
        table = self.sketch.functions.table(digests, self.rows, at * self.rows)
        guess = rows.estimate(tuple(tried), table)
        cells = self.rows * (self.width - 1)
        taken: list[int] = []
        overlaps = np.empty((0, len(tried)))
        shares = guess.shares
        large: Reals = np.empty(0)
        while True:
            left = max(0.0, cells * float(guess.collisions) - float((large**2).sum()))  # of Σ share²
            rest = shares.copy()
            rest[taken] = -np.inf
            best = int(np.argmax(rest))
            alone = self._chances(rest[[best]], np.sqrt([left]), guess)[0]
            if len(tried) * alone > ALPHA or len(taken) == _TAKEN_OFF:
                break
            taken.append(best)
            overlaps = np.vstack([overlaps, rows.overlaps(table, best)])
            large = np.asarray(np.linalg.lstsq(overlaps[:, taken].T, guess.shares[taken], rcond=None)[0], np.float64)
            shares = guess.shares - large @ overlaps
            shares[taken] += large
        others = np.full(len(tried), left)
        others[taken] += large**2  # nobody holds it, so what was taken for its share is another's
        inside = (guess.people * np.clip(shares, 0, 1) + 2) / (guess.people + 4)  # as `Mean.likely`
        variance = float(guess.odds.variance(Fraction(0))) - inside**2
        errors = np.sqrt(variance / guess.people + left / cells)
        return shares, errors, self._chances(shares, np.sqrt(others), guess)

    def _chances(self, shares: Reals, largest: Reals, guess: Sketched) -> Reals:
        """How likely so large a share is of a text that *nobody* holds: p-values.

        By chance it shares some rows with others. How uneven these are is known, and as if one text of share `largest`
        were all of it, the number of rows is binomial. The coins have the error of a share of 0: at a large one they
        vary less, or not at all. Supports are whole, so half of one is taken off.
        """
        chance, total, met, rest = 1 / self.width, np.zeros(len(shares)), -1, 1.0
        half = 1 / (2 * guess.people * float(guess.odds.gap))
        coin = float(guess.odds.variance(Fraction(0)) / guess.people) ** 0.5
        while rest > _NEVER:
            met += 1
            before, rest = rest, float(special.bdtrc(met, self.rows, chance))
            shown_by_it = largest * (met / self.rows - chance) / (1 - chance)
            total += (before - rest) * special.ndtr((shown_by_it + half - shares) / coin)
        return total + rest

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
        """An α such that the share of a given prefix, from so many people of its level, is within α."""
        return hoeffding(count(people, "people"), confidence) / self.sketch.odds.gap


def _prefix(bits: int, size: int) -> bytes:
    """So many bits as bytes: how many, and then they."""
    return size.to_bytes(2, "little") + bits.to_bytes(-(-size // 8), "big")


def _longer(prefixes: list[int], more: int) -> list[int]:
    """All prefixes that are so many bits longer."""
    return [prefix << more | end for prefix in prefixes for end in range(1 << more)]
