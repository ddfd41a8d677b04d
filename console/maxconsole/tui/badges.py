# SPDX-License-Identifier: Apache-2.0
"""Where figures come from, in few characters."""

from __future__ import annotations

from maxconsole.session.machine import Badge


def badge_words(badge: Badge) -> str:
    """MODELLED with the timing model's version and mode, UNTIMED, or MEASURED."""
    if badge.modelled and badge.counts and badge.model_version is not None:
        return f"MODELLED v{badge.model_version}{' fast' if badge.timing == 'fast' else ''}"
    return str(badge)
