"""RAPPOR: a text as a Bloom filter, randomized once for good and again for each report; and the device it needs."""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import count as numbers
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import durable
from discreet.declared.grid import cells
from discreet.errors import Refusal
from discreet.exact import Number, count, exact, probability, shown
from discreet.interval_arithmetic import exp, log, simpler_up
from discreet.local.bloom import BitCounts, Bloom, by_group, written
from discreet.local.frequencies import Odds
from discreet.local.local_mechanism import (
    Reporter,
    Reports,
    Tally,
    Whole,
    client,
    hoeffding,
    narrowest,
    price,
    rounded_up,
    written_down,
)
from discreet.local.unary import beyond, likely_sizes, packed, padded
from discreet.mechanisms import Pair
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.noise import SECURE, Entropy, below, belows, coins, flip
from discreet.noise.bernoulli import DIGITS
from discreet.privacy import Pure
from discreet.privacy.divergence import Channel

_TIDY = 10**30  # ε∞ of a given f is rounded up to a multiple of 1 in so many
_MOST_BITS, _MOST_HASHES, _MOST_COHORTS = 1 << 12, 16, 1 << 16
_CELLS = 1 << 20  # bits that are drawn at once
_SIZE = 32  # bytes of a secret
_MARK = b"discreet-rappor-secret-1\n"
_TRIED = 64  # texts among which a pair for an audit is looked for


@client("rappor")
@dataclass(frozen=True)
class Rappor(Reporter):
    """A client's text as bits: each flipped once for good with probability `flipped`, then told through two coins.

    A bit of the permanent response is told as 1 with probability `loud` if it is 1 and `quiet` if it is 0. A call is a
    person's first report; `Device` keeps the permanent response over all further ones. What is neither text nor bytes
    nor whole number is nothing, and sets no bit: with bits = 1 a report says whether there is something.

    Guarantee: Pure(epsilon) for any two texts of the person who reports, for all reports ever made on one text
        together, whoever reads them; one report alone loses no more than `once`. Each further text of the same person
        loses epsilon anew (`longitudinal`), and that there was a change is not hidden.
    Proof: the cohort does not depend on the text. Two filters differ in at most 2 · hashes bits, each of which the
        permanent response changes by a factor of at most e^(epsilon/(2 · hashes)). All reports are drawn from it
        (docs/proofs/rappor.md).
    Source: Erlingsson, Pihur & Korolova 2014, Theorems 1 and 2.
    """

    epsilon: Fraction
    bits: int = 128
    hashes: int = 2
    cohorts: int = 64
    quiet: Fraction = Fraction(1, 2)
    loud: Fraction = Fraction(3, 4)
    key: int = 0

    def __post_init__(self) -> None:
        for name, most in (("bits", _MOST_BITS), ("hashes", _MOST_HASHES), ("cohorts", _MOST_COHORTS)):
            settle(self, **{name: count(getattr(self, name), name)})
            if getattr(self, name) > most:
                raise Refusal(f"expected {name} <= {most}, got {name}={shown(getattr(self, name))}")
        quiet, loud = probability(self.quiet, "quiet"), 1 - probability(1 - exact(self.loud, "loud"), "1 - loud")
        up, down = _dyadic(quiet), 1 - _dyadic(1 - loud)
        settle(self, epsilon=price(self.epsilon), quiet=up, loud=down, key=self.bloom.functions.key)
        if not up < down:
            raise Refusal(f"expected quiet < loud, got quiet={shown(quiet, str)} loud={shown(loud, str)}")

    @classmethod
    def flipping(cls, f: Number, *, hashes: int = 2, **more: Any) -> Rappor:  # noqa: ANN401  # the other fields
        """By the share f of bits that the permanent response draws anew, as the paper has it; ε∞ follows.

        >>> google = Rappor.flipping("0.5", bits=16, hashes=2, cohorts=64)  # p = 0.5, q = 0.75
        >>> round(float(google.epsilon), 3), round(float(google.once.epsilon), 3)
        (4.394, 1.074)
        """
        half = _dyadic(probability(f, "f") / 2)
        if not half:
            raise Refusal(f"expected 0 < f < 1, got f={shown(f, str)}", hint="else nothing is hidden")
        epsilon = 2 * count(hashes, "hashes") * log((1 - half) / half).up
        return cls(Fraction(math.ceil(epsilon * _TIDY), _TIDY), hashes=hashes, **more)

    @cached_property
    def bloom(self) -> Bloom:
        """The filters."""
        return Bloom(self.bits, self.hashes, self.cohorts, self.key)

    @cached_property
    def flipped(self) -> Fraction:
        """f/2: how likely a bit is flipped for good. 1/(e^(ε/2h) + 1), rounded up to a multiple of 2^−64."""
        return rounded_up(1 / (exp(self.epsilon / (2 * self.hashes)) + 1))

    @cached_property
    def odds(self) -> Odds:
        """q* and p*: how likely a report tells a bit of the filter that is 1, and one that is 0, as 1."""
        return Odds(self.told(one=True), self.told(one=False))

    def told(self, *, one: bool) -> Fraction:
        """How likely a report tells a bit of the filter as 1."""
        stays, turns = (self.loud, self.quiet) if one else (self.quiet, self.loud)
        return (1 - self.flipped) * stays + self.flipped * turns

    @cached_property
    def once(self) -> Pure:
        """ε₁: what a single report loses. hashes · ln(q*(1 − p*) / (p*(1 − q*))), rounded up, and never above ε∞."""
        p, q = self.odds.other, self.odds.holder
        return Pure(min(self.epsilon, simpler_up(self.hashes * log(q * (1 - p) / (p * (1 - q))).up)))

    def longitudinal(self, history: Iterable[object]) -> Pure:
        """What all reports of one person lose who had these texts, one after another: ε∞ for each different one.

        It compares histories that change, and go back to an earlier text, at the same times: that a text changed, when,
        and to which earlier one, is not hidden.
        """
        return len({written(value) for value in history}) * self.privacy

    @property
    def form(self) -> np.dtype[Any]:
        """The cohort in 1 or 2 bytes, little end first, then ⌈bits/8⌉ bytes: bit i is bit i mod 8 of byte i div 8."""
        return np.dtype((np.uint8, (self._head + -(-self.bits // 8),)))

    @property
    def _head(self) -> int:
        return narrowest(self.cohorts).itemsize

    def cohort(self, reports: Reports) -> Whole:
        """Of each report."""
        head = np.ascontiguousarray(reports[:, : self._head])
        return head.view(narrowest(self.cohorts)).reshape(-1).astype(np.int64)

    def report(self, cohorts: Whole, said: NDArray[np.bool_]) -> Reports:
        """Cohorts and bits, as they are sent."""
        head = cohorts.astype(narrowest(self.cohorts)).reshape(-1, 1).view(np.uint8)
        return np.hstack([head, packed(said)])

    def channel(self, values: Iterable[Hashable], cohort: int = 0, reports: int = 1) -> Channel[Hashable, Hashable]:
        """All probabilities of so many reports on one text, given the cohort, which is drawn without a look at it.

        One report is its bits as a number; several are a tuple of such.
        """
        rows, times = list(values), count(reports, "reports")
        if not 0 <= count(cohort, "cohort", least=0) < self.cohorts:
            raise Refusal(f"expected cohort < {self.cohorts}, got cohort={shown(cohort)}")
        written_down(len(rows) * (self.bits << min(64, self.bits * times)))
        filters = self.bloom.filters(self._truths(_objects(rows)), np.full(len(rows), cohort))
        return Channel({value: self._law(bits.tolist(), times) for value, bits in zip(rows, filters, strict=True)})

    def _law(self, true: list[bool], times: int) -> dict[Hashable, Fraction]:
        """Bits are told independently; those of several reports depend on one permanent bit."""
        each = [self._column(one, times) for one in true]
        law: dict[Hashable, Fraction] = {}
        for columns in product(product((0, 1), repeat=times), repeat=self.bits):
            said = tuple(sum(column[t] << i for i, column in enumerate(columns)) for t in range(times))
            law[said if times > 1 else said[0]] = math.prod(
                (chances[column] for chances, column in zip(each, columns, strict=True)), start=Fraction(1)
            )
        return law

    def _column(self, one: bool, times: int) -> dict[tuple[int, ...], Fraction]:  # noqa: FBT001  # a bit
        """Of one bit: the law of what all reports tell about it."""
        first = 1 - self.flipped if one else self.flipped  # that the permanent bit is 1
        return {
            said: first * _tells(self.loud, said) + (1 - first) * _tells(self.quiet, said)
            for said in product((0, 1), repeat=times)
        }

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> bytes:
        """One person's first report, with a cohort and a permanent response that are then forgotten."""
        cohort = np.array([below(self.cohorts, rng=rng)])
        true = self.bloom.filters(self._truths(_objects([value])), cohort)[0]
        kept = [bool(bit) != flip(self.flipped, rng=rng) for bit in true]
        said = [flip(self.loud if bit else self.quiet, rng=rng) for bit in kept]
        return self.report(cohort, np.array([said])).tobytes()

    def randomize(self, truths: Whole, rng: Entropy) -> Reports:
        """A first report for each, in arrays."""
        cohorts = belows(self.cohorts, len(truths), rng=rng)
        true = self.bloom.filters(truths, cohorts)
        kept = true ^ coins(self.flipped, true.size, rng).reshape(true.shape)
        return self.report(cohorts, self.instant(kept, rng))

    def instant(self, kept: NDArray[np.bool_], rng: Entropy) -> NDArray[np.bool_]:
        """What a report tells of permanent responses."""
        loud = ~coins(1 - self.loud, kept.size, rng).reshape(kept.shape)  # `loud` may be 1, and no coin is
        return np.where(kept, loud, coins(self.quiet, kept.size, rng).reshape(kept.shape))

    def _truths(self, given: NDArray[np.generic]) -> Whole:
        return self.bloom.digests(given)

    def strange(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports no run of this client can have sent."""
        return np.asarray((self.cohort(reports) >= self.cohorts) | padded(reports, self.bits))

    @cached_property
    def likely(self) -> tuple[int, int]:
        """Between which numbers of bits a report tells as 1, but for one in 2^39. A filter has up to `hashes` set."""
        return likely_sizes(self.odds.holder, self.odds.other, self.bits, (0, min(self.hashes, self.bits)))

    def unlikely(self, reports: Reports) -> NDArray[np.bool_]:
        """Those that tell too many bits as 1, or too few."""
        return beyond(reports[:, self._head :], self.likely)

    @property
    def _together(self) -> int:
        return max(1, _CELLS // self.bits)

    @property
    def _nothing(self) -> Whole:
        return np.zeros(self.cohorts * (1 + self.bits), dtype=np.int64)

    def sums(self, reports: Reports) -> Whole:
        """For each cohort, how many reports there are, and how many tell each bit as 1."""
        return by_group(self.cohort(reports), reports[:, self._head :], self.cohorts, self.bits).reshape(-1)

    def estimate(self, tally: Tally) -> BitCounts:
        """In how many people's filters each bit of each cohort is set: unbiased, with standard errors."""
        known = self.understood(tally).counts.reshape(self.cohorts, 1 + self.bits)
        if known.min() < 0 or np.any(known > known[:, :1]) or known[:, 0].sum() != tally.people:
            raise Refusal(f"no {tally.people} reports add up to this tally", hint="it was damaged, or made up")
        return BitCounts(known[:, 0], known[:, 1:], self.odds)

    def pairs(self) -> tuple[Pair[str | None], ...]:
        """Two texts whose filters differ in as many bits as any, over all cohorts, among some; and nothing for one bit.

        One bit is set by every text alike.
        """
        texts = [str(number) for number in range(_TRIED)]
        cohorts = min(self.cohorts, _TRIED)
        digests = self._truths(_objects(texts))
        filters = np.stack([self.bloom.filters(digests, np.full(_TRIED, cohort)) for cohort in range(cohorts)])
        apart = (filters != filters[:, :1]).sum(axis=(0, 2))
        if not apart.any():
            return (Pair(texts[0], None, "a person with a text, and with nothing"),)
        return (Pair(texts[0], texts[int(np.argmax(apart))], "a person with one text, and with another"),)

    def error(self, confidence: Number = USUAL, people: int = 1) -> Fraction:
        """An α such that the share of filters in which a given bit is set, of so many in a cohort, is within α."""
        return hoeffding(count(people, "people"), confidence) / self.odds.gap


def _dyadic(chance: Fraction) -> Fraction:
    """The smallest multiple of 2^−64 that is not below."""
    return Fraction(math.ceil(chance * (1 << DIGITS)), 1 << DIGITS)


def _objects(values: list[Any]) -> NDArray[np.generic]:
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        out[i] = value
    return out


def _tells(one: Fraction, said: tuple[int, ...]) -> Fraction:
    return math.prod((one if bit else 1 - one for bit in said), start=Fraction(1))


@dataclass(frozen=True)
class Device:
    """A client with a memory: every report on a text is drawn from the one permanent response to that text.

    The permanent response is HMAC-SHA256 of the text under the secret, so there is nothing else to store, and a text
    that comes back after years finds its old response. It depends on the parameters that shape it, and on no others:
    other odds of a report draw from the same one, another filter or another `flipped` starts anew, and loses anew.

    Guarantee: that of `Rappor` for all reports of this device on one question together, against whoever cannot tell
        HMAC-SHA256 under a secret of 256 bits from a random function. Questions that share a secret need a `question`
        each: under one name, whoever gives the same text to two of them gives one response, and that shows.
    """

    client: Rappor
    secret: bytes = field(repr=False)
    question: str = ""

    def __post_init__(self) -> None:
        if type(self.secret) is not bytes or len(self.secret) != _SIZE:
            raise Refusal(f"expected a secret of {_SIZE} bytes", hint="use Device.fresh")
        if not isinstance(self.question, str):
            raise Refusal(f"expected the name of a question as text, got {shown(self.question)}")

    @classmethod
    def fresh(cls, client: Rappor, question: str = "", *, rng: Entropy = SECURE) -> Device:
        """A device that has never reported."""
        return cls(client, rng.raw(_SIZE), question)

    @classmethod
    def at(cls, path: Path, client: Rappor, question: str = "", *, rng: Entropy = SECURE) -> Device:
        """The device whose secret lies in this file; the first call writes it.

        Before any call returns, the secret is on the disk: also where another process wrote it a moment ago, or was
        killed while it did.
        """
        if path.exists():
            durable.sync(path.parent)
        else:
            durable.keep(path, _MARK + rng.raw(_SIZE))
        data = path.read_bytes()
        if len(data) != len(_MARK) + _SIZE or not data.startswith(_MARK):
            raise Refusal(
                f"{path.name} holds no secret of a device",
                hint="restore it: with another secret, every text loses epsilon once more",
            )
        return cls(client, data.removeprefix(_MARK), question)

    @cached_property
    def _shape(self) -> bytes:
        """What the permanent response depends on."""
        c = self.client
        names = {"bits": c.bits, "hashes": c.hashes, "cohorts": c.cohorts, "key": c.key, "flipped": str(c.flipped)}
        names |= {"question": self.question} if self.question else {}
        return hmac.digest(self.secret, json.dumps(names, sort_keys=True).encode(), "sha256")

    def _stream(self, text: bytes) -> Iterator[bytes]:
        """Blocks of 32 bytes that nobody without the secret can tell from random ones."""
        return (hmac.digest(self._shape, block.to_bytes(4, "little") + text, "sha256") for block in numbers())

    @cached_property
    def cohort(self) -> int:
        """Drawn once, evenly: the first of the stream's numbers that is one."""
        size = (self.client.cohorts - 1).bit_length()
        numbers = (int.from_bytes(block, "little") >> 8 * _SIZE - size for block in self._stream(b"cohort"))
        return next(number for number in numbers if number < self.client.cohorts)

    def permanent(self, value: object) -> NDArray[np.bool_]:
        """The filter of a text with the bits flipped that this device flips for it, today and ever."""
        text = written(value)
        true = self.client.bloom.filters(self.client.bloom.digests(cells([value])), np.array([self.cohort]))[0]
        stream = self._stream(b"nothing" if text is None else b"text:" + text)
        blocks = b"".join(next(stream) for _ in range(-(-8 * true.size // _SIZE)))
        drawn = np.frombuffer(blocks, dtype="<u8")[: true.size]
        return np.asarray(true ^ (drawn < np.uint64(int(self.client.flipped * (1 << DIGITS)))))

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> bytes:
        """One more report on a text."""
        return self.reports(value, 1, rng=rng).tobytes()

    def reports(self, value: object, size: int, *, rng: Entropy = SECURE) -> Reports:
        """Many reports on one text, as a device would make over the years."""
        kept = np.tile(self.permanent(value), (count(size, "size", least=0), 1))
        return self.client.report(np.full(len(kept), self.cohort), self.client.instant(kept, rng))
