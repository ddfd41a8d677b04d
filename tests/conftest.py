# SPDX-License-Identifier: Apache-2.0
"""What system tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def kept_cache(pytestconfig: pytest.Config) -> Iterator[Path]:
    """A cache of the tests' own, kept from run to run: what was compiled and packed once is not done again."""
    assert pytestconfig.cache is not None
    folder = pytestconfig.cache.mkdir("maxconsole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAXCONSOLE_CACHE", str(folder))
        yield folder
