"""Courier of sums: carries tasks, keys and messages between a device and an aggregator over HTTP."""

from __future__ import annotations

import json
import ssl
from typing import Any

from discreet.errors import Refusal
from discreet.ledger.signed_head import is_hex, strict_json
from discreet.transport.device_client import Courier, Unreached
from discreet.transport.signing_keys import Handover

SUMS = "/sum/v1"  # the paths below which a server has them


class SumCourier:
    """An aggregator at an address like https://sums.example.org."""

    def __init__(self, url: str, *, seconds: float = 30.0, tls: ssl.SSLContext | None = None) -> None:
        self._courier = Courier(url, seconds=seconds, tls=tls, service=SUMS)

    def task(self, name: str) -> bytes:
        """The newest document of a sum, to the byte."""
        return self._courier.task(name)

    def handovers(self) -> list[Handover]:
        """How the key that signs was changed."""
        return self._courier.handovers()

    def join(self, name: str, said: dict[str, str], token: str) -> int:
        """Let a key in for which somebody was invited; how many joined."""
        self._courier.guarded(token)
        kind = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        joined = self._json("POST", f"{_path(name)}/join", json.dumps(said).encode(), kind).get("joined")
        if type(joined) is not int:
            raise Unreached("the answer does not say how many joined", hint="is this a server of sums?")
        return joined

    def say(self, name: str, message: bytes) -> None:
        """Bring a message of a step. After a failure, bring the same bytes again."""
        self._json("POST", f"{_path(name)}/messages", message, {"Content-Type": "application/octet-stream"})

    def step(self, name: str, epoch: int, step: int, place: int) -> dict[str, Any]:
        """How a step stands, and what it came to for one person."""
        return self._json("GET", f"{_path(name)}/steps?epoch={epoch}&step={step}&place={place}")

    def _json(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        content = self._courier.answered(method, path, body, headers)
        try:
            told = strict_json(content.decode())
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise Unreached(f"the answer of {len(content)} bytes is no JSON object", hint="is this a server of sums?")
        return told


def _path(name: str) -> str:
    if not is_hex(name, 16):
        raise Refusal("expected the id of a sum, 32 small hexadecimal digits", hint="take it from the link")
    return f"{SUMS}/{name}"
