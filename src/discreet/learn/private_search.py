"""Private search: the best of several settings of an estimator, tried so often as a coin says."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from discreet.declared.table import Outline
from discreet.errors import Refusal
from discreet.exact import exact, positive, probability, shown
from discreet.interval_arithmetic import exp, simpler_down
from discreet.learn.fit_parameters import OverRows, settle_columns
from discreet.learn.searched_model import SearchedModel, Setting
from discreet.learn.share_of_right_rows import RightRows
from discreet.mechanisms import Frame, Pair, Relation, registered
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.registry import completed, known
from discreet.noise import SECURE, Entropy, below, flip, laplace
from discreet.privacy import AddRemove, Approximate, Neighbours, Pure

_OWN = frozenset({"features", "label", "epsilon", "delta", "rho", "max_rows", "neighbours"})
_PER_CANDIDATE = 3  # tries, where nobody says how many
_RUNS = 3  # what the best of a geometric number of runs costs, in runs


@registered("private-search")
@dataclass(frozen=True)
class PrivateSearch(OverRows):
    """The best of several settings of an estimator, by how right a fit with it is about rows that were kept aside.

    Units are divided once, `holdout` of them to be kept aside. A try fits one setting, drawn at random, to the others
    and buys how right that is; a coin then says whether to try again, `tries` times on average. The best of all is
    told, and no other. However many settings there are it costs three tries.

    Guarantee: Pure(epsilon), or Approximate(epsilon, delta), when all rows of one unit, of which there are at most
        `max_rows`, are added or removed; or replaced, if those are its neighbours. Conditional on what the estimator's
        is conditional on.
    Proof: docs/proofs/search.md.
    Source: Liu & Talwar 2019, Theorem 3.2; Papernot & Steinke 2022, Theorem 2, of which this is η = 1.
    """

    model: ClassVar[type[SearchedModel]] = SearchedModel

    features: tuple[str, ...]
    label: str
    estimator: str
    settings: tuple[Setting, ...]
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    tries: Fraction | None = None
    holdout: Fraction = Fraction(1, 4)
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    def __post_init__(self) -> None:
        settle_columns(self)
        settle(
            self,
            epsilon=positive(self.epsilon, "epsilon"),
            delta=probability(self.delta, "delta"),
            tries=None if self.tries is None else exact(self.tries, "tries"),
            holdout=exact(self.holdout, "holdout"),
            settings=tuple(tuple((name, value) for name, value in each) for each in self.settings),
        )
        if not self.settings:
            raise Refusal("a search needs settings to choose from, got none")
        if self.often < 1:
            raise Refusal(f"expected tries >= 1, got tries={shown(self.tries)}")
        if not 0 < self.holdout < 1:
            raise Refusal(f"expected a holdout between 0 and 1, got holdout={shown(self.holdout)}")
        _ = self.candidates  # refused where one makes no sense

    @property
    def often(self) -> Fraction:
        """How many tries there are on average."""
        return Fraction(_PER_CANDIDATE * len(self.settings)) if self.tries is None else self.tries

    @cached_property
    def privacy(self) -> Pure | Approximate:
        """As asked for, for the whole search."""
        return Approximate(self.epsilon, self.delta) if self.delta else Pure(self.epsilon)

    @cached_property
    def each(self) -> Pure | Approximate:
        """What one try may lose.

        Proof: docs/proofs/search.md, "The best of some tries" and "With a δ".
        """
        epsilon = self.epsilon / _RUNS
        if not self.delta:
            return Pure(epsilon)
        return Approximate(epsilon, simpler_down(self.delta / (self.often * (1 + exp(self.epsilon).up))))

    @cached_property
    def candidates(self) -> tuple[Any, ...]:
        """The fits to choose from, each at the price of one try."""
        return tuple(self._candidate(setting) for setting in self.settings)

    def _candidate(self, setting: Setting) -> Any:  # noqa: ANN401  # a mechanism of some class
        kind, given = known(self.estimator), dict(setting)
        fields = getattr(kind, "__dataclass_fields__", {})
        if not hasattr(kind, "model") or "label" not in fields or kind is type(self):
            raise Refusal(f"{shown(self.estimator)} fits no model of a label", hint="logistic-regression does, for one")
        taken = sorted({*given} & _OWN)
        if taken or len(given) < len(setting):
            raise Refusal(
                f"a setting says no parameter twice, and not {', '.join(taken)}", hint="the search says those"
            )
        price = {"epsilon": str(self.each.epsilon)}
        if isinstance(self.each, Approximate) and "delta" in fields:
            price["delta"] = str(self.each.delta)
        columns = {"features": list(self.features), "label": self.label}
        facts = {"max_rows": self.max_rows, "neighbours": self.neighbours}
        return completed(self.estimator, {**given, **columns, **price}, facts)

    @property
    def numbers(self) -> int:
        """Those of a model, which setting it has, and how right it is."""
        return int(max(each.numbers for each in self.candidates)) + 2

    def refuse_unfit(self, known: Outline) -> None:
        """What any of its candidates refuses."""
        super().refuse_unfit(known)
        for each in self.candidates:
            if hasattr(each, "refuse_unfit"):
                each.refuse_unfit(known)

    def pairs(self) -> tuple[Pair[Frame], ...]:
        """Those of its first candidate."""
        return tuple(self.candidates[0].pairs())

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> SearchedModel:
        """The best that was found. Spends `privacy`."""
        learnt, aside = relation.split(1 - self.holdout, rng=rng)
        best = self.tried(learnt, aside, rng)
        while not flip(1 / self.often, rng=rng):
            other = self.tried(learnt, aside, rng)
            best = other if other.score > best.score else best
        return best

    def tried(self, learnt: Relation, aside: Relation, rng: Entropy) -> SearchedModel:
        """One setting, fitted to the one part, and how right it is about the other. Spends `each`."""
        place = below(len(self.candidates), rng=rng)
        model = self.candidates[place](learnt, rng=rng)
        how = RightRows.of(aside, self.label, model)
        right, wrong = self.noisy(*how.counted(aside, model, rng), how.worth, rng)
        score = float(Fraction(min(max(right, 0), right + wrong), right + wrong)) if right + wrong > 0 else 0.0
        return SearchedModel(self.features, self.estimator, place, self.settings[place], score, model)

    def noisy(self, right: int, wrong: int, worth: int, rng: Entropy) -> tuple[int, int]:
        """Both with noise: a row adds `worth` to them together, and a unit so often that."""
        two = 1 if isinstance(self.neighbours, AddRemove) else 2
        scale = two * self.max_rows * worth / self.each.epsilon
        return right + laplace(scale, rng=rng), wrong + laplace(scale, rng=rng)
