"""The jobs of docs/ci.md, pasted: their commands run in a repository, with pip's work done by a
stand-in, as installing a framework takes minutes. `.ci/run` installs with pip itself."""

import re
import sys
import textwrap
from pathlib import Path

import pytest

from opperf.frameworks import is_available
from tests.ci_clone import KERNELS, Clone

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")

JOBS = {
    framework: match[1]
    for match in re.finditer(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    if "opperf ab" in match[1]
    for framework in re.findall(r"--framework (\w+)", match[1]) or ["mxnet"]
}

OPERATOR = "NNVM_REGISTER_OP(relu)\n"

PYTHON = """#!/bin/sh
# `python3 -m venv FOLDER`: an environment whose packages are in FOLDER/packages.
folder=$3
mkdir -p "$folder/bin" "$folder/packages"
here=$(cd "$folder" && pwd)
cat > "$folder/bin/python" <<END
#!/bin/sh
PYTHONPATH=$here/packages:{root} exec {python} "\\$@"
END
cat > "$folder/bin/opperf" <<END
#!/bin/sh
case \\$1 in doctor) set -- doctor --seconds 0.1;; ab) set -- "\\$@" $BRIEFLY;; esac
PYTHONPATH=$here/packages:{root} exec {python} -m opperf "\\$@"
END
cat > "$folder/bin/pip" <<END
#!/bin/sh
PYTHONPATH={root} exec {python} {pip} $here/packages "\\$@"
END
chmod +x "$folder"/bin/*
"""

PIP = """
import shutil
import sys
from pathlib import Path

from packaging.requirements import Requirement

packages, command, *words = sys.argv[1:]
assert command == "install"
for word in words:
    if (Path(word) / "pyproject.toml").exists():
        shutil.copytree(Path(word) / "my_package", Path(packages) / "my_package")
    elif " @ " in word:
        wanted = Requirement(word)
        assert (wanted.name, wanted.url) == ("opperf", "{url}"), word
    else:
        assert word.startswith(("--", "https://", "dist/")), word
"""


@pytest.fixture
def repository(tmp_path):
    """A clone with a base commit and a change, and the stand-ins; returns what runs a command."""
    work, stand_ins = tmp_path / "work", tmp_path / "bin"
    for folder in ("my_package", "benchmarks", "ci", "src/operator"):
        (work / folder).mkdir(parents=True)
    stand_ins.mkdir()
    (work / "pyproject.toml").touch()
    (work / "my_package" / "__init__.py").touch()
    (inputs,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (work / "benchmarks" / "inputs.py").write_text(inputs)
    (work / "ci" / "build_wheel.sh").write_text(
        "#!/bin/sh\nmkdir -p dist && touch dist/mxnet.whl\n"
    )
    (work / "ci" / "build_wheel.sh").chmod(0o755)
    url = re.search(r"OPPERF: (git\S+)", PAGE)[1]
    (stand_ins / "pip.py").write_text(PIP.replace("{url}", url))
    words = {"root": ROOT, "python": sys.executable, "pip": stand_ins / "pip.py"}
    (stand_ins / "python3").write_text(PYTHON.format(**words))
    (stand_ins / "python3").chmod(0o755)
    clone = Clone(
        tmp_path,
        {"src/operator/relu.cc": f"{OPERATOR}// {{side}}\n", "my_package/kernels.py": KERNELS},
    )
    clone.variables |= {"SEEN": str(tmp_path / "seen"), "BRIEFLY": "--dry-run", "PR": "1"}
    return clone.run, clone.work


def steps(job):
    """Yields the name and the commands of each step of a job that runs some."""
    for step in re.split(r"^      - ", job, flags=re.MULTILINE)[1:]:
        name = re.match(r"name: (.*)", step)
        lines = re.search(r"^        run: (?:\|\n((?: {10}.*\n)+)|(.*))", step, re.MULTILINE)
        if lines:
            yield name[1], textwrap.dedent(lines[1]) if lines[1] else lines[2]


def paste(job, repository, **more):
    run, work = repository
    variables = dict(re.findall(r"^  ([A-Z]+): (\S+)", job, re.MULTILINE))
    for name, commands in steps(job):
        done = run(commands, **variables, **more)
        if name == "Measure":
            measured = done
        else:
            assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
    (verdict,) = work.rglob("verdict.md")
    assert "verdict.md" in (work.parent / "gh.txt").read_text()
    return measured, verdict.read_text()


def test_there_is_a_job_for_each_framework():
    assert set(JOBS) == {"mxnet", "torch", "jax", "numpy"}
    for job in JOBS.values():
        assert [name for name, _ in steps(job)][-2:] == ["Measure", "Post the verdict"]


def test_jobs_for_functions_differ_in_the_framework_alone():
    """So that what NumPy's job does, which starts soonest, the others do."""
    index = r" \\\n +--extra-index-url https://download\.pytorch\.org/whl/cpu"
    for framework in ("torch", "jax"):
        job = re.sub(index, "", JOBS[framework]).replace(f"opperf[{framework}] @", "opperf @")
        assert job.replace(f"--framework {framework} ", "--framework numpy ") == JOBS["numpy"]


@pytest.mark.parametrize(
    "framework",
    [
        pytest.param(name, marks=[pytest.mark.sweep] if name in ("torch", "jax") else [])
        for name in JOBS
    ],
)
def test_a_job_is_pasted_and_plans(framework, repository):
    if not is_available(framework):
        pytest.skip(f"{framework} is not installed")
    measured, verdict = paste(JOBS[framework], repository)
    assert measured.returncode == 0, measured.stderr
    assert ("relu" if framework == "mxnet" else "kernels:gelu") in verdict


@pytest.mark.sweep
def test_a_job_measures_the_package_of_each_side(repository, tmp_path):
    shortly = "--threads 1 --blocks 2 --control-blocks 2 --case-time 0.01 --no-pace"
    measured, verdict = paste(JOBS["numpy"], repository, BRIEFLY=shortly)
    # Which verdict it is depends on the machine.
    assert measured.returncode in (0, 1, 3), measured.stderr
    assert "kernels:gelu" in verdict
    assert set((tmp_path / "seen").read_text()) == {"b", "h"}
