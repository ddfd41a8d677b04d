# SPDX-License-Identifier: Apache-2.0
"""Writes the C headers and Python modules of every schema file; run by `scripts/generate-schemas`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from maxconsole.schema.definition import SchemaError, read_schema
from maxconsole.schema.emit_c import c_header
from maxconsole.schema.emit_python import python_module


def generated(root: Path) -> Iterator[tuple[Path, str]]:
    """(path, text) of every file to generate in the checkout at `root`. Raises SchemaError."""
    for source in sorted((root / "firmware" / "schema").glob("*.toml")):
        schema = read_schema(source)
        yield source.with_suffix(".h"), c_header(schema)
        yield root / "console" / "maxconsole" / "schema" / f"{source.stem}.py", python_module(schema)


def main(root: Path, arguments: list[str] | None = None) -> int:
    """Writes the files that changed, or with `--check` only lists them: 1 if there are any, 2 for a broken schema."""
    parser = argparse.ArgumentParser(description="Generate C headers and Python modules from firmware/schema/*.toml")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is out of date")
    options = parser.parse_args(arguments)
    try:
        files = list(generated(root))
    except SchemaError as error:
        print(f"generate-schemas: {error}", file=sys.stderr)
        return 2
    stale = [(path, text) for path, text in files if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path, text in stale:
        if not options.check:
            path.write_text(text, encoding="utf-8")
        print(f"{'out of date' if options.check else 'written'}: {path.relative_to(root)}", file=sys.stderr)
    return 1 if stale and options.check else 0
