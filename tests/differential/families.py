"""The families of questions, and how large a share of each must be answered."""

from __future__ import annotations

from dataclasses import replace

from differential.maker import COUNT, Maker, literal
from differential.question import Cell, Item, Key, Question, asked
from differential.sayings import conditioned, said


def plain_numbers(m: Maker) -> Question:
    return asked("numbers", m.numbers(), where=m.sometimes())


def by_declared_keys(m: Maker) -> Question:
    return asked("declared keys", m.numbers(), (m.declared_key(),), where=m.sometimes())


def by_several_keys(m: Maker) -> Question:
    keys = (Key("v.«key»", m.field("key").keys), Key("v.«flag»", (False, True)))
    third = (Key("v.«code»", m.field("code").keys),) if m.rng.random() < 0.5 else ()
    return asked("several keys", m.numbers(), keys + third, where=m.sometimes())


def by_open_keys(m: Maker) -> Question:
    keys = (m.open_key(),) if m.rng.random() < 0.7 else (Key("v.«key»", m.field("key").keys), m.open_key())
    return asked("open keys", m.numbers(), keys, where=m.sometimes())


def by_rollup(m: Maker) -> Question:
    """One grouping after the other; a NULL stands for what was summed up."""
    keys = (Key("v.«key»", m.field("key").keys), Key("v.«flag»", (False, True)))[: m.rng.choice((1, 2))]
    items, where = [COUNT, m.sum_of("tame"), m.avg_of("wild")], m.sometimes()
    question = asked("rollup", items, keys, where=where)
    names = ", ".join(key.text for key in keys)
    head, _, tail = question.ours.partition(" FROM ")
    ours = f"{head} FROM {tail.partition(' GROUP BY ')[0]} GROUP BY ROLLUP ({names})"
    parts = []
    for depth in range(len(keys) + 1):
        nothing = (Key("CAST(NULL AS VARCHAR)"), Key("CAST(NULL AS BOOLEAN)"))
        kept = keys[:depth] + nothing[depth : len(keys)]
        known = " AND ".join(
            [f"({where})" if where else "TRUE"]
            + [f"{key.text} IN ({', '.join(map(literal, key.values or ()))})" for key in keys[:depth]]
        )
        parts.append(asked("", items, kept, where=known).plain)
    return replace(question, ours=ours, plain=" UNION ALL ".join(parts), rollup=True)


def sorted_above(m: Maker) -> Question:
    """HAVING, ORDER BY and LIMIT, over every declared key."""
    key, least = m.field("key"), m.rng.randrange(4)
    number = m.rng.choice((COUNT, Item("count(v.‹tame›)", Cell("count")), m.filtered(COUNT)))
    where = m.sometimes()
    filtered = f" WHERE {where}" if where else ""
    limit = m.rng.choice(("", " LIMIT 2", " LIMIT 3 OFFSET 1"))
    ours = (
        f"SELECT v.«key» AS k0, {number.ours} AS n0 FROM ⟦main⟧ AS v{filtered} GROUP BY v.«key»"
        f" HAVING {number.ours} >= {least} ORDER BY n0 DESC, k0{limit}"
    )
    keys = ", ".join(f"({literal(each)})" for each in key.keys or ())
    found = f"SELECT v.«key» AS k, {number.theirs} AS n FROM ⟦main⟧ AS v{filtered} GROUP BY v.«key»"
    plain = (
        f"SELECT k0, coalesce(n, 0) AS n0, 9 AS units FROM (VALUES {keys}) AS d(k0) LEFT JOIN ({found}) AS f ON k0 = k"
        f" WHERE coalesce(n, 0) >= {least} ORDER BY n0 DESC, k0{limit}"
    )
    return Question("sorted", ours, plain, (number.cell,), (Key("", key.keys),), ordered=True)


def ratios(m: Maker) -> Question:
    """Percentages, ratios of sums, differences of averages."""
    condition, tame = m.condition(), m.field("tame")
    x = "v.‹tame›"
    item = m.rng.choice(
        (
            Item(f"100.0 * count(*) FILTER (WHERE {condition}) / count(*)", Cell("ratio", 100.0)),
            Item(
                f"100.0 * sum(CASE WHEN {condition} THEN 1 ELSE 0 END) / count(*)",
                Cell("ratio", 100.0),
            ),
            Item(f"sum({x}) / count(*)", Cell("ratio", tame.span + tame.reach), f"fsum({x}) / count(*)"),
            Item(
                f"avg({x}) FILTER (WHERE v.«flag») - avg({x}) FILTER (WHERE NOT v.«flag»)",
                Cell("ratio", tame.span),
            ),
            Item(f"avg({x}) - {m.value('tame'):f}", Cell("ratio", tame.span)),
            Item("count(*) - count(v.‹wild›)", Cell("ratio", max(1, m.world.sheets["main"].rows))),
            Item(f"round(avg({x}), 2)", Cell("ratio", max(tame.span, 1e4))),
            Item("count(*) * 1.0 / count(DISTINCT v.«unit»)", Cell("ratio", m.world.sheets["main"].max_rows)),
        )
    )
    keys = (m.declared_key(),) if m.rng.random() < 0.3 else ()
    return asked("ratios", [item], keys, where=m.sometimes())


def of_each_person(m: Maker) -> Question:
    """One number of each person first, then numbers of those."""
    tame, wild, most = m.field("tame"), m.field("wild"), m.world.sheets["main"].max_rows
    inner, cell = m.rng.choice(
        (
            ("count(*)", (0.0, float(most))),
            ("count(v.‹tame›)", (0.0, float(most))),
            ("count(v.‹wild›)", (0.0, float(most))),
            ("max(v.‹wild›)", (wild.reach, wild.span)),
            ("min(v.‹wild›)", (wild.reach, wild.span)),
            ("sum(v.‹tame›)", (tame.reach * most, tame.reach * most)),
            ("max(v.‹tame›)", (tame.reach, tame.span)),
            ("min(v.‹tame›)", (tame.reach, tame.span)),
            ("avg(v.‹tame›)", (tame.reach, tame.span)),
            ("count(DISTINCT v.«key»)", (0.0, float(most))),
        )
    )
    reach = max(cell[1], cell[0])
    where = m.sometimes()
    people = (
        f"SELECT v.«unit» AS u, {inner} AS t FROM ⟦main⟧ AS v{f' WHERE {where}' if where else ''} GROUP BY v.«unit»"
    )
    item = m.rng.choice(
        (
            Item("avg(t)", Cell("avg", 2 * reach), "fsum(t) / count(t)"),
            Item("sum(t)", Cell("sum", reach), "fsum(t)"),
            Item("stddev(t)", Cell("stddev", 2 * reach)),
            Item("count(t)", Cell("count")),
            Item("median(t)", Cell("rank", 2 * reach, 1.0), "list(t ORDER BY t)"),
        )
    )
    if m.rng.random() < 0.25:
        people += f" HAVING count(*) > {m.rng.randrange(3)}"
    return asked("people", [COUNT, item], source=f"({people}) AS q", unit="q.u")


def with_public(m: Maker) -> Question:
    """Rows looked up in a public table."""
    kind = m.rng.choice(("JOIN", "LEFT JOIN"))
    source = f"⟦main⟧ AS v {kind} ⟦wards⟧ AS w ON v.«key» = w.«wards.key»"
    items = [COUNT, m.sum_of("tame"), Item("count(w.«wards.area»)", Cell("count"))]
    if m.rng.random() < 0.5:
        return asked("public join", items, (Key("w.«wards.area»"),), source=source, where=m.sometimes())
    where = f"w.«wards.beds» > {m.rng.randrange(50)}"
    return asked("public join", items, source=source, where=where)


def from_public(m: Maker) -> Question:
    """Every day of a public calendar, every ward, whether or not somebody was there."""
    items = [Item("count(v.«unit»)", Cell("count")), Item("count(v.‹tame›)", Cell("count")), m.sum_of("tame")]
    if m.rng.random() < 0.5:
        items.append(m.avg_of("tame"))
    sheet, role, own = m.rng.choice(
        (
            ("calendar", "day", "day"),
            ("calendar", "week", "day"),
            ("calendar", "moment", "moment"),
            ("wards", "key", "key"),
        )
    )
    link = "day" if role == "week" else role
    source = f"⟦{sheet}⟧ AS c LEFT JOIN ⟦main⟧ AS v ON v.«{own}» = c.«{sheet}.{link}»"
    values = tuple(dict.fromkeys(m.world.sheets[sheet].columns[role]))
    return asked("public calendar", items, (Key(f"c.«{sheet}.{role}»", values),), source=source)


def of_two_tables(m: Maker) -> Question:
    """Pairs of rows of one person."""
    kind = m.rng.choice(("JOIN", "LEFT JOIN"))
    source = f"⟦main⟧ AS v {kind} ⟦side⟧ AS s ON v.«unit» = s.«side.unit»"
    items = [COUNT, m.rng.choice((m.sum_of("score", "side", "s"), m.sum_of("tame"), m.avg_of("score", "side", "s")))]
    keys = m.rng.choice(
        ((), (Key("s.«side.sort»", m.field("sort", "side").keys),), (Key("v.«key»", m.field("key").keys),))
    )
    return asked("two tables", items, keys, source=source, where=m.sometimes())


def in_another_table(m: Maker) -> Question:
    """People who have, or have not, such rows elsewhere."""
    least = m.rng.randrange(10)
    where = m.rng.choice(
        (
            f"v.«unit» IN (SELECT s.«side.unit» FROM ⟦side⟧ AS s WHERE s.«side.score» > {least})",
            f"EXISTS (SELECT 1 FROM ⟦side⟧ AS s WHERE s.«side.unit» = v.«unit» AND s.«side.score» >= {least})",
            f"NOT EXISTS (SELECT 1 FROM ⟦side⟧ AS s WHERE s.«side.unit» = v.«unit» AND s.«side.score» = {least})",
            f"v.«key» IN (SELECT w.«wards.key» FROM ⟦wards⟧ AS w WHERE w.«wards.beds» > {5 * least})",
        )
    )
    return asked("elsewhere", m.numbers(), where=where)


def of_both(m: Maker) -> Question:
    """UNION ALL of two private tables."""
    score, weight = m.field("score", "side"), m.field("weight")
    source = (
        "(SELECT v.«unit» AS u, v.«day» AS d, v.‹weight› AS x FROM ⟦main⟧ AS v"
        " UNION ALL SELECT s.«side.unit» AS u, s.«side.day» AS d, s.‹side.score› AS x FROM ⟦side⟧ AS s) AS b"
    )
    items = [COUNT, Item("sum(b.x)", Cell("sum", max(score.reach, weight.reach)), "fsum(b.x)")]
    keys = m.rng.choice(((), (Key("b.d"),)))
    return asked("union", items, keys, source=source, unit="b.u")


def alone(m: Maker) -> Question:
    """A table whose every row is its own unit."""
    number = m.rng.choice(
        (m.sum_of("wild", "lone", "l"), m.avg_of("tame", "lone", "l"), m.rank_of("tame", "lone", "l"))
    )
    keys = m.rng.choice(((), (Key("l.«lone.key»", m.field("key", "lone").keys),)))
    return asked("rows alone", [COUNT, number], keys, source="⟦lone⟧ AS l", unit="l.rowid", rows="lone")


def distinct_pairs(m: Maker) -> Question:
    source = "(SELECT DISTINCT v.«unit» AS u, v.«key» AS k FROM ⟦main⟧ AS v) AS d"
    keys = m.rng.choice(((), (Key("d.k", m.field("key").keys),)))
    return asked("distinct", [COUNT, Item("count(d.k)", Cell("count"))], keys, source=source, unit="d.u")


def distinct_keys(m: Maker) -> Question:
    """How many different texts or days there are; where keys are declared, how many of those."""
    role = m.rng.choice(("free", "day", "code", "key"))
    keys = m.field(role).keys
    test = "IS NOT NULL" if keys is None else f"IN ({', '.join(map(literal, keys))})"
    source = f"(SELECT DISTINCT v.«{role}» AS x FROM ⟦main⟧ AS v WHERE v.«{role}» {test}) AS d"
    return asked("distinct keys", [COUNT], source=source, unit="d.x")


def above_groups(m: Maker) -> Question:
    """Numbers of the numbers of declared groups: all of it above the noise."""
    keys = ", ".join(f"({literal(each)})" for each in m.field("key").keys or ())
    where = m.sometimes()
    found = f"SELECT v.«key» AS k, count(*) AS n FROM ⟦main⟧ AS v{f' WHERE {where}' if where else ''} GROUP BY v.«key»"
    every = f"SELECT k0 AS k, coalesce(n, 0) AS n FROM (VALUES {keys}) AS d(k0) LEFT JOIN ({found}) AS f ON k0 = k"
    number = m.rng.choice(("max(n) - min(n)", "avg(n)", "sum(n) / 2.0", "sum(CASE WHEN n > 3 THEN 1 ELSE 0 END)"))
    cell = Cell("ratio", max(1.0, m.world.sheets["main"].rows))
    return Question(
        "above groups",
        f"SELECT {number} AS n0 FROM ({found}) AS t",
        f"SELECT {number} AS n0, 9 AS units FROM ({every}) AS t",
        (cell,),
    )


def in_two_stages(m: Maker) -> Question:
    """A number that is bought first, and a question about rows beside it. Of no values there is no average."""
    inner = m.rng.choice(("avg(i.‹weight›)", "count(i.‹tame›)", "count(*) / 2.0", "sum(i.‹weight›)"))
    counted = Item("count(*)", Cell("count", staged=True))
    return asked("two stages", [counted], where=f"v.«nr» < (SELECT {inner} FROM ⟦main⟧ AS i)")


def of_days(m: Maker) -> Question:
    """First, last and middle days and moments, within their bounds."""
    items = [m.rank_of(m.rng.choice(("day", "moment"))), COUNT]
    keys = m.rng.choice(((), (Key("v.«flag»", (False, True)),)))
    return asked("days", items, keys, where=m.sometimes())


def linked(m: Maker) -> Question:
    """Rows whose owner is found through a link."""
    items = [COUNT, m.sum_of("tame", "parts", "p")]
    if m.rng.random() < 0.5:
        keys = m.rng.choice(((), (Key("p.«parts.key»", m.field("key", "parts").keys),)))
        return asked("linked", items, keys, source="⟦parts⟧ AS p", unit="p.unit", rows="parts")
    source = "⟦parts⟧ AS p JOIN ⟦main⟧ AS v ON p.«parts.of» = v.«nr»"
    keys = m.rng.choice(((), (Key("v.«key»", m.field("key").keys),)))
    return asked("linked", items, keys, source=source, where=m.sometimes(), rows="parts")


def with_words(m: Maker) -> Question:
    """WITH, and SELECT * from a query inside."""
    where = m.sometimes()
    inner = f"SELECT v.«key» AS k, v.‹tame› AS x, v.«unit» AS u FROM ⟦main⟧ AS v{f' WHERE {where}' if where else ''}"
    each = m.field("tame")
    ours = "SELECT w.k, count(*), sum(w.x), avg(w.x) FROM w GROUP BY w.k"
    plain = "SELECT w.k, count(*), fsum(w.x), fsum(w.x) / count(w.x), count(DISTINCT w.u) FROM w GROUP BY w.k"
    cells = (Cell("count"), Cell("sum", each.reach), Cell("avg", each.span))
    key = Key("w.k", m.field("key").keys)
    return Question("with", f"WITH w AS ({inner}) {ours}", f"WITH w AS ({inner}) {plain}", cells, (key,))


def windows(m: Maker) -> Question:
    """From one row of a person to the next."""
    inner = m.rng.choice(("LAG(v.«nr»)", "LEAD(v.«nr»)", "ROW_NUMBER()", "FIRST_VALUE(v.«nr»)", "COUNT(*)"))
    source = (
        f"(SELECT v.«unit» AS u, {inner} OVER (PARTITION BY v.«unit» ORDER BY v.«nr») AS x, v.«key» AS k"
        " FROM ⟦main⟧ AS v) AS q"
    )
    where = m.rng.choice(("", "q.x IS NOT NULL", "q.x = 1", "q.x > 2"))
    return asked("windows", [COUNT, Item("count(q.x)", Cell("count"))], source=source, unit="q.u", where=where)


def capped(m: Maker) -> Question:
    """Caps that bind: of one person whole rows are kept, as many as the cap lets."""
    most = m.world.sheets["main"].max_rows
    rows = m.rng.randint(1, most)
    groups = m.rng.choice((1, 2, 40, 40))
    key = m.rng.choice((None, m.field("key"), m.field("code")))
    keys = () if key is None else (Key(f"v.«{key.role}»", key.keys),)
    items = [
        COUNT,
        Item("sum(v.‹weight›)", Cell("sum", 20.0)),
        Item("count(DISTINCT v.«unit»)", Cell("count")),
        Item("count(v.‹tame›)", Cell("count")),
        m.sum_of("tame"),
        m.avg_of("tame"),
    ]
    where = m.sometimes()
    question = asked("capped", items, keys, where=where)
    name = f"v.«{key.role}»" if key else "NULL"
    filtered = f" WHERE {where}" if where else ""
    plain = (
        f"SELECT v.«unit» AS u, {name} AS k, count(*), any_value(v.‹weight›), count(v.‹tame›)"
        f" FROM ⟦main⟧ AS v{filtered} GROUP BY 1, 2"
    )
    return replace(question, plain=plain, caps=(rows, groups))


# the share of questions that must be answered: what is left may only be refused for a reason in `refusals`
FAMILIES = {
    "numbers": (plain_numbers, 0.85),
    "declared keys": (by_declared_keys, 0.85),
    "several keys": (by_several_keys, 0.85),
    "open keys": (by_open_keys, 0.85),
    "rollup": (by_rollup, 0.85),
    "sorted": (sorted_above, 0.95),
    "ratios": (ratios, 0.95),
    "people": (of_each_person, 0.7),
    "public join": (with_public, 0.95),
    "public calendar": (from_public, 0.95),
    "two tables": (of_two_tables, 0.85),
    "elsewhere": (in_another_table, 0.85),
    "union": (of_both, 0.95),
    "rows alone": (alone, 0.85),
    "distinct": (distinct_pairs, 0.95),
    "windows": (windows, 0.95),
    "capped": (capped, 0.85),
    "distinct keys": (distinct_keys, 0.95),
    "above groups": (above_groups, 0.95),
    "two stages": (in_two_stages, 0.95),
    "days": (of_days, 0.85),
    "linked": (linked, 0.85),
    "with": (with_words, 0.85),
    "sayings": (said, 0.95),
    "conditions": (conditioned, 0.95),
}
