# SPDX-License-Identifier: Apache-2.0
"""Sessions kept as raw bytes in MCAP files, and played again through the decoder that a board's bytes go through."""

from __future__ import annotations

from maxconsole.recording.facts import Facts
from maxconsole.recording.layout import Channel, Transfer
from maxconsole.recording.reader import Loss, Recording
from maxconsole.recording.recorder import Recorder, check_target
from maxconsole.recording.replay import ReplayTransport

__all__ = ["Channel", "Facts", "Loss", "Recorder", "Recording", "ReplayTransport", "Transfer", "check_target"]
