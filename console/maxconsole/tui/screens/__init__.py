# SPDX-License-Identifier: Apache-2.0
"""Full screens: the main one, pickers, jobs, settings and help."""
