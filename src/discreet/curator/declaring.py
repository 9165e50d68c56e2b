"""What a custodian says about a table, and the declarations that are made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeVar

from discreet.curator.catalogue import Catalogue, Population, budget_loss, end_of, population_of
from discreet.errors import Refusal
from discreet.exact import Number, exact
from discreet.privacy import Pure
from discreet.sql.schema import Column, Table, Type, chosen

T = TypeVar("T")

# what a public table has not
_PRIVATE = ("unit", "link", "population", "epsilon", "rho", "delta", "max_rows", "max_groups")


@dataclass(frozen=True)
class Declared:
    """What a custodian says about a table when it is added."""

    unit: str | None = None
    link: Mapping[str, str] = field(default_factory=dict)  # instead of a unit: own column to TABLE.COLUMN
    population: str | None = None
    epsilon: Number | None = None
    rho: Number | None = None
    delta: Number | None = None
    max_rows: int | None = None
    max_groups: int | None = None
    bounds: Mapping[str, tuple[Number, Number]] = field(default_factory=dict)
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    steps: Mapping[str, Number] = field(default_factory=dict)
    describe: Mapping[str, str] = field(default_factory=dict)
    public: bool = False
    require_price: bool = False  # every question about the population must name a price
    relation: str = "add-remove"  # or replace: the number of units is public, and questions cost twice as much


def spelled(said: Declared, columns: Sequence[str]) -> Declared:
    """What was said of columns, under the names that the source has for them."""

    def named(given: Mapping[str, T]) -> dict[str, T]:
        known = {chosen(name, columns) or name: value for name, value in given.items()}
        if len(known) < len(given):
            raise Refusal(f"one column is declared twice, as {list(given)} differ in upper and lower case only")
        return known

    return replace(
        said,
        unit=said.unit if said.unit in (None, "row") else chosen(said.unit, columns) or said.unit,
        link=named(said.link),
        bounds=named(said.bounds),
        keys=named(said.keys),
        types=named(said.types),
        steps=named(said.steps),
        describe=named(said.describe),
    )


def declared(
    name: str, columns: Mapping[str, Type], said: Declared, known: Catalogue
) -> tuple[Table, Population | None]:
    """The table, and the population that its rows are of; None of public rows."""
    made = tuple(_column(column, kind, said) for column, kind in columns.items())
    if said.public:
        private = [word for word in _PRIVATE if getattr(said, word) not in (None, {})]
        if private:
            option = f"--{private[0].replace('_', '-')}"
            raise Refusal(
                f"public rows are nobody's, so --public does not go with {option}", hint="leave out one of them"
            )
        return Table(name, made), None
    if said.link:
        return _linked(name, columns, said, known)
    if said.unit is None:
        raise Refusal(
            f"table {name!r} needs to know whose rows they are",
            hint="say --unit COLUMN, --unit row, --link COLUMN=TABLE.COLUMN, or --public",
        )
    if said.unit != "row" and said.unit not in columns:
        raise Refusal(f"the source has no column {said.unit!r} to be the unit", hint=f"it has {list(columns)}")
    people = said.population or (name if said.unit == "row" else said.unit)
    if said.unit == "row" and people in known.populations:
        raise Refusal(
            f"rows that are their own unit never share a budget, and {people!r} has one", hint="use another name"
        )
    if said.unit != "row" and any(t.population == people and t.unit is None for t in known.tables.values()):
        raise Refusal(f"in population {people!r} each row is its own unit", hint="use another --population")
    population = _population(people, said, known)
    unit = None if said.unit == "row" else said.unit
    if unit is not None:
        _same_unit_type(people, columns[unit], known)
    table = Table(name, made, people, unit, said.max_rows, 1 if said.max_groups is None else said.max_groups)
    return table, population


def _same_unit_type(people: str, kind: Type, known: Catalogue) -> None:
    """One person has one name in all tables: compared in two types, a name could fail or be two people's."""
    for table in known.tables.values():
        if table.population == people and table.unit is not None and table.column(table.unit).type is not kind:
            raise Refusal(
                f"in table {table.name!r} the units of {people!r} are {table.column(table.unit).type.value}, "
                f"here {kind.value}",
                hint=f"say --types so that both are alike, or name another --population than {people!r}",
            )


def _linked(
    name: str, columns: Mapping[str, Type], said: Declared, known: Catalogue
) -> tuple[Table, Population | None]:
    """A table whose rows find their owner in another one."""
    (own, target), *more = said.link.items()
    other, _, key = target.partition(".")
    if said.unit is not None or more:
        raise Refusal("a table has one owner: either a unit or one link", hint="leave out one of them")
    if own not in columns:
        raise Refusal(f"the link starts at {own!r}, and the source has no such column", hint=f"it has {list(columns)}")
    other = chosen(other, known.tables) or other
    key = chosen(key, [column.name for column in known.tables[other].columns]) or "" if other in known.tables else ""
    if not key:
        raise Refusal(f"the link leads to {target!r}, which is not there", hint="add that table first: TABLE.COLUMN")
    owners = known.tables[other]
    if owners.unit is None or owners.population is None:
        raise Refusal(f"the link leads to table {other!r}, whose rows have no unit", hint="link to a table with a unit")
    if owners.column(key).type is not columns[own]:
        raise Refusal(f"the link compares {own} with {target}, which has another type", hint="say --types")
    if (twin := chosen(owners.unit, columns)) is not None:
        raise Refusal(
            f"the link would bring {owners.unit!r} beside the column {twin!r}", hint="use that one with --unit"
        )
    if said.population not in (None, owners.population):
        raise Refusal(f"the link leads into population {owners.population!r}", hint="leave --population out")
    unit = owners.column(owners.unit)
    made = (*(_column(column, kind, said) for column, kind in columns.items()), replace(unit, keys=None, bounds=None))
    groups = 1 if said.max_groups is None else said.max_groups
    table = Table(name, made, owners.population, unit.name, said.max_rows, groups, link=(own, other, key))
    return table, _population(owners.population, said, known)


def _population(name: str, said: Declared, known: Catalogue) -> Population:
    if name in known.populations and said.epsilon is None and said.rho is None:
        same = known.populations[name]
        return replace(same, require_price=same.require_price or said.require_price)
    total = budget_loss(said.epsilon, said.rho, said.delta, f"population {name!r}")
    said_so = {"relation": said.relation, "require_price": said.require_price}
    delta = None if isinstance(total, Pure) else total.delta
    return population_of(name, {total.word: total.amount, "delta": delta, **said_so})


def _column(name: str, kind: Type, said: Declared) -> Column:
    bounds = None
    if name in said.bounds:
        low, high = said.bounds[name]
        bounds = (end_of(low, kind, f"{name} bounds"), end_of(high, kind, f"{name} bounds"))
    usual = (
        Fraction(1) if kind is Type.BIGINT else None
    )  # of doubles it follows from the bounds, whenever they are asked
    step = exact(said.steps[name], f"{name} step") if name in said.steps else usual
    keys = tuple(said.keys[name]) if name in said.keys else None
    if keys is not None and any(key is None for key in keys):
        raise Refusal(
            f"column {name!r} declares NULL as a key", hint="leave it out: rows without a value are in no group"
        )
    return Column(name, kind, bounds, step, keys, said.describe.get(name, ""))
