"""Files of custodians: who may bring one, how much, and that nothing of it stays."""

from __future__ import annotations

import asyncio
import http.client
import stat
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest
from console.conftest import Place, opened
from console.test_authentication import cookie_of, form
from server.served import Reply, served
from waiting import until

from discreet.console.sessions import BrowserSession, BrowserSessions
from discreet.console.upload import FOLDER, UPLOAD, UploadRefused, Uploads, said_size
from discreet.curator.custody import Custody
from discreet.desk import Visitor
from discreet.errors import Refusal

CSV = b"person,age\np1,30\n"
Message = dict[str, Any]
T = TypeVar("T")


# by itself ------------------------------------------------------------------------------------------------------------


class Body:
    """A body in pieces; after each, something may happen. In the end it is over, unless the browser leaves."""

    def __init__(self, *pieces: bytes, then: str = "end", between: Callable[[], None] = lambda: None) -> None:
        self._pieces, self._then, self._between = list(pieces), then, between
        self.asked = 0

    async def __call__(self) -> Message:
        self.asked += 1
        await asyncio.sleep(0)
        if self._pieces:
            piece = self._pieces.pop(0)
            last = not self._pieces and self._then == "end"
            self._between()
            return {"type": "http.request", "body": piece, "more_body": not last}
        if self._then == "silence":
            await asyncio.sleep(60)
        return {"type": "http.disconnect"}


def run(work: Coroutine[Any, Any, T]) -> T:
    """In a thread of its own: the browser of other tests has a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def scope(**headers: str) -> dict[str, Any]:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "headers": named}


def session(name: str = "cleo") -> BrowserSession:
    return BrowserSessions().begin(Visitor(name, "custodian", "x"))[0]


def left(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def uploads(tmp_path: Path) -> Iterator[Uploads]:
    found = Uploads(tmp_path, most=1000, patience=0.2)
    yield found
    found.close()
    assert left(tmp_path) == []


def test_a_file_is_private_and_called_by_us(uploads: Uploads, tmp_path: Path) -> None:
    who = session()
    named = scope(x_file_name="..%2F..%2Fetc%2Fpasswd%0A.parquet")
    taken = run(uploads.take(who, named, Body(CSV[:5], CSV[5:])))
    assert taken.path.read_bytes() == CSV
    assert taken.path.suffix == ".csv"  # by what it holds
    assert taken.path.resolve().is_relative_to(tmp_path.resolve() / FOLDER)
    assert taken.name == "passwd.parquet"
    assert stat.S_IMODE(taken.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(taken.path.parent.stat().st_mode) == 0o700
    assert uploads.find(who, taken.id) is taken


def test_an_id_is_good_for_the_session_that_brought_the_file(uploads: Uploads) -> None:
    who, again, other = session(), session(), session("zoe")
    taken = run(uploads.take(who, scope(), Body(CSV)))
    for them, number in ((again, taken.id), (other, taken.id), (who, ""), (who, None), (who, str(taken.path))):
        with pytest.raises(Refusal, match="not here any more"):
            uploads.find(them, number)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (Body(b"x" * 600, b"x" * 600, b"x" * 600), {}, 413),
        (Body(b"x"), {"content_length": "1001"}, 413),
        (Body(b"x"), {"content_length": "9" * 30}, 413),
        (Body(CSV, then="gone"), {}, 499),
        (Body(CSV, then="silence"), {}, 408),
        (Body(b""), {}, 400),
        (Body(b"PK\x03\x04\x00"), {}, 415),
    ],
    ids=["too much", "too much said", "far too much said", "gone", "silent", "empty", "neither"],
)
def test_what_is_not_taken_leaves_nothing(
    uploads: Uploads, tmp_path: Path, body: Body, headers: dict[str, str], status: int
) -> None:
    with pytest.raises(UploadRefused) as turned:
        run(uploads.take(session(), scope(**headers), body))
    assert turned.value.status == status
    assert left(tmp_path) == []
    assert body.asked <= 2  # it is not read to its end


def test_it_stops_when_the_session_ends_or_the_server_does(uploads: Uploads, tmp_path: Path) -> None:
    who = session()
    for stop in (lambda: uploads.end(who), uploads.close):
        with pytest.raises(UploadRefused) as turned:
            run(uploads.take(who, scope(), Body(CSV, CSV, then="silence", between=stop)))
        assert turned.value.status == 503
        assert left(tmp_path) == []


def test_somebody_who_is_silent_is_stopped_at_once(tmp_path: Path) -> None:
    uploads, who = Uploads(tmp_path, patience=600), session()

    async def left_waiting() -> None:
        came = asyncio.Event()
        coming = asyncio.create_task(uploads.take(who, scope(), Body(CSV, then="silence", between=came.set)))
        await came.wait()
        await asyncio.sleep(0.05)
        uploads.end(who)
        await coming

    with pytest.raises(UploadRefused):
        run(asyncio.wait_for(left_waiting(), 10))
    assert left(tmp_path) == []


def test_one_file_of_a_person_comes_at_a_time_and_the_next_takes_its_place(uploads: Uploads, tmp_path: Path) -> None:
    who, again = session(), session()

    async def both() -> list[object]:
        takes = (uploads.take(each, scope(), Body(CSV, CSV)) for each in (who, again))
        return await asyncio.gather(*takes, return_exceptions=True)

    first, second = run(both())
    assert isinstance(second, UploadRefused)
    assert second.status == 409
    taken = run(uploads.take(again, scope(), Body(CSV)))
    assert left(tmp_path) == [taken.path]
    assert first is not taken


def test_what_is_read_is_deleted_when_it_was_read(uploads: Uploads, tmp_path: Path) -> None:
    who = session()
    taken = run(uploads.take(who, scope(), Body(CSV)))
    with uploads.reading(taken) as path:
        with pytest.raises(UploadRefused, match="just being read"):
            run(uploads.take(who, scope(), Body(CSV)))
        with pytest.raises(Refusal, match="just being read"), uploads.reading(taken):
            pass
        uploads.end(who)
        assert path.read_bytes() == CSV
    assert left(tmp_path) == []
    with pytest.raises(Refusal, match="not here any more"), uploads.reading(taken):
        pass


def test_what_a_living_server_has_is_not_swept_away(uploads: Uploads, tmp_path: Path) -> None:
    taken = run(uploads.take(session(), scope(), Body(CSV)))
    Uploads(tmp_path).close()
    assert taken.path.exists()


def test_a_size_is_said() -> None:
    assert [said_size(size) for size in (17, 2048, 1 << 20, 1 << 30)] == ["17 bytes", "2 KiB", "1 MiB", "1 GiB"]


# through the door -----------------------------------------------------------------------------------------------------


def bring(place: Place, cookie: str, body: bytes = CSV, **headers: str) -> Reply:
    usual = {"Content-Type": "application/octet-stream", "Origin": place.url, "Cookie": cookie}
    sent = {name.replace("_", "-"): value for name, value in {**usual, **headers}.items() if value}
    return place.server.call("POST", UPLOAD, body=body, headers=sent)


def test_a_custodian_brings_a_file_larger_than_other_requests_may_be(place: Place) -> None:
    cookie = cookie_of(place, "cleo")
    said = bring(place, cookie, CSV + b"p,1\n" * 500_000, X_File_Name="..%2F..%2Fstolen.csv")
    assert said.status == 200
    assert said.headers["cache-control"] == "no-store"
    (path,) = left(place.home / FOLDER)
    assert "stolen" not in str(path)
    assert said.json["id"] not in str(path)
    assert form(place, "/sign-out", {}, Cookie=cookie).status == 303
    assert left(place.home / FOLDER) == []

    def noted() -> list[dict[str, object]]:
        return [line for line in place.server.lines() if line.get("path") == UPLOAD]

    assert until(lambda: bool(noted()))  # the journal is written after the answer
    lines = noted()
    assert (lines[-1]["method"], lines[-1]["principal"], lines[-1]["status"]) == ("POST", "cleo", 200)


def test_who_may_not_bring_a_file(place: Place) -> None:
    cleo = cookie_of(place, "cleo")
    assert bring(place, "").status == 401
    assert bring(place, cleo[:-1] + "x").status == 401
    said = bring(place, cookie_of(place, "ann"))
    assert (said.status, "custodian" in said.json["said"]) == (403, True)
    for wrong in ({"Origin": "http://evil.example"}, {"Origin": ""}, {"Sec_Fetch_Site": "cross-site"}):
        assert bring(place, cleo, CSV, **wrong).status == 403
    token = Custody(place.home).let_in("carl", "custodian")
    carl = form(place, "/sign-in", {"token": token}).headers["set-cookie"].partition(";")[0]
    Custody(place.home).shut_out("carl")
    assert bring(place, carl).status == 403
    assert place.server.call("GET", UPLOAD, headers={"Cookie": cleo}).status == 405
    assert left(place.home / FOLDER) == []


@pytest.mark.parametrize("path", ["/data/file/../../x", "/data/file/x", "/data/file%2f..%2fx", "/data/../data/file"])
def test_there_is_one_path_and_no_other(place: Place, path: str) -> None:
    headers = {"Origin": place.url, "Cookie": cookie_of(place, "cleo")}
    assert place.server.call("POST", path, body=b"x" * 100_000, headers=headers).status in (404, 413)
    assert left(place.home / FOLDER) == []


def test_a_file_that_is_too_large_is_refused_before_it_is_sent(place: Place) -> None:
    said = begun(place, cookie_of(place, "cleo"), {"Content-Length": str((1 << 30) + 1)})
    try:
        answer = said.getresponse()
        assert answer.status == 413
        assert b"1 GiB" in answer.read()
    finally:
        said.close()


def begun(place: Place, cookie: str, headers: dict[str, str]) -> http.client.HTTPConnection:
    """A file on its way, of which nothing came yet."""
    connection = http.client.HTTPConnection("127.0.0.1", place.server.http, timeout=30)
    connection.putrequest("POST", UPLOAD)
    for name, value in {"Origin": place.url, "Cookie": cookie, **headers}.items():
        connection.putheader(name, value)
    connection.endheaders()
    return connection


@pytest.mark.slow
def test_a_file_that_stops_coming_or_whose_server_dies_leaves_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as place:
        folder, cookie = place.home / FOLDER, cookie_of(place, "cleo")
        line = begun(place, cookie, {"Content-Length": "9000000"})
        line.send(b"x" * 2_000_000)
        assert until(lambda: bool(left(folder)))
        line.close()
        assert until(lambda: not left(folder))
        assert bring(place, cookie).status == 200
        (kept,) = left(folder)
        place.server.process.kill()
        place.server.process.wait()
        assert kept.exists()
    with served(place.home) as server:
        assert left(folder) == []
        again = Place(server, place.home, place.tokens)
        assert bring(again, cookie_of(again, "cleo")).status == 200
        line = begun(again, cookie_of(again, "cleo"), {"Content-Length": "9000000"})
        line.send(b"x" * 1_500_000)
        assert until(lambda: any(not path.suffix for path in left(folder)))
        assert server.stop() == 0  # whoever still sends does not keep it
        assert left(folder) == []
        line.close()


def test_made_up_rows_are_for_whoever_may_ask_about_the_table(place: Place) -> None:
    token = Custody(place.home).let_in("nil", "analyst", tables=[])
    ann, nil = cookie_of(place), form(place, "/sign-in", {"token": token}).headers["set-cookie"].partition(";")[0]
    said = place.server.call("GET", "/made-up/visits.csv", headers={"Cookie": ann})
    assert said.status == 200
    assert said.headers["content-disposition"] == 'attachment; filename="made-up-visits.csv"'
    assert said.headers["cache-control"] == "no-store"
    assert said.body.splitlines()[0] == b'"patient","region","diagnosis","cost","day","urgent"'
    assert len(said.body.splitlines()) == 2001
    parquet = place.server.call("GET", "/made-up/visits.parquet", headers={"Cookie": ann})
    assert parquet.body[:4] == b"PAR1"
    for who, path, status in (
        ("", "/made-up/visits.csv", 401),
        (nil, "/made-up/visits.csv", 404),
        (ann, "/made-up/nothing.csv", 404),
        (ann, "/made-up/visits.exe", 404),
        (ann, "/made-up/..%2fvisits.csv", 404),
    ):
        assert place.server.call("GET", path, headers={"Cookie": who} if who else {}).status == status
    Custody(place.home).shut_out("nil")
