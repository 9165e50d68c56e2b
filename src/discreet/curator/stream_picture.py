"""Picture of a stream: its running counts so far, each in the band that its error makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.pictures.charts import Picture
from discreet.pictures.lines import Line, lines

if TYPE_CHECKING:
    from discreet.curator.streams import StreamCount, StreamStatus

_MOST = 8  # keys that are told apart


def drawn(status: StreamStatus, counts: Sequence[StreamCount]) -> Picture:
    """The running counts, by key if there are few keys, else their total."""
    keys = status.declared.keys
    if 0 < len(keys) <= _MOST:
        half = float(counts[0].key_error) if counts else 0.0
        every = [Line(str(key), tuple(float(each.by[key]) for each in counts), half) for key in keys]
    else:
        every = [Line("", tuple(float(each.count) for each in counts), float(counts[0].error) if counts else 0.0)]
    what = "rows so far" if status.declared.value is None else f"{status.declared.value} so far"
    note = f"Running counts of {status.name}; 19 times in 20 a number is within its band."
    return lines((status.name, note), every, ("step", what), len(counts))
