"""Many visitors of the page come and go: what they have seen goes with them.

    python -m tests.live.visitors --visitors 50

They come in two waves.  After each nothing of a run may be left, and the second must not need much more memory than the
first.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import re
import sys
import time
from pathlib import Path

import aiohttp
import socketio
from nicegui import core

from fedabm import Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.live import live, server
from fedabm.live.session import Session
from tests.waiting import PATIENCE

#: seconds of computing that a wave may take, however long they last
WORK = 60.0
#: megabytes by which the second wave may exceed the first
SLACK = 30.0


def memory() -> float:
    """Megabytes in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def sessions() -> int:
    """How many visitors' runs are in memory; nothing is collected here."""
    return sum(type(one) is Session for one in gc.get_objects())


async def visit(http: aiohttp.ClientSession, address: str) -> socketio.AsyncClient:
    """Open the page and its socket, as a browser does."""
    async with http.get(address) as answer:
        text = await answer.text()
    found = re.search(r"client_id\W+([\w-]+)", text)
    assert found, text[:500]
    told = {"client_id": found[1], "tab_id": found[1], "document_id": found[1], "next_message_id": 0}
    query = "&".join(f"{name}={value}" for name, value in {**told, "implicit_handshake": "true"}.items())
    socket = socketio.AsyncClient(http_session=http)
    path, ways = "/_nicegui_ws/socket.io", ["websocket"]
    await socket.connect(f"{address}?{query}", socketio_path=path, transports=ways, wait_timeout=PATIENCE)
    return socket


async def until(count: int) -> int:
    """Wait for this many runs, as long as a busy machine has given little time to make them; how many there are."""
    end, worked = time.monotonic() + PATIENCE, time.process_time() + WORK
    while sessions() != count and (time.monotonic() < end or time.process_time() < worked):
        await asyncio.sleep(0.5)
    return sessions()


async def waves(url: str, visitors: int) -> list[tuple[int, int, float]]:
    """For each wave how many runs there were, how many stayed, and the memory afterwards."""
    seen = []
    address = url.partition("?")[0]
    cookies, patience = aiohttp.CookieJar(unsafe=True), aiohttp.ClientTimeout(PATIENCE)
    async with aiohttp.ClientSession(cookie_jar=cookies, timeout=patience) as http:
        await http.get(url)  # for the cookie
        for _ in range(2):
            core.app.config.reconnect_timeout = PATIENCE  # who is cut off where a machine is busy comes back
            sockets = [await visit(http, address) for _ in range(visitors)]
            come = await until(visitors)
            core.app.config.reconnect_timeout = 1.0
            for socket in sockets:
                await socket.disconnect()
            seen.append((come, await until(0), memory()))
    return seen


def main() -> int:
    """Print what was seen; the exit code says whether anything stayed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--visitors", type=int, default=50)
    visitors = parser.parse_args().visitors
    server._RETURN = PATIENCE
    served = live(Scenario(population([0.1, 0.2], 5.0), PowerLaw()), port=0, browser=False, block=False)
    first, second = asyncio.run(waves(served.url, visitors))
    grown = second[2] - first[2]
    come, stayed = f"{first[0]} and {second[0]}", f"{first[1]} and {second[1]}"
    print(f"{visitors} visitors, twice: {come} runs, {stayed} stayed; {grown:+.1f} MB")
    good = first[:2] == second[:2] == (visitors, 0) and grown < SLACK
    sys.stdout.flush()
    os._exit(0 if good else 1)


if __name__ == "__main__":
    main()
