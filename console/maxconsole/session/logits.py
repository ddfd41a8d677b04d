# SPDX-License-Identifier: Apache-2.0
"""The logits after each token of a prompt, read out of the board's memory while it waits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from maxconsole.errors import BoardError
from maxconsole.link.transport import MemoryAccess
from maxconsole.schema import wire
from maxconsole.session.generation import Board, Request, abandon, send_prompt

_SLICE = 0.1


def prompt_logits(
    board: Board, memory: MemoryAccess, request: Request
) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
    """(position, logits[vocabulary]) for every token of the request's prompt.

    The board computes the next one when it is asked for. Leaving early cancels. Raises RefusedError, BoardError.
    """
    send_prompt(board.link, request)
    pending = board.link.send(request.generate())
    try:
        while True:
            pending.wait(0)
            news = board.link.receive(_SLICE)
            if isinstance(news, wire.Fault):
                raise board.fault(news)
            if isinstance(news, wire.Logits) and news.request == request.number:
                yield news.position, np.frombuffer(memory.read(news.address, 4 * news.count), "<f4")
                board.link.request(wire.LogitsNext(request=request.number))
            elif isinstance(news, wire.Done) and news.request == request.number:
                return
            elif news is None:
                board.watch("logits")
    except BoardError:
        raise  # nothing runs any more that could be cancelled
    except BaseException:
        abandon(board.link, request.number)
        raise
