"""Street of meters that sends over HTTP: a server and houses that are processes, killed, started again and joined."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

from discreet.aggregate.masked_sum import MaskedSum
from discreet.aggregate.sum_aggregator import SumAggregator
from discreet.aggregate.sum_courier import SUMS, SumCourier
from discreet.aggregate.sum_device import Steps, SumDevice
from discreet.aggregate.sum_plan import SumPlan
from discreet.curator.custody import found_home
from discreet.errors import Refusal

HOUSES, MOST = 6, 50
PLAN = SumPlan(
    "Power in Mill Lane", MOST, Fraction(1, 8), epochs=4,
    failures=Fraction(1, 3), colluders=Fraction(1, 6), patience=40,
)  # fmt: skip


def tour(folder: Path) -> Iterator[str]:
    """What happens, line by line."""
    street = _Street(folder)
    yield f"{HOUSES} made-up houses, each a process with a folder of its own, send over HTTP how much power they draw."
    try:
        yield from _visited(street)
    finally:
        street.end()


def _visited(street: _Street) -> Iterator[str]:
    street.serve()
    for place in range(HOUSES):
        street.invite(place)
    sum_ = street.begin()
    yield f"Signed: {sum_.minimum} of {HOUSES} have to survive, up to {sum_.colluders} may work with the aggregator."
    yield ""
    yield "1. All but house 5 have said hello when the server is killed. It starts again, and house 5 comes too."
    houses = _greeting(street, range(HOUSES - 1))
    street.kill()
    street.serve()
    yield from _read(street, [*houses, street.sends(HOUSES - 1)], 0, sum_, range(HOUSES))
    yield ""
    yield "2. House 3 is killed after it has shared its masks with the others: they take them off together."
    yield from _read(street, _one_killed(street), 1, sum_, [0, 1, 2, 4, 5])
    yield ""
    yield "3. A house joins: it is in the next version of the task, which all sign for anew."
    street.invite(HOUSES)
    sum_ = street.begin()
    yield from _read(street, [street.sends(place) for place in range(HOUSES + 1)], 2, sum_, range(HOUSES + 1))
    yield f"   House 1 wants to tell more. {_more(street)}"


def _greeting(street: _Street, places: range) -> list[subprocess.Popen[str]]:
    """Houses that have said hello, and wait for the others."""
    houses = [street.sends(place) for place in places]
    for house in houses:
        _heard(house, "said hello")
    return houses


def _one_killed(street: _Street) -> list[subprocess.Popen[str]]:
    """All but house 3, which has shared its masks; house 0, which is in this process, made them wait for that."""
    houses = _greeting(street, range(1, HOUSES))
    slow = street.steps(0)
    while next(slow) != "hello":
        pass
    for house in houses:
        _heard(house, "said boxes")
    houses[2].kill()
    houses[2].communicate()
    with suppress(StopIteration):
        while True:
            time.sleep(0.1 * (next(slow) is None))
    return [*houses[:2], *houses[3:]]


def _more(street: _Street) -> str:
    try:
        next(street.steps(1))
    except Refusal as refusal:
        return f"Refused: {refusal.message}."
    return "It may."


def _power(place: int) -> int:
    return 5 + 7 * place % (MOST - 5)


def _read(
    street: _Street, houses: list[subprocess.Popen[str]], place: int, sum_: MaskedSum, survivors: range | list[int]
) -> Iterator[str]:
    """What all houses read: the same."""
    lines = {house.communicate()[0].strip() for house in houses}
    (outcome,) = street.aggregator.outcomes(street.name)[place:]
    if outcome.refused or len(lines) != 1:
        raise Refusal(f"this epoch came to nothing: {outcome.refused or sorted(lines)}", hint="try again")
    yield f"   every house prints: {lines.pop()}"
    spread = sum_.noise.deviation_of(outcome.people)
    yield f"   (in truth {sum(map(_power, survivors))}; the noise has a deviation of {spread:.0f})"


def _heard(process: subprocess.Popen[str], words: str) -> None:
    """Wait for a line."""
    assert process.stderr is not None  # noqa: S101  # it was opened as a pipe
    for line in process.stderr:
        if line.strip() == words:
            return
    raise Refusal(f"a house ended before it {words}", hint="try again")


@dataclass
class _Street:
    folder: Path
    url: str = ""
    name: str = ""
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    links: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home = self.folder / "home"
        found_home(self.home)
        self.aggregator = SumAggregator(self.home)
        self.name = self.aggregator.plan(PLAN, datetime.now(UTC) + timedelta(days=1))

    def serve(self) -> None:
        """Start the server, at the address that it had."""
        address = self.url.removeprefix("http://") or "127.0.0.1:0"
        options = ("--http", address, "--pg", "off", "--rate", "1000")
        self._server = self._started("serve", "--home", str(self.home), *options)
        assert self._server.stdout is not None  # noqa: S101  # it was opened as a pipe
        for line in self._server.stdout:
            if found := re.search(r"HTTP at (\S+)", line):
                self.url = found[1]
            if line.startswith("stop with"):
                return
        raise Refusal("the server did not start", hint="see discreet serve")

    def kill(self) -> None:
        """SIGKILL: nothing is said, nothing is tidied up."""
        self._server.kill()
        self._server.communicate()

    def invite(self, place: int) -> None:
        """A house joins over HTTP."""
        (token,) = self.aggregator.invite(self.name, 1)
        SumDevice(self.folder / f"house-{place}").join(SumCourier(self.url), self.name, token)
        self.links[place] = f"{self.url}{SUMS}/{self.name}"

    def begin(self) -> MaskedSum:
        """Sign the task among all who joined."""
        sum_ = self.aggregator.start(self.name).sum
        if not isinstance(sum_, MaskedSum):
            raise Refusal("expected a masked sum")
        return sum_

    def steps(self, place: int) -> Steps:
        """The steps of a house that is in this process."""
        device = SumDevice(self.folder / f"house-{place}")
        return device.taking_part(SumCourier(self.url), self.name, _power(place))

    def sends(self, place: int) -> subprocess.Popen[str]:
        """A process that takes part in the epoch that is under way."""
        device = str(self.folder / f"house-{place}")
        return self._started("sum", "send", self.links[place], str(_power(place)), "--device", device, "--most", "3/8")

    def end(self) -> None:
        """Leave no process behind."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def _started(self, *words: str) -> subprocess.Popen[str]:
        command, pipe = [sys.executable, "-m", "discreet", *words], subprocess.PIPE
        process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)  # noqa: S603  # our own program
        self.processes.append(process)
        return process
