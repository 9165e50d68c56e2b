"""Many threads and processes share one budget, and a killed one loses no payment and gains no second draw."""

from __future__ import annotations

import random
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import clinic
import pytest
from warm import Warm, finished, started

from discreet.curator import Curator
from discreet.curator.purchase import SingleFlight
from discreet.errors import OverBudget
from discreet.ledger import Spend, SqliteLedger, StoredAnswer, verify
from discreet.privacy import Approximate


def test_many_threads_share_one_budget(home: Path) -> None:
    curator, refused = Curator(home), []

    def ask(i: int) -> None:
        try:
            curator.query(f"SELECT count(*) FROM visits WHERE cost > {i}", epsilon="0.1")
        except OverBudget:
            refused.append(i)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert curator.budget("patient").spent == Approximate(2)
    assert len(refused) == 44


ASKER = """
import sys
from pathlib import Path
from discreet.curator import Curator
from discreet.errors import OverBudget
curator = Curator(Path(sys.argv[1]))
for i in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[3])):
    try:
        print(i, curator.query(f"SELECT count(*) FROM visits WHERE cost > {i}", epsilon="0.1").rows[0][0], flush=True)
    except OverBudget:
        print(i, "over", flush=True)
"""


def asking(home: Path, first: int, many: int) -> Warm:
    return started(["-c", ASKER, str(home), str(first), str(many)], sys.stderr.fileno())


@pytest.mark.parametrize("many", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_processes_share_one_budget(home: Path, many: int) -> None:
    running = [asking(home, 100 * i, 32 // many) for i in range(many)]
    said = []
    for process in running:
        with process.stdout as lines:
            said += lines.read().splitlines()
    assert [process.wait() for process in running] == [0] * many
    assert len(said) == 32
    assert sum(line.endswith("over") for line in said) == 12
    assert Curator(home).budget("patient").spent == Approximate(2)


@pytest.mark.parametrize("rounds", [3, pytest.param(200, marks=pytest.mark.slow)])
def test_killed_askers_never_get_a_second_draw_for_one_payment(tmp_path: Path, rounds: int) -> None:
    home = clinic.home(tmp_path / "home", epsilon=10**6)
    pause = random.Random(rounds)
    said: dict[int, int] = {}
    for i in range(rounds):
        process = asking(home, 1000 * i, 500)
        with process.stdout as out:
            lines = [out.readline()]
            time.sleep(pause.uniform(0, 0.1))
            process.kill()
            lines += [line for line in out.read().split("\n")[:-1] if line]
        assert process.wait() == -signal.SIGKILL
        said.update(tuple(map(int, line.split())) for line in lines)  # type: ignore[misc]
    ledger = SqliteLedger(home / "ledger.db")
    assert verify(ledger.rows()).holds
    events = [entry.event for entry in ledger.entries()]
    spends = [event for event in events if isinstance(event, Spend)]
    answers = [event for event in events if isinstance(event, StoredAnswer)]
    assert len({answer.spend for answer in answers}) == len(answers)
    assert len(said) <= len(answers) <= len(spends)  # whatever was said was recorded, whatever was recorded was paid
    assert Curator(home).budget("patient").spent == len(spends) * Approximate("0.1")
    curator = Curator(home)
    for i, value in list(said.items())[:20]:  # what was said once is said again, free
        again = curator.query(f"SELECT count(*) FROM visits WHERE cost > {i}", epsilon="0.1")
        assert (again.cost, again.rows[0][0]) == (None, value)


def test_who_asks_the_same_at_once_pays_once(home: Path) -> None:
    curator = Curator(home)
    together = threading.Barrier(8)

    def ask(_: int) -> object:
        together.wait()
        return curator.query(clinic.COUNT, epsilon="0.5").cost

    with ThreadPoolExecutor(8) as threads:
        costs = list(threads.map(ask, range(8)))
    assert sorted(costs, key=str) == sorted([Approximate("0.5"), *[None] * 7], key=str)
    assert curator.budget("patient").spent == Approximate("0.5")
    assert curator._flight._under_way == {}


def test_questions_in_any_order_do_not_wait_for_each_other_in_a_ring() -> None:
    flights, done = SingleFlight(), []

    def fly(turn: int) -> None:
        for _ in range(200):
            with flights.alone(["a", "b", "c"][:: 1 if turn % 2 else -1][turn % 2 :]):
                pass
        done.append(turn)

    threads = [threading.Thread(target=fly, args=(turn,), daemon=True) for turn in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(done) == list(range(6))


FORKED = """
import multiprocessing, sys
from pathlib import Path
from discreet.curator import Curator, Terms
curator, sql = Curator(Path(sys.argv[1])), sys.argv[2]
question = curator._question(sql, Terms()).parts[0].measurement.question
with curator._flight.alone([question]):
    child = multiprocessing.get_context("fork").Process(target=curator.query, args=(sql,))
    child.start()
    child.join(60)
sys.exit(child.exitcode)
"""


def test_a_child_does_not_wait_for_what_its_parent_began(home: Path) -> None:
    """In a process of its own: what other tests left running in this one must not be forked."""
    done = finished(["-c", FORKED, str(home), clinic.COUNT])
    assert done.returncode == 0, done.stderr
