"""Kernel risk: support vectors with a Gaussian kernel, by random waves that are drawn before a row is looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.declared.table import Outline
from discreet.exact import count, positive
from discreet.learn.convex_losses import SmoothHinge
from discreet.learn.convex_risk import MOST_WEIGHT, NARROWEST, WIDEST, Risk, classes_of, hinge, least_and_most
from discreet.learn.design_matrix import Design
from discreet.learn.gaussian_noise import normals
from discreet.learn.linear_classifier_model import KernelClassifier, lifted
from discreet.mechanisms import Relation, registered
from discreet.mechanisms.mechanism import settle
from discreet.noise import SECURE, Entropy


@registered("kernel-svc")
@dataclass(frozen=True)
class KernelRisk(Risk):
    """Support vector classifier with a kernel exp(−γ‖u − u'‖²), by random features that are drawn before it looks.

    Each of `components` frequencies w is drawn from the kernel's spectral law, N(0, 2γ); a row becomes cos(w·u) and
    sin(w·u) over their root, which has length 1 whatever the row, and u are its features scaled by their bounds.

    Guarantee: that of `HingeRisk`, on the new features; the frequencies depend on no row.
    Proof: docs/proofs/convex.md, "Kernels".
    Source: Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 3; Rahimi & Recht 2007.
    """

    model: ClassVar[type[KernelClassifier]] = KernelClassifier

    width: Fraction = Fraction(1, 2)
    components: int = 100
    gamma: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        own = {"width": positive(self.width, "width"), "gamma": positive(self.gamma, "gamma")}
        settle(self, components=count(self.components, "components"), **own)
        least_and_most(self.width, "width", NARROWEST, WIDEST)
        least_and_most(self.gamma, "gamma", Fraction(0), MOST_WEIGHT)

    @property
    def numbers(self) -> int:
        """A weight for each of twice the frequencies, an intercept, and the frequencies."""
        return 2 * self.components + 1 + self.components * len(self.features)

    def design(self, known: Outline) -> Design:
        """The features without a constant one, which comes after the kernel's."""
        return Design.of(known, self.features, intercept=False, norm=self.data_norm)

    def shape(self, design: Design) -> tuple[int, Fraction]:
        """Two numbers a frequency, of length 1 together."""
        del design
        return 2 * self.components + self.fit_intercept, Fraction(1 + self.fit_intercept)

    def loss(self, known: Outline) -> SmoothHinge:
        """The smooth hinge."""
        return hinge(known, self.label, self.width)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> KernelClassifier:
        """The model. Spends `privacy`."""
        design = self.design(relation)
        drawn = normals(self.components * len(self.features), rng=rng).reshape(self.components, -1)
        frequencies = drawn * math.sqrt(2 * float(self.gamma))
        weights = self.parameters(relation, rng, lambda rows: lifted(rows, frequencies, constant=self.fit_intercept))
        own = weights[self.fit_intercept :, 0]
        return KernelClassifier(
            self.features,
            classes_of(relation, self.label),
            tuple(each.one for each in design.features),
            tuple(tuple(map(float, each)) for each in frequencies),
            tuple(map(float, own)),
            float(weights[0, 0]) if self.fit_intercept else 0.0,
        )
