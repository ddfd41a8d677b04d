# SPDX-License-Identifier: Apache-2.0
"""`python -m maxconsole` is the command line."""

from __future__ import annotations

from maxconsole.cli import main

if __name__ == "__main__":
    main()
