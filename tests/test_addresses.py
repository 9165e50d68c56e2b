from __future__ import annotations

import pytest

from discreet.addresses import is_loopback, network


@pytest.mark.parametrize("own", ["127.0.0.1", "127.9.9.9", "::1", "::1%lo", "::ffff:127.0.0.1", "localhost"])
def test_this_machine_is_known_by_its_addresses(own: str) -> None:
    assert is_loopback(own)


@pytest.mark.parametrize(
    "other", ["", "192.0.2.1", "::", "10.0.0.1", "::ffff:192.0.2.1", "localhost.example", "127.0.0.1.example", "127.1"]
)
def test_other_machines_are_not_taken_for_it(other: str) -> None:
    assert not is_loopback(other)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", True),  # whoever has one of these has them all
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),  # the same machine, through a socket of the sixth version
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("no address", "nor this", True),
    ],
)
def test_tries_are_counted_by_what_one_person_has_of_addresses(one: str, other: str, *, same: bool) -> None:
    assert (network(one) == network(other)) is same


def test_one_person_has_a_network_of_the_sixth_version() -> None:
    assert network("2001:db8:1:2::3") == "2001:db8:1:2::/64"
    assert network("::1") == "::1"
    assert network("::ffff:192.0.2.1") == "192.0.2.1"
    assert network("nonsense") == "-"
