"""HTML page of a release: no script, no request, nothing that was not released.

Every name and key on it is escaped; the one style sheet is inside, and the page allows no other by its digest.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from discreet.exact import exact
from discreet.ledger.entry_kinds import Plain
from discreet.pictures import Picture
from discreet.pictures.svg import safe
from discreet.privacy import Approximate, Concentrated, epsilon_at
from discreet.release.certificate import Certificate, letters
from discreet.release.release import Cell, Release
from discreet.release.release_kind import named

_ROWS = 12  # of a table, and keys of a column, that are shown
_STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'"
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_SUM = (
    "This is about this release alone. Whatever else is told about the same people adds to it; the publisher's ledger "
    "keeps the sum, and stops at a limit that was set beforehand."
)


def written(release: Release, certificate: Certificate, tables: Mapping[str, pa.Table]) -> str:
    """The page, as HTML. `tables` are those of the release, by the names of their files."""
    parts = (
        _head(certificate),
        _promise(certificate),
        _gallery(release),
        _rows(release, tables),
        _exactness(release, certificate, tables),
        _public(release, certificate),
        _files(certificate),
        _cite(certificate),
        _verify(),
        _experts(certificate),
    )
    return document(certificate.title, [part for part in parts if part], certificate.discreet)


def document(title: str, parts: Iterable[str], version: str) -> str:
    """A whole page of these parts, which are HTML."""
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{safe(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<main>\n{body}\n</main>\n<footer>Written by discreet {safe(version)}.</footer>\n"
        "</body>\n</html>\n"
    )


def _head(certificate: Certificate) -> str:
    kind = named(certificate.kind)
    columns = " and ".join(_code(name) for name in _texts(certificate.facts, "columns"))
    tables = " and ".join(_code(name) for name in certificate.paid.versions)
    about = f"{kind.phrase or kind.title} of {columns}" + (f" in {tables}" if tables else "")
    return (
        '<header>\n<p class="mark">Published with differential privacy</p>\n'
        f"<h1>{safe(certificate.title)}</h1>\n<p>{about}. {_day(certificate.time)}.</p>\n</header>"
    )


def _day(time: str) -> str:
    year, month, day = time[:10].split("-")
    return f"{int(day)} {_MONTHS[int(month) - 1]} {int(year)}"


def _promise(certificate: Certificate) -> str:
    lead = f'<p class="lead">{safe(certificate.promise)}</p>'
    return f'<section class="promise">\n<h2>What is promised</h2>\n{lead}\n<p>{_SUM}</p>\n</section>'


def _gallery(release: Release) -> str:
    figures = gallery(release.pictures())
    return f"<section>\n<h2>{safe(release.heading)}</h2>\n{figures}\n</section>" if figures else ""


def gallery(pictures: Iterable[Picture]) -> str:
    """Pictures under each other, each with its title and what is said of it."""
    return "\n".join(
        f'<figure>\n<h3>{safe(each.title)}</h3>\n<div class="wide">{each.wide}</div>\n'
        f'<div class="narrow">{each.narrow}</div>\n<figcaption>{safe(each.note)}</figcaption>\n</figure>'
        for each in pictures
    )


def _rows(release: Release, tables: Mapping[str, pa.Table]) -> str:
    """The first rows of the first table: the others are in the files."""
    if not tables:
        return ""
    sheet = release.sheet(next(iter(tables.values())), _ROWS)
    keys = len(sheet.headings) - sheet.numbers
    head = "".join(f'<th scope="col">{safe(name)}</th>' for name in sheet.headings[:keys])
    head += "".join(f'<th scope="col" class="number">{safe(name)}</th>' for name in sheet.headings[keys:])
    body = "\n".join(
        f"<tr>{''.join(_cell(each, number=place >= keys) for place, each in enumerate(row))}</tr>" for row in sheet.rows
    )
    rest = sheet.size - len(sheet.rows)
    more = f" {rest:,} more are in its file." if rest else ""
    other = f" There are {len(tables):,} tables; this is the first." if len(tables) > 1 else ""
    return (
        "<section>\n<h2>The first rows</h2>\n"
        '<div class="scroll" tabindex="0" role="region" aria-label="The first rows">'
        f"\n<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>\n"
        f"<p>{len(sheet.rows):,} of {sheet.size:,} rows.{more}{other}</p>\n</section>"
    )


def _cell(cell: Cell, *, number: bool) -> str:
    """A cell; beside a number its error bar, if there is something to say about it."""
    beside = f' <span class="error">{safe(cell.beside)}</span>' if cell.beside else ""
    kind = ' class="number"' if number else ""
    return f"<td{kind}>{safe(cell.text)}{beside}</td>"


def _exactness(release: Release, certificate: Certificate, tables: Mapping[str, pa.Table]) -> str:
    left = "".join(f"<li>{safe(each)}</li>" for each in certificate.left_out)
    said = safe(release.exactness(tables))
    return f"<section>\n<h2>How exact it is</h2>\n<p>{said}</p>\n<ul>{left}</ul>\n</section>"


def _public(release: Release, certificate: Certificate) -> str:
    """What was known before anything was counted."""
    unit = certificate.neighbours.unit
    whose = "that each row stands for itself" if unit == "row" else f"whose a record is: {_code(unit)}"
    most = "1 record" if certificate.most == 1 else f"{certificate.most:,} records"
    known = (*release.declared(), whose, f"that no more than {most} of each would be counted", *release.rules())
    return (
        "<section>\n<h2>What was public</h2>\n<p>Nothing about the people was used for this but what the counts above "
        "tell. Declared beforehand, for everybody to see, were:</p>\n"
        f"<ul>{''.join(f'<li>{each}</li>' for each in known)}</ul>\n</section>"
    )


def _files(certificate: Certificate) -> str:
    """Each with its digest."""
    listed = "".join(
        f'<li><a href="{safe(name)}" download>{safe(name)}</a><br><code>{safe(known)}</code></li>'
        for name, known in sorted(certificate.files.items())
    )
    return (
        "<section>\n<h2>Files</h2>\n<p>The cells are in Parquet files, which most programs for data read; "
        "<code>release.json</code> has all of the release, from which <code>discreet</code> computes any range, share "
        f'or sum, each with its error. Under each is its SHA-256.</p>\n<ul class="files">{listed}</ul>\n</section>'
    )


def _cite(certificate: Certificate) -> str:
    return f"<section>\n<h2>How to cite</h2>\n<blockquote>{safe(certificate.how_to_cite)}</blockquote>\n</section>"


def _verify() -> str:
    return (
        "<section>\n<h2>How to verify</h2>\n<p>With the folder that this page is in:</p>\n"
        "<pre>discreet release verify DIR</pre>\n<p>It compares every file with <code>certificate.json</code>, "
        "computes the tables and this page anew, and follows the proof from the release to a signed head of the "
        "publisher's ledger. Who kept an earlier head, or the ledger's key, can compare with that as well.</p>\n"
        "</section>"
    )


def _experts(certificate: Certificate) -> str:
    mechanism = certificate.facts.get("mechanism")
    name = str(mechanism["name"]) if isinstance(mechanism, dict) else ""
    answer, paid = certificate.answer, certificate.paid
    first, last = certificate.entries
    tables = ", ".join(f"{table} (version {version})" for table, version in paid.versions.items())
    facts = {
        "Guarantee": f"{letters(certificate.guarantee)}, {certificate.change}",
        "That is": _read_at(certificate),
        "Charged": f"{letters(paid.loss)} of the budget of {paid.population}",
        "Mechanism": name,
        "Source": str(certificate.facts.get("source") or ""),
        "Rows": paid.sql,
        "Tables": tables,
        "Ledger": f"paid by entry {first}, recorded by entry {last}, {certificate.time}",
        "Head": f"{answer.head.size} entries, root {answer.head.root}",
        "Key": answer.head.key,
    }
    listed = "".join(f"<dt>{word}</dt><dd>{safe(said)}</dd>" for word, said in facts.items() if said)
    return (
        f'<section class="experts">\n<h2>For experts</h2>\n<dl>{listed}</dl>\n<p>All parameters are in '
        '<a href="certificate.json">certificate.json</a>.</p>\n</section>'
    )


def _read_at(certificate: Certificate) -> str:
    """The guarantee as whoever asked for it named it, if that was in another measure."""
    delta, loss = certificate.facts.get("delta"), certificate.guarantee
    if not isinstance(delta, str) or not isinstance(loss, Concentrated):
        return ""
    at = exact(delta, "delta")
    return letters(Approximate(epsilon_at(loss, at), at))


def _code(name: str) -> str:
    return f"<code>{safe(name)}</code>"


def _texts(facts: Mapping[str, Plain], name: str) -> Iterable[str]:
    texts = facts.get(name)
    return [str(each) for each in texts] if isinstance(texts, list) else []
