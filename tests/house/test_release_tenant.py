"""A kind of release that the house has never heard of is published, checked, shown and audited like its own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import clinic
import pytest
from bare import SOURCE
from browser import launched
from commandline import discreet as command
from house.totals import TOTALS, NoisyTotals, Totals
from playwright.sync_api import Browser, expect
from server.served import Server, served

import discreet as dp
from discreet.audit import audit
from discreet.curator.custody import Custody
from discreet.desk import HOME, Desk, ReleaseOrder
from discreet.ledger import Spend, SqliteLedger, StoredAnswer
from discreet.privacy import AddRemove, Pure
from discreet.release import Wish, kinds, register, release_kind
from discreet.release.folder import checked, read

WISH = {"kind": "totals", "columns": ["cost"], "epsilon": "0.5", "max_rows": 3}
ENTRY_POINT = "[discreet.release_kinds]\ntotals = house.totals:TOTALS\n"


@pytest.fixture(scope="module", autouse=True)
def _known() -> Iterator[None]:
    """The kind is known while these tests run, and to no other test."""
    register(TOTALS)
    yield
    del release_kind._KINDS["totals"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clinic.home(tmp_path_factory.mktemp("tenant") / "home", epsilon=30, delta="1e-6")


@pytest.fixture(scope="module")
def token(home: Path) -> str:
    return Custody(home).let_in("ann", "custodian")


@pytest.fixture(scope="module")
def server(home: Path, token: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that finds the kind as it would find an installed package: by its entry point."""
    assert token
    package = tmp_path_factory.mktemp("site") / "totals-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: totals\nVersion: 1\n")
    (package / "entry_points.txt").write_text(ENTRY_POINT)
    with pytest.MonkeyPatch.context() as patch:
        tests = Path(__file__).parents[1]
        patch.setenv("PYTHONPATH", os.pathsep.join((str(package.parent), str(tests), SOURCE)))
        with served(home, cold=True) as running:
            yield running


@pytest.fixture(scope="module")
def entry(home: Path) -> int:
    return dp.open(home).publish("visits", kind="totals", columns=["cost"], epsilon="0.5", max_rows=3).entry


def test_it_is_paid_once_and_stands_in_the_ledger(home: Path, entry: int) -> None:
    db = dp.open(home)
    assert [each.name for each in kinds()][-1] == "totals"
    offer = db.offer("visits", kind="totals", columns=["cost"], epsilon="0.5", max_rows=3)
    assert (offer.entry, offer.preview.about, offer.error is not None) == (entry, "each total", True)
    assert db.publish("visits", kind="totals", columns=["cost"], epsilon="0.5", max_rows=3).entry == entry
    release = db.release(entry)
    assert isinstance(release, Totals)
    assert release.to_arrow()["totals"].num_rows == 1
    events = [each.event for each in SqliteLedger(home / "ledger.db", new=False).entries()]
    assert [type(each) for each in events[-2:]] == [Spend, StoredAnswer]
    assert isinstance(events[-2], Spend)
    assert events[-2].what["mechanism"] == {"release": WISH}  # type: ignore[call-overload, index]


def test_the_noise_is_all_that_its_total_is_off(tmp_path: Path) -> None:
    db = dp.open(clinic.home(tmp_path / "home", epsilon=10**9))
    made = db.publish("visits", kind="totals", columns=["cost"], epsilon=10**6)
    release = db.release(made.entry)
    assert isinstance(release, Totals)
    costs = [cost for cost in clinic.visits().column("cost").to_pylist() if cost is not None]
    assert release.told[0] / 100 == pytest.approx(sum(costs), abs=1000)  # 50 rows of up to 1000, over 10^6, 20 times


def test_a_part_that_it_has_is_read_and_one_that_it_has_not_is_refused(home: Path) -> None:
    db = dp.open(home)
    wish = {"kind": "totals", "columns": ["cost"], "epsilon": 1}
    assert db.offer("visits", **wish, parts={"unit": "euro"}).entry is None  # type: ignore[arg-type]
    with pytest.raises(dp.Refusal, match=r"totals has no part \['ways'\]; it has .*'unit'.*that is for marginals"):
        db.offer("visits", **wish, ways=2)  # type: ignore[arg-type]


def test_where_it_is_not_installed_it_is_listed_and_what_is_missing_is_named(
    home: Path, entry: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(release_kind._KINDS, "totals")
    (listed,) = [each for each in dp.open(home).releases() if each.entry == entry]
    assert (listed.wish.kind, listed.wish.columns, listed.wish.epsilon) == ("totals", ("cost",), "0.5")
    with pytest.raises(dp.Refusal, match=r"expected kind as one of .*, got kind='totals'"):
        dp.open(home).release(entry)


def test_its_folder_verifies_and_what_was_changed_in_it_does_not(home: Path, entry: int, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    certificate = dp.open(home).certified(entry, folder)
    assert (certificate.kind, certificate.guarantee) == ("totals", Pure("0.5"))
    assert sorted(certificate.files) == ["index.html", "release.json", "totals.parquet"]
    assert len(checked(folder)) == 6
    assert read(folder)[0] == dp.open(home).release(entry)
    body = json.loads((folder / "release.json").read_text())
    body["totals"][0] += 1
    (folder / "release.json").write_text(json.dumps(body))
    with pytest.raises(dp.Refusal, match=r"'release.json' was changed"):
        checked(folder)


def test_the_command_line_has_it_with_its_own_options(home: Path, tmp_path: Path) -> None:
    told = command(tmp_path, "release", "totals", "--help")
    assert (told.returncode, "--unit TEXT" in told.stdout, "--bins" in told.stdout) == (0, True, False)
    asked = ("release", "totals", "visits", "--columns", "cost", "--epsilon", "0.25", "--home", str(home))
    assert "error each total: within" in command(tmp_path, *asked, "--dry-run").stdout
    made = command(tmp_path, *asked, "--out", "out", "--format", "json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["error"]["of"] == "each total"
    done = command(tmp_path, "release", "verify", "out")
    assert (done.returncode, "holds" in done.stdout) == (0, True)
    shown = command(tmp_path, "release", "show", str(json.loads(made.stdout)["entry"]), "--home", str(home))
    assert "column  total" in shown.stdout.splitlines()


def test_http_finds_it_by_its_entry_point(server: Server, token: str, entry: int, tmp_path: Path) -> None:
    listed = server.call("GET", "/api/v1/releases", token)
    assert [(each["entry"], each["wish"]) for each in listed.json["releases"]][-1] == (entry, WISH)
    offer = server.call("POST", "/api/v1/releases/offer", token, {"source": "visits", "wish": WISH})
    assert (offer.status, offer.json["entry"], offer.json["error"]["of"]) == (200, entry, "each total")
    there = server.connect(token)
    assert isinstance(there.release(entry), Totals)
    assert there.certified(entry, tmp_path / "out").kind == "totals"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


def test_the_console_shows_it(chromium: Browser, server: Server, token: str, entry: int) -> None:
    assert entry
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(f"{server.url}/sign-in")
        page.get_by_label("Your token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.goto(f"{server.url}/releases")
        page.get_by_role("link", name="totals of cost").first.click()
        expect(page.get_by_role("heading", name="What was published")).to_be_visible()
        page.get_by_text("As a table").click()
        expect(page.get_by_role("columnheader", name="total")).to_be_visible()
        page.goto(f"{server.url}/releases?new=1")
        page.get_by_text("Sums of columns, each with noise.").click()
        page.locator(".d-pick-column", has_text="cost").get_by_role("checkbox").check()
        expect(page.locator(".d-expects")).to_contain_text("each total")
    assert "Traceback" not in server.journal.read_text()


def test_its_mechanism_is_audited(home: Path) -> None:
    offer = Desk(home).offered(HOME, ReleaseOrder.of("visits", Wish.read(WISH)))
    mechanism = offer.run.mechanism
    assert isinstance(mechanism, NoisyTotals)
    assert not audit(mechanism, samples=2000).refuted
    other = NoisyTotals(("cost",), 1, Fraction(4), 1, AddRemove("row"))
    assert not audit(other, samples=4000).refuted
    assert audit(other, claim=Pure(1), samples=4000).refuted  # it would be seen if it lost more than it says
