"""What a door speaks with those who come by TLS: 1.2 or newer, whatever they and the machine's own rules allow."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from certificate import certificate_in

from discreet.server.tls import ServerContext

ANYTHING = "ALL:@SECLEVEL=0"


def spoken(certificate: tuple[Path, Path], newest: ssl.TLSVersion) -> str | None:
    """What a door and a client that knows nothing newer agree on, if nothing else hinders them."""
    door, client = ServerContext(), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    door.load_cert_chain(*certificate)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    for each in (door, client):
        each.set_ciphers(ANYTHING)
    client.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    client.maximum_version = newest
    there, here = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = client.wrap_bio(here, there), door.wrap_bio(there, here, server_side=True)
    for end in ends * 4:  # as many turns as a handshake has, and more
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return ends[0].version()


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_old_versions_of_tls_are_not_spoken(tmp_path: Path) -> None:
    certificate = certificate_in(tmp_path)
    for old in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        with pytest.raises(ssl.SSLError, match="UNSUPPORTED_PROTOCOL"):
            spoken(certificate, old)
    assert spoken(certificate, ssl.TLSVersion.TLSv1_2) == "TLSv1.2"
    assert spoken(certificate, ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
