# SPDX-License-Identifier: Apache-2.0
"""All checks. A new one is a module with a CHECK, and its name here."""

from __future__ import annotations

from maxconsole.validation.check import Check

CHECKS: tuple[Check, ...] = ()
