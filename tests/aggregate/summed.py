"""A sum that people take part in, with the aggregator at hand: whose turn it is goes round, and nobody sleeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.aggregate.sum_aggregator import SumAggregator
from discreet.aggregate.sum_device import Steps, SumDevice, SumRead
from discreet.aggregate.sum_plan import SumPlan
from discreet.errors import Refusal
from discreet.transport.signing_keys import Handover

PLAN = SumPlan("Power in Mill Lane", 50, Fraction(1, 8), epochs=3, patience=60)


class Street:
    """A home with an aggregator, and devices that reach it without a network. Time goes on when it is told to."""

    def __init__(self, folder: Path, people: int, plan: SumPlan = PLAN) -> None:
        self.now = datetime.now(UTC)
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.aggregator = self.running()
        self.name = self.aggregator.plan(plan, self.now + timedelta(days=1))
        self.devices = [SumDevice(folder / f"device-{place}", clock=lambda: self.now) for place in range(people)]
        for device, token in zip(self.devices, self.aggregator.invite(self.name, people), strict=True):
            device.join(self, self.name, token)

    def running(self) -> SumAggregator:
        """As it is after a start, of whatever the disk holds."""
        return SumAggregator(self.home, clock=lambda: self.now)

    # what a carrier does

    def task(self, name: str) -> bytes:
        return self.aggregator.task(name).document

    def handovers(self) -> list[Handover]:
        return self.aggregator.handovers()

    def join(self, name: str, said: dict[str, str], token: str) -> int:
        return self.aggregator.join(name, said["key"], said["signature"], token)

    def say(self, name: str, message: bytes) -> None:
        self.aggregator.take(name, message)

    def step(self, name: str, epoch: int, step: int, place: int) -> dict[str, Any]:
        return self.aggregator.step(name, epoch, step, place).told

    # rounds

    def steps(self, values: Iterable[Any], **given: Any) -> dict[int, Steps]:  # noqa: ANN401
        return {
            place: self.devices[place].taking_part(self, self.name, value, **given)
            for place, value in enumerate(values)
        }

    def read(
        self,
        steps: dict[int, Steps],
        gone: dict[int, str] | None = None,
        between: Callable[[], None] = lambda: None,
    ) -> dict[int, SumRead | Refusal]:
        """Everybody's turn, again and again, until all have read the sum or cannot; `gone` leave after a step."""
        left, ended = dict(steps), dict[int, SumRead | Refusal]()
        for _ in range(60):
            if not left:
                break
            still = True
            for place in list(left):
                between()
                try:
                    step = next(left[place])
                except StopIteration as over:
                    ended[place] = over.value
                    del left[place]
                    still = False
                except Refusal as refused:
                    ended[place] = refused
                    del left[place]
                    still = False
                else:
                    still = still and step is None
                    if step is not None and (gone or {}).get(place) == step:
                        del left[place]
            if still:  # whoever is missing has had the time
                self.now += timedelta(seconds=61)
        assert not left
        return ended


def refused(street: Street, steps: Steps) -> str:
    """Why somebody cannot take part; time goes on while nothing happens, but not for ever."""
    try:
        for _ in range(20):
            if next(steps) is None:
                street.now += timedelta(seconds=61)
    except Refusal as refusal:
        return str(refusal)
    raise AssertionError(street.name)
