"""A holdout that may be asked again and again: scores of models, and means of any statistic, beside training rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import OverBudget, Refusal
from discreet.exact import Number, count, positive, probability
from discreet.mechanisms.online_weights import Answered
from discreet.mechanisms.session import Quota, Session, finished
from discreet.noise import SECURE, Entropy
from discreet.privacy import Guarantee, Replace
from discreet.validity.claims import Claim, claims
from discreet.validity.thresholdout import Guessed, HoldoutState, Thresholdout

Rows: TypeAlias = tuple[NDArray[Any], NDArray[Any]]
Pay: TypeAlias = Callable[[Guarantee[Any]], object]
Statistic: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], ArrayLike]

FINE = 1024  # values of a row are whole numbers of this part


class Predicts(Protocol):
    """A fitted model, as scikit-learn has them."""

    def predict(self, X: Any, /) -> ArrayLike:  # noqa: ANN401, N803  # whatever rows it was fitted to
        """What it says of each row."""
        ...


class ReusableHoldout:
    """Rows kept aside, that judge many models and many statistics, each chosen after the earlier judgements.

    Ask of it what you also ask of the training rows: where both say about the same you hear what the training rows say,
    and learn nothing of the holdout; where they do not, you hear the holdout's, with noise, `hard` times in all.

    Guarantee: (epsilon, delta)-private for replacing a row of the holdout, and the claims of `claims`.
    Proof: docs/proofs/holdout.md. The usual threshold, 4√n rows, and noise, √n/4 rows, are those of experiments; what
        is proven of the population is what `claims` says.
    """

    def __init__(  # noqa: PLR0913  # what a holdout is made of
        self,
        holdout: Rows,
        train: Rows,
        *,
        hard: int = 100,
        questions: int = 1000,
        threshold: Number | None = None,
        epsilon: Number | None = None,
        delta: Number = 0,
        path: Path | str | None = None,
        pay: Pay = lambda _: None,
        rng: Entropy = SECURE,
    ) -> None:
        self._holdout, self._train = _rows(holdout, "the holdout"), _rows(train, "the training rows")
        people = len(self._holdout[1])
        root = Fraction(math.isqrt(people * FINE * FINE), FINE)
        loss = 8 * count(hard, "hard") / root if epsilon is None else positive(epsilon, "epsilon")
        far = 4 * root / people if threshold is None else positive(threshold, "threshold")
        self.mechanism = Thresholdout(
            loss,
            round(far * people * FINE),
            people,
            hard,
            probability(delta, "delta"),
            FINE,
            max(1, math.isqrt(people) * FINE // 8),
            questions,
            Replace(),
        )
        self._asked = _InMemory(self.mechanism, rng, pay) if path is None else self._kept(Path(path), pay, rng)

    def score(self, estimator: Predicts, /) -> float:
        """The share of rows of which a fitted classifier is right; how sure that is, the last of `claims` says."""
        return self.mean(lambda rows, labels: np.asarray(estimator.predict(rows)) == labels)

    def mean(self, statistic: Statistic, /) -> float:
        """The mean of a function of rows and labels that gives each row a number from 0 to 1; what is none counts 0."""
        guess = self._shares(statistic, self._train)
        asked = int(self._shares(statistic, self._holdout).sum())
        expected = round(float(guess.mean()) / FINE * self.mechanism.most)
        return float(Fraction(self._asked.ask(Guessed(asked, expected)).number, self.mechanism.most))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All answers so far, with intervals in which the population's means lie with 95 % confidence, all of them.

        That is if nothing else of these rows than the answers chose the questions.
        """
        return claims(self.mechanism, self._asked.answers)

    @property
    def used(self) -> tuple[Quota, ...]:
        """What of it is used up, and how much there is."""
        return self._asked.used

    def _shares(self, statistic: Statistic, rows: Rows) -> NDArray[np.int64]:
        """Each row's value as a whole number from 0 to FINE."""
        values = np.asarray(statistic(*rows), dtype=np.float64)
        if values.shape != (len(rows[1]),):
            raise Refusal(f"a statistic gives each row a number, got shape {values.shape} for {len(rows[1])} rows")
        return np.rint(np.clip(np.nan_to_num(values, nan=0.0), 0, 1) * FINE).astype(np.int64)

    def _kept(self, path: Path, pay: Pay, rng: Entropy) -> Session[HoldoutState, Guessed | int, Answered]:
        digest = sha256()
        for part in self._holdout:
            digest.update(f"{part.dtype} {part.shape} ".encode() + np.ascontiguousarray(part).tobytes())
        key, version = path.with_name(f"{path.name}.key"), digest.hexdigest()
        if path.exists():
            return self.mechanism.resume(path, key, dataset=version, rng=rng)
        return self.mechanism.open(path, key, dataset=version, pay=pay, rng=rng)


class _InMemory:
    """A session that ends with its process."""

    def __init__(self, mechanism: Thresholdout, rng: Entropy, pay: Pay) -> None:
        pay(Guarantee(mechanism.privacy, mechanism.neighbours))
        self._mechanism, self._rng, self._state = mechanism, rng, mechanism.start(rng)

    @property
    def answers(self) -> tuple[Answered, ...]:
        return self._mechanism.answers(self._state)

    @property
    def used(self) -> tuple[Quota, ...]:
        return self._mechanism.used(self._state)

    def ask(self, query: Guessed) -> Answered:
        if finished(self._mechanism, self._state):
            used = ", ".join(map(str, self.used))
            raise OverBudget(f"the holdout is used up: {used}", hint="collect new rows")
        before, self._state = self._state, self._mechanism.step(self._state, query, self._rng)
        return Answered(self._state.said[-1], len(self._state.comparison.hard) > len(before.comparison.hard))


def _rows(rows: Rows, name: str) -> Rows:
    features, labels = (np.asarray(part) for part in rows)
    if labels.ndim != 1 or len(features) != len(labels) or not len(labels):
        raise Refusal(f"{name} are features and labels of as many rows, got {features.shape} and {labels.shape}")
    if features.dtype.hasobject or labels.dtype.hasobject:
        raise Refusal(f"{name} hold objects", hint="give arrays of numbers, or of text of a fixed length")
    return features, labels
