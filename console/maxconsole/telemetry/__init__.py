# SPDX-License-Identifier: Apache-2.0
"""From messages to figures: folds what a board reports, freezes it in snapshots, derives shares and rates."""
