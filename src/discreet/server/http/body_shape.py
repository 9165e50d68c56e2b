"""The body of a request in one shape, read without FastAPI's search for what each request needs.

That search takes longer than an answer that is known.
"""

from __future__ import annotations

import json
from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from discreet.server.http.error_responses import Trouble, malformed
from discreet.server.http.request_body import is_json

S = TypeVar("S", bound=BaseModel)


async def body(request: Request, shape: type[S]) -> S:
    """The body of a request in a shape; else an error that says where it is not, and not what stands there."""
    sent = await request.body()
    try:
        return shape.model_validate(json.loads(sent) if is_json(request.headers.get("content-type", "")) else sent)
    except ValidationError as found:
        first = found.errors(include_url=False, include_context=False, include_input=False)[0]
        raise misshapen(("body", *first["loc"]), first["type"]) from None
    except (ValueError, RecursionError):
        raise misshapen(("body",), "json_invalid") from None


def misshapen(place: tuple[str | int, ...], kind: str) -> Trouble:
    """Where the first thing is that was not expected, and what was; never what came in its place."""
    return malformed(f"{'.'.join(str(part) for part in place)[:100]}: {kind}")
