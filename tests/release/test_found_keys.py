"""Keys that are found within the price of synthetic rows: which, at what price, and nothing of one person alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from doubles import Seeded
from hypothesis import given, settings
from hypothesis import strategies as st
from release.test_synthetic_neighbours import Told

import discreet as dp
from discreet.audit import OneRun, audit_one_run
from discreet.curator import catalogue
from discreet.curator.run import row_outline
from discreet.declared.group_key import Type
from discreet.engines import DuckRelation, DuckStore
from discreet.errors import Refusal
from discreet.mechanisms import Column, Frame
from discreet.mechanisms.key_selection import GaussianKeys
from discreet.mechanisms.sealed_stages import Stage
from discreet.privacy import AddRemove, Concentrated, Replace, epsilon_at
from discreet.release import Release, SyntheticRelease, Wish, publication
from discreet.release.folder import checked
from discreet.sql.relation_facts import shape
from discreet.sql.split_at_noise import rows_of

JOB, SEX, PAY = Column("job"), Column("sex", keys=("f", "m")), Column("pay", bounds=(0, 10), step=1)
BINS = {"job": "found:5"}


def people(*jobs: tuple[str | None, int]) -> dict[str, Any]:
    every = [job for job, many in jobs for _ in range(many)]
    return {"job": every, "sex": ["f" if job == "nurse" else "m" for job in every], "who": list(range(len(every)))}


def told(rows: Frame, seed: int = 1, **parts: Any) -> SyntheticRelease:  # noqa: ANN401
    wish = Wish.of("synthetic", ("job", "sex"), **{"rho": 2, "delta": "1e-9", "bins": BINS, **parts})
    made = publication(rows, wish)(rows, rng=Seeded(seed))
    assert isinstance(made, SyntheticRelease)
    return made


# which ----------------------------------------------------------------------------------------------------------------


def test_keys_are_those_that_many_people_have_and_others_are_in_the_other_cell() -> None:
    rows = Frame.of(people(("nurse", 900), (" Baker", 500), ("spy", 1), ("poet", 3), (None, 200)), JOB, SEX)
    made = told(rows)
    assert made.side("job").plain["keys"] == [" Baker", "nurse", None]
    counts = made.counts(("job",))
    assert counts == pytest.approx([500, 900, 200, 4], abs=25)
    assert set(made.rows()["job"].to_pylist()) == {" Baker", "nurse", None}
    assert made.counts(("job", "sex"))[1][0] == pytest.approx(900, abs=40)
    assert Release.from_json(made.to_json()) == made


def test_of_more_keys_than_may_be_the_commonest_are_taken_and_of_none_there_is_the_other_cell() -> None:
    rows = Frame.of(people(*((f"job {i}", 200 + 60 * i) for i in range(9))), JOB, SEX)
    assert told(rows).side("job").plain["keys"] == [*(f"job {i}" for i in range(4, 9)), None]
    none = told(Frame.of(people(*((f"job {i}", 2) for i in range(200))), JOB, SEX))
    assert none.side("job").plain["keys"] == [None]
    assert none.rows()["job"].null_count == none.rows().num_rows
    whole = Frame.of({"job": [7] * 300 + [40] * 400 + [3] * 2, "sex": ["f"] * 702}, Column("job", keys=None), SEX)
    assert told(whole).side("job").plain["keys"] == [None]  # of text: 7 is none
    of_numbers = replace(whole, columns=(Column("job", Type.BIGINT), SEX))
    assert told(of_numbers).side("job").plain["keys"] == [7, 40, None]


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["a", "b", "B", "", None, "a "])), max_size=60))
@settings(max_examples=30, deadline=None)
def test_a_person_counts_once_for_each_value(rows: list[tuple[int, str | None]]) -> None:
    data: Any = {"who": [who for who, _ in rows], "job": [job for _, job in rows]}
    frame = Frame.of(data, JOB, unit="who", max_rows=60)
    expected = defaultdict[str, set[int]](set)
    for who, job in rows:
        if job is not None:
            expected[job].add(who)
    assert frame.units("job") == {job: len(units) for job, units in expected.items()}


def test_an_engine_counts_the_same_units_and_rows_are_published_certified_and_checked(tmp_path: Path) -> None:
    data = people(("nurse", 900), ("Baker", 500), ("spy", 1), (None, 100))
    table = pa.table({**data, "who": [f"p{who // 2}" for who in data["who"]]})
    db = dp.create(tmp_path / "home")
    db.add("staff", table, unit="who", max_rows=2, epsilon=100, delta="1e-3", keys={"sex": ["f", "m"]})
    wish: dict[str, Any] = {"columns": ["job", "sex"], "epsilon": 9, "delta": "1e-6", "bins": {"job": "found"}}
    before = db.budget("who").spent
    entry = db.publish("staff", kind="synthetic", **wish).entry
    outline = Frame.of({"job": data["job"], "who": table["who"].to_pylist()}, JOB, unit="who", max_rows=2)
    assert in_engine(tmp_path / "home", "SELECT job FROM staff").units("job") == outline.units("job")
    assert db.budget("who").spent.epsilon - before.epsilon <= 9  # type: ignore[union-attr]
    db.certified(entry, tmp_path / "out")
    assert checked(tmp_path / "out")
    made = db.release(entry)
    assert made.side("job").plain["keys"] == ["Baker", "nurse", None]
    page = (tmp_path / "out" / "index.html").read_text()
    assert "found privately" in page
    assert "spy" not in page + (tmp_path / "out" / "rows.csv").read_text()
    with pytest.raises(Refusal, match="has no declared keys"):
        db.publish("staff", kind="synthetic", **{**wish, "bins": {}})


def in_engine(home: Path, sql: str) -> DuckRelation:
    known = catalogue.read(home)
    rows = rows_of(sql, known.schema)
    public = shape(rows)
    outline = row_outline(public, known.population(public.population or ""))
    return DuckRelation(DuckStore(home / "tables"), rows, outline.schema, outline.caps, outline.neighbours)


# the price ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("many", [1, 3])
@pytest.mark.parametrize("neighbours", [AddRemove(), Replace()], ids=["added", "replaced"])
def test_the_parts_of_the_price_add_up_to_it(many: int, neighbours: Any) -> None:  # noqa: ANN401
    names = [f"text {i}" for i in range(many)]
    rows = Frame.of({name: [] for name in names}, *map(Column, names), neighbours=neighbours)
    bins = dict.fromkeys(names, "found:4")
    for price in ({"rho": "0.3"}, {"epsilon": 1}):
        plan: Any = publication(rows, Wish.of("synthetic", names, delta="1e-6", bins=bins, **price))
        assert plan.privacy.rho == plan.mechanism.rho + sum(each.rho for each in plan.finding)
        assert plan.privacy.delta == sum(each.delta for each in plan.finding) == Fraction(1, 10**7)
        assert {each.groups for each in plan.finding} == {1 if isinstance(neighbours, AddRemove) else 2}
        assert epsilon_at(plan.privacy, "1e-6") <= 1 or "rho" in price
        expected = GaussianKeys(plan.finding[0].rho, plan.finding[0].delta, plan.finding[0].groups)
        assert f"about {expected.threshold:,} people" in " ".join(plan.preview.lines)
        assert plan.mechanism.sizes == (6,) * many  # four keys, what is missing, and others
    for pair in plan.pairs():
        assert plan(pair.right, rng=Seeded(1)).facts["guarantee"]["rho"] == str(plan.privacy.rho)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"bins": {"sex": "found"}}, "'sex' has declared keys"),
        ({"bins": {"pay": "found"}}, "'pay' has bounds"),
        ({"bins": {"job": "found:5000"}}, "at most 1024"),
        ({"bins": {"job": "found:0"}}, "of bins of 'job'"),
        ({"bins": BINS, "delta": None}, "needs a delta"),
        ({"bins": BINS, "never": "job=spy & sex=f"}, "rules name 'job'"),
        ({"bins": BINS, "follows": {"sex": "job: nurse>f"}}, "rules name 'job'"),
        ({"bins": {}, "delta": None}, "has neither declared keys nor bounds"),
    ],
)
def test_what_cannot_be_found_is_refused(parts: dict[str, Any], says: str) -> None:
    rows = Frame.of({"job": [], "sex": [], "pay": []}, JOB, SEX, PAY)
    with pytest.raises(Refusal, match=says):
        publication(rows, Wish.of("synthetic", ("job", "sex", "pay"), **{"rho": 1, "delta": "1e-9", **parts}))


@pytest.mark.parametrize("kind", ["histogram", "ranges", "marginals", "net"])
def test_other_releases_find_no_keys(kind: str) -> None:
    rows = Frame.of({"job": []}, JOB)
    with pytest.raises(Refusal, match="are found for synthetic rows alone"):
        publication(rows, Wish.of(kind, ("job",), epsilon=1, bins=BINS))


def test_rows_of_which_nobody_knows_whose_they_are_have_no_units() -> None:
    rows = replace(Frame.of(people(("nurse", 5)), JOB, SEX, unit="who", max_rows=3), owners=None)
    with pytest.raises(Refusal, match="3 of one unit at most"):
        rows.units("job")


# neighbours, and runs that were interrupted ---------------------------------------------------------------------------

JOBS = st.lists(st.sampled_from(["nurse", "baker", "spy", None]), max_size=60)


@pytest.mark.parametrize("method", ["clique-tree", "mst", "independent", "direct"])
@given(JOBS, st.lists(st.sampled_from(["nurse", "spy", "mole"]), min_size=1, max_size=2))
@settings(max_examples=8, deadline=None)
def test_two_neighbours_that_told_the_same_are_released_alike(
    method: str, others: list[str | None], unit: list[str]
) -> None:
    def frame(jobs: Sequence[str | None]) -> Frame:
        whose = [*range(len(others)), *[99] * len(unit)][: len(jobs)]
        data: Any = {"job": list(jobs), "sex": ["f"] * len(jobs), "who": whose}
        return Frame.of(data, JOB, SEX, unit="who", max_rows=2)

    left, right = frame(others), frame([*others, *unit])
    wish = Wish.of("synthetic", ("job", "sex"), rho=3, delta="0.1", method=method, rows=20, bins=BINS)
    plans: list[Any] = [publication(each, wish) for each in (left, right)]
    assert plans[0] == plans[1]
    once = Told()
    first = plans[0](left, rng=Seeded(1), stages=once)
    assert sum(stage.price for stage in once.all) <= plans[0].privacy.rho
    again = plans[1](right, rng=Seeded(2), stages=Told(tuple(once.all)))
    assert again.facts == first.facts
    assert again.sides == first.sides
    assert "mole" not in str(again.sides)
    one, two = ({**release.content.plain, "rows": 0} for release in (first, again))
    assert one == two


def test_what_was_found_and_sealed_is_not_looked_for_again_and_what_was_lost_neither(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = Frame.of(people(("nurse", 900), ("baker", 500)), JOB, SEX)
    plan: Any = publication(rows, Wish.of("synthetic", ("job", "sex"), rho=2, delta="1e-9", bins=BINS))
    once = Told()
    plan(rows, rng=Seeded(1), stages=once)

    class Later(Told):
        def begin(self, price: Any, left: Any) -> None:  # noqa: ANN401
            assert left >= 0
            self.all.append(Stage(price, None))

    def looked(*_: object) -> None:
        raise AssertionError("keys were looked for again")

    monkeypatch.setattr(Frame, "units", looked)
    sealed = plan(rows, rng=Seeded(2), stages=Later(tuple(once.all[:1])))
    assert sealed.side("job").plain["keys"] == ["baker", "nurse", None]
    lost = Later((Stage(once.all[0].price, None),))
    assert plan(rows, rng=Seeded(2), stages=lost).side("job").plain["keys"] == [None]
    assert once.all[0].price + sum(stage.price for stage in lost.all) == plan.privacy.rho
    with pytest.raises(AssertionError, match="as it began"):
        plan(rows, rng=Seeded(2), stages=Later((Stage(Fraction(1, 7), None),)))


# an audit -------------------------------------------------------------------------------------------------------------

MANY = 80


def audited(rho: Fraction, delta: str) -> OneRun:
    """Each canary has a key of its own, one short of being told by others alone. Risk of a false alarm: 1e-6."""
    names = [f"key {i:02}" for i in range(MANY)]
    wish = Wish.of(
        "synthetic", ("job",), rho=rho, delta=delta, method="independent", bins={"job": f"found:{MANY}"}, rows=50
    )
    empty: Any = publication(Frame.of({"job": []}, JOB), wish)
    before = Counter(dict.fromkeys(names, empty.finding[0].threshold - 1))

    def train(inside: Sequence[int]) -> Any:  # noqa: ANN401
        jobs: Any = [*before.elements(), *(names[place] for place in inside)]
        frame = Frame.of({"job": jobs}, JOB)
        return publication(frame, wish)(frame, rng=Seeded(1))

    def score(made: Any, canary: int) -> float:  # noqa: ANN401
        keys = made.side("job").keys
        if names[canary] not in keys:
            return 0.0
        return float(made.counts(("job",))[keys.index(names[canary])])

    claim = Concentrated("0.001", "1e-8")
    return audit_one_run(train, range(MANY), score, claim, delta="1e-7", alpha="1e-6", rng=Seeded(2))


def test_finding_keeps_its_promise_and_one_that_is_paid_less_is_found_out() -> None:
    assert not audited(Fraction(1, 1000), "1e-7").refuted
    assert audited(Fraction(10**4), "1e-7").refuted
