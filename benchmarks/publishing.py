"""A release of 20 million rows takes as long as its counting queries; all else is as it is for a thousand rows.

`counting` is the engine's part alone: the same SELECT … GROUP BY over the same bounded rows, nothing added. `rest` is
what the release takes beyond it: planning, two durable entries in the ledger, noise, fit, and keeping the result. Five
of each in turns, medians; the rest at a thousand rows stands beside it. Rows as units, and users as units with at most
20 rows each, which the engine has to bound.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from benchmarks.query import load, seconds, table
from benchmarks.visits import REGIONS, write
from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared, found_home
from discreet.desk import HOME, Desk, ReleaseOrder
from discreet.engines import DuckRelation, DuckStore
from discreet.release import Publication, Wish

ROWS, FEW, TIMES = 20_000_000, 1_000, 5
KINDS: dict[str, dict[str, object]] = {
    "histogram of cost, 64 bins": {"kind": "histogram", "columns": ("cost",)},
    "ranges of cost, 1024 bins": {"kind": "ranges", "columns": ("cost",)},
    "plane: region by cost": {"kind": "histogram", "columns": ("region", "cost")},
    "marginals: region, ward, cost": {"kind": "marginals", "columns": ("region", "ward", "cost")},
}


def founded(folder: Path, rows: int) -> Path:
    """A home with so many visits, by users and as rows of their own."""
    source = folder / "visits.parquet"
    write(source, rows)
    found_home(folder / "home")
    usual = {"epsilon": 10**6, "bounds": {"cost": (0, 3000)}, "keys": {"region": REGIONS}}
    for name, own in {"visits": {"unit": "user_id", "max_rows": 20}, "single": {"unit": "row"}}.items():
        Custody(folder / "home").add(name, str(source), Declared(**usual, **own))  # type: ignore[arg-type]
    return folder / "home"


def order(table_name: str, kind: Mapping[str, object], turn: int) -> ReleaseOrder:
    """A release that was not bought before: its price is another each time."""
    price = Fraction(1) + Fraction(turn, 10**6)
    source = f"SELECT region, substr(region, 2, 1) = '0' AS ward, cost FROM {table_name}"  # noqa: S608
    return ReleaseOrder.of(source, Wish.read({**kind, "epsilon": price}))


def counting(home: Path, wanted: ReleaseOrder) -> float:
    """Seconds of the counting queries alone."""
    offer = Curator(home).offered(wanted.wanted)
    what, publication = offer.run, offer.run.mechanism
    assert isinstance(publication, Publication)  # it is what the order asks for
    store = DuckStore(home / "tables")
    relation = DuckRelation(store, what.rows, what.outline.schema, what.outline.caps, what.outline.neighbours)
    axes = dict(zip((column.name for column in publication.columns), publication.axes, strict=True))
    with store.opened([what.rows]):
        return seconds(lambda: [relation.counts([axes[name] for name in names]) for names in publication.tables])


def measured(home: Path, name: str, kind: Mapping[str, object]) -> tuple[float, float]:
    """Seconds of a whole release, and of its counting queries; medians of turns after one that does not count."""
    desk = Desk(home)
    taken: list[tuple[float, float]] = []
    for turn in range(TIMES + 1):
        wanted = order(name, kind, turn)
        taken.append((seconds(lambda wanted=wanted: desk.published(HOME, wanted)), counting(home, wanted)))  # type: ignore[misc]
    whole, counted = zip(*taken[1:], strict=True)
    return statistics.median(whole), statistics.median(counted)


def compared(rows: int) -> Iterator[Sequence[str]]:
    """Each kind of release, by rows and by users."""
    with tempfile.TemporaryDirectory() as many, tempfile.TemporaryDirectory() as few:
        large, small = founded(Path(many), rows), founded(Path(few), FEW)
        for name, unit in {"single": "row", "visits": "user"}.items():
            for what, kind in KINDS.items():
                whole, counted = measured(large, name, kind)
                less, least = measured(small, name, kind)
                rest = 1000 * (whole - counted)
                yield (
                    what,
                    unit,
                    f"{whole:.2f} s",
                    f"{counted:.2f} s",
                    f"{rest:.0f} ms",
                    f"{1000 * (less - least):.0f} ms",
                    load(),
                )


def main(rows: int) -> None:
    """Print the table."""
    heads = (f"{rows:,} rows", "unit", "release", "counting", "rest", f"rest at {FEW:,} rows", "load")
    print(table(heads, list(compared(rows))))


if __name__ == "__main__":
    given = argparse.ArgumentParser()
    given.add_argument("--rows", type=int, default=ROWS)
    main(given.parse_args().rows)
