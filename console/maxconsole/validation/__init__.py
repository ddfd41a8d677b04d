# SPDX-License-Identifier: Apache-2.0
"""The virtual board's timing model against other models and published measurements: checks F1 to F7.

One module for each check; scripts/validate-board runs them.
"""
