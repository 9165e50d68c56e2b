"""Session of a client that was let in: messages in, messages out, in the order that the protocol has."""

from __future__ import annotations

import asyncio
import re
import struct
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from discreet.errors import DiscreetError
from discreet.server.errors import PROTOCOL, SYNTAX, UNSUPPORTED, WireError, wire_error
from discreet.server.fair_share import Steps
from discreet.server.pgwire import frames
from discreet.server.pgwire.execution import Execution
from discreet.server.pgwire.frames import BINARY, MESSAGE_BYTES, TEXT, WireField, chosen
from discreet.server.pgwire.parser import parsed
from discreet.server.pgwire.session_state import IDLE, Outcome, Portal, Prepared, Rows, Transaction, counted
from discreet.server.pgwire.statement_kinds import Copy, Execute, Fetch, Query, Statement
from discreet.server.pgwire.types import read, writers, written
from discreet.server.pgwire.wire import Hangup, Wire

_LONG = 5_000  # characters: so many take some ten milliseconds


class WireSession:
    """Serves one client until it leaves, or the door closes."""

    def __init__(self, wire: Wire, execution: Execution, steps: Steps) -> None:
        self._wire, self._execution, self._steps = wire, execution, steps
        self.visitor = execution.visitor.name
        self._sending: Outcome | None = None
        self._skipping = False  # after an error in the extended protocol, until Sync
        self._told = execution.transaction.settings
        self.leaving = False
        self._task: asyncio.Task[None] | None = None

    @property
    def held(self) -> int:
        """Bytes of rows and statements that this connection keeps."""
        return self._execution.portals.held + self._wire.buffered + (self._sending.size if self._sending else 0)

    def leave(self) -> None:
        """The door closes: at once if the client is waited for, else after the question that runs."""
        self.leaving = True
        if self._wire.waiting and self._task is not None:
            self._task.cancel()

    def cancel(self) -> None:
        """Give up the question that runs, if one does."""
        self._execution.cancel()

    async def serve(self, process: int, secret: int) -> None:
        """Greet, then answer message by message."""
        self._task = asyncio.current_task()
        self._wire.allow = self._execution.portals.refuse_much
        for name, value in self._told.reported().items():
            self._wire.send(frames.parameter_status(name, value))
        self._wire.send(frames.backend_key(process, secret))
        await self._ready()
        while True:
            kind, body = await self._wire.message(MESSAGE_BYTES)
            if kind == b"X":
                return
            if kind in b"dcf":  # a copy that the client was to send, if there were one
                continue
            if kind not in _HANDLERS:
                raise WireError(PROTOCOL, f"there is no message of the kind {kind!r} now", fatal=True)
            if self._skipping and kind != b"S":
                continue
            await self._handled(kind, body)
            if self._wire.full:  # also before Sync, which may never come
                await self._wire.flush()
            await self._steps.taken(len(body))

    async def _handled(self, kind: bytes, body: bytes) -> None:
        """Handle a message. Whatever goes wrong in it is told, and the session goes on."""
        before = self._execution.transaction
        try:
            await _HANDLERS[kind](self, body)
        except (WireError, DiscreetError) as broken:
            await self._failed(kind, broken, before)
        except Hangup:
            raise
        except Exception as broken:  # noqa: BLE001  # its text could hold anything
            self._execution.journal.broken(broken)
            await self._failed(kind, broken, before)

    async def _failed(self, kind: bytes, broken: Exception, before: Transaction) -> None:
        told = wire_error(broken)
        if told.fatal:
            raise told
        self._wire.send(frames.error_response(told))
        now = self._execution.transaction
        alone = kind == b"Q" and before.status == now.status == IDLE  # a simple query is a transaction of its own
        self._execution.transaction = before if alone else now.failed()
        self._report()
        self._skipping = kind not in (b"Q", b"F", b"S")
        if self._skipping:
            await self._wire.flush()  # a client that asked for a flush only is waiting for it
        else:
            await self._ready()

    async def _ready(self) -> None:
        """The next question, please; unless the door closes."""
        if self._execution.transaction.status == IDLE:
            self._execution.portals.opened.clear()  # they live as long as their transaction
        self._wire.send(frames.ready(self._execution.transaction.status))
        await self._wire.flush()
        if self.leaving:
            raise closing()

    def _report(self) -> None:
        """Tell which settings changed, of those that clients hear of."""
        now = self._execution.transaction.settings
        if now is self._told:
            return
        before = self._told.reported()
        for name, value in now.reported().items():
            if before[name] != value:
                self._wire.send(frames.parameter_status(name, value))
        self._told = now

    async def _statements(self, text: str) -> list[Statement]:
        """What a text asks for. A long one is cut into words in a thread, so that others are heard meanwhile."""
        if len(text) <= _LONG:
            return parsed(text)
        return await self._execution.apart(lambda: parsed(text))

    # simple ----------------------------------------------------------------------------------------------------------

    async def _simple(self, body: bytes) -> None:
        self._execution.portals.opened.pop("", None)
        listed = await self._statements(frames.query_text(body))
        if not listed:
            self._wire.send(frames.EMPTY_QUERY)
        for statement in listed:
            outcome = await self._execution.run(statement)
            if outcome.fields is not None and outcome.copy is None:
                self._wire.send(frames.row_description(outcome.fields))
            self._sending = outcome
            try:
                await self._rows(outcome, outcome.fields or (), (), outcome.rows)
            finally:
                self._sending = None
            self._complete(outcome, len(outcome.rows))
        await self._ready()

    async def _rows(
        self,
        outcome: Outcome,
        fields: Sequence[WireField],
        formats: Sequence[int],
        rows: Iterable[Sequence[object]],
    ) -> None:
        """Send rows, as many at once as the client takes."""
        if outcome.copy is not None:
            messages: Iterable[bytes] = copied(outcome.copy, fields, outcome.rows)
        else:
            columns = writers(fields, [chosen(formats, i) for i in range(len(fields))])
            messages = (frames.data_row(written(columns, row)) for row in rows)
        for message in messages:
            self._wire.send(message)
            if self._wire.full:
                await self._wire.flush()
                await asyncio.sleep(0)  # others are there too

    def _complete(self, outcome: Outcome, rows: int) -> None:
        if self._execution.transaction.settings.talkative:
            for each in outcome.notices:
                self._wire.send(frames.notice(each.text, each.detail))
        self._report()
        self._wire.send(frames.command_complete(counted(outcome.tag, rows)))

    # extended --------------------------------------------------------------------------------------------------------

    async def _parse(self, body: bytes) -> None:
        asked = frames.parse(body)
        listed = await self._statements(asked.sql)
        if len(listed) > 1:
            raise WireError(
                SYNTAX, f"a prepared statement is one statement, got {len(listed)}", hint="prepare them one by one"
            )
        statement = listed[0] if listed else None
        oids = asked.oids
        if statement is not None:
            oids = await self._execution.parameters(statement, asked.oids)
        self._execution.portals.prepare(asked.name, Prepared(statement, oids, len(asked.sql) + 100))
        self._wire.send(frames.PARSE_COMPLETE)

    async def _bind(self, body: bytes) -> None:
        asked = frames.bind(body)
        prepared = self._execution.portals.statement(asked.statement)
        if len(asked.values) != len(prepared.oids):
            needs = f"the statement has {len(prepared.oids)} parameters, and {len(asked.values)} came"
            raise WireError(PROTOCOL, needs)
        if len(asked.formats) not in (0, 1, len(asked.values)):
            got = f"of {len(asked.values)}, got {len(asked.formats)}"
            raise WireError(PROTOCOL, f"there is one format for all parameters, or one for each {got}")
        values = tuple(
            None if raw is None else read(oid, chosen(asked.formats, i), raw)
            for i, (oid, raw) in enumerate(zip(prepared.oids, asked.values, strict=True))
        )
        self._execution.portals.open(asked.portal, Portal(prepared, values, asked.results))
        self._wire.send(frames.BIND_COMPLETE)

    async def _describe(self, body: bytes) -> None:
        asked = frames.named(body)
        if asked.kind == b"S":
            prepared = self._execution.portals.statement(asked.name)
            self._wire.send(frames.parameter_description(prepared.oids))
            prepared.fields = await self._execution.fields(prepared)
            self._describe_fields(prepared.fields, ())
        else:
            portal = self._execution.portals.portal(asked.name)
            fields = await self._execution.fields(portal.prepared, portal)
            self._describe_fields(fields, portal.formats)

    def _describe_fields(self, fields: Sequence[WireField] | None, formats: Sequence[int]) -> None:
        if fields is None:
            self._wire.send(frames.NO_DATA)
            return
        _check_formats(fields, formats)
        self._wire.send(frames.row_description(fields, formats))

    async def _execute(self, body: bytes) -> None:
        asked = frames.execute(body)
        portal = self._execution.portals.portal(asked.portal)
        statement = portal.prepared.statement
        if statement is None:
            self._wire.send(frames.EMPTY_QUERY)
            return
        if portal.outcome is None:
            portal.outcome = await self._execution.run(statement, portal.values, portal.prepared.oids)
        outcome = portal.outcome
        fields = _agreed(portal, outcome)
        if isinstance(statement, Copy):
            await self._rows(outcome, fields, (), ())
            self._complete(outcome, len(outcome.rows))
            return
        _check_formats(fields, portal.formats)
        before = portal.sent
        await self._rows(outcome, fields, portal.formats, portal.rows(asked.rows or len(outcome.rows)))
        if portal.over:
            self._complete(outcome, portal.sent - before if isinstance(statement, (Query, Fetch, Execute)) else 0)
            portal.outcome = replace(outcome, notices=())
        else:
            self._wire.send(frames.PORTAL_SUSPENDED)

    async def _close(self, body: bytes) -> None:
        asked = frames.named(body)
        portals = self._execution.portals
        if asked.kind == b"S":
            portals.prepared.pop(asked.name, None)
        else:
            portals.opened.pop(asked.name, None)
        self._wire.send(frames.CLOSE_COMPLETE)

    async def _sync(self, _: bytes) -> None:
        self._skipping = False
        await self._ready()

    async def _flush(self, _: bytes) -> None:
        await self._wire.flush()

    async def _function(self, _: bytes) -> None:
        raise WireError(UNSUPPORTED, "functions are called in SELECT only")


# Not in the session itself: a value that holds its own methods is freed late, with all that it keeps.
_HANDLERS: dict[bytes, Callable[[WireSession, bytes], Awaitable[None]]] = {
    b"Q": WireSession._simple,  # noqa: SLF001  # it is this module's
    b"P": WireSession._parse,  # noqa: SLF001
    b"B": WireSession._bind,  # noqa: SLF001
    b"D": WireSession._describe,  # noqa: SLF001
    b"E": WireSession._execute,  # noqa: SLF001
    b"C": WireSession._close,  # noqa: SLF001
    b"S": WireSession._sync,  # noqa: SLF001
    b"H": WireSession._flush,  # noqa: SLF001
    b"F": WireSession._function,  # noqa: SLF001
}


def _check_formats(fields: Sequence[WireField], formats: Sequence[int]) -> None:
    if len(formats) not in (0, 1, len(fields)):
        raise WireError(
            PROTOCOL, f"there is one format for all columns, or one for each of {len(fields)}, got {len(formats)}"
        )


def _agreed(portal: Portal, outcome: Outcome) -> Sequence[WireField]:
    """The columns as they were described, if they were: the client relies on it."""
    fields = outcome.fields or ()
    told = portal.described if portal.described is not None else portal.prepared.fields
    if told is None:
        return fields
    if len(told) != len(fields):
        portal.prepared.seen = None
        raise WireError(
            UNSUPPORTED, "cached plan must not change result type"
        )  # clients know these words, and prepare anew
    return told


def closing() -> WireError:
    """The door closes."""
    return WireError("57P01", "the door is closing; answers that were paid for are kept, and free", fatal=True)


# rows as COPY sends them: text, CSV, or binary ------------------------------------------------------------------------

_HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
_TRAILER = struct.pack("!h", -1)
_SPECIAL = re.compile(r'[",\s\\]')
_ESCAPES = str.maketrans({"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"})


def copied(copy: Copy, fields: Sequence[WireField], rows: Rows) -> Iterator[bytes]:
    """The messages of a copy."""
    form = BINARY if copy.form == "binary" else TEXT
    yield frames.copy_out(len(fields), form)
    pieces = _copied_binary(fields, rows) if form == BINARY else _copied_lines(copy, fields, rows)
    yield from (frames.message(b"d", piece) for piece in pieces)
    yield frames.COPY_DONE


def _copied_binary(fields: Sequence[WireField], rows: Rows) -> Iterator[bytes]:
    """The header comes with the first row: some clients look for both in one message."""
    columns, head = writers(fields, [BINARY] * len(fields)), _HEADER
    for row in rows:
        yield head + frames.cells(written(columns, row))
        head = b""
    yield head + _TRAILER


def _copied_lines(copy: Copy, fields: Sequence[WireField], rows: Rows) -> Iterator[bytes]:
    columns = writers(fields, [TEXT] * len(fields))
    line = _csv if copy.form == "csv" else _tabs
    if copy.header:
        yield line([field.name for field in fields])
    for row in rows:
        yield line([None if cell is None else cell.decode() for cell in written(columns, row)])


def _tabs(cells: Sequence[str | None]) -> bytes:
    return ("\t".join("\\N" if cell is None else cell.translate(_ESCAPES) for cell in cells) + "\n").encode()


def _csv(cells: Sequence[str | None]) -> bytes:
    return (",".join(map(_quoted, cells)) + "\n").encode()


def _quoted(cell: str | None) -> str:
    """NULL is nothing, and an empty text is two quotes."""
    if cell is None:
        return ""
    return '"' + cell.replace('"', '""') + '"' if not cell or _SPECIAL.search(cell) else cell
