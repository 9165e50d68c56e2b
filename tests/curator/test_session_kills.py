"""Sessions whose process is killed: at every moment in which something is made durable, and really."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clinic
import pytest
from curator.sessions import ALL, PEOPLE, SURE, events, opened, sessions, spent

from discreet import durable
from discreet.errors import OverBudget
from discreet.ledger import SqliteLedger, StoredAnswer
from discreet.mechanisms import Above, Below, SparseVector


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=10**12)


EVERY = pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])  # of the moments


class Killed(BaseException):
    """The process is no more: nothing after it is done, and no handler of errors sees it."""


def killing(patch: pytest.MonkeyPatch, at: int) -> list[str]:
    """Before and after everything that is made durable there is a moment at which the process may be killed.

    Once it is killed, nothing is written any more. What was met so far is listed.
    """
    met: list[str] = []

    def moment(name: str) -> None:
        met.append(name)
        if len(met) > at:
            raise Killed

    def around(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:  # noqa: ANN401
            moment(f"before {name}")
            done = call(*given, **named)
            moment(f"after {name}")
            return done

        return called

    patch.setattr(SqliteLedger, "_append_all", around("entry", SqliteLedger._append_all))
    for name in ("create", "move", "keep", "make_folder"):
        patch.setattr(durable, name, around(name, getattr(durable, name)))
    return met


@EVERY
def test_a_kill_while_it_is_opened_leaves_nothing_or_a_payment_that_says_so_or_a_session(
    tmp_path: Path, every: int
) -> None:
    outcomes = Counter[str]()
    for at in range(every > 1, 100, every):
        home = clinic.home(tmp_path / f"home{at}", epsilon=10**12)
        with pytest.MonkeyPatch.context() as patch:
            opener, met = sessions(home), killing(patch, at)
            try:
                opener.open(SURE, "visits")
            except Killed:
                pass
            else:
                break
        statuses = sessions(home).all()
        if not statuses:
            outcomes["nothing"] += 1
            assert spent(home) == 0
            continue
        (status,) = statuses
        assert spent(home) == 400
        session = sessions(home).one(status.entry)
        if status.closed:
            outcomes["lost"] += 1
            assert "paid for nothing" in status.closed
            with pytest.raises(OverBudget, match="is closed: it has no state"):
                session.ask(ALL)
            session.close()
            assert events(home)[-1].answer == {"closed": status.closed, "answers": []}
        else:
            outcomes["opened"] += 1
            assert session.ask(ALL, number=1) == Above()
        assert spent(home) == 400
    assert set(outcomes) == {"nothing", "lost", "opened"}
    assert met.count("before entry") == 1


@EVERY
def test_a_kill_while_it_answers_leaves_the_state_before_or_the_answer_and_never_two(
    tmp_path: Path, every: int
) -> None:
    """Also that of the last answer, which closes it: what the ledger did not hear, it hears from whoever asks next."""
    home, outcomes, many = clinic.home(tmp_path / "home", epsilon=10**12), Counter[int](), 0
    for at in range(every > 1, 100, every):
        many += 1
        entry = opened(home, SparseVector.of(400, 100, 1, sensitivity=50)).entry
        session, before = sessions(home).one(entry), (Below(),)
        assert (session.ask(PEOPLE),) == before
        with pytest.MonkeyPatch.context() as patch:
            killing(patch, at)
            try:
                session.ask(ALL)
            except Killed:
                pass
            else:
                break
        again = sessions(home).one(entry)
        outcomes[again.status.asked] += 1
        known = again.answers
        assert known in (before, (*before, Above()))
        assert again.ask(ALL, number=2) == Above()
        assert again.answers == (*before, Above())
        with pytest.raises(OverBudget):
            again.ask(ALL)
        assert {event.spend for event in events(home) if isinstance(event, StoredAnswer)} >= {entry}
    assert set(outcomes) == {1, 2}
    assert spent(home) == 400 * many


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_process_that_is_really_killed(home: Path, moment: str) -> None:
    session = opened(home)
    script = """
import os, signal, sys
from pathlib import Path
from discreet import durable
from discreet.curator import Curator
session = Curator(Path(sys.argv[1])).paid_sessions().one(int(sys.argv[2]))
move = durable.move
def killed(aside, path):
    if sys.argv[3] == "after":
        move(aside, path)
    os.kill(os.getpid(), signal.SIGKILL)
durable.move = killed
session.ask(sys.argv[4], number=1)
"""
    given = [str(home), str(session.entry), moment, ALL]
    done = subprocess.run([sys.executable, "-c", script, *given], capture_output=True, check=False, env=os.environ)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b""), done.stderr
    again = sessions(home).one(session.entry)
    assert again.status.asked == (moment == "after")
    assert again.ask(ALL, number=1) == Above()
    assert again.status.asked == 1
