"""`discreet serve` as a person meets it: what it refuses, what it prints, how it ends."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import clinic
import psycopg
import pytest
from certificate import certificate_in
from server.served import served
from warm import finished, started

import discreet as dp
from discreet.client import Connection
from discreet.curator.custody import Custody
from discreet.errors import Refusal
from discreet.ledger import SqliteLedger, read_head

COUNT = "SELECT count(*) AS n FROM visits"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=2)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home for those who are refused."""
    return clinic.home(tmp_path_factory.mktemp("untouched") / "home", epsilon=2)


def serve(*options: str, home: Path) -> subprocess.CompletedProcess[str]:
    return finished(["serve", "--home", str(home), *options])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--http", "0.0.0.0:0"], "can be reached by others"),
        pytest.param(["--http", "[::]:0"], "can be reached by others", marks=pytest.mark.slow),
        pytest.param(["--http", "example.org:0"], "can be reached by others", marks=pytest.mark.slow),
        (["--pg", "0.0.0.0:0"], "can be reached by others"),
        (["--http", "8410"], "expected --http as HOST:PORT, got '8410'"),
        pytest.param(["--http", ":8410"], "expected --http as HOST:PORT", marks=pytest.mark.slow),
        (["--pg", "127.0.0.1:65536"], "expected --pg as HOST:PORT"),
        pytest.param(["--pg", "127.0.0.1:-1"], "expected --pg as HOST:PORT", marks=pytest.mark.slow),
        (["--http", "off", "--pg", "off"], "both doors are off"),
        (["--tls-cert", "cert.pem"], "a certificate comes with its key"),
        pytest.param(["--tls-cert", "nowhere.pem", "--tls-key", "nowhere.pem"], "No such file", marks=pytest.mark.slow),
        (["--rate", "0"], "expected a rate above 0"),
        pytest.param(["--rate", "nan"], "expected a rate above 0", marks=pytest.mark.slow),
    ],
)
def test_what_would_not_be_safe_or_makes_no_sense_is_refused(untouched: Path, options: list[str], says: str) -> None:
    done = serve(*options, home=untouched)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_home_that_there_is_not_is_refused(tmp_path: Path) -> None:
    done = serve(home=tmp_path / "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("refused: ")


def test_files_that_are_no_certificate_are_refused(untouched: Path, tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("no")
    done = serve("--tls-cert", str(tmp_path / "no.pem"), "--tls-key", str(tmp_path / "no.pem"), home=untouched)
    assert done.returncode == 2
    assert "are not a certificate and its key" in done.stderr


@pytest.mark.parametrize("door", ["http", "pg"])
def test_a_port_that_is_taken_is_refused_and_the_other_door_closes_again(untouched: Path, door: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        other = "pg" if door == "http" else "http"
        done = serve(f"--{door}", f"127.0.0.1:{port}", f"--{other}", "127.0.0.1:0", home=untouched)
    assert done.returncode == 2
    assert f"--{door} 127.0.0.1:{port} cannot be listened on" in done.stderr


def test_without_its_parts_it_says_what_to_install(untouched: Path) -> None:
    code = (
        "import sys; sys.modules['fastapi'] = None; "
        f"sys.argv = ['discreet', 'serve', '--home', {str(untouched)!r}]; from discreet.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "refused: the doors need fastapi\nhint: pip install 'discreet[server]'\n"


@pytest.mark.parametrize("cold", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["warm", "cold"])
def test_both_doors_lead_to_one_curator_and_what_it_prints_works(home: Path, cold: bool) -> None:  # noqa: FBT001
    token = Custody(home).let_in("ann", "analyst")
    with served(home, doors=("http", "pg"), cold=cold) as server:
        assert f'curl -H "Authorization: Bearer $DISCREET_TOKEN" {server.url}/api/v1/tables' in server.greeting
        (line,) = [line for line in server.greeting.splitlines() if "python -c" in line]
        told = subprocess.run(
            [sys.executable, *shlex.split(line)[1:]],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "DISCREET_TOKEN": token},
        )
        assert "Table(name='visits'" in told.stdout
        (line,) = [line for line in server.greeting.splitlines() if "psql" in line]
        address = shlex.split(line)[1].replace("user=NAME", "user=ann")
        assert f"port={server.pg}" in address
        first = server.connect(token).query(COUNT, epsilon=1)
        assert first.cost is not None
        with psycopg.connect(address, password=token, autocommit=True) as wire:
            wire.execute("SET discreet.epsilon = 1")
            assert wire.execute(COUNT).fetchall() == [first.rows[0]]  # the same noise: it was answered before
        assert dp.open(home).budget("patient").spent == first.cost
        assert server.stop() == 0
        assert server.process.stdout is not None
        heads = [read_head(line[5:]) for line in server.process.stdout if line.startswith("head ")]
    assert all(head.genuine() for head in heads)
    assert heads[-1].size == SqliteLedger(home / "ledger.db").books().size > heads[0].size  # at the end, and before


def test_it_listens_on_the_sixth_version_of_addresses_too(home: Path) -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    token = Custody(home).let_in("ann", "analyst")
    with (home.parent / "journal").open("w") as journal:
        process = started(["serve", "--home", str(home), "--http", "[::1]:0", "--pg", "off"], journal.fileno())
    with process.stdout:
        try:
            url = process.stdout.readline().split()[-1]
            assert url.startswith("http://[::1]:")
            assert dp.connect(url, token).populations() == ["patient"]
        finally:
            process.terminate()
            assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_0_when_it_is_told_to(home: Path, number: signal.Signals) -> None:
    with served(home, doors=("http", "pg")) as server:
        server.process.send_signal(number)
        assert server.process.wait(timeout=60) == 0
    assert "Traceback" not in server.journal.read_text()


def test_with_a_certificate_both_doors_speak_tls(home: Path, tmp_path: Path) -> None:
    token = Custody(home).let_in("ann", "analyst")
    cert, key = certificate_in(tmp_path)
    with served(home, "--tls-cert", str(cert), "--tls-key", str(key), doors=("http", "pg")) as server:
        assert "sslmode=require" in server.greeting
        url = f"https://127.0.0.1:{server.http}"
        assert url in server.greeting
        there = Connection(url, token, tls=ssl.create_default_context(cafile=str(cert)))
        rows = there.query(COUNT, epsilon=1).rows
        with pytest.raises(Refusal, match="its certificate is not trusted"):
            dp.connect(url, token).tables()
        with pytest.raises(dp.DiscreetError):
            dp.connect(f"http://127.0.0.1:{server.http}", token).tables()  # in the clear nobody answers
        address = f"host=127.0.0.1 port={server.pg} user=ann sslmode=verify-ca sslrootcert={cert}"
        with psycopg.connect(address, password=token, autocommit=True) as wire:
            wire.execute("SET discreet.epsilon = 1")
            assert wire.execute(COUNT).fetchall() == list(rows)
