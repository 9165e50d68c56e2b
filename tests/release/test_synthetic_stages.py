"""A synthesis that is interrupted goes on after what was sealed: nothing is paid twice, and nothing drawn again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import clinic
import numpy as np
import pytest
from disk import Disk
from doubles import Seeded

from discreet.curator import Curator
from discreet.curator.stage_file import StageFile, alone
from discreet.curator.stage_file import interrupted as gone_on
from discreet.desk import HOME, Desk, ReleaseOrder
from discreet.errors import Fault, Refusal
from discreet.ledger import Spend, StoredAnswer
from discreet.mechanisms.registry import Plain
from discreet.mechanisms.sealed_stages import Stage
from discreet.release import (
    CliqueTreeSynthesis,
    DirectSynthesis,
    IndependentSynthesis,
    SpanningTreeSynthesis,
    Synthesis,
    Wish,
)
from discreet.release.interval_tree import Whole

KINDS = (CliqueTreeSynthesis, DirectSynthesis, IndependentSynthesis, SpanningTreeSynthesis)
COLUMNS, SIZES, RHO = ("a", "b", "c"), (3, 4, 2), Fraction(1, 7)
kinds = pytest.mark.parametrize("kind", KINDS)


class Killed(BaseException):
    """The process ends."""


class Kept:
    """Stages in memory, and a process that is killed before or after the one at a place is sealed."""

    def __init__(self, earlier: tuple[Stage, ...] = (), dies: int = -1, *, sealed: bool = False) -> None:
        self.earlier, self.all = earlier, list(earlier)
        self._dies, self._sealed = dies, sealed
        self.shares: list[float] = []

    def begin(self, price: Fraction, left: Fraction) -> None:
        assert left >= 0
        self.all.append(Stage(price, None))

    def seal(self, told: Plain) -> None:
        dies = len(self.all) - 1 == self._dies
        if not dies or self._sealed:
            self.all[-1] = Stage(self.all[-1].price, told)
        if dies:
            raise Killed

    def hear(self, share: float) -> None:
        self.shares.append(share)


def counts(names: tuple[str, ...]) -> Whole:
    """Records in which b follows a."""
    random = np.random.default_rng(1)
    a = random.integers(0, 3, 3000)
    cells = {"a": a, "b": np.where(random.random(3000) < 0.8, a, 3), "c": random.integers(0, 2, 3000)}
    table = np.zeros([SIZES[COLUMNS.index(name)] for name in names], dtype=np.int64)
    np.add.at(table, tuple(cells[name] for name in names), 1 if names else 3000)
    return table


def run(kind: Any, stages: Kept, seed: int = 1) -> Synthesis:  # noqa: ANN401
    made: Synthesis = kind(COLUMNS, SIZES, RHO)(counts, rng=Seeded(seed), stages=stages)
    return made


@kinds
def test_whenever_it_is_killed_it_goes_on_with_what_was_sealed_and_pays_no_more(kind: Any) -> None:  # noqa: ANN401
    whole = Kept()
    run(kind, whole)
    assert sum(stage.price for stage in whole.all) == RHO
    assert whole.shares == sorted(whole.shares)
    assert 0 < whole.shares[-1] <= 1
    for place in range(len(whole.all)):
        killed = Kept(dies=place, sealed=True)
        with pytest.raises(Killed):
            run(kind, killed)
        again = Kept(tuple(killed.all))
        run(kind, again, seed=2)
        assert again.all[: place + 1] == killed.all
        assert sum(stage.price for stage in again.all) == RHO


@kinds
def test_a_stage_that_was_not_sealed_is_forfeited_and_the_rest_has_that_much_less(kind: Any) -> None:  # noqa: ANN401
    whole = Kept()
    run(kind, whole)
    for place in range(len(whole.all) - 1):
        killed = Kept(dies=place)
        with pytest.raises(Killed):
            run(kind, killed)
        again = Kept(tuple(killed.all))
        made = run(kind, again)
        assert again.all[place].told is None
        assert again.all[place + 1].price < again.all[place].price  # the same stage, at what is left for it
        assert sum(stage.price for stage in again.all) == RHO
        told = [stage.price for stage in again.all if stage.told is not None]
        assert {float(1 / (2 * price)) for price in told} >= {
            float(table.variances.min()) for table in made.tables if not table.decided
        }


class Counted(Seeded):
    """Coins, and how many were thrown."""

    thrown = 0

    def bits(self, count: int, /) -> int:
        self.thrown += 1
        return super().bits(count)

    def raw(self, count: int, /) -> bytes:
        self.thrown += 1
        return super().raw(count)


@kinds
def test_no_coin_is_thrown_for_a_stage_before_it_is_begun(kind: Any) -> None:  # noqa: ANN401
    """And every one of them before it is sealed: a stage that was drawn and not begun could be drawn again."""
    rng = Counted(1)
    begun, sealed = [], [0]

    class Watched(Kept):
        def begin(self, price: Fraction, left: Fraction) -> None:
            begun.append(rng.thrown)
            super().begin(price, left)

        def seal(self, told: Plain) -> None:
            sealed.append(rng.thrown)
            super().seal(told)

    kind(COLUMNS, SIZES, RHO)(counts, rng=rng, stages=Watched())
    assert begun == sealed[:-1]
    assert all(before < after for before, after in zip(begun, sealed[1:], strict=True))


def test_another_run_is_not_gone_on_with() -> None:
    whole = Kept()
    run(IndependentSynthesis, whole)
    dearer = tuple(Stage(stage.price * 2, stage.told) for stage in whole.all)
    with pytest.raises(AssertionError, match="must go on as it began"):
        run(IndependentSynthesis, Kept(dearer))


def test_twice_forfeited_is_paid_twice() -> None:
    first = Kept(dies=0)
    with pytest.raises(Killed):
        run(IndependentSynthesis, first)
    second = Kept(tuple(first.all), dies=1)
    with pytest.raises(Killed):
        run(IndependentSynthesis, second)
    last = Kept(tuple(second.all))
    run(IndependentSynthesis, last)
    prices = [stage.price / RHO for stage in last.all]
    assert prices == [Fraction(1, 3), Fraction(2, 9), Fraction(4, 27), Fraction(4, 27), Fraction(4, 27)]


# in a home ------------------------------------------------------------------------------------------------------------

WISH: dict[str, Any] = {"epsilon": "5", "delta": "1e-7", "max_rows": 3, "method": "clique-tree", "bins": {"cost": 5}}
ORDER = ReleaseOrder.of("visits", Wish.of("synthetic", ("region", "cost"), **WISH))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=30, delta="1e-6")


def entries(home: Path, kind: type) -> int:
    ledger = Curator(home).ledger
    return sum(isinstance(ledger.entry(n).event, kind) for n in range(1, ledger.books().size + 1))


def interrupted(home: Path, after: int = 1) -> Path:
    """The stages of a run that was cut off after so many were sealed."""
    with pytest.MonkeyPatch.context() as patch:
        seal, many = StageFile.seal, 0

        def sealing(self: StageFile, told: Plain) -> None:
            nonlocal many
            many += 1
            if many > after:
                raise KeyboardInterrupt
            seal(self, told)

        patch.setattr(StageFile, "seal", sealing)
        with pytest.raises(KeyboardInterrupt):
            Desk(home).published(HOME, ORDER)
    [path] = [each for each in (home / "stages").iterdir() if each.name.isdigit()]
    return path


@pytest.mark.parametrize("after", [0, 1, 2])
def test_one_that_was_interrupted_is_paid_once_and_ends_with_what_was_sealed(home: Path, after: int) -> None:
    path = interrupted(home, after)
    assert path.stat().st_mode & 0o077 == 0
    assert (entries(home, Spend), entries(home, StoredAnswer)) == (1, 0)
    sealed = [line for line in path.read_bytes().splitlines() if b"told" in line]
    assert len(sealed) == after
    again: list[Stage] = []
    with pytest.MonkeyPatch.context() as patch:
        found = StageFile.found.__func__  # type: ignore[attr-defined]

        def finding(*given: object) -> StageFile | None:
            stages: StageFile | None = found(*given)
            again.extend(() if stages is None else stages.earlier)
            return stages

        patch.setattr(StageFile, "found", classmethod(finding))
        Desk(home).published(HOME, ORDER)
    assert sum(stage.told is not None for stage in again) == after
    assert len(again) == after + 1  # and the one that is forfeited
    assert (entries(home, Spend), entries(home, StoredAnswer)) == (1, 1)
    assert not path.exists()


def test_other_payments_and_what_failed_are_not_gone_on_with(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = interrupted(home)
    path.write_bytes(path.read_bytes().replace(b'"paid": "', b'"paid": "0'))
    Desk(home).published(HOME, ORDER)
    assert (entries(home, Spend), entries(home, StoredAnswer)) == (2, 1)

    def failing(*_: object) -> None:
        raise ValueError

    other = ReleaseOrder.of("visits", Wish.of("synthetic", ("region", "cost"), **{**WISH, "epsilon": "4"}))
    with monkeypatch.context() as patch:
        patch.setattr(StageFile, "seal", failing)
        with pytest.raises(Fault):
            Desk(home).published(HOME, other)
    assert [each.name for each in (home / "stages").iterdir() if each.name.isdigit()] == [path.name]


def test_it_is_gone_on_with_by_who_paid_and_not_in_a_copy_of_the_home(home: Path) -> None:
    entry = int(interrupted(home).name)
    ledger = Curator(home).ledger
    paid = ledger.entry(entry)
    assert isinstance(paid.event, Spend)
    own = gone_on(ledger, home, paid.event, None)
    assert own is not None
    assert own[0] == paid
    assert gone_on(ledger, home, replace(paid.event, principal="ann"), None) is None
    books = replace(ledger.books().copy(), adopted=entry + 1)
    copied: Any = SimpleNamespace(books=lambda: books, entry=ledger.entry)
    assert gone_on(copied, home, paid.event, None) is None


def test_what_was_begun_last_with_nothing_left_is_over(tmp_path: Path) -> None:
    (tmp_path / "stages").mkdir()
    paid: Any = SimpleNamespace(number=3, hash="ab")
    stages = StageFile.new(tmp_path, paid)
    stages.begin(Fraction(1, 3), Fraction(2, 3))
    stages.seal([1])
    stages.begin(Fraction(2, 3), Fraction(0))
    assert StageFile.found(tmp_path, paid) is None
    stages.seal([2])
    with (tmp_path / "stages" / "3").open("ab") as file:
        file.write(b'{"begun": "1/')  # cut off
    found = StageFile.found(tmp_path, paid)
    assert found is not None
    assert found.earlier == (Stage(Fraction(1, 3), [1]), Stage(Fraction(2, 3), [2]))
    assert (tmp_path / "stages" / "3").read_bytes().endswith(b"}\n")


def test_what_was_begun_or_told_is_there_after_a_power_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stages").mkdir()
    disk, path = Disk(tmp_path, monkeypatch), tmp_path / "stages" / "3"
    paid: Any = SimpleNamespace(number=3, hash="ab")
    stages = StageFile.new(tmp_path, paid)
    assert disk.left(path) == path.read_bytes()
    stages.begin(Fraction(1, 3), Fraction(2, 3))
    assert disk.left(path) == path.read_bytes()
    stages.seal([1])
    assert disk.left(path) == path.read_bytes()
    assert path.read_bytes().count(b"\n") == 3


def test_two_programs_do_not_make_the_same_at_once(home: Path) -> None:
    question = Desk(home).offered(HOME, ORDER).run.question
    with alone(home, question), pytest.raises(Refusal, match="another program is making just this"):
        Desk(home).published(HOME, ORDER)
    assert entries(home, Spend) == 0


@pytest.mark.slow
def test_one_that_was_killed_is_paid_once(home: Path, tmp_path: Path) -> None:
    """A process of its own, that sleeps in its third stage."""
    code = (
        "import time\nfrom discreet.curator.stage_file import StageFile\nfrom discreet.cli import main\n"
        "begin, seen = StageFile.begin, []\n"
        "def slow(self, *given):\n    begin(self, *given)\n    seen.append(1)\n    len(seen) < 3 or time.sleep(99)\n"
        "StageFile.begin = slow\nmain()"
    )
    asked = ["release", "synthetic", "visits", "--columns", "region,cost", "--epsilon", "5", "--delta", "1e-7"]
    asked += [
        "--max-rows",
        "3",
        "--method",
        "clique-tree",
        "--bins",
        "cost=5",
        "--home",
        str(home),
        "--out",
        str(tmp_path / "o"),
    ]
    process = subprocess.Popen([sys.executable, "-c", code, *asked])
    path = home / "stages" / str(Curator(home).ledger.books().size + 1)
    until = time.monotonic() + 60
    while not path.exists() or path.read_bytes().count(b"begun") < 3:
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert path.read_bytes().count(b"told") == 2
    Desk(home).published(HOME, ORDER)
    assert (entries(home, Spend), entries(home, StoredAnswer)) == (1, 1)
