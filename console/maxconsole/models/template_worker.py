# SPDX-License-Identifier: Apache-2.0
"""Renders a chat template in a process of its own: a program that came with a model file runs here, and nowhere else.

Run as a script by `chat_template`; reads one JSON request from stdin and writes one JSON answer to stdout. jinja2's
sandbox keeps the template from Python's internals; the limits on processor time, memory and output, which a sandbox
within the process cannot enforce ("{{ 'x' * 10 ** 9 }}"), are the process's. Depends on nothing but jinja2.
"""

from __future__ import annotations

import json
import resource
import sys
import traceback
from datetime import datetime
from typing import Any

from jinja2 import TemplateError, TemplateSyntaxError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment


class _Generation(Extension):
    """`{% generation %}` marks the assistant's words for training: here it only holds its body."""

    tags = {"generation"}  # noqa: RUF012 (the base class declares an instance variable)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class OutputTooLongError(Exception):
    """The template writes more than it may."""


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


def _to_json(value: object, **options: Any) -> str:
    """Like transformers: plain JSON, where jinja2's own filter escapes for HTML."""
    return json.dumps(value, ensure_ascii=options.pop("ensure_ascii", False), **options)


def environment() -> ImmutableSandboxedEnvironment:
    """The environment that templates of Hugging Face models are written for (transformers' chat_template_utils)."""
    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
    made.filters["tojson"] = _to_json
    made.globals["raise_exception"] = _raise_exception
    return made


def render(request: dict[str, Any]) -> list[str]:
    """One text for each list of messages in the request."""
    made = environment()
    now = datetime.fromisoformat(request["now"])
    made.globals["strftime_now"] = now.strftime
    template = made.from_string(request["template"])
    texts = []
    for messages in request["conversations"]:
        written: list[str] = []
        size = 0
        for part in template.generate(messages=messages, **request["variables"]):
            size += len(part)
            if size > request["output_max"]:
                raise OutputTooLongError
            written.append(part)
        texts.append("".join(written))
    return texts


def _line(error: BaseException) -> int:
    """The template's line that an error comes from; 0 where it is none of them."""
    if isinstance(error, TemplateSyntaxError):
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<template>"]
    return (lines[-1] or 0) if lines else 0


def main() -> None:
    request = json.load(sys.stdin)
    seconds, size = request["cpu_s"], request["memory_bytes"]
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answer: dict[str, object]
    try:
        answer = {"texts": render(request)}
    except MemoryError:
        answer = {"error": "it needs too much memory", "line": 0}
    except OutputTooLongError:
        answer = {"error": f"it writes more than {request['output_max']} characters", "line": 0}
    except RecursionError:
        answer = {"error": "it calls itself without end", "line": 0}
    except Exception as error:  # a template can raise anything
        answer = {"error": str(error) or type(error).__name__, "line": _line(error)}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
