"""Keys: trust follows a chain of signed handovers."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.errors import Refusal
from discreet.transport.signing_keys import Handover, follows, handed_over, read_handover


def test_trust_follows_a_chain_of_signed_handovers_and_no_other() -> None:
    keys = [Ed25519PrivateKey.generate() for _ in range(3)]
    first, second = handed_over(keys[0], keys[1]), handed_over(keys[1], keys[2])
    assert follows(first.old, second.new, [first, second])
    assert follows(first.old, first.old, [])
    assert not follows(second.new, first.old, [first, second])  # never back
    assert not follows(first.old, second.new, [second])
    forged = Handover(first.old, second.new, first.signature)
    assert not follows(first.old, second.new, [forged])
    assert read_handover(json.dumps(first.body)) == first
    with pytest.raises(Refusal, match="not a handover"):
        read_handover(json.dumps(forged.body))
