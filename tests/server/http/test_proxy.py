"""A trusted proxy says who asks and how; nobody else is believed, whatever they write."""

from __future__ import annotations

import pytest

from discreet.errors import Refusal
from discreet.server.http.proxy import Proxies

PROXIES = Proxies.read(["127.0.0.1", "10.0.0.0/8", "::1"])


def resolved(client: str, *headers: tuple[str, str], scheme: str = "http") -> tuple[str, str]:
    scope = {"client": (client, 1), "scheme": scheme, "headers": [(k.encode(), v.encode()) for k, v in headers]}
    PROXIES.resolved(scope)
    return str(scope["client"][0]), str(scope["scheme"])


@pytest.mark.parametrize(
    ("headers", "client", "scheme"),
    [
        ([], "127.0.0.1", "http"),
        ([("x-forwarded-for", "192.0.2.1"), ("x-forwarded-proto", "https")], "192.0.2.1", "https"),
        ([("x-forwarded-for", "6.6.6.6, 192.0.2.1")], "192.0.2.1", "http"),  # who asks wrote the first one
        ([("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "192.0.2.1, 10.1.1.1")], "192.0.2.1", "http"),
        ([("x-forwarded-for", "2001:db8::1")], "2001:db8::1", "http"),
        ([("x-forwarded-for", "192.0.2.1:4711")], "192.0.2.1", "http"),
        ([("x-forwarded-for", "192.0.2.1, nonsense")], "127.0.0.1", "http"),
        ([("forwarded", 'for="[2001:db8::1]:80";proto=https')], "2001:db8::1", "https"),
        ([("forwarded", "for=6.6.6.6;proto=https, for=192.0.2.1;proto=http")], "192.0.2.1", "http"),
        ([("forwarded", "for=6.6.6.6"), ("x-forwarded-for", "192.0.2.1")], "192.0.2.1", "http"),
        ([("x-forwarded-proto", "https, http")], "127.0.0.1", "http"),
    ],
)
def test_what_a_trusted_proxy_says(headers: list[tuple[str, str]], client: str, scheme: str) -> None:
    assert resolved("127.0.0.1", *headers) == (client, scheme)
    assert resolved("192.0.2.9", *headers) == ("192.0.2.9", "http")  # anybody else says nothing


def test_a_socket_behind_a_proxy_is_secure_too() -> None:
    assert resolved("::1", ("x-forwarded-proto", "https"), scheme="ws") == ("::1", "wss")


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(Refusal, match=r"expected the address of a proxy, got proxy\.example"):
        Proxies.read(["proxy.example"])
