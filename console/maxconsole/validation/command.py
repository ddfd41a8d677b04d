# SPDX-License-Identifier: Apache-2.0
"""scripts/validate-board, bench-engine and bench-against-llama-cpp: runs checks and prints a table for each."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from maxconsole import paths
from maxconsole.errors import UserError
from maxconsole.validation.check import Check, Group, Outcome, Row
from maxconsole.validation.store import Store, model_digest


@dataclass(frozen=True, slots=True)
class Run:
    """The Bench of a run from the command line."""

    store: Store
    quick: bool

    def note(self, text: str, /) -> None:
        print(text, file=sys.stderr, flush=True)


def main(checks: Sequence[Check], description: str, arguments: Sequence[str] | None = None) -> int:
    """0: all checks passed. 1: one did not. Otherwise the exit code of the UserError that ended a check."""
    known = ", ".join(check.id for check in checks)
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", metavar="ID,ID", help=f"some of {known}")
    parser.add_argument("--quick", action="store_true", help="less of everything: minutes instead of an hour")
    parser.add_argument("--json", action="store_true", help="results as JSON instead of tables")
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured before")
    options = parser.parse_args(arguments)
    known_ids = {check.id.upper(): check.id for check in checks}
    wanted = (
        [known_ids.get(one.upper(), one) for one in options.only.split(",")]
        if options.only
        else [check.id for check in checks]
    )
    unknown = set(wanted) - {check.id for check in checks}
    if unknown:
        parser.error(f"there is no check {', '.join(sorted(unknown))}; known are {known}")
    run = Run(Store(paths.cache_dir("validation"), model_digest(), fresh=options.fresh), options.quick)
    code = 0
    found: dict[str, object] = {}
    for check in (check for check in checks if check.id in wanted):
        try:
            outcome = check.run(run)
        except UserError as error:
            run.note(f"{check.id}: {error.what}" + (f"\n  {error.hint}" if error.hint else ""))
            code = error.exit_code
            continue
        code = code or int(not outcome.passed)
        found[check.id] = as_json(check, outcome)
        if not options.json:
            print(as_text(check, outcome), flush=True)
    if options.json:
        print(json.dumps(found, indent=2))
    return code


def as_json(check: Check, outcome: Outcome) -> dict[str, object]:
    return {
        "title": check.title,
        "passed": outcome.passed,
        "remarks": list(outcome.remarks),
        "groups": [
            {
                "title": group.title,
                "passes": group.passes,
                "required": group.needed,
                "rows": [_row_as_json(row) for row in group.rows],
            }
            for group in outcome.groups
        ],
    }


def _row_as_json(row: Row) -> dict[str, object]:
    return {
        "name": row.name,
        "unit": row.unit,
        "model": row.model,
        "reference": row.reference,
        "deviation": row.deviation,
        "tolerance": row.tolerance,
        "passed": row.passed,
        "source": row.source,
        "why": row.why,
    }


def as_text(check: Check, outcome: Outcome) -> str:
    """Tables in Markdown, so that they can go into docs/results as they are."""
    lines = [f"## {check.id} {check.title}: {'passed' if outcome.passed else 'FAILED'}", ""]
    for group in outcome.groups:
        lines += [*_table(group), ""]
    return "\n".join([*lines, *outcome.remarks])


def _table(group: Group) -> list[str]:
    lines = [f"{group.title}: {group.passes} of {len(group.rows)} pass, {group.needed} must", ""]
    lines += ["| what | model | reference | deviation | | source | why |", "|---|---|---|---|---|---|---|"]
    for row in group.rows:
        reference = "" if row.reference is None else f"{row.reference:.4g} {row.unit}"
        deviation = "" if row.deviation is None else f"{row.deviation:+.1%}"
        mark = "" if row.reference is None else "ok" if row.passed else "**no**"
        model = f"{row.model:.4g} {row.unit}"
        lines.append(f"| {row.name} | {model} | {reference} | {deviation} | {mark} | {row.source} | {row.why} |")
    return lines
