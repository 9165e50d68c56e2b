"""All tables of one release speak of the same rows, whatever is missing, undeclared or outside the bins."""

from __future__ import annotations

import io
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from doubles import Seeded
from hypothesis import given, settings
from hypothesis import strategies as st
from release.published import UNIT, publication, published

from discreet.errors import Refusal
from discreet.mechanisms import Bins, Column, Frame
from discreet.mechanisms.registry import digest
from discreet.release import OTHER, CountedRelease, KeyAxis, NumberAxis, Wish
from discreet.release.axis import other_label, read_rule, read_side
from discreet.release.counting_mechanism import completed, counter
from discreet.release.folder import checked

AGE = Column("age", bounds=(0, 100), step=1)
SEX, REGION = Column("sex", keys=("f", "m")), Column("region", keys=("north", "south", None))
COLUMNS = (AGE, SEX, REGION)
AXES: dict[str, Any] = {"age": Bins("age", (20, 40, 60)), "sex": "sex", "region": "region"}
EXACTLY = "1000"  # an ε at which no noise is drawn
WISH: dict[str, object] = {
    "kind": "marginals",
    "columns": ["age", "sex", "region"],
    "bins": {"age": "20,40,60"},
    "epsilon": EXACTLY,
}

row = st.tuples(
    st.sampled_from([None, float("nan"), 0, 19, 20, 39, 40, 60, 61, 250, "old"]),
    st.sampled_from(["f", "m", "x", None, 3]),
    st.sampled_from(["north", "south", None, "east", "(other)"]),
)


def framed(rows: list[tuple[object, ...]]) -> Frame:
    def column(place: int) -> np.ndarray[Any, Any]:
        cells = np.empty(len(rows), dtype=object)
        cells[:] = [each[place] for each in rows]
        return cells

    return Frame(COLUMNS, tuple(column(place) for place in range(3)), neighbours=UNIT)


def placed(value: object, name: str) -> int:
    """Where a value is counted, written down by hand: the last place is that of other values."""
    if name == "sex":
        return {"f": 0, "m": 1}.get(str(value), 2)
    if name == "region":
        return {"north": 0, "south": 1, "None": 2}.get(str(value), 3)
    if value is None or isinstance(value, str) or str(value) == "nan":
        return 2
    at = min(max(float(str(value)), 0), 100)  # beyond the bounds it counts as the nearer one
    return 0 if 20 <= at < 40 else 1 if 40 <= at <= 60 else 2


def by_hand(rows: list[tuple[object, ...]], names: tuple[str, ...], rule: str) -> np.ndarray[Any, Any]:
    sizes = {"age": 3, "sex": 3, "region": 4}
    table = np.zeros([sizes[name] for name in names], dtype=np.int64)
    for each in rows:
        place = {name: placed(value, name) for name, value in zip(("age", "sex", "region"), each, strict=True)}
        if rule == "other" or all(place[name] < sizes[name] - 1 for name in sizes):
            table[tuple(place[name] for name in names)] += 1
    return table if rule == "other" else table[tuple(slice(-1) for _ in names)]


SETS = [names for size in range(4) for names in combinations(("age", "sex", "region"), size)]


@given(st.lists(row, max_size=12), st.sampled_from(["other", "leave out"]))
@settings(deadline=None, max_examples=150)
def test_every_table_counts_the_same_rows_each_in_one_cell(rows: list[tuple[object, ...]], rule: str) -> None:
    counted = counter(framed(rows), AXES, rule)
    found = {names: counted(names) for names in SETS}
    for names, table in found.items():
        assert table.tolist() == by_hand(rows, names, rule).tolist()
        assert table.sum() == (len(rows) if rule == "other" else found[()])


def test_a_table_with_other_cells_needs_only_counts_of_rows_that_are_inside() -> None:
    held = {(): np.array(10), ("a",): np.array([4, 3]), ("b",): np.array([5]), ("a", "b"): np.array([[2], [1]])}
    assert completed(("a", "b"), held.__getitem__).tolist() == [[2, 2], [1, 2], [2, 1]]


# the case that was found ----------------------------------------------------------------------------------------------


def missing(rows: int = 2000) -> Frame:
    """Of one column a third is missing, of another some keys are not declared, of a third half lies in no bin."""
    return framed([(i % 101, None if i % 3 == 0 else "fm"[i % 2], ("north", "east")[i % 7 == 0]) for i in range(rows)])


@pytest.mark.parametrize("more", [{}, {"rho": "100000", "epsilon": None}])
@pytest.mark.parametrize("rule", [None, "leave out"])
def test_no_cell_is_reconciled_with_rows_that_it_does_not_have(rule: str | None, more: dict[str, object]) -> None:
    """Tables of different rows were: −131 ± 3.2 for 979."""
    people = missing()
    told = publication(people, Wish.read({**WISH, **more, "outside": rule}))(people, rng=Seeded(1))
    rows = [tuple(each) for each in people.rows()]
    for names in told.tables:
        truth = by_hand(rows, names, rule or "other")
        assert np.abs(told.counts(names) - truth).max() < 0.01, names
    assert told.total.value == pytest.approx(2000 if rule is None else by_hand(rows, (), "leave out"), abs=0.01)


# what is read ---------------------------------------------------------------------------------------------------------


def release(rule: str | None = None) -> CountedRelease:
    people = missing()
    return publication(people, Wish.read({**WISH, "outside": rule}))(people, rng=Seeded(1))


def test_the_other_cell_is_asked_for_by_a_value_that_no_key_can_be() -> None:
    told, rows = release(), [tuple(each) for each in missing().rows()]
    sexes = by_hand(rows, ("sex",), "other")
    assert told.range(sex=OTHER).value == pytest.approx(sexes[2], abs=0.01)
    assert told.cell(sex=OTHER, region=OTHER).value == pytest.approx(by_hand(rows, ("sex", "region"), "other")[2, 3])
    assert told.range(sex=["f", OTHER]).value == pytest.approx(sexes[0] + sexes[2], abs=0.01)
    assert told.range(age=OTHER).value == pytest.approx(by_hand(rows, ("age",), "other")[2], abs=0.01)
    assert told.range(age=(None, None)).value == pytest.approx(by_hand(rows, ("age",), "other")[:2].sum(), abs=0.01)
    assert told.cell(age=OTHER).error == told.cell(age=25).error
    left = release("leave out")
    for name in ("sex", "age"):
        with pytest.raises(Refusal):
            left.range(**{name: OTHER})


def test_the_label_of_the_other_cell_is_none_of_the_keys() -> None:
    assert KeyAxis("a", ("x", None), other=True).labels == ("x", "NULL", "(other)")
    assert KeyAxis("a", ("(other)", "((other))"), other=True).labels[-1] == "(((other)))"
    assert other_label(()) == "(other)"
    assert NumberAxis("a", (0, 5), AGE.grid.step, other=True).labels == ("0 to 5", "(other)")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "side",
    [
        KeyAxis("a", ("x", None), other=True),
        KeyAxis("a", (True, False), other=True),
        KeyAxis("a", (1, 2)),
        NumberAxis("a", (0, 5, 9), AGE.grid.step, other=True),  # type: ignore[union-attr]
    ],
)
def test_an_axis_reads_back_and_says_whether_it_has_the_cell(side: KeyAxis | NumberAxis) -> None:
    assert read_side(side.plain) == side
    assert ("other" in side.plain) == side.other
    found = side.arrays(np.arange(len(side)))
    assert ("a_other" in found) == side.other
    if side.other:
        assert found["a_other"].to_pylist() == [False] * (len(side) - 1) + [True]
        assert all(values[len(side) - 1].as_py() is None for name, values in found.items() if name != "a_other")


def test_files_tell_the_other_cell_from_a_key_that_is_missing_or_called_so(tmp_path: Path) -> None:
    column = Column("k", keys=("(other)", None, "x"))
    cells = np.empty(6, dtype=object)
    cells[:] = ["(other)", None, None, "y", "z", 7]
    people = Frame((column, SEX), (cells, np.array(["f"] * 6, dtype=object)), neighbours=UNIT)
    told = publication(people, Wish.of("marginals", ("k", "sex"), epsilon=EXACTLY))(people, rng=Seeded(1))
    published(tmp_path / "out", told)
    assert checked(tmp_path / "out")
    asked = f"SELECT k, k_other, round(sum(count)) FROM '{tmp_path / 'out'}/*.parquet' GROUP BY 1, 2"
    assert set(duckdb.execute(asked).fetchall()) == {
        ("(other)", False, 1),
        (None, False, 2),
        ("x", False, 0),
        (None, True, 3),
    }
    made = io.BytesIO()
    pc.write_csv(told.table(("k",)), made)
    lines = made.getvalue().decode().splitlines()
    assert [line.split(",")[:2] for line in lines[1:]] == [
        ['"(other)"', "false"],
        ["", "false"],
        ['"x"', "false"],
        ["", "true"],
    ]
    assert told.table(("k",)).schema.field("k").type == pa.string()


def test_a_column_called_as_the_mark_is_kept_apart() -> None:
    columns = (Column("k", keys=("a",)), Column("k_other", keys=("b",)))
    people = Frame.of({"k": ["a"], "k_other": ["b"]}, *columns, neighbours=UNIT)
    told = publication(people, Wish.of("marginals", ("k", "k_other"), epsilon=EXACTLY))(people, rng=Seeded(1))
    assert told.table().column_names[:4] == ["k", "k_other", "k_other_", "k_other_other"]


# what is said ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "words", "public"),
    [
        (None, "is counted in the cell (other) of that column", "are counted as (other), in every table"),
        ("leave-out", "they are left out of everything here alike", "in any column are left out of everything"),
    ],
)
def test_certificate_and_page_say_what_became_of_rows_outside(
    rule: str | None, words: str, public: str, tmp_path: Path
) -> None:
    certificate = published(tmp_path / "out", release(rule))
    assert words in certificate.left_out[1]
    assert certificate.facts["outside"] == (read_rule(rule) if rule else "other")
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert words in page
    assert public in page
    assert checked(tmp_path / "out")


def test_one_table_leaves_rows_out_and_says_so(tmp_path: Path) -> None:
    people = missing()
    for wish in (Wish.of("histogram", ("sex",), epsilon=1), Wish.of("ranges", ("age", "sex"), epsilon=1)):
        found = publication(people, wish)
        assert found.outside == "leave out"
        told = found(people, rng=Seeded(1))
        assert not any(side.other for side in told.axes)
        certificate = published(tmp_path / wish.kind, told)
        assert "left out of everything here alike" in certificate.left_out[1]
        with pytest.raises(Refusal, match="has no cell for other values"):
            Wish.of(wish.kind, wish.columns, epsilon=1, outside="other")
    assert Wish.of("ranges", ("age",), epsilon=1, outside="leave-out").told()["outside"] == "leave out"


def test_a_rule_that_there_is_not_is_refused() -> None:
    for nonsense in ("drop", "", 1, True, ["other"]):
        with pytest.raises(Refusal, match="outside="):
            Wish.of("marginals", ("age", "sex"), epsilon=1, outside=nonsense)


def test_tables_of_other_rows_are_another_question() -> None:
    people = missing()
    both = {
        digest(publication(people, Wish.of("marginals", ("age", "sex"), epsilon=1, outside=rule)))
        for rule in ("other", "leave out")
    }
    assert len(both) == 2
