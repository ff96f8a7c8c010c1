"""Adapters to and from the format of peft: adapter_config.json and adapter_model.safetensors.

The head of an encoder is no part of that format; it lies beside it, in head.safetensors.
"""

from __future__ import annotations

import json
from pathlib import Path

from torch import Tensor

from fedabm.common.errors import InputError
from fedabm.common.files import write
from fedabm.learning.engine.flat import Layout
from fedabm.learning.language.adapters import Adapted

__all__ = ["read_adapter", "write_adapter"]

_CONFIG = "adapter_config.json"
_MATRICES = "adapter_model.safetensors"
_HEAD = "head.safetensors"
_NAMES = {"down": "lora_A.weight", "up": "lora_B.weight"}


def write_adapter(network: Adapted, row: Tensor, folder: str | Path, base: str = "") -> Path:
    """Write an owner's row (P,) so that peft can put it on the model; `base` is what peft is to call that."""
    from safetensors.torch import save_file

    place, adapter = Path(folder), network.adapter
    place.mkdir(parents=True, exist_ok=True)
    blocks = _blocks(network, row)
    save_file({_peft(network, name): block for name, block in blocks.items() if "head." not in name}, place / _MATRICES)
    head = {name: block for name, block in blocks.items() if "head." in name}
    if head:
        save_file(head, place / _HEAD)
    config = {
        "peft_type": "LORA",
        "task_type": "FEATURE_EXTRACTION" if head else "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": adapter.rank,
        "lora_alpha": adapter.alpha,
        "lora_dropout": adapter.dropout,
        "target_modules": sorted({name.split(".")[-2] for name in blocks if "head." not in name}),
        "layers_to_transform": None if adapter.last is None else list(range(network.before, network.layers)),
        "inference_mode": True,
        "bias": "none",
    }
    write(place / _CONFIG, json.dumps(config, indent=2).encode())
    return place


def read_adapter(network: Adapted, folder: str | Path) -> Tensor:
    """The row (P,) of an adapter that `write_adapter` or peft has written for the same layers and rank."""
    import torch
    from safetensors.torch import load_file

    place = Path(folder)
    try:
        found = load_file(place / _MATRICES)
        found |= load_file(place / _HEAD) if (place / _HEAD).is_file() else {}
    except (OSError, ValueError) as error:
        raise InputError(f"{place} holds no adapter that can be read ({error}); give a folder of peft") from None
    parts = []
    layout = Layout.of(network)
    for name, shape in zip(layout.names, layout.shapes, strict=True):
        called = name if name.startswith("head.") else _peft(network, name)
        if called not in found or found[called].shape != shape:
            got = tuple(found[called].shape) if called in found else "nothing"
            raise InputError(f"{called} must be {tuple(shape)}, got {got}; read it with the adapter it was made with")
        parts.append(found[called].float().flatten())
    return torch.cat(parts)


def _blocks(network: Adapted, row: Tensor) -> dict[str, Tensor]:
    layout = Layout.of(network)
    if row.shape != (layout.size,):
        raise InputError(f"one adapter has {layout.size} numbers, got {tuple(row.shape)}; give one row of models")
    blocks = layout.blocks(row.detach().cpu())
    return {name: block.contiguous() for name, block in zip(layout.names, blocks, strict=True)}


def _peft(network: Adapted, name: str) -> str:
    """What peft calls a matrix: layers are counted in the whole model, not in its tail.

    tail.model.layers.0.self_attn.q_proj.down -> base_model.model.model.layers.28.self_attn.q_proj.lora_A.weight
    """
    *path, matrix = name.removeprefix("tail.").split(".")
    place = next(i for i, part in enumerate(path) if part.isdigit())
    path[place] = str(int(path[place]) + network.before)
    return ".".join(["base_model.model", *path, _NAMES[matrix]])
