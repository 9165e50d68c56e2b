"""Catalogue of a home, written in `discreet.toml`: populations with budgets, tables with units, caps and bounds."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from discreet import durable
from discreet.curator.explain import said
from discreet.declared.column import Column
from discreet.declared.group_key import Key, Type, number, written
from discreet.declared.table import Schema, Table
from discreet.errors import Refusal
from discreet.exact import Number, count, exact, positive, probability, shown
from discreet.ledger.entry_kinds import BudgetLoss, refuse_half_characters
from discreet.privacy import AddRemove, Approximate, Concentrated, Neighbours, Pure, Replace

T = TypeVar("T")

FILE = "discreet.toml"
RELATIONS: dict[str, type[Neighbours]] = {"add-remove": AddRemove, "replace": Replace}
_DEFAULT_SHARE = 50  # a question that names no price gets this part of the budget


@dataclass(frozen=True)
class Population:
    """The people that several tables may speak about, and the one budget of them all."""

    name: str
    total: BudgetLoss
    neighbours: Neighbours
    default: Fraction  # ε or ρ of a question that names no price
    require_price: bool = False  # whether every question must name one


@dataclass(frozen=True)
class Catalogue:
    """Everything declared. A value: changing it means writing another."""

    populations: Mapping[str, Population] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        """The tables as a question sees them."""
        return Schema(self.tables)

    def seen_by(self, granted: Collection[str] | None) -> Catalogue:
        """What is there for somebody who may ask about these tables; None stands for all. Nothing tells of the rest."""
        if granted is None:
            return self
        tables = {name: table for name, table in self.tables.items() if name in granted}
        people = {table.population for table in tables.values()}
        return Catalogue({name: each for name, each in self.populations.items() if name in people}, tables)

    def shown(self) -> list[Table]:
        """The tables as they are listed. A link into a table that is not there would tell of it: it is not shown."""
        hidden = [table.link is not None and table.link[1] not in self.tables for table in self.tables.values()]
        every = zip(self.tables.values(), hidden, strict=True)
        return [replace(table, link=None) if hides else table for table, hides in every]

    def population(self, name: str) -> Population:
        """The population of this name."""
        if name not in self.populations:
            raise Refusal(f"there is no population {name!r}", hint="see discreet budget")
        return self.populations[name]

    def allowance(self, amount: Number) -> BudgetLoss:
        """An allowance in the measure that the home's budgets have."""
        if len({type(population.total) for population in self.populations.values()}) != 1:
            named = sorted(self.populations) or "none"
            raise Refusal(
                f"an allowance needs populations whose budgets have one measure, and there are {named}",
                hint="add a table first, or give a token without an allowance",
            )
        total = next(iter(self.populations.values())).total
        return total.at(amount, total.delta)

    def with_population(self, population: Population) -> Catalogue:
        """The catalogue with one population more; an existing one must be the same."""
        known = self.populations.get(population.name)
        if known is not None and (known.total, known.neighbours) != (population.total, population.neighbours):
            raise Refusal(
                f"population {population.name!r} has another budget already: {said(known.total)}",
                hint="leave --epsilon, --rho and --delta out, or repeat the same values",
            )
        if known is not None and population.require_price:
            known = replace(known, require_price=True)
        return replace(self, populations={**self.populations, population.name: known or population})

    def requiring_price(self, name: str, *, required: bool) -> Catalogue:
        """The catalogue in which every question about a population must name a price, or need not."""
        changed = replace(self.population(name), require_price=required)
        return replace(self, populations={**self.populations, name: changed})

    def with_table(self, table: Table) -> Catalogue:
        """The catalogue with this table in place of any other of its name."""
        return replace(self, tables={**self.tables, table.name: table})

    def without_table(self, name: str) -> Catalogue:
        """The catalogue without a table. Its population stays, with what it has spent."""
        gone = self.schema.table(name)
        return replace(self, tables={key: table for key, table in self.tables.items() if table is not gone})


def declaration(table: Table) -> str:
    """A digest of what is declared about a table, but for its version."""
    return hashlib.sha256(repr(replace(table, version=0)).encode()).hexdigest()


_POPULATION_KEYS = {"epsilon", "rho", "delta", "relation", "default_epsilon", "default_rho", "require_price"}


def population_of(name: str, parameters: Mapping[str, Any]) -> Population:
    """A population from its declaration."""
    total = budget_loss(
        parameters.get("epsilon"), parameters.get("rho"), parameters.get("delta"), f"population {name!r}"
    )
    unknown = set(parameters) - _POPULATION_KEYS
    if unknown:
        raise Refusal(
            f"population {name!r} has an unknown entry {min(unknown)!r}", hint=f"known: {sorted(_POPULATION_KEYS)}"
        )
    relation = parameters.get("relation", "add-remove")
    if not isinstance(relation, str) or relation not in RELATIONS:
        raise Refusal(f"population {name!r}: relation is one of {sorted(RELATIONS)}, got {relation!r}")
    neighbours = RELATIONS[relation](name)
    key = f"default_{total.word}"
    default = positive(parameters[key], key) if key in parameters else total.amount / _DEFAULT_SHARE
    required = _typed(parameters, "require_price", bool, f"{FILE}: population {name!r}", False)  # noqa: FBT003
    return Population(name, total, neighbours, default, required)


def budget_loss(epsilon: Number | None, rho: Number | None, delta: Number | None, where: str) -> BudgetLoss:
    """A budget from what was given of epsilon, rho and delta."""
    spare = Fraction(0) if delta is None else probability(delta, "delta")
    if rho is not None and epsilon is None:
        return Concentrated(positive(rho, "rho"), spare)
    if rho is None and epsilon is not None:
        return Approximate(positive(epsilon, "epsilon"), spare) if spare else Pure(positive(epsilon, "epsilon"))
    raise Refusal(f"{where} needs either epsilon or rho", hint="for example --epsilon 3 --delta 1e-8")


def read(folder: Path) -> Catalogue:
    """The catalogue of a home."""
    path = folder / FILE
    if not path.exists():
        raise Refusal(f"{str(folder)!r} is not a home: it has no {FILE}", hint="make one with discreet init")
    try:
        return parse(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise Refusal(f"{FILE} is not UTF-8 text") from None
    except OSError as broken:
        raise Refusal(f"{FILE} cannot be read: {broken.strerror}") from None


def parse(text: str) -> Catalogue:
    """The catalogue that a text declares."""
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError as broken:
        raise Refusal(f"{FILE} cannot be read: {broken}") from None
    except (ValueError, RecursionError):  # a number of more digits than Python reads, lists in lists in lists
        raise Refusal(f"{FILE} cannot be read: something in it is too long or too deep") from None
    if parsed.get("version") != 1:
        raise Refusal(f"{FILE} needs version = 1 on its first line, got {parsed.get('version')!r}")
    unknown = set(parsed) - {"version", "population", "table"}
    if unknown:
        raise Refusal(f"{FILE} has an unknown section {min(unknown)!r}")
    populations = {name: population_of(name, body) for name, body in _sections(parsed, "population")}
    tables = {name: _table(name, body) for name, body in _sections(parsed, "table")}
    for table in tables.values():
        if table.population is not None and table.population not in populations:
            raise Refusal(
                f"{FILE}: table {table.name!r} names the population {table.population!r}, which is not declared"
            )
    return Catalogue(populations, tables)


def _sections(parsed: Mapping[str, Any], kind: str) -> list[tuple[str, Mapping[str, Any]]]:
    named = _typed(parsed, kind, dict, FILE, {})
    return [(name, _typed(named, name, dict, f"{FILE}: {kind}", {})) for name in named]


def _typed(body: Mapping[str, Any], key: str, kind: type[T], where: str, default: T) -> T:
    """What a key holds, if it is of the kind that belongs there. A truth value is no number here."""
    value: T = body.get(key, default)
    if value is not default and type(value) is not kind:
        words = {dict: "a section", list: "a list", str: "text", int: "a whole number", bool: "true or false"}
        raise Refusal(f"{where}: {key} is {words[kind]}, got {shown(value)}")
    return value


_TABLE_KEYS = {"population", "unit", "link", "max_rows", "max_groups", "columns", "public", "version"}
_PRIVATE_KEYS = {"population", "unit", "link", "max_rows", "max_groups"}
_COLUMN_KEYS = {"type", "bounds", "step", "keys", "description"}


def _table(name: str, body: Mapping[str, Any]) -> Table:
    where = f"{FILE}: table {name!r}"
    unknown = set(body) - _TABLE_KEYS
    if unknown:
        raise Refusal(f"{where} has an unknown entry {min(unknown)!r}", hint=f"known: {sorted(_TABLE_KEYS)}")
    columns = tuple(
        _column(f"{name}.{key}", key, _typed(body["columns"], key, dict, f"{where} columns", {}))
        for key in _typed(body, "columns", dict, where, {})
    )
    version = count(_typed(body, "version", int, where, 1), f"{where}: version")
    if _typed(body, "public", bool, where, False):  # noqa: FBT003  # a default
        if private := _PRIVATE_KEYS & set(body):
            raise Refusal(f"{where} is public, and has an entry {min(private)!r} that only a private one has")
        return Table(name, columns, version=version)
    unit = _typed(body, "unit", str, where, "")
    population = _typed(body, "population", str, where, "")
    if not population:
        raise Refusal(f"{where} needs a population, or public = true")
    if not unit:
        raise Refusal(f"{where} needs a unit", hint='a column that says whose row it is, or unit = "row"')
    rows = _typed(body, "max_rows", int, where, 0) if "max_rows" in body else None
    groups = _typed(body, "max_groups", int, where, 1)
    link = _link(_typed(body, "link", str, where, ""), where)
    table = Table(name, columns, population, None if unit == "row" else unit, rows, groups, version, link)
    if table.unit is not None:
        table.column(table.unit)
    return table


def _column(where: str, name: str, body: Mapping[str, Any]) -> Column:
    unknown = set(body) - _COLUMN_KEYS
    if unknown:
        raise Refusal(f"{FILE}: column {where} has an unknown entry {min(unknown)!r}")
    kind = type_of(str(body.get("type")), where)
    bounds = _typed(body, "bounds", list, f"{FILE}: {where}", [])
    if "bounds" in body and len(bounds) != 2:
        raise Refusal(f"{FILE}: {where}: bounds are two numbers, got {shown(bounds)}")
    keys = _typed(body, "keys", list, f"{FILE}: {where}", [])
    if any(type(key) not in (str, int, float, bool, date, datetime) for key in keys):
        raise Refusal(f"{FILE}: {where}: a key is text, a number, a date, true or false, got {shown(keys)}")
    return Column(
        name,
        kind,
        (end_of(bounds[0], kind, f"{where} bounds"), end_of(bounds[1], kind, f"{where} bounds"))
        if "bounds" in body
        else None,
        positive(body["step"], f"{where} step") if "step" in body else None,
        tuple(keys) if "keys" in body else None,
        _typed(body, "description", str, f"{FILE}: {where}", ""),
    )


def end_of(given: Any, kind: Type, what: str) -> Fraction:  # noqa: ANN401  # a number, or a day in text
    """One end of a column's bounds."""
    return number(given, kind, what) if kind.dated else exact(given, what)


def link_of(table: Table) -> str:
    """Its link as it is written; empty if it has none."""
    own, other, key = table.link or ("", "", "")
    return f"{own}={other}.{key}" if table.link is not None else ""


def _link(text: str, where: str) -> tuple[str, str, str] | None:
    """COLUMN=TABLE.COLUMN: the path on which a row finds its owner."""
    if not text:
        return None
    own, _, target = text.partition("=")
    table, _, column = target.partition(".")
    if not own or not table or not column:
        raise Refusal(f"{where} has the link {text!r}", hint="write it as COLUMN=TABLE.COLUMN")
    return own, table, column


_ALIASES = {
    "integer": "bigint", "int": "bigint", "smallint": "bigint", "tinyint": "bigint", "hugeint": "bigint",
    "uinteger": "bigint", "ubigint": "bigint", "usmallint": "bigint", "utinyint": "bigint",
    "int32": "bigint", "int64": "bigint",
    "float": "double", "real": "double", "decimal": "double", "numeric": "double", "double precision": "double",
    "text": "varchar", "string": "varchar", "char": "varchar", "bool": "boolean", "datetime": "timestamp",
}  # fmt: skip


def type_of(text: str, where: str) -> Type:
    """The type that a word means."""
    word = text.lower().split("(")[0].strip()
    word = _ALIASES.get(word, word)
    word = "timestamp" if word.startswith("timestamp") else word
    word = "varchar" if word.startswith("enum") else word
    for kind in Type:
        if kind.value == word:
            return kind
    raise Refusal(f"{where}: there is no type {text!r}", hint=f"use one of {', '.join(kind.value for kind in Type)}")


def text_of(catalogue: Catalogue) -> str:
    """The text that declares a catalogue, read back to make sure that it will be understood."""
    text = "\n".join(["version = 1", *_population_lines(catalogue), *_table_lines(catalogue)]) + "\n"
    refuse_half_characters(text)
    if parse(text) != catalogue:
        raise Refusal(f"{FILE} could not say what was declared", hint="use plainer names and descriptions")
    return text


def write(folder: Path, text: str) -> None:
    """Write the catalogue of a home, whole or not at all."""
    durable.replace(folder / FILE, text.encode())


def _population_lines(catalogue: Catalogue) -> list[str]:
    lines = []
    for population in catalogue.populations.values():
        total = population.total
        relation = "replace" if isinstance(population.neighbours, Replace) else "add-remove"
        lines += ["", f"[population.{_name(population.name)}]", f'relation = "{relation}"']
        lines += [f'{total.word} = "{total.amount}"']
        if total.delta:
            lines.append(f'delta = "{total.delta}"')
        lines.append(f'default_{total.word} = "{population.default}"')
        if population.require_price:
            lines.append("require_price = true")
    return lines


def _table_lines(catalogue: Catalogue) -> list[str]:
    lines = []
    for table in catalogue.tables.values():
        lines += ["", f"[table.{_name(table.name)}]", f"version = {table.version}"]
        if table.public:
            lines.append("public = true")
        else:
            lines += [f"population = {_text(table.population)}", f"unit = {_text(table.unit or 'row')}"]
            if table.link is not None:
                lines.append(f"link = {_text(link_of(table))}")
            if table.max_rows is not None:
                lines.append(f"max_rows = {table.max_rows}")
            lines.append(f"max_groups = {table.max_groups}")
        for column in table.columns:
            lines += [f"[table.{_name(table.name)}.columns.{_name(column.name)}]", *_column_lines(column)]
    return lines


def _column_lines(column: Column) -> list[str]:
    lines = [f'type = "{column.type.value}"']
    if column.bounds is not None:
        lines.append(f"bounds = [{', '.join(_text(written(end, column.type)) for end in column.bounds)}]")
    if column.step is not None:
        lines.append(f"step = {_text(str(column.step))}")
    if column.keys is not None:
        lines.append(f"keys = [{', '.join(_key(key) for key in column.keys)}]")
    if column.description:
        lines.append(f"description = {_text(column.description)}")
    return lines


def _text(text: str | None) -> str:
    return json.dumps(text or "", ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON allows it bare, TOML does not


def _key(key: Key) -> str:
    return _text(key) if isinstance(key, str) else str(key).lower()


def _name(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _text(name)
