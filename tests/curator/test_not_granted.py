"""A table that was not granted is one that does not exist: in every answer, refusal, list and price."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared, found_home
from discreet.desk import Desk
from discreet.desk.release_store import ReleaseOrder
from discreet.errors import Refusal
from discreet.release import Wish

# {} stands where a table's name may stand; "secret" is there in one home and not in the other
TEXTS = [
    "SELECT count(*) FROM {}",
    'SELECT count(*) FROM "{}"',
    "SELECT count(*) FROM {} WHERE nosuch = 1",
    "SELECT sum(salary) FROM {}",
    "SELECT salary FROM {}",
    "SELECT salary, count(*) FROM {} GROUP BY salary",
    "SELECT count(*) FROM people p JOIN {} s ON s.person = p.person",
    "SELECT count(*) FROM people p JOIN {} s ON s.salary = p.age",
    "SELECT count(*) FROM people WHERE person IN (SELECT person FROM {})",
    "SELECT count(*) FROM people WHERE EXISTS (SELECT 1 FROM {} s WHERE s.person = people.person)",
    "SELECT count(*) FROM people WHERE age > (SELECT avg(salary) FROM {})",
    "WITH {} AS (SELECT person FROM people) SELECT count(*) FROM {}",
    "WITH x AS (SELECT * FROM {}) SELECT count(*) FROM people",
    "SELECT count(*) FROM people UNION ALL SELECT count(*) FROM {}",
    "SELECT {}.salary FROM people",
    "SELECT count({}) FROM people",
    "SELECT word, count(*) FROM codes GROUP BY word",
    "SELECT count(*) FROM people p JOIN codes c ON c.code = p.age",
    "SELECT code FROM codes",
    "SELECT age, count(*) FROM people GROUP BY age",
    "SELECT nosuch FROM people",
    "SELECT badge, count(*) FROM people GROUP BY badge",
    "SELECT count(*) FROM scans",
    "SELECT person, count(*) FROM scans GROUP BY person",
    "SELECT count(*) FROM scans s JOIN {} t ON t.badge = s.badge",
    "SELECT * FROM scans",
]


def _home(folder: Path, *, secret: bool) -> Path:
    """People and what they scanned; besides, in one home, salaries, codes, and what was lent by badge."""
    found_home(folder)
    custody = Custody(folder)
    rows = pa.table({"person": [1, 2, 3], "age": [30, 40, 50], "badge": [7, 8, 9]})
    custody.add("people", rows, Declared(unit="person", max_rows=1, epsilon=9, bounds={"age": (0, 99)}))
    custody.add("scans", pa.table({"badge": [7, 8], "gate": [1, 2]}), Declared(link={"badge": "people.badge"}))
    if secret:
        salaries = pa.table({"person": [1, 2], "salary": [10, 20], "badge": [7, 8]})
        custody.add("secret", salaries, Declared(unit="person", max_rows=1, bounds={"salary": (0, 777)}))
        custody.add("codes", pa.table({"code": [30], "word": ["x"]}), Declared(public=True))
        lent = pa.table({"badge": [7], "book": ["b"]})
        custody.add("lent", lent, Declared(link={"badge": "secret.badge"}))
        custody.add("gone", pa.table({"k": ["a"]}), Declared(unit="row", population="strangers", epsilon=1))
    return folder


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    made = tuple(_home(tmp_path_factory.mktemp("home") / "home", secret=secret) for secret in (True, False))
    for home in made:
        Custody(home).let_in("bob", "analyst", tables=["people", "scans"])
    return made[0], made[1]


def heard(what: Callable[[], object]) -> tuple[object, ...]:
    """Everything that an asker learns, but for noise and the table's own name."""
    try:
        return "said", what()
    except Refusal as refusal:
        return type(refusal), refusal.message, refusal.hint, refusal.ground, refusal.place, refusal.repair


@pytest.mark.parametrize("name", ["secret", "SECRET", "codes", "lent", "gone"])
def test_every_question_sounds_as_if_it_were_not_there(homes: tuple[Path, Path], name: str) -> None:
    owner, bobs = Curator(homes[0]), [Curator(home, principal="bob") for home in homes]
    asked: list[Callable[[Curator, str], object]] = [
        lambda curator, sql: curator.explain(sql, epsilon=1),
        lambda curator, sql: curator.describe(sql),
        lambda curator, sql: curator.due(sql, epsilon=1),
        lambda curator, sql: curator.selected(sql),
        lambda curator, sql: curator.query(sql, free=True).columns,  # which is refused where nothing was bought
    ]
    for text in TEXTS:
        if "{}" not in text and name != "secret":
            continue  # it was asked already
        sql = text.format(*[name] * 2)
        heard(partial(owner.explain, sql, epsilon=1))  # what others asked changes nothing
        for ask in asked:
            one, two = (heard(lambda: repr(ask(bob, sql))) for bob in bobs)  # noqa: B023  # called at once
            assert one == two, sql


@pytest.mark.parametrize("name", ["secret", "codes", "lent", "nosuch"])
def test_advice_releases_and_practice_do_not_know_it(homes: tuple[Path, Path], name: str) -> None:
    asked: list[Callable[[Curator], object]] = [
        lambda c: c.caps(name, epsilon=1),
        lambda c: c.bounds(name, "salary", epsilon=1),
        lambda c: c.bounds("people", "salary", epsilon=1),
        lambda c: c.tables(),
    ]
    for ask in asked:
        one, two = (heard(partial(ask, Curator(home, principal="bob"))) for home in homes)
        assert one == two
    order = ReleaseOrder.of(name, Wish.of("histogram", ("salary",), epsilon=1))
    desks = [Desk(home) for home in homes]
    bobs = [desk.visitor("bob") for desk in desks]
    for method, given in (
        (Desk.offered, (order,)),
        (Desk.rehearsed, (order,)),
        (Desk.tried, (f"SELECT count(*) FROM {name}", {})),
    ):
        one, two = (heard(partial(method, desk, bob, *given)) for desk, bob in zip(desks, bobs, strict=True))
        assert one == two
        assert one[1] == f"there is no table {name!r}"


def test_neither_budgets_nor_links_tell_of_it(homes: tuple[Path, Path]) -> None:
    desks = [Desk(home) for home in homes]
    assert [list(desk.accounts(desk.visitor("bob"))) for desk in desks] == [["person"]] * 2
    Custody(homes[0]).let_in("eve", "analyst", tables=["lent"])
    (table,) = Curator(homes[0], principal="eve").tables()
    assert table.link is None
    assert "secret" not in repr(table)
    said = Curator(homes[0], principal="eve").explain("SELECT count(DISTINCT person) FROM lent", epsilon=1)
    assert "secret" not in str(said) + repr(said)
