"""Tables that find their owners through a link, and what becomes of them when the table that it leads to changes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import template
from typer.testing import CliRunner

from discreet.cli.commands import app
from discreet.curator import Curator, catalogue
from discreet.curator.custody import Custody, Declared, found_home
from discreet.errors import Refusal
from discreet.ledger import SqliteLedger

ORDERS = pa.table({"okey": [1, 2, 3], "other": [3, 2, 1], "cust": [10, 10, 20]})
ITEMS = pa.table({"iorder": [1, 2, 3], "alt": [3, 2, 1]})
JOINED = "SELECT count(*) FROM orders o JOIN items i ON o.okey = i.iorder"


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    return template.home(tmp_path / "home", make_linked, "a link to orders")


def make_linked(home: Path) -> None:
    found_home(home)
    custody = Custody(home)
    custody.add("orders", ORDERS, Declared(unit="cust", population="c", epsilon=10**9, max_rows=5))
    custody.add("items", ITEMS, Declared(link={"iorder": "orders.okey"}, max_rows=5))


def _edited(home: Path, old: str, new: str) -> None:
    path = home / catalogue.FILE
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_table_in_which_others_find_their_owners_stays_until_they_are_gone(linked: Path) -> None:
    custody, entries = Custody(linked), SqliteLedger(linked / "ledger.db").books().size
    with pytest.raises(Refusal, match="items find their owners in table 'orders'; remove items first"):
        custody.remove("ORDERS")
    assert SqliteLedger(linked / "ledger.db").books().size == entries
    assert Curator(linked).query(JOINED, epsilon=10**6).rows == ((3,),)
    custody.remove("items")
    custody.remove("orders")
    assert not catalogue.read(linked).tables


def test_a_home_in_which_the_owners_are_gone_is_mended_as_the_hint_says(linked: Path) -> None:
    text = (linked / catalogue.FILE).read_text(encoding="utf-8")
    without = catalogue.text_of(catalogue.parse(text).without_table("orders"))
    (linked / catalogue.FILE).write_text(without, encoding="utf-8")
    custody = Custody(linked)
    with pytest.raises(Refusal, match="remove the table and add it anew"):
        Curator(linked)
    with pytest.raises(Refusal, match="remove the table and add it anew"):
        custody.add("orders", ORDERS, Declared(unit="cust", population="c", max_rows=5))
    custody.remove("items")
    custody.add("orders", ORDERS, Declared(unit="cust", population="c", max_rows=5))
    custody.add("items", ITEMS, Declared(link={"iorder": "orders.okey"}, max_rows=5))
    assert Curator(linked).query(JOINED, epsilon=10**6).rows == ((3,),)


@pytest.mark.parametrize("other", ["alt=orders.okey", "iorder=orders.other"])
def test_an_edited_link_is_refused_until_it_is_as_it_was(linked: Path, other: str) -> None:
    _edited(linked, "iorder=orders.okey", other)
    with pytest.raises(Refusal, match=r"found their owners by iorder=orders\.okey"):
        Curator(linked).query(JOINED, epsilon=1)
    _edited(linked, other, "iorder=orders.okey")
    assert Curator(linked).query(JOINED, epsilon=10**6).rows == ((3,),)


def test_a_link_that_is_written_to_a_table_without_one_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    found_home(home)
    custody = Custody(home)
    custody.add("orders", ORDERS, Declared(unit="cust", population="c", epsilon=10**9, max_rows=5))
    owned = ITEMS.append_column("cust", [[20, 10, 10]])
    custody.add("items", owned, Declared(unit="cust", population="c", max_rows=5))
    custody.update("items", owned)  # what the ledger knows goes on to the next version
    _edited(home, "[table.items]\n", '[table.items]\nlink = "iorder=orders.okey"\n')
    with pytest.raises(Refusal, match="its rows found their owners by no link"):
        Curator(home).query(JOINED, epsilon=1)
    _edited(home, 'link = "iorder=orders.okey"\n', "")
    assert Curator(home).query("SELECT count(*) FROM items", epsilon=10**6).rows == ((3,),)


def test_new_rows_for_the_owners_say_which_tables_come_next(linked: Path) -> None:
    for name, rows in (("orders", ORDERS), ("items", ITEMS)):
        pq.write_table(rows, linked.parent / f"{name}.parquet")
    said = [
        CliRunner().invoke(app, ["update", name, str(linked.parent / f"{name}.parquet"), "--home", str(linked)])
        for name in ("orders", "items")
    ]
    assert [each.stdout for each in said] == ["updated orders, version 2\n", "updated items, version 2\n"]
    assert "Update items next: their rows still have the owners that orders gave them before." in said[0].stderr
    assert "next" not in said[1].stderr
