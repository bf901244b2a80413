"""Small results in each form, made by hand after those that the tools write."""

import json

SHA = "0123456789abcdef0123456789abcdef01234567"
OTHER = "89abcdef0123456789abcdef0123456789abcdef"

COLUMNS = [
    *("result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b"),
    *("stats_q_25", "stats_q_75", "stats_number", "stats_repeat", "samples", "profile"),
]


def asv_results(sha=SHA, version=2, hash="v1", **more):
    """A file of asv's: a time with two values of a parameter, of which one failed, and a memory."""
    seconds = [
        *([[2e-6, None], [["10", "20"]], hash, 1.7e12, 0.5, [1.9e-6, None], [2.1e-6, None]]),
        *([[1.95e-6, None], [2.05e-6, None], [7, None], [3, None], [[1.9e-6, 2e-6, 2.1e-6], None]]),
    ]
    return {
        "commit_hash": sha,
        "env_name": "conda-py3.11-numpy",
        "date": 1.6e12,
        "params": {"machine": "box", "numpy": "1.26"},
        "python": "3.11",
        "requirements": {"numpy": "1.26"},
        "env_vars": {},
        "result_columns": COLUMNS,
        "results": {"s.time_sum": seconds, "s.mem_list": [[8056], [], "m1"], "s.time_nan": [[NAN]]},
        "durations": {},
        "version": version,
        **more,
    }


NAN = float("nan")

ASV_MACHINE = {
    **{"machine": "box", "os": "Linux 6.1", "arch": "x86_64", "cpu": "AMD EPYC"},
    **{"num_cpu": "2", "ram": "8", "version": 1},
}

ASV_BENCHMARKS = {
    "s.time_sum": {"type": "time", "unit": "seconds", "param_names": ["n"], "params": [["10"]]},
    "s.mem_list": {"type": "memory", "unit": "bytes", "param_names": [], "params": []},
    "s.time_nan": {"type": "time", "unit": "seconds", "param_names": [], "params": []},
    "version": 2,
}


def write_asv(folder, *results):
    """Writes a folder of asv's results."""
    machine = folder / "box"
    machine.mkdir(parents=True)
    (machine / "machine.json").write_text(json.dumps(ASV_MACHINE))
    (folder / "benchmarks.json").write_text(json.dumps(ASV_BENCHMARKS))
    for one in results or [asv_results()]:
        name = f"{one['commit_hash'][:8]}-{one['env_name']}.json"
        (machine / name).write_text(json.dumps(one))
    return folder


ASV_OLD = {
    "commit_hash": SHA,
    "date": 1.6e12,
    "params": {"machine": "box"},
    "python": "2.7",
    "requirements": {},
    "version": 1,
    "benchmark_version": {"s.time_sum": "v1"},
    "results": {
        "s.time_plain": 1e-6,
        "s.time_gone": None,
        "s.time_sum": {
            "params": [["10", "20"]],
            "result": [2e-6, None],
            "stats": [{"ci_99": [1.9e-6, 2.1e-6], "q_25": 1.95e-6, "n": 3}, None],
        },
    },
}

PYTEST = {
    "machine_info": {
        **{"node": "runner-7", "machine": "x86_64", "system": "Linux", "release": "6.1"},
        **{"python_implementation": "CPython", "python_version": "3.11.7"},
        "cpu": {"brand_raw": "AMD EPYC", "count": 2},
    },
    "commit_info": {
        **{"id": SHA, "time": "2026-01-02T03:04:05+01:00", "dirty": True, "branch": "topic"}
    },
    "benchmarks": [
        {
            **{"group": None, "name": "test_sum[10]", "fullname": "test_b.py::test_sum[10]"},
            **{"param": "10", "params": {"n": 10}},
            "stats": {
                "median": 2e-6,
                "q1": 1e-6,
                "q3": 3e-6,
                "rounds": 3,
                "data": [1e-6, 2e-6, 3e-6],
            },
        },
        {
            **{"group": "g", "name": "test_all", "fullname": "test_b.py::test_all"},
            **{"param": None, "params": None},
            "stats": {"median": 5e-3, "q1": 4e-3, "q3": 6e-3, "rounds": 9},
        },
    ],
    "datetime": "2026-01-02T04:04:05.000001+00:00",
    "version": "5.3.1",
}

GITHUB = {
    "lastUpdate": 1.7e12,
    "repoUrl": "https://example.org/x",
    "entries": {
        "Go": [
            {
                "commit": {
                    **{"id": SHA, "message": "Faster\n\nmore", "timestamp": "2026-01-02T03:04:05Z"},
                    "author": {"name": "A"},
                },
                "date": 1.7e12,
                "tool": "go",
                "benches": [
                    {"name": "BenchmarkFib", "value": 2.5, "unit": "ns/op", "extra": "9 times"}
                ],
            }
        ],
        "Python": [
            {
                "commit": {"id": OTHER, "message": "", "timestamp": None},
                "date": 1.7e12,
                "tool": "pytest",
                "benches": [
                    {"name": "test_a", "value": 40.0, "unit": "iter/sec", "range": "stddev: 1"}
                ],
            }
        ],
    },
}

BENCHER = {
    "sum": {
        "latency": {"value": 88.0, "lower_value": 87.0, "upper_value": 90.0},
        "throughput": {"value": 5.0},
    }
}

PYTORCH = [
    {
        **{"timestamp": 1.7e9, "schema_version": "v3", "name": "job", "repo": "pytorch/pytorch"},
        **{
            "head_branch": "main",
            "head_sha": SHA,
            "workflow_id": 1,
            "run_attempt": 1,
            "job_id": job,
        },
        "benchmark": {"name": "suite", "mode": "inference", "dtype": "bfloat16", "extra_info": {}},
        "model": {"name": "bert", "type": "model", "backend": "inductor"},
        "metric": {"name": name, "benchmark_values": values, "target_value": None},
        "runners": [{"name": "r", "cpu_info": "Xeon", "cpu_count": 8, "gpu_info": "H100"}],
        "dependencies": {"torch": {"version": "2.13"}},
    }
    for job, name, values in (
        (1, "latency(ms)", [3.0, 1.0, 2.0]),
        (1, "speedup", [1.5]),
        (1, "broken", []),
        (2, "latency(ms)", [9.0]),
    )
]

OPERATORS = [
    {
        **{
            "test_name": "add_M1_N1_cpu",
            "input_config": "M: 1, N: 1, device: cpu",
            "mode": "Eager",
        },
        **{"run": "Forward", "latency": 1.5, "latency unit": "us"},
        **{"peak memory": 2, "memory unit": "KB"},
    }
]

HYPERFINE = {
    "results": [
        {
            **{"command": "sleep 0.1", "mean": 0.11, "stddev": 0.01, "median": 0.105},
            **{"user": 0.001, "system": 0.0, "min": 0.1, "max": 0.12, "parameters": {"n": "1"}},
            **{"times": [0.1, 0.105, 0.12], "exit_codes": [0, 0, 1]},
        },
        {"command": "true", "mean": 0.002},
    ]
}

MADE = {
    "hyperfine": HYPERFINE,
    "pytest-benchmark": PYTEST,
    "github-action-benchmark": GITHUB,
    "bencher": BENCHER,
    "pytorch": PYTORCH,
    "operator-benchmark": OPERATORS,
}
"""Those that are one file of JSON."""
