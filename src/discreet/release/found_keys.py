"""Keys that nobody could list beforehand: those that many units have, found within the price of a release.

The distinct units of each value are counted, and a value is a key if its number, with noise, reaches a threshold. What
is no such key is in the other cell of its column, and a value that is missing in one of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from discreet.declared.column import with_keys
from discreet.declared.group_key import Key, Type
from discreet.errors import Refusal
from discreet.exact import positive
from discreet.mechanisms import Column, Relation
from discreet.mechanisms.key_selection import GaussianKeys
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.registry import Plain
from discreet.mechanisms.sealed_stages import Stage, Stages
from discreet.noise import Entropy
from discreet.privacy import Concentrated

MISSING: tuple[Key, ...] = (None,)  # a key of every such column: that there is none
_LONGEST = 1000  # letters of a key
_OF_TEXT = (Type.VARCHAR, Type.BIGINT)


@dataclass(frozen=True)
class FoundKeys:
    """Finds the keys of a column: at most so many, those that the most units seem to have.

    Guarantee: Concentrated(rho, delta), when one unit, whose rows have at most `groups` values, is added or removed;
        and when one is replaced, if `groups` is twice that.
    Proof: docs/proofs/synthetic.md, "Keys that are found".
    Source: that of `GaussianKeys`.
    """

    column: str
    most: int
    rho: Fraction
    delta: Fraction
    groups: int

    def __post_init__(self) -> None:
        settle(self, rho=positive(self.rho, "rho"))
        _ = self.threshold  # refuses what no noise is known for

    @property
    def privacy(self) -> Concentrated:
        """(ρ, δ) as asked for."""
        return Concentrated(self.rho, self.delta)

    @property
    def threshold(self) -> int:
        """The smallest noisy number of units that a key has."""
        return self._selection.threshold

    @property
    def plain(self) -> dict[str, Plain]:
        """What a certificate says of it."""
        price = {"rho": str(self.rho), "delta": str(self.delta)}
        return {"column": self.column, "most": self.most, "threshold": self.threshold, **price}

    @cached_property
    def _selection(self) -> GaussianKeys:
        return GaussianKeys(self.rho, self.delta, self.groups)

    def __call__(self, relation: Relation, rng: Entropy) -> list[Key]:
        """The keys, in their order."""
        units = relation.units(self.column)
        short: dict[Any, int] = {key: n for key, n in units.items() if not isinstance(key, str) or len(key) <= _LONGEST}
        named = sorted(self._selection(short, rng=rng), key=lambda each: (-each[1], repr(each[0])))
        keys: list[Any] = [key for key, _ in named[: self.most]]
        return sorted(keys)

    def staged(self, relation: Relation, rng: Entropy, stages: Stages, left: Fraction) -> list[Any]:
        """The same, sealed before it is known. What was begun and lost is not drawn again: then there are no keys."""
        if stages.earlier:
            return _told(stages.earlier[0], self.rho)
        stages.begin(self.rho, left)
        keys = self(relation, rng)
        stages.seal(list(keys))
        return keys


@dataclass(frozen=True)
class LaterStages:
    """The stages of a run but for its first ones."""

    stages: Stages
    first: int

    @property
    def earlier(self) -> tuple[Stage, ...]:
        """Those that are left of an interrupted run."""
        return tuple(self.stages.earlier[self.first :])

    def begin(self, price: Fraction, left: Fraction) -> None:
        """Before anything is drawn."""
        self.stages.begin(price, left)

    def seal(self, told: Plain) -> None:
        """Before anything is chosen by it."""
        self.stages.seal(told)

    def hear(self, share: float) -> None:
        """About how much of the work is done."""
        self.stages.hear(share)


def keyed(column: Column, keys: list[Key]) -> Column:
    """The column with these keys, and one for what is missing."""
    return with_keys(column, (*keys, *MISSING))


def pretended(column: Column, most: int) -> Column:
    """The column as it would be with the most keys that may be found: what they are is not known yet."""
    if column.keys is not None or column.line is not None or column.type not in _OF_TEXT:
        what = "declared keys" if column.keys is not None else "bounds" if column.line is not None else "no text"
        raise Refusal(
            f"keys are found of text or whole numbers of which none are declared, and {column.name!r} has {what}",
            hint="leave its bins out",
            field=column.name,
        )
    whole = column.type is Type.BIGINT
    return keyed(column, [place if whole else f"key {place}" for place in range(most)])


def finders(columns: Mapping[str, int], rho: Fraction, delta: Fraction, groups: int) -> tuple[FoundKeys, ...]:
    """For each column, with the most keys that it may have, its finder. Each takes an equal part of ρ, and of δ.

    One column takes a tenth of ρ, three a quarter of it.
    """
    many = len(columns)
    own = rho / (many + 9)
    return tuple(FoundKeys(name, most, own, delta / many, groups) for name, most in columns.items())


def _told(stage: Stage, price: Fraction) -> list[Any]:
    if stage.price != price:
        raise AssertionError("a synthesis must go on as it began")
    return [] if stage.told is None else list(stage.told)  # type: ignore[arg-type]  # a list was sealed
