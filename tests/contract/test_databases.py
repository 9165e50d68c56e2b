"""What every database does, whether its home is here or behind an HTTP door: one suite, run over both."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import clinic
import pytest
from server.served import served

import discreet as dp
from discreet.client import Connection, Database, Home
from discreet.curator.custody import Custody
from discreet.errors import OverBudget, Refusal
from discreet.exact import Number
from discreet.ledger.verify import pin
from discreet.mechanisms import Above, Below, SparseVector
from discreet.privacy import Approximate
from discreet.release.folder import checked, digest

SQL = "SELECT region, count(*) AS n, sum(cost) AS s FROM visits GROUP BY region"
SHARES = {"kind": "ranges", "columns": ["cost"], "bins": {"cost": 10}, "epsilon": "0.5"}
OF_CUSTODIANS = {
    "add", "add_user", "bounds", "caps", "lift", "remove", "require_price", "retire", "revoke_user", "run", "update",
    "users",
}  # fmt: skip


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.fixture(scope="module", params=[Home, Connection])
def db(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A database of each kind, whose home is its own, opened by a custodian."""
    home = clinic.home(tmp_path_factory.mktemp("database") / "home", epsilon=1000)
    if request.param is Home:
        yield dp.open(home)
        return
    token = Custody(home).let_in("cleo", "custodian")
    with served(home, "--rate", "1000") as server:
        yield dp.connect(server.url, token)


def test_a_question_is_paid_once(db: Database) -> None:
    before = db.budget("patient").spent.amount
    paid = db.query(SQL, epsilon="0.5")
    assert paid.cost == Approximate(Fraction(1, 2))
    assert db.budget("patient").spent.amount == before + Fraction(1, 2)
    again = db.query(SQL, epsilon="0.5")
    assert (again.rows, again.entry, again.cost) == (paid.rows, paid.entry, None)
    assert db.query(SQL, epsilon="0.5", fresh=True).rows != paid.rows
    assert db.budget("patient").spent.amount == before + 1


def test_every_term_of_a_question_is_heard(db: Database) -> None:
    wide = db.query(SQL, epsilon="0.5", confidence="0.5")
    assert wide.intervals("0.5") == wide.spans
    count = "SELECT count(*) AS n FROM visits WHERE urgent"
    assert db.explain(count, error=7).price == db.query(count, error=7).cost
    diagnoses = "SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis"
    assert db.query(diagnoses, epsilon=1, delta="1e-6").cost == Approximate(1, Fraction(1, 10**6))
    with pytest.raises(Refusal, match="delta"):
        db.query(diagnoses, epsilon=1, delta=0)  # none at all, and not the usual one
    assert db.explain(count, epsilon=1, max_rows=1).error < db.explain(count, epsilon=1, max_rows=9).error
    one, three = (db.explain(diagnoses, epsilon=1, max_groups=groups).notices for groups in (1, 3))
    assert one != three
    with pytest.raises(Refusal, match="kept in epsilon"):
        db.query(count, rho=1)
    left = db.budget("patient").left
    with pytest.raises(OverBudget):
        db.query("SELECT count(*) + 1 AS n FROM visits WHERE cost < 3", epsilon=5000)
    assert db.budget("patient").left == left


@pytest.mark.parametrize("price", [0.1, "0.1", "1/10", Fraction(1, 10)])
def test_a_price_is_read_exactly_in_whatever_form(db: Database, price: Number) -> None:
    assert db.explain(SQL, epsilon=price).price == Approximate(Fraction(1, 10))


@pytest.mark.parametrize("ask", ["query", "explain", "describe", "offer", "publish"])
def test_a_word_that_is_none_is_named(db: Database, ask: str) -> None:
    known = SHARES if ask in ("offer", "publish") else {}
    spent = db.budget("patient").spent
    with pytest.raises(TypeError, match="epsilom"):
        getattr(db, ask)("SELECT cost FROM visits", **known, epsilom=1)
    assert db.budget("patient").spent == spent


def test_what_is_declared_can_be_seen(db: Database) -> None:
    [table] = db.tables()
    assert (table.name, table.unit, table.max_rows) == ("visits", "patient", 50)
    assert db.describe(SQL) == (("region", "varchar"), ("n", "bigint"), ("s", "double"))
    assert db.describe(SQL, max_rows=1, max_groups=1) == db.describe(SQL)
    assert db.populations() == ["patient"]
    assert db.budget("patient").total == Approximate(1000, Fraction(1, 1000))
    with pytest.raises(Refusal, match=r"there is no population 'nobody'.*there are \['patient'\]"):
        db.budget("nobody")


def test_what_was_paid_is_in_the_history_and_proved(db: Database) -> None:
    paid = db.query("SELECT count(*) AS n FROM visits WHERE cost > 7", epsilon="0.25")
    latest = db.history()[0]
    assert (latest.sql, latest.loss, latest.answer) == (
        "SELECT count(*) AS n FROM visits WHERE cost > 7", paid.cost, int(paid.entry),
    )  # fmt: skip
    assert db.history(everybody=True)[0] == latest
    head = db.head()
    for entry in (latest.entry, int(paid.entry)):
        proof = db.proof(entry)
        assert proof.entry.number == entry
        assert not proof.faults(pin(head))
    with pytest.raises(Refusal):
        db.proof(10**6)


def test_a_release_is_offered_made_and_certified(db: Database, tmp_path: Path) -> None:
    offer = db.offer("visits", kind="ranges", columns=["cost"], bins={"cost": 10}, epsilon="0.5")
    assert (offer.price, offer.left, offer.entry) == (Approximate("0.5"), db.budget("patient").left, None)
    made = db.publish("visits", kind="ranges", columns=["cost"], bins={"cost": 10}, epsilon="0.5", name="costs")
    assert (made.name, made.loss) == ("costs", offer.price)
    assert db.publish("visits", kind="ranges", columns=["cost"], bins={"cost": 10}, epsilon="0.5") == made
    assert db.releases() == [made]
    assert digest(db.release(made.entry).to_json().encode()) == made.digest
    certificate = db.certified(made.entry, tmp_path / "out")
    assert certificate.title == "costs"
    assert checked(tmp_path / "out")
    with pytest.raises(Refusal, match="no release 9999"):
        db.release(9999)
    with pytest.raises(Refusal, match="one of epsilon and rho"):
        db.publish("visits", kind="ranges", columns=["cost"])


@pytest.mark.parametrize("sql", ["SELECT * FROM visits", "SELECT count(*) FROM nowhere", "DROP TABLE visits", ""])
def test_what_is_refused_is_refused_in_the_same_words_before_it_is_paid(db: Database, sql: str) -> None:
    spent, said = db.budget("patient").spent, set()
    for ask in (db.query, db.explain, db.describe):
        with pytest.raises(Refusal) as refused:
            ask(sql)
        said.add(str(refused.value))
    assert len(said) == 1
    assert db.budget("patient").spent == spent


def test_it_has_the_methods_of_every_database_and_no_other_names(db: Database) -> None:
    more = OF_CUSTODIANS if isinstance(db, Home) else set()
    assert public(type(db)) == public(Database) | more
    assert [name for name in vars(db) if not name.startswith("_")] == []
    for name in public(Database):
        own, wanted = (inspect.signature(getattr(kind, name)) for kind in (type(db), Database))
        if name == "run":  # at home it takes a mechanism that is a value as well
            assert {part.name: (part.kind, part.default) for part in own.parameters.values()} == {
                part.name: (part.kind, part.default) for part in wanted.parameters.values()
            }
        else:
            assert own == wanted, name
        assert inspect.getdoc(getattr(type(db), name))


def test_what_is_refused_reads_alike_at_home_and_through_a_door(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home")
    said = []
    with served(home, "--rate", "1000") as server:
        for db in (dp.open(home), dp.connect(server.url, Custody(home).let_in("cleo", "custodian"))):
            for sql in ("SELECT * FROM visits", "SELECT avg(note) FROM visits", "SELECT count(*) FROM visitz"):
                with pytest.raises(Refusal) as refused:
                    db.query(sql)
                said.append((sql, str(refused.value), refused.value.place, refused.value.repair))
    assert said[:3] == said[3:]


def test_a_session_is_paid_once_and_asked_until_it_is_closed(db: Database) -> None:
    before, people = db.budget("patient").spent.amount, "SELECT count(DISTINCT patient) FROM visits"
    session = db.open_session(SparseVector.of(100, 90, 2, sensitivity=50), "visits")
    assert [session.ask(people), session.ask(clinic.COUNT)] == [Below(), Above()]
    assert db.session(session.entry).ask(clinic.COUNT, number=2) == Above()
    assert db.session(session.entry).answers == (Below(), Above())
    assert db.budget("patient").spent.amount == before + 100
    assert session.told == [{"above": False}, {"above": True}]
    assert db.sessions()[0] == session.status
    session.close()
    assert session.closed.startswith("closed by ")
    with pytest.raises(OverBudget, match="is closed: closed by "):
        session.ask(people)


def test_remedies_are_said_in_python(tmp_path: Path) -> None:
    db, rows = dp.create(tmp_path / "home"), tmp_path / "Visits 2025.csv"
    rows.write_text("Patient Id,Cost EUR\nP1,3.5\nP2,\n")
    with pytest.raises(Refusal) as refused:
        db.add("Visits", rows, unit="Patient Id", epsilon=3)
    types = {"Patient Id": "varchar", "Cost EUR": "double"}
    assert refused.value.hint.endswith(f"types={types}")
    with pytest.raises(Refusal, match=r"for example epsilon=3 delta=1e-8$"):
        db.add("Visits", rows, unit="Patient Id", types=types)
    db.add("Visits", rows, unit="Patient Id", epsilon=3, types=types)
    with pytest.raises(Refusal, match=r"bring new rows with update\(\)$"):
        db.add("Visits", rows, unit="Patient Id", types=types)
    with pytest.raises(
        Refusal, match=r"declare it with max_rows on table 'Visits', or pass max_rows= for this question$"
    ):
        db.query("SELECT count(*) FROM visits")
    assert db.query("SELECT count(*) FROM visits", epsilon=1, max_rows=1).columns == ("count",)
    assert str(db.budget("Patient Id")) == "Pure(epsilon=1) of Pure(epsilon=3) is spent"


def test_a_stream_is_paid_once_and_pushed_until_it_is_closed(db: Database) -> None:
    before = db.budget("patient").spent.amount
    said: dict[str, Any] = {"unit": "patient", "horizon": 9, "events": 2, "by": {"region": ["north", "south"]}}
    stream = db.open_stream("live", **said, epsilon="100.5")
    first = stream.push({"patient": [1, 1, 2, None], "region": ["north", "south", "north", "north"]})
    assert (first.step, set(first.by), first.count == sum(first.by.values())) == (1, {"north", "south"}, True)
    assert abs(first.count - 3) <= 2 * first.error
    assert stream.push({"patient": [], "region": []}, step=2) == stream.push({"patient": [], "region": []}, step=2)
    with pytest.raises(Refusal, match="step 2 is not the next"):
        stream.push({"patient": [4], "region": ["north"]}, step=2)
    assert db.stream("live").counts == stream.counts
    assert [each.step for each in stream.counts] == [1, 2]
    assert db.streams()[0] == stream.standing
    assert (stream.standing.unit, stream.standing.horizon) == ("patient", 9)
    assert db.budget("patient").spent.amount == before + Fraction("100.5")
    assert "<polyline" in stream.plot().wide
    both = stream.window(0, 2)
    assert (both.count, both.by) == (stream.counts[1].count, stream.counts[1].by)
    second = stream.window(1, 2)
    assert second.count == stream.counts[1].count - first.count
    assert second.top(1)[0][1] == max(second.by.values())
    assert stream.windows(1) == (stream.window(0, 1), second)
    assert stream.windows(2, 2) == (both,)
    assert second.top_error >= second.key_error
    assert {each.bounding for each in (first, both, second, *stream.counts)} == {stream.bounding}
    assert "Rows in which patient is NULL or no bigint are left out." in stream.bounding
    assert "<polyline" in stream.plot(window=1).wide
    with pytest.raises(Refusal, match="start < stop <= 2"):
        stream.window(1, 3)
    stream.close()
    assert stream.closed.startswith("closed by ")
    with pytest.raises(OverBudget, match="is closed: closed by "):
        stream.push({"patient": [], "region": []})
    sums = db.open_stream("money", unit="row", horizon=4, sums={"cost": (0, 10)}, steps={"cost": "0.5"}, epsilon=100)
    assert sums.push({"cost": [1.2, 99.0]}).count % Fraction(1, 2) == 0
    ages = db.open_stream("ages", unit="patient", horizon=4, bins={"age": [0, "18.5", 65]}, epsilon=100)
    assert set(ages.push({"patient": [1, 2], "age": [3, 40]}).by) == {"[0, 18.5)", "[18.5, 65)"}
    with pytest.raises(Refusal, match="there is no stream 'other'"):
        db.stream("other")
