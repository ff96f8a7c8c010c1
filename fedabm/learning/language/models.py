"""Pretrained models: from a folder, from the hub, or from a package that `fedabm data get` has fetched."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from torch import nn

from fedabm.common.errors import InputError, MissingExtraError
from fedabm.data.datasets.files import data_folder

__all__ = ["Base", "Kind", "ModelSource", "checksum", "load", "packaged", "transformers"]

#: "causal": guesses the next token; "encoder": reads a whole text
Kind = Literal["causal", "encoder"]
#: files that hold a model's numbers
_WEIGHTS = ("*.safetensors", "*.gguf", "*.bin")


@dataclass(frozen=True)
class ModelSource:
    """Where a pretrained model is: a folder, or a name on the hub with its `revision`.

    `checksum` is the SHA-256 of its weights (see `checksum`); what does not have it is refused.  A model of the hub
    needs both, so that nobody can put another one in its place.
    """

    place: str
    kind: Kind = "causal"
    revision: str | None = None
    checksum: str | None = None


@dataclass(frozen=True, eq=False)
class Base:
    """A pretrained model that nobody trains, with its tokeniser and the checksum of its weights."""

    model: nn.Module
    tokeniser: Any
    kind: Kind
    checksum: str

    @property
    def tokens(self) -> int:
        """How many tokens it knows."""
        return int(self.model.config.vocab_size)  # type: ignore[union-attr,arg-type]

    @property
    def width(self) -> int:
        """How many numbers stand for a token within it."""
        return int(self.model.config.hidden_size)  # type: ignore[union-attr,arg-type]


def transformers() -> Any:
    """The library of that name, without its pictures.

    A torchvision that was built for another PyTorch cannot be imported, and transformers would fail with it; texts need
    none.
    """
    try:
        import torchvision  # noqa: F401
    except (ImportError, RuntimeError, OSError):
        sys.modules.setdefault("torchvision", None)  # type: ignore[arg-type]
    try:
        import transformers as found
    except ImportError:
        raise MissingExtraError("language models need transformers; run pip install 'fedabm[llm]'") from None
    return found


def packaged(name: str, kind: Kind) -> ModelSource:
    """A model that `fedabm data get` has put below the data folder."""
    folder = data_folder() / "models" / name
    if not _weights(folder):
        raise InputError(f"the model {name} is not there; run `fedabm data get {name}` (FEDABM_DATA sets the folder)")
    return ModelSource(str(folder), kind)


def _hub(place: str, revision: str) -> str:
    """The folder of a model of the hub, fetched if need be."""
    from huggingface_hub import snapshot_download

    return str(snapshot_download(place, revision=revision))


@cache
def load(source: ModelSource, fetch: Callable[[str, str], str] = _hub) -> Base:
    """The model, ready to be read: one for all who ask, so that it is in memory once."""
    folder = Path(source.place).expanduser()
    if not folder.is_dir():
        if source.revision is None or source.checksum is None:
            raise InputError(f"{source.place} is no folder; for a model of the hub give its revision and checksum")
        folder = Path(fetch(source.place, source.revision))
    found = checksum(folder)
    if source.checksum is not None and found != source.checksum:
        raise InputError(f"{folder} has checksum {found}, expected {source.checksum}; get the model again")
    library = transformers()
    how = {"gguf_file": _weights(folder)[0].name} if _weights(folder)[0].suffix == ".gguf" else {}
    kind = library.AutoModelForCausalLM if source.kind == "causal" else library.AutoModel
    with _quiet(library):
        try:
            tokeniser = library.AutoTokenizer.from_pretrained(folder, **how)
            model = kind.from_pretrained(folder, dtype="float32", **how)
        except (OSError, ValueError, KeyError) as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"{folder} holds no {source.kind} model that can be read ({reason})") from None
        except ImportError:
            raise MissingExtraError(f"{folder} needs gguf to be read; run pip install 'fedabm[llm]'") from None
    return Base(model.eval().requires_grad_(False), tokeniser, source.kind, found)


def checksum(folder: Path) -> str:
    """SHA-256 of a model's weights: of its file or, where there are several, of their checksums in the order of names.

    All files of weights in the folder count.
    """
    files = _weights(folder)
    if not files:
        raise InputError(f"{folder} holds no weights ({', '.join(_WEIGHTS)}); give the folder of a model")
    each = []
    for path in files:
        with path.open("rb") as file:
            each.append(hashlib.file_digest(file, "sha256").hexdigest())
    return each[0] if len(each) == 1 else hashlib.sha256("".join(each).encode()).hexdigest()


def _weights(folder: Path) -> list[Path]:
    return sorted(path for pattern in _WEIGHTS for path in folder.glob(pattern))


@contextlib.contextmanager
def _quiet(library: Any) -> Iterator[None]:
    """Without bars for a model that is loaded in a second."""
    log = library.utils.logging
    shown = log.is_progress_bar_enabled()
    log.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            log.enable_progress_bar()
