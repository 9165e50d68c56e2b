"""A release as one page to read: no script, no request, nothing that was not released.

Every name and key on it is escaped; the one style sheet is inside, and the page allows no other by its digest.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from discreet.exact import exact
from discreet.ledger.entry import Plain
from discreet.pictures import Picture
from discreet.pictures.svg import plain, rounded, safe
from discreet.privacy import Approximate, Concentrated, epsilon_at
from discreet.release.axis import KeyAxis, Side
from discreet.release.bins import written as written_out
from discreet.release.certificate import Certificate, letters
from discreet.release.estimate import error_bar
from discreet.release.figures import pictures
from discreet.release.other_cell import IN_OTHER, LEFT_OUT
from discreet.release.release import Release

_ROWS = 12  # of a table, and keys of a column, that are shown
_STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'"
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_KINDS = {"histogram": "A histogram", "ranges": "Counts for ranges", "marginals": "Contingency tables"}
_SUM = (
    "This is about this release alone. Whatever else is told about the same people adds to it; the publisher's ledger "
    "keeps the sum, and stops at a limit that was set beforehand."
)
_NOISE = "The counts are deliberately a little wrong: random noise was added before they were published."
_KNOWN = "How much is known: the truth lies within what follows ± 19 times in 20, for one number at a time."
_PARTLY = "Where nothing follows, how far a number is off is not known."
_NONE_KNOWN = "How far a single number here is off is not known."
_OUTSIDE = {
    IN_OTHER: "that records whose value is missing, no key or in no bin are counted as (other), in every table",
    LEFT_OUT: "that records whose value is missing, no key or in no bin in any column are left out of everything",
    "": "that records whose value is no key or in no bin are not counted",
}
_WHOLE = "A count can be below zero, or not whole; beside it stands the whole count that fits best with all others."


def written(release: Release, certificate: Certificate, tables: Mapping[str, pa.Table]) -> str:
    """The page, as HTML. `tables` are those of the release, by the names of their files."""
    parts = (
        _head(certificate),
        _promise(certificate),
        _gallery(pictures(release)),
        _rows(tables),
        _exactness(certificate, tables),
        _public(release, certificate),
        _files(certificate),
        _cite(certificate),
        _verify(),
        _experts(certificate),
    )
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{safe(certificate.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<main>\n{body}\n</main>\n<footer>Written by discreet {safe(certificate.discreet)}.</footer>\n"
        "</body>\n</html>\n"
    )


def _head(certificate: Certificate) -> str:
    kind = _KINDS.get(certificate.kind, "Counts")
    columns = " and ".join(_code(name) for name in _texts(certificate.facts, "columns"))
    tables = " and ".join(_code(name) for name in certificate.paid.versions)
    about = f"{kind} of {columns}" + (f" in {tables}" if tables else "")
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


def _gallery(shown: Sequence[Picture]) -> str:
    figures = "\n".join(
        f'<figure>\n<h3>{safe(each.title)}</h3>\n<div class="wide">{each.wide}</div>\n'
        f'<div class="narrow">{each.narrow}</div>\n<figcaption>{safe(each.note)}</figcaption>\n</figure>'
        for each in shown
    )
    return f"<section>\n<h2>What was counted</h2>\n{figures}\n</section>"


def _rows(tables: Mapping[str, pa.Table]) -> str:
    """The first rows of the first table: the others are in the files."""
    table = next(iter(tables.values()))
    whole = _is_whole(table)
    keys = table.column_names[: -3 if whole else -2]
    shown = [list(row.values()) for row in table.slice(0, _ROWS).to_pylist()]
    head = "".join(f'<th scope="col">{safe(name)}</th>' for name in keys) + '<th scope="col" class="number">count</th>'
    head += '<th scope="col" class="number">whole count</th>' if whole else ""
    body = "\n".join(
        f"<tr>{''.join(f'<td>{safe(cell(value))}</td>' for value in row[: len(keys)])}{_numbers(row[len(keys) :])}</tr>"
        for row in shown
    )
    rest = table.num_rows - len(shown)
    more = f" {rest:,} more are in its file." if rest else ""
    other = f" There are {len(tables):,} tables; this is the first." if len(tables) > 1 else ""
    return (
        "<section>\n<h2>The first rows</h2>\n"
        '<div class="scroll" tabindex="0" role="region" aria-label="The first rows">'
        f"\n<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>\n"
        f"<p>{len(shown):,} of {table.num_rows:,} rows.{more}{other}</p>\n</section>"
    )


def _numbers(counted: Sequence[float | None]) -> str:
    """The count, its error bar if there is one, and perhaps the whole count."""
    count, error = counted[0] or 0.0, counted[1]
    bar = "no error bar" if error is None else f"± {rounded(error_bar(error, count), error)}"
    spread = f' <span class="error">{bar}</span>'
    whole = "".join(f'<td class="number">{each:,}</td>' for each in counted[2:])
    return f'<td class="number">{rounded(count, error)}{spread}</td>{whole}'


def _exactness(certificate: Certificate, tables: Mapping[str, pa.Table]) -> str:
    table = next(iter(tables.values()))
    whole = _is_whole(table)
    missing = table.column(-2 if whole else -1).null_count
    known = [_NONE_KNOWN] if missing == table.num_rows else [_KNOWN, _PARTLY] if missing else [_KNOWN]
    said = " ".join([_NOISE, *known, *([_WHOLE] if whole else [])])
    left = "".join(f"<li>{safe(each)}</li>" for each in certificate.left_out)
    return f"<section>\n<h2>How exact it is</h2>\n<p>{said}</p>\n<ul>{left}</ul>\n</section>"


def _is_whole(table: pa.Table) -> bool:
    """Whether whole counts come last; else the standard errors do."""
    return bool(table.column_names[-1].startswith("count_whole"))


def _public(release: Release, certificate: Certificate) -> str:
    """What was known before anything was counted. Bins that were chosen privately are part of the release."""
    listed = "".join(f"<li>{_axis(side, chosen=certificate.chosen(side.column))}</li>" for side in release.axes)
    unit = certificate.neighbours.unit
    whose = "that each row stands for itself" if unit == "row" else f"whose a record is: {_code(unit)}"
    most = "1 record" if certificate.most == 1 else f"{certificate.most:,} records"
    return (
        "<section>\n<h2>What was public</h2>\n<p>Nothing about the people was used for this but what the counts above "
        f"tell. Declared beforehand, for everybody to see, were:</p>\n<ul>{listed}"
        f"<li>{whose}</li><li>that no more than {most} of each would be counted</li>"
        f"<li>{_OUTSIDE[certificate.outside]}</li></ul>\n</section>"
    )


def _axis(side: Side, *, chosen: bool) -> str:
    name = _code(side.column)
    if isinstance(side, KeyAxis):
        some = ", ".join(_code(cell(key)) for key in side.keys[:_ROWS])
        rest = f", and {len(side.keys) - _ROWS:,} more" if len(side.keys) > _ROWS else ""
        return f"{name} by its {len(side.keys):,} keys: {some}{rest}"
    low, high = (written_out(steps * side.step) for steps in (side.steps[0], side.steps[-1]))
    ends = f"{name} from {low} to {'' if side.closed else 'before '}{high}"
    if chosen:
        return f"{ends}; its {side.bins:,} bins were chosen privately, and are part of this release"
    return f"{ends} in {side.bins:,} bin{'' if side.bins == 1 else 's'}"


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


def cell(value: object) -> str:
    """A key or an edge as people write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return plain(value)
    return "NULL" if value is None else str(value) or "(empty)"


def _code(name: str) -> str:
    return f"<code>{safe(name)}</code>"


def _texts(facts: Mapping[str, Plain], name: str) -> Iterable[str]:
    found = facts.get(name)
    return [str(each) for each in found] if isinstance(found, list) else []
