"""HTML page of a quality report, under a banner that says who may see it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from discreet import __version__
from discreet.pictures import Picture
from discreet.pictures.charts import Ruler
from discreet.pictures.compared import Shares, compared, square
from discreet.pictures.svg import safe
from discreet.release.axis import KeyAxis, Side
from discreet.release.interval_tree import Reals
from discreet.release.page import document, gallery
from discreet.release.quality.report import Comparison, QualityReport

BANNER = (
    "This report was computed from the records themselves, without noise and without a price. It is as secret as they "
    "are: keep it where they are kept, and neither publish it nor put it beside the release."
)
_WORST = 12  # pairs of columns that are listed
_BARS, _KEYS = 64, 40  # of a picture
_HOW = "Bars are the made-up rows, dark lines the records."
_NONE = "nothing of these"


def page(report: QualityReport) -> str:
    """The page."""
    parts = [_head(report), _banner(), _scores(report), _columns(report), _pairs(report), _known(report)]
    return document(f"Quality of {report.title}", parts, __version__)


def _head(report: QualityReport) -> str:
    told = f"{len(report.rows.rows):,} made-up rows beside {len(report.records.rows):,} records"
    mark = '<p class="mark">For whoever may see the records</p>'
    return f"<header>\n{mark}\n<h1>How good the rows are</h1>\n<p>{told}.</p>\n</header>"


def _banner() -> str:
    return f'<section class="promise">\n<h2>Secret</h2>\n<p class="lead">{BANNER}</p>\n</section>'


def _scores(report: QualityReport) -> str:
    heads = ["", *(each.name for each in report.comparisons)]
    lines = [
        [words, *(told(each) for each in report.comparisons)]
        for words, told in _LINES
        if words != _LEARNED or report.target is not None
    ]
    if report.target is not None:
        lines += [[_AREA, *(_number(each.learned.area, 3) if each.learned else "" for each in report.comparisons)]]
        goal = f"<code>{safe(report.target)}</code>"
        note = f"<p>Trees that learned from the rows above predict {goal} for half of the records.</p>"
    else:
        note = "<p>No column was predicted: none has few keys. <code>--target</code> names one.</p>"
    said = "".join(f"<li>{safe(text)}</li>" for text in _SAID)
    return f"<section>\n<h2>In numbers</h2>\n{_table(heads, lines)}\n{note}\n<ul>{said}</ul>\n</section>"


_LEARNED, _AREA = "right predictions", "area under their curve"
_LINES: tuple[tuple[str, Callable[[Comparison], str]], ...] = (
    ("score of three columns together, of 1000", lambda each: _number(each.score, 0)),
    ("rows to move, two columns", lambda each: _percent(each.pairs)),
    ("rows to move, one column", lambda each: _percent(each.columns)),
    ("told from records, 0.5 is not at all", lambda each: _number(each.apart, 3)),
    ("rows that are equal to a record", lambda each: _percent(each.matches)),
    (_LEARNED, lambda each: "" if each.learned is None else _percent(each.learned.right)),
)
_SCORE = (
    "The score is 1000 for rows that have every table of three columns, and 0 for rows with nothing in common with the "
    "records. Rows to move is the share of rows that would have to change for the tables to be equal, in the mean."
)
_YARD = (
    "“half” is half of the records beside the other half: what chance alone does. “shuffled” are records that keep "
    "every column and lose all that columns know of each other: rows that are no better learned nothing."
)
_EQUAL = (
    "Rows that are equal to a record are no leak by themselves: where few columns have few values most rows are, and "
    "what a synthesis promises holds whatever is equal. Compare them with those of one half in the other."
)
_SAID = (_SCORE, _YARD, _EQUAL, "Numbers are compared by the bins of the release.")


def _columns(report: QualityReport) -> str:
    pictures = [_picture(report, place) for place in range(len(report.sides))]
    return f"<section>\n<h2>Each column alone</h2>\n{gallery(pictures)}\n</section>"


def _picture(report: QualityReport, place: int) -> Picture:
    side = report.sides[place]
    bars, lines = (sample.shares((place,)) for sample in (report.rows, report.records))
    far = _percent(report.columns[side.column])
    note = f"{_HOW} To be equal, {far} of the rows would have to move."
    ruler, shown = _ruled(side, lines)
    if len(shown) < (len(side.keys) if isinstance(side, KeyAxis) else side.bins):
        note += (
            f" {'The rarest are left out' if isinstance(side, KeyAxis) else 'Neighbouring bins are drawn together'}."
        )
    bars, lines = (np.array([values[cells].sum() for cells in shown]) for values in (bars, lines))
    return compared(Shares(side.column, note, ruler, tuple(map(float, bars)), tuple(map(float, lines))))


def _ruled(side: Side, shares: Reals) -> tuple[Ruler, list[list[int]]]:
    """The cells that are drawn, some together, and their ruler. What is in none is drawn with keys only."""
    if isinstance(side, KeyAxis):
        labels = [*(str(key) if key is not None else "NULL" for key in side.keys), _NONE]
        order = np.argsort(-shares, kind="stable")[:_KEYS].tolist()
        shown = [[place] for place in sorted(order) if place < len(side.keys) or shares[place] > 0]
        return Ruler(side.column, labels=tuple(labels[place] or "(empty)" for (place,) in shown)), shown
    every = -(-side.bins // _BARS)
    cuts = [*range(0, side.bins, every), side.bins]
    shown = [list(range(low, high)) for low, high in pairwise(cuts)]
    edges, names = side.ruler
    words = tuple(names[cut] for cut in cuts if names)
    return Ruler(side.column, edges=tuple(float(edges[cut]) for cut in cuts), names=words), shown


def _pairs(report: QualityReport) -> str:
    if not report.pairs:
        return ""
    names = [side.column for side in report.sides]
    near = [[1.0 if one == two else 1 - _far(report, one, two) for two in names] for one in names]
    picture = square("Alike, pair by pair", "1 where the table of two columns is that of the records.", names, near)
    worst = sorted(report.pairs.items(), key=lambda each: -each[1])[:_WORST]
    lines = [[one, two, _percent(far)] for (one, two), far in worst]
    listed = _table(["column", "column", "rows to move"], lines)
    return f"<section>\n<h2>Two columns together</h2>\n{gallery([picture])}\n<p>The farthest:</p>\n{listed}\n</section>"


def _far(report: QualityReport, one: str, two: str) -> float:
    far = report.pairs.get((one, two), report.pairs.get((two, one), math.nan))
    return 1.0 if math.isnan(far) else far


def _known(report: QualityReport) -> str:
    if not report.pairs:
        return ""
    names = [side.column for side in report.sides]
    said = "0 where one column tells nothing of the other, nearer to 1 the more it tells (Linfoot 1957)."
    kinds = (("In the records", report.known[0]), ("In the made-up rows", report.known[1]))
    pictures = [square(title, said, names, values.tolist()) for title, values in kinds]
    return f"<section>\n<h2>What columns tell of each other</h2>\n{gallery(pictures)}\n</section>"


# tables ---------------------------------------------------------------------------------------------------------------


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    head = "".join(_cells_of("th", heads))
    body = "\n".join(f"<tr>{''.join(_cells_of('td', line))}</tr>" for line in lines)
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Scores">\n'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def _cells_of(tag: str, texts: Sequence[str]) -> Iterator[str]:
    for place, text in enumerate(texts):
        number = ' class="number"' if place else ""
        yield f"<{tag}{number}>{safe(text)}</{tag}>"


def _number(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def lines_of(report: QualityReport) -> list[list[object]]:
    """The scores as rows of a table: for each comparison its name and its numbers."""
    return [_line(each) for each in report.comparisons]


HEADS = ("rows", "score", "pairs", "columns", "told_apart", "equal", "right", "area")


def _line(each: Comparison) -> list[object]:
    found = each.learned
    numbers = [each.score, each.pairs, each.columns, each.apart, each.matches]
    more = [None, None] if found is None else [found.right, None if math.isnan(found.area) else found.area]
    return [
        each.name,
        *(round(number, 4) for number in numbers),
        *(None if one is None else round(one, 4) for one in more),
    ]
