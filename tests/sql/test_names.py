"""Names in a question: quoted they mean what they say, unquoted they find their declaration in any case."""

from __future__ import annotations

import random
import re
from fractions import Fraction

import pytest
from sqlglot import exp

from discreet.declared.column import Column
from discreet.declared.group_key import Key, Type
from discreet.declared.table import Schema, Table
from discreet.errors import Ground, Refusal
from discreet.sql.expression import Expression
from discreet.sql.owned_rows import Inline, Rows, described
from discreet.sql.split_at_noise import question

HUNDRED = (Fraction(0), Fraction(100))
SPELLED = {  # as they are declared, and as their twins are
    "People": "people", "Visits": "visits", "Wards": "wards", "Shops": "shops", "Id": "id", "Age": "age", "Sex": "sex",
    "Hours": "hours", "Cost": "cost", "Day": "day", "Ward": "ward", "Beds": "beds", "Größe": "größe",
}  # fmt: skip


def schema(spelling: dict[str, str]) -> Schema:
    """Two private tables and a public one, their names spelled by a mapping."""

    def column(name: str, kind: Type = Type.BIGINT, **facts: object) -> Column:
        return Column(spelling[name], kind, **facts)  # type: ignore[arg-type]

    people = (
        column("Id"), column("Age", bounds=HUNDRED), column("Sex", Type.VARCHAR, keys=("f", "m")),
        column("Hours", bounds=HUNDRED), column("Größe", Type.DOUBLE, bounds=HUNDRED),
    )  # fmt: skip
    visits = (column("Id"), column("Cost", bounds=HUNDRED), column("Day", Type.DATE), column("Ward", Type.VARCHAR))
    wards = (column("Ward", Type.VARCHAR), column("Beds", bounds=HUNDRED))
    own = spelling["Id"]
    tables = [
        Table(spelling["People"], people, "people", own, 3, 3),
        Table(spelling["Visits"], visits, "people", own, 5, 5),
        Table(spelling["Wards"], wards),
    ]
    return Schema({table.name: table for table in tables})


PLAIN = schema(SPELLED)
CAPITALS = schema({name: name for name in SPELLED})
QUESTIONS = [
    "SELECT sex, avg(age) AS a FROM people GROUP BY sex HAVING avg(age) > 3 ORDER BY a",
    "SELECT floor(age / 10) * 10 AS age, count(*) FROM people WHERE age > 55 GROUP BY 1",
    "SELECT people.sex, sum(people.hours) FROM people GROUP BY people.sex ORDER BY people.sex",
    "SELECT sum(p.age * größe), count(DISTINCT p.id) FROM people AS p",
    "SELECT count(*) FROM (SELECT * FROM people) t WHERE age > 3 AND sex = 'f'",
    "WITH t AS (SELECT sex AS s, age FROM people WHERE hours < 40) SELECT s, avg(age) FROM t GROUP BY s",
    "SELECT avg(n) FROM (SELECT id, count(*) AS n FROM visits GROUP BY id) AS q",
    "SELECT avg(p.age), max(v.cost) FROM people p JOIN visits v ON p.id = v.id",
    "SELECT avg(age), max(cost) FROM people JOIN visits USING (id)",
    "SELECT beds, count(*) FROM visits JOIN wards USING (ward) GROUP BY beds",
    "SELECT wards.ward, count(cost) FROM wards LEFT JOIN visits ON wards.ward = visits.ward GROUP BY wards.ward",
    "SELECT count(*) FROM people WHERE EXISTS (SELECT 1 FROM visits WHERE visits.id = people.id AND cost > 3)",
    "SELECT count(*) FROM people WHERE id IN (SELECT id FROM visits WHERE cost > 10)",
    "SELECT sex, count(*) FROM people GROUP BY ROLLUP (sex) ORDER BY sex",
    "SELECT sum(cost) FILTER (WHERE day > DATE '2024-01-01') FROM visits",
    "SELECT sex, count(*) FROM people GROUP BY sex UNION ALL SELECT ward, count(*) FROM visits GROUP BY ward",
    "SELECT count(*) FROM (SELECT cost, lag(cost) OVER (PARTITION BY id ORDER BY day) AS b FROM visits) WHERE cost > b",
    "SELECT CASE WHEN age < 18 THEN 'young' ELSE 'old' END AS who, count(*) FROM people GROUP BY who ORDER BY who",
    "SELECT count(*) FROM people WHERE age > (SELECT avg(hours) FROM people)",
    "SELECT ward, beds FROM wards ORDER BY beds",
]


def shuffled(sql: str, rng: random.Random) -> str:
    """The same question, its names and keywords in any case."""
    parts = re.split(r"('[^']*')", sql)

    def turned(text: str) -> str:
        return "".join(rng.choice([letter.upper(), letter.lower()]) if letter != "ß" else letter for letter in text)

    return "".join(part if part.startswith("'") else turned(part) for part in parts)


def planned(sql: str, known: Schema) -> tuple[list[str], str, tuple[str, ...]]:
    """All that follows from a question, names in small letters."""
    asked = question(sql, known, at_hand=_Wards())
    measured = [described(part.measurement).lower() for part in asked.every_part]
    return measured, asked.above.sql().lower(), tuple(name.lower() for name in asked.columns)


class _Wards:
    """Public values, where a plan needs them."""

    def values(self, _: Rows, column: str, /) -> tuple[Key, ...]:
        assert column
        return ("w1", "w2")

    def answered(self, query: exp.Query, /) -> Inline:
        raise AssertionError(query)

    def alike(self, _: Rows, values: tuple[Expression, ...], /) -> int:
        assert values
        return 1


@pytest.mark.parametrize("sql", QUESTIONS)
def test_capitals_change_nothing_but_names(sql: str) -> None:
    rng, plain = random.Random(sql), planned(sql, PLAIN)
    for asked in (sql, sql.upper(), shuffled(sql, rng), shuffled(sql, rng)):
        if "größe" in sql and asked == sql.upper():
            asked = asked.replace("GRÖSSE", "GRÖßE")  # noqa: PLW2901  # two letters are one here
        assert planned(asked, CAPITALS) == plain
        assert planned(asked, PLAIN) == plain


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT SEX, avg(age) AS Mean FROM people GROUP BY sex", ("Sex", "mean")),
        ('SELECT sex AS "Gender", count(*) AS "N" FROM people GROUP BY sex', ("Gender", "N")),
        ("SELECT * FROM (SELECT sex, count(*) AS N FROM people GROUP BY sex) t", ("Sex", "n")),
        ("WITH T AS (SELECT Sex, COUNT(*) AS N FROM people GROUP BY sex) SELECT t.sex, N FROM T", ("Sex", "n")),
        ("SELECT beds FROM wards", ("Beds",)),
    ],
)
def test_columns_keep_their_spelling_and_aliases_are_folded(sql: str, columns: tuple[str, ...]) -> None:
    assert question(sql, CAPITALS).columns == columns


@pytest.mark.parametrize(
    ("sql", "says", "ground"),
    [
        ('SELECT avg("age") FROM people', 'spelled exactly: "Age"', Ground.COLUMN),
        ('SELECT avg(age) FROM "people"', 'spelled exactly: "People"', Ground.TABLE),
        ('SELECT avg("People".age) FROM people AS p', "there is no table 'People' in this FROM", Ground.TABLE),
        ("SELECT avg(p.weight) FROM people p", "'p' has no column 'weight'", Ground.COLUMN),
        ("SELECT avg(weight) FROM people", "there is no column 'weight'", Ground.COLUMN),
        ("SELECT count(*) FROM patients", "there is no table 'patients'", Ground.TABLE),
        (
            "SELECT count(*) FROM people p JOIN visits v ON p.id = v.id WHERE id = 3",
            "more than one table",
            Ground.COLUMN,
        ),
        ("WITH PEOPLE AS (SELECT * FROM visits) SELECT count(*) FROM people", "second meaning", Ground.PRIVACY),
        (
            "SELECT Age, count(*) AS age FROM people GROUP BY 1 ORDER BY age",
            "but for upper and lower case",
            Ground.PRIVACY,
        ),
    ],
)
def test_a_name_that_means_nothing_is_refused(sql: str, says: str, ground: Ground) -> None:
    with pytest.raises(Refusal, match=re.escape(says)) as refused:
        question(sql, CAPITALS)
    assert refused.value.ground is ground


def two_cases() -> Schema:
    """Two tables that spell one column in two ways."""
    one = Table("a", (Column("id", Type.BIGINT), Column("Score", Type.BIGINT, HUNDRED)), "people", "id", 2, 2)
    two = Table(
        "b", (Column("ID", Type.BIGINT), Column("score", Type.BIGINT, (Fraction(0), Fraction(9)))), "people", "ID", 2
    )
    return Schema({"a": one, "b": two})


def test_the_same_spelling_goes_first_and_two_others_are_not_guessed_between() -> None:
    joined = "FROM a JOIN b ON a.id = b.id"
    for written, high in (("score", 9), ('"Score"', 100), ("Score", 100), ('b."score"', 9), ("a.SCORE", 100)):
        (part,) = question(f"SELECT sum({written}) {joined}", two_cases()).parts
        (statistic,) = part.measurement.statistics
        assert statistic.grid is not None
        assert statistic.grid.high * statistic.grid.step == high
    with pytest.raises(Refusal, match=r'SCORE could mean a."Score" or b."score"'):
        question(f"SELECT sum(SCORE) {joined}", two_cases())


def test_using_joins_two_spellings() -> None:
    one = question("SELECT sum(a.score) FROM a JOIN b USING (id)", two_cases()).parts
    two = question("SELECT sum(a.score) FROM a JOIN b ON a.id = b.id", two_cases()).parts
    assert [part.measurement.question for part in one] == [part.measurement.question for part in two]
    with pytest.raises(Refusal, match="spelled in two ways"):
        question("SELECT sum(a.score) FROM a FULL JOIN b USING (id)", two_cases())
    with pytest.raises(Refusal, match="but for upper and lower case"):
        question("SELECT sum(a.score) FROM a NATURAL JOIN b", two_cases())


def odd() -> Schema:
    names = ("Order", "Group", "User", "Marital Status", "Hours-per-week", "income>50K", 'a.b"c', "select")
    columns = (Column("Id", Type.BIGINT), *(Column(name, Type.BIGINT, HUNDRED) for name in names))
    return Schema({"Odd": Table("Odd", columns, "people", "Id", 2, 2)})


@pytest.mark.parametrize("column", odd().table("odd").columns[1:], ids=lambda column: column.name)
def test_any_name_can_be_asked_about_in_quotes(column: Column) -> None:
    name = '"' + column.name.replace('"', '""') + '"'
    asked = question(f"SELECT {name}, avg({name}) FROM odd o WHERE o.{name} > 3 GROUP BY {name} ORDER BY {name}", odd())
    assert asked.columns == (column.name, "avg")


# a link's unit --------------------------------------------------------------------------------------------------------


def linked() -> Schema:
    """Orders of customers, and lines of orders, which find their customer through the order."""
    orders = (Column("Customer", Type.BIGINT), Column("key", Type.BIGINT), Column("total", Type.BIGINT, HUNDRED))
    lines = (Column("key", Type.BIGINT), Column("price", Type.BIGINT, HUNDRED), Column("Customer", Type.BIGINT))
    link = ("key", "orders", "key")
    tables = [
        Table("orders", orders, "customer", "Customer", 4, 4),
        Table("lines", lines, "customer", "Customer", 9, 9, link=link),
        Table("returns", lines, "customer", "Customer", 9, 9, link=link),
    ]
    return Schema({table.name: table for table in tables})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(price) FROM (SELECT o.customer, total, l.* FROM orders o JOIN lines l ON o.key = l.key) t",
        "SELECT sum(price) FROM (SELECT l.*, o.customer, total FROM orders o JOIN lines l ON o.key = l.key) t",
        "SELECT sum(price) FROM (SELECT l.*, total FROM orders o JOIN lines l ON o.key = l.key) t WHERE total > 3",
        "SELECT sum(price) FROM (SELECT * FROM orders JOIN lines USING (key)) t WHERE customer > 3",
        "SELECT sum(price), count(DISTINCT customer) FROM orders JOIN lines USING (key)",
        "SELECT count(DISTINCT l.customer) FROM orders o JOIN lines l ON o.key = l.key WHERE customer > 3",
        "SELECT avg(s) FROM (SELECT customer, sum(price) AS s FROM (SELECT * FROM lines) l GROUP BY customer) t",
    ],
)
def test_the_unit_that_a_link_brings_stands_in_nobodys_way(sql: str) -> None:
    assert question(sql, linked()).parts
