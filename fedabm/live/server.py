"""`live(...)` serves the page to whoever has the token of its address.  Nothing is asked of the network."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
import warnings
import webbrowser
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import matplotlib as mpl
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from nicegui import run, ui
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from fedabm.common.errors import InputError
from fedabm.live.page import Page
from fedabm.live.run_choice import RunChoice, source_of
from fedabm.live.setup import Setup, read_setup, scenarios
from fedabm.simulation.scenario import Scenario

__all__ = ["Served", "live"]

#: addresses that only this machine can reach
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
#: browsers tell all ports of a machine the same cookies, so that each page has one of its own
_COOKIE = "fedabm-token-{port}"
#: seconds within which the page must be there
_PATIENCE = 60.0
#: seconds for which a visitor who is gone may come back to the same run
_RETURN = 60.0


class Served:
    """A page that is being served, at `url`; `stop()` ends it."""

    def __init__(self, server: uvicorn.Server, listening: socket.socket, url: str) -> None:
        self._server = server
        self._listening = listening
        self.url = url
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        self._server.run(sockets=[self._listening])

    def start(self) -> Served:
        """Serve in the background, and return when the page is there."""
        self._thread.start()
        end = time.monotonic() + _PATIENCE
        while not self._server.started and self._thread.is_alive() and time.monotonic() < end:
            time.sleep(0.02)
        if not self._server.started:
            raise InputError("the page could not be served; see the messages above")
        return self

    def wait(self) -> None:
        """Until somebody stops it."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def stop(self, patience: float | None = None) -> None:
        """End it, and wait until it has ended, at most this many seconds (None: as long as it takes)."""
        self._server.should_exit = True
        self._thread.join(patience)
        run.process_pool = None  # NiceGUI has shut it down, or will not; its semaphores go with it


def live(
    what: str | Path | Scenario,
    mechanisms: Sequence[str] = (),
    *,
    settings: Sequence[str] = (),
    seed: int = 0,
    host: str = "127.0.0.1",
    port: int = 8080,
    out: str | Path = "results",
    browser: bool = True,
    block: bool = True,
) -> Served:
    """Serve the page of a scenario, a study, a game or a state that was saved, until Ctrl-C.

    Parameters
    ----------
    what : str | Path | Scenario
        A scenario by name, a TOML file, a saved state, or a `Scenario`.
    mechanisms : Sequence[str], optional
        One, or two side by side (default: the first two of the source's own).
    settings : Sequence[str], optional
        Parameters of a script, as key=value.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.
    host : str, optional
        Who can reach it; everybody needs the token, which is part of the address that is printed.
    port : int, optional
        The first free one from here on; 0: any.
    out : str | Path, optional
        The folder into which visitors save.
    browser : bool, optional
        Whether to open the page there.
    block : bool, optional
        False: serve in the background and return at once.

    Returns
    -------
    Served
        What serves the page, to be closed.
    """
    state = read_setup(what) if isinstance(what, str | Path) and str(what).endswith(".toml") else None
    if state is not None:
        what, settings = state.source, state.settings
    source = source_of(what, settings, mechanisms)
    usual = state or Setup(_chosen(source, mechanisms), seed=seed)
    scenarios(source, usual)  # what cannot be run is told here, before anything is served
    mpl.use("Agg")  # reports are drawn in a thread
    warnings.filterwarnings("ignore", "`torch.distributed.reduce_op`", FutureWarning)  # NiceGUI looks at all objects
    token, listening = secrets.token_urlsafe(24), _listen(host, port)
    name, number = f"[{host}]" if ":" in host else host, listening.getsockname()[1]
    app = _app(source, usual, Path(out))
    if host in _LOOPBACK:  # a page of another name that leads here must not speak to this one
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost", "[::1]"])
    app.add_middleware(_TokenOnly, token=token, cookie=_COOKIE.format(port=number))
    served = Served(_server(app), listening, f"http://{name}:{number}/?token={token}").start()
    print(f"The page is at {served.url} (Ctrl-C ends it)", flush=True)
    if browser:
        webbrowser.open(served.url)
    if block:
        try:
            served.wait()
        except KeyboardInterrupt:
            served.stop()
    return served


def _chosen(source: RunChoice, mechanisms: Sequence[str]) -> tuple[str, ...]:
    """The mechanisms that are shown first."""
    if not mechanisms:
        return tuple(source.mechanisms)[:2]
    made = {repr(one): label for label, one in source.mechanisms.items()}
    return tuple(one if one in source.mechanisms else made.get(one, one) for one in mechanisms)


def _app(source: RunChoice, usual: Setup, out: Path) -> FastAPI:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    worker = ThreadPoolExecutor(1)

    @app.get("/reports/{name}")
    def report(name: str) -> Response:
        """A report that a visitor has saved."""
        file = _saved(out, name)
        return FileResponse(file) if file else PlainTextResponse("There is no such report.", 404)

    @ui.page("/")
    def page(request: Request) -> None:
        shown = Page(source, usual, request.url.query, worker, out)
        ui.context.client.on_delete(shown.close)

    ui.run_with(app, title="fedabm live", tailwind=False, show_welcome_message=False, reconnect_timeout=_RETURN)
    return app


def _saved(out: Path, name: str) -> str | None:
    """The report in a folder of that name right below `out`, nowhere else, also not by way of a link."""
    home = os.path.realpath(out)
    file = os.path.realpath(out / name / "report.html") if "\0" not in name else ""
    inside = os.path.dirname(os.path.dirname(file)) == home
    return file if inside and os.path.isfile(file) else None


class _TokenOnly:
    """Lets nobody in who does not bring the token: in the address once, in a cookie from then on.

    What a browser says of the page that asks, its origin, must be this page: no other one may use the visitor's cookie.
    """

    def __init__(self, app: ASGIApp, token: str, cookie: str) -> None:
        self._app, self._token, self._cookie = app, token, cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        visitor = HTTPConnection(scope)
        if self._is(visitor.cookies.get(self._cookie, "")) and not _from_elsewhere(visitor):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif self._is(visitor.query_params.get("token", "")):
            rest = [pair for pair in parse_qsl(visitor.url.query) if pair[0] != "token"]
            answer = RedirectResponse(f"?{urlencode(rest)}", 303)
            answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            await answer(scope, receive, send)
        else:
            words = "This page needs the token: open the address that fedabm live has printed.\n"
            await PlainTextResponse(words, 403)(scope, receive, send)

    def _is(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._token.encode())


def _from_elsewhere(visitor: HTTPConnection) -> bool:
    """Whether another page asks; where nothing is said of it, as when an address is opened, it does not."""
    origin = visitor.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc.lower() != visitor.headers.get("host", "").lower()


def _server(app: FastAPI) -> uvicorn.Server:
    # Without pings of its own, which would take visitors of a busy machine for gone after 20 s: those of Socket.IO,
    # which waits as long as a visitor may come back, are enough.
    return uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, ws_ping_interval=None))


def _listen(host: str, port: int) -> socket.socket:
    """A socket at the first free port from `port` on."""
    if not 0 <= port <= 65535:
        raise InputError(f"port must be from 0 to 65535, got {port}; give for instance --port 8080")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in [port] if port == 0 else range(port, min(port + 20, 65536)):
        listening = socket.socket(family)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
            return listening
        except OSError as error:
            listening.close()
            reason = error.strerror or str(error)
    raise InputError(f"nothing can be served at {host}:{port} ({reason}); give another --host or --port")
