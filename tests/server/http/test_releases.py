"""Releases through the HTTP door: the same price, the same folder, and for the same people as at home."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from server.http.conftest import Place, settled
from server.served import Server, served

import discreet as dp
from discreet.client import Connection, Home
from discreet.desk import HOME, Desk, PaidRelease
from discreet.desk.release_store import Offered
from discreet.errors import OverBudget, Refusal
from discreet.privacy import Approximate
from discreet.release.folder import checked, digest

RELEASES = "/api/v1/releases"
WISH = {"kind": "histogram", "columns": ["cost"], "epsilon": "0.5", "bins": {"cost": 10}, "max_rows": 3}
ORDER = {"source": "visits", "wish": WISH, "name": "What visits cost"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return settled(tmp_path_factory.mktemp("releases"), epsilon=5, delta="1e-6")


@pytest.fixture(scope="module")
def server(place: Place) -> Iterator[Server]:
    with served(place.home, "--rate", "1000") as running:
        yield running


@pytest.fixture(scope="module")
def entry(place: Place, server: Server) -> int:
    made = server.call("POST", RELEASES, place.ann, ORDER)
    assert made.status == 200, made.text
    assert made.json["loss"]["words"] == "epsilon 0.5"
    assert made.json["note"] == ""
    return int(made.json["entry"])


def spent(place: Place) -> Fraction:
    found = dp.open(place.home).budget("patient").spent
    assert isinstance(found, Approximate)
    return found.epsilon


def test_an_offer_is_free_and_says_what_is_charged(place: Place, server: Server) -> None:
    before = spent(place)
    wish = {**WISH, "columns": ["cost", "region"], "epsilon": 0.25}
    found = server.call("POST", f"{RELEASES}/offer", place.ann, {"source": "visits", "wish": wish})
    assert found.status == 200
    said = found.json
    assert (said["price"]["epsilon"], said["cells"], said["tables"]) == ("1/4", 30, [["cost", "region"]])
    assert said["error"] == {"of": "one cell", "within": "36"}  # q = e^(−1/12): 2q^37/(1 + q) ≤ 0.05 < 2q^36/(1 + q)
    assert (said["population"], said["entry"], said["outside"]) == ("patient", None, "leave out")
    later = {**wish, "kind": "ranges"}
    said = server.call("POST", f"{RELEASES}/offer", place.ann, {"source": "visits", "wish": later}).json
    assert said["error"] == {"of": "any count", "within": None}
    assert "error any count: known after paying" in said["words"]
    assert spent(place) == before


def test_a_release_is_charged_once_whoever_asks_again(place: Place, server: Server, entry: int) -> None:
    before = spent(place)
    for token in (place.ann, place.cleo):
        again = server.call("POST", RELEASES, token, {**ORDER, "name": "another name"})
        assert (again.status, again.json["entry"], again.json["name"]) == (200, entry, "What visits cost")
        assert "a release keeps its first name: it is called 'What visits cost'" in again.json["note"]
        offer = server.call("POST", f"{RELEASES}/offer", token, ORDER)
        assert offer.json["entry"] == entry
    assert spent(place) == before
    told = [line for line in server.lines() if line["path"] == RELEASES and line["method"] == "POST"]
    assert [(line["outcome"], line["principal"], line["entry"]) for line in told] == [
        ("answered", "ann", str(entry)),
        ("free", "ann", str(entry)),
        ("free", "cleo", str(entry)),
    ]


def test_the_journal_has_no_wish_and_no_name(server: Server, entry: int) -> None:
    assert entry
    text = server.journal.read_text()
    assert "What visits cost" not in text
    assert "cost" not in text


def test_who_may_not_ask_about_the_table_finds_nothing(place: Place, server: Server, entry: int) -> None:
    assert server.call("GET", RELEASES, place.bob).json == {"releases": []}
    for path in (f"/{entry}", f"/{entry}/files/release.json", f"/{entry}/files/certificate.json"):
        assert server.call("GET", RELEASES + path, place.ann).status == 200  # so that it is at hand
        refused = server.call("GET", RELEASES + path, place.bob)
        absent = server.call("GET", RELEASES + path.replace(str(entry), "9999"), place.bob)
        assert refused.status == absent.status == 400
        assert refused.error["message"].replace(str(entry), "9999") == absent.error["message"]
        assert server.call("GET", RELEASES + path).status == 401
    for path in ("", "/offer"):
        assert "there is no table" in server.call("POST", RELEASES + path, place.bob, ORDER).error["message"]
        assert server.call("POST", RELEASES + path, None, ORDER).status == 401


def test_the_files_of_a_release_are_a_folder_that_holds(
    place: Place, server: Server, entry: int, tmp_path: Path
) -> None:
    certificate = server.call("GET", f"{RELEASES}/{entry}", place.ann)
    assert certificate.headers["content-type"] == "application/json"
    (tmp_path / "certificate.json").write_bytes(certificate.body)
    kinds = {"cells.parquet": "application/vnd.apache.parquet", "index.html": "text/html; charset=utf-8"}
    for name, known in certificate.json["files"].items():
        server.call(
            "POST", "/api/v1/query", place.cleo, {"sql": f"SELECT count(*) + {len(name)} FROM visits"}
        )  # it grows
        found = server.call("GET", f"{RELEASES}/{entry}/files/{name}", place.ann)
        assert (found.status, digest(found.body)) == (200, known)
        assert found.headers["content-type"] == kinds.get(name, "application/json")
        assert found.headers["content-disposition"] == f'attachment; filename="{name}"'
        assert found.headers["cache-control"] == "no-store"
        (tmp_path / name).write_bytes(found.body)
    assert checked(tmp_path)


@pytest.mark.parametrize("name", ["nothing.json", "..%2Fcertificate.json", ".", "%00", "ledger.key"])
def test_only_files_of_the_release_are_given_out(place: Place, server: Server, entry: int, name: str) -> None:
    found = server.call("GET", f"{RELEASES}/{entry}/files/{name}", place.ann)
    assert found.status in (400, 404)
    assert found.error["kind"] == "refusal"


def test_over_budget_is_402_and_charges_nothing(place: Place, server: Server) -> None:
    before = spent(place)
    dear = server.call("POST", RELEASES, place.ann, {**ORDER, "wish": {**WISH, "epsilon": 4.75}})
    assert (dear.status, dear.error["kind"]) == (402, "over_budget")
    assert spent(place) == before
    assert not any(line.get("outcome") == "fault" for line in server.lines())


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"bins": {"cost": "0:2000:10"}}, "bounds"),
        ({"columns": ["cost"], "bins": {}, "method": "magic"}, "no method 'magic'"),
        ({"columns": []}, "different columns"),
        ({"columns": ["diagnosis"], "bins": {}}, "is text and has no declared keys"),
        ({"columns": ["\ud800"], "bins": {}}, ""),
        ({"rho": 1}, "one of epsilon and rho"),
        ({"epsilon": "1e-4000"}, "exponent"),
        ({"colour": "red"}, "no part ['colour']"),
        ({"kind": "pie"}, "expected kind as one of ['histogram', 'ranges', 'marginals'"),
        ({"max_rows": 0}, "max_rows"),
        ({"bins": {"cost": {"deep": 1}}}, "expected bins of 'cost'"),
        ({"bins": {"cost": [[[1]]]}}, "expected shape"),
        ({"method": "m" * 10_001}, "expected shape"),
        ({"columns": ["c"] * 1001}, "expected shape"),
    ],
)
def test_what_cannot_be_published_is_400(
    place: Place, server: Server, changed: dict[str, object], sentence: str
) -> None:
    before = spent(place)
    for path in ("", "/offer"):
        found = server.call("POST", RELEASES + path, place.ann, {**ORDER, "wish": {**WISH, **changed}})
        assert (found.status, found.error["kind"]) == (400, "refusal")
        assert sentence in found.error["message"]
    assert spent(place) == before


def test_a_connection_publishes_as_an_open_home_does(place: Place, server: Server, tmp_path: Path) -> None:
    there, here = server.connect(place.ann), dp.open(place.home)
    wish: dict[str, Any] = {
        "kind": "ranges",
        "columns": ["cost"],
        "epsilon": Fraction(1, 8),
        "max_rows": 1,
        "method": "hierarchy",
    }
    for each in (there, here):
        offer = each.offer("visits", **wish)
        assert isinstance(offer, Offered)
        assert (offer.price, offer.entry) == (Approximate(Fraction(1, 8)), None)
    assert there.offer("visits", **wish) == here.offer("visits", **wish)
    listed = there.publish("visits", name="by ann", **wish)
    assert isinstance(listed, PaidRelease)
    assert here.publish("visits", **wish) == listed
    assert there.releases() == here.releases()
    assert there.releases()[0] == listed
    assert there.offer("visits", **wish) == here.offer("visits", **wish)
    assert there.offer("visits", **wish).entry == listed.entry
    assert there.release(listed.entry) == here.release(listed.entry)
    assert there.release(listed.entry).range(cost=(0, 500)) == here.release(listed.entry).range(cost=(0, 500))
    doors: list[Connection | Home] = [there, here]
    for number, db in enumerate(doors):
        certificate = db.certified(listed.entry, tmp_path / f"out{number}")
        assert certificate.title == "by ann"
        assert checked(tmp_path / f"out{number}")
        with pytest.raises(Refusal, match="there already"):
            db.certified(listed.entry, tmp_path / f"out{number}")
        with pytest.raises(Refusal, match="no release 9999"):
            db.release(9999)
        with pytest.raises(Refusal, match="no release 9999"):
            db.certified(9999, tmp_path / "never")
        with pytest.raises(OverBudget):
            db.publish("visits", **{**wish, "epsilon": 5})
        with pytest.raises(TypeError, match="colour"):
            db.offer("visits", colour="red", **wish)  # type: ignore[call-arg]  # that is what is tested
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out0", "out1"]
    released = [path.read_bytes() for path in tmp_path.glob("*/release.json")]
    assert released[0] == released[1]
    assert json.loads(released[0])["facts"]["kind"] == "ranges"


def test_a_certificate_has_the_same_bytes_at_every_download(place: Place, server: Server, entry: int) -> None:
    paths = (f"{RELEASES}/{entry}", f"{RELEASES}/{entry}/files/certificate.json")
    first = server.call("GET", paths[0], place.ann).body
    server.call("POST", "/api/v1/query", place.cleo, {"sql": "SELECT count(*) + 99 FROM visits"})  # the ledger grows
    assert {server.call("GET", path, token).body for path in paths for token in (place.ann, place.cleo)} == {first}
    assert Desk(place.home).file(HOME, entry, "certificate.json") == first
    for secret in (place.ann, place.cleo, "principal", '"ann"'):
        assert secret.encode() not in first
