"""Slow clients: they lose their connections, and take none from others."""

import http.client
import socket
import threading
import time

import pytest
import uvicorn

from opperf.errors import UsageError
from opperf.opperf import cli
from opperf.serving import connections
from opperf.serving.application import HEADERS, make_application
from opperf.serving.connections import FILES, LEAST, MOST, limited, limits_of

FEW = 4

HALF = b"GET /api/projects HTTP/1.1\r\nHost: localhost\r\nX-Long: "

WAIT_S = 60
"""Seconds after which a test gives up: far more than any step takes under load."""


@pytest.fixture
def serve(store):
    """Starts a server of few connections, and returns its port."""
    started = []

    def start():
        config = uvicorn.Config(
            make_application(store), port=0, http=limited(FEW), ws="none", log_level="critical"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        started.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        return server.servers[0].sockets[0].getsockname()[1]

    yield start
    for server, thread in started:
        server.should_exit = True
        thread.join()


def send(port, content):
    client = socket.create_connection(("127.0.0.1", port), WAIT_S)
    client.sendall(content)
    return client


def is_ended(client):
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def ask(port):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    client.request("GET", "/api/projects")
    answer = client.getresponse()
    answer.read()
    client.close()
    return answer.status


def test_whoever_sends_half_a_request_keeps_nobody_out(serve):
    port = serve()
    slow = [send(port, HALF) for _ in range(5 * FEW)]
    assert [ask(port) for _ in range(3)] == [200] * 3
    # The first ones made room.
    assert all(is_ended(client) for client in slow[: 4 * FEW])
    for client in slow:
        client.close()


def test_a_request_that_takes_too_long_ends_its_connection(serve, monkeypatch):
    monkeypatch.setattr(connections, "REQUEST_S", WAIT_S)
    port = serve()
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    client.request("GET", "/api/projects")
    assert client.getresponse().read()
    monkeypatch.setattr(connections, "REQUEST_S", 0.2)
    assert is_ended(send(port, b"")) and is_ended(send(port, HALF))
    # The second one of a connection too, which is not kept open for long.
    client.sock.sendall(HALF)
    assert is_ended(client.sock)


def test_an_answer_that_is_not_received_ends_its_connection(serve, monkeypatch):
    monkeypatch.setattr(connections, "ANSWER_S", 0.2)
    port = serve()
    script = b"GET /uPlot.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    slow = socket.socket()
    slow.settimeout(WAIT_S)
    # What neither side's kernel keeps waits in the server.
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect(("127.0.0.1", port))
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        while True:
            slow.sendall(script)


def test_what_is_no_request_is_answered_with_the_headers(serve):
    client = http.client.HTTPConnection("127.0.0.1", serve(), timeout=WAIT_S)
    client.connect()
    client.sock.sendall(b"\x00 nonsense\r\n\r\n")
    answer = http.client.HTTPResponse(client.sock)
    answer.begin()
    assert answer.status == 400
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_limits_fit_the_descriptors():
    for descriptors in (FILES + 2 * LEAST, 64, 1024, 2**20):
        found = limits_of(descriptors)
        # Connections, those just accepted, and as many that are being closed.
        assert found.connections + 2 * found.backlog + FILES <= descriptors
        assert LEAST <= found.connections <= MOST and found.backlog >= 1
    with pytest.raises(UsageError, match=r"limit of open files is 30.*ulimit -n"):
        limits_of(30)


@pytest.mark.parametrize(
    "content, said",
    [(b"\xff\xfe" + b"a" * 20, "is no text in UTF-8: byte 0"), ("é".encode() * 20, "no header")],
)
def test_a_token_that_cannot_be_one_is_refused(tmp_path, content, said):
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=said):
        cli.main(["serve", "--token-file", str(file)], standalone_mode=False)
