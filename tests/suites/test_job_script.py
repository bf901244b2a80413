"""The script of an array job, run by stand-ins for Slurm's programs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.suites.bench import Bench, Plan
from opperf.suites.job_script import Job, job_script, minutes_of, needs_gpus, nodes_of, submit

STAND_INS = {
    "srun": 'echo "srun $*" >> "$CALLS"; while [ "${1#-}" != "$1" ]; do shift; done; "$@"',
    "sbatch": 'printf "%s\\n" "sbatch" "$@" >> "$CALLS"; echo 18',
    "opperf": 'printf "%s\\n" "opperf" "$@" >> "$CALLS"',
    "scontrol": "printf 'n1\\nn2\\n'",
    "ray": 'echo "ray $* at $RAY_ADDRESS" >> "$CALLS"',
}


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Runs a part of a job; returns the lines that the stand-ins were called with."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, body in STAND_INS.items():
        path = programs / name
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)
    calls = tmp_path / "calls"

    def run(job, **variables):
        script = tmp_path / "job.sh"
        script.write_text(job_script(job))
        subprocess.run(["bash", "-n", script], check=True)
        calls.write_text("")
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        environment = {"PATH": path, "CALLS": str(calls), **variables}
        done = subprocess.run(["bash", script], env=environment, capture_output=True, text=True)
        return done, calls.read_text().splitlines()

    return run


def make_job(tmp_path, **fields):
    folder = tmp_path / "the results"
    folder.mkdir(exist_ok=True)
    command = ("opperf", "suite", "run", "a suite.yaml", "--select", "flops*")
    return Job(**{"name": "a", "command": command, "parts": 3, "folder": str(folder)} | fields)


PART = {"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_JOB_ID": "17"}


def test_each_part_runs_its_share_of_the_suite(slurm, tmp_path):
    done, calls = slurm(make_job(tmp_path), **PART)
    assert done.returncode == 0, done.stderr
    assert calls[0].startswith("srun --overlap --nodes=1 --ntasks=1 opperf suite run")
    assert calls[1:] == [
        *("opperf", "suite", "run", "a suite.yaml", "--select", "flops*"),
        *("--total-partitions", "3", "--partition-id", "1"),
        *("-o", f"{tmp_path}/the results/part-1-of-3.jsonl"),
    ]


def test_the_first_part_submits_the_job_that_joins_all_once(slurm, tmp_path):
    job = make_job(tmp_path, options=("--account=mine",))
    done, calls = slurm(job, **PART | {"SLURM_ARRAY_TASK_ID": "0"})
    assert done.returncode == 0, done.stderr
    given = calls[1 : calls.index("opperf") - 1]
    assert calls[0] == "sbatch" and "--dependency=afterany:17" in given
    assert "--account=mine" in given
    wrapped = given[-1].removeprefix("--wrap=")
    for number in (0, 2):
        (tmp_path / "the results" / f"part-{number}-of-3.jsonl").touch()
    words = wrapped.replace("opperf", "printf '%s\\n'", 1)
    assert subprocess.check_output(["sh", "-c", words], text=True).splitlines() == [
        "merge",
        # The second part has not started.
        f"{tmp_path}/the results/part-0-of-3.jsonl",
        f"{tmp_path}/the results/part-2-of-3.jsonl",
        *("-o", f"{tmp_path}/the results/a.jsonl", "--overwrite"),
    ]
    requeued = PART | {"SLURM_ARRAY_TASK_ID": "0", "SLURM_RESTART_COUNT": "1"}
    assert "sbatch" not in slurm(job, **requeued)[1]


def test_a_part_that_was_cut_short_goes_on(slurm, tmp_path):
    job = make_job(tmp_path)
    (tmp_path / "the results" / "part-1-of-3.jsonl").touch()
    assert slurm(job, **PART)[1][-1] == "--resume"


def test_a_part_of_several_nodes_is_a_cluster_of_ray(slurm, tmp_path):
    done, calls = slurm(make_job(tmp_path, nodes=2), **PART, SLURM_JOB_NODELIST="n[1-2]")
    assert done.returncode == 0, done.stderr
    ray = calls[-1]
    assert ray.startswith("ray symmetric-run --address n1:6379 --min-nodes 2 -- opperf suite run")
    assert "--executor ray" in ray and ray.endswith("at n1:6379")


def test_the_script_is_for_sbatch(slurm, tmp_path):
    done, calls = slurm(make_job(tmp_path))
    assert done.returncode != 0 and "sbatch a.sh" in done.stderr and calls == []


def test_its_options_are_those_of_the_resources(tmp_path):
    job = make_job(tmp_path, nodes=2, gpus=8, minutes=90, options=("--partition=gpu",))
    lines = job_script(job).splitlines()
    options = [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH")]
    wanted = "--array=0-2 --nodes=2 --exclusive --gpus-per-node=8 --time=90 --partition=gpu"
    assert set(wanted.split()) <= set(options)
    assert f"'--output={tmp_path}/the results/part-%a.out'" in options
    assert "--gpus-per-node" not in job_script(make_job(tmp_path))


def test_the_resources_are_those_of_the_benches():
    benches = [
        Bench("a", "script", max_duration_s=3000.0, num_machines=2),
        Bench("b", "operators", plan=Plan("per_gpu")),
    ]
    assert (minutes_of(benches), nodes_of(benches), needs_gpus(benches)) == (65, 2, True)
    assert (nodes_of([]), needs_gpus(benches[:1])) == (1, False)


def test_lines_of_shell_come_before_the_suite(slurm, tmp_path):
    job = make_job(tmp_path, setup=("export PART=of-$SLURM_ARRAY_TASK_ID", 'echo "$PART"'))
    assert slurm(job, **PART)[0].stdout == "of-1\n"


def test_without_submitit_there_is_sbatch(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(UsageError, match="pip install .*slurm.*sbatch job.sh"):
        submit(make_job(tmp_path), Path("job.sh"))


def test_submitit_submits_the_script_as_an_array(slurm, tmp_path, monkeypatch):
    pytest.importorskip("submitit")
    job = make_job(tmp_path, gpus=2, options=("--account=mine", "--oversubscribe"))
    slurm(job)
    calls = tmp_path / "calls"
    (tmp_path / "bin" / "sbatch").write_text(
        f'#!/bin/bash\nshift $(($# - 1))\ncat "$1" > {calls}\necho Submitted batch job 18\n'
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert submit(job, tmp_path / "job.sh") == "18"
    options = "--array=0-2%3 --gpus-per-node=2 --exclusive --account=mine --oversubscribe"
    written = calls.read_text()
    assert all(f"#SBATCH {option}\n" in written for option in options.split())


def test_submitit_without_slurm_says_so(tmp_path, monkeypatch):
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="Slurm is not here; where it is: sbatch job.sh"):
        submit(make_job(tmp_path), Path("job.sh"))
