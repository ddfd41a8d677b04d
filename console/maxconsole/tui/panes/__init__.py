# SPDX-License-Identifier: Apache-2.0
"""One module a pane: what it computes from a Snapshot, and how it lays that out in the room it gets."""
