"""Executes the notebooks of this folder from top to bottom and stores them with their outputs.

    make notebooks                                   # all of them, in place
    python -m fedabm.analysis.notebooks 04_market    # one

What differs between equal executions (times, counters of the kernel) is left out, so that a notebook changes only when
its text or its results do.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from fedabm.common.errors import InputError, nearest
from fedabm.data.datasets.files import data_folder

__all__ = ["execute", "lacking", "main", "notebooks"]

_HERE = Path(__file__).parent
#: what figures look like in a stored notebook: small, but sharp enough
_SET_UP = """%config InlineBackend.rc = {'figure.dpi': 80, 'savefig.bbox': 'tight'}
import warnings
warnings.filterwarnings("ignore", message="IProgress not found")"""

#: what some notebooks need in the data folder, and what to do where it is not there
_FETCHED = {
    "08_language_models": {
        "models/minilm/*.safetensors": "run `fedabm data get minilm`",
        "financial_sentiment/tfns*": "put the sets of financial sentiment into the data folder",
    }
}


def notebooks() -> dict[str, Path]:
    """The notebooks by name, in order."""
    return {path.stem: path for path in sorted(_HERE.glob("*.ipynb"))}


def lacking(name: str) -> str | None:
    """What has to be fetched before this notebook can run, if anything."""
    for file, remedy in _FETCHED.get(name, {}).items():
        if not list(data_folder().glob(file)):
            return remedy
    return None


def execute(path: Path, seconds: int = 300) -> nbformat.NotebookNode:
    """The notebook with fresh outputs; a cell that raises raises here, too."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(_SET_UP, id="set-up"))
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=seconds, kernel_name="python3", resources=resources)
        kernel = client.create_kernel_manager()
        kernel.transport, kernel.ip = "ipc", f"{folder}/kernel"  # files instead of ports
        client.execute()
    del notebook.cells[0]
    return _plain(notebook)


def _plain(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without what changes from one execution to the next."""
    count = 0
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            cell.outputs = [_output(output, count) for output in cell.outputs]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return notebook


def _output(output: Any, count: int) -> Any:
    """An output without counters, and pictures without their sizes in words."""
    if output.output_type == "execute_result":
        output.execution_count = count
    if "metadata" in output:
        output.metadata = {}
    if "image/png" in output.get("data", {}):
        output.data.pop("text/plain", None)
        output.data["image/png"] = output.data["image/png"].strip()
    return output


def main(names: list[str]) -> None:
    """Execute these notebooks (all, if none is named) and store them."""
    known = notebooks()
    for name in names or known:
        if name not in known:
            raise InputError(f"there is no notebook {name!r}; {nearest(name, known)}")
        if (remedy := lacking(name)) is not None:
            print(f"{known[name].name} is left as it is: {remedy}")
            continue
        nbformat.write(execute(known[name]), known[name])
        print(known[name].name)


if __name__ == "__main__":
    main(sys.argv[1:])
