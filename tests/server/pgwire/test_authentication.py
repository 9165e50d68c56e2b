"""SCRAM-SHA-256: the example of RFC 7677, tokens as they are kept, and everything that is not it."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from server.pgwire.raw import final_response

from discreet.curator.custody import Scram, minted, scram_of
from discreet.server.errors import WireError
from discreet.server.pgwire.authentication import challenge, nobody, offered, signature

CLIENT, SERVER = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = "W22ZaJ0SNY7soEsUEjb6gQ=="


def verifier(password: str) -> Scram:
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(SALT), 4096)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    return Scram(base64.b64decode(SALT), 4096, stored, hmac.digest(salted, b"Server Key", "sha256"))


def test_the_example_of_the_rfc() -> None:
    asked = challenge(verifier("pencil"), f"n,,n=user,r={CLIENT}", SERVER)
    assert asked.text == f"r={CLIENT}{SERVER},s={SALT},i=4096"
    final = f"c=biws,r={CLIENT}{SERVER},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert signature(asked, final) == "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert signature(challenge(verifier("pencils"), f"n,,n=user,r={CLIENT}", SERVER), final) is None


def test_a_minted_token_is_proved_and_no_other() -> None:
    token, kept = minted()
    known = scram_of(kept)
    assert known is not None
    for given, right in ((token, True), (token[:-1], False), (token.swapcase(), False), ("", False)):
        asked = challenge(known, "n,,n=,r=abcdefghijkl")
        final = final_response(given, "abcdefghijkl", asked.text)[5:].decode()
        assert (signature(asked, final) is not None) is right


def test_every_challenge_is_new() -> None:
    assert len({challenge(verifier("x"), "n,,n=,r=abcdefghijkl").nonce for _ in range(50)}) == 50


@pytest.mark.parametrize(
    "first",
    [
        "",
        "n,,",
        "n,,n=,r=",
        "n,,n=,r=short",
        "n,,n=,r=with,comma",
        "n,,n=,r=with space here",
        "n,a=other,n=,r=abcdefghijkl",
        "p=tls-unique,,n=,r=abcdefghijkl",
        "n,,m=ext,n=,r=abcdefghijkl",
        "x,,n=,r=abcdefghijkl",
        "n,,r=abcdefghijkl,n=",
        "n,,n=,r=" + "a" * 300,
        "n,,n=,r=abcdefghijklé",
    ],
)
def test_what_is_no_first_message_is_refused(first: str) -> None:
    with pytest.raises(WireError) as refused:
        challenge(verifier("x"), first)
    assert (refused.value.code, refused.value.fatal) == ("08P01", True)


@pytest.mark.parametrize(
    "final",
    [
        "",
        "c=biws",
        "c=biws,r={nonce}",
        "c=biws,r={nonce},p=",
        "c=biws,r={nonce},p=AAAA",
        "c=biws,r={nonce},p=" + "A" * 45,
        "c=biws,r={nonce}x,p=" + "A" * 43 + "=",
        "c=eSws,r={nonce},p=" + "A" * 43 + "=",
        "c=biwsYQ==,r={nonce},p=" + "A" * 43 + "=",
        "r={nonce},c=biws,p=" + "A" * 43 + "=",
        "c=biws,r={nonce},x=1,p=" + "A" * 43 + "=",
    ],
)
def test_what_is_no_final_message_is_refused(final: str) -> None:
    asked = challenge(verifier("x"), "n,,n=,r=abcdefghijkl")
    with pytest.raises(WireError) as refused:
        signature(asked, final.replace("{nonce}", asked.nonce))
    assert refused.value.fatal


def test_nobody_is_the_same_nobody_each_time() -> None:
    pepper = b"p" * 32
    assert nobody("bob", pepper) == nobody("bob", pepper)
    assert nobody("bob", pepper).salt != nobody("eve", pepper).salt
    assert nobody("bob", pepper).salt != nobody("bob", b"q" * 32).salt
    made, real = nobody("bob", pepper), verifier("x")
    assert (len(made.salt), made.rounds, len(made.stored_key)) == (len(real.salt), real.rounds, len(real.stored_key))


BINDING = "p=tls-server-end-point,,"


def test_a_bound_login_says_the_certificate_that_it_saw() -> None:
    """The proof is right; with another certificate, or none, the binding is not."""
    token, kept = minted()
    known = scram_of(kept)
    assert known is not None
    for seen, right in ((b"c" * 32, True), (b"d" * 32, False), (b"", False)):
        asked = challenge(known, f"{BINDING}n=,r=abcdefghijkl", end_point=b"c" * 32)
        final = final_response(token, "abcdefghijkl", asked.text, BINDING.encode() + seen)[5:].decode()
        if right:
            assert signature(asked, final) is not None
        else:
            with pytest.raises(WireError):
                signature(asked, final)


@pytest.mark.parametrize("first", [f"{BINDING}n=,r=abcdefghijkl", "n,,n=,r=abcdefghijkl", "y,,n=,r=abcdefghijkl"])
@pytest.mark.parametrize("end_point", [None, b"c" * 32])
def test_a_login_is_bound_if_and_only_if_it_says_so(first: str, end_point: bytes | None) -> None:
    if first.startswith("p") == (end_point is not None):
        challenge(verifier("x"), first, end_point=end_point)
    else:
        with pytest.raises(WireError):
            challenge(verifier("x"), first, end_point=end_point)


def test_an_offer_that_was_taken_away_is_noticed() -> None:
    assert offered(None) == ("SCRAM-SHA-256",)
    assert offered(b"c" * 32) == ("SCRAM-SHA-256-PLUS", "SCRAM-SHA-256")
    challenge(verifier("x"), "n,,n=,r=abcdefghijkl", refused="y")
    with pytest.raises(WireError):
        challenge(verifier("x"), "y,,n=,r=abcdefghijkl", refused="y")
