"""Who is let in, and what is said where the page cannot be served."""

import socket
import sys

import pytest

pytest.importorskip("nicegui", reason="NiceGUI is not installed; pip install 'fedabm[live]'")

from fastapi import FastAPI
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

import fedabm.live
from fedabm.cli import main
from fedabm.common.errors import InputError
from fedabm.live import server


def guarded() -> TestClient:
    app = FastAPI()

    @app.get("/inside")
    def inside() -> str:
        return "secret"

    app.add_middleware(server._TokenOnly, token="right")
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
    assert fedabm.live.__name__ == "fedabm.live"
    assert main(["live", "free_riding", "--no-browser"]) == 2
    said = capsys.readouterr().err
    assert "pip install 'fedabm[live]'" in said
    assert said.count("\n") == 1
