"""One text, asked of two neighbouring homes: whatever is said must be the same, but for the noise."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from doubles import Seeded
from fuzz.neighbours import Pair

from discreet.curator import Curator, Terms
from discreet.curator.price import reach
from discreet.curator.purchase import total
from discreet.engines import DuckStore
from discreet.errors import Fault, Refusal
from discreet.ledger import Spend, StoredAnswer
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.privacy import Approximate, Concentrated
from discreet.sql.plan import Measurement, Question, Rank, Statistic

T = TypeVar("T")

TOO_CHEAP = "at this price the noise is larger than any number"
MOST_PLANNING = 5.0  # seconds of this process's own time
# What an engine, a parser or Python says of itself. A refusal may repeat the question's words, but none of these.
ENGINE = re.compile(
    r"binder|catalog error|parser error|conversion error|out of range error|invalid input|not implemented"
    r"|internal error|duckdb|sqlglot|sqlite|traceback|exception|<class|object at 0x|\bnonetype\b|hugeint|\.py\b"
    r"|/tmp/|/dev/shm/|/tables/|\x1b|candidate functions|did you mean|line \d+:|explicit type cast|__\w+__"
    r"|#\d|#\.|value_\d|key_\d|_col_\d",  # names that are made on the way
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Failure:
    """What went wrong: of which kind, in a sentence, and a mark that the same trouble has again elsewhere."""

    kind: str
    detail: str
    mark: str


@dataclass(frozen=True)
class Verdict:
    """How a text fared: answered, refused, or not even read as SQL; and what went wrong, if something did."""

    outcome: str
    failure: Failure | None = None


@dataclass(frozen=True)
class Told:
    """What came of asking one home: a value, or a refusal, and what was written into the ledger."""

    value: object
    refusal: Refusal | None
    written: tuple[tuple[str, str], ...]


class _Failed(Exception):
    def __init__(self, kind: str, detail: str, mark: str = "") -> None:
        super().__init__(detail)
        same = mark or re.sub(r"[0-9]+|'[^']*'", "…", detail)[:80]
        self.failure = Failure(kind, detail, f"{kind} {same}")


def check(pair: Pair, text: str, terms: Mapping[str, object] | None = None, seed: int = 1) -> Verdict:
    """Ask a text of both homes. After a fault the homes begin again."""
    asked = Terms(**{**pair.price, **(terms or {})})  # type: ignore[arg-type]
    try:
        return Verdict(_examined(pair, text, asked, seed))
    except _Failed as failed:
        if failed.failure.kind in ("fault", "crash", "leak"):  # a population may be on hold
            pair.again()
        return Verdict("failed", failed.failure)


def _examined(pair: Pair, text: str, asked: Terms, seed: int) -> str:
    free = [_asked(curator, partial(_explained, curator, text, asked)) for curator in pair.curators]
    _alike("EXPLAIN", free[0], free[1])
    first = free[0].refusal
    if first is None:
        _measured(pair, text, asked)
    told = [_asked(curator, partial(_answered, curator, text, asked, seed)) for curator in pair.curators]
    _alike("the answer", told[0], told[1])
    if first is not None and _words(first) != _words(told[0].refusal):
        raise _Failed("two voices", f"EXPLAIN says {first}, the question {told[0].refusal or 'is answered'}")
    if (refusal := told[0].refusal) is not None:
        _spoken(refusal, text, pair.curators[0], asked)
        return "garbage" if refusal.message.startswith("this is not SQL") else "refused"
    _free_again(pair.curators[1], text, asked, told[1])
    return "answered"


# asking ---------------------------------------------------------------------------------------------------------------


def _asked(curator: Curator, ask: Callable[[], object]) -> Told:
    before = curator.ledger.books().size
    value, refusal = None, None
    try:
        value = ask()
    except Refusal as refused:
        refusal = refused
    except Fault as fault:
        raise _Failed("fault", f"a Fault: {_cause(fault)}", _mark(fault)) from None
    except _Failed:
        raise
    except Exception as crash:  # noqa: BLE001  # whatever it is, it is what is looked for
        raise _Failed("crash", f"{type(crash).__name__}: {crash}"[:300], _mark(crash)) from None
    written = []
    for number in range(before + 1, curator.ledger.books().size + 1):
        event = curator.ledger.entry(number).event
        written.append((event.kind, str(event.loss) if isinstance(event, Spend) else ""))
    if refusal is not None and written:
        raise _Failed("paid refusal", f"{refusal} after {[kind for kind, _ in written]}", str(refusal)[:40])
    return Told(value, refusal, tuple(written))


def _explained(curator: Curator, text: str, asked: Terms) -> str:
    began = time.process_time()
    try:
        return str(curator.explain(text, **asked.__dict__))
    finally:
        if time.process_time() - began > MOST_PLANNING:
            raise _Failed("slow", f"planning took {time.process_time() - began:.1f} s", "planning")


def _answered(curator: Curator, text: str, asked: Terms, seed: int) -> tuple[object, ...]:
    """What of an answer must not depend on the target: names, types, and the groups that are known."""
    fresh = Terms(**{**asked.__dict__, "fresh": True})
    before = curator.ledger.books().size
    answer = curator._answer(text, fresh, curator._store, Seeded(seed))
    answer.to_arrow()
    if len(answer.intervals("0.9")) != len(answer.rows):
        raise _Failed("unlike", "there are not as many intervals as rows", "intervals")
    events = [curator.ledger.entry(n).event for n in range(before + 1, curator.ledger.books().size + 1)]
    _paid([event.loss for event in events if isinstance(event, Spend)], asked)
    said = [event.answer for event in events if isinstance(event, StoredAnswer)]
    parts = curator._question(text, asked).every_part
    groups = [
        str(each["groups"])
        for each, part in zip(said, parts, strict=False)
        if part.measurement.declared and isinstance(each, dict)
    ]
    return answer.columns, answer.types, groups


def _paid(losses: list[BudgetLoss], asked: Terms) -> None:
    """A question at a price costs exactly that, or nothing."""
    paid = total(losses)
    if isinstance(paid, Approximate) and paid.epsilon == asked.epsilon:
        return
    if isinstance(paid, Concentrated) and paid.rho == asked.rho:
        return
    if paid is not None:
        raise _Failed("price", f"asked at {asked.epsilon or asked.rho}, charged {paid}", "price")


def _free_again(curator: Curator, text: str, asked: Terms, told: Told) -> None:
    """The same question costs nothing, and so does its answer."""
    again = _asked(curator, lambda: curator._answer(text, asked, curator._store, Seeded(0)).types)
    if again.written or not isinstance(told.value, tuple) or again.value != told.value[1]:
        raise _Failed("paid twice", f"asked again: {again.written or again.refusal or again.value}")


def _alike(what: str, one: Told, two: Told) -> None:
    if _words(one.refusal) != _words(two.refusal):
        raise _Failed("unlike", f"{what}: {one.refusal or 'no refusal'} against {two.refusal or 'no refusal'}", what)
    if one.value != two.value:
        raise _Failed("unlike", f"{what}: {str(one.value)[:150]} against {str(two.value)[:150]}", what)
    if one.written != two.written:
        raise _Failed("unlike", f"{what} in the ledger: {one.written} against {two.written}", what)


def _words(refusal: Refusal | None) -> tuple[object, ...] | None:
    return None if refusal is None else (refusal.message, refusal.hint, refusal.place, refusal.repair)


def _spoken(refusal: Refusal, text: str, curator: Curator, asked: Terms) -> None:
    """A refusal speaks for itself, points into the text, and repairs with something that works."""
    for said in (refusal.message, refusal.hint):
        found = ENGINE.search(said)
        if found and found[0].lower() not in text.lower():
            raise _Failed("engine words", f"{found[0]!r} in {said[:200]!r}", found[0])
    if refusal.place is not None and not 0 <= refusal.place[0] < refusal.place[1] <= len(text):
        raise _Failed("misplaced", f"{refusal.place} of {len(text)} characters", "place")
    if refusal.repair is not None:
        repaired = _asked(curator, lambda: str(curator.explain(refusal.repair or "", **asked.__dict__)))
        if repaired.refusal is not None and repaired.refusal.message != TOO_CHEAP:  # a repair mends words, no price
            raise _Failed("bad repair", f"{refusal.repair[:150]!r}: {repaired.refusal}", str(repaired.refusal)[:40])


# measuring ------------------------------------------------------------------------------------------------------------


def _measured(pair: Pair, text: str, asked: Terms) -> None:
    """The exact statistics of both homes differ by no more than the caps allow."""
    one, _ = pair.curators
    found = _asked(one, lambda: one._question(text, asked)).value
    if isinstance(found, Question):
        for part in found.every_part:
            _within_caps(pair, part.measurement)


def _within_caps(pair: Pair, measurement: Measurement) -> None:
    one, two = pair.curators
    most, plain = measurement.max_groups, [s for s in measurement.statistics if isinstance(s, Statistic)]
    if plain or not measurement.declared:
        a, b = _both(one, two, lambda store: store.counted(measurement))
        _near("units", a.units, b.units, (most * pair.apart, most * pair.apart, 1))
        for place, statistic in enumerate(plain):
            numbers = [{group: row[place] for group, row in each.values.items()} for each in (a, b)]
            if statistic.kind == "distinct":
                numbers = list(_both(one, two, lambda store, what=statistic: store.distinct(measurement, what)))  # type: ignore[misc]
            _near(
                statistic.kind,
                numbers[0],
                numbers[1],
                (reach(statistic, measurement) * pair.apart, most * pair.apart, None),
            )
    for rank in (s for s in measurement.statistics if isinstance(s, Rank)):
        cap = measurement.needs_rows_cap("a rank")
        ranked = _both(one, two, lambda store, what=rank: store.ranked(measurement, what))  # type: ignore[misc]
        flat = [{(g, v): n for g, values in each.items() for v, n in values.items()} for each in ranked]
        _near("rank", flat[0], flat[1], (cap * pair.apart, None, None))
        sizes = [{group: sum(values.values()) for group, values in each.items()} for each in ranked]
        _near("rank", sizes[0], sizes[1], (cap * pair.apart, most * pair.apart, None))


def _both(one: Curator, two: Curator, ask: Callable[[DuckStore], T]) -> tuple[T, T]:
    """What the engine says in both homes. If it fails in one of them alone, that tells who is in it."""
    made, faults = [], []
    for curator in (one, two):
        try:
            made.append(ask(curator._store))
        except Fault as fault:
            faults.append(fault)
    if faults:
        kind, where = ("leak", "in one home only") if made else ("fault", "below the noise")
        raise _Failed(kind, f"a Fault {where}: {_cause(faults[0])}", _mark(faults[0]))
    return made[0], made[1]


def _near(what: str, one: Mapping[T, int], two: Mapping[T, int], caps: tuple[int, int | None, int | None]) -> None:
    """Together no further apart than the first cap, in no more groups than the second, in each by the third at most."""
    moved = {group: abs(two.get(group, 0) - one.get(group, 0)) for group in {*one, *two}}
    changed = sorted(size for size in moved.values() if size)
    total, groups, each = caps
    if sum(changed) > total:
        raise _Failed("leak", f"{what} moves by {sum(changed)} > {total}", f"{what} sum")
    if groups is not None and len(changed) > groups:
        raise _Failed("leak", f"{what} moves in {len(changed)} groups > {groups}", f"{what} groups")
    if each is not None and changed and changed[-1] > each:
        raise _Failed("leak", f"{what} moves by {changed[-1]} in one group > {each}", f"{what} each")


def _cause(error: BaseException) -> str:
    """What an error hides, for the eyes of whoever runs this."""
    while error.__context__ is not None:
        error = error.__context__
    return f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"


def _mark(error: BaseException) -> str:
    """Where an error came from: its own frame among ours, and the first words it says."""
    while error.__context__ is not None:
        error = error.__context__
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "discreet" in f.filename]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    return f"{place} {type(error).__name__} {re.sub(r'[0-9]+', '…', str(error))[:40]}"
