"""Slope of one column on another: a package of somebody's own, installed beside discreet."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.declared.column import Column
from discreet.declared.table import Caps, grid_of
from discreet.mechanisms import Frame, LaplaceVector, Pair, Relation, Takes, registered
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Neighbours, Pure


@registered("toy-slope")
@dataclass(frozen=True)
class LeastSquares:
    """Least squares, of noisy sums: `moved` is what `Relation.products` says of all rows of a unit."""

    takes: ClassVar[Takes] = Takes.RELATION
    declared: ClassVar[tuple[str, ...]] = ("max_rows", "neighbours")
    epsilon: Fraction
    x: str
    y: str
    max_rows: int = 1
    neighbours: Neighbours = AddRemove()

    caps = property(lambda self: Caps(self.max_rows))
    privacy = property(lambda self: Pure(LaplaceVector.of(self.epsilon).privacy.epsilon))

    def pairs(self) -> tuple[Pair[Frame], ...]:
        columns = Column(self.x, bounds=(0, 4), step=1), Column(self.y, bounds=(0, 4), step=1)
        few, many = [0, 0, 0, 4, 4, 4], self.max_rows
        without = Frame.of({self.x: few, self.y: few}, *columns)
        beside = Frame.of({self.x: few + [4] * many, self.y: few + [0] * many}, *columns)
        return (Pair(without, beside, "rows more, far from the line of all others"),)

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> Fraction:
        x, y = grid_of(relation, self.x), grid_of(relation, self.y)
        places = [(i, j) for i in range(3) for j in range(i, 3)]
        row = sum((1, x.reach, y.reach)[i] * (1, x.reach, y.reach)[j] for i, j in places)
        moved = row * self.max_rows * (1 if isinstance(self.neighbours, AddRemove) else 2)
        sums = relation.products([], [self.x, self.y])
        noise = LaplaceVector.of(self.epsilon, moved)
        n, sx, sy, xx, xy, _ = noise.exactly([sums[place] for place in places], rng=rng)
        spread = n * xx - sx * sx
        return Fraction(n * xy - sx * sy, spread) * y.step / x.step if spread else Fraction(0)
