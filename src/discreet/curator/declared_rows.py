"""What is public about the rows that a SELECT names: what may be counted of them, and how much one unit may matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.curator.catalogue import Population
from discreet.errors import Refusal
from discreet.exact import count
from discreet.mechanisms import Caps, Column
from discreet.mechanisms.grid import Grid
from discreet.privacy import Neighbours
from discreet.sql.aggregate import declared_grid
from discreet.sql.lineage import NOTHING, Origins
from discreet.sql.schema import Type, check_caps
from discreet.sql.shape import Facts, Shape


@dataclass(frozen=True)
class Drawn:
    """An outline of rows, as `mechanisms.Outline` has it, and whose budget pays for them."""

    schema: Mapping[str, Column]
    caps: Caps
    population: Population
    people: frozenset[str] = frozenset()  # columns that say who people are, under whatever name
    facts: Mapping[str, Facts] = field(default_factory=dict)  # what else is known of them

    @property
    def neighbours(self) -> Neighbours:
        """Which tables the population's promise compares."""
        return self.population.neighbours


def drawn(public: Shape, population: Population, max_rows: int | None = None, owners: Origins = NOTHING) -> Drawn:
    """The outline of rows of this shape, of which a unit keeps at most `max_rows`, by default as declared.

    `owners` are the tables' columns that name the units.
    """
    cap = public.max_rows if max_rows is None else count(max_rows, "max_rows")
    check_caps(cap, 1)
    if cap is None:
        raise Refusal(
            "a mechanism needs to know how many rows one unit may have", hint="declare --max-rows, or pass max_rows="
        )
    schema = {name: _column(name, facts) for name, facts in public.columns.items()}
    people = frozenset(name for name, facts in public.columns.items() if facts.carries & owners)
    return Drawn(schema, Caps(cap), population, people, public.columns)


def _column(name: str, facts: Facts) -> Column:
    keys = (False, True) if facts.keys is None and facts.type is Type.BOOLEAN else facts.keys
    grid = declared_grid(facts)
    own = None if grid is None else Grid(grid.low * grid.step, grid.high * grid.step, grid.step)
    return Column(name, keys or None, own)
