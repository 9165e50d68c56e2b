"""The net mechanism: its net, its law and its loss by enumeration, its theorem on small domains, and every door."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import clinic
import numpy as np
import pytest
from commandline import discreet
from covering import RUNS, Coverage
from doubles import Seeded
from house.test_session_tenant import door
from hypothesis import given
from hypothesis import strategies as st
from mechanisms.chances import fits
from numpy.typing import NDArray

import discreet as dp
from discreet.audit import audit, audit_one_run, enumerated
from discreet.curator.custody import Custody
from discreet.errors import Refusal
from discreet.noise import Entropy
from discreet.privacy import AddRemove, Pure, Replace
from discreet.release import Net, NetRelease, Release
from discreet.release.folder import checked
from discreet.release.net_mechanism import _net, different, radius, ranges_of, rows_for, tables_of, tables_up_to

ONE, HALF = Fraction(1), Fraction(1, 2)
CUBE = (2, 2, 2)
FIVE = (2, 2, 2, 2, 2)


def inside(query: int, cells: int) -> list[int]:
    return [cell for cell in range(cells) if query >> cell & 1]


def answers(net: Net, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.array([counts.ravel()[inside(query, net.cells)].sum() for query in net.queries])


def histogram(seed: int, shape: tuple[int, ...], records: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    return rng.multinomial(records, rng.dirichlet(np.full(math.prod(shape), 0.4))).reshape(shape)


# the net and the questions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "cells"), [(1, 2), (3, 3), (4, 5), (6, 2), (2, 8)])
def test_the_net_is_every_multiset_once(rows: int, cells: int) -> None:
    every = {
        tuple(each.count(cell) for cell in range(cells))
        for each in itertools.combinations_with_replacement(range(cells), rows)
    }
    assert {tuple(each) for each in _net(rows, cells).tolist()} == every
    assert len(_net(rows, cells)) == tables_of(rows, cells) == len(every)


def test_tables_of_columns_are_conjunctions_of_equalities() -> None:
    shape = (2, 3, 2)
    cells = list(itertools.product(*map(range, shape)))
    meant = set()
    for many in (1, 2):
        for axes in itertools.combinations(range(3), many):
            for keys in itertools.product(*(range(shape[axis]) for axis in axes)):
                hit = [all(cell[a] == k for a, k in zip(axes, keys, strict=True)) for cell in cells]
                meant.add(sum(1 << i for i, yes in enumerate(hit) if yes))
    assert set(tables_up_to(shape, 2)) == meant
    assert different(tables_up_to(CUBE, 1), 8) == 3  # of yes and no one is counted


def test_ranges_are_all_of_a_line_but_the_whole() -> None:
    assert len(ranges_of(5)) == 5 * 6 // 2 - 1
    assert {(min(inside(q, 5)), max(inside(q, 5))) for q in ranges_of(5)} == {
        (a, b) for a, b in itertools.combinations_with_replacement(range(5), 2) if (a, b) != (0, 4)
    }


@given(st.integers(2, 32), st.integers(1, 400), st.fractions(Fraction(1, 50), Fraction(1, 2)))
def test_so_many_rows_are_enough_and_one_fewer_is_not_known_to_be(cells: int, queries: int, within: Fraction) -> None:
    rows = rows_for(within, cells, queries)
    assert radius(rows, cells, queries) <= within + Fraction(1, 10**12)
    assert rows == 1 or radius(rows - 1, cells, queries) > within - Fraction(1, 10**12)


@pytest.mark.parametrize(("shape", "rows"), [((2, 2), 5), (CUBE, 4), ((8,), 6), (FIVE, 3)])
def test_a_table_of_the_net_is_as_near_as_the_lemma_says(shape: tuple[int, ...], rows: int) -> None:
    """Of random and of lopsided histograms: the nearest table's worst answer, by looking at all of them."""
    cells = math.prod(shape)
    queries = tables_up_to(shape, 2) if len(shape) > 1 else ranges_of(cells)
    net = Net(ONE, shape, queries, rows)
    masks = np.array([[query >> cell & 1 for cell in range(cells)] for query in queries])
    told = _net(rows, cells) @ masks.T / rows
    for seed in range(12):
        counts = histogram(seed, shape, 997) if seed else np.full(shape, 7)
        shares = answers(net, counts) / counts.sum()
        assert np.abs(told - shares).max(axis=1).min() <= float(net.radius) + 1e-12


# privacy --------------------------------------------------------------------------------------------------------------

SMALL = [
    Net(ONE, (3,), (1, 2, 4), 3),
    Net(Fraction(2), (2, 2), tables_up_to((2, 2), 2), 4, most=2),
    Net(HALF, (2, 2), (3, 5, 6), 2, 2, neighbours=Replace("person")),
    Net(Fraction(3), (4,), ranges_of(4), 3, ratio=HALF),
]


@pytest.mark.parametrize("net", SMALL, ids=repr)
@pytest.mark.parametrize("records", [1, 4, 40])
def test_the_choice_loses_no_more_than_its_share_by_enumeration(net: Net, records: int) -> None:
    """Every table, every probability, whatever total was bought: pure, and with no δ."""
    share = (1 - net.ratio) * net.epsilon
    found = enumerated(lambda counts: net.law(counts, records), net.pairs(), Pure(share))
    assert found.kept is not False
    assert found.epsilon is not None
    assert found.epsilon.down > 0
    assert found.epsilon.up <= share * (1 + Fraction(1, 10**12))


def test_the_law_is_that_of_the_exponential_mechanism_on_worst_answers() -> None:
    net, counts, records = SMALL[1], np.array([[5, 1], [0, 2]]), 9
    weights = []
    for rows in itertools.product(range(5), repeat=4):
        if sum(rows) == 4:
            off = max(
                abs(Fraction(sum(rows[c] for c in inside(q, 4)) * records, 4) - sum(counts.ravel()[inside(q, 4)]))
                for q in net.queries
            )
            rate = (1 - net.ratio) * net.epsilon / (2 * net.most)
            weights.append(math.exp(-float(rate * off)))
    meant = sorted(weight / sum(weights) for weight in weights)
    assert sorted(float(each.up) for each in net.law(counts, records)) == pytest.approx(meant)


def test_what_is_drawn_follows_the_law() -> None:
    net, counts = Net(Fraction(120), (3,), (1, 2, 4), 2, ratio=Fraction(9, 10)), np.array([3, 1, 1])
    rng, runs = Seeded(5), 2500
    drawn = [net(counts, rng=rng) for _ in range(runs)]
    assert {each.records for each in drawn} == {5}  # at this price the total is exact
    law = {tuple(rows): float(p.up) for rows, p in zip(_net(2, 3).tolist(), net.law(counts, 5), strict=True)}
    assert fits([each.rows for each in drawn], law)
    for odds in (Fraction(7, 10), Fraction(13, 10)):
        wrong = replace(net, epsilon=net.epsilon * odds).law(counts, 5)
        assert not fits([each.rows for each in drawn], dict(zip(law, (float(p.up) for p in wrong), strict=True)))


@pytest.mark.parametrize("net", SMALL, ids=repr)
def test_the_number_of_records_has_the_noise_that_its_share_pays(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as a unit's records move it, over the scale, is the share; and its error is that of this noise."""
    asked: list[Fraction] = []

    def laplace(scale: Fraction, *, rng: Entropy) -> int:  # noqa: ARG001
        asked.append(scale)
        return 0

    monkeypatch.setattr("discreet.release.net_mechanism.laplace", laplace)
    told = net(np.full(net.shape, 3), rng=Seeded(1))
    moved = net.most if net.neighbours == AddRemove() else 2 * net.most
    assert told.records == 3 * net.cells
    assert [moved / scale for scale in asked] == [net.ratio * net.epsilon]
    q = math.exp(-1 / float(asked[0]))
    for confidence in (Fraction(1, 2), Fraction(95, 100), Fraction(9999, 10000)):
        beyond = (far for far in itertools.count() if 2 * q ** (far + 1) / (1 + q) <= float(1 - confidence))
        assert net.records_error(confidence) == max(1, next(beyond))


@pytest.mark.parametrize("net", SMALL, ids=repr)
def test_it_passes_its_audit(net: Net) -> None:
    assert not audit(net, samples=400, alpha="1e-9", rng=Seeded(3)).refuted


def canaries(claim: Fraction, actual: Fraction) -> Any:  # noqa: ANN401
    """One canary in each of sixteen cells; who guesses looks which cells have rows."""
    net = Net(actual, (16,), tuple(1 << cell for cell in range(16)), 8)

    def train(there: Sequence[int]) -> tuple[int, ...]:
        return net(np.bincount(np.array(there, dtype=np.int64), minlength=16), rng=Seeded(1)).rows

    return audit_one_run(train, range(16), lambda rows, cell: rows[cell], Pure(claim), rng=Seeded(22))


def test_one_run_with_canaries_refutes_only_a_false_claim() -> None:
    assert not canaries(ONE, ONE).refuted
    assert canaries(HALF, Fraction(10**4)).refuted


# the theorem ----------------------------------------------------------------------------------------------------------


THEOREM = [
    Net(ONE, (2, 2), tables_up_to((2, 2), 2), 10),
    Net(ONE, CUBE, tables_up_to(CUBE, 2), 5),
    Net(ONE, (8,), ranges_of(8), 5),
    Net(ONE, FIVE, tables_up_to(FIVE, 2), 3),
]


def kept(net: Net, runs: int, *levels: Fraction) -> list[Coverage]:
    """How often all answers of a table are within the reach that is told with it, at each of these confidences."""
    rng, hits = Seeded(11), [0] * len(levels)
    masks = np.array([[query >> cell & 1 for cell in range(net.cells)] for query in net.queries])
    reaches = lru_cache(net.reach)
    for run in range(runs):
        counts = histogram(run % 5, net.shape, 200)
        told = net(counts, rng=rng)
        off = int(np.abs(masks @ np.array(told.rows) * told.records - net.rows * (masks @ counts.ravel())).max())
        for i, level in enumerate(levels):
            hits[i] += Fraction(off, net.rows) <= reaches(told.records, level)
    return [Coverage(each, runs) for each in hits]


@pytest.mark.parametrize("net", THEOREM, ids=["4 cells", "8 cells", "a line of 8", "32 cells"])
def test_it_meets_its_theorem(net: Net) -> None:
    half, usual = kept(net, 100, HALF, Fraction(95, 100))
    assert not half.refuted(0.5)
    assert not usual.refuted(0.95)


@pytest.mark.slow
@pytest.mark.parametrize("net", THEOREM, ids=["4 cells", "8 cells", "a line of 8", "32 cells"])
def test_it_meets_its_theorem_in_many_runs(net: Net) -> None:
    half, usual = kept(net, RUNS if net.cells < 32 else 300, HALF, Fraction(95, 100))
    assert not half.refuted(0.5)
    assert not usual.refuted(0.95)


def test_where_no_noise_is_left_the_reach_is_that_of_the_net() -> None:
    """Fifty-six records, seven in each cell, by three rows: half of them is no number, and the reach covers that."""
    net = Net(Fraction(10**6), CUBE, tables_up_to(CUBE, 2), 3)
    counts = np.full(CUBE, 7)
    told = net(counts, rng=Seeded(1))
    off = max(
        abs(told.records * sum(np.array(told.rows)[inside(q, 8)]) / 3 - true)
        for q, true in zip(net.queries, answers(net, counts), strict=True)
    )
    assert told.records == 56
    assert 2 < off <= net.reach(told.records)


def test_the_excess_over_the_nearest_table_is_no_larger_than_its_error_and_not_much_smaller() -> None:
    """The exponential mechanism's own theorem, on the finite net: exact, so that a fifth of it would be refuted."""
    net, counts, rng, runs = Net(ONE, CUBE, tables_up_to(CUBE, 2), 3), histogram(2, CUBE, 60), Seeded(4), 300
    hits = fewer = 0
    for _ in range(runs):
        told = net(counts, rng=rng)
        scores = net.scores(counts, told.records)
        chosen = scores[np.flatnonzero((_net(3, 8) == np.array(told.rows)).all(axis=1))[0]]
        excess = Fraction(int(scores.max() - chosen), net.rows)
        hits, fewer = hits + (excess <= net.error()), fewer + (excess <= net.error() / 5)
    assert not Coverage(hits, runs).refuted(0.95)
    assert Coverage(fewer, runs).refuted(0.95)


def test_what_is_too_large_is_refused_with_its_size() -> None:
    with pytest.raises(
        Refusal, match=r"the net has 77,535,155,627,160 tables of 20 rows over 32 cells.*at most 5 rows"
    ):
        Net(ONE, FIVE, tables_up_to(FIVE, 2), 20)
    with pytest.raises(Refusal, match="a net is over 2 to 32 cells, got 64"):
        Net(ONE, (64,), (1,), 1)
    for queries in ((), (0,), (15,), (3, 3), ("3",), [3]):
        with pytest.raises(Refusal, match="expected queries"):
            Net(ONE, (4,), queries, 2)  # type: ignore[arg-type]


# doors ----------------------------------------------------------------------------------------------------------------

WISH: dict[str, Any] = {"columns": ["region"], "epsilon": "2", "max_rows": 3}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clinic.home(tmp_path_factory.mktemp("net") / "home", epsilon=10**12)


def test_it_is_published_read_and_certified(home: Path, tmp_path: Path) -> None:
    db = dp.open(home)
    offer = db.offer("visits", kind="net", **WISH)
    assert offer.error is not None
    assert "of all records" in offer.preview.about
    made = db.publish("visits", kind="net", **WISH)
    release = db.release(made.entry)
    assert isinstance(release, NetRelease)
    rows = release.to_arrow()["rows"]
    assert (rows.num_rows, rows.column_names) == (sum(release.content.rows), ["region"])
    assert Release.from_json(release.to_json()) == release
    north, total = release.range(region="north"), release.total
    assert north.interval() == (north.value - release.content.reach, north.value + release.content.reach)
    assert total.interval() == (total.value - release.content.away, total.value + release.content.away)
    assert not release.range(region=["north", "south"]).barred  # of two keys, which was no question of its family
    db.certified(made.entry, tmp_path / "out")
    assert checked(tmp_path / "out")
    assert db.publish("visits", kind="net", **WISH).entry == made.entry  # bought once


def test_at_a_great_price_it_is_the_nearest_table(home: Path) -> None:
    release = dp.open(home).release(
        dp.open(home).publish("visits", kind="net", columns=["region"], epsilon=10**7, parts={"within": "0.1"}).entry
    )
    assert isinstance(release, NetRelease)
    visits = clinic.visits().to_pylist()
    for region in clinic.REGIONS:
        true = sum(row["region"] == region for row in visits)
        assert abs(release.range(region=region).value - true) <= 0.1 * len(visits) + 2


def test_ranges_of_a_column_of_numbers_have_error_bars(home: Path) -> None:
    db = dp.open(home)
    release = db.release(db.publish("visits", kind="net", columns=["cost"], epsilon=3, bins={"cost": 4}).entry)
    assert release.range(cost=(250, 750)).barred
    assert not release.range(cost=(200, 750)).barred
    assert release.pictures()


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"parts": {"within": "0.1", "rows": 3}}, "or how near they are to be"),
        ({"ways": 2}, "there are 1 columns"),
        ({"parts": {"within": "2"}}, "within"),
        ({"parts": {"rows": 0}}, "rows"),
        ({"parts": {"rows": 10**4}}, "the net has 50,015,001 tables"),
        ({"columns": ["cost"], "bins": {"cost": 40}}, "over 2 to 32 cells, and this has 40"),
        ({"columns": ["cost"], "bins": {"cost": "private"}}, "chosen privately"),
    ],
)
def test_what_no_net_can_be_is_refused_before_it_is_paid(home: Path, wish: dict[str, Any], why: str) -> None:
    db = dp.open(home)
    before = db.budget("patient").spent
    with pytest.raises(Refusal, match=why):
        db.publish("visits", kind="net", **{**WISH, **wish})
    assert db.budget("patient").spent == before


def test_the_command_line_has_it(home: Path, tmp_path: Path) -> None:
    asked = ("release", "net", "visits", "--columns", "region", "--epsilon", "1", "--rows", "5", "--home", str(home))
    assert "off by at most" in discreet(tmp_path, *asked, "--dry-run").stdout
    made = discreet(tmp_path, *asked, "--out", "out", "--format", "json")
    assert made.returncode == 0, made.stderr
    body = json.loads((tmp_path / "out" / "release.json").read_text())
    assert sum(body["net"]["rows"]) == 5
    assert "holds" in discreet(tmp_path, "release", "verify", "out").stdout


def test_http_has_it(home: Path) -> None:
    token = Custody(home).let_in("ann", "analyst")
    with door(home) as url:
        there = dp.connect(url, token)
        made = there.publish("visits", kind="net", columns=["region"], epsilon=1, parts={"rows": 6})
        release = there.release(made.entry)
    assert isinstance(release, NetRelease)
    assert sum(release.content.rows) == 6
