"""Pictures are to scale, say what was left out, and hold no label as anything but text."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures.drawing import SVG, at, close, marks, parsed, ruler
from release.published import NASTY

from discreet.pictures.charts import NARROW, WIDE, Ruler, Series, bars, curve, histogram
from discreet.pictures.heatmap import Plane, heat
from discreet.pictures.svg import AxisScale, cut, figure, plain, reach, rounded, safe

WIDTHS = pytest.mark.parametrize("width", [WIDE, NARROW])


@WIDTHS
def test_bars_of_equal_bins_are_as_high_as_their_counts(width: int) -> None:
    counts, errors = (120.0, 40.0, -15.0, 300.0), (10.0, 20.0, 5.0, 40.0)
    root = parsed(histogram(Series("t", "n", Ruler("age", (0.0, 5.0, 10.0, 15.0, 20.0)), counts, errors), width))
    up, along = ruler(root, "level", "y", 4), ruler(root, "tick", "x")
    boxes, whiskers = marks(root, "rect"), marks(root, "line", "error")
    assert len(boxes) == len(whiskers) == 4
    for i, (box, whisker) in enumerate(zip(boxes, whiskers, strict=True)):
        ends = sorted((up(at(box, "y")), up(at(box, "y") + at(box, "height"))))
        assert close(ends[0], min(counts[i], 0), 350)
        assert close(ends[1], max(counts[i], 0), 350)
        assert close(along(at(box, "x") + at(box, "width") / 2), 5 * i + 2.5, 20)
        assert close(along(at(box, "width") + at(boxes[0], "x")) - along(at(boxes[0], "x")), 5, 20 * 200)
        assert close(up(at(whisker, "y1")), counts[i] - 2 * errors[i], 350)
        assert close(up(at(whisker, "y2")), counts[i] + 2 * errors[i], 350)
        assert close(along(at(whisker, "x1")), 5 * i + 2.5, 20)
    assert [name.text for name in marks(root, "text", "name")] == ["records", "age"]


@WIDTHS
def test_bars_of_unequal_bins_have_their_counts_as_areas(width: int) -> None:
    edges, counts, errors = (0.0, 1.0, 10.0, 100.0), (50.0, 90.0, 180.0), (4.0, 9.0, 18.0)
    root = parsed(histogram(Series("t", "n", Ruler("cost", edges), counts, errors), width))
    up, along = ruler(root, "level", "y", 4), ruler(root, "tick", "x")
    for i, box in enumerate(marks(root, "rect")):
        size = edges[i + 1] - edges[i]
        assert close(up(at(box, "y")), counts[i] / size, 60)
        assert close(up(at(box, "y") + at(box, "height")), 0, 60)
        assert close(along(at(box, "x") + at(box, "width") / 2), (edges[i] + edges[i + 1]) / 2, 100)
        whisker = marks(root, "line", "error")[i]
        assert close(up(at(whisker, "y2")) - up(at(whisker, "y1")), 4 * errors[i] / size, 120)
    assert marks(root, "text", "name")[0].text == "records per 1 of cost"


@WIDTHS
def test_bars_of_keys_are_as_long_as_their_counts_and_say_them(width: int) -> None:
    counts, errors, labels = (120.0, -30.0, 60.5), (5.0, 20.0, 4.0), ("north", "south", "east")
    root = parsed(bars(Series("t", "n", Ruler("region", labels=labels), counts, errors), width))
    boxes, whiskers = marks(root, "rect"), marks(root, "line", "error")
    zero = at(boxes[0], "x")
    unit = at(boxes[0], "width") / counts[0]
    for box, whisker, count, error in zip(boxes, whiskers, counts, errors, strict=True):
        assert close(at(box, "width"), abs(count) * unit, 300)
        assert close(at(box, "x") if count > 0 else at(box, "x") + at(box, "width"), zero, 300)
        assert close(at(whisker, "x1"), zero + (count - 2 * error) * unit, 300)
        assert close(at(whisker, "x2"), zero + (count + 2 * error) * unit, 300)
    assert [label.text for label in marks(root, "text", "label")] == list(labels)
    assert [each.text for each in marks(root, "text", "number")] == ["120 ± 10", "−30 ± 40", "60.5 ± 8"]
    said = [at(each, "y") for each in marks(root, "text", "label")]
    assert all(at(box, "y") < y < at(box, "y") + at(box, "height") for box, y in zip(boxes, said, strict=True))


@WIDTHS
def test_a_curve_goes_through_its_shares_inside_its_band(width: int) -> None:
    shares, ends = (0.2, 0.7, 1.0), ((0.1, 0.5, 1.0), (0.3, 0.9, 1.0))
    root = parsed(curve(Series("t", "n", Ruler("age", (0.0, 10.0, 40.0, 50.0)), shares, band=ends), width))
    up, along = ruler(root, "level", "y", 4), ruler(root, "tick", "x")
    (path,), (band,) = marks(root, "polyline"), marks(root, "polygon")
    points = [tuple(map(float, pair.split(","))) for pair in path.attrib["points"].split()]
    wanted = [(0, 0), (10, 20), (40, 70), (50, 100)]
    assert all(close(along(x), a, 50) and close(up(y), b, 100) for (x, y), (a, b) in zip(points, wanted, strict=True))
    outer = [tuple(map(float, pair.split(","))) for pair in band.attrib["points"].split()]
    heights = [up(y) for _, y in outer]
    expected = [0, 30, 90, 100, 100, 50, 10, 0]
    assert all(close(one, two, 100) for one, two in zip(heights, expected, strict=True))


def test_a_curve_without_errors_has_no_band() -> None:
    root = parsed(curve(Series("t", "n", Ruler("age", (0.0, 10.0, 40.0)), (0.2, 1.0))))
    assert marks(root, "polygon") == []
    assert len(marks(root, "polyline")) == 1


@WIDTHS
def test_fields_are_in_place_and_as_strong_as_their_counts(width: int) -> None:
    plane = Plane("t", "n", Ruler("age", (0.0, 10.0, 20.0)), Ruler("r", labels=("a", "b")), ((10, 20.0), (40, -5)))
    root = parsed(heat(plane, width))
    up = ruler(root, "level", "y", 4)
    fields = marks(root, "rect")
    assert [at(each, "fill-opacity") for each in fields] == [0.25, 0.5, 1, 0]
    assert close(up(at(fields[0], "y")), 10, 20)  # the first row is the youngest, at the foot
    assert close(up(at(fields[0], "y") + at(fields[0], "height")), 0, 20)
    assert at(fields[0], "x") + at(fields[0], "width") == pytest.approx(at(fields[1], "x"), abs=0.02)
    assert [each[0].text for each in fields] == [
        "0 to 10, a: 10",
        "0 to 10, b: 20",
        "10 to 20, a: 40",
        "10 to 20, b: −5",
    ]
    assert [each.get("fill-opacity") for each in marks(root, "rect", "shade")] == ["0", "0.25", "0.5", "0.75", "1"]
    assert {"10", "20", "30", "40"} <= {each.text for each in root.iter(SVG + "text")}  # what the shades stand for


def test_fields_of_different_sizes_are_shaded_by_their_density() -> None:
    plane = Plane("t", "n", Ruler("r", labels=("a", "b")), Ruler("cost", (0.0, 1.0, 5.0)), ((8.0, 8.0), (4.0, 16.0)))
    fields = marks(parsed(heat(plane)), "rect")
    assert [at(each, "fill-opacity") for each in fields] == [1, 0.25, 0.5, 0.5]
    assert at(fields[1], "width") == pytest.approx(4 * at(fields[0], "width"), abs=0.05)
    assert at(fields[2], "y") > at(fields[0], "y")  # keys go down


def test_a_picture_of_nothing_is_drawn() -> None:
    empty = Series("t", "n", Ruler("age", (0.0, 5.0, 10.0)), (0.0, 0.0), (0.0, 0.0))
    assert [at(box, "height") for box in marks(parsed(histogram(empty)), "rect")] == [0, 0]
    plane = Plane("t", "n", Ruler("a", (0.0, 1.0)), Ruler("b", (0.0, 1.0)), ((0.0,),))
    assert [at(box, "fill-opacity") for box in marks(parsed(heat(plane)), "rect")] == [0]


# labels ---------------------------------------------------------------------------------------------------------------

ALLOWED = {SVG + tag for tag in ("svg", "title", "desc", "g", "rect", "line", "text", "polyline", "polygon")}


def drawn_with(label: str) -> list[str]:
    along = Ruler(label, (0.0, 1.0, 2.0))
    keys = Ruler(label, labels=(label, "x"))
    one, two = Series(label, label, along, (1.0, 2.0), (0.1, 0.1)), Series(label, label, keys, (1.0, 2.0), (0.1, 0.1))
    planes = Plane(label, label, keys, along, ((1.0, 2.0), (3.0, 4.0)))
    return [histogram(one), bars(two), curve(one), heat(planes), heat(planes, NARROW)]


@pytest.mark.parametrize("label", NASTY)
def test_a_hostile_label_is_text_in_every_picture(label: str) -> None:
    for text in drawn_with(label):
        root = parsed(text)
        assert {each.tag for each in root.iter()} <= ALLOWED
        assert not any(name.startswith("on") or "href" in name for each in root.iter() for name in each.attrib)
        assert not re.search(r"[\x00-\x1f\u202e]", text)


@given(st.text(st.characters(codec=None), max_size=30))
def test_any_label_at_all_gives_a_picture_that_parses(label: str) -> None:
    for text in drawn_with(label):
        root = parsed(text)
        assert {each.tag for each in root.iter()} <= ALLOWED
        assert root[0].tag == SVG + "title"
        assert root.get("role") == "img"


def test_a_picture_asks_for_nothing_from_elsewhere() -> None:
    for text in drawn_with("age"):
        assert "style" not in text
        assert set(re.findall(r"https?://[^\"]*", text)) == {"http://www.w3.org/2000/svg"}  # its name, not a request
        assert "url(" not in text


def test_what_hides_or_turns_letters_is_shown() -> None:
    assert safe("a\u202eb\x00c\ud800d\ufffee<&\"'") == "a�b�c�d�e&lt;&amp;&quot;&#x27;"
    assert safe("日本 é 👩\u200d⚕") == "日本 é 👩\u200d⚕"


def test_long_labels_are_cut_to_their_room() -> None:
    assert cut("north", 100) == "north"
    assert reach(cut("a" * 200, 100)) <= 100
    assert cut("日" * 50, 100).endswith("…")
    assert reach(cut("日" * 50, 100)) <= 100


# numbers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (2019, "2019"), (12345, "12,345"), (-0.5, "−0.5"), (0.1 + 0.2, "0.3"), (1e20, "1e+20"), (100, "100")],
)
def test_numbers_are_written_as_people_do(value: float, text: str) -> None:
    assert plain(value) == text


def test_a_count_has_the_digits_that_its_error_leaves_it() -> None:
    assert figure(1234.5678, 12.3, 2.0) == "1,235 ± 25"
    assert figure(1.23456, 0.0123, 2.0) == "1.235 ± 0.025"
    assert figure(-0.001, 5.0, 2.0) == "0 ± 10"
    assert rounded(-1234.0, 5.0) == "−1,234"
    assert figure(7.25, None, 2.0) == "7.2"


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.integers(2, 9))
def test_ticks_are_round_few_and_inside(low: float, size: float, about: int) -> None:
    scale = AxisScale(low, low + size, 0, 1)
    found = scale.ticks(about)
    assert len(found) <= about + 1
    assert all(-1e-6 <= scale(tick) <= 1 + 1e-6 for tick in found)
    for one, two in pairwise(found):
        step = two - one
        lead = step / 10 ** math.floor(math.log10(step) + 1e-6)
        assert min(abs(lead - round_) for round_ in (1, 2, 5, 10)) < 1e-2


def test_bars_without_an_error_bar_look_different_and_that_is_said() -> None:
    counts, reaches = (120.0, 40.0, 60.0), (10.0, None, 5.0)
    for root in (
        parsed(histogram(Series("t", "n", Ruler("age", (0.0, 5.0, 10.0, 15.0)), counts, reaches=reaches))),
        parsed(bars(Series("t", "n", Ruler("r", labels=("a", "b", "c")), counts, reaches=reaches))),
    ):
        boxes = marks(root, "rect")
        (bare,) = marks(root, "rect", "bare")
        assert len(boxes) == 2
        assert bare.attrib["stroke-dasharray"]
        assert str(bare[0].text).endswith("40, no error bar")
        assert len(marks(root, "line", "error")) == 2
