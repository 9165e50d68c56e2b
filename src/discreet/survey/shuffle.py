"""Shuffler: keeps reports until enough are there, forgets who sent them and when, and hands them on in no order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import Refusal
from discreet.exact import Number, count, share
from discreet.local.frequency_oracle import Response
from discreet.local.local_mechanism import Reporter, Reports
from discreet.local.rappor import Rappor
from discreet.noise import SECURE, Entropy, permutation
from discreet.privacy import Approximate, Guarantee, Pure, shuffled
from discreet.privacy.amplify import Randomizer

DELTA = Fraction(1, 10**8)  # of the promise that a crowd makes, where nobody names another


@dataclass(frozen=True)
class Shuffler:
    """Batches have at least `minimum` honest reports, if at most `dishonest` of the reports of a task are not.

    What comes in is an array of reports and nothing else. What goes out is a batch in an order that our entropy drew.
    """

    minimum: int
    dishonest: int = 0

    def __post_init__(self) -> None:
        count(self.minimum, "minimum")
        count(self.dishonest, "dishonest", least=0)

    @property
    def least(self) -> int:
        """Reports of a batch."""
        return self.minimum + self.dishonest

    def ready(self, reports: int) -> bool:
        """Whether so many make a batch."""
        return reports >= self.least

    def batch(self, reports: Reports, *, rng: Entropy = SECURE) -> Reports:
        """The reports in no order, if they are enough."""
        if not self.ready(len(reports)):
            raise too_few()
        return mixed(reports, rng=rng)

    def promise(self, client: Reporter, reports: int, *, each: int = 1, delta: Number = DELTA) -> Promise:
        """What is promised to whoever is among so many reports, where nobody sends more than `each` of them.

        Guarantee: the multiset of the reports is private as `.shuffled` says for replacing one person's value. That a
            person took part is not hidden.
        Proof: at least reports − dishonest of them are honest; of their coins the clone bound speaks, for any
            randomizer, or for the binary response (docs/proofs/shuffle.md). A person's further reports have coins of
            their own, so that replacing all of them is `each` replacements one after another. Those of RAPPOR have
            not: they tell of one permanent response, so several of them are promised what is promised locally, where
            the text changes at the same reports in both lives that are compared (docs/proofs/rappor.md).
        """
        honest = count(reports, "reports", least=0) - self.dishonest
        if honest < self.minimum:
            raise too_few()
        many = count(each, "each")
        if many > 1 and isinstance(client, Rappor):
            return Promise(many * client.privacy, Approximate(many * client.epsilon, Fraction(0)), honest)
        alone = client.once if isinstance(client, Rappor) else client.privacy
        one = Guarantee(alone, client.neighbours)
        crowd = shuffled(one, honest, delta=share(delta, "delta"), randomizer=_kind(client)).loss
        return Promise(many * client.privacy, crowd.group(many), honest)


@dataclass(frozen=True)
class Promise:
    """To one person: `local` whoever reads their reports; `shuffled`, which trusts the shuffler, if only batches leave.

    Both for replacing the person's value. Neither hides that the person took part; of several reports of RAPPOR neither
    hides that the text changed.
    """

    local: Pure
    shuffled: Approximate
    honest: int


def mixed(reports: Reports, *, rng: Entropy = SECURE) -> Reports:
    """The reports in a uniformly drawn order."""
    return np.ascontiguousarray(reports[permutation(len(reports), rng=rng)])


def too_few() -> Refusal:
    """Said before there are enough reports, whatever there is."""
    return Refusal("there are fewer reports than this task needs before anything is said", hint="wait for more")


def _kind(client: Reporter) -> Randomizer:
    """Binary randomized response has more clones than others."""
    return "binary" if type(client) is Response and client.choices == 2 else "any"
