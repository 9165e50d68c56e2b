# ruff: noqa: E501  # a question stands on one line
"""The most expensive person: what a question costs beside them, and without them.

They have many rows in every table, long texts in them, and fit every public row there is. `python -m fuzz.costly` (in
`tests`) asks made-up questions and prints how many times longer and larger an answer becomes by that one person.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from fuzz import grammar
from fuzz.neighbours import COLUMNS, DECLARED, rows, share_salts, table
from hospital import Rows

from discreet.curator import Curator, Terms
from discreet.curator.custody import Custody, Declared, found_home
from discreet.declared.table import MOST_ROWS_A_UNIT, Table
from discreet.errors import Refusal
from discreet.sql.bounding import counts
from discreet.sql.owned_rows import scanned
from discreet.sql.plan import Measurement
from discreet.sql.render import Located

WHO = 7_777_777
ROWS = 3000  # of them in each table
OTHERS = 20  # times the hospital's own people, so that there is somebody to hide among
ALIKE = 32  # public rows that are alike: two joins make 1,024 rows of one, which is the most
LONG = "ab" * 5000
CAP = 100  # declared: two tables joined have 10,000 rows of one person, three a million

HOSTILE = (
    "SELECT count(*) FROM visits v JOIN wards w ON w.ward = v.ward JOIN regions r ON r.region = v.region",
    "SELECT w.floor, count(*) FROM visits v LEFT JOIN wards w ON w.ward = v.ward GROUP BY 1",
    "SELECT count(*) FROM (SELECT v.patient, w.ward FROM visits v JOIN wards w ON w.ward = v.ward) a JOIN (SELECT l.patient FROM labs l) b ON a.patient = b.patient",
    "SELECT count(*) FROM visits v JOIN labs l ON v.patient = l.patient JOIN patients p ON p.patient = l.patient",
    "SELECT count(*) FROM visits v JOIN visits u ON v.patient = u.patient AND v.cost <> u.cost",
    "SELECT count(*) FROM visits v WHERE EXISTS (SELECT 1 FROM labs l WHERE l.patient = v.patient AND l.value < v.cost)",
    "SELECT count(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward AND w.beds > v.cost)",
    "SELECT count(*) FROM visits WHERE diagnosis LIKE '%" + "ab" * 48 + "b%'",
    "SELECT count(*) FROM visits WHERE diagnosis ILIKE '%A%B%A%B_%B_A%b_' OR position('" + "ab" * 40 + "c' IN diagnosis) > 0",
    "SELECT sum(LEAST(GREATEST(1 / (1 / (1 / (1 / (1 / (1 / (1 / (1 / cost))))))), 0), 9)) FROM visits",
    "SELECT sum(LEAST(GREATEST(" + "power(" * 12 + "cost" + ", -1)" * 12 + ", 0), 9)) FROM visits",
    "SELECT count(*) FROM visits WHERE length(diagnosis || diagnosis || diagnosis || diagnosis || diagnosis) > 9",
    "SELECT n, count(*) FROM (SELECT row_number() OVER (PARTITION BY patient ORDER BY diagnosis, day) AS n FROM visits) t GROUP BY 1",
    "SELECT avg(s) FROM (SELECT sum(cost) OVER (PARTITION BY patient ORDER BY day ROWS BETWEEN 999 PRECEDING AND CURRENT ROW) AS s FROM visits) t",
    "SELECT diagnosis, count(DISTINCT ward) FROM visits GROUP BY 1",
    "SELECT count(*) FROM bills b JOIN stays s ON s.stay = b.stay JOIN visits v ON v.patient = s.patient",
    "SELECT median(cost) FROM visits v JOIN regions r ON r.region = v.region",
)  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """What an engine did for one measurement: seconds of its processors, bytes at once, rows out of one operator."""

    seconds: float
    bytes: int
    rows: int


def _theirs(name: str) -> Rows:
    """Rows of the most expensive person in a table."""
    usual = {"patient": WHO, "member": WHO, "ward": "w1", "region": "north", "diagnosis": LONG, "cost": 0.5}
    made = []
    for number in range(1 if name == "sensors" else ROWS):
        cells = {**usual, "diagnosis": LONG if number % 10 == 0 else f"d{number}", "stay": 900_000 + number}
        filled = {"nights": number % 9, "amount": 1.5, "value": number % 7 * 1.0, "age": 40, "sex": "f", "urgent": True}
        cells |= filled | {"test": "iron", "weight": 1.0, "wage": 1.0, "heat": 1.0, "room": 1}
        made.append(tuple(cells.get(column) for column in COLUMNS[name]))
    return made


def home(folder: Path, *, expensive: bool, others: int = OTHERS) -> Path:
    """A home with twenty times the usual people; public rows that are alike; and somebody whom they all fit, or not."""
    found_home(folder)
    custody, people = Custody(folder), rows(baited=False)
    for name, content in people.items():
        made = list(content)
        if name == "wards":
            made += [("w1", 10, 1)] * (ALIKE - 1)
        elif name == "regions":
            made += [("north", 1.0)] * (ALIKE - 1)
        else:
            owner = next((place for place, column in enumerate(COLUMNS[name]) if column in ("patient", "member")), None)
            for copy in range(1, others if owner is not None else 1):
                made += [_moved(row, owner, copy, name) for row in content]  # type: ignore[arg-type]
            made += _theirs(name) if expensive else []
        custody.add(name, table(name, made), _declared(name))
    return folder


def _moved(row: tuple[object, ...], owner: int, copy: int, name: str) -> tuple[object, ...]:
    cells = list(row)
    if cells[owner] is not None:
        cells[owner] = int(str(cells[owner])) + 1000 * copy
    if name == "stays":
        cells[0] = 10_000 * copy + int(str(cells[0]))
    return tuple(cells)


def _declared(name: str) -> Declared:
    said = DECLARED[name]
    return said if said.public or said.unit == "row" else Declared(**{**said.__dict__, "max_rows": CAP})


class Costly:
    """Two homes that differ in the most expensive person."""

    def __init__(self, folder: Path) -> None:
        homes = [home(folder / name, expensive=name == "more") for name in ("one", "more")]
        share_salts(*homes)
        self.curators = [Curator(each) for each in homes]

    def planned(self, text: str) -> list[Measurement]:
        """What a question measures; refuses as a curator does."""
        return planned(self.curators[0], text)

    def costs(self, measurement: Measurement) -> tuple[Cost, Cost]:
        """What a measurement costs without the person, and with them."""
        one, more = (_cost(curator, measurement) for curator in self.curators)
        return one, more

    def size(self) -> int:
        """How many rows the tables of the larger home have together."""
        return sum(len(content) for content in rows(baited=False).values()) * OTHERS + ROWS * len(COLUMNS)


def planned(curator: Curator, text: str) -> list[Measurement]:
    """What a question measures; refuses as a curator does."""
    found = curator._under(curator.declared())._question(text, Terms())
    return [part.measurement for part in found.every_part]


def _cost(curator: Curator, measurement: Measurement) -> Cost:
    with duckdb.connect(config={"threads": 1}) as connection:
        for each in scanned(measurement.rows):
            file = curator._store.path(each)
            connection.execute(f"ATTACH '{file}' AS \"t_{each.name}\" (READ_ONLY)")
        text = counts(measurement, Located(_where), 5)
        [(_, told)] = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}").fetchall()
    profile: dict[str, Any] = json.loads(told)
    rows = [each["intermediate_rows"] for each in _operators(profile["operator"])]
    return Cost(profile["query"]["cpu_time"], profile["system"]["peak_buffer_memory"], max(rows))


def _where(table: Table) -> str:
    return f'"t_{table.name}".rows'


def _operators(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        yield node
        yield from _operators(node.get("children", []))


def measured(pair: Costly, texts: list[str]) -> Iterator[tuple[str, Cost, Cost]]:
    """Every measurement of those texts that are answered."""
    for text in texts:
        try:
            parts = pair.planned(text)
        except Refusal:
            continue
        for part in parts:
            yield text, *pair.costs(part)


def beyond(one: Cost, more: Cost, size: int) -> bool:
    """Whether one person's rows became more than they may."""
    return more.rows > one.rows + size + MOST_ROWS_A_UNIT


def main(seeds: int) -> None:
    """Print what the most expensive person costs, over made-up questions and the hostile ones."""
    with tempfile.TemporaryDirectory() as folder:
        pair = Costly(Path(folder))
        for name, texts in (
            ("hostile", list(HOSTILE)),
            ("made up", [grammar.question(seed) for seed in range(seeds)]),
        ):
            told = list(measured(pair, texts))
            times = sorted((more.seconds + 0.001) / (one.seconds + 0.001) for _, one, more in told)
            sizes = sorted((more.bytes + 2**20) / (one.bytes + 2**20) for _, one, more in told)
            slowest = max(told, key=lambda each: each[2].seconds - each[1].seconds)
            print(  # noqa: T201
                f"{name}: {len(told)} measurements; time × {statistics.median(times):.2f} (median), {times[-1]:.1f} (worst); "
                f"memory × {statistics.median(sizes):.2f}, {sizes[-1]:.1f}; "
                f"at most {slowest[2].seconds - slowest[1].seconds:.2f} s and "
                f"{max(more.bytes - one.bytes for _, one, more in told) / 2**20:.0f} MiB more"
            )
            for text, one, more in sorted(told, key=lambda each: each[1].seconds - each[2].seconds)[:4]:
                print(f"    {one.seconds:.3f} s → {more.seconds:.3f} s, {one.rows} → {more.rows} rows: {text[:100]}")  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
