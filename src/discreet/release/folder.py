"""A release as a folder that anybody can read, and check without whoever published it.

certificate.json   what was promised, how it was made, the digest of each other file, and the proof of the ledger
release.json       the release itself: everything else follows from it
NAME.parquet       its cells, one file a table
index.html         a page to read
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet import __version__, durable
from discreet.errors import Refusal
from discreet.ledger.entry import Plain
from discreet.ledger.verify import Pinned, Receipt
from discreet.release import page
from discreet.release.certificate import BROKEN, Certificate, spelled
from discreet.release.release import FIT, Release

CERTIFICATE, RELEASE, PAGE = "certificate.json", "release.json", "index.html"
_NEAR = 1e-9  # how far apart two machines may compute one standard error
_LONGEST = 60  # letters of a file's name
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
        raise Refusal("the entry of the ledger holds another release than this one")
    tables = _tables(release)
    for name, table in tables.items():
        files[name] = _parquet(table, draft)
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
        raise Refusal("a release has no file of this name", hint=f"it has {sorted([*known, CERTIFICATE])}")
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
        raise Refusal("the release does not hold: " + "; ".join(faults))
    return list(_findings(certificate, pinned))


def _findings(certificate: Certificate, pinned: Pinned | None) -> Iterator[str]:
    proof = certificate.answer
    yield f"all {len(certificate.files)} files are those that the certificate names"
    yield f"release.json is the one whose digest entry {proof.entry.number} of the ledger holds"
    page_too = ", the page" if _ours(certificate) else ""
    yield f"the tables{page_too} and the certificate say what follows from it"
    if not certificate.outside:
        yield "its standard errors were NOT checked where cells were counted together: they are too small, ask it anew"
    if not _same_fit(certificate):
        yield "its whole counts were NOT checked: this discreet makes counts whole in another way"
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
        tables = _tables(release)
        others = {name: known for name, known in certificate.files.items() if name != PAGE}
        drawn = page.written(release, replace(certificate, files=others), tables)
    except BROKEN:  # whoever wrote it did not compute it
        yield f"{RELEASE!r} is no release that could be shown"
        return
    if {*tables, RELEASE, PAGE} != set(certificate.files):
        yield "there are other files than the release has tables"
        return
    for name, table in tables.items():
        stored = _stored(folder, name)
        if not _alike(stored, table, certificate) or (stored.schema.metadata or {}).get(_SAID) != _said(certificate):
            yield f"{name!r} does not follow from {RELEASE!r}"
    if _ours(certificate) and _content(folder, PAGE) != drawn.encode():
        yield f"{PAGE!r} does not follow from {RELEASE!r}"


def _stored(folder: Path, name: str) -> pa.Table:
    try:
        content = pa.BufferReader(_content(folder, name))
        return pq.ParquetFile(content).read(use_threads=False)  # `read_table` starts threads that may outlive us
    except (pa.ArrowException, OSError, ValueError):
        return pa.table({})


def _ours(certificate: Certificate) -> bool:
    """Whether this discreet writes a page as the one that wrote the folder did."""
    return certificate.discreet == __version__ and bool(certificate.outside)


def _same_fit(certificate: Certificate) -> bool:
    """Whether this discreet makes counts whole as the one that wrote the folder did: the first did not say how."""
    return certificate.facts.get("fit", 1) == FIT


def _alike(stored: pa.Table, table: pa.Table, certificate: Certificate) -> bool:
    """Whether two tables are equal, but for the last digits of standard errors.

    Earlier folders state errors where there is none, and whole counts of another fit cannot be computed again.
    """
    if stored.schema.names != table.schema.names or stored.num_rows != table.num_rows:
        return False
    for name in table.schema.names:
        ours, theirs = table[name].combine_chunks(), stored[name].combine_chunks()
        if ours.equals(theirs) or (name.startswith("count_whole") and not _same_fit(certificate)):
            continue
        if not pa.types.is_floating(ours.type) or ours.type != theirs.type:
            return False
        one, two = ours.to_numpy(zero_copy_only=False), theirs.to_numpy(zero_copy_only=False)
        if name.startswith("standard_error") and not certificate.outside:
            two = np.where(np.isnan(one), np.nan, two)
        if not np.allclose(one, two, rtol=_NEAR, atol=_NEAR, equal_nan=True):
            return False
    return True


# files ----------------------------------------------------------------------------------------------------------------


def _facts(release: Release) -> dict[str, Plain]:
    """What a release says of itself, and the axes that it has."""
    return {**release.facts, "axes": [dict(side.plain) for side in release.axes]}


def _tables(release: Release) -> dict[str, pa.Table]:
    """Its tables by the names of their files. A column may have any name, and a file may not."""
    named: dict[str, pa.Table] = {}
    for number, (name, table) in enumerate(release.to_arrow().items(), start=1):
        file = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:_LONGEST] or "table"
        if f"{file}.parquet".lower() in (taken.lower() for taken in named):  # some disks know no small letters
            file = f"{file[: _LONGEST - 8]}-{number}"
        named[f"{file}.parquet"] = table
    return named


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
