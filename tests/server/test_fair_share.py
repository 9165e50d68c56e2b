"""Into a thread and back; and as long as others are there, nobody has more than their share of the loop."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.server.fair_share import Pace, Turns, called


async def _values() -> tuple[int, list[str], str]:
    ended: list[str] = []
    with ThreadPoolExecutor(1) as threads:
        value = await called(threads, lambda: 7, lambda: ended.append("value"))
        with pytest.raises(ZeroDivisionError):
            await called(threads, lambda: 1 // 0, lambda: ended.append("error"))
        name = await called(threads, lambda: threading.current_thread().name, lambda: ended.append("name"))
    return value, ended, name


def test_a_call_comes_to_a_value_or_an_error_and_is_over_then() -> None:
    value, ended, name = asyncio.run(_values())
    assert (value, ended) == (7, ["value", "error", "name"])
    assert name != threading.current_thread().name


async def _cancelled() -> tuple[list[str], list[str]]:
    made: list[str] = []
    ended: list[str] = []
    gate = threading.Event()

    def first() -> None:
        gate.wait(60)
        made.append("first")

    with ThreadPoolExecutor(1) as threads:
        running = asyncio.ensure_future(called(threads, first, lambda: ended.append("first")))
        waiting = asyncio.ensure_future(called(threads, lambda: made.append("second"), lambda: ended.append("second")))
        await asyncio.sleep(0.05)
        for task in (waiting, running):
            task.cancel()
        await asyncio.gather(waiting, running, return_exceptions=True)
        await asyncio.sleep(0)
        assert ended == ["second"]  # what was begun is not over
        gate.set()
        await called(threads, lambda: None, lambda: None)
    return made, ended


def test_what_was_begun_runs_to_its_end_and_what_was_not_is_never_made() -> None:
    assert asyncio.run(_cancelled()) == (["first"], ["second", "first"])


def test_a_person_waits_for_themselves_and_analysts_for_each_other_and_custodians_for_neither() -> None:
    async def visit() -> list[str]:
        turns, came = Turns(each=1, others=2), list[str]()

        async def take(who: str, role: str) -> None:
            over = await turns.taken(who, role)
            came.append(who)
            ended.append(over)

        ended: list[object] = []
        first = await turns.taken("ann", "analyst")
        tasks = [asyncio.create_task(take(*each)) for each in (("ann", "analyst"), ("bob", "analyst"))]
        await asyncio.sleep(0.01)
        assert (came, turns.wanted("ann")) == (["bob"], 2)
        tasks += [asyncio.create_task(take(*each)) for each in (("cid", "analyst"), ("cleo", "custodian"))]
        await asyncio.sleep(0.01)
        assert came == ["bob", "cleo"]
        tasks[0].cancel()  # who gives up waiting takes nothing away
        first()
        await asyncio.sleep(0.01)
        assert turns.wanted("ann") == 0
        return came

    assert asyncio.run(visit()) == ["bob", "cleo", "cid"]


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_who_is_alone_never_waits() -> None:
    pace = Pace(Clock())
    assert {pace.wait("eve", 10_000) for _ in range(1000)} == {0.0}


def test_who_says_much_waits_for_who_says_little() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.wait("ann", 100) == 0
    waits = [pace.wait("eve", 10_000) for _ in range(100)]
    assert waits[-1] > 2.0  # a hundred times twenty milliseconds, and as much for ann
    assert pace.wait("ann", 100) == 0
    clock.now = 10.0
    assert pace.wait("eve", 10_000) == 0  # ann said nothing for long


def test_strangers_are_others_too() -> None:
    pace = Pace(Clock())
    pace.coming = 1
    assert [pace.wait("eve", 10_000) for _ in range(10)][-1] > 0
