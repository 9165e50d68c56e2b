"""Which pictures a release gets, and what is said under them of what was put together or left out."""

from __future__ import annotations

import numpy as np
from pictures.drawing import marks, parsed
from release.published import people, released

from discreet.mechanisms import Column, Frame
from discreet.pictures.svg import figure, plain, rounded
from discreet.release.estimate import error_bar
from discreet.release.figures import MOST_BARS, MOST_FIELDS, MOST_KEYS, MOST_PLANES, MOST_POINTS
from discreet.release.histogram import Histogram


def test_many_bins_are_drawn_together_with_the_error_of_their_sum() -> None:
    release = released({"kind": "ranges", "columns": ["cost"], "bins": {"cost": 1000}, "method": "hierarchy"})
    first, second = release.pictures()
    told = release.content
    assert isinstance(told, Histogram)
    root = parsed(first.wide)
    said = [box[0].text for box in marks(root, "rect")]
    assert len(said) == 50 <= MOST_BARS  # equal ones: 1000 bins are not 64 times as many
    value, errors = told.ranges(np.array([20]), np.array([40]))
    assert errors is not None
    assert said[1] == f"10 to 20: {figure(float(value[0]), error_bar(float(errors[0]), float(value[0])) / 2, 2.0)}"
    assert "up to 20 of the 1,000 bins together" in first.note
    assert marks(parsed(first.narrow), "rect")[1][0].text == said[1]
    points = marks(parsed(second.wide), "polyline")[0].attrib["points"].split()
    assert len(points) == 251 <= MOST_POINTS + 1
    assert "251 of 1,001 edges" in second.note


def test_of_many_keys_the_largest_are_drawn_and_the_others_counted() -> None:
    towns = Column("town", keys=tuple(f"Town {i}" for i in range(200)))
    release = released({"kind": "histogram", "columns": ["town"]}, people((towns,)))
    (drawn,) = release.pictures()
    counts = release.counts()
    labels = [each.text for each in marks(parsed(drawn.wide), "text", "label")]
    assert len(labels) == MOST_KEYS
    places = [int(str(label).removeprefix("Town ")) for label in labels]
    assert places == sorted(places)
    assert min(counts[places]) >= np.sort(counts)[-MOST_KEYS]
    rest = plain(float(counts.sum() - counts[places].sum()))
    assert "the 24 largest of 200, which the noise may have made look larger" in drawn.note
    assert f"so they are drawn without error bars; the others have {rest}" in drawn.note


def test_a_large_plane_is_drawn_in_fields_that_hold_all_their_cells() -> None:
    columns = Column("x", bounds=(0, 97), step=1), Column("y", bounds=(0, 100), step=1)
    place = np.arange(5000)
    frame = Frame.of({"x": place % 97, "y": place % 89}, *columns)
    release = released({"kind": "histogram", "columns": ["x", "y"], "bins": {"x": 97, "y": 10}}, frame)
    (drawn,) = release.pictures()
    assert "Each field along x has up to 3 of the 97 cells together." in drawn.note
    assert "along y" not in drawn.note
    counts = release.counts()
    root = parsed(drawn.wide)
    fields = marks(root, "rect")
    assert len(fields) == 33 * 10 <= MOST_FIELDS**2
    assert fields[10][0].text == f"3 to 6, 0 to 10: {rounded(float(counts[3:6, 0].sum()), None)}"
    assert "not equally large" in drawn.note  # the last field has one cell


def test_marginals_are_drawn_by_column_and_by_pair_and_the_rest_is_told() -> None:
    columns = tuple(Column(f"c{i}", keys=("a", "b", "c")) for i in range(5))
    release = released({"kind": "marginals", "columns": [f"c{i}" for i in range(5)]}, people(columns))
    found = release.pictures()
    assert [each.title for each in found[:5]] == [f"Records by c{i}" for i in range(5)]
    assert len(found) == 5 + MOST_PLANES
    assert found[-1].note.endswith("4 more pairs of columns were counted, and are not drawn.")
    table, error = release.counts(("c1",)), release.errors(("c1",))
    assert error is not None
    numbers = [each.text for each in marks(parsed(found[1].wide), "text", "number")]
    assert numbers == [figure(float(count), error_bar(float(error[0]), float(count)) / 2, 2.0) for count in table]
    assert marks(parsed(found[1].wide), "text", "label")[-1].text == "(other)"


def test_sums_without_an_error_bar_are_drawn_pale_and_that_is_said() -> None:
    wish: dict[str, object] = {"kind": "ranges", "columns": ["cost"], "bins": {"cost": 64}, "epsilon": "0.05"}
    first, second = released(wish).pictures()
    assert "Pale bars in a broken line have no error bar" in first.note
    assert marks(parsed(first.wide), "rect", "bare")
    assert "within the band" in second.note


def test_counts_whose_error_is_not_known_have_no_error_bars() -> None:
    release = released({"kind": "histogram", "columns": ["age"], "method": "mwem"})
    first, second = release.pictures()
    assert marks(parsed(first.wide), "line", "error") == []
    assert first.note.startswith("How far off these may be is not known.")
    assert "is not known" in second.note
