"""Memory that training frees is used again by the next step."""

import os
import subprocess
import sys

import numpy as np
import pytest

from fedabm.data.federated import FederatedData
from fedabm.learning.engine.allocator import keep_memory
from fedabm.learning.engine.engine import Engine

resource = pytest.importorskip("resource")


def rounds(owners: int = 16, samples: int = 20) -> Engine:
    """An engine whose largest block of memory is 3.7 MB."""
    x = np.random.default_rng(0).standard_normal((owners * samples, 1, 28, 28), dtype=np.float32)
    y, offsets = np.arange(len(x)) % 10, np.arange(owners + 1) * samples
    return Engine("small_cnn", FederatedData("random", x, y, offsets, x, y, offsets, 10), device="cpu", chunk=owners)


@pytest.mark.skipif(not keep_memory(), reason="another C library, or the user has said how memory is kept")
def test_a_round_takes_its_memory_from_the_round_before() -> None:
    engine = rounds()
    start = engine.initial(0)
    pages = []
    for _ in range(6):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        engine.train(start, engine.data.capacities, epochs=1)
        pages.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    assert min(pages[2:]) < 500  # 4,000 and more where it is handed back


@pytest.mark.parametrize(("name", "kept"), [("MALLOC_TRIM_THRESHOLD_", False), ("OTHER", True)])
def test_what_the_user_says_of_memory_stands(name: str, kept: bool) -> None:
    if not keep_memory():
        pytest.skip("another C library, or the user has said how memory is kept")
    code = "from fedabm.learning.engine.allocator import keep_memory; print(keep_memory())"
    known = {**os.environ, name: "1000000"}
    done = subprocess.run([sys.executable, "-c", code], env=known, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(kept)
