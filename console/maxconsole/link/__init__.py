# SPDX-License-Identifier: Apache-2.0
"""Bytes to and from the board: transports, frames, messages, and the reader thread that ties them together."""
