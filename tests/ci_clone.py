"""A clone of a repository with a base commit and a change, in which the commands of a CI's jobs
run, with a stand-in for `gh`."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.repositories import GIT

KERNELS = """
import os
from pathlib import Path

SIDE = "{side}"


def gelu(x):
    # One letter for each call: which package the workers of each arm imported.
    with Path(os.environ["SEEN"]).open("a") as seen:
        seen.write(SIDE[0])
    return x * x
"""

GH = """#!{python}
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

folder, words = Path({folder!r}), sys.argv[1:]
with (folder / "gh.txt").open("a") as calls:
    print(*words, file=calls)
if "GH_FAILS" in os.environ:
    sys.exit("HTTP 403: Resource not accessible by integration")
if words[:2] == ["run", "download"]:
    # An artifact, which another run uploaded.
    shutil.copytree(folder / "artifact", words[words.index("--dir") + 1])
elif words[0] == "api":
    store = folder / "comments.json"
    comments = json.loads(store.read_text()) if store.exists() else []
    url = next(word for word in words if word.startswith("repos/")).split("/")
    body = [word.partition("@")[2] for word in words if word.startswith("body=@")]
    if body:
        comment = {{"user": {{"type": "Bot"}}, "body": Path(body[0]).read_text()}}
        if "PATCH" in words:
            comments[int(url[-1])] |= comment
        else:
            comments.append(comment | {{"id": len(comments)}})
        store.write_text(json.dumps(comments))
    else:
        answer = comments if url[-1] == "comments" else {{"head": {{"sha": "f" * 40}}}}
        query = words[words.index("--jq") + 1]
        if not answer:
            sys.exit()
        subprocess.run(["jq", "-r", query], input=json.dumps(answer), text=True, check=True)
"""
"""Keeps comments, as GitHub does, and its words in gh.txt."""


class Clone:
    """A repository at `folder/work`, whose `origin/main` and tag v1 are the base, and programs of
    `folder/bin` before all others. `files` are those that differ, with `{side}` for the side."""

    def __init__(self, folder: Path, files: dict[str, str]):
        self.folder, self.work, self.bin = folder, folder / "work", folder / "bin"
        self.bin.mkdir(exist_ok=True)
        self.program("gh", GH.format(python=sys.executable, folder=str(folder)))
        self.variables = os.environ | {
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_BASE_REF": "main",
            "GITHUB_OUTPUT": str(folder / "output"),
            "OPPERF_CACHE": str(folder / "cache"),
        }
        self.variables.pop("PYTHONPATH", None)
        self.git("init", "-q", "-b", "main")
        for side in ("base", "head"):
            for name, text in files.items():
                path = self.work / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text.replace("{side}", side))
            self.git("add", "-A")
            self.git("commit", "-qm", side)
            if side == "base":
                self.git("update-ref", "refs/remotes/origin/main", "HEAD")
                self.git("tag", "v1")

    def program(self, name: str, text: str) -> Path:
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def git(self, *words: str) -> None:
        self.work.mkdir(exist_ok=True)
        subprocess.run([*GIT, *words], cwd=self.work, check=True, capture_output=True)

    def run(self, command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs commands as GitHub's and GitLab's runners do: an error ends them."""
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", command],
            cwd=self.work,
            env=self.variables | more,
            capture_output=True,
            text=True,
        )

    def comments(self) -> list[str]:
        """Returns the texts of the comments that `gh` posted."""
        store = self.folder / "comments.json"
        return [comment["body"] for comment in json.loads(store.read_text())]
