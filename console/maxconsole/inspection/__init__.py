# SPDX-License-Identifier: Apache-2.0
"""Looks into the firmware's machine code: loops, what they occupy, and what they cost at least."""
