"""The benchmarks' report keeps what was not measured again."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.__main__ import BEGIN, END, REPORT, Claim, claims, merged

OLD = f"head\n{BEGIN}\n\n### apples\n\nold apples\n\n### pears\n\nold pears\n\n{END}\ntail\n"


def test_a_fresh_section_takes_the_place_of_the_old_one() -> None:
    new = merged(OLD, "apples", "### apples\n\nnew apples\n")
    assert new == OLD.replace("old apples", "new apples")


def test_a_new_section_goes_where_its_name_belongs() -> None:
    new = merged(OLD, "figs", "### figs\n\nnew figs\n")
    assert new == OLD.replace("### pears", "### figs\n\nnew figs\n\n### pears")


def test_the_report_has_a_place_for_what_is_measured() -> None:
    text = REPORT.read_text(encoding="utf-8")
    assert text.index(BEGIN) < text.index(END)


def test_a_benchmark_says_its_claim_and_its_peer(tmp_path: Path) -> None:
    path = tmp_path / "speed.py"
    path.write_text('"""Fast."""\n\nPEER = "opendp"\n', encoding="utf-8")
    claim = Claim.read(path)
    assert (claim.name, claim.words, claim.peer) == ("speed", "Fast.", "opendp")
    assert claim.python.parts[-4:] == (".peers", "opendp", "bin", "python")


def test_every_benchmark_states_a_claim() -> None:
    found = list(claims([]))
    assert "startup" in {claim.name for claim in found}
    assert [claim.name for claim in found if claim.words == claim.name] == []


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(SystemExit, match="no benchmark named speed"):
        list(claims(["speed"]))
