"""All owners' models as rows of one matrix: train them, judge them.

    engine = Engine("mlp", data)
    start = engine.initial(seed=0)
    models = engine.train(start, contributions, epochs=1, seed=0)            # (n, P)
    loss, accuracy = engine.evaluate(models).numpy()                         # (n, n): every model on every owner's data

An owner's training depends on its own data, contribution and generator only: not on the chunk it is in, nor (up to
rounding) on the way gradients are found.  The inner loop pulls no value to the host and makes no tensor on a fixed
device.  On a GPU, expect the batched path to win for every feed-forward network and chunks to be as large as the memory
allows; recurrent networks go one owner after the other.  Only CPU runs have been measured.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedabm.common import device as devices
from fedabm.common.cluster import Cluster, chosen_cluster
from fedabm.common.cores import cores
from fedabm.common.errors import InputError, check_kind, check_positive, check_whole
from fedabm.common.random import Streams
from fedabm.common.timing import timed
from fedabm.data.federated import FederatedData
from fedabm.learning.engine import (
    stored,  # noqa: F401  so that tensors can be saved
    threads,
)
from fedabm.learning.engine.allocator import keep_memory
from fedabm.learning.engine.augment import CropAndFlip
from fedabm.learning.engine.batched import Network, compile_network
from fedabm.learning.engine.batches import TrainingLength
from fedabm.learning.engine.evaluate import Scores, by_owner, judge
from fedabm.learning.engine.exported import as_module
from fedabm.learning.engine.flat import Layout, initial_row
from fedabm.learning.engine.general import Alone
from fedabm.learning.engine.host import pull
from fedabm.learning.engine.local import (
    ChunkMembers,
    LocalTraining,
    Models,
    OwnerDraws,
    PlannedTraining,
    Trainer,
    as_samples,
)
from fedabm.learning.engine.networks import build, check_fit
from fedabm.learning.engine.optimisers import SGD, Optimiser
from fedabm.learning.engine.sizing import (
    BUSY,
    CACHE_JUDGED,
    IMAGES_JUDGED,
    LARGE,
    SMALL_JUDGED,
    WIDE,
    choose_path,
    chunk_size,
    default_memory,
    even,
    measure,
)
from fedabm.learning.engine.training import DeviceSamples, Proximal
from fedabm.learning.shards.rows import SpreadRows
from fedabm.learning.shards.shards import EngineShards
from fedabm.learning.shards.worker import WorkerSettings

__all__ = ["Engine"]

Owners = Sequence[int] | np.ndarray | None


class Engine:
    """Trains and judges models of one network on one federation's data.

    Parameters
    ----------
    network : str | nn.Module
        A name (see `networks.NETWORKS`) or a module without state.
    data : FederatedData
        The owners' data.
    device : str | Sequence[str], optional
        "auto" (the one that --device names, else a GPU if there is one), or any device of PyTorch; "meta" computes
        shapes only.  Several devices, such as ["cuda:0", "cuda:1"], train chunks of owners in turn.
    memory_limit : float | None, optional
        Bytes that models and training may take; by default half of the memory, or of a GPU's free memory this
        worker's part.
    path : str, optional
        How gradients are found: "auto", "batched", "vmap" or "serial"; see `work`.
    chunk : int | None, optional
        How many owners to train at once; by default what fits (the serial path takes one).
    precision : str, optional
        In which numbers gradients are found: "float32", or "bfloat16" with the weights in float32; "auto" is what
        --precision names, else float32.  Models are judged in float32 in any case.
    workers : int | Cluster | None, optional
        Among how many workers of a Ray cluster owners are dealt; a number starts one on this machine, and with 0 owners
        stay in this process.  None: what --cluster says, else 0.
    """

    @timed("handing data to the engine")
    def __init__(
        self,
        network: str | nn.Module,
        data: FederatedData,
        device: str | Sequence[str] = "auto",
        memory_limit: float | None = None,
        path: str = "auto",
        chunk: int | None = None,
        precision: str = "auto",
        workers: int | Cluster | None = None,
    ) -> None:
        self._devices = tuple(_device(name) for name in ([device] if isinstance(device, str) else device))
        if not self._devices:
            raise InputError('no device to train on; give for instance device="auto"')
        self.data, self.device = data, self._devices[0]
        self.precision = devices.precision() if precision == "auto" else devices.check_precision(precision)
        self._name = network if isinstance(network, str) else None
        if isinstance(network, str):
            network = build(network, data.shape, data.classes, data.tokens)
        check_kind("network", network, nn.Module)
        self._network = copy.deepcopy(network).to(self.device)
        self._hand_over()
        first = self._train.scaled(self._train.x[:1])
        shape = tuple(first.shape[1:])
        check_fit(network, shape, data.classes, first.dtype, tuple(data.y_train.shape[1:]))
        self.layout = Layout.of(network)
        self.work = measure(network, shape, first.dtype)
        self.path = choose_path(path, network, self.work, self.device)
        self.memory_limit = default_memory(self.device) if memory_limit is None else memory_limit
        check_positive("memory_limit", self.memory_limit)
        if chunk is not None:
            check_whole("chunk", chunk)
        self._chunk = chunk
        self._images = any(isinstance(module, nn.Conv2d) for module in network.modules())
        self._threads = 1
        if self.device.type == "cpu":
            self._threads = min(torch.get_num_threads(), cores())
            keep_memory()
        self.cluster = None if self.device.type == "meta" else _cluster(workers)
        if self.cluster is not None and len(self._devices) > 1:
            raise InputError("owners are spread over devices of this process or over workers; give device or workers")

    def __getstate__(self) -> dict[str, Any]:
        """All but the tensors that are made from `data`: checkpoints would hold every sample twice."""
        return {
            name: value for name, value in vars(self).items() if name not in ("_train", "_test", "_copies", "shards")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._hand_over()

    def _hand_over(self) -> None:
        """The samples on the device, and for several devices the network and the training samples on each."""
        data, scaling = self.data, self.data.scaling
        self._train = as_samples(self._network, data.x_train, data.y_train, scaling, self.device)
        self._test = as_samples(self._network, data.x_test, data.y_test, scaling, self.device)
        self._copies = [(self._network, self._train)]
        self._copies += [(copy.deepcopy(self._network).to(to), self._train.on(to)) for to in self._devices[1:]]

    @cached_property
    def shards(self) -> EngineShards | None:
        """The workers of a cluster among whom this engine's owners are dealt; None: they stay in this process."""
        if self.cluster is None:
            return None
        network, x = copy.deepcopy(self._network).to("cpu"), self.data.x_train
        prepared = getattr(network, "prepared", None)
        if prepared is not None:  # what its front makes of a sample is found once, here
            network, x = prepared(), pull(self._train.x)
        settings = WorkerSettings(network, self.path, self.precision, self.data.scaling)
        return EngineShards(self.cluster, self.data, x, settings)

    @property
    def machine(self) -> str:
        """Where and how models train: device, PyTorch's version and precision."""
        where = ", ".join(str(device) for device in self._devices)
        return f"{where}, torch {torch.__version__}, {self.precision}"

    @property
    def _low(self) -> torch.dtype | None:
        """The numbers in which gradients are found, where these are not those of the weights."""
        return torch.bfloat16 if self.precision == "bfloat16" else None

    @property
    def size(self) -> int:
        """How many numbers a model has."""
        return self.layout.size

    @property
    def described(self) -> dict[str, Any]:
        """What a description of a study says of it: the network, its size, and the numbers that it computes in."""
        return {"network": self._network if self._name is None else self._name, "weights": self.size} | {
            "precision": self.precision
        }

    @property
    def model_bytes(self) -> int:
        """What a model amounts to: four bytes per number."""
        return 4 * self.size

    @timed("training")
    def initial(self, seed: int) -> Tensor:
        """A fresh model (P,), the same on every device."""
        return initial_row(self._network, seed).to(self.device)

    def rows(self, models: Tensor | np.ndarray) -> Tensor:
        """Models as a matrix of rows on the device, checked."""
        rows = torch.as_tensor(models, dtype=torch.float32, device=self.device)
        if rows.dim() not in (1, 2) or rows.shape[-1] != self.size:
            raise InputError(f"models must have {self.size} numbers each, got {tuple(rows.shape)}; use engine.initial")
        return rows

    @timed("training")
    @torch.no_grad()
    def train(
        self,
        start: Tensor | np.ndarray,
        contributions: np.ndarray | Sequence[float],
        *,
        steps: int | None = None,
        epochs: int | None = None,
        batch: int = 10,
        optimiser: Optimiser = SGD(0.01),  # noqa: B008  (frozen)
        proximal: Proximal | None = None,
        drift: Tensor | None = None,
        augment: CropAndFlip | None = None,
        seed: int = 0,
        round: int = 0,
        streams: Streams | None = None,
        owners: Owners = None,
    ) -> Tensor:
        """Local training from one start (P,) or one each (k, P): the owners' models, (k, P).

        Owner i trains on its first s_i samples.  Mini-batches come from `streams` (one generator per owner listed, used
        up) or, without them, from the generators of `seed`, owner and `round`.  `owners` says whom to train (default:
        all); contributions, starts, streams and drifts are in that order.  A `drift`, one row (P,) or one each (k, P),
        is added to every gradient.  Images are moved as `augment` draws from the owner's stream.
        """
        length = TrainingLength(batch, epochs, steps)
        how: dict[str, Any] = {
            "length": length,
            "optimiser": optimiser,
            "proximal": proximal,
            "drift": drift,
            "augment": augment,
        }
        planned = self._planned(start, contributions, seed=seed, round=round, streams=streams, owners=owners, **how)
        if self.shards is not None:
            return self.shards.train(planned).gathered("models of all owners are asked for")
        return self._here(planned)

    @timed("training")
    @torch.no_grad()
    def spread(
        self,
        start: Tensor | np.ndarray,
        contributions: np.ndarray | Sequence[float],
        *,
        steps: int | None = None,
        epochs: int | None = None,
        batch: int = 10,
        weights: np.ndarray | None = None,
        **how: Any,
    ) -> SpreadRows:
        """As `train`, but what all owners (n, P) change their models by, which stays with the workers of a cluster.

        With `weights` (n,) workers keep no more than the sum by these, unless somebody asks for more.
        """
        if self.shards is None:
            raise InputError("this engine has no workers to spread owners over; make it with workers=2, or use train")
        planned = self._planned(start, contributions, length=TrainingLength(batch, epochs, steps), **how)
        return self.shards.updates(planned, weights)

    def _planned(
        self,
        start: Tensor | np.ndarray,
        contributions: np.ndarray | Sequence[float],
        *,
        length: TrainingLength,
        optimiser: Optimiser = SGD(0.01),  # noqa: B008  (frozen)
        proximal: Proximal | None = None,
        drift: Tensor | None = None,
        augment: CropAndFlip | None = None,
        seed: int = 0,
        round: int = 0,
        streams: Streams | None = None,
        owners: Owners = None,
    ) -> PlannedTraining:
        """Who trains on what, with whom in a chunk, checked."""
        who = self._who(owners)
        counts = self.data.counts(contributions, who)
        starts = self._each(start, len(who))
        centre = None if proximal is None else self._each(proximal.centre, len(who))
        drifts = None if drift is None else self._each(drift, len(who))
        if streams is not None and len(streams) != len(who):
            raise InputError(f"{len(streams)} streams but {len(who)} owners; give one per owner that trains")
        if augment is not None and (self._train.x.dtype != torch.uint8 or self._train.x.dim() != 4):
            raise InputError(f"{self.data.name} has no images of bytes to crop and flip; train without augment")
        # Owners with equally long training share a chunk, so that few wait for the others.
        places = np.argsort(-length.lengths(counts), kind="stable")
        size = self._fitting(len(who), length.batch, 3 + optimiser.slots + (centre is not None) + (drifts is not None))
        chunks = [places[i : i + size] for i in range(0, len(who), size)]
        training = LocalTraining(length, optimiser, 0.0 if proximal is None else proximal.weight, augment)
        draws = OwnerDraws(seed, round, None if streams is None else streams.each())
        inside = (
            1 if self.device.type != "cpu" or self.staff(len(chunks), size * length.batch) else torch.get_num_threads()
        )
        return PlannedTraining(training, who, counts, chunks, Models(starts, centre, drifts), draws, inside)

    def _here(self, planned: PlannedTraining) -> Tensor:
        """Train in this process: chunks go to the devices in turn."""
        who, counts = planned.who, planned.counts
        result = planned.models.start.new_empty(len(who), self.size)
        streams = planned.draws.streams(np.arange(len(who)), who)

        def train(trainer: Trainer, gradients: Any, samples: DeviceSamples, models: Models, places: np.ndarray) -> None:
            mine = [streams[place] for place in places]
            members = ChunkMembers(places, counts[places], self.data.offsets[who[places]], mine)
            blocks, order = trainer.train(gradients, samples, planned.training, members, models)
            self.layout.scatter([block.to(self.device) for block in blocks], result, order.to(self.device))

        if len(self._devices) == 1:
            trainer = self._trainer(self._network)

            def here(gradients: Any, places: np.ndarray) -> None:
                train(trainer, gradients, self._train, planned.models, places)

            most = max((len(places) for places in planned.chunks), default=0)
            staff = self.staff(len(planned.chunks), most * planned.training.length.batch)
            threads.run(planned.chunks, here, trainer.gradients, staff)
            return result

        def on_device(tool: None, place: int) -> None:
            network, samples = self._copies[place]
            trainer, models = self._trainer(network), planned.models.map(lambda part: part.to(self._devices[place]))
            gradients = trainer.gradients()
            for places in planned.chunks[place :: len(self._devices)]:
                train(trainer, gradients, samples, models, places)

        threads.run(range(len(self._devices)), on_device, lambda: None, len(self._devices))
        return result

    def _trainer(self, network: nn.Module) -> Trainer:
        return Trainer(network, self.path, self._low)

    @timed("evaluation")
    @torch.no_grad()
    def evaluate(self, models: Tensor | np.ndarray, owners: Owners = None, part: str = "test") -> Scores:
        """Loss and accuracy of models (k, P) on each owner's test (or train) part, both (k, n)."""
        rows = self.rows(models)
        return self.score(rows.unsqueeze(0) if rows.dim() == 1 else rows, *self.part(part, owners))

    @timed("evaluation")
    @torch.no_grad()
    def score(self, rows: Tensor, samples: DeviceSamples, offsets: Tensor) -> Scores:
        """Scores of models (k, P) on samples that stand group by group, as `part` gives them."""
        loss, hit = (torch.empty(len(rows), len(samples.y), device=self.device) for _ in range(2))

        def one(path: Any, job: tuple[slice, slice]) -> None:
            some, batch = job
            x, y = samples.scaled(samples.x[batch]), samples.y[batch]
            blocks = self.layout.gather(rows[some])
            speaks = isinstance(path, Alone) and path.speaks
            found = path.judged(blocks, x, y) if speaks else judge(path.outputs(blocks, _shared(path, x)), y)
            loss[some, batch], hit[some, batch] = found

        jobs = self._jobs(len(rows), len(samples.y))
        threads.run(jobs, one, self._path, self.staff(len(jobs), self.width(len(samples.y))))
        return Scores(by_owner(loss, offsets), by_owner(hit, offsets))

    def _jobs(self, models: int, samples: int) -> list[tuple[slice, slice]]:
        width = self.width(samples)
        models_at_once = self.models_at_once(width)
        return [
            (slice(i, i + models_at_once), slice(j, j + width))
            for i in range(0, models, models_at_once)
            for j in range(0, samples, width)
        ]

    def width(self, samples: int) -> int:
        """How many samples to judge at once."""
        large = self._images or self.work.activations >= WIDE
        return max(min(samples, 100 if large else 4096), 1)

    def models_at_once(self, width: int, numbers: int | None = None) -> int:
        """How many models to judge at once on `width` samples, if each takes up this many numbers at a time.

        Unless these numbers are known, they are all activations; then large convolutions on a CPU go one by one.
        """
        large = self._images and self.device.type == "cpu" and self.work.multiplications >= SMALL_JUDGED
        if numbers is None and (self.path == "serial" or large):
            return 1
        cache = IMAGES_JUDGED if self._images else CACHE_JUDGED
        space = cache if self.device.type == "cpu" else 0.5 * self.memory_limit
        each = width * self.work.activations if numbers is None else numbers
        return max(1, int(space // (4 * (self.size + 2 * each))))

    def module(self, model: Tensor | np.ndarray) -> nn.Module:
        """A model (P,) as a module of PyTorch on the CPU, ready to judge samples."""
        data = self.data
        named = {} if self._name is None else {"network": self._name}
        facts = {"shape": data.shape, "classes": data.classes, "tokens": data.tokens, "scaling": data.scaling}
        written = {name: json.dumps(value) for name, value in facts.items()}
        return as_module(self._network, self.rows(model), {**named, **written, "data": data.name})

    @property
    def compiled(self) -> Network | None:
        """The network as batched layers, if it has only such."""
        return compile_network(self._network)

    def describe(self) -> str:
        """The network in words."""
        return str(self._network)

    @cached_property
    def content(self) -> str:
        """What results depend on, as a short text: data, network with its first weights, device, PyTorch's version."""
        data, sha = self.data, hashlib.sha256()
        sha.update(f"{data.scaling}".encode())
        for array in (data.x_train, data.y_train, data.offsets, data.x_test, data.y_test, data.test_offsets):
            sha.update(f"{array.shape}{array.dtype}".encode())
            sha.update(np.ascontiguousarray(array).data)
        sha.update(f"{self.describe()}{self.device.type}{torch.__version__}".encode())
        sha.update(b"" if self.precision == "float32" else self.precision.encode())
        sha.update(pull(self.initial(0)).tobytes())
        return sha.hexdigest()[:32]

    def _path(self) -> Any:
        return self._trainer(self._network).gradients()

    def _fitting(self, owners: int, batch: int, copies: int) -> int:
        """How many owners to train at once, each with this many copies of its parameters."""
        left = self.memory_limit - 4.0 * self.size * owners
        fits = chunk_size(self.work, batch, copies, self.path, self.device, left / self._threads)
        if self.path == "serial":
            return 1
        busy = self.device.type == "cpu" and owners * batch * self.work.multiplications >= 4 * BUSY
        if self._chunk is not None:
            return self._chunk
        gpus = self._sharing_gpus
        return even(owners, fits, busy) if gpus < 2 else even(owners, min(fits, -(-owners // gpus)), sharers=gpus)

    @property
    def _sharing_gpus(self) -> int:
        """Among how many GPUs owners are dealt, of this process or of workers: each wants a chunk."""
        if self.cluster is not None:
            return self.cluster.workers if self.cluster.gpus else 1
        return 1 if self.device.type == "cpu" else len(self._devices)

    def staff(self, jobs: int, samples: int) -> int:
        """How many workers to do jobs with this many samples each; 0: threads inside operators instead."""
        if self.device.type != "cpu" or (jobs == 1 and self.work.multiplications >= LARGE):
            return 0
        busy = self.path == "serial" or samples * self.work.multiplications >= BUSY
        return min(self._threads, jobs) if busy else 1

    def _each(self, models: Tensor | np.ndarray, owners: int) -> Tensor:
        """One model (P,), or one for each of some owners."""
        rows = self.rows(models)
        if rows.dim() == 2 and len(rows) not in (1, owners):
            raise InputError(f"{len(rows)} models but {owners} owners; give one model, or one per owner that trains")
        return rows[0] if rows.dim() == 2 and len(rows) == 1 else rows

    def _who(self, owners: Owners) -> np.ndarray:
        given = np.arange(self.data.owners) if owners is None else np.asarray(owners)
        if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
            raise InputError(f"owners must be a list of whole numbers, got {owners!r}; for instance [0, 2]")
        who = given.astype(np.int64, copy=False)
        if len(who) and not 0 <= who.min() <= who.max() < self.data.owners:
            raise InputError(f"owners must lie in 0 .. {self.data.owners - 1}, got {who.min()} .. {who.max()}")
        return who

    def part(self, part: str, owners: Owners = None, most: int | None = None) -> tuple[DeviceSamples, Tensor]:
        """The test or train samples of some owners, owner by owner, and where each owner's begin (and the end).

        With `most` only the first this many of each owner.
        """
        who = self._who(owners)
        if part not in ("test", "train"):
            raise InputError(f"part must be test or train, got {part!r}; choose one of them")
        samples = self._test if part == "test" else self._train
        bounds = self.data.test_offsets if part == "test" else self.data.offsets
        sizes = np.diff(bounds)[who] if most is None else np.minimum(np.diff(bounds)[who], most)
        if len(who) and sizes.min() == 0:
            raise InputError(f"owner {who[np.argmin(sizes)]} has an empty {part} part; leave it out or give it samples")
        first = [np.arange(bounds[i], bounds[i] + size) for i, size in zip(who, sizes, strict=True)]
        rows = np.concatenate(first) if first else np.zeros(0, np.int64)
        if len(rows) != len(samples.y) or not np.array_equal(who, np.arange(self.data.owners)):
            chosen = torch.from_numpy(rows).to(self.device)
            samples = samples.part(chosen)
        return samples, torch.from_numpy(np.concatenate([[0], np.cumsum(sizes)])).to(self.device)


def _shared(path: Any, x: Tensor) -> Tensor:
    """Samples that all models see, in the layout that a path wants."""
    if isinstance(path, Network):
        return path.share(x)
    # Convolutions of one model alone are up to 1.7 times faster that way on a CPU.
    return x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 and isinstance(path, Alone) else x


def _cluster(workers: int | Cluster | None) -> Cluster | None:
    if workers is None or workers == 0:
        return None if workers == 0 else chosen_cluster()
    return workers if isinstance(workers, Cluster) else Cluster(workers)


def _device(name: str) -> torch.device:
    name = devices.chosen() if name == "auto" else name
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        if name == "cuda":
            name = f"cuda:{devices.here().device(torch.cuda.device_count())}"
        found = torch.device(name)
        torch.empty(1, device=found)
    except (RuntimeError, AssertionError, ZeroDivisionError):
        raise InputError(f"device {name!r} is not available; use auto or cpu") from None
    if devices.deterministic():
        torch.use_deterministic_algorithms(True)
    devices.note(str(found), torch.__version__)
    return found
