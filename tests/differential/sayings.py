"""Questions and conditions as people say them, one by one: what the families do not reach by chance."""

from __future__ import annotations

from differential.maker import Maker
from differential.question import Cell, Question

N, W = Cell("count"), Cell("sum", 1000.0)
PERSON = "SELECT «unit», {} AS x FROM ⟦main⟧ GROUP BY «unit»"
WINDOW = "SELECT «unit», {} AS x FROM ⟦main⟧"

# of rows of both tables, of one person, of what a window sees; each with what its numbers are
SAYINGS: tuple[tuple[str, tuple[Cell, ...]], ...] = (
    ("SELECT count(*) FROM ⟦main⟧ v RIGHT JOIN ⟦side⟧ s ON v.«unit» = s.«side.unit»", (N,)),
    ("SELECT count(*), count(v.«nr») FROM ⟦main⟧ v FULL JOIN ⟦side⟧ s ON v.«unit» = s.«side.unit»", (N, N)),
    (
        ("SELECT count(*) FROM ⟦main⟧ v FULL JOIN ⟦side⟧ s ON v.«unit» = s.«side.unit» AND v.«day» = s.«side.day»"),
        (N,),
    ),
    ("SELECT count(*) FROM ⟦main⟧ v JOIN ⟦main⟧ w ON v.«unit» = w.«unit» AND v.«nr» < w.«nr»", (N,)),
    ("SELECT count(*) FROM ⟦main⟧ v, ⟦side⟧ s WHERE v.«unit» = s.«side.unit»", (N,)),
    (
        (
            "SELECT count(*) FROM ⟦main⟧ v JOIN ⟦calendar⟧ c ON v.«day» = c.«calendar.day»"
            " JOIN ⟦wards⟧ w ON w.«wards.key» = v.«key»"
        ),
        (N,),
    ),
    (
        (
            "SELECT count(DISTINCT v.«unit») FROM ⟦main⟧ v LEFT JOIN ⟦side⟧ s ON v.«unit» = s.«side.unit»"
            " WHERE s.«side.unit» IS NULL"
        ),
        (N,),
    ),
    ("SELECT count(*) FROM (SELECT «unit» FROM ⟦main⟧ UNION SELECT «side.unit» FROM ⟦side⟧) q", (N,)),
    ("SELECT count(*) FROM (SELECT DISTINCT «unit» FROM ⟦main⟧) q", (N,)),
    (f"SELECT count(*) FROM ({PERSON.format('bool_or(«flag»)')}) q WHERE x", (N,)),
    (f"SELECT count(*) FROM ({PERSON.format('bool_and(«flag»)')}) q WHERE NOT x", (N,)),
    (f"SELECT count(*) FROM ({PERSON.format('min(«day»)')}) q WHERE x < DATE '2024-02-22'", (N,)),
    (f"SELECT count(*) FROM ({PERSON.format('max(«moment»)')}) q WHERE x > TIMESTAMP '2024-03-01 10:00:00'", (N,)),
    (f"SELECT count(*) FROM ({PERSON.format('max(«key»)')}) q WHERE x = 'north'", (N,)),
    (f"SELECT count(*) FROM ({PERSON.format('max(‹wild›)')}) q WHERE x IS NULL", (N,)),
    (f"SELECT sum(x) FROM ({PERSON.format('count(‹wild›)')}) q", (W,)),
    (f"SELECT sum(x) FROM ({PERSON.format('count(DISTINCT «day»)')}) q", (W,)),
    (
        ("SELECT count(*) FROM (SELECT «unit», «key», count(*) AS n FROM ⟦main⟧ GROUP BY «unit», «key») q WHERE n > 1"),
        (N,),
    ),
    (
        (
            "SELECT count(*) FROM (SELECT «unit», sum(«weight») AS n FROM ⟦main⟧ WHERE «flag» GROUP BY «unit»"
            " HAVING sum(«weight») > 5) q"
        ),
        (N,),
    ),
    (
        (
            "SELECT count(*) FROM ⟦main⟧ v WHERE v.«unit» IN (SELECT «unit» FROM ⟦main⟧ GROUP BY «unit»"
            " HAVING count(*) > 2)"
        ),
        (N,),
    ),
    (f"SELECT count(*) FROM ({WINDOW.format('rank() OVER (PARTITION BY «unit» ORDER BY «key»)')}) q WHERE x = 2", (N,)),
    (
        (
            f"SELECT sum(LEAST(GREATEST(x, -100), 100)) FROM"
            f" ({WINDOW.format('sum(«weight») OVER (PARTITION BY «unit» ORDER BY «nr»)')}) q"
        ),
        (W,),
    ),
    (
        (
            f"SELECT sum(LEAST(GREATEST(x, -1000), 1000)) FROM"
            f" ({WINDOW.format('«nr» - lag(«nr») OVER (PARTITION BY «unit» ORDER BY «nr»)')}) q"
        ),
        (W,),
    ),
    ("SELECT sum(CAST(«flag» AS INTEGER)), sum(CASE WHEN «flag» THEN 1 END) FROM ⟦main⟧", (W, W)),
    ("SELECT sum(«weight» * «weight»), sum(abs(«weight»)), sum(«weight» % 7) FROM ⟦main⟧", (W, W, W)),
    ("SELECT sum(round(«weight» / 3.0)), sum(floor(«weight» / 3.0)), sum(ceil(«weight» / 3.0)) FROM ⟦main⟧", (W, W, W)),
    ("SELECT sum(CASE «flag» WHEN TRUE THEN «weight» WHEN FALSE THEN -«weight» END) FROM ⟦main⟧", (W,)),
    ("SELECT sum(NULLIF(«weight», 3)), count(NULLIF(«weight», 3)) FROM ⟦main⟧", (W, N)),
    ("SELECT sum(extract(hour FROM «moment»)), sum(extract(dow FROM «day»)) FROM ⟦main⟧", (W, W)),
    ("SELECT count(DISTINCT «free») FILTER (WHERE «flag») FROM ⟦main⟧", (N,)),
    ("SELECT count(DISTINCT «unit») FILTER (WHERE «flag») FROM ⟦main⟧", (N,)),
    ("SELECT a.n, b.n FROM (SELECT count(*) n FROM ⟦main⟧) a, (SELECT count(*) n FROM ⟦side⟧) b", (N, N)),
    (
        (
            "SELECT count(*) FROM ⟦main⟧ v WHERE EXISTS (SELECT 1 FROM ⟦side⟧ s WHERE s.«side.unit» = v.«unit»"
            " AND s.«side.day» > v.«day»)"
        ),
        (N,),
    ),
    ("SELECT count(*) FROM ⟦main⟧ v WHERE v.«day» NOT IN (SELECT «calendar.day» FROM ⟦calendar⟧)", (N,)),
    ("SELECT count(*) FROM ⟦main⟧ v WHERE v.«nr» < (SELECT max(«wards.beds») FROM ⟦wards⟧)", (N,)),
)

# on rows of `v`; where Postgres and DuckDB read it differently, it is not here
CONDITIONS = (
    "mod(v.«nr», 4) = 1", "-v.«nr» % 3 = -1", "v.«nr» / 2.0 > 3", "abs(v.«weight») > 3", "power(v.«weight», 2) > 50",
    "round(v.«weight» / 3.0, 1) > 1", "floor(v.«weight» / 3.0) < 2", "greatest(v.«weight», 3) = 3",
    "least(v.«weight», NULL, 3) < 3", "nullif(v.«weight», 3) IS NULL", "coalesce(v.«flag», FALSE)",
    "upper(v.«free») = 'Ä-Ö'", "lower(v.«free») LIKE 's%'", "v.«free» || 'x' = 'northx'", "trim(v.«free») = 'l'",
    "substring(v.«free» FROM 2 FOR 2) = 'or'", "position('o' IN v.«free») = 2", "left(v.«free», 2) = 'no'",
    "v.«free» BETWEEN 'a' AND 'n'", "v.«free» LIKE '50\\%%'", "CAST(v.«nr» AS VARCHAR) = '7'",
    "CAST(v.«flag» AS INTEGER) = 1", "v.«wild» = v.«wild»", "v.«wild» > 1e200", "v.«wild» < -1e200",
    "v.«free» NOT IN ('north', NULL)", "v.«flag» IS UNKNOWN", "v.«day» - DATE '2024-02-20' > 3",
    "v.«moment» > v.«day»", "v.«moment» > DATE '2024-02-29'", "v.«day» > TIMESTAMP '2024-02-29 12:00:00'",
    "extract(week FROM v.«day») = 9", "extract(isodow FROM v.«day») = 7", "extract(doy FROM v.«day») > 60",
    "extract(quarter FROM v.«day») = 1", "extract(minute FROM v.«moment») = 30", "date_part('year', v.«day») = 2024",
    "date_trunc('quarter', v.«day») = DATE '2024-01-01'", "date_trunc('minute', v.«moment») = v.«moment»",
    "CAST(v.«day» AS VARCHAR) LIKE '2024-02%'", "CAST(v.«moment» AS VARCHAR) LIKE '%30:00'",
    "v.«day» IN ('2024-02-29', '2024-03-01')", "CASE v.«free» WHEN 'north' THEN 1 WHEN 'South' THEN 2 END = 2",
    "CASE WHEN v.«flag» THEN v.«nr» ELSE v.«weight» END > 3", "v.«flag» = (v.«weight» > 5)",
    "NOT (v.«flag» AND v.«weight» > 5)", "v.«free» IS NOT DISTINCT FROM NULL", "5 < v.«nr»",
    "CAST(v.«day» AS TIMESTAMP) = date_trunc('day', v.«moment»)", "v.«nr» < 5 AND v.«nr» > 2 OR v.«nr» = 9",
)  # fmt: skip


def said(m: Maker) -> Question:
    """One of the sayings."""
    text, cells = m.rng.choice(SAYINGS)
    return Question("sayings", text, text, cells)


def conditioned(m: Maker) -> Question:
    """Rows that fulfil one of the conditions, and those that do not."""
    condition = m.rng.choice(CONDITIONS)
    counted = f"count(*) FILTER (WHERE {condition}), count(*) FILTER (WHERE NOT ({condition}))"
    tail = f"FROM ⟦main⟧ AS v WHERE {m.condition()}" if m.rng.random() < 0.3 else "FROM ⟦main⟧ AS v"
    return Question("conditions", f"SELECT {counted} {tail}", f"SELECT {counted} {tail}", (N, N))
