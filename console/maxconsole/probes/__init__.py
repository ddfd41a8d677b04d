# SPDX-License-Identifier: Apache-2.0
"""Debug access to a board: halting cores, registers, memory, breakpoints."""
