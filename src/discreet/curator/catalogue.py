"""What a custodian declares, in `discreet.toml`: populations with budgets, tables with their units, caps and bounds."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.errors import Refusal
from discreet.exact import Number, exact, positive
from discreet.ledger.entry import BudgetLoss
from discreet.privacy import AddRemove, Approximate, Concentrated, Neighbours, Pure, Replace
from discreet.sql.schema import Column, Key, Schema, Table, Type

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


@dataclass(frozen=True)
class Catalogue:
    """Everything declared. A value: changing it means writing another."""

    populations: Mapping[str, Population] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        """The tables as a question sees them."""
        return Schema(self.tables)

    def population(self, name: str) -> Population:
        """The population of this name."""
        if name not in self.populations:
            raise Refusal(f"there is no population {name!r}", hint=f"there are {sorted(self.populations)}")
        return self.populations[name]

    def with_population(self, population: Population) -> Catalogue:
        """The catalogue with one population more; an existing one must be the same."""
        known = self.populations.get(population.name)
        if known is not None and (known.total, known.neighbours) != (population.total, population.neighbours):
            raise Refusal(
                f"population {population.name!r} has another budget already: {known.total}",
                hint="leave --epsilon, --rho and --delta out, or repeat the same values",
            )
        return replace(self, populations={**self.populations, population.name: known or population})

    def with_table(self, table: Table) -> Catalogue:
        """The catalogue with this table in place of any other of its name."""
        return replace(self, tables={**self.tables, table.name: table})

    def without_table(self, name: str) -> Catalogue:
        """The catalogue without a table. Its population stays, with what it has spent."""
        self.schema.table(name)
        return replace(self, tables={key: table for key, table in self.tables.items() if key != name})


def declaration(table: Table) -> str:
    """A digest of what is declared about a table, but for its version."""
    return hashlib.sha256(repr(replace(table, version=0)).encode()).hexdigest()


def population_of(name: str, parameters: Mapping[str, Any]) -> Population:
    """A population from its declaration."""
    total = budget_loss(
        parameters.get("epsilon"), parameters.get("rho"), parameters.get("delta"), f"population {name!r}"
    )
    relation = parameters.get("relation", "add-remove")
    if relation not in RELATIONS:
        raise Refusal(f"population {name!r}: relation is one of {sorted(RELATIONS)}, got {relation!r}")
    neighbours = RELATIONS[relation](name)
    amount = total.rho if isinstance(total, Concentrated) else total.epsilon
    key = "default_rho" if isinstance(total, Concentrated) else "default_epsilon"
    default = positive(parameters[key], key) if key in parameters else amount / _DEFAULT_SHARE
    return Population(name, total, neighbours, default)


def budget_loss(epsilon: Number | None, rho: Number | None, delta: Number | None, where: str) -> BudgetLoss:
    """A budget from what was given of epsilon, rho and delta."""
    if rho is not None and epsilon is None:
        return Concentrated(positive(rho, "rho"), delta or 0)
    if rho is None and epsilon is not None:
        return Approximate(positive(epsilon, "epsilon"), delta) if delta else Pure(positive(epsilon, "epsilon"))
    raise Refusal(f"{where} needs either epsilon or rho", hint="for example --epsilon 3 --delta 1e-8")


def read(folder: Path) -> Catalogue:
    """The catalogue of a home."""
    path = folder / FILE
    if not path.exists():
        raise Refusal(f"{str(folder)!r} is not a home: it has no {FILE}", hint="make one with discreet init")
    try:
        parsed = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as broken:
        raise Refusal(f"{FILE} cannot be read: {broken}") from None
    except UnicodeDecodeError:
        raise Refusal(f"{FILE} is not UTF-8 text") from None
    if parsed.get("version") != 1:
        raise Refusal(f"{FILE} needs version = 1 on its first line, got {parsed.get('version')!r}")
    unknown = set(parsed) - {"version", "population", "table"}
    if unknown:
        raise Refusal(f"{FILE} has an unknown section {min(unknown)!r}")
    populations = {name: population_of(name, body) for name, body in parsed.get("population", {}).items()}
    tables = {name: _table(name, body) for name, body in parsed.get("table", {}).items()}
    for table in tables.values():
        if table.population is not None and table.population not in populations:
            raise Refusal(
                f"{FILE}: table {table.name!r} names the population {table.population!r}, which is not declared"
            )
    return Catalogue(populations, tables)


_TABLE_KEYS = {"population", "unit", "max_rows", "max_groups", "columns", "public", "version"}
_COLUMN_KEYS = {"type", "bounds", "step", "keys", "description"}


def _table(name: str, body: Mapping[str, Any]) -> Table:
    unknown = set(body) - _TABLE_KEYS
    if unknown:
        raise Refusal(
            f"{FILE}: table {name!r} has an unknown entry {min(unknown)!r}", hint=f"known: {sorted(_TABLE_KEYS)}"
        )
    columns = tuple(_column(f"{name}.{key}", key, value) for key, value in body.get("columns", {}).items())
    if body.get("public"):
        return Table(name, columns, version=int(body.get("version", 1)))
    unit = body.get("unit")
    table = Table(
        name,
        columns,
        body.get("population"),
        None if unit == "row" else unit,
        body.get("max_rows"),
        int(body.get("max_groups", 1)),
        int(body.get("version", 1)),
    )
    if table.population is None:
        raise Refusal(f"{FILE}: table {name!r} needs a population, or public = true")
    if table.unit is not None:
        table.column(table.unit)
    return table


def _column(where: str, name: str, body: Mapping[str, Any]) -> Column:
    unknown = set(body) - _COLUMN_KEYS
    if unknown:
        raise Refusal(f"{FILE}: column {where} has an unknown entry {min(unknown)!r}")
    kind = type_of(str(body.get("type")), where)
    bounds = body.get("bounds")
    return Column(
        name,
        kind,
        None if bounds is None else (exact(bounds[0], f"{where} bounds"), exact(bounds[1], f"{where} bounds")),
        None if body.get("step") is None else positive(body["step"], f"{where} step"),
        None if body.get("keys") is None else tuple(body["keys"]),
        str(body.get("description", "")),
    )


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
    raise Refusal(f"{where}: there is no type {text!r}", hint=f"use one of {[kind.value for kind in Type]}")


def write(folder: Path, catalogue: Catalogue) -> None:
    """Write the catalogue of a home, whole or not at all."""
    text = "\n".join(["version = 1", *_population_lines(catalogue), *_table_lines(catalogue)]) + "\n"
    aside = folder / f".{FILE}.{secrets.token_hex(8)}"
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.rename(folder / FILE)
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)  # else a crash could bring the old declarations back
    finally:
        os.close(handle)


def _population_lines(catalogue: Catalogue) -> list[str]:
    lines = []
    for population in catalogue.populations.values():
        total = population.total
        word = "rho" if isinstance(total, Concentrated) else "epsilon"
        relation = "replace" if isinstance(population.neighbours, Replace) else "add-remove"
        lines += ["", f"[population.{_name(population.name)}]", f'relation = "{relation}"']
        lines += [f'{word} = "{total.rho if isinstance(total, Concentrated) else total.epsilon}"']
        if not isinstance(total, Pure) and total.delta:
            lines.append(f'delta = "{total.delta}"')
        lines.append(f'default_{word} = "{population.default}"')
    return lines


def _table_lines(catalogue: Catalogue) -> list[str]:
    lines = []
    for table in catalogue.tables.values():
        lines += ["", f"[table.{_name(table.name)}]", f"version = {table.version}"]
        if table.public:
            lines.append("public = true")
        else:
            lines += [f"population = {_text(table.population)}", f"unit = {_text(table.unit or 'row')}"]
            if table.max_rows is not None:
                lines.append(f"max_rows = {table.max_rows}")
            lines.append(f"max_groups = {table.max_groups}")
        for column in table.columns:
            lines += [f"[table.{_name(table.name)}.columns.{_name(column.name)}]", *_column_lines(column)]
    return lines


def _column_lines(column: Column) -> list[str]:
    lines = [f'type = "{column.type.value}"']
    if column.bounds is not None:
        lines.append(f"bounds = [{', '.join(_text(str(end)) for end in column.bounds)}]")
    if column.step is not None:
        lines.append(f"step = {_text(str(column.step))}")
    if column.keys is not None:
        lines.append(f"keys = [{', '.join(_key(key) for key in column.keys)}]")
    if column.description:
        lines.append(f"description = {_text(column.description)}")
    return lines


def _text(text: str | None) -> str:
    return json.dumps(text or "", ensure_ascii=False)


def _key(key: Key) -> str:
    return _text(key) if isinstance(key, str) else str(key).lower()


def _name(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _text(name)
