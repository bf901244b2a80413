"""Recordings of functions, made in this process."""

import opperf
from opperf.frameworks import load
from opperf.instruments.prepared import PreparedCase, case_scope


def record(tmp_path, function, **options):
    """The run file of a function's calls, read again."""
    file = tmp_path / "calls.jsonl"
    with opperf.record(file, overwrite=True, **options):
        function()
    return opperf.read(file).run


def calls(run, name):
    """The cases of an operator's calls."""
    return [case for case in run.cases if case.target.name == name]


def call_each(run, framework):
    """Makes the call of each case, as a measurement does."""
    loaded = load(framework)
    for case in run.cases:
        with case_scope(case, loaded):
            PreparedCase(case, loaded).call()
            loaded.synchronize(case.settings.device)
