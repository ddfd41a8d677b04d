# SPDX-License-Identifier: Apache-2.0
"""Everything that can come in front of the main screen, in one import."""

from __future__ import annotations

from maxconsole.tui.screens.boards import BoardPicker
from maxconsole.tui.screens.code import KernelPicker
from maxconsole.tui.screens.help import HelpScreen
from maxconsole.tui.screens.job import JobScreen
from maxconsole.tui.screens.models import ModelPicker
from maxconsole.tui.screens.recordings import RecordingPicker
from maxconsole.tui.screens.settings import SettingsDialog

__all__ = ["BoardPicker", "HelpScreen", "JobScreen", "KernelPicker", "ModelPicker", "RecordingPicker", "SettingsDialog"]
