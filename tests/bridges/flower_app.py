"""A Flower app with a mechanism and strategic clients: who lies about num-examples is paid for it, and weighs more.

    .venv/bin/python -m tests.bridges flower        # in an environment of its own, as Flower pins what we use

Three clients learn to read digits.  One responds best to what it is offered, one free-rides, one responds best and
claims twice what it uses.
They are paid Shapley shares of what their claims are worth, and Flower's FedAvg weighs them
by these claims.
"""

from __future__ import annotations

import json
import os

import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from torch import nn

from fedabm.bridges.flower import Client, PaymentServer
from fedabm.bridges.recorder import ReplyRecorder
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import FederatedData, from_partition
from fedabm.data.partitions import IID
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ShapleyShare
from fedabm.strategies import BestResponse, FreeRider, Liar

RULE, CURVE = ShapleyShare(), PowerLaw(exponent=0.5)
STRATEGIES = (BestResponse(), FreeRider(), Liar(BestResponse(), contribution_factor=2.0))
UNIT_COST, CAPACITY, ROUNDS = 0.0005, 400.0, 4

client_app = ClientApp()
server_app = ServerApp()


def digits() -> FederatedData:
    """1,797 digits, dealt to the clients; everybody holds back a fifth to test what it receives."""
    return from_partition(load_dataset("digits"), IID(len(STRATEGIES)), seed=0, test_share=0.2)


@client_app.train()
def train(message: Message, context: Context) -> Message:
    """Use as much data as the strategy says, and say what it says; the last round is kept in `context.state`."""
    number = int(context.node_config["partition-id"])
    me, config, data = message.metadata.dst_node_id, message.content["config"], digits()
    network = nn.Linear(64, 10)
    network.load_state_dict(message.content["arrays"].to_torch_state_dict())
    accuracy = share_right(network, *data.test(number))

    owner = Client(STRATEGIES[number], UNIT_COST, CAPACITY, RULE, CURVE, number)
    last = (context.state["last"]["given"], accuracy) if "last" in context.state else None
    given, claim, _ = owner.decide(int(config["server-round"]), me, config, last)
    learn(network, *data.train(number, given))
    context.state["last"] = MetricRecord({"given": given})

    # What it gave and how good its model was are told for the record only: a real owner would keep them to itself.
    said = MetricRecord({"num-examples": claim, "owner": number, "given": given, "accuracy": accuracy})
    return Message(RecordDict({"arrays": ArrayRecord(network.state_dict()), "said": said}), reply_to=message)


def learn(network: nn.Module, x, y) -> None:
    """Twenty steps of gradient descent, if there is anything to learn from."""
    inputs, labels = torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(y)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(20 if len(labels) else 0):
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(inputs.flatten(1)), labels).backward()
        optimiser.step()


def share_right(network: nn.Module, x, y) -> float:
    """On how many of the samples the network is right."""
    with torch.no_grad():
        answers = network(torch.as_tensor(x, dtype=torch.float32).flatten(1)).argmax(1)
    return float((answers == torch.as_tensor(y)).double().mean())


class PayingFedAvg(FedAvg):
    """Federated averaging that announces the last claims and pays by a mechanism."""

    def __init__(self, payment_server: PaymentServer) -> None:
        everybody = len(STRATEGIES)
        super().__init__(fraction_evaluate=0.0, min_train_nodes=everybody, min_available_nodes=everybody)
        self.payment_server = payment_server
        self.history: list[dict] = []

    def configure_train(self, server_round, arrays, config, grid):
        """The messages of FedAvg, which waits for its nodes; then the announcement to those that get one."""
        messages = list(super().configure_train(server_round, arrays, config, grid))
        public = self.payment_server.announcement([one.metadata.dst_node_id for one in messages])
        for one in messages:
            one.content["config"].update(public)
        return messages

    def aggregate_train(self, server_round, replies):
        """Pay for the claims, and average as Flower does; the model stays if nobody claims to have used any data."""
        replies = list(replies)
        said = {one.metadata.src_node_id: dict(one.content["said"]) for one in replies}
        paid = self.payment_server.settle(server_round, {node: one["num-examples"] for node, one in said.items()})
        self.history += [{"round": server_round, **one, "paid": paid[node]} for node, one in said.items()]
        if not any(one["num-examples"] for one in said.values()):
            return None, None
        return super().aggregate_train(server_round, replies)


@server_app.main()
def main(grid: Grid, context: Context) -> None:
    """A few rounds; then one line for each round and client."""
    recorder = ReplyRecorder(name=lambda message: f"owner {int(message.content['said']['owner'])}")
    strategy = recorder.watch(PayingFedAvg(PaymentServer(RULE, CURVE)))
    strategy.start(grid, ArrayRecord(nn.Linear(64, 10).state_dict()), num_rounds=ROUNDS, train_config=ConfigRecord({}))
    for row in sorted(strategy.history, key=lambda row: (row["round"], row["owner"])):
        print(json.dumps(row), flush=True)
    if place := os.environ.get("FLOWER_LOG"):
        recorder.write(place)


if __name__ == "__main__":
    run_simulation(server_app, client_app, len(STRATEGIES), backend_config={"client_resources": {"num_cpus": 1}})
