"""Masked sums: everybody's number is hidden by masks that cancel, and those of people who fail can be taken off."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from discreet.aggregate.gaussian_shares import GaussianShares
from discreet.errors import Refusal
from discreet.exact import Number, count, nonnegative, positive, shown
from discreet.ledger.entry_kinds import canonical
from discreet.ledger.signed_head import is_hex
from discreet.privacy import Concentrated

MODULUS = 1 << 64
_UNHEARD = 1 - Fraction(1, 1 << 40)  # the chance that a sum with noise fits
_MOST = 1 << 12  # people: everybody shares a mask with everybody
_MARK = b"discreet-masked-sum\0"


@dataclass(frozen=True)
class MaskedSum:
    """What all who take part agree on. `people` are their public signing keys, in hex, in a fixed order.

    A sum is read if `minimum` people or more survive until the end, and not otherwise; noise is measured so that the
    honest among so few are enough. `colluders` is the most people who work with the aggregator; any `threshold` people
    together can take off a mask. With a `dimension`, values are vectors of so many whole numbers, of length `limit` at
    most.

    Guarantee: whoever sees everything that is sent, and the secrets of up to `colluders` people, learns of one of the
        others no more than `privacy` says, as far as he can compute: computational differential privacy (Mironov,
        Pandey, Reingold & Vadhan 2009), if Diffie-Hellman on X25519, AES-256 and Ed25519 hold and HKDF is a random
        oracle; for replacing that person's value in every epoch.
    Proof: docs/proofs/aggregate.md, Theorems 3 and 4.
    Source: Bonawitz, Ivanov, Kreuter, Marcedone, McMahan, Patel, Ramage, Segal & Seth 2017; noise of Kairouz, Liu &
        Steinke 2021.
    """

    name: str
    people: tuple[str, ...]
    limit: int
    rho: Fraction
    minimum: int
    colluders: int
    threshold: int
    epochs: int = 1
    dimension: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive(self.rho, "rho"))
        for name, least in (("limit", 1), ("minimum", 2), ("colluders", 0), ("threshold", 1), ("epochs", 1)):
            object.__setattr__(self, name, count(getattr(self, name), name, least=least))
        size = len(self.people)
        if len(set(self.people)) != size or not all(is_hex(key, 32) for key in self.people):
            raise Refusal("expected people as public keys that differ, each of 64 small hexadecimal digits")
        if not 2 <= size <= _MOST:
            raise Refusal(f"expected from 2 to {_MOST} people, got {size}", hint="make several groups")
        if not self.threshold <= self.minimum <= size:
            given = f"threshold={self.threshold} minimum={self.minimum} people={size}"
            raise Refusal(f"expected threshold <= minimum <= people, got {given}")
        if 2 * self.threshold <= size + self.colluders:
            raise Refusal(
                f"expected 2 threshold > people + colluders = {size + self.colluders}, got threshold={self.threshold}",
                hint="else two lists of survivors could be told apart, and one person's masks be taken off twice",
            )
        if (size * self.limit + self.noise.error(_UNHEARD)) << self.noise.places >= MODULUS // 2:
            raise Refusal(f"expected a sum that fits 64 bits, got limit={self.limit} for {size} people")

    @classmethod
    def of(  # noqa: PLR0913  # what people agree on
        cls,
        name: str,
        people: Iterable[str],
        limit: int,
        rho: Number,
        *,
        failures: Number = "0.2",
        colluders: Number = "0.2",
        epochs: int = 1,
        dimension: int = 0,
    ) -> MaskedSum:
        """The one for the largest shares of people who fail and who work with the aggregator."""
        keys = tuple(people)
        bad, gone = (math.floor(nonnegative(part, "a share of people") * len(keys)) for part in (colluders, failures))
        enough = (len(keys) + bad) // 2 + 1
        return cls(name, keys, limit, Fraction(rho), len(keys) - gone, bad, enough, epochs, dimension)

    @property
    def privacy(self) -> Concentrated:
        """What all epochs together cost a person who sends in each of them."""
        return self.epochs * self.noise.privacy

    @property
    def honest(self) -> int:
        """The fewest honest people whose noise is in a sum that is read."""
        return self.minimum - self.colluders

    @cached_property
    def noise(self) -> GaussianShares:
        """What each person adds to the value."""
        return GaussianShares(self.rho, len(self.people), self.honest, self.limit, self.dimension)

    @property
    def width(self) -> int:
        """How many numbers a person sends."""
        return max(1, self.dimension)

    def decoded(self, totals: Iterable[int]) -> tuple[Fraction, ...]:
        """The sum with its noise, one number or those of a vector, from what numbers without masks add up to."""
        centred = [(total + MODULUS // 2) % MODULUS - MODULUS // 2 for total in totals]
        return tuple(Fraction(each, 1 << self.noise.places) for each in centred)

    def statement(self, kind: str, epoch: int, **said: object) -> bytes:
        """The bytes under a signature: what kind of statement, in which epoch of which task, and what is said."""
        if not 0 <= epoch < self.epochs:
            raise Refusal(f"expected an epoch from 0 to {self.epochs - 1}, got {shown(epoch)}")
        body = {"task": self.name, "people": list(self.people), "kind": kind, "epoch": epoch, **said}
        return _MARK + canonical(body)  # type: ignore[arg-type]
