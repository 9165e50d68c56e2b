"""Five questions of TPC-H in their standard text (row 23): the unit is the customer, and lineitem reaches it by a link.

The tables are small and made here; brands, containers and dates are drawn so that every question finds some rows.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import hospital
import pyarrow as pa
import pytest

from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared, found_home
from discreet.errors import Refusal

MONEY = pa.decimal128(15, 2)
KINDS = {int: pa.int64(), str: pa.string(), Decimal: MONEY, dt.date: pa.date32()}
NATIONS = {"CHINA": 0, "INDIA": 0, "JAPAN": 0, "FRANCE": 1, "PERU": 2}
CONTAINERS = {"Brand#12": "SM", "Brand#23": "MED", "Brand#34": "LG"}
TYPES = ("PROMO BRUSHED TIN", "STANDARD PLATED STEEL", "ECONOMY ANODIZED BRASS")
LAST = dt.date(1995, 6, 17)
CUSTOMERS, ORDERS, PARTS, SUPPLIERS = 60, 260, 40, 15


def cents(rng: random.Random, low: int, high: int) -> Decimal:
    return Decimal(rng.randint(low, high)) / 100


def made(seed: int = 4) -> dict[str, list[dict[str, object]]]:
    """The rows of every table."""
    rng = random.Random(seed)
    orders = [_order(rng, key) for key in range(1, ORDERS + 1)]
    part = [_part(rng, key) for key in range(1, PARTS + 1)]
    return {
        "region": [{"r_regionkey": i, "r_name": name} for i, name in enumerate(("ASIA", "EUROPE", "AMERICA"))],
        "nation": [{"n_nationkey": i, "n_name": n, "n_regionkey": NATIONS[n]} for i, n in enumerate(NATIONS)],
        "supplier": [{"s_suppkey": i, "s_nationkey": i % 5, "s_acctbal": cents(rng, 0, 999)} for i in range(SUPPLIERS)],
        "part": part,
        "customer": [
            {"c_custkey": i, "c_nationkey": rng.randrange(5), "c_acctbal": cents(rng, -999, 9999)}
            for i in range(CUSTOMERS)
        ],
        "orders": orders,
        "lineitem": [_item(rng, order, part) for order in orders for _ in range(rng.randint(1, 6))],
    }


def _order(rng: random.Random, key: int) -> dict[str, object]:
    day = dt.date(1993, 1, 1) + dt.timedelta(days=rng.randrange(4 * 365))
    return {
        "o_orderkey": key,
        "o_custkey": rng.randrange(CUSTOMERS),
        "o_totalprice": cents(rng, 0, 9**6),
        "o_orderdate": day,
    }


def _part(rng: random.Random, key: int) -> dict[str, object]:
    brand = rng.choice([*CONTAINERS])
    size = CONTAINERS[brand] if rng.random() < 0.8 else "WRAP"
    box = rng.choice(["BAG", "BOX", "PKG", "PACK"])
    return {
        "p_partkey": key,
        "p_brand": brand,
        "p_type": rng.choice(TYPES),
        "p_size": rng.randint(1, 12),
        "p_container": f"{size} {box}",
        "p_retailprice": cents(rng, 90_000, 190_000),
    }


def _item(rng: random.Random, order: dict[str, object], part: list[dict[str, object]]) -> dict[str, object]:
    bought, quantity, placed = rng.choice(part), Decimal(rng.randint(1, 50)), order["o_orderdate"]
    assert isinstance(placed, dt.date)
    assert isinstance(bought["p_retailprice"], Decimal)
    shipped = placed + dt.timedelta(days=rng.randint(1, 121))
    received = shipped + dt.timedelta(days=rng.randint(1, 30))
    return {
        "l_orderkey": order["o_orderkey"],
        "l_partkey": bought["p_partkey"],
        "l_suppkey": rng.randrange(SUPPLIERS),
        "l_quantity": quantity,
        "l_extendedprice": quantity * bought["p_retailprice"],
        "l_discount": cents(rng, 0, 10),
        "l_tax": cents(rng, 0, 8),
        "l_returnflag": rng.choice("RA") if received <= LAST else "N",
        "l_linestatus": "F" if shipped <= LAST else "O",
        "l_shipdate": shipped,
        "l_commitdate": placed + dt.timedelta(days=rng.randint(30, 90)),
        "l_receiptdate": received,
        "l_shipinstruct": rng.choice(["DELIVER IN PERSON", "NONE"]),
        "l_shipmode": rng.choice(["AIR", "AIR REG", "TRUCK"]),
    }


def arrow(rows: list[dict[str, object]]) -> pa.Table:
    kinds = {name: KINDS[type(cell)] for name, cell in rows[0].items()}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})


LINK = {"l_orderkey": "orders.o_orderkey"}
BOUNDS: dict[str, dict[str, tuple[object, object]]] = {
    "customer": {"c_acctbal": (-10, 100)},
    "orders": {"o_totalprice": (0, 6000)},
    "lineitem": {
        "l_quantity": (0, 50),
        "l_extendedprice": (0, 100_000),
        "l_discount": (0, Decimal("0.10")),
        "l_tax": (0, Decimal("0.08")),
    },
}
WHOSE: dict[str, dict[str, object]] = {
    "customer": {"unit": "c_custkey", "max_rows": 1},
    "orders": {"unit": "o_custkey", "max_rows": 40},
    "lineitem": {"link": LINK, "max_rows": 200},
}


def declared(name: str, **changes: object) -> Declared:
    """What is said of a table; caps bind nobody."""
    if name not in WHOSE:
        return Declared(public=True)
    usual = {"population": "customer", "epsilon": 10**30, "delta": "1e-3", "max_groups": 30, "bounds": BOUNDS[name]}
    return Declared(**{**usual, **WHOSE[name], **changes})  # type: ignore[arg-type]


TEXTS = """
-- q1
select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty, sum(l_extendedprice) as sum_base_price,
    sum(l_extendedprice * (1 - l_discount)) as sum_disc_price,
    sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge, avg(l_quantity) as avg_qty,
    avg(l_extendedprice) as avg_price, avg(l_discount) as avg_disc, count(*) as count_order
from lineitem where l_shipdate <= date '1998-12-01' - interval '90' day
group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus;
-- q5
select n_name, sum(l_extendedprice * (1 - l_discount)) as revenue
from customer, orders, lineitem, supplier, nation, region
where c_custkey = o_custkey and l_orderkey = o_orderkey and l_suppkey = s_suppkey and c_nationkey = s_nationkey
    and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'ASIA'
    and o_orderdate >= date '1994-01-01' and o_orderdate < date '1994-01-01' + interval '1' year
group by n_name order by revenue desc;
-- q6
select sum(l_extendedprice * l_discount) as revenue from lineitem
where l_shipdate >= date '1994-01-01' and l_shipdate < date '1994-01-01' + interval '1' year
    and l_discount between 0.06 - 0.01 and 0.06 + 0.01 and l_quantity < 24;
-- q14
select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end)
    / sum(l_extendedprice * (1 - l_discount)) as promo_revenue
from lineitem, part where l_partkey = p_partkey
    and l_shipdate >= date '1995-09-01' and l_shipdate < date '1995-09-01' + interval '1' month;
-- q19
select sum(l_extendedprice * (1 - l_discount)) as revenue from lineitem, part
where (p_partkey = l_partkey and p_brand = 'Brand#12'
        and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') and l_quantity >= 1 and l_quantity <= 1 + 10
        and p_size between 1 and 5 and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON')
    or (p_partkey = l_partkey and p_brand = 'Brand#23'
        and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') and l_quantity >= 10 and l_quantity <= 10 + 10
        and p_size between 1 and 10 and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON')
    or (p_partkey = l_partkey and p_brand = 'Brand#34'
        and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') and l_quantity >= 20 and l_quantity <= 20 + 10
        and p_size between 1 and 15 and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON');
-- and through the link
select count(*), sum(l_quantity) from lineitem;
select count(*), count(distinct orders.o_custkey) from orders join lineitem on l_orderkey = o_orderkey
where l_quantity > 25;
select count(*) from orders where o_custkey in (select c_custkey from customer where c_nationkey = 1);
select sum(l_quantity), count(distinct o_orderkey) from customer, orders, lineitem
where o_orderkey in (select l_orderkey from lineitem group by l_orderkey having sum(l_quantity) > 100)
    and c_custkey = o_custkey and o_orderkey = l_orderkey;
select count(*) as numwait from supplier, lineitem l1, orders, nation
where s_suppkey = l1.l_suppkey and o_orderkey = l1.l_orderkey and l1.l_receiptdate > l1.l_commitdate
    and exists (select * from lineitem l2 where l2.l_orderkey = l1.l_orderkey and l2.l_suppkey <> l1.l_suppkey)
    and not exists (select * from lineitem l3 where l3.l_orderkey = l1.l_orderkey and l3.l_suppkey <> l1.l_suppkey
        and l3.l_receiptdate > l3.l_commitdate)
    and s_nationkey = n_nationkey and n_name = 'CHINA';
select count(*), avg(items) from (select l_orderkey, o_orderdate, count(*) as items from orders, lineitem
    where l_orderkey = o_orderkey and o_orderdate < date '1995-03-15' group by l_orderkey, o_orderdate) as t;
select n_name, count(c_custkey) from nation left join customer on c_nationkey = n_nationkey group by n_name order by 1;
"""
CASES = [
    pytest.param(sql, id=f"{name} {i}") for name, sqls in hospital.listed(TEXTS).items() for i, sql in enumerate(sqls)
]
STEP = 1e-5  # each product is rounded to a cent before it is summed

Asked = tuple[Curator, duckdb.DuckDBPyConnection]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("tpch") / "home"
    found_home(folder)
    tables = {name: arrow(rows) for name, rows in made().items()}
    for name, rows in tables.items():
        Custody(folder).add(name, rows, declared(name))
    with hospital.plain(tables, {}) as plain:
        yield Curator(folder), plain


@pytest.mark.parametrize("sql", CASES)
def test_the_answer_is_that_of_plain_duckdb(asked: Asked, sql: str) -> None:
    curator, plain = asked
    theirs = plain.execute(sql).fetchall()
    assert theirs
    assert all(cell for row in theirs for cell in row), "the text compares nothing"
    assert not hospital.unlike(hospital.exactly(curator, sql), theirs, STEP)


def test_the_unit_stands_in_the_linked_table_under_its_name(asked: Asked) -> None:
    curator, plain = asked
    truth = plain.execute("SELECT count(DISTINCT o_custkey) FROM lineitem JOIN orders ON l_orderkey = o_orderkey")
    assert hospital.exactly(curator, "SELECT count(DISTINCT o_custkey) FROM lineitem") == truth.fetchall()
    with pytest.raises(Refusal, match="o_custkey"):
        curator.query("SELECT o_custkey, sum(l_quantity) FROM lineitem GROUP BY o_custkey", epsilon=1)


def test_rows_without_an_owner_are_dropped_and_those_with_two_are_refused(tmp_path: Path) -> None:
    found_home(tmp_path / "home")
    custody = Custody(tmp_path / "home")
    orders = pa.table({"o_orderkey": [1, 2, 2, 3, None], "o_custkey": [10, 10, 10, None, 30]})
    items = pa.table({"l_orderkey": [1, 1, 2, 3, 4, None], "l_quantity": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]})
    custody.add("orders", orders, declared("orders", bounds={}))  # 2 is there twice, 3 is nobody's, 4 is no order
    custody.add("lineitem", items, declared("lineitem", bounds={"l_quantity": (0, 50)}))
    assert hospital.exactly(Curator(tmp_path / "home"), "SELECT count(*), sum(l_quantity) FROM lineitem") == [(3, 7.0)]
    claimed = pa.table({"o_orderkey": [1, 2, 2], "o_custkey": [10, 10, 20]})  # 2 is claimed by two
    custody.update("orders", claimed)
    with pytest.raises(Refusal, match="belongs to two people"):
        custody.update("lineitem", items)


@pytest.mark.parametrize("to", ["orders.o_nope", "nope.o_orderkey", "nation.n_nationkey", "orders"])
def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path, to: str) -> None:
    found_home(tmp_path / "home")
    custody = Custody(tmp_path / "home")
    custody.add("nation", pa.table({"n_nationkey": [1]}), declared("nation"))
    custody.add("orders", pa.table({"o_orderkey": [1], "o_custkey": [10]}), declared("orders", bounds={}))
    items = pa.table({"l_orderkey": [1]})
    with pytest.raises(Refusal, match="link"):
        custody.add("lineitem", items, declared("lineitem", link={"l_orderkey": to}, bounds={}))
    assert "lineitem" not in (tmp_path / "home" / "discreet.toml").read_text(encoding="utf-8")
