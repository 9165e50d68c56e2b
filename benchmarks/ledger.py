"""A ledger of 100,000 entries opens within 0.3 s, signs its head within 10 ms, and is as quick to use as one of 10.

Both homes have the same made-up table; the entries are payments with their answers, and two releases, one at the
beginning and one at the end. Opening is that of a curator in a process that has everything loaded, with the head in
the state folder compared; asking is one new question at a price, from text to answer. What is quick is so because an
entry is checked by a path in a tree of hashes, and the sums come from a sealed checkpoint of at most 256 entries ago;
`verify` believes neither and adds everything up, so its time is that of the length. The shortest of fifteen turns, in
which the two homes take turns.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pyarrow as pa

from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared, found_home
from discreet.desk import HOME, Desk, ReleaseOrder
from discreet.ledger import Event, Spend, SqliteLedger, StoredAnswer, open_ledger, verify
from discreet.privacy import Pure
from discreet.release import Wish

LONG, CHUNK, TURNS = 100_000, 2_000, 15
BARS = {"open": 300, "head": 10}  # milliseconds


def made(folder: Path, entries: int) -> Path:
    """A home whose ledger has about so many entries."""
    found_home(folder)
    table = pa.table({"person": list(range(500)) * 4, "cost": [i % 100 for i in range(2000)]})
    said = Declared(unit="person", epsilon=10**9, max_rows=4, bounds={"cost": (0, 100)})
    Custody(folder).add("visits", table, said)
    desk, ledger = Desk(folder), open_ledger(folder)
    desk.published(HOME, order("first"))
    while (size := ledger.books().size) < entries - 2:
        ledger.append_all(paid(size + 1, min(CHUNK, entries - 2 - size)))
    desk.published(HOME, order("last", 7))
    return folder


def order(name: str, bins: int = 5) -> ReleaseOrder:
    """A histogram."""
    wish = {"kind": "histogram", "columns": ["cost"], "bins": {"cost": bins}, "epsilon": "1", "max_rows": 4}
    return ReleaseOrder.of("visits", Wish.read(wish), name)


def paid(first: int, many: int) -> list[Event]:
    """Payments and their answers."""
    pairs = [
        (Spend("person", Pure(1), "custodian", f"{number:064x}", ["visits"], {"sql": f"SELECT {number}"}), number)
        for number in range(first, first + max(many, 2) - 1, 2)
    ]
    return [event for spend, number in pairs for event in (spend, StoredAnswer(number, spend.question, [["41"]]))]


class Uses:
    """What people do with a home, each timed on its own."""

    def __init__(self, home: Path) -> None:
        self.home, self.desk = home, Desk(home)
        self.ledger, self.asked = open_ledger(home), 0
        self.releases = [each.entry for each in self.desk.releases(HOME)]

    def all(self) -> dict[str, Callable[[], object]]:
        """By what they are called in the table."""
        head = self.desk.head(HOME)
        return {
            "open": lambda: Curator(self.home),
            "head": lambda: self.desk.head(HOME),
            "extension": lambda: self.desk.extension(HOME, head),
            "append": lambda: self.ledger.append(Spend("person", Pure(1), "custodian", "q", [], None)),
            "ask": self.ask,
            "release, the first": lambda: self.desk.release(HOME, self.releases[-1]),
            "release, the last": lambda: self.desk.release(HOME, self.releases[0]),
            "list of releases": lambda: self.desk.releases(HOME),
            "its folder": lambda: self.desk.file(HOME, self.releases[-1], "certificate.json"),
            "20 latest payments": lambda: self.desk.history(HOME, most=20),
        }

    def ask(self) -> object:
        """A question that nobody asked before."""
        self.asked += 1
        sql = f"SELECT count(*) FROM visits WHERE cost > {self.asked}"  # noqa: S608  # planned as any
        return self.desk.asked(HOME, sql, {"epsilon": "1"})


def main() -> None:
    """Print both homes beside each other."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DISCREET_STATE"] = str(Path(folder) / "state")
        homes = [made(Path(folder) / str(size), size) for size in (10, LONG)]
        uses = [Uses(home).all() for home in homes]
        sizes = [SqliteLedger(home / "ledger.db").books().size for home in homes]
        print(f"| milliseconds | {sizes[0]:,} entries | {sizes[1]:,} entries | bar |")
        print("|---|---|---|---|")
        for name in uses[0]:
            times: list[list[float]] = [[], []]
            for _ in range(TURNS):
                for use, taken in zip(uses, times, strict=True):
                    start = perf_counter()
                    use[name]()
                    taken.append(1000 * (perf_counter() - start))
            bar = f"≤ {BARS[name]}" if name in BARS else "as at 10"
            print(f"| {name} | {min(times[0]):.1f} | {min(times[1]):.1f} | {bar} |")
        whole = []
        for home in homes:
            start = perf_counter()
            assert verify(SqliteLedger(home / "ledger.db").rows()).holds
            whole.append(1000 * (perf_counter() - start))
        print(f"| verify, all of it | {whole[0]:.1f} | {whole[1]:,.0f} | |")


if __name__ == "__main__":
    main()
