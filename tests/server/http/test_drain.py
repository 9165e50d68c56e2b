"""The server is told to stop, or killed, while people ask: what was paid is not lost, what was said stays said."""

from __future__ import annotations

import os
import signal
import threading
from fractions import Fraction
from pathlib import Path

import pytest
from server.http.conftest import Place, settled
from server.served import Server, served

from discreet.client import Lost
from discreet.curator import Curator
from discreet.errors import DiscreetError, Exceeded, Fault, Refusal
from discreet.ledger import Spend, SqliteLedger, StoredAnswer, verify
from discreet.privacy import Approximate

PRICE = Approximate("0.01")


class Askers:
    """People who ask one question after the other, until they are told to stop or nobody answers.

    On a busy machine computing above the noise may take longer than it may: of such a question they ask the next.
    """

    def __init__(self, server: Server, token: str, people: int, first: int = 0) -> None:
        self.said: dict[int, object] = {}
        self.refused: dict[int, str] = {}
        self.late: set[int] = set()
        self.lost: list[int] = []
        self._server, self._token = server, token
        self._threads = [threading.Thread(target=self._ask, args=(first + 10_000 * i,)) for i in range(people)]
        for thread in self._threads:
            thread.start()

    def _ask(self, number: int) -> None:
        there = self._server.connect(self._token)
        while True:
            try:
                self.said[number] = there.query(sql(number), epsilon=str(PRICE.epsilon)).rows[0][0]
            except Lost:
                self.lost.append(number)
                return
            except DiscreetError as refused:
                if Exceeded.SENTENCE not in str(refused) and Fault.SENTENCE not in str(refused):
                    self.refused[number] = str(refused)
                    return
                self.late.add(number)
            number += 1

    def wait_for(self, answers: int) -> None:
        while len(self.said) < answers and any(thread.is_alive() for thread in self._threads):
            self._threads[0].join(0.002)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()


def sql(number: int) -> str:
    return f"SELECT count(*) AS n FROM visits WHERE cost > {number}"


def spent_and_said(home: Path) -> tuple[int, int]:
    ledger = SqliteLedger(home / "ledger.db")
    assert verify(ledger.rows()).holds
    events = [entry.event for entry in ledger.entries()]
    return sum(isinstance(event, Spend) for event in events), sum(isinstance(event, StoredAnswer) for event in events)


@pytest.mark.parametrize(("people", "answers"), [(8, 10), pytest.param(24, 30, marks=pytest.mark.slow)])
def test_whoever_is_in_when_the_server_stops_gets_the_answer_they_paid_for(
    tmp_path: Path, people: int, answers: int
) -> None:
    """What came too late to be told was paid as well, and asking again is free."""
    place = settled(tmp_path)
    with served(place.home, "--rate", "100000") as server:
        askers = Askers(server, place.ann, people)
        askers.wait_for(answers)
        assert server.stop() == 0
        askers.join()
        journal = server.lines()
    assert len(askers.said) >= answers
    assert len(askers.refused) + len(askers.lost) == people  # lost: connected when the door closed, before it had asked
    closed = ("nobody answers", "door is closing")
    assert [text for text in askers.refused.values() if not any(why in text for why in closed)] == []
    paid, said = spent_and_said(place.home)
    curator = Curator(place.home)
    free = sum(curator.query(sql(number), epsilon=PRICE.epsilon).cost is None for number in askers.late)
    assert paid == said == len(askers.said) + free  # nobody who had paid was cut off
    assert sum(line.get("outcome") == "answered" for line in journal) == len(askers.said)


def test_a_second_signal_ends_it_though_somebody_does_not_take_their_answer(place: Place) -> None:
    with served(place.home) as server:
        server.process.send_signal(signal.SIGTERM)
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=60) == 0


@pytest.mark.parametrize("rounds", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_a_killed_server_loses_no_payment_and_serves_what_it_said_free(tmp_path: Path, rounds: int) -> None:
    place = settled(tmp_path)
    said: dict[int, object] = {}
    for i in range(rounds):
        with served(place.home, "--rate", "100000") as server:
            askers = Askers(server, place.ann, 8, first=1_000_000 * i)
            askers.wait_for(10 + 7 * i)
            os.kill(server.process.pid, signal.SIGKILL)
            askers.join()
            assert server.process.wait() == -signal.SIGKILL
        said |= askers.said
        paid, answered = spent_and_said(place.home)
        assert len(said) <= answered <= paid  # whatever was said was recorded, whatever was recorded was paid
        assert Curator(place.home).budget("patient").spent == paid * PRICE
    with served(place.home, "--rate", "100000") as server:
        there = server.connect(place.ann)
        assert there.budget("patient").spent == paid * PRICE
        assert len(there.history()) == paid
        for number, value in list(said.items())[-20:]:
            again = there.query(sql(number), epsilon=str(PRICE.epsilon))
            assert (again.rows[0][0], again.cost) == (value, None)
        assert there.budget("patient").spent == paid * PRICE
        assert there.head().size == SqliteLedger(place.home / "ledger.db").books().size
        with pytest.raises(Refusal, match="this costs"):
            there.query("SELECT count(*) FROM visits WHERE cost > 5.5", epsilon=Fraction(10**6))
