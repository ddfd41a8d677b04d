# SPDX-License-Identifier: Apache-2.0
"""A console that starts a board, says so, and waits: for tests that end it in every way there is.

Arguments: the firmware, and whether the timing plug-in is used (1 or 0).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from maxconsole.boards import load_board
from maxconsole.virtual import Options, VirtualBoard

with VirtualBoard(
    load_board("aimax395-virtual"), Path(sys.argv[1]), options=Options(timing=sys.argv[2] == "1")
) as board:
    print(board.gdb_socket.parent, flush=True)
    time.sleep(60)
