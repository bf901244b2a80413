"""`suite slurm` writes the script of an array job."""

import subprocess

import pytest


def test_the_script_runs_the_same_benches_in_parts(opperf, here):
    words = ["slurm", "suite.yaml", "--select", "one,plain", "--override", "one.weight=2"]
    more = ["--parts", "3", "--sbatch=--account=mine", "--setup", "module load cuda"]
    code, out, _ = opperf(*words, *more, "--system", "system.yaml", "-o", "job.sh")
    assert code == 0, out
    assert "Submit it with: sbatch job.sh" in out
    text = (here / "job.sh").read_text()
    subprocess.run(["bash", "-n", "job.sh"], check=True, cwd=here)
    assert f"opperf suite run {here}/suite.yaml --select one --select plain" in text
    assert f"--override one.weight=2 --system {here}/system.yaml" in text
    assert "#SBATCH --array=0-2" in text and "#SBATCH --account=mine" in text
    assert "\nmodule load cuda\n" in text and (here / "job").is_dir()
    code, _, err = opperf(*words, "-o", "job.sh")
    assert code == 2 and "job.sh exists; add --overwrite" in err


def test_nodes_and_gpus_are_those_of_the_benches_and_the_system(opperf, here):
    (here / "big.yaml").write_text(
        "big: {definition: bench, num_machines: 2, plan: {method: per_gpu}, max_duration: 5700}\n"
    )
    assert opperf("slurm", "big.yaml", "--system", "system.yaml", "-o", "job.sh")[0] == 0
    text = (here / "job.sh").read_text()
    for option in ("--nodes=2", "--gpus-per-node=8", "--time=100"):
        assert f"#SBATCH {option}\n" in text
    assert "ray symmetric-run" in text


@pytest.fixture(autouse=True)
def system(here):
    (here / "system.yaml").write_text("system: {gpu: {count: 8}, arch: cuda}\n")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--select", "off", "-o", "job.sh"], "no bench that is selected is enabled"),
        (["-o", "no/job.sh"], "/no does not exist"),
        (["-o", "job"], "name the script with an extension"),
        (["-o", "suite.yaml", "--overwrite"], "suite.yaml is an input"),
    ],
)
def test_bad_input_is_one_line(opperf, words, expected):
    code, _, err = opperf("slurm", "suite.yaml", *words)
    assert code == 2 and expected in err
