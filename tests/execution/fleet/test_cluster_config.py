"""Ray's configuration of a system's nodes, and what keeps it from being written."""

import json
import socket
from pathlib import Path

import click
import pytest

from opperf.commands.suite.files import cluster
from opperf.errors import UsageError
from opperf.suites import job_script

SYSTEM = """
system:
  sshkey: key
  nodes:
    - {name: a, ip: 10.0.0.1, user: me}
    - {name: b, ip: 10.0.0.2, user: me, port: 5000, main: true}
    - {name: c, ip: 10.0.0.3, user: other}
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Runs the command on a system's text; the exit code."""
    monkeypatch.chdir(tmp_path)
    Path("key").write_text("k")
    Path("key").chmod(0o600)

    def called(text, *words):
        Path("system.yaml").write_text(text)
        context = cluster.make_context("cluster", ["system.yaml", "-o", "out.yaml", *words])
        with pytest.raises(click.exceptions.Exit) as ended:
            cluster.invoke(context)
        return ended.value.exit_code

    return called


def test_the_nodes_of_a_system_are_those_of_rays_launcher(written, capsys):
    assert written(SYSTEM, "--no-check", "--setup", "source env") == 0
    config = json.loads(Path("out.yaml").read_text())
    assert config["provider"] == {
        "type": "local",
        "head_ip": "10.0.0.2",
        "worker_ips": ["10.0.0.1"],
    }
    assert config["auth"] == {"ssh_user": "me", "ssh_private_key": "key"}
    assert config["max_workers"] == 1 and config["setup_commands"] == ["source env"]
    assert "--port=5000" in config["head_start_ray_commands"][1]
    by_hand = capsys.readouterr().out.splitlines()[-1]
    assert "ssh -i key other@10.0.0.3 'source env && ray start --address=10.0.0.2:5000'" in by_hand


def test_a_node_that_does_not_answer_is_named_and_nothing_is_written(written, capsys, monkeypatch):
    def connect(address, timeout):
        if address[0] == "10.0.0.3":
            raise TimeoutError("timed out")
        return socket.socket()

    monkeypatch.setattr(job_script.socket, "create_connection", connect)
    assert written(SYSTEM) == 1 and not Path("out.yaml").exists()
    assert "node c: 10.0.0.3 does not answer at port 22 (timed out)" in capsys.readouterr().err


@pytest.mark.parametrize(
    "before, after, message",
    [
        ("sshkey: key", "sshkey: none", "sshkey: none cannot be read"),
        ("10.0.0.3", "10.0.0.1", "two nodes have the address 10.0.0.1"),
        ("user: other", "user: other, main: true", "b and c are both main"),
        ("name: c", "name: a", "two nodes are called a"),
        ("nodes:", "others:", "it has no nodes"),
    ],
)
def test_what_is_wrong_is_one_line(written, before, after, message):
    with pytest.raises(UsageError, match=message):
        written(SYSTEM.replace(before, after))


def test_a_key_that_others_may_read_is_refused_as_by_ssh(written):
    Path("key").chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600 key"):
        written(SYSTEM)
