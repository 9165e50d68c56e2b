"""What is said in which order: simple and extended queries, portals, errors, transactions."""

from __future__ import annotations

import struct

import pytest
from server.pgwire.door import Door
from server.pgwire.raw import Raw, bind, describe, errors, execute, fields, frame, kinds, parse, query, rows

COUNT = "SELECT count(*) AS n FROM visits"
REGIONS = "SELECT region, count(*) AS n FROM visits GROUP BY region ORDER BY region"


def tag(messages: list[tuple[bytes, bytes]]) -> list[str]:
    return [body[:-1].decode() for kind, body in messages if kind == b"C"]


def test_a_simple_query(client: Raw) -> None:
    found = client.ask(REGIONS)
    assert kinds(found) == "TDDDNCZ"
    assert [row[0] for row in rows(found)] == [b"east", b"north", b"south"]
    assert tag(found) == ["SELECT 3"]
    assert found[-1] == (b"Z", b"I")


def test_the_price_and_what_is_left_are_told_and_a_repeat_is_free(client: Raw) -> None:
    client.ask("SET discreet.epsilon = 0.25")
    sql = "SELECT count(*) AS n FROM visits WHERE region = 'north'"
    first, again = (
        [fields(body) for kind, body in client.ask(sql) if kind == b"N"],
        [fields(body) for kind, body in client.ask(sql) if kind == b"N"],
    )
    assert [notice["C"] for notice in first] == ["00000"]
    assert first[0]["M"].startswith("price epsilon 0.25; left epsilon ")
    assert "Error bars cover the noise" in first[0]["D"]
    assert again[0]["M"].startswith("free: this was answered before; left epsilon ")
    assert all(notice["D"].startswith("error bars at 95 % confidence:\nn ± ") for notice in (first[0], again[0]))


def test_what_is_hardly_meant_and_what_is_not_shown_have_notices(client: Raw) -> None:
    client.ask("SET discreet.epsilon = 0.25")
    sql = "SELECT diagnosis, count(*) AS n FROM visits WHERE region = 'West' GROUP BY diagnosis"
    plan = b"".join(body for kind, body in client.ask(f"EXPLAIN {sql}") if kind == b"D").decode(errors="replace")
    for _ in range(2):  # when it is paid, and when it is free again
        doubt, hidden, price = [fields(body) for kind, body in client.ask(sql) if kind == b"N"]
        assert doubt["M"].startswith("'West' is none of the declared keys of region")
        assert hidden["M"].startswith("Groups with fewer than about ")
        assert doubt["M"] in plan
        assert hidden["M"] in plan
        assert hidden["M"] in price["D"]
        assert "Rows of visits in which patient is NULL are left out." in price["D"]
        assert price["D"].splitlines()[-1] in plan


def test_that_no_price_was_named_is_told(client: Raw) -> None:
    (notice,) = [fields(body) for kind, body in client.ask("SELECT sum(cost) AS s FROM visits") if kind == b"N"]
    assert notice["M"].startswith("no price was named, so the default was paid: epsilon 20000; left")


def test_a_client_that_wants_no_notices_gets_none(client: Raw) -> None:
    assert kinds(client.ask(f"SET client_min_messages = warning; {COUNT}")) == "CTDCZ"


def test_sets_may_stand_before_one_select(client: Raw) -> None:
    found = client.ask("SET discreet.epsilon = '3'; SET discreet.confidence TO 0.9; SELECT avg(cost) AS a FROM visits;")
    assert kinds(found) == "CCTDNCZ"
    assert tag(found) == ["SET", "SET", "SELECT 1"]
    assert rows(client.ask("SHOW discreet.epsilon")) == [[b"3"]]


def test_what_was_set_in_a_query_that_fails_is_set_back(client: Raw) -> None:
    found = client.ask("SET application_name = 'x'; SET discreet.epsilon = 7; SELECT nothing FROM nowhere")
    assert [error["C"] for error in errors(found)] == ["42P01"]
    assert found[-1] == (b"Z", b"I")
    assert rows(client.ask("SHOW discreet.epsilon")) == [[b""]]
    assert rows(client.ask("SHOW application_name")) == [[b""]]


def test_an_empty_query(client: Raw) -> None:
    assert kinds(client.ask("")) == "IZ"
    assert kinds(client.ask(" ; -- nothing\n ;/* at all */")) == "IZ"


def test_changes_of_settings_are_reported(client: Raw) -> None:
    found = client.ask("SET application_name = 'tool'")
    assert (b"S", b"application_name\0tool\0") in found
    assert b"application_name" not in b"".join(body for kind, body in client.ask("SET application_name = 'tool'"))


@pytest.mark.parametrize(
    ("sql", "code", "position"),
    [
        ("SELECT cost FROM visits", "42501", None),
        ("SELECT region, cost FROM visits LIMIT 10", "42501", None),
        ("SELECT coun(*) FROM visits", "0A000", 8),
        ("SET jit = off;  SELECT 1, coun(*) FROM visits", "0A000", 27),
        ("INSERT INTO visits VALUES (1)", "0A000", 1),
        ("COPY visits TO STDOUT", "42501", None),
        ("SELECT count(*) FROM nowhere", "42P01", None),
        ("SELECT count(nothing) FROM visits", "42703", None),
        ("SELEC 1", "42601", 1),
        ("SELECT count(* FROM visits", "42601", None),
        ("SELECT 'abc", "42601", 8),
        ("SELECT 1 /* abc", "42601", 10),
        ("SET discreet.epsilon = -1", "22023", None),
        ("SET discreet.epsilo = 1", "42704", None),
        ("SET discreet.max_rows = 0", "22023", None),
        ("SET nothing = 1", "42704", None),
        ("SHOW nothing", "42704", None),
        ("SET client_encoding = 'LATIN1'", "22023", None),
        ("SET server_version = '17'", "55P02", None),
        ("SET ROLE bob", "42501", None),
        ("SET discreet.epsilon = 1e9; SELECT avg(cost) FROM visits", "53400", None),
        ("SELECT $1", "42P02", 1),
        ("EXPLAIN ANALYZE SELECT count(*) FROM visits", "0A000", None),
        ("SAVEPOINT a", "25P01", None),
    ],
)
def test_errors_have_their_codes_places_and_hints(client: Raw, sql: str, code: str, position: int | None) -> None:
    (error,) = errors(client.ask(sql))
    assert (error["S"], error["V"], error["C"]) == ("ERROR", "ERROR", code)
    assert error["M"]
    assert error.get("P") == (None if position is None else str(position))
    assert kinds(client.ask("SHOW timezone")) == "TDCZ"


def test_a_sampler_gets_the_curators_hint(client: Raw) -> None:
    (error,) = errors(client.ask("SELECT region FROM visits"))
    assert error["H"].startswith("aggregate them: COUNT, SUM, AVG, MEDIAN")
    assert error["H"].endswith("this would be answered: SELECT COUNT(*) FROM (SELECT region FROM visits) AS t")


def test_the_place_of_an_error_is_counted_in_the_clients_own_text(client: Raw) -> None:
    sql = "SELECT count(*) FROM visits WHERE region = $1 AND coun(cost) > 1"
    (error,) = errors(client.said(parse(sql), bind([b"x" * 50]), describe("P")))
    assert error["P"] == str(sql.index("coun(cost)") + 1)


# transactions ---------------------------------------------------------------------------------------------------------


def test_transactions_have_their_status(client: Raw) -> None:
    assert client.ask("BEGIN")[-1] == (b"Z", b"T")
    assert client.ask(COUNT)[-1] == (b"Z", b"T")
    failed = client.ask("SELECT cost FROM visits")
    assert (errors(failed)[0]["C"], failed[-1]) == ("42501", (b"Z", b"E"))
    again = client.ask(COUNT)
    assert (errors(again)[0]["C"], again[-1]) == ("25P02", (b"Z", b"E"))
    end = client.ask("COMMIT")
    assert (tag(end), end[-1]) == (["ROLLBACK"], (b"Z", b"I"))


def test_a_savepoint_heals_a_failed_transaction(client: Raw) -> None:
    client.ask("BEGIN; SAVEPOINT a; SET discreet.epsilon = 2")
    assert client.ask("SELECT 1 FROM nowhere")[-1] == (b"Z", b"E")
    assert tag(client.ask("ROLLBACK TO SAVEPOINT a")) == ["ROLLBACK"]
    assert rows(client.ask("SHOW discreet.epsilon")) == [[b""]]
    assert tag(client.ask("RELEASE SAVEPOINT a; COMMIT")) == ["RELEASE", "COMMIT"]
    assert client.ask("ROLLBACK TO a")[-1] == (b"Z", b"I")


def test_settings_of_a_transaction_end_with_it(client: Raw) -> None:
    client.ask("BEGIN; SET LOCAL discreet.epsilon = 5; SET discreet.delta = 0.0001")
    assert rows(client.ask("SHOW discreet.epsilon")) == [[b"5"]]
    client.ask("COMMIT")
    assert rows(client.ask("SHOW discreet.epsilon")) == [[b""]]
    assert rows(client.ask("SHOW discreet.delta")) == [[b"0.0001"]]
    client.ask("BEGIN; SET discreet.delta = 0.5; ROLLBACK")
    assert rows(client.ask("SHOW discreet.delta")) == [[b"0.0001"]]


def test_begin_in_a_text_that_fails_leaves_a_failed_transaction(client: Raw) -> None:
    assert client.ask("BEGIN; SELECT 1 FROM nowhere")[-1] == (b"Z", b"E")
    assert client.ask("ROLLBACK")[-1] == (b"Z", b"I")


# extended -------------------------------------------------------------------------------------------------------------


def test_describing_spends_nothing(client: Raw, door: Door) -> None:
    before = door.entries()
    sql = "SELECT region, avg(cost) AS a, count(*) FROM visits WHERE day > $1 AND cost < $2 GROUP BY region"
    found = client.said(parse(sql, "s"), describe("S", "s"))
    assert kinds(found) == "1tTZ"
    assert found[1][1] == struct.pack("!HII", 2, 1082, 701)
    assert b"region\0" in found[2][1]
    assert b"count\0" in found[2][1]
    bound = client.said(bind([b"2024-05-01", b"10"], "p", "s"), describe("P", "p"))
    assert kinds(bound) == "2TZ"
    assert door.entries() == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region, count(*) AS n FROM visits WHERE urgent GROUP BY region LIMIT 0",
        "SELECT * FROM (SELECT region, count(*) AS n FROM visits WHERE urgent GROUP BY region) q WHERE 1 = 0",
        "SELECT q.n FROM (SELECT region, count(*) AS n FROM visits WHERE urgent GROUP BY region) q WHERE false",
    ],
)
def test_a_probe_for_columns_spends_nothing(client: Raw, door: Door, sql: str) -> None:
    before = door.entries()
    found = client.ask(sql)
    assert kinds(found) == "TCZ"
    assert tag(found) == ["SELECT 0"]
    assert door.entries() == before


def test_an_aggregate_of_nothing_is_still_a_row_and_paid(client: Raw, door: Door) -> None:
    before = door.entries()
    assert kinds(client.ask("SELECT count(*) AS n FROM visits WHERE 1 = 0")) == "TDNCZ"
    assert door.entries() == before + 2


def test_portals_hand_out_rows_as_they_are_asked_for(client: Raw, door: Door) -> None:
    client.ask(REGIONS)
    before = door.entries()
    found = client.said(parse(REGIONS), bind(), execute(2), execute(2), execute(1))
    assert kinds(found) == "12DDsDNCCZ"
    assert [row[0] for row in rows(found)] == [b"east", b"north", b"south"]
    assert tag(found) == ["SELECT 1", "SELECT 0"]
    assert door.entries() == before


def test_binary_and_text_say_the_same(client: Raw) -> None:
    text = rows(client.said(parse(REGIONS), bind(), execute()))
    raw = rows(client.said(parse(REGIONS), bind(results=1), execute()))
    assert [(row[0], struct.unpack("!q", row[1] or b"")[0]) for row in raw] == [
        (row[0], int(row[1] or b"")) for row in text
    ]


def test_parameters_in_text_and_binary_are_the_same_question(client: Raw, door: Door) -> None:
    sql = "SELECT count(*) AS n FROM visits WHERE patient < $1"
    text = rows(client.said(parse(sql), bind([b"12"]), execute()))
    before = door.entries()
    raw = rows(client.said(parse(sql), bind([struct.pack("!q", 12)], formats=[1]), execute()))
    plain = rows(client.ask("SELECT count(*) AS n FROM visits WHERE patient < 12"))
    assert text == raw == plain
    assert door.entries() == before


def test_after_an_error_everything_is_skipped_until_sync(client: Raw) -> None:
    found = client.said(parse("SELECT nope FROM nowhere"), bind(), describe("P"), execute(), parse(COUNT), execute())
    assert kinds(found) == "12EZ"
    assert kinds(client.said(parse(COUNT), bind(), execute())).endswith("CZ")


def test_a_pipeline_of_several_questions(client: Raw) -> None:
    two = (parse(COUNT), bind(), execute(), parse(REGIONS), bind(), execute())
    assert kinds(client.said(*two)).replace("N", "") == "12DC12DDDCZ"


def test_flush_sends_without_an_end(client: Raw) -> None:
    client.send(parse(COUNT), frame(b"H"))
    assert client.read() == (b"1", b"")
    assert kinds(client.said()) == "Z"
    client.send(parse("SELECT cost FROM visits"), describe("S"), frame(b"H"))
    assert kinds(client.until(b"E")) == "1tE"
    assert kinds(client.said()) == "Z"


def test_names_of_statements_and_portals(client: Raw) -> None:
    assert kinds(client.said(parse(COUNT, "a"))) == "1Z"
    assert errors(client.said(parse(COUNT, "a")))[0]["C"] == "42P05"
    assert errors(client.said(bind(name="b")))[0]["C"] == "26000"
    assert errors(client.said(execute(portal="p")))[0]["C"] == "34000"
    assert kinds(client.said(frame(b"C", b"Sa\0"), frame(b"C", b"Snothing\0"))) == "33Z"
    assert kinds(client.said(parse(COUNT, "a"), bind(name="a", portal="p"))) == "12Z"
    assert errors(client.said(execute(portal="p")))[0]["C"] == "34000"  # it ended with its transaction
    client.ask("BEGIN")
    client.said(bind(name="a", portal="p"))
    assert kinds(client.said(execute(portal="p"))).replace("N", "") == "DCZ"
    assert errors(client.said(bind(name="a", portal="p")))[0]["C"] == "42P03"
    client.ask("ROLLBACK; DEALLOCATE a")
    assert errors(client.said(bind(name="a")))[0]["C"] == "26000"


def test_one_statement_is_prepared_at_a_time(client: Raw) -> None:
    assert errors(client.said(parse(f"{COUNT}; {COUNT}")))[0]["C"] == "42601"


def test_the_number_of_parameters_must_fit(client: Raw) -> None:
    assert errors(client.said(parse("SELECT count(*) FROM visits WHERE cost > $1"), bind()))[0]["C"] == "08P01"


def test_a_parameter_that_is_no_value_of_its_type_is_refused(client: Raw) -> None:
    sql = "SELECT count(*) FROM visits WHERE patient = $1"
    assert errors(client.said(parse(sql), bind([b"secret"])))[0]["C"] == "22P02"
    assert errors(client.said(parse(sql), bind([b"\0\1"], formats=[1])))[0]["C"] == "22P02"


def test_settings_and_transactions_work_in_the_extended_protocol(client: Raw) -> None:
    assert kinds(client.said(parse("BEGIN"), bind(), describe("P"), execute())) == "12nCZ"
    found = client.said(parse("SHOW discreet.confidence"), describe("S"), bind(), execute())
    assert kinds(found) == "1tT2DCZ"
    assert rows(found) == [[b"0.95"]]
    assert client.said(parse("COMMIT"), bind(), execute())[-1] == (b"Z", b"I")


def test_set_config_and_current_setting(client: Raw) -> None:
    sql = "SELECT current_setting('discreet.epsilon') AS cur, set_config('discreet.epsilon', $1, false) AS new"
    assert rows(client.said(parse(sql), describe("S"), bind([b"0.5"]), execute())) == [[b"", b"0.5"]]
    assert rows(client.ask("SHOW discreet.epsilon")) == [[b"0.5"]]
    assert rows(client.ask("SELECT current_setting('my.own', true)")) == [[None]]


def test_a_statement_whose_columns_changed_is_told_in_words_that_clients_know(client: Raw) -> None:
    assert kinds(client.said(parse(COUNT, "s"), describe("S", "s"))) == "1tTZ"
    client.ask("SET discreet.intervals = on")
    (error,) = errors(client.said(bind(name="s"), execute()))
    assert (error["C"], error["M"]) == ("0A000", "cached plan must not change result type")


def test_intervals_are_columns(client: Raw) -> None:
    client.ask("SET discreet.intervals = on; SET discreet.epsilon = 1")
    sql = "SELECT region, count(*) AS n FROM visits WHERE cost > 31 GROUP BY region"
    found = client.said(parse(sql), describe("S"), bind(), execute())
    assert b"n_low\0" in found[2][1]
    assert b"n_high\0" in found[2][1]
    for _, n, low, high in rows(found):
        assert float(low or b"") < int(n or b"") < float(high or b"")


def test_a_statement_that_is_described_each_time_follows_the_settings(client: Raw) -> None:
    client.ask("SET discreet.epsilon = 1")
    client.said(parse(COUNT, "s"))
    asked = (bind(name="s"), describe("P"), execute())
    plain = [client.said(*asked) for _ in range(3)]
    client.ask("SET discreet.intervals = on")
    wide = client.said(*asked)
    client.ask("SET discreet.intervals = off")
    again = client.said(*asked)
    assert [_columns(found) for found in (*plain, wide, again)] == [1, 1, 1, 3, 1]
    assert [len(rows(found)[0]) for found in (*plain, wide, again)] == [1, 1, 1, 3, 1]


def _columns(found: list[tuple[bytes, bytes]]) -> int:
    (body,) = [body for kind, body in found if kind == b"T"]
    return int(struct.unpack("!H", body[:2])[0])


def test_messages_may_come_byte_by_byte_and_many_at_once(client: Raw) -> None:
    for byte in query("SHOW jit"):
        client.send(bytes([byte]))
    assert kinds(client.until(b"Z")) == "TDCZ"
    client.send(query("SHOW jit") * 3 + query("SHOW jit")[:7])
    assert [kinds(client.until(b"Z")) for _ in range(3)] == ["TDCZ"] * 3
    client.send(query("SHOW jit")[7:])
    assert kinds(client.until(b"Z")) == "TDCZ"


def test_what_is_told_is_sent_before_a_sync_once_it_is_much(client: Raw) -> None:
    client.said(*(parse(f"SET application_name = '{letter * 1_900}'", letter) for letter in "ab"))
    client.send(*(bind(name=letter) + execute() for letter in "ab" * 50))
    assert client.until(b"C")[0] == (b"2", b"")
