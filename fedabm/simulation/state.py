"""What changes in a run, all of it declared: of the federation here, of its parts where they are.

Mesa's own machinery (agents, agent sets, the wrapped `step`) is made anew, and so are the offers that stand.  What is
read is held against what is declared: the same names, of the same kinds.  Numbers are taken as they are.
"""

from __future__ import annotations

import time
from typing import Any

import mesa

from fedabm.common.archive import Unsaveable, check_attributes, check_bits, name_of
from fedabm.common.digest import digest
from fedabm.common.state import (
    ANY,
    FLAG,
    GENERATOR,
    NUMBER,
    TEXT,
    WHOLE,
    Dict,
    FrozenRecord,
    Kind,
    Many,
    Maybe,
    Numbers,
    Stateful,
    StatePart,
    Thing,
    Tuple,
)
from fedabm.games.accuracy.training import training_of
from fedabm.results.links import LINKS
from fedabm.simulation.agents import Owner
from fedabm.simulation.ledger import Ledger
from fedabm.simulation.model import Federation
from fedabm.simulation.network import Sight
from fedabm.simulation.owners import Owners
from fedabm.simulation.population import Population
from fedabm.simulation.recorder import Recorder
from fedabm.simulation.saved import TRAFFIC, TRANSFERS, known_kind
from fedabm.simulation.scenario import Scenario
from fedabm.simulation.stopping import Progress
from fedabm.simulation.treasury import Treasury

__all__ = ["restored", "schema", "state_of"]

#: what changes in a federation itself
_VALUES: dict[str, Kind] = {
    "running": FLAG,
    "steps": WHOLE,
    "at_rest": FLAG,
    "moved": NUMBER,
    "progress": Many(FrozenRecord(Progress, step=WHOLE, resting=FLAG, contribution=NUMBER, welfare=NUMBER)),
    "seconds": Many(NUMBER),
    "_quiet": Numbers(1, "b"),
    "_gap": Maybe(Tuple(WHOLE, Tuple(NUMBER, NUMBER))),
    "_order": GENERATOR,
    "_attendance": GENERATOR,
    "_learning": FLAG,
    "_paid": Numbers(),
    "_promised": Maybe(Numbers()),
    "_revealed": Numbers(),
    "_transfers": TRANSFERS,
    "_links": Maybe(LINKS),
    "_traffic": TRAFFIC,
    "_judged": Maybe(Tuple(Numbers(1, "i"), Numbers())),
    "known_cost": NUMBER,
    "attacked": FLAG,
    "unheeded": FLAG,
    "sampled": FLAG,
}
#: its parts; `sight`, the `state` of the training and what the server has `known` apart
_PARTS: dict[str, type[Stateful]] = {
    "population": Population,
    "ledger": Ledger,
    "treasury": Treasury,
    "recorder": Recorder,
}
#: what belongs to Mesa, whatever its version, points at the model, or follows from scenario and seed
_MADE = frozenset(
    {
        *{*vars(mesa.Model()), "_seated", "_gone", "server", "datacollector", "_people", "_deciding"}
        - {"running", "steps"},
        *("_played", "training", "_worth", "seed", "_seed", "_sample", "_sums", "_restricted", "_began"),
    }
)
#: what a data collector has collected
_COLLECTED = ("model_vars", "_agent_records", "_agenttype_records", "tables")
#: the whole: the federation, and what is beside it
_WHOLE: dict[str, Kind] = {
    "seed": WHOLE,
    "values": Dict(TEXT, ANY),
    "parts": Dict(TEXT, ANY),
    "sight": Maybe(Dict(TEXT, ANY)),
    "state": ANY,
    "known": Maybe(Dict(TEXT, ANY)),
    "agents": Dict(WHOLE, Maybe(Tuple(TEXT, Dict(TEXT, ANY)))),
    "collected": Dict(TEXT, Thing(dict)),
    "memory": ANY,
    "random": Thing(tuple),
    "rng": Dict(TEXT, ANY),
    "elapsed": NUMBER,
}


def schema(scenario: Scenario) -> str:
    """A digest of the names and kinds of all that is declared, the training's state among it."""
    parts = {name: StatePart(kind).schema for name, kind in {**_PARTS, "sight": Sight}.items()}
    values = {name: kind.schema for name, kind in _VALUES.items()}
    whole = {name: kind.schema for name, kind in _WHOLE.items()}
    trained = training_of(scenario.accuracy).state_kind().schema
    return digest([whole, values, parts, trained, known_kind(scenario.knows.makes).schema])


def state_of(model: Federation) -> dict[str, Any]:
    """Everything that changes in a run; Unsaveable if something is there that is not declared."""
    known = {*_VALUES, *_PARTS, *_MADE, "sight", "state", "known"}
    if own := sorted(set(vars(model)) - known):
        raise Unsaveable(f"the model's attribute {own[0]} is not declared")
    found = {
        "seed": model.seed,
        "values": {name: kind.state(getattr(model, name)) for name, kind in _VALUES.items()},
        "parts": {name: getattr(model, name).state() for name in _PARTS},
        "sight": None if model.sight is None else model.sight.state(),
        "state": model.training.state_kind().state(model.state),
        "known": None if model.known is None else _known_kind(model).state(model.known),
        "agents": _seats(model),
        "collected": {name: vars(model.datacollector)[name] for name in _COLLECTED},
        "memory": model.server.memory,
        "random": model.random.getstate(),
        "rng": model.rng.bit_generator.state,
        "elapsed": time.perf_counter() - model._began,
    }
    return {name: kind.state(found[name]) for name, kind in _WHOLE.items()}


def _known_kind(model: Federation) -> Kind:
    """How what the server knows now is saved."""
    context = model.context(model.reports(model.population.present))
    return known_kind(model.scenario.knows.makes, model.scenario.knows.found_again(context))


def _seats(model: Federation) -> dict[int, Any]:
    """The agents that are not as new, with the names of their classes."""
    seats = model.seats()
    for kind in {seat[0] for seat in seats.values() if seat is not None}:
        if _owner_class(name_of(kind), model.scenario) is not kind:
            raise Unsaveable(f"{kind.__qualname__} is not the only class of that name")
    return {row: None if seat is None else (name_of(seat[0]), seat[1]) for row, seat in seats.items()}


def restored(scenario: Scenario, state: Any) -> Federation:
    """The federation of a scenario as it was; ValueError if that is not what is declared."""
    whole = FrozenRecord(dict, **_WHOLE).value(state)
    model = Federation(scenario, whole["seed"])
    values = FrozenRecord(dict, **_VALUES).value(whole["values"])
    parts = FrozenRecord(dict, **dict.fromkeys(_PARTS, ANY)).value(whole["parts"])
    for name, value in values.items():
        setattr(model, name, value)
    for name, found in parts.items():
        getattr(model, name).from_state(found)
    if (model.sight is None) != (whole["sight"] is None):
        raise ValueError("it has a network too much or not at all")
    if model.sight is not None:
        model.sight.from_state(whole["sight"])
    model.state = model.training.state_kind().value(whole["state"])
    model.known = None if whole["known"] is None else _known_kind(model).value(whole["known"])
    model.reseat(_checked_seats(whole["agents"], len(model.population), scenario))
    _collect_again(model, whole["collected"])
    model.server.memory = whole["memory"]
    model.random.setstate(whole["random"])
    model.rng.bit_generator.state = check_bits(whole["rng"])
    model._began = time.perf_counter() - float(whole["elapsed"])
    return model


def _checked_seats(seats: dict[int, Any], rows: int, scenario: Scenario) -> dict[int, Any]:
    """The agents' classes and what they noted, by their numbers (None: removed)."""
    made: dict[int, Any] = {}
    for row, seat in seats.items():
        if type(row) is not int or row not in range(rows):
            raise ValueError(f"there is no owner {row}")
        made[row] = None if seat is None else (_owner_class(seat[0], scenario), seat[1])
        if seat is not None:
            check_attributes(made[row][0], {**seat[1]})
            if {"model", "unique_id", "row"} & set(seat[1]):
                raise ValueError(f"owner {row} is somebody else")
    return made


def _owner_class(name: str, scenario: Scenario) -> type[Owner]:
    """The class of owners of that name, one of the scenario's or any other that there is."""
    found = [kind for kind in Owners.of(scenario.owners).agent.values if kind is not None]
    for kind in (*found, Owner, *_below(Owner)):
        if name_of(kind) == name:
            return kind
    raise ValueError(f"somebody in it is no owner but {name}")


def _below(kind: type[Owner]) -> list[type[Owner]]:
    children: list[type[Owner]] = kind.__subclasses__()
    return [one for child in children for one in (child, *_below(child))]


def _collect_again(model: Federation, collected: dict[str, Any]) -> None:
    """Give a data collector what it had, if it is of the model's own making."""
    if set(collected) != set(_COLLECTED):
        raise ValueError("it has collected something else")
    if set(collected["model_vars"]) == set(model.datacollector.model_vars):
        vars(model.datacollector).update(collected)
