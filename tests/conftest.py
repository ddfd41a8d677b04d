# SPDX-License-Identifier: Apache-2.0
"""What system tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

# A shell ignores interrupts for what it starts in the background, nohup hang-ups; all that the tests start would, too.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="module")
def kept_cache(pytestconfig: pytest.Config) -> Iterator[Path]:
    """A cache of the tests' own, kept from run to run: what was compiled and packed once is not done again."""
    assert pytestconfig.cache is not None
    folder = pytestconfig.cache.mkdir("maxconsole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAXCONSOLE_CACHE", str(folder))
        yield folder
