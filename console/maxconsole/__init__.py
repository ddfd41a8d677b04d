# SPDX-License-Identifier: Apache-2.0
"""maxconsole: a developer console for bare-metal language-model firmware on Arm Cortex-A76."""

__version__ = "0.1.0"
