"""Streams over HTTP, as who speaks it by hand sees them: what does not count, windows, the largest keys."""

from __future__ import annotations

from typing import Any

from server.http.conftest import Place
from server.served import Server

OPENED = {"unit": "patient", "horizon": 9, "by": {"region": ["north", "south"]}, "epsilon": "0.5"}


def test_a_stream_says_what_does_not_count_and_has_windows_and_largest_keys(place: Place, server: Server) -> None:
    def call(method: str, path: str, body: Any = None, status: int = 200) -> Any:  # noqa: ANN401
        reply = server.call(method, f"/api/v1/streams{path}", place.cleo, body)
        assert reply.status == status, reply.text
        return reply.json

    said = call("POST", "", {"name": "live", **OPENED})["bounding"]
    assert "Rows in which region is NULL or none of the declared keys are left out" in said
    top = call("GET", "/live/top")
    assert (top["top"], top["step"]) == ([], 0)
    pushed: list[Any] = []
    for rows in ({"patient": [1, 2], "region": ["north", "south"]}, {"patient": [None], "region": ["east"]}, {}):
        pushed.append(call("POST", "/live/steps", {"rows": rows}) if rows else pushed[-1])
    assert [each["bounding"] for each in pushed] == [said] * 3  # whatever was in the rows
    told = call("GET", "/live")
    assert (told["bounding"], told["counts"][0]) == (said, {k: v for k, v in pushed[0].items() if k != "bounding"})
    windows = call("GET", "/live/windows?width=1")
    assert [(each["start"], each["step"]) for each in windows["windows"]] == [(0, 1), (1, 2)]
    assert windows["windows"][1]["count"] == told["counts"][1]["count"] - told["counts"][0]["count"]
    assert (windows["bounding"], windows["every"]) == (said, 1)
    for path, step in (("/live/top?most=1", 2), ("/live/top?most=1&width=1", 2)):
        top = call("GET", path)
        assert (len(top["top"]), top["step"], top["bounding"]) == (1, step, said)
    by = {each["key"]: each["count"] for each in windows["windows"][1]["by"]}
    assert top["top"][0]["count"] == max(by.values())
    assert (top["start"], top["error"]) == (1, windows["windows"][1]["top_error"])
    call("GET", "/live/windows", status=400)
    call("GET", "/live/windows?width=0", status=400)
    call("POST", "", {"name": "plain", "unit": "patient", "horizon": 9, "epsilon": "0.5"})
    call("GET", "/plain/top", status=400)
