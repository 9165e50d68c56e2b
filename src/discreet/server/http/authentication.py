"""Authentication by token: who is let in, and how often."""

from __future__ import annotations

import hashlib

from discreet.addresses import network
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.lru_cache import LruCache
from discreet.server.errors import out_of_order, stranger, too_often
from discreet.server.fair_share import Pool
from discreet.server.limits import Buckets, HttpLimits

_LONGEST = 256  # characters of a token; ours have 43
_KNOWN = 10_000  # tokens that are remembered to have been right


class Admission:
    """Check of every token against the ledger, at every request: a person who was shut out is shut out at once.

    Whose token it is is remembered; that the grant behind it is still the same is looked up in the books each time, in
    the event loop if they are at hand, else in a thread.

    Wrong tokens are counted by address, and an address that had too many must wait. A token that was right before is
    let through to the ledger nevertheless: who shares an address with a burglar is not locked out.
    """

    def __init__(self, desk: Desk, pool: Pool, limits: HttpLimits) -> None:
        self._desk, self._pool = desk, pool
        self._people = Buckets(limits.rate, limits.burst)
        self._failures = Buckets(limits.forgiven, limits.failures)
        self._right: LruCache[bytes, Visitor] = LruCache(_KNOWN)

    async def admitted(self, token: str | None, address: str) -> Visitor:
        """Whose token this is."""
        if not token or len(token) > _LONGEST:
            raise stranger()
        digest, place = hashlib.sha256(token.encode("utf-8", "replace")).digest(), network(address)
        visitor = self._right.get(digest)
        if visitor is None and (seconds := self._failures.wait(place)):
            raise too_often(seconds)
        if visitor is None or not self._desk.stands(visitor):
            visitor = await self._recognised(token)
        if visitor is None:
            self._right.drop(digest)
            self._failures.take(place)
            raise stranger()
        self._right.put(digest, visitor)
        if seconds := self._people.take(visitor.name):
            raise too_often(seconds)
        return visitor

    async def _recognised(self, token: str) -> Visitor | None:
        try:
            return await self._pool.call(self._desk.bearer, token)
        except Refusal:  # it speaks of files, and to whom is not known yet
            raise out_of_order() from None
