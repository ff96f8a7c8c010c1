"""Checkpoints with a right checksum that no run has written: a catalogue of what a forger might try."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fedabm.simulation.header import checksum
from fedabm.simulation.state import _PARTS, _VALUES, _WHOLE

Forgery = Callable[["Forged"], None]


@dataclass
class Forged:
    """A checkpoint taken apart: its first line, its nodes, and the numbers behind them."""

    head: dict[str, Any]
    root: Any
    nodes: list[Any]
    numbers: bytes
    #: a file of Python that must not be run
    evil: str

    @classmethod
    def of(cls, content: bytes, evil: str) -> Forged:
        head, text, numbers = content.split(b"\n", 2)
        found = json.loads(text)
        return cls(json.loads(head), found["root"], found["nodes"], numbers, evil)

    def content(self) -> bytes:
        """The file, with the checksum that it must have."""
        text = json.dumps({"root": self.root, "nodes": self.nodes}, separators=(",", ":"))
        return self.signed(text.encode() + b"\n" + self.numbers)

    def signed(self, body: bytes) -> bytes:
        told = {name: value for name, value in self.head.items() if name != "checksum"}
        return json.dumps({**told, "checksum": checksum(told, body)}).encode() + b"\n" + body

    def add(self, *node: Any) -> list[int]:
        """One more node; what stands for it."""
        self.nodes.append(list(node))
        return [len(self.nodes) - 1]

    def dict(self, **items: Any) -> list[int]:
        return self.add("dict", [[name, value] for name, value in items.items()])

    def node(self, *path: str) -> list[Any]:
        """The node at a path of keys and attributes, for instance ("parts", "population")."""
        found = self.nodes[self.root[0]]
        for step in path:
            content = dict(found[1]) if found[0] == "dict" else found[2]
            found = self.nodes[content[step][0]]
        return found

    def put(self, value: Any, *path: str) -> None:
        """Put something at a path, in place of what is there or beside it."""
        *above, name = path
        found = self.node(*above)
        if found[0] == "object":
            found[2][name] = value
        else:
            found[1] = [item for item in found[1] if item[0] != name] + [[name, value]]

    def drop(self, *path: str) -> None:
        """Take away what is at a path."""
        *above, name = path
        found = self.node(*above)
        if found[0] == "object":
            del found[2][name]
        else:
            found[1] = [item for item in found[1] if item[0] != name]

    def target(self) -> list[int]:
        """What ran code in the first forgery that was seen."""
        state = {"kind": "function", "where": f"{self.evil}:X", "name": "x"}
        return self.add("object", "fedabm.sweep.targets:Target", state)

    def function(self) -> list[int]:
        """A function that the scenario holds."""
        return self.add("given", ["columns", 0, "value"])


def hostile(forged: Forged, kind: int) -> Any:
    """Things that no checkpoint may hold, wherever they stand."""
    target = forged.target()
    names = [
        *("fedabm.sweep.executors:threading.Thread", "threading:Thread", "subprocess:Popen", "functools:partial"),
        *("fedabm.sweep.executors:LocalExecutor", "fedabm.sweep.targets:Target", "fedabm.study.study:Study"),
        *("fedabm.common.files:os", "fedabm.simulation.checkpoint:Keeper", "fedabm.simulation.model:Federation"),
        *("fedabm.simulation.agents:Owner", "fedabm.simulation.agents:Server", "fedabm.mechanisms.base:Mechanism"),
        *("fedabm.learning.engine.engine:Engine", "fedabm.games.curves:Along", "fedabm.views.reports:TermsCache"),
        *("fedabm.simulation.checkpoint:replace", "fedabm.simulation.model:Recorder", "fedabm.strategies:Random"),
        *("fedabm.results.columns:Column", "fedabm.simulation.population:Population.__init__", "builtins:object"),
        *("tempfile:TemporaryDirectory", "weakref:finalize", "types:SimpleNamespace", "types:FunctionType"),
        *(
            "tests.fuzz.forged_study:Path",
            "tests.fuzz.forging:Forged",
            "numpy:memmap",
            "torch.nn.modules.linear:Linear",
        ),
        *(
            "mesa.model:Model",
            "networkx.classes.graph:Graph",
            "collections:UserDict",
            "evil:X",
            "antigravity:webbrowser",
        ),
    ]
    others: list[Callable[[], Any]] = [
        lambda: forged.add("method", target, "find"),
        lambda: forged.add("method", forged.function(), "__call__"),
        lambda: forged.add("method", forged.add("given", []), "keep"),
        lambda: forged.add("class", "fedabm.sweep.targets:Target"),
        lambda: forged.add("class", "builtins:eval"),
        lambda: forged.add("enum", "enum:Enum", "__class__"),
        lambda: forged.add("enum", "fedabm.simulation.recorder:_Step", "mro"),
        lambda: forged.add("enum", "http:HTTPStatus", "OK"),
        lambda: forged.add("named", "fedabm.simulation.recorder:_Step", [1]),
        lambda: forged.add("named", "builtins:tuple", []),
        lambda: forged.add("subarray", "numpy:memmap", forged.add("array", "|u1", [1], "C", False, [0, 1]), {}),
        lambda: forged.add("given", ["columns", 0, "value", "__globals__"]),
        lambda: forged.add("given", ["__class__"]),
        lambda: forged.add("given", ["mechanism", "settle"]),
        lambda: forged.add("array", "|O", [1], "C", False, [0, 8]),
        lambda: forged.add("array", [["f", "|O"]], [1], "C", False, [0, 8]),
        lambda: forged.add("array", "<f8", [10**15], "C", False, [0, 8]),
        lambda: forged.add("array", "|u1", [-1], "C", False, [-8, 8]),
        lambda: forged.add("array", "|V1000000000000", [1], "C", False, [0, 8]),
        lambda: forged.add("list", [forged.add("bytes", [0, len(forged.numbers)]) for _ in range(1000)]),
        lambda: forged.add("objects", [10**15], []),
        lambda: forged.add("objects", [1], [forged.function()]),
        lambda: forged.add("generator", "default_rng", {}, {}),
        lambda: forged.add("generator", "PCG64", {}, _seeds(pool_size=10**12)),
        lambda: forged.add("generator", "MT19937", _twister(10**9), _seeds()),
        lambda: forged.add("generator", "MT19937", _twister(-5), _seeds()),
        lambda: forged.add("foreign", "nothing", []),
        lambda: forged.add("foreign", "tensor", _tensor(forged, "load", [1])),
        lambda: forged.add("foreign", "tensor", _tensor(forged, "_dynamo", [1])),
        lambda: forged.add("foreign", "tensor", _tensor(forged, "float32", [10**12])),
        lambda: forged.add("foreign", "tensor", _tensor(forged, "float32", [2], strides=[10**11])),
        lambda: forged.add("foreign", "shape", [forged.function()]),
        lambda: forged.add("_fill", 0, "object", "os:system", {}),
        lambda: forged.add("value", 1),
        lambda: forged.add("attributes", target, {}),
        lambda: forged.add("object", "fedabm.learning.oracles.rounds:Rounds", {"__class__": target}),
        lambda: forged.add("object", "fedabm.simulation.cohorts:Facts", {"take": 1.0}),
        lambda: forged.add("object", "fedabm.strategies.simple:Honest", {"act": target}),
        lambda: {"a": 1},
        lambda: _deep(forged, 10**4),
        lambda: _circle(forged),
    ]
    if kind < len(others):
        return others[kind]()
    return forged.add("object", names[(kind - len(others)) % len(names)], {"step": 1, "_target": target})


#: how many hostile things there are
HOSTILE = 80


def _seeds(**changes: Any) -> dict[str, Any]:
    return {"entropy": 1, "spawn_key": [], "pool_size": 4, "n_children_spawned": 0, **changes}


def _twister(place: int) -> dict[str, Any]:
    return {"bit_generator": "MT19937", "state": {"key": [1] * 624, "pos": place}}


def _tensor(forged: Forged, kind: str, shape: list[int], strides: list[int] | None = None) -> list[Any]:
    size = forged.add("tuple", shape)
    numbers = forged.add("array", "|u1", [8], "C", False, [0, 8])
    return [kind, "cpu", size, size, forged.add("tuple", strides or [1]), numbers, forged.add("list", [False, False])]


def _deep(forged: Forged, depth: int) -> Any:
    found = forged.add("list", [])
    for _ in range(depth):
        found = forged.add("list", [found])
    return found


def _circle(forged: Forged) -> Any:
    found = forged.add("tuple", [])
    forged.nodes[found[0]][1] = [found]
    return found


def put(make: Callable[[Forged], Any], *path: str) -> Forgery:
    """Put what is made at a path."""
    return lambda forged: forged.put(make(forged), *path)


_METHODS = {
    "values": ("step", "_user_step", "run", "collect", "decide", "frames", "stream", "status", "__class__", "agents"),
    "parts population": (
        "arrive",
        "begin",
        "turns",
        "apply",
        "present",
        "effort",
        "__class__",
        "__dict__",
        "_put",
        "__len__",
    ),
    "parts recorder": ("keep", "table", "wants", "step_frame", "values", "_make_room"),
    "parts ledger": ("record", "table", "balance", "__init__"),
    "parts treasury": ("pay", "demand", "waiting", "hold"),
    "sight": ("show", "view", "add"),
    "state": ("round", "worth", "model", "accuracy"),
    "known": ("kind", "worth", "scores"),
}


def catalogue() -> Iterator[tuple[str, Forgery]]:
    """All forgeries by name.  None may run code, and none may be gone on with unless it changes nothing."""
    yield from _methods()
    yield from _keys()
    yield from _kinds()
    yield from _agents()
    yield from _others()
    for kind in range(HOSTILE):
        yield f"hostile {kind}, remembered", put(lambda forged, kind=kind: hostile(forged, kind), "memory")
        yield f"hostile {kind}, a column", put(lambda f, kind=kind: hostile(f, kind), "parts", "population", "gain")
        yield f"hostile {kind}, beside", put(lambda f, kind=kind: hostile(f, kind), "parts", "population", "extra")


def _methods() -> Iterator[tuple[str, Forgery]]:
    """In place of methods and properties: a method, a function that is given, an object that can be called, data."""
    ways: dict[str, Callable[[Forged], Any]] = {
        "a method": lambda forged: forged.add("method", forged.target(), "find"),
        "a function": Forged.function,
        "an attack": lambda forged: forged.add(
            "object", "fedabm.games.messages:Tampering", {"change": forged.function(), "who": "x"}
        ),
        "a number": lambda forged: 1,
    }
    for place, names in _METHODS.items():
        for name in names:
            for what, make in ways.items():
                path = (*place.split(), name)
                yield f"{what} as {'.'.join(path)}", put(make, *path)


def _keys() -> Iterator[tuple[str, Forgery]]:
    for name in _VALUES:
        yield f"without {name}", lambda forged, name=name: forged.drop("values", name)
    for name in _PARTS:
        yield f"without the {name}", lambda forged, name=name: forged.drop("parts", name)
    for name in ("_played", "scenario", "server", "datacollector", "random", "rng", "_agents", "seed", "mine"):
        yield f"with {name}", put(lambda forged: forged.dict(), "values", name)
        yield f"with a part {name}", put(lambda forged: forged.dict(), "parts", name)
    for name in ("contribution", "stayed", "_cohorts", "_streams", "cost"):
        yield f"people without {name}", lambda forged, name=name: forged.drop("parts", "population", name)
    for name in ("round", "model", "worth", "spent"):
        yield f"training without {name}", lambda forged, name=name: forged.drop("state", name)
    for name in ("kind", "worth", "error", "since"):
        yield f"knowledge without {name}", lambda forged, name=name: forged.drop("known", name)
    for name in _WHOLE:
        yield f"nothing of {name}", lambda forged, name=name: forged.drop(name)


def _kinds() -> Iterator[tuple[str, Forgery]]:
    """Something else than what is there."""
    wrong: dict[str, Callable[[Forged], Any]] = {
        "text": lambda forged: "x",
        "mapping": lambda forged: forged.dict(step=1),
        "function": Forged.function,
        "mechanism": lambda forged: forged.add("given", ["mechanism"]),
        "scenario": lambda forged: forged.add("given", []),
        "items": lambda forged: forged.add("list", [forged.target()]),
    }
    for what, make in wrong.items():
        for name in _VALUES:
            yield f"{what} as {name}", put(make, "values", name)
        for name in _PARTS:
            yield f"{what} as the {name}", put(make, "parts", name)
        for name in ("contribution", "cost", "strategies", "_cohorts", "_streams", "_recent", "restless", "names"):
            yield f"{what} as people's {name}", put(make, "parts", "population", name)
        for name in ("_kept", "_last", "_stream", "_written"):
            yield f"{what} as records' {name}", put(make, "parts", "recorder", name)
        for name in ("model", "late", "worth", "updates", "round", "memory", "accuracy"):
            yield f"{what} as the {name} in training", put(make, "state", name)
        for name in ("kind", "worth", "scores", "since"):
            yield f"{what} as the {name} that is known", put(make, "known", name)
        for name in sorted(set(_WHOLE) - {"memory"}):
            yield f"{what} as {name} of all", put(make, name)


def _agents() -> Iterator[tuple[str, Forgery]]:
    def seat(name: str, **noted: Callable[[Forged], Any]) -> Forgery:
        def forge(forged: Forged) -> None:
            state = forged.dict(**{key: make(forged) for key, make in noted.items()})
            forged.put(forged.add("dict", [[2, forged.add("tuple", [name, state])]]), "agents")

        return forge

    own = "tests.fuzz.forged_study:Stubborn"
    for name in ("builtins:eval", "os:system", "subprocess:Popen", "fedabm.simulation.agents:Server", "evil:X"):
        yield f"{name} as an owner", seat(name)
    for name in ("decide", "model", "unique_id", "row", "__class__", "strategy", "remove", "__dict__", "contribution"):
        yield f"an owner's {name}", seat(own, **{name: Forged.function})
    yield "an owner of nobody", put(lambda forged: forged.add("dict", [[10**6, None]]), "agents")
    yield (
        "an owner that is a function",
        put(
            lambda forged: forged.add("dict", [[0, forged.add("tuple", [forged.function(), forged.dict()])]]), "agents"
        ),
    )


def _others() -> Iterator[tuple[str, Forgery]]:
    def files(forged: Forged) -> None:
        forged.put(forged.dict(**{"../../../evil.parquet": "x"}), "parts", "recorder", "_stream", "files")

    def collected(forged: Forged) -> None:
        forged.put(forged.add("method", forged.target(), "find"), "collected", "collect")

    def folder(forged: Forged) -> None:
        forged.put("/evil", "parts", "ledger", "_stream", "folder")

    yield "rows of a file elsewhere", files
    yield "a folder elsewhere", folder
    yield "a collector that collects", collected
    yield "a collector's key", put(lambda forged: 1, "collected", "collect")
    yield "beyond the generator", put(lambda forged: forged.dict(**_twister(10**9)), "rng")
    yield "no root", lambda forged: setattr(forged, "root", 1)
    yield "a root beyond", lambda forged: setattr(forged, "root", [10**9])
    yield "no nodes", lambda forged: setattr(forged, "nodes", {})


def mutated(forged: Forged, rng: random.Random) -> str:
    """Put something hostile at a random place of a random node."""
    kind = rng.randrange(HOSTILE)
    places = [(number, where) for number, node in enumerate(forged.nodes) for where in _places(node)]
    number, (holder, key) = rng.choice(places)
    holder[key] = hostile(forged, kind)
    return f"hostile {kind} in node {number}, {forged.nodes[number][0]}, at {key}"


def _places(node: list[Any]) -> list[tuple[Any, Any]]:
    """Where a node names others."""
    what = node[0]
    if what in ("list", "tuple", "set"):
        return [(node[1], place) for place in range(len(node[1]))]
    if what == "dict":
        return [(item, 1) for item in node[1]]
    if what in ("object", "named"):
        content = node[2]
        return [(content, key) for key in (content if isinstance(content, dict) else range(len(content)))]
    return []
