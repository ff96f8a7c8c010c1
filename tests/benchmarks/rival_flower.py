"""One round of Flower's simulation per line on standard input; runs in Flower's own environment, see `training`.

Arguments: a module saved with `torch.save`, and an .npz file with x (owners, samples, ...) and y (owners, samples).
"""

from __future__ import annotations

import sys
import time
from functools import cache
from typing import Any


@cache
def loaded(network: str, data: str) -> tuple[Any, Any, Any]:
    """The module and the data, once per process of the simulation."""
    import numpy as np
    import torch

    arrays = np.load(data)
    return torch.load(network, weights_only=False), torch.from_numpy(arrays["x"]), torch.from_numpy(arrays["y"])


def main() -> None:
    """Train one epoch with batches of ten for everybody, whenever a line comes; print the seconds."""
    import torch
    from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation

    files = sys.argv[1], sys.argv[2]
    owners = len(loaded(*files)[2])
    client, server = ClientApp(), ServerApp()

    @client.train()
    def train(message: Message, context: Context) -> Message:
        network, x, y = loaded(*files)
        network.load_state_dict(message.content["arrays"].to_torch_state_dict())
        optimiser = torch.optim.SGD(network.parameters(), lr=0.01)
        mine = int(context.node_config["partition-id"])
        for rows in torch.randperm(x.shape[1]).split(10):
            loss = torch.nn.functional.cross_entropy(network(x[mine, rows]), y[mine, rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        arrays, metrics = ArrayRecord(network.state_dict()), MetricRecord({"num-examples": x.shape[1]})
        return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

    class Timed(FedAvg):
        began = 0.0

        def configure_train(self, *given: Any, **named: Any) -> Any:
            if not sys.stdin.readline():
                raise SystemExit
            self.began = time.perf_counter()
            return super().configure_train(*given, **named)

        def aggregate_train(self, *given: Any, **named: Any) -> Any:
            result = super().aggregate_train(*given, **named)
            print("seconds", time.perf_counter() - self.began, flush=True)
            return result

    @server.main()
    def serve(grid: Grid, context: Context) -> None:
        strategy = Timed(fraction_train=1.0, fraction_evaluate=0.0, min_available_nodes=owners)
        strategy.start(grid, ArrayRecord(loaded(*files)[0].state_dict()), num_rounds=10**6)

    run_simulation(server, client, owners, backend_config={"client_resources": {"num_cpus": 1}})


if __name__ == "__main__":
    main()
