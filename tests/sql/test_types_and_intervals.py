"""Types and intervals as people write them: taken, or refused in the words that were typed."""

from __future__ import annotations

import pytest
from sqlglot import exp

from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Schema, Table
from discreet.errors import Refusal
from discreet.sql.expression import Field
from discreet.sql.from_sqlglot import translate
from discreet.sql.parse import parsed

VISITS = Table("visits", (Column("id", Type.BIGINT), Column("moment", Type.TIMESTAMP), Column("cost", Type.DOUBLE)))


def _parsed(sql: str) -> exp.Expr:
    return parsed(sql, Schema({"visits": VISITS}))


@pytest.mark.parametrize("words", ["id::varchar(3)", "CAST(moment AS timestamp(3))", "id::char(4)"])
def test_a_length_of_a_type_is_refused_in_the_words_that_were_typed(words: str) -> None:
    with pytest.raises(Refusal, match="a type has no lengths here") as refused:
        _parsed(f"SELECT {words} FROM visits")
    assert refused.value.message.startswith(f"{words} is not supported")


@pytest.mark.parametrize("unit", ["year", "month", "week", "day", "hour", "minute", "second"])
def test_an_interval_may_name_its_unit_in_the_plural(unit: str) -> None:
    one, many, apart = (
        translate(_parsed(f"SELECT moment + INTERVAL {text} FROM visits").expressions[0].this, _column)
        for text in (f"'90 {unit}'", f"'90 {unit}s'", f"'90' {unit}s")
    )
    assert one == many == apart


def _column(node: exp.Column) -> Field:
    return Field(node.name, VISITS.column(node.name).type)


@pytest.mark.parametrize("words", ["moment + INTERVAL '2 foos'", "extract(days FROM moment)"])
def test_other_words_stay_refused(words: str) -> None:
    with pytest.raises(Refusal, match="is not supported here"):
        _parsed(f"SELECT {words} FROM visits")
