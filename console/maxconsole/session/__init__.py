# SPDX-License-Identifier: Apache-2.0
"""One board, its link and its telemetry together: open, ask, cancel, close. No user interface."""
