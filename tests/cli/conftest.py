# SPDX-License-Identifier: Apache-2.0
"""Model files for command line tests come from the writer that the model tests have."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))
