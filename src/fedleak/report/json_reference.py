"""The reference page of a report's JSON, generated from the types that read and write it.

``python -m fedleak.report.json_reference`` prints docs/report_json.md.
"""

from __future__ import annotations

import sys

from fedleak.core.adversary import Secret
from fedleak.core.finding import Claim, ColumnResult, ExampleRows, Exhibit, Score, Theory
from fedleak.report.json_keys import FindingKeys, RemedyKeys, ReportKeys, RunKeys, UtilityChangeKeys, VerdictKeys
from fedleak.schema.describe import section
from fedleak.schema.plain import JSON

INTRODUCTION = """# The JSON of a report

`fedleak audit` writes it as `report.json`, and to where `--json` says; [the report](report.md) says how to read its
findings.

This page is generated from the code (`make docs`).

There is no NaN: what is not a finite number is null. Shares are from 0 to 1. Names and reasons are untrusted text.
`verdict` and the figures of `remedies` follow from the findings and the runs: a reader of ours computes them anew and
does not believe the file. Every key is there in every report of version 2; a key that a later fedleak adds does not
raise the version.

Version 1 still loads. It had the `run_key` in its `environment`, no `verdict`, no `repeats`, findings without
`columns`, `claim` and `certificate`, and `advice` (a list of sentences) in place of `remedies`.
"""
SECTIONS = (
    ("The report", ReportKeys),
    ("`verdict`", VerdictKeys),
    ("`runs[]`", RunKeys),
    ("`findings[]`", FindingKeys),
    ("`findings[].secret`", Secret),
    ("`findings[].theory`", Theory),
    ("`findings[].further_scores[]`", Score),
    ("`findings[].columns[]`", ColumnResult),
    ("`findings[].claim`", Claim),
    ("`findings[].exhibit`", Exhibit),
    ("`findings[].exhibit.examples`", ExampleRows),
    ("`remedies[]`", RemedyKeys),
    ("`remedies[].utility_change`", UtilityChangeKeys),
)


def json_reference() -> str:
    return "\n".join([INTRODUCTION, *(section(title, kind, JSON, defaults=False) for title, kind in SECTIONS)])


if __name__ == "__main__":
    sys.stdout.write(json_reference())
