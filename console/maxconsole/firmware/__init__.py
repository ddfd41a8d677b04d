# SPDX-License-Identifier: Apache-2.0
"""The firmware as seen from the host: built from its bundled sources, and its ELF file read and checked."""
