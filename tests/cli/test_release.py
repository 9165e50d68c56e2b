"""`discreet release` as a person meets it: paid once, checked by anybody, public afterwards; and refusals before."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bare import BARE
from commandline import discreet

from discreet.cli.publishing import MADE_UP

ADD = [
    "--unit", "patient", "--max-rows", "2", "--epsilon", "3", "--delta", "1e-6",
    "--bounds", "age=0:100", "--bounds", "cost=0:20000", "--keys", "region=north,south",
]  # fmt: skip
AGES = ["release", "histogram", "visits", "--columns", "age", "--bins", "age=10", "--epsilon", "0.5"]
TABLES = ["release", "marginals", "visits", "--columns", "age,region,urgent", "--bins", "age=4", "--epsilon", "0.5"]


def process(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "discreet", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False, cwd=folder, env=BARE)


def said(folder: Path, *arguments: str) -> str:
    done = discreet(folder, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(folder: Path, *arguments: str) -> str:
    done = discreet(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    return done.stderr


def rows(many: int, *, age: int | None = None, constant: bool = False) -> pa.Table:
    ages = [age if constant else place * 7 % 101 for place in range(many)]
    return pa.table(
        {
            "patient": pa.array([place // 2 for place in range(many)], pa.int64()),
            "age": pa.array(ages, pa.int64()),
            "cost": pa.array([place * 3.25 % 500 for place in range(many)], pa.float64()),
            "region": pa.array(["north" if place % 3 else "south" for place in range(many)], pa.string()),
            "urgent": pa.array([place % 5 == 0 for place in range(many)], pa.bool_()),
            "note": pa.array([f"note {place}" for place in range(many)], pa.string()),
        }
    )


def settled(folder: Path, table: pa.Table) -> Path:
    pq.write_table(table, folder / "visits.parquet")
    said(folder, "init")
    said(folder, "add", "visits", "visits.parquet", *ADD)
    return folder


def spent(folder: Path) -> str:
    [row] = json.loads(said(folder, "budget", "--format", "json"))
    return str(row["spent"])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return settled(tmp_path_factory.mktemp("publisher"), rows(600))


@pytest.fixture(scope="module")
def published(place: Path) -> dict[str, object]:
    found = json.loads(said(place, *AGES, "--name", "Ages", "--out", "ages", "--format", "json"))
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
def test_from_a_home_to_a_public_table_in_processes_of_their_own(tmp_path: Path) -> None:
    pq.write_table(rows(300), tmp_path / "visits.parquet")

    def done(*arguments: str) -> str:
        found = process(tmp_path, *arguments)
        assert found.returncode == 0, found.stderr
        return found.stdout

    def not_done(*arguments: str) -> str:
        found = process(tmp_path, *arguments)
        assert (found.returncode, found.stdout) == (2, "")
        assert "Traceback" not in found.stderr
        return found.stderr

    done("init")
    done("add", "visits", "visits.parquet", *ADD)
    assert "cost epsilon 0.5; left epsilon 2.5" in done(*AGES, "--out", "ages")
    assert "cost free" in done(*AGES, "--out", "again")
    assert "2.5 of 3 is left" in not_done(*AGES[:-1], "2.75", "--out", "dear")
    assert not (tmp_path / "dear").exists()
    assert "holds" in done("release", "verify", "again")
    (tmp_path / "again" / "release.json").write_text("{}", encoding="utf-8")
    assert "refused: " in not_done("release", "verify", "again")
    done("add", "ages", "ages", "--public")
    assert len(json.loads(done("query", "SELECT age_from, count FROM ages", "--format", "json"))["rows"]) == 10
    [budget] = json.loads(done("budget", "--format", "json"))
    assert (budget["spent"], budget["left"]) == ("epsilon 0.5", "epsilon 2.5, delta 0.000001")


# from a home to a public table ------------------------------------------------------------------------------------


def test_a_release_is_paid_once_and_free_again(place: Path, published: dict[str, object]) -> None:
    assert published["cost"] == "epsilon 0.5"
    assert published["left"] == "epsilon 2.5, delta 0.000001"
    assert published["cells"] == 10
    within = 12.0  # 2q^13/(1 + q) ≤ 0.05 < 2q^12/(1 + q) for q = e^(−1/4)
    assert published["error"] == {"of": "one cell", "within": within}
    assert published["files"] == ["certificate.json", "cells.parquet", "index.html", "release.json"]
    assert sorted(path.name for path in (place / "ages").iterdir()) == sorted(published["files"])
    assert spent(place) == "epsilon 0.5"
    again = said(place, *AGES, "--out", "again")
    assert "cost free; left epsilon 2.5" in again
    assert f"Ages, entry {published['entry']} of the ledger" in again  # under the name it was paid for with
    for name in published["files"]:
        assert (place / "again" / name).read_bytes() == (place / "ages" / name).read_bytes()
    assert spent(place) == "epsilon 0.5"
    other = discreet(place, *AGES, "--name", "Patients", "--out", "other")
    assert other.stdout.startswith("Ages, entry ")
    assert "note: this was published before, and a release keeps its first name: it is called 'Ages'" in other.stderr
    assert "note: " not in discreet(place, *AGES, "--name", "Ages", "--out", "same").stderr


def test_it_is_listed_and_shown_free(place: Path, published: dict[str, object]) -> None:
    [listed] = json.loads(said(place, "release", "list", "--format", "json"))
    assert (listed["entry"], listed["name"], listed["cost"]) == (published["entry"], "Ages", "epsilon 0.5")
    shown = json.loads(said(place, "release", "show", str(published["entry"]), "--format", "json"))
    assert shown["facts"]["guarantee"] == {"measure": "pure", "epsilon": "1/2"}
    stored = pq.read_table(place / "ages" / "cells.parquet").to_pylist()
    assert shown["tables"]["cells"] == stored
    done = discreet(place, "release", "show", str(published["entry"]), "--out", "third", "--format", "csv")
    assert done.stdout.splitlines()[0] == "age_from,age_to,count,standard_error,count_whole"
    assert len(done.stdout.splitlines()) == 11
    assert "written to third" in done.stderr
    assert "no release 99" in refused(place, "release", "show", "99")


def test_it_holds_and_what_was_changed_does_not(place: Path, published: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "head.json").write_text(said(place, "ledger", "head"), encoding="utf-8")
    ages = shutil.copytree(place / "ages", tmp_path / "ages")
    elsewhere = tmp_path / "nowhere"  # without the home
    elsewhere.mkdir()
    assert "the release 'Ages' holds" in said(elsewhere, "release", "verify", str(ages))
    assert "compare it with the one" in said(elsewhere, "release", "verify", str(ages))
    fresh = said(place, "release", "show", str(published["entry"]), "--out", str(tmp_path / "fresh"))
    assert "Ages" in fresh
    kept = json.loads(said(elsewhere, "release", "verify", "../fresh", "--head", "../head.json", "--format", "json"))
    assert kept[-1]["finding"] == "the ledger is the one you knew"
    for name in published["files"]:  # type: ignore[attr-defined]
        changed = shutil.copytree(ages, tmp_path / f"changed {name}")
        content = bytearray((changed / name).read_bytes())
        content[len(content) // 2] ^= 1
        (changed / name).write_bytes(content)
        done = discreet(elsewhere, "release", "verify", str(changed))
        assert (done.returncode, done.stdout) == (2, ""), name
        assert done.stderr.startswith("refused: "), name
    other = settled(elsewhere, rows(10))
    (tmp_path / "other.json").write_text(said(other, "ledger", "head"), encoding="utf-8")
    assert "does not hold" in refused(elsewhere, "release", "verify", str(ages), "--head", "../other.json")
    assert "no file 'certificate.json'" in refused(elsewhere, "release", "verify", ".")


@pytest.mark.usefixtures("published")
def test_it_becomes_a_public_table_that_is_queried_free(place: Path) -> None:
    before = spent(place)
    assert "a release" in refused(place, "add", "ages", "ages", *ADD)
    assert "added ages" in said(place, "add", "ages", "ages", "--public")
    sql = "SELECT sum(count_whole) AS n FROM ages WHERE age_to <= 50"
    done = discreet(place, "query", sql, "--format", "json")
    assert done.returncode == 0, done.stderr
    cells = pq.read_table(place / "ages" / "cells.parquet").to_pylist()
    expected = sum(cell["count_whole"] for cell in cells if cell["age_to"] <= 50)
    assert json.loads(done.stdout)["rows"] == [[expected]]
    assert spent(place) == before
    assert "updated ages, version 2" in said(place, "update", "ages", "ages")
    shutil.copytree(place / "ages", place / "forged")
    (place / "forged" / "index.html").write_text("all is well", encoding="utf-8")
    assert "does not hold" in refused(place, "add", "forged", "forged", "--public")
    assert "does not hold" in refused(place, "add", "forged", "forged/cells.parquet", "--public")


def test_of_several_tables_one_is_named(place: Path) -> None:
    said(place, *TABLES, "--tables", "age+region,region+urgent", "--practice", "--out", "tables")
    sentence = refused(place, "add", "both", "tables", "--public")
    assert "has 2 tables" in sentence
    assert "tables/age-by-region.parquet, tables/region-by-urgent.parquet" in sentence
    assert "no table" in refused(place, "add", "both", "tables/release.json", "--public")
    assert "added both" in said(place, "add", "both", "tables/region-by-urgent.parquet", "--public")
    asked = "SELECT region, urgent FROM both WHERE NOT region_other AND NOT urgent_other ORDER BY 1, 2"
    found = said(place, "query", asked, "--format", "csv")
    assert found.splitlines()[1:] == ["north,False", "north,True", "south,False", "south,True"]
    others = said(place, "query", "SELECT count(*) FROM both WHERE region_other OR urgent_other", "--format", "csv")
    assert others.splitlines()[1:] == ["5"]


@pytest.mark.usefixtures("published")
def test_a_folder_is_asked_without_a_home(place: Path, tmp_path: Path) -> None:
    ages = str(place / "ages")
    cells = pq.read_table(place / "ages" / "cells.parquet").to_pylist()
    [found] = json.loads(said(tmp_path, "release", "ask", ages, "age=20:50", "--format", "json"))
    assert found["value"] == sum(cell["count"] for cell in cells[2:5])
    assert 8 < found["standard_error"] < 11  # three cells of variance near 2 · 4²
    [half] = json.loads(said(tmp_path, "release", "ask", ages, "age=:15", "--format", "json"))
    assert "spread evenly" in half["note"]
    found = json.loads(
        said(tmp_path, "release", "ask", ages, "--quantile", "0.25", "--quantile", "0.75", "--format", "json")
    )
    assert 0 < found[0]["value"] < found[1]["value"] < 100
    for wrong, sentence in (
        (["age=20"], "FROM:TO"),
        (["age=50:20"], "from less to more"),
        (["age=0:200"], "outside"),
        (["cost=0:1"], "no column 'cost'"),
        (["age=0:1", "--quantile", "0.5"], "not both"),
        (["--quantile", "2"], "level"),
    ):
        assert sentence in refused(tmp_path, "release", "ask", ages, *wrong)


def test_keys_are_asked_for_by_their_names(place: Path) -> None:
    said(place, *TABLES, "--practice", "--out", "made")
    wanted = ["region=north,south,(other)", "urgent=True"]
    [found] = json.loads(said(place, "release", "ask", "made", *wanted, "--format", "json"))
    [other] = json.loads(said(place, "release", "ask", "made", "urgent=True", "--format", "json"))
    assert found["value"] == pytest.approx(other["value"])
    assert found["low"] < found["value"] < found["high"]
    [outside] = json.loads(said(place, "release", "ask", "made", "age=(other)", "--format", "json"))
    assert outside["standard_error"] > 0
    assert "no key 'west'" in refused(place, "release", "ask", "made", "region=west")


# what is not paid ---------------------------------------------------------------------------------------------------


def test_a_dry_run_and_practice_pay_nothing(place: Path) -> None:
    before, there = spent(place), set(place.iterdir())
    costs = ["release", "histogram", "visits", "--columns", "cost", "--bins", "cost=5", "--epsilon", "0.5"]
    shown = said(place, *costs, "--dry-run")
    assert "price epsilon 0.5" in shown
    assert "cells 5 of cost" in shown
    assert "error one cell: within 12 at 0.95" in shown
    assert set(place.iterdir()) == there
    found = json.loads(said(place, *TABLES, "--practice", "--out", "practice", "--format", "json"))
    assert (found["cost"], found["entry"]) == (None, None)
    certificate = json.loads((place / "practice" / "certificate.json").read_text(encoding="utf-8"))
    assert certificate["title"].startswith(MADE_UP)
    assert MADE_UP in (place / "practice" / "index.html").read_text(encoding="utf-8")
    assert MADE_UP in said(place, "release", "verify", "practice")
    assert spent(place) == before
    assert all(
        each["name"] != certificate["title"] for each in json.loads(said(place, "release", "list", "--format", "json"))
    )


def test_a_taken_folder_is_refused_before_it_is_paid(place: Path) -> None:
    before = spent(place)
    (place / "full").mkdir()
    (place / "full" / "letter.txt").write_text("dear", encoding="utf-8")
    costs = ["release", "ranges", "visits", "--columns", "cost", "--epsilon", "0.25", "--out"]
    for taken in ("full", "full/letter.txt", "nowhere/ages"):
        for more in ([], ["--practice"]):
            assert "refused: " in refused(place, *costs, taken, *more)
    assert spent(place) == before
    assert [path.name for path in (place / "full").iterdir()] == ["letter.txt"]


def test_what_was_paid_but_could_not_be_written_is_written_later_free(tmp_path: Path) -> None:
    settled(tmp_path, rows(20))
    done = discreet(tmp_path, *AGES, "--out", "x" * 250)  # no name beside it is free for a draft
    assert (done.returncode, done.stdout) == (1, "")
    assert "fault: " in done.stderr
    [listed] = json.loads(said(tmp_path, "release", "list", "--format", "json"))
    assert f"it is paid for: discreet release show {listed['entry']} --out DIR" in done.stderr
    said(tmp_path, "release", "show", str(listed["entry"]), "--out", "ages")
    assert "holds" in said(tmp_path, "release", "verify", "ages")
    assert spent(tmp_path) == "epsilon 0.5"


def test_over_budget_nothing_is_written(place: Path) -> None:
    before, there = spent(place), set(place.iterdir())
    sentence = refused(place, *AGES[:-1], "5000", "--out", "dear")
    assert "refused: " in sentence
    assert "left" in sentence
    assert set(place.iterdir()) == there
    assert spent(place) == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["histogram", "visits", "--epsilon", "1"], "say --columns"),
        (["ranges", "visits", "--epsilon", "1"], "say --columns"),
        (["histogram", "visits", "--columns", "age"], "one of epsilon and rho"),
        (["histogram", "visits", "--columns", "age", "--epsilon", "nan"], "nan"),
        (["histogram", "visits", "--columns", "age", "--epsilon", "1", "--bins", "age"], "COLUMN=VALUE"),
        (["histogram", "visits", "--columns", "age", "--epsilon", "1", "--bins", "cost=5"], "not published"),
        (["histogram", "visits", "--columns", "age", "--epsilon", "1", "--bins", "age=0:200:10"], "bounds"),
        (["histogram", "visits", "--columns", "age", "--epsilon", "1", "--bins", "age=-5,50"], "bounds"),
        (["histogram", "visits", "--columns", "age", "--epsilon", "1", "--bins", "age=0:100:0.5"], "grid"),
        (["histogram", "visits", "--columns", "age", "--epsilon", "1", "--bins", "age=1000"], "101 values"),
        (["histogram", "visits", "--columns", "note", "--epsilon", "1"], "is text and has no declared keys"),
        (["ranges", "visits", "--columns", "cost,age", "--bins", "cost=50000", "--bins", "age=100", "--epsilon", "1"],
         "more than"),
        (["marginals", "SELECT age FROM visits", "--epsilon", "1"], "say --columns"),
        (["marginals", "visits", "--columns", "age,cost", "--bins", "cost=1000000", "--bins", "age=100", "--rho", "1"],
         "cells"),
        (["histogram", "visits", "--columns", "age", "--epsilon", "1", "--method", "magic"], "magic"),
        (["histogram", "nowhere", "--columns", "age", "--epsilon", "1"], "nowhere"),
        (["histogram", "SELECT count(*) AS age FROM visits", "--columns", "age", "--epsilon", "1"], "aggregates"),
        (["histogram", "visits", "--columns", "age", "--epsilon", "1", "--dry-run", "--practice"], "leave out one"),
        (["histogram", "visits", "--columns", "age", "--epsilon", "1", "--name", "two\nlines"], "one line"),
        (["show", "1"], "no release 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_published_is_a_sentence_and_free(place: Path, arguments: list[str], sentence: str) -> None:
    before = spent(place)
    more = [] if {"--dry-run", "show"} & set(arguments) else ["--out", "never"]
    assert sentence in refused(place, "release", *arguments, *more)
    assert not (place / "never").exists()
    assert spent(place) == before


def test_what_marginals_alone_take_is_no_option_of_the_others(place: Path) -> None:
    for kind in ("histogram", "ranges"):
        for option in ("--ways", "--tables", "--outside"):
            done = discreet(place, "release", kind, "visits", "--columns", "age", "--epsilon", "1", option, "2")
            assert done.returncode == 2
            assert f"No such option: {option}" in done.stderr
    assert "cells 45 of age by region by urgent" in said(place, *TABLES, "--ways", "3", "--dry-run")


def test_without_a_folder_a_release_has_nowhere_to_go(place: Path) -> None:
    assert "say --out DIR" in refused(place, *AGES)


# whatever the rows are ----------------------------------------------------------------------------------------------

ODD = {
    "one row": rows(1),
    "no rows": rows(0),
    "constant": rows(40, age=50, constant=True),
    "all NULL": rows(40, age=None, constant=True),
    "outside": rows(40, age=100_000, constant=True),
}


@pytest.mark.parametrize("rows_of", ODD)
@pytest.mark.slow
def test_a_table_of_odd_rows_is_published_like_any_other(place: Path, tmp_path: Path, rows_of: str) -> None:
    odd = settled(tmp_path, ODD[rows_of])
    proposed, usual = (json.loads(said(each, *TABLES, "--dry-run", "--format", "json")) for each in (odd, place))
    assert proposed == {**usual, "left": "epsilon 3, delta 0.000001", "entry": None}
    for number, wish in enumerate((["histogram"], ["ranges"], ["histogram", "--bins", "age=private:4"])):
        kind, *more = wish
        arguments = ["release", kind, "visits", "--columns", "age", "--epsilon", "0.25", *more, "--out", f"out{number}"]
        assert f"in out{number}: " in said(odd, *arguments)
        assert "holds" in said(odd, "release", "verify", f"out{number}")
    found = json.loads(said(odd, *TABLES, "--out", "tables", "--format", "json"))
    assert found["cells"] == 5 * 3 + 5 * 3 + 3 * 3  # each column has a cell for what is none of its keys
    assert spent(odd) == "epsilon 1.25"
