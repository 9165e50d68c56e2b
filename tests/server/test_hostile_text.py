"""Texts that would take all memory or all time: through the real server they end in one sentence, and others go on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import clinic
import pytest
from server.pgwire.raw import Raw, errors, rows
from server.served import Server, served

from discreet.curator.custody import Custody

REPLACED = "replace(" * 30 + "'aaaaaaaaaaaaaaaa'" + ", 'a', 'aaaaaaaaaaaaaaaa')" * 30


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str, str]]:
    home = clinic.home(tmp_path_factory.mktemp("clinic") / "home", epsilon=1000)
    tokens = [Custody(home).let_in(name, "analyst") for name in ("ana", "eve")]
    with served(home, doors=("http", "pg")) as server:
        yield server, *tokens  # type: ignore[misc]


def memory(server: Server) -> int:
    """Bytes of the server itself: its processes are limited by the kernel."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM:"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT generate_series(1, 1000000000)",
        f"SELECT length({REPLACED})",
        "SELECT count(*) FROM pg_class a, pg_class b, pg_class c, pg_attribute d, pg_attribute e",
    ],
)
def test_what_takes_too_much_ends_in_one_sentence_at_the_postgres_door(
    place: tuple[Server, str, str], sql: str
) -> None:
    server, ana, eve = place
    with Raw(server.pg, 120) as hostile, Raw(server.pg, 120) as friend:
        hostile.login(eve, "eve")
        friend.login(ana)
        (error,) = errors(hostile.ask(sql))
        assert (error["C"], error["M"]) == ("54000", "this takes more memory or time than one question has")
        assert rows(friend.ask("SELECT count(*) FROM pg_type WHERE oid = 25")) == [[b"1"]]
        assert not errors(friend.ask(clinic.COUNT))
    assert memory(server) < 1 << 30
