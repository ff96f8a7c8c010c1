"""One round of pfl-research per line on standard input; runs in pfl's own environment, see `training`.

Arguments: a module saved with `torch.save`, and an .npz file with x (owners, samples, ...) and y (owners, samples).
"""

from __future__ import annotations

import sys
import time
from typing import Any


def main() -> None:
    """Train one epoch with batches of ten for everybody, whenever a line comes; print the seconds."""
    import numpy as np
    import torch
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.callback.base import TrainingProcessCallback
    from pfl.data import FederatedDataset
    from pfl.data.pytorch import PyTorchTensorDataset
    from pfl.hyperparam import NNTrainHyperParams
    from pfl.model.pytorch import PyTorchModel

    class Network(torch.nn.Module):
        def __init__(self, body: torch.nn.Module) -> None:
            super().__init__()
            self.body = body

        def loss(self, x: torch.Tensor, y: torch.Tensor, eval: bool = False) -> torch.Tensor:
            return torch.nn.functional.cross_entropy(self.body(x), y)

        def metrics(self, x: torch.Tensor, y: torch.Tensor, eval: bool = False) -> dict[str, Any]:
            return {}

    class Turn(TrainingProcessCallback):
        began = 0.0

        def wait(self) -> None:
            if not sys.stdin.readline():
                sys.exit(0)
            self.began = time.perf_counter()

        def on_train_begin(self, *, model: Any) -> Any:
            self.wait()
            return super().on_train_begin(model=model)

        def after_central_iteration(self, aggregate_metrics: Any, model: Any, *, central_iteration: int) -> Any:
            print("seconds", time.perf_counter() - self.began, flush=True)
            self.wait()
            return False, super().after_central_iteration(
                aggregate_metrics, model, central_iteration=central_iteration
            )[1]

    arrays = np.load(sys.argv[2])
    x, y = torch.from_numpy(arrays["x"]), torch.from_numpy(arrays["y"])
    owners = iter(int(owner) for _ in iter(int, 1) for owner in range(len(x)))
    data = FederatedDataset(lambda owner: PyTorchTensorDataset(tensors=[x[owner], y[owner]]), lambda: next(owners))
    network = Network(torch.load(sys.argv[1], weights_only=False))
    central = torch.optim.SGD(network.parameters(), lr=1.0)
    model = PyTorchModel(network, torch.optim.SGD, central)
    how = NNTrainHyperParams(local_batch_size=10, local_num_epochs=1, local_learning_rate=0.01)
    rounds = NNAlgorithmParams(10**6, 10**7, len(x), None)
    FederatedAveraging().run(rounds, SimulatedBackend(data, data), model, how, None, [Turn()])


if __name__ == "__main__":
    main()
