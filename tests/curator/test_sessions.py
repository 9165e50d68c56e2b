"""Sessions through the curator: paid whole, sealed before they are told, closed in the ledger, silent about rows."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import Any

import clinic
import hospital
import pyarrow.compute as pc
import pytest
from curator.sessions import ALL, DEAR, PEOPLE, SURE, UNANSWERED, events, opened, sessions, spent
from doubles import Seeded

from discreet.curator import Curator
from discreet.curator import paid_mechanism as sessions_room
from discreet.curator.custody import Custody, Declared
from discreet.engines import DuckStore
from discreet.errors import Fault, OverBudget, Refusal
from discreet.ledger import Spend, SqliteLedger, StoredAnswer, adopt, verify
from discreet.mechanisms import Above, Below, Laplace, RefreshedSparseVector, SparseVector
from discreet.mechanisms.session import Session
from discreet.mechanisms.sparse import SparseState
from discreet.noise import Entropy
from discreet.privacy import AddRemove, Approximate, Concentrated, Replace, convert


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=10**12)


# paying ---------------------------------------------------------------------------------------------------------------


def test_it_is_paid_whole_when_it_is_opened_and_never_again(home: Path) -> None:
    session = opened(home)
    assert spent(home) == 400
    assert [session.ask(ALL), session.ask(PEOPLE), session.ask(DEAR)] == [Above(), Below(), Below()]
    assert spent(home) == 400
    status = sessions(home).one(session.entry).status
    assert [str(each) for each in status.used] == ["1 hard answers of 2", "3 questions of 6"]
    assert (status.asked, status.closed, status.loss) == (3, "", Approximate(400))
    assert isinstance(events(home)[-1], Spend)


def test_the_last_hard_answer_closes_it_in_the_ledger_with_all_that_was_said(home: Path) -> None:
    session = opened(home)
    given = [session.ask(sql) for sql in (PEOPLE, ALL, ALL)]
    assert given == [Below(), Above(), Above()]
    with pytest.raises(OverBudget, match="2 hard answers of 2"):
        session.ask(PEOPLE)
    said = events(home)[-1]
    assert isinstance(said, StoredAnswer)
    assert said.spend == session.entry
    assert said.answer == {"closed": "it is used up", "answers": [{"above": each == Above()} for each in given]}
    assert sessions(home).one(session.entry).answers == tuple(given)
    assert [each.closed for each in sessions(home).all()] == ["it is used up"]
    assert verify(SqliteLedger(home / "ledger.db").rows()).holds


def test_what_does_not_fit_is_refused_and_draws_nothing(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", epsilon=5)
    before = events(home)
    with pytest.raises(OverBudget):
        opened(home)
    assert events(home) == before
    assert not [path for path in (home / "sessions").iterdir() if path.name.isdigit()]


@pytest.mark.parametrize(
    ("mechanism", "complaint"),
    [
        (Laplace.of(1), "no mechanism for a session"),
        (SparseVector.of(1, 5, neighbours=AddRemove("nurse")), "says nothing about one 'patient'"),
        (SparseVector.of(1, 5, neighbours=Replace()), "nothing about adding or removing"),
        (SparseVector(Fraction(1, 10**700), Fraction(1), 0), "too large"),
        (SparseVector.of(1, 5, 10**6), "too large"),
    ],
    ids=["answers once", "other unit", "replace", "digits", "room"],
)
def test_what_cannot_be_opened_is_refused_before_it_is_paid(home: Path, mechanism: Any, complaint: str) -> None:  # noqa: ANN401
    before = events(home)
    with pytest.raises(Refusal, match=complaint):
        opened(home, mechanism)
    assert events(home) == before


def test_tables_are_named_private_and_of_one_population(home: Path) -> None:
    Custody(home).add("wards", clinic.visits(1), Declared(public=True))
    Custody(home).add("others", clinic.visits(3), clinic.declared(population="others"))
    for names, complaint in [
        ((), "name at least one"),
        (("wards",), "name at least one"),
        (("nowhere",), "no table 'nowhere'"),
        (("visits", "others"), "about one population"),
    ]:
        with pytest.raises(Refusal, match=complaint):
            sessions(home).open(SURE, *names)
    session = opened(home)
    with pytest.raises(Refusal, match="is about visits, and this reads others"):
        session.ask("SELECT count(*) FROM others")
    assert session.status.asked == 0


def test_a_budget_for_replaced_people_pays_twice(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", relation="replace")
    opened(home, SparseVector.of(1, 5, sensitivity=50))
    assert spent(home) == 2
    opened(home, SparseVector.of(1, 5, sensitivity=50, neighbours=Replace()))
    assert spent(home) == 3


# what is answered ---------------------------------------------------------------------------------------------------


def test_the_value_is_the_plain_one(home: Path) -> None:
    """Where there is hardly any noise, a threshold at the exact number is reached, and one above it is not."""
    plain = hospital.plain({"visits": clinic.visits()}, {"visits": "patient"})
    for column in ("count(*)", "count(cost)", "count(DISTINCT patient)", "count(DISTINCT diagnosis)", "sum(cost)"):
        sql = f"SELECT {column} FROM visits WHERE cost > 100"
        true = int(plain.execute(sql).fetchall()[0][0])
        sure = SparseVector(Fraction(10**8), Fraction(10**8), true, 1, 10**5)
        above = replace(sure, threshold=true + 1)
        assert (opened(home, sure).ask(sql), opened(home, above).ask(sql)) == (Above(), Below()), sql


ASKED = [ALL, DEAR, PEOPLE, f"{ALL} WHERE urgent", "SELECT count(DISTINCT diagnosis) FROM visits"]
FORMS: list[SparseVector | RefreshedSparseVector] = [
    SparseVector.of(2, 60, 3, sensitivity=50, numeric=True, questions=5),
    RefreshedSparseVector(Fraction(2), 60, 3, Fraction(1, 10**6), 50, questions=5),
]


@pytest.mark.parametrize(
    "mechanism", [FORMS[0], pytest.param(FORMS[1], marks=pytest.mark.slow)], ids=["plain", "refreshed"]
)
def test_through_the_curator_it_is_the_mechanism_on_the_exact_numbers(
    home: Path,
    mechanism: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bit for bit, so that it has its law, which tests/mechanisms/test_sparse.py holds against its definition."""
    curator = Curator(home)
    exact = [int(str(curator.query(sql, epsilon=10**6).rows[0][0])) for sql in ASKED]
    transcripts = set()
    for seed in range(3):
        double(monkeypatch, Seeded(seed))
        session = opened(home, mechanism)
        for sql in ASKED:
            if not session.closed:
                session.ask(sql)
        assert session.answers == mechanism(exact, rng=Seeded(seed))
        transcripts.add(session.answers)
    assert len(transcripts) > 1


def double(patch: pytest.MonkeyPatch, rng: Entropy) -> None:
    """Sessions draw from a double: nothing in the package could hand them one."""
    patch.setattr(sessions_room, "Session", lambda *given, **named: Session(*given, **{**named, "rng": rng}))


# one answer for each question -----------------------------------------------------------------------------------------


def test_a_question_asked_again_by_its_number_is_answered_as_before(home: Path) -> None:
    session = opened(home)
    first = session.ask(ALL, number=1)
    state = (home / "sessions" / str(session.entry)).read_bytes()
    assert sessions(home).one(session.entry).ask(ALL, number=1) == first
    assert (home / "sessions" / str(session.entry)).read_bytes() == state
    for sql, number, rows in [(DEAR, 1, None), (ALL, 1, 7), (ALL, 3, None)]:
        with pytest.raises(Refusal, match=f"question {number} is not the next"):
            session.ask(sql, number=number, max_rows=rows)
    session.ask(PEOPLE, number=2)
    assert session.status.asked == 2


# what it is bound to --------------------------------------------------------------------------------------------------


def test_new_rows_close_it(home: Path) -> None:
    session = opened(home)
    session.ask(PEOPLE)
    Custody(home).update("visits", clinic.visits(9))
    for again in (session, sessions(home).one(session.entry)):
        with pytest.raises(OverBudget, match="closed: table 'visits' has new rows; open and pay for a new one"):
            again.ask(PEOPLE)
    assert session.answers == (Below(),)
    assert events(home)[-1].answer == {"closed": "table 'visits' has new rows", "answers": [{"above": False}]}
    assert isinstance(opened(home).ask(PEOPLE), Below)
    Custody(home).remove("visits")
    assert [each.closed for each in sessions(home).all()] == [
        "table 'visits' was removed",
        "table 'visits' has new rows",
    ]


def test_its_state_opens_for_no_other_payment(home: Path) -> None:
    first, second = opened(home), opened(home)
    folder = home / "sessions"
    (folder / str(first.entry)).replace(folder / str(second.entry))
    with pytest.raises(OverBudget, match="its state cannot be read"):
        sessions(home).one(second.entry).ask(ALL)
    strange, lost = (each.closed for each in sessions(home).all())
    assert "cannot be read" in strange
    assert "paid for nothing" in lost
    assert not any(str(home) in why for why in (strange, lost))


def test_in_a_copy_of_a_home_it_is_closed(tmp_path: Path, home: Path) -> None:
    session = opened(home)
    copy = Path(shutil.copytree(home, tmp_path / "copy"))
    ledger = SqliteLedger(copy / "ledger.db")
    adopt(copy, "the copy", verify(ledger.rows()).root)
    with pytest.raises(OverBudget, match="a home of which this one is a copy"):
        sessions(copy).one(session.entry).ask(ALL)
    assert opened(copy).ask(ALL) == Above()
    assert [bool(each.closed) for each in sessions(copy).all()] == [False, True]


def test_it_is_asked_by_who_paid_and_seen_by_custodians(home: Path) -> None:
    custody = Custody(home)
    for name, role, tables in [("ann", "analyst", None), ("bob", "analyst", None), ("cleo", "custodian", None)]:
        custody.let_in(name, role, tables=tables)
    session = opened(home, who="ann")
    assert session.ask(ALL) == Above()
    for who in ("cleo", "custodian"):
        seen = sessions(home, who).one(session.entry)
        assert seen.answers == (Above(),)
        with pytest.raises(Refusal, match="is asked by 'ann'"):
            seen.ask(ALL)
    assert sessions(home, "bob").all() == []
    with pytest.raises(Refusal) as hidden:
        sessions(home, "bob").one(session.entry)
    with pytest.raises(Refusal) as absent:
        sessions(home, "bob").one(session.entry + 100)
    assert str(hidden.value).replace(str(session.entry), "N") == str(absent.value).replace(
        str(session.entry + 100), "N"
    )
    sessions(home, "cleo").one(session.entry).close()
    with pytest.raises(OverBudget, match="closed by cleo"):
        sessions(home, "ann").one(session.entry).ask(ALL)
    session = opened(home, who="ann")
    custody.shut_out("ann")
    with pytest.raises(Refusal, match="no user 'ann'"):
        session.ask(ALL)


def test_a_payment_of_another_kind_is_no_session(home: Path) -> None:
    curator = Curator(home)
    curator.query(ALL, epsilon=1)
    for entry in range(-1, 8):
        with pytest.raises(Refusal, match=f"no session {entry}"):
            curator.paid_sessions().one(entry)


# beside other questions -----------------------------------------------------------------------------------------------


def test_beside_it_a_budget_of_rho_pays_no_delta_until_it_is_closed(tmp_path: Path) -> None:
    """docs/proofs/filters.md: of approximate zCDP nothing is proven where mechanisms are asked in turns."""
    home = clinic.home(tmp_path / "home", epsilon=None, rho=100, delta="1e-3")
    named, plain = (
        "SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis",
        "SELECT region, count(*) FROM visits GROUP BY region",
    )
    with pytest.raises(Refusal, match="not proven beside other questions"):
        opened(home, FORMS[1])
    session = opened(home, FORMS[0])
    assert Curator(home).budget("patient").spent == convert(FORMS[0].privacy, Concentrated)
    before = events(home)
    with pytest.raises(Refusal, match="beside an open session only charges without a delta"):
        Curator(home).query(named, rho=1)
    assert events(home) == before
    assert len(Curator(home).query(plain, rho=1).rows) == 3
    session.ask(PEOPLE)
    session.close()
    assert Curator(home).query(named, rho=1).cost == Concentrated(1, Fraction(1, 10**6))


# what it tells of rows ------------------------------------------------------------------------------------------------


def test_a_failure_among_rows_is_one_sentence_and_a_hold(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(home)
    with monkeypatch.context() as patch:
        patch.setattr(DuckStore, "counted", lambda *_: 1 // 0)
        with pytest.raises(Fault) as fault:
            session.ask(ALL)
    assert (str(fault.value), fault.value.__cause__) == (Fault.SENTENCE, None)
    assert session.status.asked == 0
    with pytest.raises(Refusal, match="closed for maintenance"):
        session.ask(ALL)
    Custody(home).lift("patient")
    assert session.ask(ALL) == Above()


@pytest.mark.parametrize("method", ["step", "answers", "encode"])
def test_a_mechanism_that_raises_is_one_sentence_too(home: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    session = opened(home)
    right = getattr(SparseVector, method)

    def raising(mechanism: SparseVector, state: SparseState, *more: object) -> object:
        if state.asked or method == "step":  # a state in which an answer stands
            raise ValueError(f"the value is {more}, the state {state}")
        return right(mechanism, state, *more)

    monkeypatch.setattr(SparseVector, method, raising)
    with pytest.raises(Fault) as fault:
        session.ask(ALL)
    assert (str(fault.value), fault.value.__context__ is None or fault.value.__suppress_context__) == (
        Fault.SENTENCE,
        True,
    )
    assert Curator(home).ledger.books().accounts["patient"].held


def test_neighbours_are_told_apart_by_answers_alone(tmp_path: Path) -> None:
    """With one source of noise and values far from the threshold: refusals, files, sizes and entries are the same."""
    rows = clinic.visits()
    missing = rows.filter(pc.not_equal(rows["patient"], 7))
    assert 0 < len(missing) < len(rows)
    seen = []
    for name, data in [("home", rows), ("without", missing)]:
        home = clinic.home(tmp_path / name, data, epsilon=10**12)
        session, told = opened(home), []
        for sql in [ALL, *UNANSWERED, PEOPLE, "SELECT sum(cost) FROM visits", DEAR, ALL, ALL]:
            try:
                told.append(repr(session.ask(sql)))
            except Refusal as refusal:
                told.append(str(refusal))
        files = sorted((path.name, path.stat().st_size) for path in (home / "sessions").iterdir())
        entries = [type(event).__name__ for event in events(home)]
        seen.append((told, files, entries, replace(session.status, time="")))
    assert seen[0] == seen[1]
    assert "Above(number=None)" in seen[0][0]


def test_many_who_ask_at_once_get_no_hard_answer_more_than_was_paid(home: Path) -> None:
    entry = opened(home, SparseVector.of(400, 100, 5, sensitivity=50)).entry
    given: list[Above | Below] = []

    def asking() -> None:
        session = sessions(home).one(entry)
        with suppress(OverBudget):
            while True:
                given.append(session.ask(ALL))

    threads = [Thread(target=asking) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert given == [Above()] * 5
    assert sum(isinstance(event, StoredAnswer) for event in events(home)) == 1
