"""Who is let in, and what is said where the page cannot be served."""

import asyncio
import re
import signal
import socket
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("nicegui", reason="NiceGUI is not installed; pip install 'fedabm[live]'")

import httpx
from fastapi import FastAPI, WebSocket
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

import fedabm.live
from fedabm.cli import main
from fedabm.common.errors import InputError
from fedabm.live import page, server
from tests.waiting import PATIENCE


def guarded() -> TestClient:
    app = FastAPI()

    @app.get("/inside")
    def inside() -> str:
        return "secret"

    @app.websocket("/socket")
    async def talk(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text("secret")

    app.add_middleware(server._TokenOnly, token="right", cookie="mine")
    return TestClient(app, follow_redirects=False)


def test_the_token_is_asked_for_once_and_kept_in_a_cookie():
    visitor = guarded()
    assert visitor.get("/inside").status_code == 403
    assert visitor.get("/inside?token=righ").status_code == 403
    with pytest.raises(WebSocketDisconnect), visitor.websocket_connect("/inside"):
        pass
    let_in = visitor.get("/inside?token=right&step=3")
    assert (let_in.status_code, let_in.headers["location"]) == (303, "?step=3")
    assert "httponly" in let_in.headers["set-cookie"].lower()
    assert "samesite=strict" in let_in.headers["set-cookie"].lower()
    assert visitor.get("/inside").json() == "secret"


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://testserver.evil.example", "null", "http://testserver:1"]
)
def test_a_page_of_another_origin_may_not_use_the_visitors_cookie(origin):
    visitor = guarded()
    visitor.get("/inside?token=right")
    assert visitor.get("/inside", headers={"origin": "http://testserver"}).status_code == 200
    assert visitor.get("/inside", headers={"origin": origin}).status_code == 403
    with visitor.websocket_connect("/socket", headers={"origin": "http://testserver"}) as socket:
        assert socket.receive_text() == "secret"
    with pytest.raises(WebSocketDisconnect), visitor.websocket_connect("/socket", headers={"origin": origin}):
        pass


def test_reports_are_read_in_their_own_folder_only(tmp_path):
    out = tmp_path / "out"
    for place in (tmp_path, tmp_path / "beside", out, out / "live-x", out / "live-x" / "deeper"):
        place.mkdir(exist_ok=True)
        (place / "report.html").write_text(str(place))
    (out / "link").symlink_to(tmp_path / "beside")
    (out / "live-y").mkdir()
    (out / "live-y" / "report.html").symlink_to(tmp_path / "report.html")
    assert server._saved(out, "live-x") == str(out / "live-x" / "report.html")
    hostile = [
        "..",
        ".",
        "",
        "../beside",
        "live-x/deeper",
        "link",
        "live-y",
        "live-x/..",
        "x" * 300,
        "live-x\0",
        "/etc",
    ]
    assert [name for name in hostile if server._saved(out, name)] == []


def printed_address(process: subprocess.Popen) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stdout.readline())
    assert found
    return found[0]


#: a study with a thread that is at work for ever, as a model that trains
BUSY = """
import threading, time
from fedabm.scenarios.free_riding import run
threading.Thread(target=time.sleep, args=(600,)).start()
"""


def test_ctrl_c_ends_the_page_with_one_line_whatever_is_at_work(tmp_path):
    (tmp_path / "busy.py").write_text(BUSY)
    command = [sys.executable, "-m", "fedabm", "live", "busy.py", "--port", "0", "--no-browser"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    listens = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # ignored in the background of some shells
    with subprocess.Popen(command, cwd=tmp_path, preexec_fn=listens, **pipes) as process:
        address = printed_address(process)
        bare = httpx.get(address.partition("?")[0], timeout=PATIENCE)
        assert bare.status_code == 403  # also on this machine
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130
    assert said == "fedabm: the page has ended; what was saved is in results\n"


def test_memory_is_given_back_when_visitors_have_gone():
    command = [sys.executable, "-m", "tests.live.visitors", "--visitors", "8"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_clock_alone_says_when_a_visitor_is_gone():
    """That of Socket.IO, with as much patience as there is for coming back; the web server's own would take 20 s."""
    assert server._server(FastAPI()).config.ws_ping_interval is None


def test_memory_is_asked_for_again_while_something_still_knows_the_page(monkeypatch):
    """As on a busy machine, where what was at work on it ends late."""

    class Kept:
        pass

    kept, asked = [Kept()], []

    def collect() -> None:
        asked.append(len(kept))
        if len(asked) == 3:
            kept.clear()

    monkeypatch.setattr(page, "give_back", collect)
    monkeypatch.setattr(page, "_SOON", 1e-3)
    with ThreadPoolExecutor(1) as worker:
        asyncio.run(page._forget([weakref.ref(kept[0])], worker))
    assert asked == [1, 1, 1]


def test_a_port_that_is_taken_is_passed_over():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with server._listen("127.0.0.1", number) as found:
            assert found.getsockname()[1] > number
    with pytest.raises(InputError, match="port must be from 0 to 65535"):
        server._listen("127.0.0.1", -1)


def test_what_cannot_be_shown_is_told_before_anything_is_served(capsys):
    assert main(["live", "free_riding", "--mechanism", "shapley_shar", "--no-browser"]) == 2
    assert "did you mean 'shapley_share'" in capsys.readouterr().err


def test_without_the_extra_one_line_says_what_to_install(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith(("nicegui", "fedabm.live."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "nicegui", None)
    monkeypatch.delitem(vars(fedabm.live), "live", raising=False)  # what was imported before is kept there
    assert fedabm.live.__name__ == "fedabm.live"
    assert main(["live", "free_riding", "--no-browser"]) == 2
    said = capsys.readouterr().err
    assert "pip install 'fedabm[live]'" in said
    assert said.count("\n") == 1
