"""Rows keep to what is impossible, follow what they follow from, and are drawn as they are asked for."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from commandline import discreet as command
from doubles import Seeded
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.errors import Refusal
from discreet.mechanisms import Column, Frame, described, rebuilt
from discreet.release import CliqueTreeSynthesis, DirectSynthesis, Release, SpanningTreeSynthesis, Wish, publication
from discreet.release.axis import OTHER
from discreet.release.marginals.domain import Domain
from discreet.release.synthetic.fit import NoisyTable, fitted
from discreet.release.synthetic.impossible import Impossible
from discreet.release.synthetic.junction_tree import JunctionTree
from discreet.release.synthetic.mechanisms import IndependentSynthesis

SEX, AGE = Column("sex", keys=("f", "m")), Column("age", bounds=(0, 100), step=1)
STATE = Column("state", keys=("single", "married"))
ZIP, TOWN = Column("zip", keys=("1", "2", "3")), Column("town", keys=("A", "B"))
CHILD: Any = {"age": (0, 20), "state": ["married"]}
FOLLOWS: Any = {"town": {"1": "A", "2": "A", "3": "B"}}


def made(seed: int = 1, many: int = 3000, **parts: Any) -> Any:  # noqa: ANN401
    """Rows of people, some of whom are recorded as what nobody can be: married children, and towns elsewhere."""
    random = np.random.default_rng(7)
    ages, zips = random.integers(0, 100, many), random.integers(1, 4, many)
    data: dict[str, Any] = {
        "age": ages,
        "state": np.where((ages > 25) ^ (random.random(many) < 0.2), "married", "single"),
        "zip": zips.astype(str),
        "town": np.where((zips > 2) ^ (random.random(many) < 0.1), "B", "A"),
    }
    columns = (AGE, STATE, ZIP, TOWN)
    frame = Frame.of(data, *columns)
    wish = Wish.of("synthetic", tuple(each.name for each in columns), **{"rho": 1, "bins": {"age": "0:100:5"}, **parts})
    return publication(frame, wish)(frame, rng=Seeded(seed))


@pytest.mark.parametrize("method", ["clique-tree", "mst", "independent", "direct"])
def test_no_row_is_impossible_by_any_method(method: str) -> None:
    told = made(method=method, never=[CHILD], follows={"town": ["zip", FOLLOWS["town"]]})
    rows = told.rows().to_pylist()
    assert not [row for row in rows if row["state"] == "married" and row["age"] is not None and row["age"] < 20]
    assert all(row["zip"] is None or FOLLOWS["town"][row["zip"]] == row["town"] for row in rows)
    assert len(rows) == pytest.approx(3000, abs=120)
    assert sum(row["state"] == "married" for row in rows) > 900
    assert told.range(age=(0, 20), state="married").value == 0
    assert told.draw(500).num_rows == 500
    back: Any = Release.from_json(told.to_json())
    assert back == told
    more = back.draw(400).to_pylist()
    assert not [row for row in more if row["state"] == "married" and row["age"] is not None and row["age"] < 20]


def test_a_table_that_says_more_is_still_measured_and_priced_alike() -> None:
    """What is impossible is public: it changes neither price nor what is measured, only the fit and the rows."""
    free, kept = made(seed=3), made(seed=3, never=[CHILD])
    assert free.facts["guarantee"] == kept.facts["guarantee"]
    assert free.content.tables[0].counts.tolist() == kept.content.tables[0].counts.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=8),
    st.integers(0, 99),
)
@settings(max_examples=30, deadline=None)
def test_a_fit_with_impossible_cells_is_the_nearest_without_them(cells: list[tuple[int, int, int]], seed: int) -> None:
    """Against the full table: of exact tables of what is possible the fit finds them, and zero elsewhere."""
    domain, random = Domain(("a", "b", "c"), (3, 2, 4)), np.random.default_rng(seed)
    possible = np.ones((3, 2, 4), dtype=np.bool_)
    possible[tuple(np.array(cells).T)] = False
    full = random.integers(50, 200, possible.shape) * possible
    if not full.any():
        return
    tables = [NoisyTable((0, 1, 2), full, np.full(full.shape, 1e-6))]
    model = fitted(
        domain, JunctionTree.of(domain, [(0, 1, 2)]), tables, float(full.sum()), possible={(0, 1, 2): possible}
    )
    assert np.all(model.marginal((0, 1, 2))[~possible] == 0)
    assert np.allclose(model.marginal((0, 1, 2)) * full.sum(), full, atol=1.5)  # it stops where nothing moves any more


def test_a_model_given_a_cell_is_the_one_of_those_who_have_it() -> None:
    domain, random = Domain(tuple("abcd"), (3, 2, 4, 2)), np.random.default_rng(4)
    axes = [(0, 1), (1, 2), (2, 3)]
    tables = [
        NoisyTable(each, random.integers(1, 99, domain.shape(each)), np.ones(domain.shape(each))) for each in axes
    ]
    model = fitted(domain, JunctionTree.of(domain, axes), tables, 500.0)
    full = model.marginal((0, 1, 2, 3))
    weights = {0: np.array([0.0, 1.0, 0.5]), 1: np.array([0.3, 1.0]), 3: np.array([1.0, 0.0])}
    expected = full * weights[0].reshape(3, 1, 1, 1) * weights[1].reshape(1, 2, 1, 1) * weights[3].reshape(1, 1, 1, 2)
    assert np.allclose(model.given(weights).marginal((0, 1, 2, 3)), expected / expected.sum(), atol=1e-12)
    with pytest.raises(Refusal, match="no such rows"):
        model.given({1: np.zeros(2)})


def test_rows_are_drawn_as_they_are_asked_for() -> None:
    told = made(rho=50)
    rows = told.draw(2000, where={"zip": "3", "age": (22, 41)}, rng=Seeded(5)).to_pylist()
    assert len(rows) == 2000
    assert {row["zip"] for row in rows} == {"3"}
    ages = [row["age"] for row in rows]
    assert (min(ages), max(ages)) == (22, 40)  # the range cuts through bins at both ends, and 41 is not in it
    assert abs(sum(row["town"] == "B" for row in rows) / 2000 - 0.9) < 0.03
    young = sum(age < 25 for age in ages) / 2000  # three of five years of one bin, beside three bins and a fifth
    assert abs(young - 3 / 19) < 0.04
    assert told.draw(50, where={"age": (90, None)}).column("age").to_numpy().max() <= 100
    assert set(told.draw(50, where={"zip": OTHER}).column("zip").to_pylist()) == {None}
    with pytest.raises(Refusal, match="no column 'wage'"):
        told.draw(5, where={"wage": 3})


def test_rows_of_a_kind_keep_to_what_is_impossible_too() -> None:
    told = made(never=[CHILD])
    states = told.draw(300, where={"age": (0, 20)}, rng=Seeded(6)).column("state").to_pylist()
    assert len(states) == 300
    assert "married" not in states
    with pytest.raises(Refusal, match="no such rows"):
        told.draw(3, where={"age": (0, 20), "state": "married"})


def test_a_rule_that_merged_cells_cut_through_is_kept_in_the_rows() -> None:
    """Thirty keys of which noise lets few be seen: of those that are merged some may be beside b, and some not."""

    def counts(names: tuple[str, ...]) -> Any:  # noqa: ANN401
        full = np.zeros((30, 2), dtype=np.int64)
        full[:4], full[4:] = 900, 3
        return {(): full.sum(), ("a",): full.sum(1), ("b",): full.sum(0)}.get(names, full)

    never = (((0, tuple(range(10, 20))), (1, (1,))),)
    told = IndependentSynthesis(("a", "b"), (30, 2), Fraction(1, 100), never=never, rows=20_000)(counts, rng=Seeded(8))
    assert told.merging.domain.sizes[0] < 10
    assert len(told.rows) == 20_000
    kept = np.isin(told.rows[:, 0], range(10, 20))
    assert kept.sum() > 20
    assert not told.rows[kept, 1].any()


def test_rules_over_the_same_columns_are_one_table_and_merged_cells_are_possible_if_any_is() -> None:
    never = Impossible(Domain(("a", "b"), (4, 2)), (((0, (0, 1)), (1, (1,))), ((1, (0,)), (0, (3,)))))
    assert never.tables[0, 1].tolist() == [[True, False], [True, False], [True, True], [False, True]]
    rows = np.array(list(itertools.product(range(4), range(2))))
    assert never.broken(rows).tolist() == (~never.tables[0, 1]).ravel().tolist()
    assert never.possible((0, 1)).sum() == 5
    assert never.possible((1,)).sum() == 1  # says nothing of b alone


# what may be said -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"never": "sex"}, "never takes values"),
        ({"never": [3]}, "never takes values"),
        ({"never": "wage=3"}, "no column 'wage'"),
        ({"never": "state=widowed"}, "no key 'widowed'"),
        ({"never": "age=3:7 & state=married"}, "no whole cell of 'age'"),
        ({"follows": {"town": "zip"}}, "follows takes for a column"),
        ({"follows": {"town": "town: A>A"}}, "cannot follow from itself"),
        ({"follows": {"town": "zip: 9>A"}}, "no key '9'"),
        ({"follows": {"town": ["zip", {}]}}, "at least one"),
    ],
)
def test_what_no_rule_says_is_refused_before_anything_is_read(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(Refusal, match=says):
        made(**parts)


def test_words_and_parts_of_a_request_say_the_same() -> None:
    names, bins = ("age", "state", "zip", "town"), {"age": "0:100:5"}
    words = Wish.of(
        "synthetic", names, rho=1, bins=bins, never=" AGE=0:20 & state=married ;", follows={"town": "zip: 1>A,2>A, 3>B"}
    )
    parts = Wish.of("synthetic", names, rho=1, bins=bins, never=[CHILD], follows={"town": ["zip", FOLLOWS["town"]]})
    for each in (words, parts):
        assert Wish.read(each.told()) == each
    frame = Frame.of({name: [] for name in names}, AGE, STATE, ZIP, TOWN)
    made_of: list[Any] = [publication(frame, each) for each in (words, parts)]
    assert made_of[0] == made_of[1]
    assert len(made_of[0].mechanism.never) == 4


@pytest.mark.parametrize(
    "never", [((),), (((0, ()),),), (((0, (9,)),),), (((5, (0,)),),), (((0, (0,)), (0, (1,))),), 3, ((3,),), (("ab",),)]
)
def test_nonsense_is_refused(never: Any) -> None:  # noqa: ANN401
    with pytest.raises(Refusal):
        DirectSynthesis(("a", "b"), (3, 2), Fraction(1), never=never)


@pytest.mark.parametrize("kind", [IndependentSynthesis, SpanningTreeSynthesis, CliqueTreeSynthesis, DirectSynthesis])
def test_it_goes_through_a_door(kind: Any) -> None:  # noqa: ANN401
    own = kind(("a", "b"), (3, 2), Fraction(1), never=(((0, (0, 2)), (1, (1,))),))
    told: Any = described(own)
    assert rebuilt(told["name"], told["parameters"]) == own


def test_the_command_line_has_it(tmp_path: Path) -> None:
    db = dp.create(tmp_path / "home")
    own: Any = {"keys": {"sex": ["f", "m"]}, "bounds": {"age": (0, 100)}}
    rows = pa.table({"who": np.arange(900), "sex": ["f", "m", "m"] * 300, "age": np.arange(900) % 100})
    db.add("people", rows, unit="who", max_rows=1, epsilon=20, delta="1e-6", **own)
    asked = (
        "release",
        "synthetic",
        "people",
        "--columns",
        "sex,age",
        "--epsilon",
        "4",
        "--delta",
        "1e-7",
        "--bins",
        "age=0:100:10",
    )
    paid = command(tmp_path, *asked, "--never", "sex=f & age=0:50", "--out", "rows", "--home", "home")
    assert paid.returncode == 0, paid.stderr
    drawn = command(tmp_path, "release", "draw", "rows", "sex=f", "--rows", "40", "--format", "csv")
    assert drawn.returncode == 0, drawn.stderr
    lines = [line.split(",") for line in drawn.stdout.splitlines()]
    assert lines[0] == ["sex", "age"]
    assert {sex for sex, _ in lines[1:]} == {"f"}
    assert all(age == "" or int(age) >= 50 for _, age in lines[1:])
    assert len(lines) == 41
