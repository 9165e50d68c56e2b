"""A made-up town, declared for what a hospital lacks: odd grids, absent caps, links, quoted names, two populations.

Nobody in it is real, and there are no rows of people at all; two public tables have a few.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pyarrow as pa

from discreet.declared.column import Column
from discreet.declared.group_key import Key, Type
from discreet.declared.table import Schema, Table


def _column(
    name: str,
    kind: Type,
    bounds: tuple[int | str, int | str] | None = None,
    step: int | str | None = None,
    keys: Sequence[Key] | None = None,
) -> Column:
    """One column; a whole number moves by 1, as a custodian's declaration says."""
    ends = None if bounds is None else (Fraction(bounds[0]), Fraction(bounds[1]))
    usual = Fraction(1) if kind is Type.BIGINT else None
    return Column(name, kind, ends, usual if step is None else Fraction(step), None if keys is None else tuple(keys))


_PERSON = _column("person", Type.VARCHAR)

TRIPS = Table(  # caps that are small, and grids with an odd and an even number of steps
    "trips",
    (
        _PERSON,
        _column("nr", Type.BIGINT),
        _column("odd", Type.BIGINT, (0, 7)),
        _column("even", Type.BIGINT, (0, 8)),
        _column("below", Type.BIGINT, (-9, -2)),
        _column("across", Type.BIGINT, (-3, 10)),
        _column("one", Type.BIGINT, (5, 6)),
        _column("fare", Type.DOUBLE, (0, "100.5"), "0.5"),
        _column("coarse", Type.DOUBLE, (1, 20), "0.75"),  # bounds that are no whole steps
        _column("thirds", Type.DOUBLE, (0, 1), "1/3"),
        _column("tip", Type.DOUBLE, (0, 50)),  # no step
        _column("huge", Type.DOUBLE, (0, 10**12)),
        _column("tiny", Type.DOUBLE, (0, "0.001")),
        _column("free", Type.DOUBLE),  # no bounds
        _column("mode", Type.VARCHAR, keys=("bus", "tram", "O'Neill's cab")),
        _column("line", Type.BIGINT, keys=(1, 2, 7)),
        _column("half", Type.DOUBLE, keys=("0.5", "1.5")),
        _column("night", Type.BOOLEAN),
        _column("day", Type.DATE, (19_000, 19_365)),
        _column("at", Type.TIMESTAMP, (1_700_000_000, 1_700_100_000)),
        _column("holiday", Type.DATE, keys=("2024-12-25", "2024-12-26")),
        _column("note", Type.VARCHAR),
        _column("stop", Type.VARCHAR),
    ),
    "person",
    "person",
    max_rows=12,
    max_groups=4,
)
BILLS = Table(  # no cap on rows, one group each: what a custodian gets who declares no caps
    "bills",
    (_PERSON, _column("amount", Type.DOUBLE, (0, 10), "0.01"), _column("kind", Type.VARCHAR, keys=("a", "b"))),
    "person",
    "person",
)
STAMPS = Table(  # rows that find their owners through trips
    "stamps",
    (
        _column("trip", Type.BIGINT),
        _column("price", Type.BIGINT, (0, 5)),
        _column("colour", Type.VARCHAR, keys=("red", "blue")),
        _PERSON,
    ),
    "person",
    "person",
    max_rows=6,
    max_groups=2,
    version=3,
    link=("trip", "trips", "nr"),
)
QUOTED = Table(  # names that need quotes, and two that differ in upper and lower case only
    "Odd Names",
    (
        _PERSON,
        _column("Total Cost", Type.DOUBLE, (0, 9), "0.1"),
        _column("order", Type.BIGINT, (1, 4)),
        _column('say "hi"', Type.VARCHAR, keys=("x", "Y")),
        _column("größe", Type.BIGINT, (0, 3)),
    ),
    "person",
    "person",
    max_rows=2,
    max_groups=1,
)
READINGS = Table(  # each row its own unit
    "readings",
    (_column("level", Type.BIGINT, (0, 9)), _column("site", Type.VARCHAR, keys=("up", "down"))),
    "reading",
)
SHOPS = Table(  # another population
    "shops", (_column("shop", Type.BIGINT), _column("size", Type.BIGINT, (1, 9))), "shop", "shop", 1, 1
)
STOPS = Table("stops", (_column("stop", Type.VARCHAR), _column("zone", Type.BIGINT), _column("area", Type.VARCHAR)))
FARES = Table("fares", (_column("zone", Type.BIGINT), _column("class", Type.VARCHAR), _column("cents", Type.BIGINT)))


def elsewhere() -> tuple[Schema, dict[str, pa.Table]]:
    """The declarations, and the rows of the public tables: three fares have the same zone."""
    tables = (TRIPS, BILLS, STAMPS, QUOTED, READINGS, SHOPS, STOPS, FARES)
    stops = {"stop": ["s1", "s2", "s3"], "zone": pa.array([1, 1, 2], pa.int64()), "area": ["in", "in", "out"]}
    fares = {
        "zone": pa.array([1, 1, 1, 2], pa.int64()),
        "class": ["a", "b", "c", "a"],
        "cents": pa.array([100, 200, 300, 400], pa.int64()),
    }
    return Schema({table.name: table for table in tables}), {"stops": pa.table(stops), "fares": pa.table(fares)}
