"""The curator: pays before it reads, never twice for one answer, and says nothing that depends on a row but for noise."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import clinic
import numpy as np
import pytest

from discreet.curator import Curator, Terms
from discreet.curator.custody import Custody, Declared, found_home
from discreet.curator.measure import measure
from discreet.curator.price import priced
from discreet.engines import Counted, DuckStore
from discreet.errors import Fault, OverBudget, Refusal
from discreet.ledger import Answer, Spend, SqliteLedger, verify
from discreet.privacy import AddRemove, Approximate, Concentrated, Pure
from discreet.sql.split import question

COUNT = "SELECT count(*) AS n FROM visits"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=2)


# paying ---------------------------------------------------------------------------------------------------------------


def test_a_price_is_spent_exactly_and_the_same_question_is_free(home: Path) -> None:
    curator = Curator(home)
    first = curator.query(COUNT, epsilon="0.5")
    again = Curator(home).query("select COUNT(*) from visits", epsilon="0.3")
    assert first.cost == Approximate("0.5")
    assert again.cost is None
    assert again.rows == first.rows
    assert curator.budget("patient").spent == Approximate("0.5")
    more = curator.query(COUNT, epsilon="0.6")  # more exact than what is stored: a new purchase
    assert more.cost == Approximate("0.6")
    fresh = curator.query(COUNT, epsilon="0.1", fresh=True)
    assert fresh.cost == Approximate("0.1")
    assert curator.budget("patient").spent == Approximate("1.2")


def test_a_stored_answer_keeps_the_error_bars_it_was_bought_with(home: Path) -> None:
    curator = Curator(home)
    bought = curator.query(COUNT, epsilon=1).intervals()[0][0]
    again = curator.query(COUNT, epsilon="0.1").intervals()[0][0]
    assert bought is not None
    assert again == bought


def test_an_unaffordable_question_charges_nothing_and_within_uses_the_rest(home: Path) -> None:
    curator = Curator(home)
    with pytest.raises(OverBudget):
        curator.query(COUNT, epsilon="2.5")
    assert curator.budget("patient").spent == Approximate(0)
    assert curator.query(COUNT, epsilon="2.5", within=True).cost == Approximate(2)
    with pytest.raises(OverBudget):
        curator.query("SELECT sum(cost) FROM visits", epsilon="0.1", within=True)


def test_no_price_named_takes_the_default_and_says_so(home: Path) -> None:
    curator = Curator(home)
    assert curator.explain(COUNT).price == Approximate(Fraction(2, 50))
    assert "no price was named" in curator.explain(COUNT).notice
    assert curator.explain(COUNT, epsilon=1).notice == ""


def test_the_error_asked_for_is_met_by_the_cheapest_price(home: Path) -> None:
    curator = Curator(home)
    found = curator.explain("SELECT region, count(*) FROM visits GROUP BY region", error=200)
    (error,) = [value for _, value in found.error]
    assert error is not None
    assert error <= 200
    cheaper = curator.explain("SELECT region, count(*) FROM visits GROUP BY region", epsilon=found.price.epsilon * Fraction(99, 100))  # type: ignore[union-attr]
    assert cheaper.error[0][1] is not None
    assert cheaper.error[0][1] > 200
    with pytest.raises(Refusal, match="depends on the data"):
        curator.explain("SELECT avg(cost) FROM visits", error=1)


@pytest.mark.parametrize(
    ("terms", "complaint"),
    [
        ({"epsilon": 0}, "epsilon=0"),
        ({"epsilon": -1}, "epsilon=-1"),
        ({"epsilon": float("nan")}, "nan"),
        ({"rho": 1}, "kept in epsilon"),
        ({"epsilon": 1, "confidence": 1}, "confidence=1"),
        ({"epsilon": 1, "delta": 2}, "delta=2"),
        ({"error": 0}, "error=0"),
    ],
)
def test_nonsense_is_refused_by_value_and_charges_nothing(
    home: Path, terms: dict[str, object], complaint: str
) -> None:
    curator = Curator(home)
    sql = "SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis"
    with pytest.raises(Refusal, match=complaint):
        curator.query(sql, **terms)
    assert SqliteLedger(home / "ledger.db").books().size == 2  # the budget and the data set


def test_naming_groups_spends_delta_only_then(home: Path) -> None:
    curator = Curator(home)
    curator.query("SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis", epsilon=1)
    assert curator.budget("patient").spent == Approximate(1, Fraction(1, 1000) / 1000)


def test_without_delta_only_declared_keys_are_grouped(tmp_path: Path) -> None:
    curator = Curator(clinic.home(tmp_path / "home", delta=None))
    assert len(curator.query("SELECT region, count(*) FROM visits GROUP BY region", epsilon=1).rows) == 3
    assert curator.query(COUNT, epsilon=1).cost == Pure(1)
    with pytest.raises(Refusal, match="needs a delta"):
        curator.query("SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis", epsilon=1)


def test_a_budget_in_rho_is_asked_in_rho(tmp_path: Path) -> None:
    curator = Curator(clinic.home(tmp_path / "home", epsilon=None, rho=5))
    found = curator.query("SELECT region, count(*), avg(cost), median(cost) FROM visits GROUP BY region", rho=1)
    assert found.cost == Concentrated(1)
    assert curator.query("SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis", rho=1).cost == Concentrated(1, "1e-6")
    with pytest.raises(Refusal, match="kept in rho"):
        curator.query(COUNT, epsilon=1)


def test_grants_limit_tables_and_allowances(home: Path) -> None:
    Custody(home).let_in("ada", "analyst", allowance="0.5", tables=["visits"])
    Custody(home).let_in("bob", "analyst", tables=[])
    ada = Curator(home, principal="ada")
    ada.query(COUNT, epsilon="0.4")
    with pytest.raises(OverBudget):
        ada.query("SELECT sum(cost) FROM visits", epsilon="0.2")
    with pytest.raises(Refusal, match="may not ask about table 'visits'"):
        Curator(home, principal="bob").query(COUNT)


# the noise ------------------------------------------------------------------------------------------------------------


class Fixed:
    """An engine that always finds the same: a test double for what is read, not for the noise."""

    def __init__(self, counted: Counted) -> None:
        self._counted = counted

    def counted(self, _: object, /) -> Counted:
        return self._counted

    def ranked(self, _: object, __: object, /) -> dict[tuple[object, ...], dict[int, int]]:
        return {}


@pytest.mark.parametrize("loss", [Pure(1), Concentrated(Fraction(1, 2))])
def test_noise_has_the_theoretical_size_at_the_split(loss: Pure | Concentrated) -> None:
    parts = question("SELECT count(*), sum(cost), avg(cost) FROM visits", clinic.schema()).parts
    (price,) = priced(parts, loss, AddRemove("patient"))
    engine = Fixed(Counted({(): 0}, {(): (0,) * 4}))
    draws = np.array([measure(price, engine).values[0] for _ in range(6000)], dtype=float)
    for column, charge in zip(draws.T, price.charges, strict=True):
        mechanism = charge.mechanism
        scale = float(getattr(mechanism, "scale", 0)) * 2**0.5 or float(getattr(mechanism, "variance", 0)) ** 0.5
        # the relative standard error of a standard deviation over 6000 draws is below 0.015; 5 % is over three of them
        assert column.std() == pytest.approx(scale, rel=0.05)
    shares = [float(charge.mechanism.privacy.epsilon if isinstance(loss, Pure) else charge.mechanism.privacy.rho) for charge in price.charges]  # type: ignore[union-attr]
    assert sum(shares) == pytest.approx(1 if isinstance(loss, Pure) else 0.5)


def test_intervals_cover_what_they_promise() -> None:
    parts = question("SELECT count(*), sum(cost), avg(cost) FROM visits", clinic.schema()).parts
    (price,) = priced(parts, Pure(2), AddRemove("patient"))
    truth = (3000, 3000, 2_000_000, 140_000_000)  # rows, total, present, centred in the order of the statistics
    order = [getattr(s, "kind", "") for s in price.part.measurement.statistics]
    values = dict(zip(["rows", "present", "centred", "total"], truth, strict=True))
    engine = Fixed(Counted({(): 1}, {(): tuple(values[kind] for kind in order)}))
    from discreet.curator.estimate import estimates

    inside = np.zeros(3)
    runs = 2000
    mean = 500 + 2_000_000 / 3000 / 100
    for _ in range(runs):
        found = estimates(price, measure(price, engine).values[0], Fraction(9, 10))
        for i, true in enumerate([3000, 1_400_000, mean]):
            span = found[i].span
            assert span is not None
            inside[i] += span[0] <= true <= span[1]
    assert (inside / runs >= 0.9 - 2 * (0.9 * 0.1 / runs) ** 0.5).all()


# nothing else leaves --------------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_neighbour_full_of_bait_changes_nothing_but_noise(tmp_path: Path, sql: str) -> None:
    rows = clinic.visits(30)
    without = [tuple(row.values()) for row in rows.to_pylist()]
    outcomes = []
    for name, data in (("a", without), ("b", without + BAIT)):
        curator = Curator(clinic.home(tmp_path / name, clinic.table(data), max_rows=10))
        try:
            answer = curator.query(sql, epsilon=5)
            seen: object = (answer.columns, answer.types, [row[:1] for row in answer.rows if isinstance(row[0], str)], len(answer.rows), answer.cost)
        except (Refusal, Fault) as said:
            seen = (type(said), str(said))
        kinds = [entry.event.kind for entry in SqliteLedger(tmp_path / name / "ledger.db").entries()]
        outcomes.append((seen, kinds, str(curator.explain(sql, epsilon=5)) if not isinstance(seen[0], type) else ""))  # type: ignore[index]
    assert outcomes[0] == outcomes[1]


def test_after_the_spend_errors_are_one_constant_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curator = Curator(home)
    (home / "tables" / "visits.1.duckdb").write_bytes(b"not a database")
    with pytest.raises((Fault, Refusal)) as said:
        Curator(home).query(COUNT, epsilon=1)
    assert said.value.__cause__ is None
    if isinstance(said.value, Fault):
        assert str(said.value) == Fault.SENTENCE
        assert curator.budget("patient").spent == Approximate(1)  # a crash after the spend leaves it spent


def test_a_curator_takes_no_other_randomness(home: Path) -> None:
    from doubles import Seeded

    with pytest.raises(Refusal, match="operating system"):
        Curator(home, rng=Seeded(1))


def test_one_unit_moves_the_statistics_by_no_more_than_their_reach(tmp_path: Path) -> None:
    from discreet.curator.price import reach

    sql = "SELECT region, diagnosis, count(*), sum(cost), avg(cost), variance(cost), count(DISTINCT patient) FROM visits GROUP BY 1, 2"
    for seed in range(6):
        rng = random.Random(seed)
        rows = [tuple(row.values()) for row in clinic.visits(20, seed=seed).to_pylist()]
        other = [
            (777, rng.choice(clinic.REGIONS), f"d{rng.randrange(6)}", rng.choice([0.0, 1000.0, 1e9, -5.0, None, 333.33]), clinic.START, True)
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
    import duckdb

    with duckdb.connect(str(one / "tables" / "visits.1.duckdb")) as connection:
        salt = connection.execute("SELECT salt FROM salt").fetchall()[0][0]
    with duckdb.connect(str(two / "tables" / "visits.1.duckdb")) as connection:
        connection.execute("UPDATE salt SET salt = ?", [salt])


# many at once, and killed ---------------------------------------------------------------------------------------------


def test_many_threads_share_one_budget(home: Path) -> None:
    curator, refused = Curator(home), []

    def ask(i: int) -> None:
        try:
            curator.query(f"SELECT count(*) FROM visits WHERE cost > {i}", epsilon="0.1")
        except OverBudget:
            refused.append(i)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert curator.budget("patient").spent == Approximate(2)
    assert len(refused) == 44


ASKER = """
import sys
from pathlib import Path
from discreet.curator import Curator
from discreet.errors import OverBudget
curator = Curator(Path(sys.argv[1]))
for i in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[3])):
    try:
        print(i, curator.query(f"SELECT count(*) FROM visits WHERE cost > {i}", epsilon="0.1").rows[0][0], flush=True)
    except OverBudget:
        print(i, "over", flush=True)
"""


def test_four_processes_share_one_budget(home: Path) -> None:
    commands = [[sys.executable, "-c", ASKER, str(home), str(100 * i), "8"] for i in range(4)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    said = [line for process in running for line in process.communicate()[0].splitlines()]
    assert len(said) == 32
    assert sum(line.endswith("over") for line in said) == 12
    assert Curator(home).budget("patient").spent == Approximate(2)


@pytest.mark.parametrize("rounds", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_killed_askers_never_get_a_second_draw_for_one_payment(tmp_path: Path, rounds: int) -> None:
    home = clinic.home(tmp_path / "home", epsilon=10**6)
    pause, said = random.Random(rounds), {}
    for i in range(rounds):
        command = [sys.executable, "-c", ASKER, str(home), str(1000 * i), "500"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline()]
            time.sleep(pause.uniform(0, 0.1))
            os.kill(process.pid, signal.SIGKILL)
            lines += [line for line in process.stdout.read().split("\n")[:-1] if line]
        said.update(tuple(map(int, line.split())) for line in lines)  # type: ignore[misc]
    ledger = SqliteLedger(home / "ledger.db")
    assert verify(ledger.rows()).holds
    events = [entry.event for entry in ledger.entries()]
    spends = [event for event in events if isinstance(event, Spend)]
    answers = [event for event in events if isinstance(event, Answer)]
    assert len({answer.spend for answer in answers}) == len(answers)
    assert len(said) <= len(answers) <= len(spends)  # whatever was said was recorded, whatever was recorded was paid
    assert Curator(home).budget("patient").spent == len(spends) * Approximate("0.1")
    curator = Curator(home)
    for i, value in list(said.items())[:20]:  # what was said once is said again, free
        again = curator.query(f"SELECT count(*) FROM visits WHERE cost > {i}", epsilon="0.1")
        assert (again.cost, again.rows[0][0]) == (None, value)


# custody --------------------------------------------------------------------------------------------------------------


def test_update_and_remove_never_refill_a_budget(home: Path) -> None:
    Curator(home).query(COUNT, epsilon=1)
    Custody(home).update("visits", clinic.visits(10, seed=3))
    curator = Curator(home)
    assert curator.budget("patient").spent == Approximate(1)
    assert curator.query(COUNT, epsilon="0.5").cost == Approximate("0.5")  # other rows: another question
    Custody(home).remove("visits")
    Custody(home).add("visits", clinic.visits(10), clinic.declared(epsilon=2))
    assert Curator(home).budget("patient").spent == Approximate("1.5")
    with pytest.raises(Refusal, match="another budget"):
        Custody(home).add("more", clinic.visits(10), clinic.declared(epsilon=3))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"unit": "nobody"}, "no column 'nobody'"),
        ({"unit": None}, "--unit"),
        ({"epsilon": 0}, "epsilon=0"),
        ({"epsilon": None}, "epsilon or rho"),
        ({"delta": 1}, "delta=1"),
        ({"bounds": {"cost": (5, 5)}}, "low < high"),
        ({"bounds": {"region": (0, 1)}}, "only numbers"),
        ({"bounds": {"weight": (0, 1)}}, "no column 'weight'"),
        ({"keys": {"region": ["a", "a"]}}, "twice"),
        ({"types": {"cost": "money"}}, "no type 'money'"),
    ],
)
def test_wrong_declarations_are_refused_with_the_option_to_use(
    tmp_path: Path, changes: dict[str, object], complaint: str
) -> None:
    found_home(tmp_path / "home")
    with pytest.raises(Refusal, match=complaint):
        Custody(tmp_path / "home").add("visits", clinic.visits(5), clinic.declared(**changes))
    assert SqliteLedger(tmp_path / "home" / "ledger.db").books().size == 0


def test_csv_types_must_be_declared_and_the_proposal_works(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("id,age,name\n1,40,ann\n2,x,bob\n,50,cy\n", encoding="utf-8")
    found_home(tmp_path / "home")
    custody = Custody(tmp_path / "home")
    said = Declared(unit="id", epsilon=1000, max_rows=1, bounds={"age": (0, 100)})
    with pytest.raises(Refusal, match="--types id=bigint"):
        custody.add("people", path, said)
    types = {"id": "bigint", "age": "bigint", "name": "varchar"}
    custody.add("people", path, Declared(unit="id", epsilon=1000, max_rows=1, bounds={"age": (0, 100)}, types=types))
    found = Curator(tmp_path / "home").query("SELECT count(*), sum(age) FROM people", epsilon=900)
    assert abs(found.rows[0][0] - 2) <= 1  # type: ignore[operator]  # the row without a unit is dropped, 'x' is NULL
    assert abs(found.rows[0][1] - 40) <= 1  # type: ignore[operator]


def test_the_home_is_its_owner_s_alone(home: Path) -> None:
    Curator(home).query(COUNT, epsilon=1)
    for path in [home, *home.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path.name


def test_public_tables_are_free_and_join_with_answers(home: Path) -> None:
    import pyarrow as pa

    wards = pa.table({"region": ["north", "south", "east"], "beds": [10, 20, 30]})
    Custody(home).add("wards", wards, Declared(public=True))
    curator = Curator(home)
    assert curator.query("SELECT sum(beds) FROM wards").cost is None
    found = curator.query(
        "SELECT w.region, n / beds FROM (SELECT region, count(*) AS n FROM visits GROUP BY region) v "
        "JOIN wards w ON w.region = v.region ORDER BY 1",
        epsilon=1,
    )
    assert [row[0] for row in found.rows] == ["east", "north", "south"]


def test_answers_travel_as_arrow_and_frames(home: Path) -> None:
    found = Curator(home).query("SELECT region, count(*) AS n, avg(cost) AS a FROM visits GROUP BY region", epsilon=1)
    assert [str(field.type) for field in found.to_arrow().schema] == ["string", "int64", "double"]
    assert list(found.to_pandas().columns) == ["region", "n", "a"]
    assert found.to_polars().shape == (3, 3)
    assert len(found.plot().axes[0].patches) == 3
    assert "bounds" in found.bounding


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("version = 1\n[table.x\n", "line 2"),
        ("version = 2\n", "version = 1"),
        ("version = 1\n[tabel.x]\n", "tabel"),
        ('version = 1\n[table.x]\nunit = "row"\n', "population"),
        ('version = 1\n[table.x]\npopulation = "p"\nunit = "row"\n', "not declared"),
        ('version = 1\n[population.p]\nepsilon = "-1"\n', "epsilon=-1"),
    ],
)
def test_bad_toml_is_refused_with_its_place(home: Path, text: str, complaint: str) -> None:
    (home / "discreet.toml").write_text(text, encoding="utf-8")
    with pytest.raises(Refusal, match=complaint):
        Curator(home)


def test_what_is_stored_of_an_answer_is_what_was_said(home: Path) -> None:
    found = Curator(home).query("SELECT region, count(*) FROM visits GROUP BY region", epsilon=1)
    stored = [e.event for e in SqliteLedger(home / "ledger.db").entries() if isinstance(e.event, Answer)][0].answer
    assert isinstance(stored, dict)
    pairs = zip(stored["groups"], stored["values"], strict=True)  # type: ignore[arg-type]
    assert {(group[0], int(value[0])) for group, value in pairs} == set(found.rows)  # type: ignore[index,arg-type]
    assert json.dumps(stored)
    assert Terms().confidence == Fraction(95, 100)
