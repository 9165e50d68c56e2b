"""Pictures of a stream: its counts so far, each in the band that its error makes, and its largest keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.pictures.charts import NARROW, WIDE, Picture, Ruler, Series, bars, histogram
from discreet.pictures.lines import Line, lines

if TYPE_CHECKING:
    from discreet.curator.stream_answers import StreamCount
    from discreet.curator.streams import StreamStatus

MOST_LINES = 8  # keys that are told apart


def counts_picture(
    status: StreamStatus, counts: Sequence[StreamCount], window: int | None = None, every: int = 1
) -> Picture:
    """The running counts, or those of windows of so many steps, by key if there are few keys, else their total."""
    keys = status.declared.keys
    if 0 < len(keys) <= MOST_LINES:
        halves = tuple(float(each.key_error) for each in counts)
        drawn = [Line(str(key), tuple(float(each.by[key]) for each in counts), halves) for key in keys]
    else:
        halves = tuple(float(each.error) for each in counts)
        drawn = [Line("", tuple(float(each.count) for each in counts), halves)]
    when = "so far" if window is None else f"in the last {window} steps"
    kind = "Running counts" if window is None else f"Counts of the last {window} steps"
    what = f"{'rows' if status.declared.value is None else status.declared.value} {when}"
    note = f"{kind} of {status.name}; 19 times in 20 a number is within its band. {status.bounding}"
    along = "step" if every == 1 else f"window, one every {every} steps"
    return lines((status.name, note), drawn, (along, what), len(counts))


def keys_picture(status: StreamStatus, last: StreamCount, most: int | None = None) -> Picture:
    """The largest keys of one answer, each with the error that covers all keys at once; of bins all, side by side."""
    edges = tuple(map(float, status.declared.edges))
    what = "rows" if status.declared.value is None else status.declared.value
    since = f"after step {last.start}, up to step {last.step}" if last.start else f"up to step {last.step}"
    note = f"What came {since}; 19 times in 20 all {len(last.by)} numbers are within their lines. {status.bounding}"
    told = list(last.by.items()) if edges else last.top(most or len(last.by))
    side = Ruler(status.declared.by or what, edges, () if edges else tuple(str(key) for key, _ in told))
    numbers, reaches = tuple(float(number) for _, number in told), (float(last.top_error),) * len(told)
    series = Series(status.name, note, side, numbers, reaches=reaches)
    wide, narrow = ((histogram if edges else bars)(series, width) for width in (WIDE, NARROW))
    return Picture(status.name, note, wide, narrow)
