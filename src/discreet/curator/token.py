"""Tokens that let people in: 32 random bytes, of which only verifiers are kept."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass

from discreet.ledger.entry import Plain

ROUNDS = 4096  # what Postgres clients expect; a token is random already and needs no slow hash


@dataclass(frozen=True)
class Scram:
    """What a server must know to check a password by SCRAM-SHA-256 (RFC 5802, RFC 7677) without knowing it."""

    salt: bytes
    rounds: int
    stored_key: bytes
    server_key: bytes


def minted() -> tuple[str, dict[str, Plain]]:
    """A new token, and what is kept of it."""
    token, salt = secrets.token_urlsafe(32), secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", token.encode(), salt, ROUNDS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    scram: dict[str, Plain] = {
        "salt": _text(salt),
        "rounds": ROUNDS,
        "stored_key": _text(stored),
        "server_key": _text(hmac.digest(salted, b"Server Key", "sha256")),
    }
    return token, {"sha256": hashlib.sha256(token.encode()).hexdigest(), "scram": scram}


def matches(token: str, verifier: dict[str, Plain] | None) -> bool:
    """Whether a token is the one that was minted. Takes the same time for every wrong one."""
    kept = str((verifier or {}).get("sha256", ""))
    given = hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
    return hmac.compare_digest(given, kept)


def scram_of(verifier: dict[str, Plain] | None) -> Scram | None:
    """The SCRAM half of a verifier."""
    kept = (verifier or {}).get("scram")
    if not isinstance(kept, dict):
        return None
    salt, stored, server = (base64.b64decode(str(kept[name])) for name in ("salt", "stored_key", "server_key"))
    return Scram(salt, int(str(kept["rounds"])), stored, server)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
