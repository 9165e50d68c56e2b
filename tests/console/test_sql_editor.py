"""The editor takes changes of the text that it has, and no others."""

from __future__ import annotations

import pytest

from discreet.console.sql_editor import LONGEST, changed_text


@pytest.mark.parametrize(
    ("text", "sections", "inserted", "found"),
    [
        ("", [0, 3], [["abc"]], "abc"),
        ("abc", [1, -1, 0, 2, 2, -1], [[""], ["x", ""]], "ax\nbc"),
        ("abc", [3, 0], [], ""),
        ("abc", [1, 0, 2, -1], [], "bc"),
        ("a😀b", [3, -1, 1, 1], [[""], ["c"]], "a😀c"),  # two halves of UTF-16
        ("a😀b", [1, -1, 2, 2, 1, -1], [[""], ["😎"]], "a😎b"),
        ("a\ud83d", [2, -1, 0, 1], [[""], ["\ude00"]], "a😀"),  # half a character may come first
        ("x" * LONGEST, [1, 1, LONGEST - 1, -1], [["y"]], "y" + "x" * (LONGEST - 1)),
    ],
)
def test_a_change_of_a_text(text: str, sections: list[int], inserted: list[list[str]], found: str) -> None:
    assert changed_text(text, {"sections": sections, "inserted": inserted}) == found


@pytest.mark.parametrize(
    "sections",
    [
        [3, -1, -3, 0, 3, -1],  # there and back again: twice the text
        [-3, 0, 6, -1],
        [3, -2],
        [3, -1, 0],
        [2, -1],
        [4, -1],
        [3.0, -1],
        [True, -1, 2, -1],
        ["3", -1],
        [None],
        "3",
        None,
        {},
    ],
)
def test_what_is_no_change_of_a_text_changes_nothing(sections: object) -> None:
    assert changed_text("abc", {"sections": sections, "inserted": []}) is None


@pytest.mark.parametrize("inserted", [None, "abc", ["abc"], [[1]], [{"a": "b"}]])
def test_only_lines_of_text_are_inserted(inserted: object) -> None:
    assert changed_text("", {"sections": [0, 3], "inserted": inserted}) is None
    assert changed_text("", [0, 3]) is None


def test_a_text_does_not_grow_beyond_what_can_be_asked() -> None:
    assert changed_text("x" * LONGEST, {"sections": [0, 1, LONGEST, -1], "inserted": [["y"]]}) is None
