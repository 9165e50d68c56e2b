"""Releases at an enormous price: every cell of every table is plain DuckDB's count, though cells are missing or odd."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

import duckdb
import pytest
from differential.files import home_of, plain_of
from differential.sheet import World
from differential.world import made
from release.published import counted as known

from discreet.desk import HOME, Desk, ReleaseOrder
from discreet.release import Release, Wish

PRICE = "10000"  # noise of scale 1/1000 is 0 but for a chance of e^-1000; beyond that the samplers have no proof
ROWS = 400
SEEDS = tuple(islice((seed for seed in count() if made(seed, 1).measure == "epsilon"), 2))
VALUES = {"flag": (False, True)}


@dataclass(frozen=True)
class Place:
    """A world, its home, and plain DuckDB."""

    world: World
    home: Path
    plain: duckdb.DuckDBPyConnection

    def values(self, role: str) -> tuple[object, ...]:
        return VALUES.get(role) or self.world.field(role).keys or ()

    def published(self, wish: Wish) -> Release:
        desk = Desk(self.home)
        order = ReleaseOrder.of(self.world.sheets["main"].name, wish)
        return desk.release(HOME, desk.published(HOME, order).entry)


@pytest.fixture(
    scope="module",
    params=[SEEDS[0], pytest.param(SEEDS[1], marks=pytest.mark.slow)],
    ids=lambda seed: f"seed{seed}",
)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    world = made(request.param, ROWS)
    assert world.measure == "epsilon"
    with plain_of(world) as plain:
        yield Place(world, home_of(world, tmp_path_factory.mktemp("published")), plain)


def same_cells(place: Place, release: Release, roles: tuple[str, ...]) -> None:
    """Each cell of declared values holds the rows that have them, whatever their other columns hold."""
    names = tuple(place.world.field(role).name for role in roles)
    chosen = ", ".join(roles)
    plain = {
        row[:-1]: row[-1] for row in place.plain.execute(f"SELECT {chosen}, count(*) FROM main GROUP BY ALL").fetchall()
    }
    seen = 0
    for cell in known(release).table(names).to_pylist():
        key = tuple(cell[name] for name in names)
        if all(value in place.values(role) for role, value in zip(roles, key, strict=True)):
            assert cell["count"] == pytest.approx(plain.get(key, 0), abs=1e-3), (key, cell)
            seen += 1
    expected = 1
    for role in roles:
        expected *= len(place.values(role))
    assert seen == expected


@pytest.mark.parametrize("role", ["key", "code", "flag"])
@pytest.mark.parametrize("method", [None, "identity"])
def test_a_histogram_counts_as_plain_duckdb_does(place: Place, role: str, method: str | None) -> None:
    wish = Wish.of("histogram", (place.world.field(role).name,), epsilon=PRICE, method=method)
    same_cells(place, place.published(wish), (role,))


def test_two_columns_count_as_plain_duckdb_does(place: Place) -> None:
    names = tuple(place.world.field(role).name for role in ("key", "flag"))
    wish = Wish.of("histogram", names, epsilon=PRICE, method="identity")
    same_cells(place, place.published(wish), ("key", "flag"))


def test_all_tables_of_a_release_count_the_same_rows(place: Place) -> None:
    roles = ("key", "code", "flag")
    wish = Wish.of("marginals", tuple(place.world.field(role).name for role in roles), epsilon=PRICE)
    release = place.published(wish)
    for pair in (("key", "code"), ("key", "flag"), ("code", "flag")):
        same_cells(place, release, pair)


def test_bins_hold_what_plain_duckdb_counts_between_their_edges(place: Place) -> None:
    wide = [role for role in ("tame", "wild", "other") if len(range(*place.world.field(role).ends)) >= 3]
    assert wide
    for role in wide:
        name = place.world.field(role).name
        wish = Wish.of("histogram", (name,), epsilon=PRICE, bins={name: 3}, method="identity")
        cells = known(place.published(wish)).table()
        bins = [cell for cell in cells.to_pylist() if cell[f"{name}_from"] is not None]
        assert len(bins) == 3
        for cell in bins:
            low, high = float(cell[f"{name}_from"]), float(cell[f"{name}_to"])
            closed = "<=" if cell is bins[-1] else "<"
            counted = f"SELECT count(*) FROM main WHERE {role}_b >= {low!r} AND {role}_b {closed} {high!r}"
            [(truth,)] = place.plain.execute(counted).fetchall()
            assert cell["count"] == pytest.approx(truth, abs=1e-3), cell
