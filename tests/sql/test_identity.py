"""A question's identity: it changes with every declared fact that it uses, and with no other."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import clinic
import pytest

from discreet.declared.column import Column
from discreet.declared.group_key import Key, Type
from discreet.declared.table import Schema, Table
from discreet.errors import Refusal
from discreet.sql import bounding
from discreet.sql.plan import Measurement, Rank, Statistic
from discreet.sql.render import Located
from discreet.sql.split_at_noise import question

QUESTIONS = (
    "SELECT count(*) FROM visits",
    "SELECT count(*) FROM visits WHERE cost > 10 AND region = 'north'",
    "SELECT sum(cost) FROM visits",
    "SELECT sum(cost) FROM visits WHERE cost < 400",
    "SELECT avg(LEAST(cost, 100)) FROM visits",
    "SELECT region, count(*) FROM visits GROUP BY region",
    "SELECT urgent, count(DISTINCT diagnosis) FROM visits GROUP BY urgent",
    "SELECT diagnosis, avg(cost) FROM visits GROUP BY diagnosis",
    "SELECT median(cost) FROM visits WHERE urgent",
    "SELECT avg(c) FROM (SELECT * FROM (SELECT patient, region, sum(cost) AS c FROM visits GROUP BY 1, 2) t) u",
    "SELECT count(*) FROM visits a JOIN visits b ON a.patient = b.patient AND a.cost < b.cost",
    "SELECT count(*) FROM (SELECT *, row_number() OVER (PARTITION BY patient ORDER BY day) k FROM visits) WHERE k < 2",
)


def _located(table: Table) -> str:
    return f"{table.name}@{table.version}"


def rendered(measurement: Measurement) -> object:
    """All that touches the rows, as an engine reads it, and all that the noise follows from. Without `described`."""
    located, texts = Located(_located), []
    for statistic in measurement.statistics:
        if isinstance(statistic, Rank):
            texts.append(bounding.ranks(measurement, statistic, located, 0))
        elif statistic.kind == "distinct":
            texts.append(bounding.distinct(measurement, statistic, located, 0))
    numbers = [s.grid for s in measurement.statistics] + [
        s.quantile if isinstance(s, Rank) else s.kind for s in measurement.statistics
    ]
    keys = [key.values for key in measurement.keys]
    caps = measurement.max_rows, measurement.max_groups, measurement.shape.population
    return bounding.counts(measurement, located, 0), texts, numbers, keys, caps


def edited(table: Table, rng: random.Random) -> Table:
    """One declaration changed: of a column, or of the table."""
    if rng.random() < 0.2:
        change = rng.choice([{"max_rows": rng.randint(1, 60)}, {"max_groups": rng.randint(1, 60)}, {"version": 2}])
        return replace(table, **change)  # type: ignore[arg-type]
    place = rng.randrange(len(table.columns))
    columns = list(table.columns)
    columns[place] = _edited_column(columns[place], rng)
    return replace(table, columns=tuple(columns))


def _edited_column(column: Column, rng: random.Random) -> Column:
    if rng.random() < 0.3:
        return replace(column, description=f"{rng.random()}")
    if column.type.numeric and rng.random() < 0.7:
        high = Fraction(rng.randint(500, 600))
        return replace(column, bounds=(Fraction(0), high), step=Fraction(1, rng.choice([1, 10, 100])))
    values: dict[Type, tuple[Key, ...]] = {
        Type.VARCHAR: tuple(f"d{i}" for i in range(rng.randint(1, 9))),
        Type.BIGINT: tuple(range(rng.randint(1, 9))),
        Type.BOOLEAN: (rng.random() < 0.5,),
    }
    return replace(column, keys=values.get(column.type))


@pytest.mark.parametrize("sql", QUESTIONS)
def test_an_edit_changes_the_key_if_and_only_if_it_changes_what_is_measured(sql: str) -> None:
    rng, table = random.Random(sql), clinic.schema().table("visits")
    before = [part.measurement for part in question(sql, Schema({"visits": table})).parts]
    changed = 0
    for _ in range(25):
        try:
            after = question(sql, Schema({"visits": edited(table, rng)})).parts
        except Refusal:
            continue  # what it needs is not declared any more
        for old, new in zip(before, (part.measurement for part in after), strict=True):
            assert (old.question == new.question) == (rendered(old) == rendered(new))
            changed += old.question != new.question
    assert 0 < changed < 25


def test_two_questions_never_share_a_key() -> None:
    schema = clinic.schema()
    literals = ["1", "1.0", "10", "1.5"]
    texts = [*QUESTIONS, *(f"SELECT count(*) FROM visits WHERE cost > {text}" for text in literals)]
    texts += [f"SELECT count(*) FROM visits WHERE diagnosis = '{text}'" for text in ("a", "A", "a'', ''b", "")]
    texts += ["SELECT count(*) FROM visits WHERE diagnosis IN ('a', 'b')", "SELECT sum(cost * 2) FROM visits"]
    measurements = [part.measurement for sql in texts for part in question(sql, schema).parts]
    by_key: dict[str, object] = {}
    for measurement in measurements:
        assert by_key.setdefault(measurement.question, rendered(measurement)) == rendered(measurement)
    assert len(by_key) == len({repr(rendered(each)) for each in measurements})


def test_kinds_of_statistics_differ() -> None:
    (part,) = question("SELECT count(cost) FROM visits", clinic.schema()).parts
    other = replace(part.measurement, statistics=(Statistic("rows"),))
    assert other.question != part.measurement.question
