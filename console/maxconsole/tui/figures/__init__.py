# SPDX-License-Identifier: Apache-2.0
"""The figures that panes show, computed from Snapshots. No Textual in here."""
