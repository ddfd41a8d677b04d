# SPDX-License-Identifier: Apache-2.0
"""The demo model, for tests that need a real vocabulary or real weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from maxconsole.models import demo

# Before any test points the cache elsewhere.
_DEMO = demo.demo_path()


@pytest.fixture(scope="session")
def demo_file() -> Path:
    """The demo model in the user's cache. `scripts/setup` fetches it."""
    if not _DEMO.is_file():
        pytest.skip("the demo model is not in the cache: run `maxconsole model fetch-demo`")
    return _DEMO
