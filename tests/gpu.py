"""For the owner of a GPU: `python -m tests.gpu` (some minutes).

Verifies that training and whole federations come to the same numbers on the processor and on the GPU, up to rounding,
and that nothing leaves the GPU but a few small tables a round; measures rounds on both, on all GPUs together where
there are several; and writes what it found to `gpu-record.json`, which names no person and no machine and can be sent
to us.  Exits with 1 if anything is not as it should be, and with 2 where there is no GPU; `--device cpu` tries the
command without one, `--device cpu cpu` as if there were two.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fedabm import Federation
from fedabm.common.errors import FedabmError
from fedabm.common.files import write
from fedabm.common.sources import code_of
from fedabm.learning import SGD, AdamW, Engine
from fedabm.learning.engine.flat import nudged
from fedabm.learning.engine.host import counted, pull
from fedabm.learning.language.adapters import Adapted, Adapter
from fedabm.papers.ledger.recording import machine_words
from fedabm.results.frames import versions
from tests.benchmarks.training import BATCH, CASES, RATE, SAMPLES, Case, data_of, timed
from tests.cluster import CASES as FEDERATIONS
from tests.cluster import FRAMES, SIZES, tables
from tests.learning.plain import random_data
from tests.learning.small_models import owned, small

#: how far cells of tables may lie apart, in parts of 1 or of themselves
TOLERANCE = 1e-3
#: models may lie as far apart as training takes first models that differ by this much; found with the smaller, on the
#: processor, since training magnifies what is small alike
ROUNDING, NUDGE = 1e-5, 1e-6
#: tables that may leave the device in a round, whatever the number of owners
IN_A_ROUND = 10
#: owners whose rounds are measured
MEASURED = {"logistic": 100, "mlp": 1000, "small_cnn": 200, "cifar_cnn": 60}
#: networks whose training is verified, with the shape of a sample
NETWORKS = {"logistic": (20,), "mlp": (784,), "small_cnn": (1, 28, 28), "resnet20": (3, 32, 32)}
#: what differs between equal runs on two devices
WHERE = ["machine"]
_FORMAT = "fedabm gpu record 1"
#: operators that wait for the device, beside copies to the host
_WAITS = ("_local_scalar_dense", "nonzero", "masked_select", "equal")

Row = dict[str, Any]


class Crossings(TorchDispatchMode):
    """What goes between host and device meanwhile, how often and how many bytes, and how often the host waits."""

    def __init__(self) -> None:
        super().__init__()
        self.to_host = self.to_host_bytes = 0
        self.to_device = self.to_device_bytes = 0
        self.waits = 0

    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = operator(*args, **(kwargs or {}))
        name = operator.overloadpacket.__name__
        if name in ("_to_copy", "copy_"):
            source, target = (args[0], found) if name == "_to_copy" else (args[1], args[0])
            self._note(source, target)
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        masked = name == "index" and any(tensor.dtype == torch.bool for tensor in tensors[1:])
        if (name in _WAITS or masked) and any(tensor.device.type != "cpu" for tensor in tensors):
            self.waits += 1
        return found

    def _note(self, source: Tensor, target: Tensor) -> None:
        if source.device.type == target.device.type:
            return
        amount = source.element_size() * source.nelement()
        if target.device.type == "cpu":
            self.to_host, self.to_host_bytes = self.to_host + 1, self.to_host_bytes + amount
        else:
            self.to_device, self.to_device_bytes = self.to_device + 1, self.to_device_bytes + amount

    def row(self) -> Row:
        """All counts."""
        names = ("to_host", "to_host_bytes", "to_device", "to_device_bytes", "waits")
        return {name: getattr(self, name) for name in names}


class Verdict:
    """Prints what was found, and remembers whether all was as it should be."""

    def __init__(self) -> None:
        self.good = True

    def judge(self, what: str, fine: bool, found: str) -> bool:
        """Print one finding."""
        self.good &= fine
        print(f"  {'met' if fine else 'MISSED'}: {what}: {found}", flush=True)
        return fine


def main(words: Sequence[str] | None = None) -> int:
    """Verify, measure and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", nargs="*", default=[], help="by default all GPUs; cpu tries the command without")
    parser.add_argument("--out", type=Path, default=Path("gpu-record.json"), metavar="FILE")
    parser.add_argument("--repeats", type=int, default=5, help="rounds of which the median counts")
    parser.add_argument("--quick", action="store_true", help="few owners and rounds, to try the command")
    options = parser.parse_args(words)
    devices = options.device or gpus()
    if not devices:
        print(f"no GPU that PyTorch {torch.__version__} can use; `--device cpu` tries this command without one")
        return 2
    verdict, began = Verdict(), time.perf_counter()
    try:
        with exact():
            verified = [*verify_training(devices, verdict, quick=options.quick), *verify_tables(devices[0], verdict)]
        measured = benchmark(devices, 1 if options.quick else options.repeats, quick=options.quick)
    except FedabmError as error:
        print(error, file=sys.stderr)
        return 2
    found: Row = {
        "verified": verified,
        "benchmarks": measured,
        "met": verdict.good,
        "tolerance": TOLERANCE,
        "rounding": ROUNDING,
    }
    found = {**facts(devices), "quick": options.quick, **found, "seconds": round(time.perf_counter() - began, 1)}
    write(options.out, json.dumps(sealed(found), indent=1).encode())
    print(f"wrote {options.out}; {'all as it should be' if verdict.good else 'NOT all is as it should be'}")
    return 0 if verdict.good else 1


def gpus() -> list[str]:
    """All GPUs that PyTorch can use."""
    if torch.cuda.is_available():
        return [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    return ["mps"] if torch.backends.mps.is_available() else []


@contextmanager
def exact() -> Iterator[None]:
    """Products in full float32: GPUs otherwise round factors to ten bits in convolutions."""
    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = before


def verify_training(devices: list[str], verdict: Verdict, *, quick: bool) -> list[Row]:
    """Local training of every kind of network: the models, and what crosses meanwhile."""
    print(f"training on the processor and on {', '.join(devices)}")
    rows = [_trained(name, devices, verdict) for name in (list(NETWORKS)[:2] if quick else NETWORKS)]
    if find_spec("transformers") is None:
        print("  left out: adapters of a language model; pip install 'fedabm[llm]'")
        return rows
    with tempfile.TemporaryDirectory() as folder:
        base = small(Path(folder), "causal")
    data, how = owned(base, owners=4), {"steps": 3, "batch": 4, "optimiser": AdamW(0.05)}
    made = [
        Engine(Adapted(base, Adapter(rank=2, last=1), answers=2), data, device=name) for name in ("cpu", devices[0])
    ]
    models = [engine.train(engine.initial(0), data.capacities, **how) for engine in made]
    with nudged(NUDGE):
        moved = made[0].train(made[0].initial(0), data.capacities, **how)
    row = _compared("adapters", models, moved, made[0].initial(0), verdict)
    return [*rows, row]


def _compared(case: str, models: Sequence[Tensor], moved: Tensor, start: Tensor, verdict: Verdict) -> Row:
    """How far models of processor and device lie apart, in parts of what was learned, and how far they may."""
    apart, allowed = _apart(*models, start), max(ROUNDING, ROUNDING / NUDGE * _apart(models[0], moved, start))
    verdict.judge(f"{case}, models", apart <= allowed, f"{apart:.1e} of what was learned, rounding may {allowed:.1e}")
    return {"case": case, "apart": apart, "allowed": allowed, "cpu": _digest(models[0]), "device": _digest(models[1])}


def _trained(name: str, devices: list[str], verdict: Verdict) -> Row:
    data = random_data(NETWORKS[name], classes=10, sizes=SIZES, tests=(4,) * len(SIZES))
    how: Any = {"steps": 5, "batch": 5, "optimiser": SGD(0.05, momentum=0.5)}
    alone, there = (Engine(name, data, device=device) for device in ("cpu", devices[0]))
    models, start = [alone.train(alone.initial(0), data.capacities, **how)], there.initial(0)
    with Crossings() as crossed, counted() as pulled:
        models.append(there.train(start, data.capacities, **how))
        there.evaluate(models[1])
    with nudged(NUDGE):
        moved = alone.train(alone.initial(0), data.capacities, **how)
    row = _compared(name, models, moved, alone.initial(0), verdict) | crossed.row()
    out = crossed.to_host + crossed.waits + pulled.times
    verdict.judge(
        f"{name}, pulled while owners train", out == 0, f"{out} times ({crossed.to_device} copies went there)"
    )
    if len(devices) > 1:
        spread = Engine(name, data, device=devices)
        models[1] = spread.train(spread.initial(0), data.capacities, **how)
        row["all"] = _compared(f"{name} on all devices", models, moved, alone.initial(0), verdict)
    return row


def _apart(one: Tensor, other: Tensor, start: Tensor) -> float:
    """How far models lie apart at most, in parts of the farthest way that any has gone."""
    known, found, begun = (pull(part).astype(float) for part in (one, other, start))
    return float(np.abs(found - known).max() / np.abs(known - begun).max())


def verify_tables(device: str, verdict: Verdict) -> list[Row]:
    """Whole federations, by rules and exchanges of every kind: their tables, and what crosses in a round."""
    print(f"tables of federations on the processor and on {device}")
    found = []
    for name, make in FEDERATIONS.items():
        data = random_data((20,), classes=3, sizes=SIZES, tests=(4,) * len(SIZES))
        alone, there = (Federation(make(Engine("tiny_mlp", data, device=place))) for place in ("cpu", device))
        there.step()
        with Crossings() as crossed, counted() as pulled:
            there.step()
        expected, got = (_tables(model) for model in (alone, there))
        apart, where = difference(expected, got)
        verdict.judge(f"{name}, tables", apart <= TOLERANCE, f"{apart:.1e}" + (f" ({where})" if apart else ""))
        fine = pulled.times <= IN_A_ROUND and crossed.to_host <= pulled.times
        verdict.judge(f"{name}, pulled in a round", fine, f"{pulled.times} times, {pulled.bytes} bytes")
        row: Row = {"case": name, "apart": apart, "where": where, "pulled": pulled.times, "pulled_bytes": pulled.bytes}
        with nudged(NUDGE):
            moved = Federation(make(Engine("tiny_mlp", data, device="cpu"))).run()
        begun = Engine("tiny_mlp", data, device="cpu").initial(1)
        row["model"] = _compared(name, [_model(alone), _model(there)], _model(moved), begun, verdict)
        found.append({**row, **crossed.row(), "cpu": _content(expected), "device": _content(got)})
    return found


def _model(model: Federation) -> Tensor:
    """What all have learned together, or the first owner alone."""
    exported = model.export_model(0 if model.makes_models == "own" else None)
    return torch.cat([parameter.detach().flatten() for parameter in exported.parameters()])


def _tables(model: Federation) -> dict[str, pd.DataFrame]:
    return {name: table.drop(columns=WHERE, errors="ignore") for name, table in tables(model.run()).items()}


def difference(one: dict[str, pd.DataFrame], other: dict[str, pd.DataFrame]) -> tuple[float, str]:
    """How far tables lie apart at most, and in which column; infinitely if they differ in anything but numbers."""
    worst, where = 0.0, ""
    for name in FRAMES:
        known, found = one[name], other[name]
        if known.shape != found.shape or list(known) != list(found):
            return float("inf"), f"the shape of {name}"
        for column in known:
            apart = _cells(known[column], found[column])
            if apart > worst:
                worst, where = apart, f"{name}.{column}"
    return worst, where


def _cells(known: pd.Series, found: pd.Series) -> float:
    if not (pd.api.types.is_numeric_dtype(known) and pd.api.types.is_numeric_dtype(found)):
        return 0.0 if known.astype(str).equals(found.astype(str)) else float("inf")
    a, b = (part.to_numpy(dtype=float, na_value=np.nan) for part in (known, found))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(a - b) / np.maximum(1.0, np.abs(a)))
    return float(np.where(np.isnan(apart), np.inf, apart).max(initial=0.0))


def benchmark(devices: list[str], repeats: int, *, quick: bool) -> list[Row]:
    """Seconds of a round on the processor, on the first GPU in both precisions, and on all of them."""
    print(f"rounds of {SAMPLES} samples per owner in batches of {BATCH}, medians of {repeats}")
    found = []
    for name, owners in MEASURED.items():
        if quick and name in ("small_cnn", "cifar_cnn"):
            continue
        case = CASES[name]
        data = data_of(case, owners // 10 if quick else owners)
        ways: dict[str, Row] = {
            "cpu": {"device": "cpu"},
            devices[0]: {"device": devices[0]},
            "bfloat16": {"device": devices[0], "precision": "bfloat16"},
        }
        ways |= {"all": {"device": devices}} if len(devices) > 1 else {}
        row: Row = {"network": name, "owners": data.owners, "seconds": {}, "peak_bytes": {}}
        for way, how in ways.items():
            row["seconds"][way], row["peak_bytes"][way] = _seconds(case, data, how, repeats)
        found.append(row)
        spent = ", ".join(f"{way} {seconds:.4f} s" for way, seconds in row["seconds"].items())
        print(f"  {name}, {data.owners} owners: {spent}", flush=True)
    return found


def _seconds(case: Case, data: Any, how: Row, repeats: int) -> tuple[float, int | None]:
    """The median time of a round, and the most memory of a GPU."""
    engine = Engine(case.network, data, **how)
    start, number = engine.initial(0), iter(range(10**9))

    def work() -> None:
        given = {"epochs": 1, "batch": BATCH, "optimiser": SGD(RATE), "round": next(number)}
        pull(engine.train(start, data.capacities, **given)[:1, :1])  # waits for the device

    timer = timed(work)
    on_gpu = engine.device.type == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(engine.device)
    timer()
    times = [timer() for _ in range(repeats)]
    return float(np.median(times)), torch.cuda.max_memory_allocated(engine.device) if on_gpu else None


def facts(devices: list[str]) -> Row:
    """What it was measured on, without the names of people and machines."""
    packages = {name: version(name) for name in ("torch", "pandas", "ray", "transformers") if find_spec(name)}
    return {
        "versions": {**versions(), **packages, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()},
        "code": code_of("fedabm.learning.engine.engine", "fedabm.simulation.model"),
        "machine": machine_words() | {"threads": torch.get_num_threads(), "load": round(os.getloadavg()[0], 1)},
        "devices": [_device_words(name) for name in devices],
    }


def _device_words(name: str) -> Row:
    if not name.startswith("cuda"):
        return {"device": name}
    found = torch.cuda.get_device_properties(name)
    return {
        "device": name,
        "name": found.name,
        "memory": found.total_memory,
        "capability": f"{found.major}.{found.minor}",
        "processors": found.multi_processor_count,
    }


def sealed(record: Row) -> Row:
    """With the format, and the SHA-256 of all else, by which we see that it arrived whole."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return {"format": _FORMAT, "sha256": hashlib.sha256(text.encode()).hexdigest(), **record}


def _digest(models: Tensor) -> str:
    return hashlib.sha256(pull(models.contiguous()).tobytes()).hexdigest()[:32]


def _content(found: dict[str, pd.DataFrame]) -> str:
    """The digest of tables, to the last bit of every number."""
    sha = hashlib.sha256()
    for name in FRAMES:
        sha.update(found[name].to_csv(index=False, float_format="%.17g").encode())
    return sha.hexdigest()[:32]


if __name__ == "__main__":
    sys.exit(main())
