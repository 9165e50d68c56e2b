"""The ledger of a home: opened with its witnesses, who they are, and how a copy of a home is adopted."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import Refusal
from discreet.ledger.entry_kinds import Adopted, Entry
from discreet.ledger.head_keeper import IN_ALL, Elsewhere, Keeper, known_as, told
from discreet.ledger.index import PRACTICE, WITNESSED, marked
from discreet.ledger.signed_head import Head, signing_key, strict_json
from discreet.ledger.sqlite import SqliteLedger
from discreet.ledger.verify import verify
from discreet.ledger.witness import Unreachable, Witness, put, put_aside, witness_of

_FILE = "witness.json"  # the witnesses that a custodian named, with the tokens by which they know us
_LONGEST = 60  # letters of a name


def open_ledger(home: Path) -> SqliteLedger:
    """The ledger of a home. Refused if it is not the one whose head is kept outside."""
    keeper = keeper_of(home)
    ledger = SqliteLedger(_path(home), new=False, keeper=keeper)
    ledger.vouch()
    return ledger


def found_ledger(home: Path, *, practice: bool = False) -> None:
    """Begin the ledger of a home. One to practise in is known nowhere else, and may be copied as one likes."""
    ledger = SqliteLedger(_path(home))
    if practice:
        ledger.mark(PRACTICE)
    else:
        signing_key(_key(home))
        open_ledger(home)


def _path(home: Path) -> Path:
    return home / "ledger.db"


def _key(home: Path) -> Path:
    return home / "ledger.key"


def keeper_of(home: Path, *, adopting: bool = False) -> Keeper | None:
    """Who keeps the heads of a home's ledger; nobody those of a home to practise in."""
    ledger = SqliteLedger(_path(home), new=False)
    if ledger.marked(PRACTICE):
        _refuse_known(ledger)
        return None
    if ledger.marked(WITNESSED) and not _key(home).exists():
        raise Refusal("ledger.key is missing", hint="put the one back that the ledger was signed with")
    return Keeper(home, signing_key(_key(home)), [each.witness for each in named(home)], adopting)


def _refuse_known(ledger: SqliteLedger) -> None:
    """Refuse a ledger that says it is for practice, and whose head was kept: what was spent would be forgotten."""
    with suppress(Unreachable), ledger.looked_at() as view:
        if marked(view.file, WITNESSED) or known_as(view.origin) is not None:
            raise Refusal(
                "this ledger says that it is for practice, and its head was kept", hint="put the newest ledger back"
            )


# who they are ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Named:
    """A witness that a custodian named."""

    where: str
    token: str = ""

    @property
    def witness(self) -> Witness:
        """The witness itself."""
        return witness_of(self.where, self.token)


@dataclass(frozen=True)
class Standing:
    """What a witness has of a ledger: its head, or what is wrong with it or with the ledger."""

    where: str
    head: Head | None
    trouble: str = ""
    refuted: bool = False  # whether the ledger does not go on from what it knows
    copied: bool = False  # whether this home is not the one that it knows


def named(home: Path) -> list[Named]:
    """The witnesses that a custodian named, beside the state folder."""
    try:
        body = strict_json((home / _FILE).read_text(encoding="utf-8"))
        return [Named(str(each["where"]), str(each["token"])) for each in body]  # type: ignore[attr-defined]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError):
        raise Refusal(f"{_FILE} cannot be read", hint="put it back as it was") from None


def _name(home: Path, witnesses: list[Named]) -> None:
    file = home / _FILE
    put(put_aside(file, json.dumps([each.__dict__ for each in witnesses])), file)


def add_witness(home: Path, where: str, token: str = "") -> Head:
    """Have the head of a home's ledger kept by one more witness from now on."""
    ledger, keeper = open_ledger(home), keeper_of(home)
    if keeper is None:
        raise Refusal(f"{home} is for practice: its heads are kept nowhere")
    new = Named(witness_of(where).where, token)
    told(new.witness, new.witness.newest(keeper.name), ledger.looked_at, ledger.books().size, keeper.key)
    _name(home, [*(each for each in named(home) if each.where != new.where), new])
    return keeper.asked(new.witness)


def remove_witness(home: Path, where: str) -> None:
    """Have no more heads kept by a witness."""
    known = named(home)
    rest = [each for each in known if where.rstrip("/") != each.where and str(Path(where).absolute()) != each.where]
    if len(rest) == len(known):
        raise Refusal(f"{where} is no witness of this home", hint="see discreet ledger witness list")
    _name(home, rest)


def standings(home: Path) -> list[Standing]:
    """What each witness has, and whether the ledger goes on from it. Refuses nothing, and waits ten seconds at most."""
    keeper, end = keeper_of(home), time.monotonic() + IN_ALL
    if keeper is None:
        return []
    ledger = SqliteLedger(_path(home), new=False)
    return [_in_state(ledger, keeper), *(_at(witness, ledger, keeper, end) for witness in keeper.others)]


def _in_state(ledger: SqliteLedger, keeper: Keeper) -> Standing:
    try:
        where = str(keeper.file.parent)
        with ledger.looked_at() as view:
            record = keeper.refuse(view, marked=marked(view.file, WITNESSED))
    except Unreachable as trouble:
        return Standing("the state folder", None, str(trouble))
    except Elsewhere as trouble:
        return Standing(where, None, str(trouble), copied=True)
    except Refusal as trouble:  # another past, or another key
        return Standing(where, None, str(trouble), refuted=True)
    return Standing(where, None if record is None else record.head)


def _at(witness: Witness, ledger: SqliteLedger, keeper: Keeper, end: float) -> Standing:
    try:
        return Standing(witness.where, keeper.compare(witness, ledger.looked_at, end))
    except Unreachable as trouble:
        return Standing(witness.where, None, str(trouble))
    except Refusal as trouble:
        return Standing(witness.where, None, str(trouble), refuted=True)


# copies ---------------------------------------------------------------------------------------------------------------


def adopt(home: Path, name: str, root: str) -> Entry:
    """Make a copy of a home the one that answers, by somebody who knows the newest head of its ledger.

    Never one that does not go on from what a witness knows: what was spent stays spent.
    """
    if not name or len(name) > _LONGEST or not name.isprintable():
        raise Refusal(f"an adopted home is called by one line of at most {_LONGEST} letters, got {name!r}")
    keeper = keeper_of(home, adopting=True)
    if keeper is None:
        raise Refusal(f"{home} is for practice: every copy of it answers")
    try:
        open_ledger(home)
    except Elsewhere:
        pass
    else:
        raise Refusal(f"{home} answers already: its head is kept", hint="there is nothing to adopt")
    ledger = SqliteLedger(_path(home), new=False, keeper=keeper)
    report = verify(ledger.rows())
    if not report.holds:
        raise Refusal(f"the ledger does not hold: {'; '.join(report.faults)}")
    entry = ledger.append(Adopted(name, root))
    ledger.vouch()
    return entry
