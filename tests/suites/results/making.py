"""Runs of suites made by hand: benches with rates, streams and folders of milabench's layout."""

import json
from pathlib import Path

import msgspec

from opperf.instruments.profilers.summary import summarise
from opperf.model import (
    SCHEMA_VERSION,
    BenchFacts,
    Case,
    Header,
    ProcessResult,
    Record,
    Run,
    ScriptTarget,
    Settings,
    Status,
)
from opperf.results.lines import encode_lines
from opperf.results.runfile import lines_of
from opperf.suites.results.run import load
from tests.environments import make_environment

DATA = Path(__file__).parents[2] / "data/milabench"

REPLAYS, RUNS = DATA / "replays", DATA / "runs"


def rates_around(level, scatter=0.01, n=40):
    """Rates that alternate around a level, without a trend."""
    return [level * (1 + scatter * (-1) ** i) for i in range(n)]


def script_case(name="bench", repeat=0, settings=None, **changed):
    target = ScriptTarget(name=name, script=f"/somewhere/{name}/main.py", **changed)
    return Case(target, {}, settings or Settings(), ("forward",), repeat=repeat)


def record_of(case, rates=None, status=Status.OK, reason="", processes=None, **changed):
    """A record of processes with such rates each, by default of one."""
    if processes is None:
        listed = [rates] if rates is not None else []
        processes = tuple(
            ProcessResult(
                name=str(number),
                status=status,
                reason=reason,
                exit_code=0,
                rate=summarise(values, "items/s") if values else None,
            )
            for number, values in enumerate(listed)
        )
    return Record(
        case=case,
        id=case.id,
        status=status,
        reason=reason,
        processes=processes,
        samples={"rate": rates} if rates else {},
        **changed,
    )


def facts_of(*records, name="bench", **changed):
    ids = tuple(dict.fromkeys(record.id for record in records))
    return BenchFacts(name=name, cases=ids, **changed)


def run_of(benches, records, environment=None):
    found = environment or make_environment("program")
    records = tuple(record if record.environment else _in(record, found.id) for record in records)
    header = Header(
        schema=SCHEMA_VERSION,
        started="2026-01-02T03:04:05+00:00",
        options={"command": "opperf suite run"},
        id="abcd",
        benches=tuple(benches),
    )
    return Run(header, records, None, {found.id: found}, tuple(one.case for one in records))


def _in(record, environment):
    return msgspec.structs.replace(record, environment=environment)


def written(path, run):
    """The path of a run file with this content."""
    path.write_bytes(encode_lines(*lines_of(run)))
    return path


def suite(tmp_path, benches, records, name="run.jsonl", **more):
    return load([written(tmp_path / name, run_of(benches, records, **more))])


def of_rates(tmp_path, levels, name="run.jsonl", weights=None, **changed):
    """A suite of a bench for each level, which is the rate of its only process; None for a bench
    that never started, and a list for the levels of several attempts."""
    benches, records = [], []
    for bench, level in levels.items():
        several = level if isinstance(level, list) else [level]
        own = [
            record_of(script_case(bench, repeat), rates_around(one))
            for repeat, one in enumerate(several)
            if one is not None
        ]
        records += own
        weight = (weights or {}).get(bench, 1.0)
        benches.append(facts_of(*own, name=bench, weight=weight, **changed))
    return suite(tmp_path, benches, records, name)


def event(name, data=None, pipe="data"):
    return json.dumps({"event": name, "data": data, "pipe": pipe})


def stream_lines(
    rates, name="bench", tag="0", config=None, code=0, losses=(), gpus=(), stop=False, meta=None
):
    """The lines of a stream of milabench's."""
    own = {
        "name": name,
        "group": name,
        "tag": [name, tag],
        "weight": 1.0,
        "enabled": True,
        "plan": {"method": "njobs", "n": 1},
        **(config or {}),
    }
    lines = [event("config", own, None), event("meta", meta or {})]
    lines.append(event("start", {"command": ["voir", "main.py"], "time": 100.0}, None))
    lines += [event("data", {"task": "main", "gpudata": one[0], "time": one[1]}) for one in gpus]
    lines += [event("data", {"task": "train", "loss": one}) for one in losses]
    lines += [event("data", {"task": "train", "rate": one, "units": "items/s"}) for one in rates]
    lines += [event("stop")] if stop else []
    lines.append(event("end", {"command": [], "time": 160.0, "return_code": code}, None))
    return lines


def folder_of(path, **streams):
    """A folder with these streams, by the name of their file."""
    path.mkdir(exist_ok=True)
    for name, lines in streams.items():
        (path / f"{name}.data").write_text("\n".join(lines) + "\n")
    return path
