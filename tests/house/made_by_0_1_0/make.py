"""Write what version 0.1.0 wrote: `python make.py FOLDER` with a Python in which discreet 0.1.0 is installed.

FOLDER gets `made.tar.xz`: a home with its ledger, folders of releases, surveys, a person's device, and in
`expected.json` what 0.1.0 said of them. All rows are made here, from a seed.
"""

# mypy: ignore-errors
# ruff: noqa: ANN401  # the names that 0.1.0 had

from __future__ import annotations

import json
import random
import subprocess
import sys
import tarfile
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
from discreet.local.batch import fresh_ids, packed
from pyarrow import parquet

import discreet
from discreet.ledger import Hold, SqliteLedger
from discreet.local import Collector, OptimizedUnary, Rappor, Respondent, Response, Task, drafted
from discreet.privacy import Pure

WARDS = ("east", "north", "south")
OPENS, CLOSES = "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
QUESTIONS = (
    "SELECT count(*) FROM visits",
    "SELECT ward, count(*) AS n, sum(cost) AS total FROM visits GROUP BY ward",
    "SELECT avg(cost) FROM visits WHERE ward = 'north'",
)


def main(folder: Path) -> None:
    """Everything, in one archive."""
    if discreet.__version__ != "0.1.0":
        sys.exit(f"this is for discreet 0.1.0, not {discreet.__version__}")
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        said = {**curated(made), **surveyed(made)}
        (made / "expected.json").write_text(json.dumps(said, indent=1, sort_keys=True), encoding="utf-8")
        (made / "visits.parquet").unlink()
        with tarfile.open(folder / "made.tar.xz", "w:xz", preset=9) as archive:
            for path in sorted(made.rglob("*")):
                archive.add(path, str(path.relative_to(made)), recursive=False, filter=nobodys)


def nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """An entry that says of nobody's machine when and by whom it was made."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def curated(made: Path) -> dict[str, Any]:
    """A home with two tables that are asked about, one that is public, a population on hold and one that is closed."""
    home, draw = made / "home", random.Random(1)
    rows = [(i % 150, draw.choice(WARDS), draw.randrange(5000), draw.randrange(100)) for i in range(300)]
    columns = dict(zip(("patient", "ward", "cost", "age"), zip(*rows, strict=True), strict=True))
    parquet.write_table(pa.table(columns), made / "visits.parquet")
    source, keys = str(made / "visits.parquet"), f"ward={','.join(WARDS)}"
    described = ("--max-rows", "3", "--bounds", "cost=0:5000", "--bounds", "age=0:100", "--keys", keys)
    tell(home, "init")
    tell(home, "add", "visits", source, "--unit", "patient", *described, "--epsilon", "20", "--delta", "1e-6")
    tell(home, "user", "add", "ann", "--allowance", "3", "--grant", "visits")
    tell(home, "add", "costs", source, "--unit", "row", *described, "--rho", "2", "--population", "bills")
    tell(home, "add", "staff", source, "--unit", "row", "--population", "staff", "--epsilon", "1")
    tell(home, "add", "pupils", source, "--unit", "row", "--population", "pupils", "--epsilon", "1")
    tell(home, "add", "wards", source, "--public")
    answers = [json.loads(tell(home, "query", sql, "--epsilon", "1", "--format", "json")) for sql in QUESTIONS]
    tell(home, "query", "SELECT sum(cost) FROM costs", "--rho", "0.1")
    tell(home, "query", "SELECT count(*) FROM pupils", "--epsilon", "0.25")
    tell(home, "user", "add", "bob")
    tell(home, "user", "revoke", "bob")
    out = made / "releases"
    out.mkdir()
    for kind, *wanted in (
        ("histogram", "--columns", "ward"),
        ("ranges", "--columns", "cost", "--bins", "cost=16"),
        ("ranges", "--columns", "cost,age", "--bins", "cost=8", "--bins", "age=8"),
        ("marginals", "--columns", "ward,cost", "--bins", "cost=4"),
    ):
        name = f"{kind}-{wanted[1].replace(',', '-')}"
        tell(home, "release", kind, "visits", *wanted, "--epsilon", "1", "--name", name, "--out", str(out / name))
    ledger = SqliteLedger(home / "ledger.db", new=False)
    ledger.append(Hold("staff", held=True))
    ledger.close()
    tell(home, "retire", "pupils")
    head = json.loads(tell(home, "ledger", "head"))
    return {"answers": answers, "budget": json.loads(tell(home, "budget", "--format", "json")), "head": head}


def tell(home: Path, *words: str) -> str:
    """What the command line of 0.1.0 prints."""
    command = [sys.executable, "-m", "discreet", *words, "--home", str(home)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def surveyed(made: Path) -> dict[str, Any]:
    """A survey that has results, one that is open, one of texts and one for invited people; and somebody's device."""
    home, device = made / "home", Respondent(made / "device", limit=Pure(Fraction(40)))
    collector = Collector(home)
    over = collector.publish(task("How many albums?", OptimizedUnary(Fraction(1), 3), ("none", "one", "more"), 20))
    collector.receive(over.id, crowd(over, [0, 1, 2] * 20))
    handover = collector.rotate()
    waiting = collector.publish(task("Have you ever stolen one?", Response(Fraction(1), 2), ("no", "yes"), 40))
    early = crowd(waiting, [0, 1] * 15)
    collector.receive(waiting.id, early)
    texts = collector.publish(task("Which was your first?", Rappor(Fraction(4), bits=16, cohorts=2), (), 10, reports=3))
    invited = collector.publish(task("And with a ticket?", Response(Fraction(1), 2), ("no", "yes"), 2, invited=True))
    ticket, _ = collector.invite(invited.id, 2)
    device.trust(waiting.document, waiting.id)
    sent = [device.answer(waiting, 1), device.answer(texts, "Help!"), device.answer(texts, "Help!", afresh=True)]
    collector.receive(texts.id, sent[1].body)
    collector.close(over.id)
    results = collector.collect(over.id)
    names = {"over": over.id, "waiting": waiting.id, "texts": texts.id, "invited": invited.id}
    return {
        "surveys": names,
        "documents": {name: collector.task(each).document.hex() for name, each in names.items()},
        "first_key": over.key,
        "handover": handover.body,
        "results": results.document.hex(),
        "early": early.hex(),
        "ticket": ticket,
        "sent": [each.body.hex() for each in sent],
        "lost": str(device.lost().epsilon),
        "counts": {name: collector.standing(each).counts for name, each in names.items()},
    }


def task(question: str, client: Any, answers: tuple[str, ...], minimum: int, **more: Any) -> Task:
    """A draft that is open for a long time."""
    return drafted(question, client, answers, opens=OPENS, closes=CLOSES, minimum=minimum, **more)


def crowd(asked: Task, values: list[int]) -> bytes:
    """An upload of what many people say."""
    return packed(asked, fresh_ids(len(values)), asked.client.batch(values))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
