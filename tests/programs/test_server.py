"""Programs that are clients of a server."""

import os
import signal

import psutil
import pytest

from opperf.model import NodeWords, ServerProgram, Settings, Status
from opperf.programs import group
from opperf.programs.launching import Place
from opperf.programs.process import Server
from tests.programs.scripts import wait_for

SERVER = """
import http.server, os, pathlib, sys, time

asked = 0

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global asked
        asked += self.path == "/health"
        self.send_response(200 if self.path != "/health" or asked > 2 else 503)
        self.end_headers()
        self.wfile.write(b"%d" % asked)

    def log_message(self, *words):
        pass

pathlib.Path("server.pid").write_text(str(os.getpid()))
print("listening at", sys.argv[1], flush=True)
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
server.serve_forever()
"""

CLIENT = """
import os, sys, urllib.request

host, port, count = sys.argv[1:]
for step in range(int(count)):
    answer = urllib.request.urlopen(f"http://{host}:{port}/ask").read()
    line = b'{"task": "train", "rate": %d}\\n' % (100 + int(answer))
    os.write(int(os.environ["DATA_FD"]), line)
"""

WAITING = """
import pathlib, time
pathlib.Path("client.ready").touch()
time.sleep(3600)
"""

ARGUMENTS = ("{server_host}", "{server_port}", "40")


def server(*words, **options):
    return ServerProgram(("python", *words), **options)


@pytest.fixture
def serving(tmp_path):
    (tmp_path / "serve.py").write_text(SERVER)
    return server("serve.py", "{server_port}", health="/health")


def is_running(tmp_path):
    pid = int((tmp_path / "server.pid").read_text())
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_clients_start_when_the_server_is_ready_and_it_ends_after_them(run, serving, tmp_path):
    record, _ = run(CLIENT, server=serving, argv=ARGUMENTS, processes=2)
    assert record.status is Status.OK, record.reason
    # It was not well when it was asked for the first and the second time.
    assert record.summaries["rate"].median >= 2 * 103
    assert not is_running(tmp_path)
    (log,) = (tmp_path / "streams").glob("*.server.log")
    assert log.read_text().startswith("listening at ")


def test_a_server_that_ends_ends_its_clients(run, serving, tmp_path):
    import threading

    def end():
        wait_for((tmp_path / "client.ready").exists)
        os.kill(int((tmp_path / "server.pid").read_text()), signal.SIGTERM)

    ending = threading.Thread(target=end)
    ending.start()
    record, _ = run(WAITING, server=serving, processes=2)
    ending.join()
    assert record.status is Status.FAILED
    assert "the server has ended by signal 15; last output: listening at" in record.reason
    assert len(record.processes) == 2


def test_a_client_that_fails_of_the_end_of_its_server_is_not_the_reason(run, tmp_path, monkeypatch):
    monkeypatch.setattr(group, "SERVER_END_S", 60.0)
    # Its connections are closed long before its end is seen.
    exit = "asked > 3 and (self.connection.shutdown(2), time.sleep(0.3), os._exit(7))"
    ending = SERVER.replace("self.send_response(", f"{exit}\n        self.send_response(")
    (tmp_path / "serve.py").write_text(ending.replace('self.path == "/health"', "1"))
    program = server("serve.py", "{server_port}", health="/health")
    # Nothing but its end is seen of it.
    client = """
import os, sys, urllib.request
url = "http://%s:%s/" % tuple(sys.argv[1:3])
try:
    for _ in range(9):
        urllib.request.urlopen(url)
except OSError:
    os._exit(1)
"""
    record, _ = run(client, server=program, argv=ARGUMENTS)
    assert record.status is Status.FAILED
    assert record.reason.startswith("the server has ended with exit code 7")


def test_a_server_is_waited_for_once_however_many_clients_end(run, serving, monkeypatch):
    waits = []

    def why_ended(server, within_s=0.0):
        waits.extend([within_s] if within_s else [])
        return ""

    monkeypatch.setattr(Server, "why_ended", why_ended)
    # The first to make the folder fails, the others wait.
    client = "import os, time\ntry: os.mkdir('made')\nexcept OSError: time.sleep(3600)\n1 / 0"
    record, _ = run(client, server=serving, processes=3)
    assert record.status is Status.FAILED and "division by zero" in record.reason
    assert waits == [group.SERVER_END_S]


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (
            server("-c", "import sys; sys.exit('no model')"),
            "the server has ended with exit code 1; last output: no model",
        ),
        (
            ServerProgram(("no-such-program",)),
            "the server cannot be started: no-such-program: No such file or directory",
        ),
    ],
)
def test_a_server_that_does_not_start_is_the_reason_and_no_client_starts(
    run, tmp_path, program, reason
):
    record, _ = run(WAITING, server=program)
    assert record.status is Status.FAILED and record.reason == reason
    assert not (tmp_path / "client.ready").exists()


def test_a_server_that_is_never_ready_is_a_timeout(run, tmp_path):
    waiting = server("-c", "import time; print('loading', flush=True); time.sleep(3600)")
    record, _ = run(WAITING, server=waiting, settings=Settings(timeout_s=2))
    assert record.status is Status.TIMEOUT
    assert record.reason == "the server is not ready after 2 s; last output: loading"


def test_a_node_has_its_own_words(run):
    printed = "import os, sys; sys.exit(' '.join([*sys.argv[1:], os.environ['SIZE']]))"
    there = {"b": NodeWords(("8",), variables={"SIZE": "eight"})}
    settings = Settings(timeout_s=60, env={"SIZE": "two"})
    for name, said in (("a", "2 two"), ("b", "8 eight")):
        record, _ = run(
            printed, argv=("2",), at_nodes=there, place=Place(name=name), settings=settings
        )
        assert record.reason.endswith(said)
