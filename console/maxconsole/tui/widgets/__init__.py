# SPDX-License-Identifier: Apache-2.0
"""Widgets that know how to show things, and nothing about boards."""
