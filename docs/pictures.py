"""Makes the pictures of the gallery: runs studies and keeps the first picture of each, small.

python docs/pictures.py                    # all that have none yet
python docs/pictures.py free_riding gpt3   # these, anew
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from fedabm.cli import main
from fedabm.study.library import find, names

GALLERY = Path(__file__).parent / "gallery"
WIDTH = 800
COLOURS = 128


def make(name: str) -> None:
    """Run one study with its usual parameters, but on digits, which need no download; and keep its picture."""
    small = ["--set", "data=digits"] if "data" in find(name).defaults else []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / name
        if main(["run", name, "--quiet", "--out", str(out), *small]) != 0:
            return
        found = [path for path in (out / f"{name}.png", *sorted(out.glob("*.png"))) if path.exists()]
        if found:
            keep(found[0], GALLERY / f"{name}.png")


def keep(picture: Path, target: Path) -> None:
    """A picture, as small as it can be read."""
    with Image.open(picture) as full:
        flat = Image.new("RGB", full.size, "white")
        clear = full.convert("RGBA")
        flat.paste(clear, mask=clear)
    if flat.width > WIDTH:
        flat = flat.resize((WIDTH, round(flat.height * WIDTH / flat.width)), Image.Resampling.LANCZOS)
    GALLERY.mkdir(exist_ok=True)
    small = flat.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)  # rare colours stay
    small.save(target, "PNG", optimize=True)


if __name__ == "__main__":
    for one in sys.argv[1:] or [name for name in names() if not (GALLERY / f"{name}.png").exists()]:
        began = time.process_time()
        make(one)
        print(f"{one}: {time.process_time() - began:.0f} s", flush=True)
