"""A toy session, written as somebody else would: every door, the ledger and the audit know it, and no file of ours."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import clinic
import pytest
import uvicorn
from commandline import discreet
from doubles import Seeded

import discreet as dp
from discreet.audit import audit
from discreet.curator.custody import Custody
from discreet.desk import Desk
from discreet.errors import OverBudget, Refusal
from discreet.ledger import SqliteLedger, StoredAnswer, verify
from discreet.mechanisms import REGISTRY, Openable, Pair, Quota, Takes, registered
from discreet.noise import SECURE, Entropy, laplace
from discreet.privacy import AddRemove, Neighbours, Pure
from discreet.server.http.asgi_app import Door

Said = tuple[int, ...]
SOURCE = Path(__file__).read_text()


# the tenant -----------------------------------------------------------------------------------------------------------
@registered("toy-rounds")
@dataclass(frozen=True)
class Rounds(Openable[Said, int, int, Pure]):
    """So many noisy numbers for one price.

    Guarantee: Pure(epsilon), if each value moves by at most `sensitivity`: each of `rounds` answers loses its share.
    """

    takes: ClassVar[Takes] = Takes.STREAM
    epsilon: Fraction
    rounds: int
    sensitivity: Fraction = Fraction(1)
    neighbours: Neighbours = AddRemove()

    @property
    def privacy(self) -> Pure:
        return Pure(self.epsilon)

    @property
    def room(self) -> int:
        return 100 + 40 * self.rounds

    def start(self, rng: Entropy) -> Said:  # noqa: ARG002
        return ()

    def step(self, state: Said, query: int, rng: Entropy) -> Said:
        return (*state, query + laplace(self.rounds * self.sensitivity / self.epsilon, rng=rng))

    def answers(self, state: Said) -> Said:
        return state

    def used(self, state: Said) -> tuple[Quota, ...]:
        return (Quota("rounds", len(state), self.rounds),)

    def encode(self, state: Said) -> Mapping[str, Any]:
        return {"said": list(state)}

    def decode(self, content: Mapping[str, Any]) -> Said:
        return tuple(content["said"])

    def pairs(self) -> tuple[Pair[Said], ...]:
        return (Pair((0,) * self.rounds, (int(self.sensitivity),) * self.rounds, "every number moves"),)


# ----------------------------------------------------------------------------------------------------------------------

PEOPLE = "SELECT count(DISTINCT patient) FROM visits"
SURE = Rounds(Fraction(200), 2)


@pytest.fixture(autouse=True)
def _known() -> Iterator[None]:
    REGISTRY["toy-rounds"] = Rounds
    yield
    REGISTRY.pop("toy-rounds")  # other tests count what is registered


REGISTRY.pop("toy-rounds")


def test_it_is_short() -> None:
    tenant = SOURCE.split("# the tenant ---")[1].split("# ------")[0]
    assert sum(bool(line.strip()) for line in tenant.splitlines()) - 5 <= 40  # without its docstring


def test_it_is_opened_asked_and_closed_in_python(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", epsilon=1000)
    db = dp.open(home)
    session = db.open_session(SURE, "visits")
    assert [session.ask(PEOPLE) for _ in range(2)] == list(session.answers)
    assert all(abs(answer - 60) < 20 for answer in session.answers)
    with pytest.raises(OverBudget, match="2 rounds of 2"):
        session.ask(PEOPLE)
    assert [each.mechanism["name"] for each in db.sessions()] == ["toy-rounds"]
    assert db.session(session.entry).closed == "it is used up"
    ledger = SqliteLedger(home / "ledger.db")
    assert verify(ledger.rows()).holds
    said = ledger.entries()[-1].event
    assert isinstance(said, StoredAnswer)
    assert said.answer == {"closed": "it is used up", "answers": list(session.answers)}


def test_a_sum_that_is_rounded_down_may_move_by_one(tmp_path: Path) -> None:
    """One visit adds ½ at most, and ⌊x⌋ moves by 1 then: noise for ½ does not hide it."""
    home = clinic.home(tmp_path / "home", epsilon=1000)
    halves = "SELECT sum(CASE WHEN urgent THEN 0.5 ELSE 0.0 END) FROM visits"
    fine = dp.open(home).open_session(Rounds(Fraction(200), 2, Fraction(1, 2)), "visits")
    with pytest.raises(Refusal, match="may move this by 1, and the session was opened for 1/2"):
        fine.ask(halves, max_rows=1)
    dp.open(home).open_session(SURE, "visits").ask(halves, max_rows=1)


def test_it_is_asked_on_the_command_line(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", epsilon=1000)
    given = ["--home", str(home), "--param", "epsilon=200", "--param", "rounds=2"]
    made = discreet(tmp_path, "session", "open", "toy-rounds", "visits", *given)
    assert made.returncode == 0, made.stderr
    entry = made.stdout.split()[-1]
    asked = discreet(tmp_path, "session", "ask", entry, PEOPLE, "--home", str(home))
    assert abs(int(asked.stdout) - 60) < 20
    assert asked.stderr == "1 rounds of 2\n"
    shown = discreet(tmp_path, "session", "show", entry, "--home", str(home), "--format", "json")
    assert json.loads(shown.stdout)["answers"] == [int(asked.stdout)]


@contextmanager
def door(home: Path) -> Iterator[str]:
    """The HTTP door in this process, where the tenant is registered."""
    journal: list[str] = []
    server = uvicorn.Server(uvicorn.Config(Door(Desk(home), log=journal.append), lifespan="off", log_config=None))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def test_it_is_asked_over_http(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", epsilon=1000)
    token = Custody(home).let_in("ann", "analyst")
    with door(home) as url:
        session = dp.connect(url, token).open_session(SURE, "visits")
        answer = session.ask(PEOPLE)
        assert session.answers == (answer,)
        assert abs(answer - 60) < 20
    assert dp.open(home).session(session.entry).answers == (answer,)


def test_it_is_audited() -> None:
    honest = Rounds(Fraction(1), 2)
    assert not audit(honest, samples=3000, alpha="1e-9", rng=Seeded(1)).refuted
    far = [((0, 0), (3, 3))]
    assert audit(honest, far, samples=3000, alpha="1e-9", rng=Seeded(1)).refuted
    assert honest((5, 6, 7), rng=SECURE)[2:] == ()
