"""A path whose body is one shape, served without FastAPI's search for what each request needs.

That search takes longer than an answer that is known. What the path is said to take and to give still comes from its
signature, as for every other path.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

S = TypeVar("S", bound=BaseModel)

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def route(handler: Handler) -> type[APIRoute]:
    """Routes that hand a request to this, whatever their signature says."""

    class Direct(APIRoute):
        def get_route_handler(self) -> Handler:
            return handler

    return Direct


async def body(request: Request, shape: type[S]) -> S:
    """The body of a request in a shape; else an error that says where it is not, and not what stands there."""
    sent = await request.body()
    try:
        return shape.model_validate(json.loads(sent) if _is_json(request) else sent)
    except ValidationError as found:
        told = found.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in told]) from None
    except (ValueError, RecursionError):
        raise RequestValidationError([{"type": "json_invalid", "loc": ("body",), "msg": ""}]) from None


def _is_json(request: Request) -> bool:
    main, _, kind = request.headers.get("content-type", "").partition(";")[0].strip().lower().partition("/")
    return main == "application" and (kind == "json" or kind.endswith("+json"))
