"""One person has so many calls at once, and what is kept for custodians nobody else takes."""

from __future__ import annotations

import asyncio

from discreet.server.fair_turns import Turns


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
