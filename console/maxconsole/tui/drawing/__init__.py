# SPDX-License-Identifier: Apache-2.0
"""What panes draw with: inked text, figures with units, bars, braille lines and the KV band. No Textual in here."""
