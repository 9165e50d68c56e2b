"""Sums of a home, asked and kept in the name of whoever was let in: custodians make and close them, all read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from discreet.aggregate.sum_aggregator import SumAggregator, SumOutcome, SumStanding
from discreet.aggregate.sum_plan import SumPlan
from discreet.aggregate.sum_task import SumTask
from discreet.desk.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.exact import count, shown


class Sums:
    """What visitors may do with sums. Every method may be called from any thread."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._aggregator = desk, SumAggregator(desk.home)

    def listed(self, visitor: Visitor) -> list[SumStanding]:
        """How each sum stands, the latest to close first."""
        self._desk.people(visitor)  # refuses who is not let in any more
        return [self._aggregator.standing(name) for name in self._aggregator.names()]

    def one(self, visitor: Visitor, name: str) -> SumStanding:
        """How one stands."""
        self._desk.people(visitor)
        return self._aggregator.standing(self._whole(name))

    def outcomes(self, visitor: Visitor, name: str) -> list[SumOutcome]:
        """What its epochs came to."""
        self._desk.people(visitor)
        return self._aggregator.outcomes(self._whole(name))

    def made(self, visitor: Visitor, plan: SumPlan, days: int) -> str:
        """Ask people to join a sum: its id."""
        self._desk.custody(visitor)
        return self._aggregator.plan(plan, datetime.now(UTC) + timedelta(days=count(days, "days")))

    def invited(self, visitor: Visitor, name: str, people: int) -> list[str]:
        """A token for each of so many people, kept nowhere."""
        self._desk.custody(visitor)
        return self._aggregator.invite(self._whole(name), people)

    def started(self, visitor: Visitor, name: str) -> SumTask:
        """Sign the task among all who joined."""
        self._desk.custody(visitor)
        return self._aggregator.start(self._whole(name))

    def closed(self, visitor: Visitor, name: str) -> str:
        """Take nothing more; its id."""
        self._desk.custody(visitor)
        whole = self._whole(name)
        self._aggregator.close(whole)
        return whole

    def _whole(self, name: str) -> str:
        """The id that begins so, if only one does."""
        ids = [each for each in self._aggregator.names() if name and each.startswith(name)]
        if len(ids) != 1:
            known = "there is no such sum" if not ids else "several sums begin so"
            raise Refusal(f"{known}: {shown(name)}", hint="see the list")
        return ids[0]
