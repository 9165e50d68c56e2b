"""`discreet demo`: three made-up tables are asked until a budget is spent."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from discreet.cli.options import new_app, option

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.curator import Answer, Curator

app = new_app()

REGIONS = ("north", "south", "east", "west")
REASONS = ("check-up", "asthma", "fracture", "influenza", "migraine", "rash", "a rare disease")
_LABEL = {"source": "made up by discreet demo; nobody in it is real"}
_BAR = 10  # characters of a gauge
_DEARER = "SELECT count(*) FROM visits WHERE cost > "
_CLINIC = "SELECT region, count(*) AS visits, avg(cost) AS cost FROM visits GROUP BY region ORDER BY region"


@app.command()
def demo(
    *,
    write: Annotated[
        Path | None,
        option("FILE", "Write made-up visits to a Parquet file instead, to try things on."),
    ] = None,
    # not DISCREET_HOME: the tour must not move into a home that holds people's data
    home: Annotated[Path | None, option("DIR", "Keep the home of the tour there.")] = None,
) -> None:
    """A tour on generated sample data: questions, prices, error bars, and a budget that runs out."""
    if write is not None:
        typer.echo(f"wrote {write_visits(write)} made-up visits to {write}")
        return
    if home is not None:
        _tour(home, practice=False)  # what is kept may be used for more
        typer.echo(f"the home of the tour is kept in {home}; try discreet budget --home {home}", err=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        _tour(Path(folder) / "home", practice=True)


def _tour(folder: Path, *, practice: bool) -> None:
    from discreet.curator.custody import found_home

    found_home(folder, practice=practice)
    _say("Three tables that this program made up: nobody in them exists.\n")
    curator = _filled(folder)
    _difference(curator)
    _albums(curator)
    _clinic(curator)
    _ledger(folder)
    _say(_promise())


def _say(text: str) -> None:
    Console(highlight=False, markup=False).print(text, soft_wrap=True)  # a terminal without ε gets a question mark


def _filled(folder: Path) -> Curator:
    from discreet.curator import Curator
    from discreet.curator.custody import Custody, Declared

    custody = Custody(folder)
    custody.add("diabetes", people(), Declared(unit="row", epsilon=1, bounds={"ill": (0, 1)}))
    custody.add("survey", takers(), Declared(unit="row", epsilon=1, bounds={"albums": (0, 4)}))
    said = Declared(
        unit="patient",
        epsilon=3,
        delta="1e-8",
        max_rows=8,
        max_groups=4,
        bounds={"cost": (0, 400)},
        keys={"region": ["north", "south", "east", "west"]},
    )
    custody.add("visits", visits(), said)
    return Curator(folder)


def _difference(curator: Curator) -> None:
    """Q(5) − Q(4): the difference of two harmless answers is one person's secret, unless both are noisy."""
    _say("1. Six people, and what two exact answers tell of the fifth: of the first five, 3 have diabetes, of")
    _say("   the first four 2, so she has it. Asked here, at ε = 0.1 each:")
    asked = "SELECT sum(ill) AS n FROM diabetes WHERE number <= "
    answers = [curator.query(asked + str(n), epsilon="0.1") for n in (5, 4)]
    five, four = (float(str(answer.rows[0][0])) for answer in answers)
    margin = _margin(answers[0])
    _say(f"   Q(5) = {five:.0f}, Q(4) = {four:.0f}, each ± {margin:.0f}: the difference says nothing about her.\n")


def _albums(curator: Curator) -> None:
    """The album survey: counts, and a sum to which one person adds at most 4."""
    _say("2. A survey of 400 people: how many albums of one singer do you own, 0 to 4?")
    questions = (
        ("takers", "SELECT count(*) FROM survey", "0.2", 400),
        ("of them female", "SELECT count(*) FROM survey WHERE female", "0.2", 200),
        ("albums in all", "SELECT sum(albums) FROM survey", "0.5", 640),
    )
    for text, sql, price, truth in questions:
        answer = curator.query(sql, epsilon=price)
        value = float(str(answer.rows[0][0]))
        _say(f"   {text:15} {value:5.0f} ± {_margin(answer):<3.0f} at ε = {price}   (in truth {truth})")
    _say("   A real survey never shows the last column.\n")


def _clinic(curator: Curator) -> None:
    """Many visits per patient: caps, groups, averages; the same again free; and the end of the budget."""
    from discreet.errors import OverBudget

    _say("3. A clinic: 2000 patients with up to 8 visits each, and a budget of ε = 3 for each patient.")
    _say(f"   {_CLINIC}")
    answer = curator.query(_CLINIC, epsilon=1)
    spans = [row[2] for row in answer.intervals()]
    for row, span in zip(answer.rows, spans, strict=True):
        low, high = span or (0.0, 0.0)
        _say(f"   {row[0]!s:6} {row[1]!s:>5} visits, mean cost {float(str(row[2])):.0f} ({low:.0f} to {high:.0f})")
    again = curator.query(_CLINIC, epsilon=1)
    _say(f"   Asked again: the same rows{', free' if again.cost is None else ''}. {_gauge(curator)}")
    for cost in range(100, 400, 50):
        try:
            dearer = curator.query(_DEARER + str(cost), epsilon="0.5")
        except OverBudget as refusal:
            _say(f"   More than {cost}? Refused: {refusal.message}.\n")
            return
        _say(f"   {dearer.rows[0][0]!s:>5} visits cost more than {cost}. {_gauge(curator)}")


def _margin(answer: Answer) -> float:
    span = answer.intervals()[0][0]
    return 0.0 if span is None else (span[1] - span[0]) / 2


def _gauge(curator: Curator) -> str:
    from discreet.curator.explain import said
    from discreet.exact import spoken
    from discreet.privacy import Approximate

    budget = curator.budget("patient")
    if not (isinstance(budget.total, Approximate) and isinstance(budget.left, Approximate)):
        return f"left {said(budget.left)}"
    full = round(_BAR * budget.left.epsilon / budget.total.epsilon)
    return f"{'█' * full}{'░' * (_BAR - full)} left ε = {spoken(budget.left.epsilon)}"


def _ledger(folder: Path) -> None:
    from discreet.ledger import SqliteLedger, verify

    ledger = SqliteLedger(folder / "ledger.db", new=False)
    report = verify(ledger.rows())
    ledger.close()
    _say(f"The ledger {'holds' if report.holds else 'does not hold'}: {report.size} entries, every charge in it.")


def _promise() -> str:
    """The guarantee in the words of the person whose data it is."""
    return (
        "Promised to every patient of the clinic: whoever sees all these answers, whatever else they know,\n"
        "finds any conclusion at most e^3 ≈ 20.1 times as likely with that patient's visits in the table\n"
        "as without them, and the other way round, but for a chance of one in 100 million."
    )


# tables about people who do not exist: every number follows from the number of the row -------------------------------


def _table(columns: dict[str, list[object]]) -> pa.Table:
    import pyarrow as pa

    return pa.table(columns).replace_schema_metadata(_LABEL)


def people() -> pa.Table:
    """Six people, three of whom are ill."""
    return _table({"number": [1, 2, 3, 4, 5, 6], "ill": [1, 0, 0, 1, 1, 0]})


def takers(size: int = 400) -> pa.Table:
    """Takers of a survey: half of them female, each with up to four albums."""
    return _table(
        {
            "female": [i % 2 == 0 for i in range(size)],
            "age": [10 + i * 7 % 30 for i in range(size)],
            "albums": [(0, 1, 2, 1, 4)[i % 5] for i in range(size)],
        }
    )


def visits(patients: int = 2000) -> pa.Table:
    """Visits to a clinic, up to eight of each patient."""
    columns: dict[str, list[object]] = {name: [] for name in ("patient", "region", "reason", "cost", "day")}
    first = dt.date(2024, 1, 1)
    for patient in range(patients):
        for visit in range(1 + patient * 7919 % 8):
            mixed = (patient * 104729 + visit * 1299709) % 1_000_003
            columns["patient"].append(patient)
            columns["region"].append(REGIONS[(patient * 31 + visit // 3) % 7 % 4])
            columns["reason"].append(REASONS[6 if mixed % 500 == 0 else mixed % 6])
            columns["cost"].append(round(20 + mixed % 38000 / 100, 2))
            columns["day"].append(first + dt.timedelta(days=mixed % 730))
    return _table(columns)


def write_visits(path: Path) -> int:
    """Write the made-up visits to a Parquet file; returns how many."""
    import pyarrow.parquet as pq

    table = visits()
    pq.write_table(table, path)
    return int(table.num_rows)
