"""Models as plain modules of PyTorch, and as files that are read without fedabm.

model = run.export_model()                       # a torch.nn.Module, ready to judge samples
save_model(model, "shared.safetensors")          # what load_file of safetensors reads: a state_dict
model = load_model("shared.safetensors")         # the module again, where the network goes by a name
"""

from __future__ import annotations

import copy
import json
from pathlib import Path

import torch
from torch import Tensor, nn

from fedabm.common.errors import InputError, UnreadableError, check_kind
from fedabm.common.files import write
from fedabm.learning.engine.flat import Layout
from fedabm.learning.engine.networks import build
from fedabm.learning.engine.training import affine_of, from_bytes

__all__ = ["Facts", "as_module", "load_model", "save_model"]

#: what a file says of its model, all in words: network, shape, classes, tokens, scaling, data
Facts = dict[str, str]
_REMEDY = "free some space or save it elsewhere"


class _Scaled:
    """A hook that turns images of bytes into numbers as in training; any other input stays as it is."""

    def __init__(self, scaling: tuple[tuple[float, ...], tuple[float, ...]] | None) -> None:
        self._scaling = scaling

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        affine = affine_of(self._scaling)
        moved = None if affine is None else (affine[0].to(inputs[0].device), affine[1].to(inputs[0].device))
        return from_bytes(inputs[0], moved), *inputs[1:]


def as_module(network: nn.Module, row: Tensor, facts: Facts) -> nn.Module:
    """A copy of a network on the CPU, in evaluation mode, with the parameters of a row (P,)."""
    module = copy.deepcopy(network).cpu()
    blocks = Layout.of(module).blocks(row.detach().cpu())
    with torch.no_grad():
        for parameter, block in zip(module.parameters(), blocks, strict=True):
            parameter.copy_(block)
    return _finished(module, facts)


def _finished(module: nn.Module, facts: Facts) -> nn.Module:
    module.register_forward_pre_hook(_Scaled(json.loads(facts.get("scaling", "null"))))
    module.facts = facts  # type: ignore[assignment]
    return module.eval()


def save_model(model: nn.Module, path: str | Path) -> Path:
    """Write the parameters of a module as safetensors, which any program with safetensors reads.

    Parameters
    ----------
    model
        A module, for instance of `run.export_model()`; what that knows of its network goes into the file's metadata.
    path
        Where to write, for instance "shared.safetensors".

    Returns
    -------
    Path
        The path.
    """
    from safetensors.torch import save

    check_kind("model", model, nn.Module)
    tensors = {name: parameter.detach().cpu().contiguous() for name, parameter in model.named_parameters()}
    return write(Path(path), save(tensors, {"format": "pt", **getattr(model, "facts", {})}), _REMEDY)


def load_model(path: str | Path, network: nn.Module | None = None) -> nn.Module:
    """The module of a file that `save_model` or `fedabm run --save-models` has written.

    Parameters
    ----------
    path
        The file.
    network
        The network, where it is not one of fedabm's own; it is copied.

    Returns
    -------
    torch.nn.Module
        The module on the CPU, in evaluation mode.
    """
    tensors, facts = _read(path)
    module = _built(path, facts) if network is None else copy.deepcopy(network)
    given = dict(module.named_parameters())
    wrong = sorted(set(given) ^ set(tensors)) or [name for name in given if given[name].shape != tensors[name].shape]
    if wrong:
        raise InputError(f"{path} does not fit the network: {wrong[0]} differs; give the network that was trained")
    with torch.no_grad():
        for name, parameter in given.items():
            parameter.copy_(tensors[name])
    return _finished(module, facts)


def _read(path: str | Path) -> tuple[dict[str, Tensor], Facts]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="pt") as found:
            return {name: found.get_tensor(name) for name in found.keys()}, found.metadata() or {}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        reason = " ".join(str(error).split())
        raise UnreadableError(f"{path} cannot be read as safetensors: {reason}; give a file of save_model") from None


def _built(path: str | Path, facts: Facts) -> nn.Module:
    if "network" not in facts:
        raise InputError(f"{path} does not name its network; give it, as load_model(path, network)")
    shape, classes, tokens = (json.loads(facts[name]) for name in ("shape", "classes", "tokens"))
    return build(facts["network"], tuple(shape), classes, tokens)
