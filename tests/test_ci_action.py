"""The steps of `action.yml` and the jobs of `ci/gitlab.yml`, run in a clone. `opperf ab` is a
stand-in that reads its words as opperf does, as a session takes a minute; the history is real."""

import json
import re
import shutil
import sys
import threading
import venv
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest
import yaml

from tests.ci_clone import KERNELS, Clone

ROOT = Path(__file__).resolve().parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
TEMPLATE = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text(encoding="utf-8"))

OPPERF = """#!{python}
import os
import sys
from pathlib import Path

sys.path.insert(0, {root!r})
import click

from opperf.opperf import cli, main

words = sys.argv[1:]
with Path({log!r}).open("a") as log:
    print(*words, file=log)
if words[0] != "ab":
    main(words + (["--quick", "--max-time", "0.01"] if words[0] == "run" else []))
command = cli.get_command(click.Context(cli), "ab")
command.make_context("ab", words[1:])
for at, word in enumerate(words):
    if word == "-o" and "VERDICT" in os.environ:
        Path(words[at + 1]).write_text(os.environ["VERDICT"])
sys.exit(int(os.environ.get("ENDS", 0)))
"""


@pytest.fixture
def clone(tmp_path):
    inputs = 'def gelu():\n    return [{"x": (64, 64)}]\n'
    found = Clone(tmp_path, {"my_package/kernels.py": KERNELS, "inputs.py": inputs})
    log = str(tmp_path / "opperf.txt")
    words = {"python": sys.executable, "root": str(ROOT), "log": log}
    found.program("opperf", OPPERF.format(**words))
    found.variables["SEEN"] = str(tmp_path / "seen")
    found.variables.pop("OPPERF_HISTORY", None)
    return found


def calls(clone, program):
    log = clone.folder / f"{program}.txt"
    return log.read_text().splitlines() if log.exists() else []


EVENT = {
    "pull_request": {"number": 7, "head": {"repo": {"full_name": "us/kernels"}}},
    "workflow_run": {"id": 99, "head_sha": "f" * 40},
}
PULL_REQUEST = {"pull_request": EVENT["pull_request"]}
FORK = {"pull_request": {"number": 7, "head": {"repo": {"full_name": "them/kernels"}}}}


class Expressions:
    """What GitHub makes of `${{ }}` and of `if`."""

    def __init__(self, inputs, event):
        given = {name: about.get("default", "") for name, about in ACTION["inputs"].items()}
        self.failed = False
        self.contexts = {
            "inputs": given | inputs,
            "github": {"event": event, "token": "secret", "repository": "us/kernels"},
        }

    def value(self, text):
        parts = re.split(r"('[^']*')", text)
        for at in range(0, len(parts), 2):
            part = re.sub(r"\b[a-z_]+(\.[\w-]+)+", lambda name: f"get({name[0]!r})", parts[at])
            parts[at] = part.replace("&&", " and ").replace("||", " or ")
        known = {"get": self.get, "always": lambda: True, "format": self.format}
        return eval("".join(parts), {"__builtins__": {}}, known)

    def get(self, name):
        found = self.contexts
        for key in name.split("."):
            found = found.get(key, "") if isinstance(found, dict) else ""
        return found

    def format(self, text, *values):
        return text.format(*values)

    def fill(self, text):
        return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(self.value(found[1].strip())), text)

    def runs(self, condition):
        if self.failed and "always()" not in condition:
            return False
        return bool(self.value(condition)) if condition else True


def act(clone, event, more=None, **inputs):
    """Returns the exit code of the action's first step that failed, what was printed, and the
    names of the steps that ran."""
    read = Expressions({name.replace("_", "-"): value for name, value in inputs.items()}, event)
    status, said, ran = 0, "", []
    summary = {"GITHUB_STEP_SUMMARY": str(clone.folder / "summary.md")}
    runner = {"GITHUB_REPOSITORY": "us/kernels", "GITHUB_REF_NAME": "main"}
    for step in ACTION["runs"]["steps"]:
        if not read.runs(step.get("if", "")):
            continue
        ran.append(step["name"])
        if "run" not in step:
            assert (clone.work / read.fill(step["with"]["path"])).exists() or read.failed
            continue
        given = {name: read.fill(text) for name, text in step.get("env", {}).items()}
        done = clone.run(step["run"], **(runner | summary | (more or {}) | given))
        said += done.stdout + done.stderr
        if done.returncode:
            status = status or done.returncode
            read.failed = True
    return status, said, ran


GATE = {"mode": "gate", "base_python": "base/bin/python", "head_python": "head/bin/python"}
FOUND = "## Verdict\n"
needs_jq = pytest.mark.skipif(not shutil.which("jq"), reason="jq, which gh has, is not installed")


@pytest.mark.parametrize("text", [ROOT / "action.yml", ROOT / "ci" / "gitlab.yml"])
def test_no_text_of_others_is_put_into_a_command(text):
    """An expression in a script would be executed: names of branches are anyone's."""
    steps = yaml.safe_load(text.read_text())
    scripts = [step["run"] for step in steps.get("runs", {}).get("steps", []) if "run" in step]
    scripts += [str(job["script"]) for job in steps.values() if "script" in job]
    assert scripts
    assert not any("${{" in script for script in scripts)


@needs_jq
def test_a_gate_counts_and_keeps_one_comment(clone):
    more = {"VERDICT": FOUND, "ENDS": "1"}
    for _ in range(2):
        status, said, ran = act(
            clone, PULL_REQUEST, more, **GATE, operators="exp", input_function="inputs.py:gelu"
        )
        assert status == 1, said
        assert "Keep the results" in ran
    (comment,) = clone.comments()
    assert comment.startswith(FOUND)
    assert (clone.folder / "summary.md").read_text() == FOUND * 2
    words = calls(clone, "opperf")[0]
    assert words.startswith("ab --profiler instructions exp --inputs ")
    assert f"--changed-since origin/main --repository {clone.work} " in words
    assert f"--a python:{clone.work}/base/bin/python" in words


def test_a_fork_has_its_verdict_without_a_token(clone):
    status, said, ran = act(clone, FORK, {"VERDICT": FOUND, "ENDS": "1"}, **GATE)
    assert status == 1, said
    assert "Post the verdict" not in ran
    assert "Keep the results" in ran
    assert (clone.folder / "summary.md").read_text() == FOUND
    assert not calls(clone, "gh")


def test_a_token_that_may_not_write_does_not_change_the_verdict(clone):
    status, said, _ = act(clone, PULL_REQUEST, {"VERDICT": FOUND, "GH_FAILS": "1"}, **GATE)
    assert status == 0
    assert "no comment was posted" in said


@pytest.mark.parametrize("ends, ran_to_the_end", [("0", True), ("2", False)])
def test_a_session_without_a_verdict(clone, ends, ran_to_the_end):
    """Where nothing changed that is said; where opperf refused its words, nothing is."""
    assert act(clone, FORK, {"ENDS": ends}, **GATE)[0] == int(ends)
    summary = clone.folder / "summary.md"
    assert summary.exists() == ran_to_the_end
    if ran_to_the_end:
        assert "no operator is known to have changed since `origin/main`" in summary.read_text()


def test_a_release_is_measured_against_the_last_tag(clone):
    status, said, ran = act(clone, {}, {"VERDICT": FOUND}, **GATE | {"mode": "release"})
    assert status == 0, said
    (words,) = calls(clone, "opperf")
    assert "--changed-since v1 " in words
    assert "--profiler" not in words
    assert "Post the verdict" not in ran


def test_a_history_is_added_to_and_checked(clone):
    pytest.importorskip("sqlalchemy")
    status, said, _ = act(
        clone, {}, mode="history", framework="numpy", operators="exp", store="history.sqlite"
    )
    assert status == 0, said
    assert (clone.work / "history.sqlite").exists()
    assert "kernels" in (clone.folder / "summary.md").read_text()


@needs_jq
def test_what_a_forks_run_measured_is_posted_by_another_run(clone):
    artifact = clone.folder / "artifact"
    artifact.mkdir()
    (artifact / "pull_request.txt").write_text("7\n")
    (artifact / "verdict.md").write_text(FOUND)
    status, said, _ = act(clone, {"workflow_run": EVENT["workflow_run"]}, mode="comment")
    assert status == 0, said
    (comment,) = clone.comments()
    assert FOUND in comment
    assert "issues/7/comments" in calls(clone, "gh")[-1]


@needs_jq
@pytest.mark.parametrize(
    "number, sha, message",
    [
        ("7/../../8", "f" * 40, "names no pull request"),
        ("7\n", "e" * 40, "is not at the commit"),
        (None, "f" * 40, "has no pull_request.txt"),
    ],
)
def test_an_artifact_comments_on_its_own_pull_request_alone(clone, number, sha, message):
    artifact = clone.folder / "artifact"
    artifact.mkdir()
    (artifact / "verdict.md").write_text(FOUND)
    if number:
        (artifact / "pull_request.txt").write_text(number)
    event = {"workflow_run": {"id": 99, "head_sha": sha}}
    status, said, _ = act(clone, event, mode="comment")
    assert status == 2
    assert message in said
    assert not any("POST" in words for words in calls(clone, "gh"))


@pytest.mark.parametrize(
    "inputs, message",
    [
        ({"mode": "nightly"}, "no such mode: nightly"),
        ({"mode": "gate"}, "mode gate needs base-python"),
        ({"mode": "comment"}, "for the event workflow_run"),
        (GATE, "needs changed-since"),
    ],
)
def test_wrong_inputs_are_one_line(clone, inputs, message):
    status, said, _ = act(clone, {}, {"GITHUB_BASE_REF": ""}, **inputs)
    assert status == 2
    (line,) = [line for line in said.splitlines() if line.startswith("::error")]
    assert message in line
    assert not calls(clone, "opperf")


def job(name):
    """Returns the variables and the commands of a job of the template, with what it extends."""
    of, found = TEMPLATE["variables"], TEMPLATE[name]
    of = of | TEMPLATE[found["extends"]]["variables"]
    lines = [[line] if isinstance(line, str) else line for line in found["script"]]
    return {key: str(value) for key, value in of.items()}, "\n".join(sum(lines, []))


def pipeline(clone, name, **more):
    variables, script = job(name)
    about = {"CI_PROJECT_NAME": "kernels", "CI_COMMIT_BRANCH": "main"}
    return clone.run(script, **(variables | about | more))


SIDES = {"OPPERF_BASE_PYTHON": "base/bin/python", "OPPERF_HEAD_PYTHON": "head/bin/python"}


@pytest.fixture
def gitlab():
    """Notes of a merge request, and the variables by which a job finds them."""
    notes, tokens = [], []

    class Notes(BaseHTTPRequestHandler):
        def answer(self, content):
            tokens.append(self.headers["PRIVATE-TOKEN"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def body(self):
            form = self.rfile.read(int(self.headers["Content-Length"])).decode()
            return parse_qs(form)["body"][0]

        def do_GET(self):
            self.answer([{"id": at, "body": text} for at, text in enumerate(notes)])

        def do_POST(self):
            notes.append(self.body())
            self.answer({})

        def do_PUT(self):
            notes[int(self.path.rpartition("/")[2])] = self.body()
            self.answer({})

        def log_message(self, *words):
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Notes)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield (
        notes,
        tokens,
        {
            "CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}",
            "CI_MERGE_REQUEST_IID": "7",
            "CI_MERGE_REQUEST_PROJECT_ID": "3",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": "v1",
        },
    )
    server.shutdown()
    server.server_close()
    thread.join()


def test_gitlabs_gate_keeps_one_note(clone, gitlab):
    notes, tokens, about = gitlab
    notes.append("a question")
    secret = {"OPPERF_COMMENT_TOKEN": "secret"}
    for _ in range(2):
        more = {"VERDICT": FOUND, "ENDS": "1"}
        done = pipeline(clone, ".opperf-gate", **SIDES, **about, **secret, **more)
        assert done.returncode == 1, done.stderr
    question, note = notes
    assert question == "a question"
    assert note.startswith(FOUND)
    assert set(tokens) == {"secret"}
    assert "--profiler instructions --changed-since v1" in calls(clone, "opperf")[0]
    reports = TEMPLATE[".opperf-gate"]["artifacts"]["reports"]
    assert (clone.work / reports["junit"]).exists()


def test_gitlabs_pipeline_of_a_fork_has_its_artifact(clone, gitlab):
    notes, tokens, about = gitlab
    done = pipeline(clone, ".opperf-gate", **SIDES, **about, VERDICT=FOUND, ENDS="1")
    assert done.returncode == 1, done.stderr
    assert (clone.work / "opperf-results" / "verdict.md").read_text() == FOUND
    assert not notes
    assert not tokens


def test_gitlabs_release(clone):
    done = pipeline(clone, ".opperf-release", **SIDES, VERDICT=FOUND, ENDS="3")
    assert done.returncode == 3, done.stderr
    assert "--changed-since v1 " in calls(clone, "opperf")[0]


def test_gitlabs_history(clone):
    pytest.importorskip("sqlalchemy")
    words = {"OPPERF_FRAMEWORK": "numpy", "OPPERF_OPERATORS": "exp"}
    done = pipeline(clone, ".opperf-history", **words, OPPERF_HISTORY="history.sqlite")
    assert done.returncode == 0, done.stderr
    assert (clone.work / "history.sqlite").exists()
    assert (clone.work / "opperf-results" / "verdict.md").exists()


@pytest.mark.parametrize(
    "name, more, message",
    [
        (".opperf-gate", {}, "set OPPERF_CHANGED_SINCE"),
        (".opperf-gate", {"OPPERF_CHANGED_SINCE": "v1"}, "set OPPERF_BASE_PYTHON"),
    ],
)
def test_missing_variables_are_one_line(clone, name, more, message):
    done = pipeline(clone, name, **more)
    assert done.returncode == 2
    assert message in done.stdout


def test_the_documentation_uses_what_there_is():
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    blocks = [
        yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)
    ]
    steps = [
        step["with"]
        for block in blocks
        for job in block.get("jobs", {}).values()
        for step in job["steps"]
        if "opperf@" in step.get("uses", "")
    ]
    assert {step["mode"] for step in steps} == {"gate", "release", "history", "comment"}
    assert {name for step in steps for name in step} <= set(ACTION["inputs"])
    (template,) = [block for block in blocks if "include" in block]
    jobs = [about for about in template.values() if "extends" in about]
    assert {about["extends"] for about in jobs} == {
        ".opperf-gate",
        ".opperf-release",
        ".opperf-history",
    }
    used = {name for about in [*jobs, template] for name in about.get("variables", {})}
    assert used <= set(TEMPLATE["variables"])


@pytest.mark.sweep
@pytest.mark.skipif(not shutil.which("valgrind"), reason="Valgrind is not installed")
def test_a_gate_counts_a_real_change(tmp_path):
    """The session of the gate itself, of a function that calls twice as much in head."""
    kernels = 'def gelu(x):\n    return x * x if "{side}" == "base" else x * x * 1.0 * 1.0\n'
    inputs = 'def gelu():\n    return [{"x": (64, 64)}]\n'
    files = {"my_package/__init__.py": "", "my_package/kernels.py": kernels, "inputs.py": inputs}
    clone = Clone(tmp_path, files)
    packages = [path for path in sys.path if path.endswith("site-packages")]
    for side in ("base", "head"):
        package = tmp_path / side / "my_package"
        package.mkdir(parents=True)
        (package / "kernels.py").write_text(kernels.replace("{side}", side))
        venv.create(tmp_path / f"{side}-python", symlinks=True)
        (site,) = (tmp_path / f"{side}-python").glob("lib/*/site-packages")
        (site / "paths.pth").write_text("\n".join([*packages, str(ROOT), str(package.parent)]))
    clone.program("opperf", f'#!/bin/sh\nexec {tmp_path}/head-python/bin/python -m opperf "$@"\n')
    sides = {f"{side}_python": f"{tmp_path}/{side}-python/bin/python" for side in ("base", "head")}
    status, said, _ = act(
        clone, FORK, mode="gate", framework="numpy", input_function="inputs.py:gelu", **sides
    )
    assert status == 1, said
    assert "**regressed**" in (tmp_path / "summary.md").read_text()
