"""Reports on what is kept, installed and planned on a machine."""

import json
from datetime import datetime

from opperf.machine.health.finding import Finding
from opperf.machine.health.jitter import Health, Timer
from opperf.reports.benches import bench_report
from opperf.reports.benches import report_of as of_benches
from opperf.reports.kept_runs import KeptFacts
from opperf.reports.kept_runs import report_of as of_kept
from opperf.reports.this_machine import FrameworkRow
from opperf.reports.this_machine import report_of_frameworks as of_frameworks
from opperf.reports.this_machine import report_of_health as of_health
from opperf.results.kept import KeptRun
from opperf.results.kept_facts import RunFacts
from opperf.suites.environments import suite_environments
from opperf.suites.resolving import resolve


def of_this_machine(name, cases, folder):
    """The reports by their commands; the name and the cases are in each."""
    file = folder / "suite.yaml"
    file.write_text(json.dumps({"b": {"definition": ".", "group": name, "tags": [name]}}))
    suite = resolve([file])
    (bench,) = suite.benches
    environment = suite_environments(suite, [bench.name])[bench.name]
    facts = RunFacts("run", name, name, cases, 1, True, {name: name}, 1)
    kept = KeptRun(name, file, datetime(2026, 1, 31))
    row = FrameworkRow(name, True, name, name, name, choices={name: (name,)})
    health = Health([Finding(name, name, "warn", name, name)], Timer(1, 1), None)
    return {
        "doctor": [of_health(health)],
        "frameworks": [of_frameworks([row], False), of_frameworks([row], True)],
        "runs": [of_kept([KeptFacts(kept, facts, "@last")])],
        "suite list": [of_benches(suite)],
        "suite show": [bench_report(suite, bench, environment, [name])],
    }
