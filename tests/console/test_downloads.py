"""An answer that is taken along says where it comes from."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path

import clinic
import pyarrow.parquet as pq
import pytest

from discreet.console import downloads
from discreet.curator import Answer, Curator
from discreet.desk import HOME, Desk

SQL = "SELECT region, count(*) AS n, avg(cost) AS n_low FROM visits GROUP BY region ORDER BY region"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(clinic.home(tmp_path_factory.mktemp("citation") / "home"))


@pytest.fixture(scope="module")
def answer(desk: Desk) -> Answer:
    return desk.asked(HOME, SQL, {"epsilon": "0.5", "delta": "1e-6"})


def cited(desk: Desk, answer: Answer, *, seen: bool = True) -> downloads.Citation:
    receipts = desk.history(HOME)
    shown = receipts if seen else [each for each in receipts if str(each.answer) not in answer.entry.split(",")]
    neighbours = desk.accounts(HOME)["patient"].neighbours
    return downloads.cited(SQL, answer, shown, neighbours, desk.head(HOME))


def test_the_citation_names_promise_entries_and_root(desk: Desk, answer: Answer) -> None:
    found = cited(desk, answer)
    assert found.promise == "epsilon 0.5, when all rows of one patient are added or removed"
    assert found.entries == tuple(int(entry) for entry in answer.entry.split(","))
    for word in ("epsilon 0.5", found.head.root, str(found.entries[0]), "discreet"):
        assert word in found.how_to_cite
        assert word in found.text()


def test_what_somebody_else_paid_is_not_told(desk: Desk, answer: Answer) -> None:
    desk.asked(HOME, clinic.COUNT, {"epsilon": "0.125"})
    found = cited(desk, answer, seen=False)
    assert "somebody else paid" in found.promise
    assert "0.5" not in found.promise


def test_a_zip_holds_rows_with_their_error_and_the_citation(desk: Desk, answer: Answer) -> None:
    with zipfile.ZipFile(io.BytesIO(downloads.as_zip(answer, cited(desk, answer)))) as made:
        assert made.namelist() == ["answer.csv", "citation.json", "README.txt"]
        rows = list(csv.reader(io.StringIO(made.read("answer.csv").decode())))
        body = json.loads(made.read("citation.json"))
    assert rows[0] == ["region", "n", "n_low", "n_low_", "n_high", "n_low_low", "n_low_high"]  # no name twice
    assert [row[0] for row in rows[1:]] == sorted(clinic.REGIONS)
    for row, told, spans in zip(rows[1:], answer.rows, answer.spans, strict=True):
        assert int(row[1]) == told[1]
        assert spans[1] == (float(row[3]), float(row[4]))
    assert body["question"] == SQL
    assert body["guarantee"] == "epsilon 0.5"
    assert body["neighbours"] == "add-remove"


def test_what_is_left_out_hardly_meant_or_without_an_error_bar_is_taken_along(desk: Desk) -> None:
    sql = "SELECT max(cost) AS most, count(*) AS n FROM visits WHERE region = 'West'"
    answer = desk.asked(HOME, sql, {"epsilon": "0.5"})
    found = cited(desk, answer)
    assert len(answer.notices) == 1
    assert found.body()["notices"] == list(answer.notices)
    assert (found.body()["no_error_bar"], found.body()["bounding"]) == (["most"], answer.bounding)
    for sentence in (*answer.notices, answer.bounding, "No error bar: most."):
        assert sentence in found.text().splitlines()


def test_parquet_carries_the_citation_in_itself(desk: Desk, answer: Answer, tmp_path: Path) -> None:
    file = tmp_path / "answer.parquet"
    file.write_bytes(downloads.as_parquet(answer, cited(desk, answer)))
    table = pq.read_table(file)
    body = json.loads(table.schema.metadata[b"discreet.citation"])
    assert body["head"]["root"] == desk.head(HOME).root
    assert table.column("n").to_pylist() == [row[1] for row in answer.rows]


def test_an_answer_without_rows_or_price_is_taken_along_too(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home")
    desk, empty = (
        Desk(home),
        Curator(home).query("SELECT region, count(*) AS n FROM visits GROUP BY region HAVING false"),
    )
    neighbours = desk.accounts(HOME)["patient"].neighbours
    found = downloads.cited("?", empty, desk.history(HOME), neighbours, desk.head(HOME))
    assert downloads.as_csv(empty).splitlines() == ["region,n"]
    assert downloads.as_parquet(empty, found)[:4] == b"PAR1"


def test_a_spreadsheet_computes_nothing_that_a_row_says(desk: Desk) -> None:
    sql = """SELECT '=1+1' AS "=cell", count(*) AS n FROM visits"""
    said = downloads.as_csv(desk.asked(HOME, sql, {"epsilon": "0.5"})).splitlines()
    assert said[0].startswith("'=cell,n")
    assert said[1].startswith("'=1+1,")


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r"])
def test_no_spreadsheet_computes_a_text(begin: str) -> None:
    assert downloads._inert(f"{begin}1+1") == f"'{begin}1+1"
    assert [downloads._inert(cell) for cell in ("1+1", "", -1, None)] == ["1+1", "", -1, None]
