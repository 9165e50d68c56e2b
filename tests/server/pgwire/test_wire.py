"""What a connection takes for said, and when."""

from __future__ import annotations

import asyncio
import socket

import pytest
from server.pgwire.raw import greeting

from discreet.server.errors import WireError
from discreet.server.limits import WireLimits
from discreet.server.pgwire.wire import Wire
from discreet.server.tls import ServerContext


def test_what_came_in_the_clear_and_was_not_read_yet_is_noticed_too() -> None:
    """It would be read first, as if it had been said within TLS."""

    async def slipped_in() -> bytes:
        here, there = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=here)
        try:
            reader.feed_data(greeting())
            with pytest.raises(WireError, match="in the clear after TLS was asked for"):
                await asyncio.wait_for(Wire(reader, writer, WireLimits()).secured(ServerContext()), 20)
        finally:
            writer.close()
            await writer.wait_closed()
        with there:
            return there.recv(1)

    assert asyncio.run(slipped_in()) == b""  # TLS was not agreed to
