"""TLS of a server, and the digest of its certificate that binds logins to it (RFC 5929, tls-server-end-point)."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

_WEAK = ("md5", "sha1")  # in their place SHA-256 is used

Password = str | bytes | bytearray
_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class ServerContext(ssl.SSLContext):
    """TLS 1.2 or newer, with a certificate that may be loaded anew at any time: who comes next is shown the new one."""

    end_point: bytes | None = None  # the digest of the certificate; None: there is none for its kind

    def __new__(cls) -> ServerContext:  # noqa: PYI034  # as its parent
        """For a server, without a certificate."""
        made = super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        return made

    def load_cert_chain(
        self,
        certfile: _Path,
        keyfile: _Path | None = None,
        password: Callable[[], Password] | Password | None = None,
    ) -> None:
        """Show this certificate from now on."""
        super().load_cert_chain(certfile, keyfile, password)
        self.end_point = end_point(Path(os.fsdecode(certfile)).read_bytes())


def end_point(pem: bytes) -> bytes | None:
    """The digest of a chain's first certificate, by the hash that it is signed with."""
    certificate = x509.load_pem_x509_certificate(pem)
    used = certificate.signature_hash_algorithm
    if used is None:  # as with Ed25519, for which no digest is defined
        return None
    digest = hashes.Hash(hashes.SHA256() if used.name in _WEAK else used)
    digest.update(certificate.public_bytes(Encoding.DER))
    return digest.finalize()
