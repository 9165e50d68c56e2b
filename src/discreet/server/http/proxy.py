"""Trusted proxies, which say whose request they pass on and whether it came by TLS. Nobody else is believed."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.addresses import parsed
from discreet.errors import Refusal
from discreet.server.http.request_body import Scope

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_PAIR = re.compile(r'\s*(\w+)\s*=\s*("[^"]*"|[^;,"]*)\s*')
_SECURE = {"http": "https", "ws": "wss"}


@dataclass(frozen=True)
class Proxies:
    """The addresses of proxies that are trusted."""

    networks: tuple[Network, ...] = ()

    @classmethod
    def read(cls, texts: Sequence[str]) -> Proxies:
        """From addresses such as 127.0.0.1 or 10.0.0.0/8."""
        try:
            return cls(tuple(ipaddress.ip_network(text, strict=False) for text in texts))
        except ValueError:
            raise Refusal(
                f"expected the address of a proxy, got {' and '.join(texts)}", hint="as in 127.0.0.1 or 10.0.0.0/8"
            ) from None

    def trusts(self, address: str) -> bool:
        """Whether a proxy has this address."""
        known = parsed(address)
        return known is not None and any(known in network for network in self.networks)

    def resolved(self, scope: Scope) -> None:
        """Put into a request who sent it and how, if it comes from a proxy that is trusted.

        Every proxy adds the address that it sees at the end, so the last one that is no trusted proxy's is taken: what
        a stranger wrote before it is not looked at.
        """
        client = scope.get("client")
        if client is None or not self.trusts(client[0]):
            return
        passed = [each.strip() for each in _all(scope, b"x-forwarded-for").split(",")]
        secure = _all(scope, b"x-forwarded-proto").rpartition(",")[2].strip().lower() in ("https", "wss")
        if passed == [""]:
            steps = [dict(_PAIR.findall(step)) for step in _all(scope, b"forwarded").split(",")]
            passed = [_bare(step.get("for", "")) for step in steps]
            secure = secure or steps[-1].get("proto", "").strip('"').lower() in ("https", "wss")
        for text in reversed(passed):
            if parsed(_bare(text)) is None:
                break
            scope["client"] = _bare(text), 0
            if not self.trusts(_bare(text)):
                break
        if secure:
            scope["scheme"] = _SECURE.get(scope.get("scheme", ""), scope.get("scheme", ""))


def _all(scope: Scope, name: bytes) -> str:
    """Every header of a name, in their order."""
    return ",".join(value.decode("latin-1") for key, value in scope["headers"] if key == name)


def _bare(text: str) -> str:
    """An address without quotes, brackets and port."""
    text = text.strip().strip('"')
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text
