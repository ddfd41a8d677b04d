# SPDX-License-Identifier: Apache-2.0
"""`maxconsole doctor`: is everything here that the virtual board needs?"""

from __future__ import annotations

from dataclasses import asdict

import typer

from maxconsole.cli import options
from maxconsole.cli.shell import print_json, print_lines
from maxconsole.session.checkup import Finding, checkup

app = options.verb()
_EXIT_MISSING = 3


@app.command(epilog="Examples: maxconsole doctor; maxconsole doctor --json")
def doctor(*, as_json: options.Json = False) -> None:
    """Check that everything needed is there and works. Exit code 3 when something is missing."""
    findings = checkup()
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        print_lines(lines(findings))
    if any(finding.state == "missing" for finding in findings):
        raise typer.Exit(_EXIT_MISSING)


def lines(findings: tuple[Finding, ...]) -> list[str]:
    """One line for each finding, and what to do about those that are not fine."""
    width = max(len(finding.name) for finding in findings)
    marks = {"fine": "ok  ", "note": "note", "missing": "MISS"}
    text = []
    for finding in findings:
        text.append(f"{marks[finding.state]}  {finding.name.ljust(width)}  {finding.found}")
        if finding.hint:
            text.append(f"{' ' * (width + 8)}-> {finding.hint}")
    return text
