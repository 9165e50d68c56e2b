"""Folder of a release, which anybody can read, and check without whoever published it.

certificate.json   what was promised, how it was made, the digest of each other file, and the proof of the ledger
release.json       the release itself: everything else follows from it
NAME.parquet       its tables, one file each; and whatever files its kind adds
index.html         a page to read
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet import __version__, durable
from discreet.errors import Refusal
from discreet.exact import shown
from discreet.ledger.entry_kinds import Plain
from discreet.ledger.verify import Pinned, Receipt
from discreet.release import page
from discreet.release.certificate import BROKEN, Certificate, spelled
from discreet.release.release import Release

CERTIFICATE, RELEASE, PAGE = "certificate.json", "release.json", "index.html"
_SAID = b"discreet"  # where a Parquet file says what it is


def digest(content: bytes | str) -> str:
    """The SHA-256 of a file; of a release, what the ledger holds of it."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def refuse_taken(folder: Path) -> None:
    """Refuse a folder that has something in it, or nowhere to be: to be asked before a release is paid for."""
    if not folder.absolute().parent.is_dir():
        raise Refusal(f"there is no folder {str(folder.parent)!r} to put the release into", hint="make it first")
    if folder.is_symlink() or (folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))):
        raise Refusal(f"{str(folder)!r} is there already, and not empty", hint="name a folder that is new or empty")


def write(folder: Path, release: Release, answer: Receipt) -> Certificate:
    """Write a release whose digest the ledger's answer holds. The folder is there whole, or it is not."""
    refuse_taken(folder)
    files: dict[str, bytes] = {RELEASE: release.to_json().encode()}
    draft = Certificate(_facts(release), release.bounding, answer)
    if digest(files[RELEASE]) != draft.digest:
        raise Refusal(f"entry {answer.entry.number} of the ledger holds another release than this one")
    tables = release.tables_by_file()
    files |= {name: _parquet(table, draft) for name, table in tables.items()} | dict(release.more_files())
    draft = replace(draft, files={name: digest(content) for name, content in files.items()})
    files[PAGE] = page.written(release, draft, tables).encode()
    certificate = replace(draft, files={**draft.files, PAGE: digest(files[PAGE])})
    files[CERTIFICATE] = certificate.to_json().encode()
    _settle(folder.absolute(), files)
    return certificate


def copy(written: Path, folder: Path) -> Certificate:
    """The same folder once more, to the last byte."""
    refuse_taken(folder)
    certificate = Certificate.from_json(_text(written, CERTIFICATE))
    names = (*certificate.files, CERTIFICATE)
    _settle(folder.absolute(), {name: file(written, name) for name in names})
    return certificate


def file(folder: Path, name: str) -> bytes:
    """One file of a folder, if it is the one that the certificate names."""
    text = _text(folder, CERTIFICATE)
    if name == CERTIFICATE:
        return text.encode()
    known = Certificate.from_json(text).files
    if name not in known:
        raise Refusal(
            f"a release has no file of this name: {shown(name)}", hint=f"it has {sorted([*known, CERTIFICATE])}"
        )
    content = _content(folder, name)
    if digest(content) != known[name]:
        raise Refusal(f"{name!r} was changed after it was certified", hint="restore the home")
    return content


def read(folder: Path) -> tuple[Release, Certificate]:
    """The release and its certificate. Reading says nothing of whether they hold: `checked` does."""
    certificate = Certificate.from_json(_text(folder, CERTIFICATE))
    return Release.from_json(_text(folder, RELEASE)), certificate


def checked(folder: Path, pinned: Pinned | None = None) -> list[str]:
    """What was found to hold, without the home and without believing the folder; refused if something does not.

    Who kept a head or a key of the ledger gives it. Else the last finding names the key to compare.
    """
    release, certificate = read(folder)
    faults = [*_against_files(folder, certificate), *certificate.faults(pinned)]
    if not faults:
        faults = [*_against_ledger(folder, release, certificate), *_against_release(folder, release, certificate)]
    if faults:
        raise Refusal(f"the release does not hold: {'; '.join(faults)}")
    return list(_findings(release, certificate, pinned))


def _findings(release: Release, certificate: Certificate, pinned: Pinned | None) -> Iterator[str]:
    proof = certificate.answer
    yield f"all {len(certificate.files)} files are those that the certificate names"
    yield f"release.json is the one whose digest entry {proof.entry.number} of the ledger holds"
    page_too = ", the page" if _ours(certificate) else ""
    yield f"the tables{page_too} and the certificate say what follows from it"
    yield from release.unchecked()
    cost = spelled(certificate.paid.loss)
    yield f"that entry says that entry {certificate.entries[0]} paid {cost} for it, which covers the promise"
    yield f"it lies under a signed head of a ledger of {proof.head.size} entries"
    if not _ours(certificate):
        written_by = f"by discreet {certificate.discreet}, and this is {__version__}"
        yield f"index.html was NOT checked: it says that it was written {written_by}; believe the tables, not the page"
    if pinned is None:
        yield f"the ledger signs with the key {proof.head.key}: compare it with the one that the publisher is known by"
    else:
        yield "the ledger is that of the key that you kept" if pinned.head is None else "the ledger is the one you knew"


# checks ---------------------------------------------------------------------------------------------------------------


def _against_files(folder: Path, certificate: Certificate) -> Iterator[str]:
    there = {entry.name for entry in folder.iterdir()}
    for name in sorted(there - {*certificate.files, CERTIFICATE}):
        yield f"{name!r} is not in the certificate"
    for name, known in sorted(certificate.files.items()):
        if name not in there:
            yield f"{name!r} is missing"
        elif digest(_content(folder, name)) != known:
            yield f"{name!r} was changed"


def _against_ledger(folder: Path, release: Release, certificate: Certificate) -> Iterator[str]:
    if digest(_content(folder, RELEASE)) != certificate.digest:
        yield f"{RELEASE!r} is not the one that entry {certificate.answer.entry.number} of the ledger holds"
    if dict(certificate.facts) != _facts(release) or certificate.bounding != release.bounding:
        yield "the certificate says other things of the release than it says itself"


def _against_release(folder: Path, release: Release, certificate: Certificate) -> Iterator[str]:
    try:
        tables, more = release.tables_by_file(), release.more_files()
        others = {name: known for name, known in certificate.files.items() if name != PAGE}
        drawn = page.written(release, replace(certificate, files=others), tables)
    except BROKEN:  # whoever wrote it did not compute it
        yield f"{RELEASE!r} is no release that could be shown"
        return
    if {*tables, *more, RELEASE, PAGE} != set(certificate.files):
        yield "there are other files than the release has tables"
        return
    for name, table in tables.items():
        stored = _stored(folder, name)
        if not release.follows(stored, table) or (stored.schema.metadata or {}).get(_SAID) != _said(certificate):
            yield f"{name!r} does not follow from {RELEASE!r}"
    own = {**more, **({PAGE: drawn.encode()} if _ours(certificate) else {})}
    for name, content in own.items():
        if _content(folder, name) != content:
            yield f"{name!r} does not follow from {RELEASE!r}"


def _stored(folder: Path, name: str) -> pa.Table:
    try:
        content = pa.BufferReader(_content(folder, name))
        return pq.ParquetFile(content).read(use_threads=False)  # `read_table` starts threads that may outlive us
    except (pa.ArrowException, OSError, ValueError):
        return pa.table({})


def _ours(certificate: Certificate) -> bool:
    """Whether this discreet writes a page as the one that wrote the folder did."""
    return certificate.discreet == __version__ and not certificate.earlier


# files ----------------------------------------------------------------------------------------------------------------


def _facts(release: Release) -> dict[str, Plain]:
    """What a release says of itself, and the sides that it has."""
    sides: list[Plain] = [dict(side.plain) for side in release.sides]
    return {**release.facts, **({"axes": sides} if sides else {})}


def _parquet(table: pa.Table, certificate: Certificate) -> bytes:
    """A table that still says what it is when it has left its folder."""
    written = pa.BufferOutputStream()
    known = {**(table.schema.metadata or {}), _SAID: _said(certificate)}
    pq.write_table(table.replace_schema_metadata(known), written)
    return bytes(written.getvalue().to_pybytes())


def _said(certificate: Certificate) -> bytes:
    said = {"title": certificate.title, "promise": certificate.promise, "release": certificate.digest}
    return json.dumps(said, ensure_ascii=False, sort_keys=True).encode()


def _content(folder: Path, name: str) -> bytes:
    """A file of the folder itself: a link could lead anywhere."""
    path = folder / name
    if path.is_symlink() or not path.is_file():
        raise Refusal(f"there is no file {name!r} in {str(folder)!r}", hint="name the folder of a release")
    return path.read_bytes()


def _text(folder: Path, name: str) -> str:
    try:
        return _content(folder, name).decode()
    except UnicodeDecodeError:
        raise Refusal(f"{name!r} is no text") from None


def _settle(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write aside, where nobody else looks, then put into place at once."""
    aside = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")
    try:
        aside.mkdir(mode=0o700)
        for name, content in files.items():
            durable.create(aside / name, content, mode=0o644)
        aside.chmod(0o755)
        durable.sync(aside)
        aside.rename(folder)  # takes the place of an empty folder, and of no other
    except OSError:
        with suppress(OSError):
            shutil.rmtree(aside)
        raise Refusal(f"the release could not be written to {str(folder)!r}", hint="name another folder") from None
    durable.sync(folder.parent)
