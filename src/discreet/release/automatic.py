"""A release for whoever does not want to choose: it finds out how fine to count, and tells what is plausible."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.declared.grid import Integers
from discreet.exact import Number
from discreet.mechanisms.mechanism import USUAL
from discreet.noise import SECURE, Entropy
from discreet.release.counts import Counts, released
from discreet.release.histogram import Histogram
from discreet.release.partition import Partition
from discreet.release.plausible_counts import plausible


@released("automatic")
@dataclass(frozen=True)
class Automatic(Counts):
    """Takes a `Partition`, and of its counts the plausible ones: among the best on nearly all data of DPBench.

    What suits depends on ε times the number of records. Others buy the total to choose by it. Here the first level of
    the search is that probe: it says more than a total, decides for each interval by itself, and is used again in the
    counts. With many records the search ends in a hierarchy of all cells, with few in some large parts. On even data
    with ε times records of some hundred, the error of `Uniform` is up to two fifths smaller; that data is even is not
    known for free (docs/proofs/partition.md, "What even data costs").

    Guarantee: Pure(epsilon) for counts that differ by at most `distance` records in all.
    Proof: as `Partition` (docs/proofs/partition.md, "Privacy"); the rest is computed from what that tells.
    Source: Hay, Machanavajjhala, Miklau, Chen & Zhang 2016: what suits depends on ε times the number of records.
    """

    @property
    def chosen(self) -> Partition:
        """What is taken."""
        return Partition(self.epsilon, self.shape, self.most, self.neighbours)

    def error(self, confidence: Number = USUAL) -> None:
        """Known after paying, as with a `Partition`."""
        return self.chosen.error(confidence)

    def __call__(self, counts: Integers, /, *, rng: Entropy = SECURE) -> Histogram:
        """The plausible counts of the parts that were found."""
        return plausible(self.chosen.found(counts, rng)).chosen()
