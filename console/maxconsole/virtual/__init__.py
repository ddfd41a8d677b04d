# SPDX-License-Identifier: Apache-2.0
"""The virtual board: QEMU with the timing plug-in, and everything that starts, watches and ends it."""

from maxconsole.virtual.board import Options, VirtualBoard
from maxconsole.virtual.hot_spots import HotSpots
from maxconsole.virtual.plugin import ModelReport

__all__ = ["HotSpots", "ModelReport", "Options", "VirtualBoard"]
