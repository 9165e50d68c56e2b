"""A courier: goes to web addresses, tells a token to nobody in between, and takes no nonsense for an answer."""

from __future__ import annotations

import pytest

from discreet.errors import Refusal
from discreet.transport.courier import Courier, Unreached, _json, _message


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "survey.example.org", "https://", "", "http://a:b", "http://a:99999", "http://[::1", "http://a\n.b"],
)
def test_a_courier_goes_to_web_addresses(url: str) -> None:
    with pytest.raises(Refusal, match="expected an address"):
        Courier(url)


def test_a_courier_does_not_shout_a_token() -> None:
    with pytest.raises(Refusal, match="in the clear"):
        Courier("http://survey.example.org").send("0" * 32, b"", "token")


def test_a_courier_that_meets_nobody_says_so() -> None:
    with pytest.raises(Unreached, match="nobody answers"):
        Courier("http://127.0.0.1:9", seconds=2).task("0" * 32)


def test_a_courier_takes_no_nonsense() -> None:
    for content in (b"[" * 100_000, b'{"a": 1, "a": 2}', b"\xff", b"[]"):
        with pytest.raises(Unreached, match="no JSON object"):
            _json(content)
    assert _message(b'{"error": {"message": "no\\u001b[2J way"}}') == "no[2J way"
    assert _message(b'{"error": "no"}') == "no reason given"
    for token in ("a\nb", "a\r\nX: y", "ä"):
        with pytest.raises(Refusal, match="as it was handed out"):
            Courier("http://127.0.0.1:9").send("0" * 32, b"", token)
    assert Courier("http://127.0.0.1:81/x").address == "http://127.0.0.1:81"
    assert Courier("https://a.example").address == "https://a.example:443"
    for name in ("ä" * 32, "a b", "../x", "A" * 32):
        with pytest.raises(Refusal, match="32 small hexadecimal digits"):
            Courier("http://127.0.0.1:9").task(name)
