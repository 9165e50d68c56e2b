"""Streams of a home: paid whole, pushed once a step, sealed before they speak, read by whoever may look at them."""

from __future__ import annotations

import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import clinic
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from curator.sessions import events
from curator.test_session_kills import Killed, killing

from discreet.curator import Curator
from discreet.curator import streams as streams_room
from discreet.curator.custody import Custody, Declared
from discreet.curator.stream_answers import StreamCount
from discreet.curator.streams import OpenStream, StreamOrder, Streams
from discreet.errors import Fault, OverBudget, Refusal
from discreet.ledger import Spend, SqliteLedger, StoredAnswer, adopt, verify
from discreet.privacy import Approximate, Pure

SURE = StreamOrder("patient", 20, 3, epsilon=10**6)  # of hardly any noise
KEYED = StreamOrder("patient", 20, 3, by={"region": ("north", "south")}, epsilon=10**6)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=10**12)


def streams(home: Path, who: str = "custodian") -> Streams:
    sessions = Curator(home, principal=who).paid_sessions()
    return Streams(sessions.ledger, sessions.store, sessions.principal)


def opened(home: Path, order: StreamOrder = SURE, name: str = "live") -> OpenStream:
    return streams(home).open(name, order)


def rows(*patients: object, **columns: list[Any]) -> pa.Table:
    return pa.table({"patient": list(patients), **columns})


def spent(home: Path, population: str = "patient") -> Fraction:
    return Curator(home).budget(population).spent.amount


def test_it_is_paid_once_and_counts_what_is_pushed(home: Path) -> None:
    stream = opened(home, KEYED)
    assert spent(home) == 10**6
    north = ["north", "north", "south", "elsewhere", None]
    assert stream.push(rows(1, 1, 2, 3, 4, region=north)).by == {"north": 2, "south": 1}
    again = streams(home).one("live")
    answer = again.push(rows(1, 1, None, 9, region=["south"] * 4))
    assert (answer.step, int(answer.count)) == (2, 5)
    assert answer.by == {"north": 2, "south": 3}
    assert again.push(rows(region=[]).select([])).count == 5
    assert [each.count for each in again.counts] == [3, 5, 5]
    assert again.counts[1] == answer
    assert spent(home) == 10**6
    (payment,) = [event for event in events(home) if isinstance(event, Spend)]
    assert payment.what["stream"] == "live"  # type: ignore[index,call-overload]


def test_it_says_what_does_not_count_whatever_was_pushed(home: Path) -> None:
    stream = opened(home, KEYED)
    said = stream.words.bounding
    for part in (
        "Error bars cover the noise.",
        "Rows in which patient is NULL or no bigint are left out.",
        "Of one patient 3 rows count, over all steps and keys",
        "Rows in which region is NULL or none of the declared keys are left out, of the total too.",
        "After step 20 it is closed",
        "How many these are is not told.",
    ):
        assert part in said
    heard: list[tuple[str, ...]] = []
    answers = [
        stream.push(rows(1, 2, region=["north", "south"]), unread=heard.append),
        stream.push(rows(1, None, region=["north", "south"]), unread=heard.append),
        stream.push(rows(1, 2, region=["east", None])),
        stream.push(rows(5, None, region=["east", "south"]), unread=heard.append),
    ]
    assert heard == [("patient",), ("patient", "region")]  # on the custodian's own terminal alone
    assert {each.bounding for each in (*answers, *stream.counts, *stream.windows(2))} == {said}
    assert stream.standing.bounding == said


def test_windows_are_differences_and_top_keys_have_an_error_for_all(home: Path) -> None:
    stream = streams(home).open("noisy", StreamOrder("patient", 9, 2, by=KEYED.by, epsilon=1))
    assert stream.windows(3) == ()
    for step in range(5):
        stream.push(rows(*range(step), region=["north"] * step))
    said = stream.counts
    sliding = stream.windows(2)
    assert [(each.start, each.step) for each in sliding] == [(0, 1), (0, 2), (1, 3), (2, 4), (3, 5)]
    assert [each.count for each in sliding[2:]] == [said[n].count - said[n - 2].count for n in (2, 3, 4)]
    assert sliding[3] == stream.window(2, 4)
    assert [(each.start, each.step) for each in stream.windows(2, 2)] == [(0, 2), (2, 4)]
    assert stream.windows(2, 2) == (sliding[1], sliding[3])
    assert sliding[4].error != said[4].error
    for each in (said[4], sliding[4]):
        assert each.top(1) == [max(each.by.items(), key=lambda one: one[1])]
        assert each.key_error < each.top_error
    for width, every in ((0, 1), (1, 0)):
        with pytest.raises(Refusal):
            stream.windows(width, every)


def test_numbers_are_counted_in_bins(home: Path) -> None:
    order = StreamOrder("patient", 9, 1, bins={"age": (0, "18.5", 65)}, epsilon=10**6)
    stream = opened(home, order)
    ages: list[Any] = [0, 18.4, 18.5, 64.9, 65, -1, None, float("nan")]
    assert stream.push(rows(*range(8), age=ages)).by == {"[0, 18.5)": 2, "[18.5, 65)": 2}
    assert "Rows in which age is NULL, no number, below 0, or 65 and above are left out" in stream.words.bounding
    assert streams(home).one("live").declared == stream.declared
    for wrong, why in (
        ({"bins": {"age": (3,)}}, "two edges"),
        ({"bins": {"age": (3, 2, 9)}}, "edges that rise"),
        ({"bins": {"age": (0, 9)}, "by": {"a": ["x"]}}, "one column to count by"),
        ({"bins": {"age": (0, 9)}, "sums": {"age": (0, 9)}}, "counted by and summed"),
        ({"bins": {"patient": (0, 9)}}, "columns of their own"),
    ):
        with pytest.raises(Refusal, match=why):
            opened(home, StreamOrder("patient", 9, 1, epsilon=1, **cast("Any", wrong)), "more")


def test_a_row_more_is_seen_through_noise_alone(home: Path) -> None:
    """Nothing that leaves has a number of rows, of units, or of cells that could not be read."""
    noisy = streams(home).open("noisy", StreamOrder("patient", 4, 1, epsilon=1))
    said = [noisy.push(rows(*range(people))) for people in (0, 50, 0)]
    told: list[Any] = [(each.step, each.error, each.key_error, tuple(each.by)) for each in said]
    assert told == [(step, said[0].error, Fraction(0), ()) for step in (1, 2, 3)]
    status = noisy.standing.session
    assert (status.asked, [str(each) for each in status.used]) == (3, ["3 steps of 4"])


def test_files_of_every_kind_and_none_are_steps(home: Path, tmp_path: Path) -> None:
    stream, table = opened(home, StreamOrder("patient", 20, 9, epsilon=10**6)), rows(1, 2)
    text, empty, parquet, arrow = (tmp_path / name for name in ("a.csv", "b.csv", "c.parquet", "d.arrow"))
    text.write_text("patient,more\n7,x\n07,x\nseven,x\n8,\n,x\n")  # 07 and seven name nobody
    empty.touch()
    pyarrow.parquet.write_table(table, parquet)
    pyarrow.feather.write_feather(table, arrow, compression="uncompressed")
    assert [int(stream.push(each).count) for each in (text, empty, parquet, arrow)] == [2, 2, 4, 6]
    broken = tmp_path / "e.parquet"
    broken.write_bytes(b"no rows")
    for source, why in (
        (broken, "cannot be read"),
        (tmp_path / "f.csv", "there is no file"),
        (pa.table({"a": [1]}), "no column"),
    ):
        with pytest.raises(Refusal, match=why):
            stream.push(source)
    assert stream.standing.session.asked == 4
    assert not Curator(home).ledger.books().account("patient").held


def test_a_step_is_pushed_once(home: Path) -> None:
    stream = streams(home).open("noisy", StreamOrder("patient", 3, 1, epsilon=1))
    first = stream.push(rows(1, 2), step=1)
    assert streams(home).one("noisy").push(rows(1, 2), step=1) == first
    for other, step in ((rows(1), 1), (rows(1, 2), 3), (rows(1, 2), 7)):
        with pytest.raises(Refusal, match=f"step {step} is not the next"):
            stream.push(other, step=step)
    second = stream.push(rows(1, 2))  # the same rows without a number are another step
    last = stream.push(rows(1, 2), step=3)
    assert [first, second, last] == list(stream.counts)
    assert stream.push(rows(1, 2), step=3) == last
    with pytest.raises(OverBudget, match="the stream is closed: 3 steps of 3"):
        stream.push(rows(1, 2))
    assert stream.closed == "it is used up"
    (answer,) = [event for event in events(home) if isinstance(event, StoredAnswer)]
    assert answer.answer == {"closed": "it is used up", "answers": [[int(each.count)] for each in stream.counts]}
    assert Curator(home).ledger.books().account("patient").budget.sessions == 0


def test_many_counts_are_kept_by_their_digest(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_room, "_KEPT", 1)
    stream = opened(home)
    for _ in range(2):
        stream.push(rows(1))
    stream.close()
    (answer,) = [event for event in events(home) if isinstance(event, StoredAnswer)]
    kept = cast("dict[str, Any]", answer.answer)["answers"][0]
    assert (kept["steps"], len(kept["sha256"])) == (2, 64)
    assert [each.count for each in stream.counts] == [1, 2]


def test_analysts_look_and_custodians_push(home: Path) -> None:
    opened(home).push(rows(1, 2))
    custody = Custody(home)
    for name, role, tables in (
        ("ann", "analyst", ["live"]),
        ("bob", "analyst", ["visits"]),
        ("all", "analyst", None),
        ("cleo", "custodian", None),
    ):
        custody.let_in(name, role, tables=tables)
    for who in ("ann", "all"):
        theirs = streams(home, who).one("live")
        assert [each.count for each in theirs.counts] == [2]
        for refused in (lambda each=theirs: each.push(rows(3)), theirs.close):
            with pytest.raises(Refusal, match="custodians"):
                refused()
        with pytest.raises(Refusal, match="custodians"):
            streams(home, who).open("other", SURE)
    assert streams(home, "bob").all() == []
    with pytest.raises(Refusal, match="there is no stream 'live'"):
        streams(home, "bob").one("live")
    assert Curator(home, principal="ann").paid_sessions().all() == Curator(home).paid_sessions().all() == []
    assert streams(home, "cleo").one("live").push(rows(3)).count == 3


@pytest.mark.parametrize(
    ("name", "order", "why"),
    [
        ("visits", SURE, "there is, or was, a table or stream 'visits'"),
        ("Live", SURE, "there is, or was, a table or stream 'Live'"),
        ("a b", SURE, "named with letters"),
        ("new", StreamOrder("patient", 0, epsilon=1), "horizon"),
        ("new", StreamOrder("patient", 10, 0, epsilon=1), "events"),
        ("new", StreamOrder("patient", 10), "is paid from this budget with epsilon"),
        ("new", StreamOrder("patient", 10, rho=1), "is paid from this budget with epsilon"),
        ("new", StreamOrder("patient", 10, epsilon=10**13), "is left"),
        ("new", StreamOrder("patient", 10, by={"region": ()}, epsilon=1), "has no keys"),
        ("new", StreamOrder("patient", 10, by={"a": ("x",), "b": ("y",)}, epsilon=1), "one column to count by"),
        ("new", StreamOrder("patient", 10, by={"patient": ("1",)}, epsilon=1), "columns of their own"),
        (
            "new",
            StreamOrder("patient", 10, types={"patient": "varchar"}, epsilon=1),
            "the units of 'patient' are bigint",
        ),
        ("new", StreamOrder("patient", 10, types={"other": "varchar"}, epsilon=1), "no use for a column 'other'"),
        ("new", StreamOrder("row", 10, population="patient", epsilon=1), "never share a budget"),
        ("new", StreamOrder("row", 10, 2, epsilon=1), "counts once"),
        ("new", StreamOrder("patient", 10**7, 1, epsilon=1), "is too large"),
        ("new", StreamOrder("patient", 10, sums={"cost": (0, 10**12)}, steps={"cost": 1}, epsilon=1), r"2\^31 steps"),
    ],
)
def test_what_cannot_be_opened_costs_nothing(home: Path, name: str, order: StreamOrder, why: str) -> None:
    opened(home)
    before = events(home)
    with pytest.raises(Refusal, match=why):
        streams(home).open(name, order)
    assert events(home) == before


def test_a_stream_brings_its_population_if_there_is_none(home: Path) -> None:
    opened(home, StreamOrder("person", 9, 2, epsilon=2), "people")
    assert Curator(home).budget("person").total == Pure(2)
    assert spent(home, "person") == 2
    with pytest.raises(OverBudget):
        opened(home, StreamOrder("person", 9, 2, epsilon=1), "more")
    table = pa.table({"person": [1]})
    with pytest.raises(Refusal, match="in stream 'people' the units of 'person' are varchar"):
        Custody(home).add("visitors", table, Declared(unit="person"))
    with pytest.raises(Refusal, match="there is a stream 'people' already"):
        Custody(home).add("people", table, Declared(unit="person"))
    opened(home, StreamOrder("row", 9, epsilon=2), "rows")
    assert streams(home).one("rows").standing.unit == "row"
    with pytest.raises(Refusal, match="never share a budget"):
        Custody(home).add("visitors", table, Declared(unit="person", population="rows"))
    assert streams(home).one("rows").push(pa.table({})).step == 1


def test_sums_are_clamped_and_lie_on_their_grid(home: Path) -> None:
    order = StreamOrder("patient", 9, 2, sums={"cost": (-5, 100)}, steps={"cost": "0.5"}, epsilon=10**8)
    stream = opened(home, order)
    nan = float("nan")
    assert stream.push(rows(1, 2, 3, 4, cost=[2.2, 1e9, nan, None])).count == Fraction("102.0")
    assert stream.push(rows(5, 6, cost=[-1e9, float("inf")])).count == 197
    assert stream.stream.counter.contribution == 400


def test_what_goes_wrong_among_rows_is_one_sentence_and_a_hold(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = opened(home)

    def broken(*_: object) -> None:
        raise ValueError("row 17 of patient 4")

    with monkeypatch.context() as patch:
        patch.setattr(streams_room, "read_pushed", broken)
        with pytest.raises(Fault) as fault:
            stream.push(rows(4))
    assert "17" not in str(fault.value)
    with pytest.raises(Refusal, match="closed for maintenance"):
        stream.push(rows(4))
    Custody(home).lift("patient")
    assert stream.push(rows(4)).step == 1


def test_an_adopted_copy_answers_no_more_steps(home: Path, tmp_path: Path) -> None:
    opened(home).push(rows(1))
    copy = tmp_path / "copy"
    shutil.copytree(home, copy)
    adopt(copy, "the copy", verify(SqliteLedger(copy / "ledger.db").rows()).root)
    there = streams(copy).one("live")
    with pytest.raises(OverBudget, match="of which this one is a copy"):
        there.push(rows(2))
    assert [each.count for each in there.counts] == [1]


@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_a_kill_never_changes_what_was_said(tmp_path: Path, every: int) -> None:
    """At every moment in which something is made durable: the prefix stands, and the step is counted once."""
    home, outcomes = clinic.home(tmp_path / "home", epsilon=10**12), Counter[int]()
    stream = streams(home).open("noisy", StreamOrder("patient", 200, 1, epsilon=1))
    stream.push(rows(0))
    for at in range(every > 1, 100, every):
        before = stream.counts
        turn = len(before) + 1
        with pytest.MonkeyPatch.context() as patch:
            killing(patch, at)
            try:
                streams(home).one("noisy").push(rows(at), step=turn)
            except Killed:
                pass
            else:
                break
        again = streams(home).one("noisy")
        known = again.counts
        outcomes[len(known) - len(before)] += 1
        assert known[: len(before)] == before
        assert again.push(rows(at), step=turn) == again.counts[-1]
        assert again.counts[: len(known)] == known
        assert len(again.counts) == turn
    assert set(outcomes) == {0, 1}


def test_two_who_push_at_once_take_turns(home: Path) -> None:
    opened(home)

    def push(patient: int) -> StreamCount:
        return streams(home).one("live").push(rows(patient))

    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(push, range(8)))
    assert sorted(each.step for each in said) == sorted(each.count for each in said) == list(range(1, 9))


def test_a_delta_is_charged_only_where_it_is_used(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", epsilon=9, delta="1e-5")
    assert opened(
        home, StreamOrder("patient", 4, 1, epsilon=4, delta="1e-9"), "few"
    ).standing.session.loss == Approximate(4)
    many = opened(home, StreamOrder("patient", 1000, 5, epsilon=1, delta="1e-6"), "many")
    assert many.standing.session.loss == Approximate(1, "1e-6")
    assert many.push(rows(1)).step == 1
