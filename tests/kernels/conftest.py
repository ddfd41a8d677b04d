# SPDX-License-Identifier: Apache-2.0
"""The firmware's portable C for this machine. Tiny model files come from the writer that the model tests have."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))

import kernel_library


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return kernel_library.build(tmp_path_factory.mktemp("kernels"))
