"""The ledger in a SQLite file: append-only, durable before it returns, shared by any number of processes."""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

from discreet import durable
from discreet.errors import Refusal
from discreet.ledger import index
from discreet.ledger.balances import Books
from discreet.ledger.entry_kinds import GENESIS, Adopted, Entry, Event, Hold, Spend, StoredAnswer, chained
from discreet.ledger.file_access import ALONE, Glimpse, connect, damaged, glimpse, had, locked, unusable
from discreet.ledger.head_keeper import Keeper, Pen, binds, nowhere, told_payer
from discreet.ledger.index import EVERY, Checkpoint, beginning, store, stored
from discreet.ledger.read_snapshot import View, entries_after
from discreet.ledger.signed_head import now
from discreet.ledger.witness import Outside, Unreachable

_MOST = 4096  # questions of which it is remembered which entries answer them

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (
    number INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    body BLOB NOT NULL
) STRICT;
CREATE TRIGGER IF NOT EXISTS entry_stays BEFORE UPDATE ON entry
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER IF NOT EXISTS entry_remains BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER IF NOT EXISTS entry_follows BEFORE INSERT ON entry
WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM entry)
BEGIN SELECT RAISE(ABORT, 'entries are numbered without gaps'); END;
"""


class PendingHolds:
    """Holds that the ledger could not be told yet: those of this process, and of any, as empty files beside it."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self._own: dict[str, int] = {}  # populations, and how many entries there were

    def __bool__(self) -> bool:
        return bool(self._own) or any(self._ledger.parent.glob(f"{self._ledger.name}.hold.*"))

    def note(self, population: str, size: int) -> None:
        """Owe a hold, here and, if there is room for a name, for everybody to see."""
        self._own[population] = size
        with suppress(OSError):
            os.close(os.open(self._mark(population), os.O_WRONLY | os.O_CREAT, 0o600))
            durable.sync(self._ledger.parent)

    def marked(self, population: str) -> bool:
        """Whether anybody left a mark."""
        return self._mark(population).exists()

    def since(self, population: str) -> int | None:
        """After how many entries this process came to owe it; None if it does not."""
        return self._own.get(population)

    def forget(self, population: str) -> None:
        """It is written."""
        self._mark(population).unlink(missing_ok=True)
        self._own.pop(population, None)

    def _mark(self, population: str) -> Path:
        digest = hashlib.sha256(population.encode(errors="replace")).hexdigest()
        return self._ledger.with_name(f"{self._ledger.name}.hold.{digest}")


class SqliteLedger:
    """Entries in one file. Every `append` is one transaction: read what others wrote, check, insert, fsync.

    Guarantee: an event is in the file, and on the disk, before `append` returns; no two appends anywhere see the same
        books, so the sum of all spends never exceeds a budget whatever the number of threads and processes.
    Proof: a lock of this process and one on a file beside the ledger admit one writer at a time; inside them the books
        are brought up to date from the file itself. The file is opened for each transaction by its path and closed
        after it, so no descriptor and no lock outlives a fork, and none is held while the home is copied or restored. A
        rollback journal with synchronous=EXTRA syncs journal, file and folder before COMMIT returns. (A write-ahead log
        is faster and is not used: it is shared through locks that a fork or a copy takes away, and a commit into a log
        that another process has just removed is lost.) After COMMIT the entries are read back from the path.
    """

    def __init__(
        self, path: Path, *, clock: Callable[[], str] = now, new: bool = True, keeper: Keeper | None = None
    ) -> None:
        """`new`: whether a ledger may begin here. Where there was one, an empty one in its place would be a refill.

        `keeper` has the head known outside; without one nobody notices when an older file is put in place of this one.
        """
        self._path, self._clock, self._keeper = path, clock, keeper
        self._state = beginning()  # after the entries that were read
        self._said: dict[str, tuple[int, ...]] = {}  # the entries that answer questions which were looked for
        self._seen: Glimpse | None = None  # what the file looked like before it was last read
        self._owed = PendingHolds(path)
        if not path.exists():
            if not new:
                raise _missing(path)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        with self._file() as file:
            tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if "entry" not in tables:
                if path.stat().st_size:  # a ledger that began has its table: never begin again in its place
                    raise damaged()
                if not new:
                    raise _missing(path)
                file.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")  # whole or not at all
            if "mark" not in tables:  # also a ledger of before there was an index
                file.executescript(f"BEGIN IMMEDIATE; {index.SCHEMA} COMMIT;")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The only one at the file. What SQLite has to say is about a file, never about a row of a table."""
        try:
            with ALONE, locked(self._path):
                yield
            had(self._path)
        except (sqlite3.Error, OSError, UnicodeDecodeError) as broken:  # the last is of words in a damaged schema
            raise unusable(broken, self._path) from None

    @contextmanager
    def _file(self) -> Iterator[sqlite3.Connection]:
        """The file, to oneself."""
        with self._alone(), closing(connect(self._path)) as file:
            yield file

    @contextmanager
    def looked_at(self) -> Iterator[View]:
        """The ledger as it is now; nobody writes meanwhile, so ask nothing else of it before this is over."""
        with self._file() as file:
            yield self._view(file)

    def _view(self, file: sqlite3.Connection) -> View:
        self._catch_up(file)
        return View(file, index.Past(self._state.frontier, index.nodes(file)))

    def append(self, event: Event) -> Entry:
        """Write one event; refuses, writing nothing, if it does not fit the books."""
        return self.append_all([event])[0]

    def append_all(self, events: Sequence[Event]) -> list[Entry]:
        """Write several events or none: each must fit the books after those before it.

        What a budget or a right depends on is refused unless every witness can be told, and all of them know of it when
        this returns. An answer, which was paid for before, and what only closes are written in any case.
        """
        binding = any(binds(event) for event in events)
        try:
            reached = self._keeper.reach(self.looked_at) if self._keeper and binding else ()
            with ALONE:
                self.settle()
                pen = None if self._keeper is None else self._keeper.pen(reached, binding=binding)
                written = self._append_all(events, pen)
            if self._keeper and reached and written:
                self._keeper.tell(reached, self.looked_at, written[-1].number)
        except Outside as outside:
            raise told_payer(outside, events) from None
        return written

    def _append_all(self, events: Sequence[Event], pen: Pen | None = None) -> list[Entry]:
        with self._alone(), pen or nullcontext(nowhere) as prepare:
            with closing(connect(self._path)) as file:  # and what was not committed is then rolled back
                file.execute("BEGIN IMMEDIATE")
                view = self._view(file)
                written, after = self._inserted(events, file)
                put = prepare(view, after)
                file.execute("COMMIT")
            seen = glimpse(self._path)
            with closing(connect(self._path)) as file:  # opened anew: the path has the last word on what was written
                self._catch_up(file)
                self._seen = seen
                kept = file.execute("SELECT hash FROM entry WHERE number > ? ORDER BY number", (view.size,))
                if [hashed for (hashed,) in kept] != [entry.hash for entry in written]:
                    raise Refusal(
                        f"entry {view.size + 1} was not kept by the ledger's file",
                        hint="somebody changed it: see discreet doctor",
                    )
            put()
        return written

    def _inserted(self, events: Sequence[Event], file: sqlite3.Connection) -> tuple[list[Entry], Checkpoint]:
        """The entries of events, in the file but not committed, and the state after them."""
        written, after = [], self._state.copy()
        for event in events:
            if isinstance(event, Adopted) and event.head != after.frontier.root.hex():
                raise Refusal(
                    f"the newest head of this ledger is another than {event.head}",
                    hint="it is the root that discreet ledger head prints; compare it with what you know of the ledger",
                )
            entry = Entry(after.books.size + 1, self._clock(), secrets.token_hex(16), after.last, event)
            after, nodes = after.following(entry)
            row = entry.number, entry.hash, entry.body
            file.execute("INSERT INTO entry (number, hash, body) VALUES (?, ?, ?)", row)
            index.note(file, entry, nodes)
            written.append(entry)
        if after.books.size - index.checkpointed(file) >= EVERY:
            store(after, file, self._key)
        return written, after

    @property
    def _key(self) -> Path:
        return self._path.with_name("ledger.key")

    def rehearse(self, events: Sequence[Event]) -> None:
        """Refuse events that do not fit the books as they are. Nothing is written."""
        trial = self.books().copy()
        for event in events:
            trial.apply(Entry(trial.size + 1, "", "", GENESIS, event))

    # holds -----------------------------------------------------------------------------------------------------------

    def hold(self, population: str) -> None:
        """Close a population until a custodian lifts the hold, even if the ledger cannot be written now.

        What cannot be written is owed, and nothing else is appended by anyone before the hold is.
        """
        with ALONE:
            try:
                self.append(Hold(population, held=True))
            except (Refusal, OSError):
                self._owed.note(population, self._books.size)

    def settle(self) -> None:
        """Write the holds that are owed."""
        if not self._owed:
            return
        for population in list(self.books().accounts):
            if self._owed.marked(population) or self._unwritten(population):
                self._append_all([Hold(population, held=True)])
            self._owed.forget(population)

    def _unwritten(self, population: str) -> bool:
        """Whether this process owes a hold that nobody has written since: who found the mark did, and removed it.

        To write it again would close the population that a custodian may have opened meanwhile.
        """
        since = self._owed.since(population)
        if since is None:
            return False
        with self.looked_at() as view:
            return Hold(population, held=True) not in [view.entry(n).event for n in range(since + 1, view.size + 1)]

    # what is known outside -------------------------------------------------------------------------------------------

    def vouch(self) -> None:
        """Refuse a ledger that is not the one whose head is kept outside; see that its newest head is.

        A witness that cannot be asked does not hinder reading: it is asked again before anything is paid.
        """
        if self._keeper is None:
            return
        with suppress(Unreachable), self._alone(), self._keeper.alone(), closing(connect(self._path)) as file:
            view, marked = self._view(file), index.marked(file, index.WITNESSED)
            self._keeper.bring_up(view, self._state, marked=marked)
            if not marked:  # only now: a crash before it leaves a home that any witness may begin with
                index.mark(file, index.WITNESSED)
        for witness in self._keeper.others:
            with suppress(Unreachable):
                self._keeper.compare(witness, self.looked_at)

    def mark(self, word: str) -> None:
        """Write down what holds for this ledger from now on."""
        with self._file() as file:
            index.mark(file, word)

    def marked(self, word: str) -> bool:
        """Whether it was written down."""
        with self._file() as file:
            return index.marked(file, word)

    # reading ---------------------------------------------------------------------------------------------------------

    @property
    def _books(self) -> Books:
        return self._state.books

    def _catch_up(self, file: sqlite3.Connection) -> None:
        """Take the entries that anyone has written since into the books."""
        complete = index.reach(file) == index.entries(file)
        if complete and not self._books.size:
            self._state = stored(file, self._key) or self._state
        size, state = self._books.size, self._state
        known = file.execute("SELECT hash, body FROM entry WHERE number = ?", (size,)).fetchall()
        if size and [(state.last, state.last)] != [(stored, chained(state.before, body)) for stored, body in known]:
            raise Refusal(
                f"the ledger's file is not the one of {size} entries that was read: replaced, cut or rolled back",
                hint="put the newest ledger back, or open the home again",
            )
        if not complete:
            self._reindex(file)
        for entry in entries_after(file, self._books.size, self._state.last):
            self._state, _ = self._state.following(entry)
            if isinstance(entry.event, StoredAnswer) and entry.event.question in self._said:
                self._said[entry.event.question] += (entry.number,)

    def _reindex(self, file: sqlite3.Connection) -> None:
        """Add everything up from the first entry on, and note it anew. In the transaction that is open, or in one."""
        own = not file.in_transaction
        if own:
            file.execute("BEGIN IMMEDIATE")
        index.clear(file)
        self._state, self._said = beginning(), {}
        for entry in entries_after(file, 0, GENESIS):
            self._state, nodes = self._state.following(entry)
            index.note(file, entry, nodes)
        if self._books.size >= EVERY:
            store(self._state, file, self._key)
        if own:
            file.execute("COMMIT")

    def upgrade(self) -> int:
        """Read all entries, and make index and checkpoint anew from them. Returns how many there are."""
        with self._file() as file:
            self._reindex(file)
            return self._books.size

    def books(self) -> Books:
        """The books as they are now. Do not change them."""
        with ALONE:
            seen = glimpse(self._path)
            if seen is None or seen != self._seen:
                with self._file() as file:
                    self._catch_up(file)
                self._seen = seen  # taken before it was read, so that a change in between is seen next time
            return self._books

    def still(self) -> Books | None:
        """The books as they are now, if that is known without reading them anew; None else. Waits for nobody."""
        if not ALONE.acquire(blocking=False):
            return None
        try:
            seen = glimpse(self._path)
            return self._books if seen is not None and seen == self._seen else None
        finally:
            ALONE.release()

    def answers(self, question: str) -> tuple[int, ...]:
        """The numbers of the entries that answer a question."""
        with ALONE:
            self.books()
            if question not in self._said:
                with self._file() as file:
                    self._catch_up(file)
                    entries = index.answers(file, question)
                while len(self._said) >= _MOST:
                    del self._said[next(iter(self._said))]
                self._said[question] = entries
            return self._said[question]

    def answers_at_hand(self, question: str) -> tuple[int, ...] | None:
        """The same as of the books that `still` gave, if they were looked for before; None else."""
        return self._said.get(question)

    def entries(self) -> list[Entry]:
        """All entries, from the file."""
        with self._file() as file:
            return list(entries_after(file, 0, GENESIS))

    def entry(self, number: int) -> Entry:
        """One entry by its number."""
        with self.looked_at() as view:
            return view.entry(number)

    def answered(self, question: str) -> list[tuple[Spend, StoredAnswer, int]]:
        """Every answer that a question was ever given, with what was paid for it and its entry's number."""
        if not self.answers(question):
            return []
        with self.looked_at() as view:
            return view.answered(question)

    def rows(self) -> list[tuple[int, str, bytes]]:
        """The file as it is, unchecked: number, hash, body."""
        with self._file() as file:
            return list(file.execute("SELECT number, hash, body FROM entry ORDER BY number"))

    def close(self) -> None:
        """Let go of the file: nothing to do, it is held only while something is read or written."""


def _missing(path: Path) -> Refusal:
    return Refusal(
        f"there is no ledger {path.name} in {str(path.parent)!r}",
        hint="put the newest copy of it back: without it nobody knows what was spent",
    )
