"""Nothing that depends on a row leaves but through the noise: not a text, a type, a plan or an entry."""

from __future__ import annotations

import random
from pathlib import Path

import clinic
import duckdb
import pytest
from clinic import COUNT
from doubles import Seeded

from discreet.curator import Curator
from discreet.curator.price import reach
from discreet.engines import DuckStore
from discreet.errors import Fault, Refusal
from discreet.ledger import SqliteLedger
from discreet.privacy import Approximate
from discreet.sql.split_at_noise import question

QUESTIONS = [
    COUNT,
    "SELECT region, count(*), sum(cost), avg(cost), stddev(cost) FROM visits GROUP BY region",
    "SELECT median(cost), max(cost) FROM visits WHERE day > '2024-02-01'",
    "SELECT sum(100 / nullif(cost, 0) * 0 + LEAST(cost, 5)) FROM visits WHERE cost / (cost - 7) > 0",
    "SELECT region, count(*) FROM visits WHERE upper(diagnosis) LIKE 'D%' GROUP BY region",
    "SELECT sum(CAST(LEAST(GREATEST(CAST(diagnosis AS INT), 0), 3) AS DOUBLE)) FROM visits",
]


def test_explain_is_byte_identical_on_unrelated_databases(tmp_path: Path) -> None:
    one = Curator(clinic.home(tmp_path / "a"))
    two = Curator(clinic.home(tmp_path / "b", clinic.visits(3, seed=9)))
    none = Curator(clinic.home(tmp_path / "c", clinic.table([])))
    one.query(COUNT, epsilon=1)
    for sql in [q for q in QUESTIONS if "LEAST(cost" not in q]:
        texts = {str(curator.explain(sql, epsilon=1)) for curator in (one, two, none)}
        assert len(texts) == 1


BAIT: list[tuple[object, ...]] = [
    (999, "north", "9" * 400, float("nan"), clinic.START, True),
    (999, "north", "1e999", float("inf"), clinic.START, None),
    (999, None, None, None, None, None),
    (999, "south'; DROP TABLE", "\x00", -1e308, clinic.START, False),
    (999, "east", "0", 7.0, clinic.START, True),
    (999, "east", "2147483648", 5e-324, clinic.START, True),
    *[(999, "north", "x" * 10_000, 1e308, clinic.START, True)] * 300,
]


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two homes, in one of which there is the bait."""
    folder, without = tmp_path_factory.mktemp("bait"), [tuple(row.values()) for row in clinic.visits(30).to_pylist()]
    named = (("a", without), ("b", without + BAIT))
    return [clinic.home(folder / name, clinic.table(data), max_rows=10) for name, data in named]


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_neighbour_full_of_bait_changes_nothing_but_noise(neighbours: list[Path], sql: str) -> None:
    outcomes = []
    for home in neighbours:
        curator = Curator(home)
        try:
            answer = curator.query(sql, epsilon=5)
            seen: object = (
                answer.columns,
                answer.types,
                [row[:1] for row in answer.rows if isinstance(row[0], str)],
                len(answer.rows),
                answer.cost,
            )
        except (Refusal, Fault) as said:
            seen = (type(said), str(said))
        kinds = [entry.event.kind for entry in SqliteLedger(home / "ledger.db").entries()]
        outcomes.append((seen, kinds, str(curator.explain(sql, epsilon=5)) if not isinstance(seen[0], type) else ""))  # type: ignore[index]
    assert outcomes[0] == outcomes[1]


def test_after_the_spend_errors_are_one_constant_sentence(home: Path) -> None:
    curator = Curator(home)
    (home / "tables" / "visits.1.duckdb").write_bytes(b"not a database")
    with pytest.raises((Fault, Refusal)) as said:
        Curator(home).query(COUNT, epsilon=1)
    assert said.value.__cause__ is None
    if isinstance(said.value, Fault):
        assert str(said.value) == Fault.SENTENCE
        assert curator.budget("patient").spent == Approximate(1)  # a crash after the spend leaves it spent


def test_a_curator_takes_no_other_randomness(home: Path) -> None:
    with pytest.raises(Refusal, match="operating system"):
        Curator(home, rng=Seeded(1))


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 6), marks=pytest.mark.slow)], ids=str)
def test_one_unit_moves_the_statistics_by_no_more_than_their_reach(tmp_path: Path, seeds: range) -> None:
    sql = (
        "SELECT region, diagnosis, count(*), sum(cost), avg(cost), variance(cost), count(DISTINCT patient) "
        "FROM visits GROUP BY 1, 2"
    )
    for seed in seeds:
        rng = random.Random(seed)
        rows = [tuple(row.values()) for row in clinic.visits(20, seed=seed).to_pylist()]
        other = [
            (
                777,
                rng.choice(clinic.REGIONS),
                f"d{rng.randrange(6)}",
                rng.choice([0.0, 1000.0, 1e9, -5.0, None, 333.33]),
                clinic.START,
                True,
            )
            for _ in range(rng.choice([1, 5, 40]))
        ]
        folder = clinic.home(tmp_path / str(seed), clinic.table(rows), max_rows=7, max_groups=4)
        more = clinic.home(tmp_path / f"{seed}+", clinic.table(rows + other), max_rows=7, max_groups=4)
        _same_salt(folder, more)
        measurement = question(sql, Curator(folder)._catalogue.schema).parts[0].measurement
        one, two = DuckStore(folder / "tables").counted(measurement), DuckStore(more / "tables").counted(measurement)
        groups = set(one.values) | set(two.values)
        empty = (0,) * len(measurement.statistics)
        for i, statistic in enumerate(measurement.statistics):
            moved = sum(abs(two.values.get(g, empty)[i] - one.values.get(g, empty)[i]) for g in groups)
            assert moved <= reach(statistic, measurement)  # type: ignore[arg-type]
        assert sum(two.units.get(g, 0) != one.units.get(g, 0) for g in groups) <= 4


def _same_salt(one: Path, two: Path) -> None:
    """Neighbours share their salt: it is drawn independently of the rows."""
    with duckdb.connect(str(one / "tables" / "visits.1.duckdb")) as connection:
        salt = connection.execute("SELECT salt FROM salt").fetchall()[0][0]
    with duckdb.connect(str(two / "tables" / "visits.1.duckdb")) as connection:
        connection.execute("UPDATE salt SET salt = ?", [salt])
