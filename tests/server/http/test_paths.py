"""Every path answers what the curator in the home itself would say."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest
from server.http.conftest import Place
from server.served import Server

import discreet as dp
from discreet.errors import OverBudget, Refusal
from discreet.ledger.verify import pin
from discreet.privacy import Approximate

BY_REGION = "SELECT region, count(*) AS n, avg(cost) AS cost FROM visits GROUP BY region ORDER BY region"


def test_an_answer_has_the_promised_shape_and_is_free_the_second_time(place: Place, server: Server) -> None:
    sent = {"sql": BY_REGION, "epsilon": 0.5, "confidence": 0.9}
    first = server.call("POST", "/api/v1/query", place.ann, sent)
    assert first.status == 200
    found = first.json
    assert found["columns"] == [
        {"name": "region", "type": "varchar"},
        {"name": "n", "type": "bigint"},
        {"name": "cost", "type": "double"},
    ]
    assert [row[0] for row in found["rows"]] == ["east", "north", "south"]
    for row, spans in zip(found["rows"], found["intervals"], strict=True):
        assert spans[0] is None
        assert spans[1][0] <= row[1] <= spans[1][1]
    assert found["cost"] == {
        "measure": "approximate", "epsilon": "1/2", "rho": None, "delta": "0", "words": "epsilon 0.5",
    }  # fmt: skip
    assert found["entry"].isdigit()
    assert "Error bars cover the noise" in found["bounding"]
    again = server.call("POST", "/api/v1/query", place.ann, sent).json
    assert (again["rows"], again["cost"], again["entry"]) == (found["rows"], None, found["entry"])
    at_home = dp.open(place.home).query(BY_REGION, epsilon="0.5", confidence="0.9")
    assert [list(row) for row in at_home.rows] == found["rows"]
    assert at_home.cost is None


def test_what_is_hardly_meant_is_told_free_and_with_the_answer(place: Place, server: Server) -> None:
    sql = "SELECT count(*) AS n FROM visits WHERE region = 'West'"
    told = server.call("POST", "/api/v1/explain", place.ann, {"sql": sql, "epsilon": 0.5}).json
    assert [notice.split(" is none")[0] for notice in told["notices"]] == ["'West'"]
    assert told["bounding"].startswith("Error bars cover the noise.")
    for _ in range(2):
        found = server.call("POST", "/api/v1/query", place.ann, {"sql": sql, "epsilon": 0.5}).json
        assert (found["notices"], found["bounding"]) == (told["notices"], told["bounding"])
    there = server.connect(place.ann).query(sql, epsilon="0.5")
    assert (list(there.notices), there.bounding) == (told["notices"], told["bounding"])


def test_dates_and_what_else_has_no_error_bar_say_so_before_and_after_paying(place: Place, server: Server) -> None:
    day = "LEAST(GREATEST(day, DATE '2024-01-01'), DATE '2025-12-31')"
    sql = f"SELECT median({day}) AS d, DATE '2024-01-01' + count(*)::int AS e, count(*) AS n FROM visits"
    told = server.call("POST", "/api/v1/explain", place.ann, {"sql": sql, "epsilon": 0.5}).json
    assert (told["unbarred"], [each["name"] for each in told["error"]]) == (["d", "e"], ["n"])
    found = server.call("POST", "/api/v1/query", place.ann, {"sql": sql, "epsilon": 0.5}).json
    assert (found["noisy"], found["unbarred"], found["intervals"][0][:2]) == ([True] * 3, ["d", "e"], [None, None])
    there, here = server.connect(place.ann), dp.open(place.home)
    assert str(there.query(sql, epsilon="0.5")) == str(here.query(sql, epsilon="0.5"))
    assert str(here.query(sql, epsilon="0.5")).count("(no error bar)") == 2
    assert str(there.explain(sql, epsilon="0.5")) == str(here.explain(sql, epsilon="0.5"))


def test_a_connection_has_the_methods_of_an_open_home(place: Place, server: Server) -> None:
    there, here = server.connect(place.ann), dp.open(place.home)
    sql = "SELECT region, count(*) AS n, sum(cost) AS s FROM visits GROUP BY region"
    answer = there.query(sql, epsilon=Fraction(1, 3))
    assert answer.cost == Approximate(Fraction(1, 3))
    same = here.query(sql, epsilon=Fraction(1, 3))
    assert (same.columns, same.types, same.rows, same.entry) == (
        answer.columns, answer.types, answer.rows, answer.entry,
    )  # fmt: skip
    assert answer.intervals() == same.intervals()
    assert answer.to_pandas().equals(same.to_pandas())
    assert answer.left == here.budget("patient").left
    assert there.explain(sql, epsilon=1) == here.explain(sql, epsilon=1)
    assert str(there.explain(sql)) == str(here.explain(sql))
    assert there.describe(sql) == here.describe(sql)
    assert there.tables() == here.tables()
    assert there.populations() == here.populations() == ["patient"]
    assert there.budget("patient") == here.budget("patient")
    own = [receipt for receipt in here.history(everybody=True) if receipt.principal == "ann"]
    assert there.history() == own
    assert own[0].sql == sql


def test_bars_at_another_confidence_are_asked_for_again_and_free(place: Place, server: Server) -> None:
    there = server.connect(place.ann)
    answer = there.query("SELECT count(*) AS n FROM visits", epsilon=1)
    with pytest.raises(Refusal, match=r"came with error bars at 0\.95, not at 0\.5"):
        answer.intervals(0.5)
    narrow = there.query("SELECT count(*) AS n FROM visits", epsilon=1, confidence=0.5)
    assert (narrow.rows, narrow.cost) == (answer.rows, None)
    (low, high), (lower, higher) = narrow.intervals(0.5)[0][0], answer.intervals()[0][0]  # type: ignore[misc]
    assert lower < low < high < higher


def test_cells_that_json_has_no_kind_for_come_back_as_they_were(place: Place, server: Server) -> None:
    sql = (
        "SELECT count(*) / 0.0 AS inf, DATE '2024-02-29' AS day, 1.50 AS price, "
        "TIMESTAMP '2024-02-29 12:00:00' AS t, NULL AS nothing, count(*) > 0 AS some, 'é' AS text FROM visits"
    )
    here = dp.open(place.home).query(sql, epsilon=1)
    there = server.connect(place.ann).query(sql, epsilon=1)
    assert there.rows == here.rows
    assert [type(cell) for cell in there.rows[0]] == [type(cell) for cell in here.rows[0]]
    assert dt.date(2024, 2, 29) in there.rows[0]
    raw = server.call("POST", "/api/v1/query", place.ann, {"sql": sql, "epsilon": 1}).json["rows"][0]
    assert raw[1] == "2024-02-29"


@pytest.mark.parametrize(
    ("sql", "status", "kind", "sqlstate", "says"),
    [
        ("SELECT * FROM visits", 400, "refusal", "42501", "rows of people"),
        ("SELECT count(*) FROM nowhere", 400, "refusal", "42P01", "there is no table 'nowhere'"),
        ("DROP TABLE visits", 400, "refusal", "0A000", "only SELECT"),
        ("SELECT count(*) FROM visits WHERE cost > 4711", 402, "over_budget", "53400", "this costs epsilon "),
    ],
)
def test_a_refusal_says_why_and_charges_nothing(  # noqa: PLR0913, PLR0917  # what a refusal consists of
    place: Place, server: Server, sql: str, status: int, kind: str, sqlstate: str, says: str
) -> None:
    before = dp.open(place.home).budget("patient").spent
    reply = server.call("POST", "/api/v1/query", place.ann, {"sql": sql, "epsilon": 5000})
    assert (reply.status, reply.error["kind"], reply.error["sqlstate"]) == (status, kind, sqlstate)
    assert says in reply.error["message"]
    with pytest.raises(OverBudget if status == 402 else Refusal, match=says):
        server.connect(place.ann).query(sql, epsilon=5000)
    assert dp.open(place.home).budget("patient").spent == before


def test_a_repair_goes_through_the_door(place: Place, server: Server) -> None:
    with pytest.raises(Refusal) as here:
        dp.open(place.home).query("SELECT * FROM visits")
    with pytest.raises(Refusal) as there:
        server.connect(place.ann).query("SELECT * FROM visits")
    said = [(e.value.message, e.value.hint, e.value.place, e.value.repair) for e in (here, there)]
    assert said[0] == said[1]
    assert said[0][3]


def test_history_is_ones_own_and_everybodys_for_a_custodian(place: Place, server: Server) -> None:
    server.connect(place.ann).query("SELECT count(*) AS n FROM visits WHERE urgent", epsilon="0.25")
    server.connect(place.cleo).query("SELECT count(*) AS n FROM visits WHERE cost > 7", epsilon="0.25")
    assert {each.principal for each in server.connect(place.ann).history()} == {"ann"}
    assert {each.principal for each in server.connect(place.cleo).history()} == {"cleo"}
    everybody = server.connect(place.cleo).history(everybody=True)
    assert {each.principal for each in everybody} >= {"ann", "cleo"}
    assert server.call("GET", "/api/v1/history?everybody=true", place.ann).status == 403
    two = server.call("GET", "/api/v1/history?everybody=true&limit=2", place.cleo).json["history"]
    assert [each["entry"] for each in two] == [each.entry for each in everybody[:2]]
    rest = server.call("GET", f"/api/v1/history?everybody=true&before={two[-1]['entry']}", place.cleo).json["history"]
    assert [each["entry"] for each in rest] == [each.entry for each in everybody[2:]]


def test_a_proof_holds_against_a_head_that_was_kept(place: Place, server: Server) -> None:
    there = server.connect(place.ann)
    answer = there.query("SELECT count(*) AS n FROM visits WHERE cost < 9", epsilon="0.5")
    head, proof = there.head(), there.proof(int(answer.entry))
    assert head.genuine()
    assert proof.faults(pin(head)) == ()
    assert proof.entry.number == int(answer.entry)
    paid = there.history()[0].entry
    assert there.proof(paid).entry.event.kind == "spend"


def test_a_proof_is_for_who_may_read_the_entry(place: Place, server: Server) -> None:
    answer = server.connect(place.cleo).query("SELECT count(*) AS n FROM visits WHERE cost < 11", epsilon="0.5")
    said, paid = int(answer.entry), server.connect(place.cleo).history()[0].entry
    seen = {
        (who, what): server.call("GET", f"/api/v1/ledger/proof/{entry}", token).status
        for who, token in (("ann", place.ann), ("bob", place.bob), ("cleo", place.cleo))
        for what, entry in (("opened", 1), ("grant", 3), ("paid", paid), ("said", said), ("never", 10**9))
    }
    assert seen == {
        ("ann", "opened"): 403, ("ann", "grant"): 403, ("ann", "paid"): 403, ("ann", "said"): 200,
        ("bob", "opened"): 403, ("bob", "grant"): 403, ("bob", "paid"): 403, ("bob", "said"): 403,
        ("cleo", "opened"): 200, ("cleo", "grant"): 403, ("cleo", "paid"): 200, ("cleo", "said"): 200,
        ("ann", "never"): 400, ("bob", "never"): 400, ("cleo", "never"): 400,
    }  # fmt: skip


def test_a_grant_of_no_table_shows_and_answers_none(place: Place, server: Server) -> None:
    assert server.connect(place.bob).tables() == []
    with pytest.raises(Refusal, match="there is no table 'visits'"):
        server.connect(place.bob).query("SELECT count(*) FROM visits", epsilon=1)
    with pytest.raises(Refusal, match="there is no table 'visits'"):
        server.connect(place.bob).explain("SELECT count(*) FROM visits", epsilon=1)


def test_paths_and_methods_that_there_are_not(place: Place, server: Server) -> None:
    for method, path, status in (
        ("GET", "/", 404),
        ("GET", "/docs", 404),
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/api/v1/query", 405),
        ("DELETE", "/api/v1/tables", 405),
        ("GET", "/api/v1/ledger/proof/zero", 400),
        ("GET", "/api/v1/ledger/proof/0", 400),
        ("GET", "/api/v1/history?limit=0", 400),
    ):
        reply = server.call(method, path, place.ann)
        assert (method, path, reply.status) == (method, path, status)
        assert reply.error["kind"] == "refusal"


def test_health_says_one_word_to_anybody(server: Server) -> None:
    assert server.call("GET", "/health").json == {"status": "open"}


def test_every_reply_has_the_headers_that_keep_browsers_from_it(place: Place, server: Server) -> None:
    for reply in (
        server.call("GET", "/api/v1/tables", place.ann),
        server.call("GET", "/api/v1/tables"),
        server.call("GET", "/nowhere"),
        server.call("POST", "/api/v1/query", place.ann, b"x" * 100_000),
    ):
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert "server" not in reply.headers
        assert "access-control-allow-origin" not in reply.headers
