"""IP addresses as text: which one is meant, whether it is this machine's own, and whose it counts as."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parsed(text: str) -> Address | None:
    """The address, without its zone, and of IPv4 where it is only wrapped into IPv6; None if it is none."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def is_loopback(host: str) -> bool:
    """Whether an address, or the name localhost, is this machine's own."""
    address = parsed(host)
    return host == "localhost" if address is None else address.is_loopback


@lru_cache(maxsize=1024)
def network(text: str) -> str:
    """What one person has of addresses: of the sixth version a whole network of 64 bits; "-" for what is none."""
    address = parsed(text)
    if isinstance(address, ipaddress.IPv6Address) and not address.is_loopback:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return "-" if address is None else str(address)
