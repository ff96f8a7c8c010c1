"""Headless Chromium for tests, by its DevTools protocol over two pipes: no driver, no port, no further package."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.waiting import PATIENCE

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

_FLAGS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-sync"),
    *("--disable-extensions", "--hide-scrollbars", "--mute-audio", "--force-device-scale-factor=1"),
    "--host-resolver-rules=MAP * ~NOTFOUND",  # as if without a network
)

#: the protocol reads from 3 and writes to 4.  A process of its own puts the pipes there: in a fork of this one, what is
#: collected as garbage may close these two
_START = """
import os, sys
theirs, path = [os.dup(int(one)) for one in sys.argv[1:3]], sys.argv[3]
for one, number in zip(theirs, (3, 4)):
    os.dup2(one, number)
    os.set_inheritable(number, True)  # also where it was there already
os.execv(path, sys.argv[3:])
"""


class Browser:
    """One page in one browser; `events` holds all that it told."""

    def __init__(self, width: int = 1280, height: int = 900, patience: float = PATIENCE) -> None:
        self.events: list[dict[str, Any]] = []
        self._size, self._patience, self._count, self._rest, self._session = (width, height), patience, 0, b"", ""

    def __enter__(self) -> Browser:
        assert CHROMIUM is not None
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()

        width, height = self._size
        flags = [*_FLAGS, f"--user-data-dir={self._home.name}", f"--window-size={width},{height}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-c", _START, str(theirs_in), str(theirs_out), CHROMIUM, *flags],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._home.cleanup()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, file: Path) -> None:
        """Open a file and wait until it is loaded and drawn."""
        before = len(self.events)
        self.ask("Page.navigate", url=file.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events[before:]):
            self.events.append(self._read())
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def resize(self, width: int, height: int = 900) -> None:
        """Show the page as on a screen of that size."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, file: Path) -> None:
        """The whole page as a PNG file."""
        answer = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(answer["data"]))

    @property
    def requests(self) -> list[str]:
        """The addresses that the page asked for."""
        asked = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in asked]

    @property
    def complaints(self) -> list[str]:
        """What was logged, printed to the console or thrown."""
        kinds = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Network.loadingFailed")
        return [json.dumps(event["params"]) for event in self.events if event.get("method") in kinds]

    def _read(self) -> dict[str, Any]:
        end = time.monotonic() + self._patience
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"Chromium said nothing for {self._patience:g} s"
            got = os.read(self._in, 2**20)
            assert got, "Chromium ended"
            self._rest += got
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)
