"""What is kept of a token helps nobody to guess another."""

from __future__ import annotations

from discreet.curator.custody import minted


def test_each_verifier_has_a_salt_of_its_own() -> None:
    kept = [minted()[1]["scram"] for _ in range(3)]
    salts = {str(each["salt"]) for each in kept if isinstance(each, dict)}
    assert len(salts) == 3
