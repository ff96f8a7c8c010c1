"""The seven elements of the ODD protocol, each from what the scenarios are: nothing in them is typed by hand.

Words come from docstrings and from the table of columns, numbers from parameters and owners.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from fedabm.common.docstrings import meanings_of
from fedabm.common.names import brief
from fedabm.report.odd.blocks import Block, Element, Listing, Rows, described
from fedabm.report.odd.parts import datasets, distinct, named, over_owners, parameters, parts_of
from fedabm.report.odd.senses import entries_read
from fedabm.results.columns import TABLE
from fedabm.results.keep import Recording
from fedabm.simulation.model import Federation
from fedabm.simulation.network import Sight
from fedabm.simulation.population import Population
from fedabm.simulation.scenario import OwnerProfile, Owners, Scenario
from fedabm.strategies import Strategy
from fedabm.views import INFORMATION, OwnerView

__all__ = ["Described", "elements"]

#: whose methods a round calls
_PARTS: dict[str, Any] = {"": Federation, "population": Population, "sight": Sight}
_PRIVATE = ("cost", "capacity", "strategy", "start", "eagerness", "joins", "person", "budget")
_FACT = ("fact", "meaning")
_FACTS = "They do not change in a run; nobody else is told them, and what an owner reports instead is its own decision."
_UNITS = "Data are counted in the unit of the capacities, such as a sample; a dash: a count, a name or a mark."
_TITLES = (
    "Purpose and patterns",
    "Entities, state variables and scales",
    "Process overview and scheduling",
    "Design concepts",
    "Initialisation",
    "Input data",
    "Submodels",
)


@dataclass(frozen=True)
class Described:
    """What is described: a study's text, its parameters with their meanings, its seed, and the runs that it asks for.

    `patterns` are the claims by which the model is judged, each with where it comes from (None: nobody has looked), and
    `more` says that there are further runs, which are like these.
    """

    text: str
    parameters: tuple[tuple[str, str, str], ...]
    seed: int
    runs: tuple[tuple[str, Scenario], ...]
    patterns: tuple[str, ...] | None = None
    more: bool = False

    @property
    def scenarios(self) -> list[Scenario]:
        """The scenarios of the runs."""
        return [scenario for _, scenario in self.runs]


def elements(model: Described) -> list[Element]:
    """The seven elements in their order.

    Parameters
    ----------
    model : Described
        What the study says of itself, and its runs.

    Returns
    -------
    list of Element
        One per element of the protocol, numbered by their place.
    """
    makers = (_purpose, _entities, _processes, _concepts, _initial, _input, _submodels)
    return [
        Element(title, tuple(blocks), tuple(within))
        for title, (blocks, within) in zip(_TITLES, (make(model) for make in makers), strict=True)
    ]


Content = tuple[Sequence[Block], Sequence[Element]]


def _purpose(model: Described) -> Content:
    paragraphs = [" ".join(part.split()) for part in model.text.strip().split("\n\n")]
    if model.patterns is None:
        patterns: Block = "`fedabm describe SCENARIO --odd` lists the claims of papers that it reproduces, if any."
    elif model.patterns:
        patterns = Listing(model.patterns)
    else:
        patterns = "No published pattern is tied to this scenario; its tables and figures answer the question."
    return (), (Element("Purpose", tuple(paragraphs)), Element("Patterns", (patterns,)))


def _entities(model: Described) -> Content:
    first = model.scenarios[0]
    agents = sorted({"Owner" if one is None else one.__name__ for one in Owners.of(first.owners).agent.values})
    kinds = Listing(
        (
            f"owners ({len(first.owners):,}, agents of {', '.join(agents)}): each with private facts and a strategy",
            "server (1): applies the mechanism to reports, knowledge and evidence; it never sees private facts",
            f"model: {_first(type(first.accuracy))}",
            f"network: {_network(first)}",
        )
    )
    facts = meanings_of(inspect.getdoc(OwnerProfile) or "")
    private = tuple((name, facts.get(name, "")) for name in _PRIVATE)
    within = [Element("Entities", (kinds,)), Element("Private facts of an owner", (_FACTS, Rows(_FACT, private)))]
    columns = distinct([column for scenario in model.scenarios for column in (*TABLE, *scenario.columns)])
    for frame, title in (("owners", "State variables of an owner"), ("steps", "State variables of the federation")):
        rows = tuple(
            (one.name, one.unit or "-", one.kind.__name__, one.meaning) for one in columns if one.frame == frame
        )
        within.append(Element(title, (_UNITS, Rows(("variable", "unit", "type", "meaning"), rows))))
    return (), (*within, Element("Scales", (Listing(tuple(_scales(model))),)))


def _network(scenario: Scenario) -> str:
    if scenario.network is None:
        return "none; owners meet through the server only"
    return f"{scenario.network.number_of_nodes():,} owners and {scenario.network.number_of_edges():,} links"


def _scales(model: Described) -> Iterator[str]:
    for label, one in model.runs:
        payments = f"settled every {one.pay_every} steps" if one.pay_every > 1 else "settled in every step"
        yield f"{label}: {len(one.owners):,} owners, at most {one.steps:,} steps (a step is a round), {payments}"
    if model.more:
        yield "further runs, which are not listed"


def _processes(model: Described) -> Content:
    phases = [f"{name}: {words}" for name, words in _phases()]
    orders = distinct([(scenario.activation, scenario.participation) for scenario in model.scenarios])
    said = [
        f"Within a round owners act by {brief(order)} ({_first(type(order))}) and take part by {brief(who)} "
        f"({_first(type(who))})"
        for order, who in orders
    ]
    ends = distinct([f"A run ends by {brief(one.stopping)}: {_first(type(one.stopping))}" for one in model.scenarios])
    return ("In every round, in this order:", Listing(tuple(phases)), *said, *ends), ()


def _phases() -> Iterator[tuple[str, str]]:
    """The calls of `Federation.step` in their order, each with what it says of itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(Federation.step)))
    calls = sorted(
        (one for one in ast.walk(tree) if isinstance(one, ast.Call)), key=lambda one: (one.lineno, one.col_offset)
    )
    for call in calls:
        path = ast.unparse(call.func).removeprefix("self.")
        part, _, name = path.rpartition(".")
        doc = inspect.getdoc(getattr(_PARTS[part], name))
        yield name.replace("_", " "), " ".join((doc or "").split())


def _first(thing: Any) -> str:
    """The first paragraph of what a class says of itself, without its full stop."""
    words = next((one for one in described(thing) if isinstance(one, str)), thing.__name__)
    return words.rstrip(".")


def _concepts(model: Described) -> Content:
    first, scenarios = model.scenarios[0], model.scenarios
    strategies = distinct([one for scenario in scenarios for name, one in parts_of(scenario) if name == "strategy"])
    adapts = [f"{named(one)}: {_first(type(one))}" for one in strategies]
    learns = [f"{named(one)}: {_first(type(one))}" for one in strategies if _learns(one)]
    rules = distinct([f"{named(one.mechanism)}: {_first(type(one.mechanism))}" for one in scenarios])
    concepts: dict[str, tuple[Block, ...]] = {
        "Basic principles": (Listing((*rules, f"{named(first.accuracy)}: {_first(type(first.accuracy))}")),),
        "Emergence": (
            "Contributions, models received, payments and who stays follow from the owners' decisions under the "
            "mechanism; none of them is prescribed.",
        ),
        "Adaptation": (Listing(tuple(distinct(adapts))),),
        "Objectives": (
            Listing(tuple(distinct([f"{named(s.valuation)}: {_first(type(s.valuation))}" for s in scenarios]))),
        ),
        "Learning": (
            Listing(tuple(distinct(learns))) if learns else "No strategy remembers more than its last steps.",
        ),
        "Prediction": (_prediction(strategies),),
        "Sensing": (
            f"A decision rests on the owner's own view, which has: {', '.join(_view())}. Of it",
            Listing(tuple(distinct(list(_sensed(strategies))))),
            "What a decision rests on is written down in every step as one of:",
            Listing(tuple(f"{name}: {words}" for name, words in INFORMATION.items())),
        ),
        "Interaction": (f"Through the mechanism, and by the network: {_network(first)}.",),
        "Stochasticity": (
            f"One random stream per owner, others for data, training and server, all from seed {model.seed}; "
            "one owner's strategy changes no other draw.",
        ),
        "Collectives": (f"Roles: {', '.join(map(str, Owners.of(first.owners).role.values))}.",),
        "Observation": (
            "Frames with the state variables above, transfers (payer, payee, reason) and imports of models. Of these "
            + "; ".join(distinct([_kept(one.keep) for one in scenarios]))
            + ".",
        ),
    }
    return (), [Element(title, blocks) for title, blocks in concepts.items()]


def _view() -> list[str]:
    return [one.name for one in fields(OwnerView)]


def _prediction(strategies: Sequence[Any]) -> str:
    """Who asks its payoff what contributions would bring, by the code of the strategies."""
    ahead = [named(one) for one in strategies if "payoff" in entries_read(one)]
    if not ahead:
        return "No strategy of these runs looks ahead."
    return (
        f"{', '.join(distinct(ahead))}: takes the others' last reports to stand, and asks its own offer what it would "
        "get for each contribution. Nobody foresees what others will do."
    )


def _sensed(strategies: Sequence[Any]) -> Iterator[str]:
    """What each strategy reads of its view."""
    for one in strategies:
        wraps = f", and what {named(one.truth)} does" if hasattr(one, "truth") else ""
        yield f"{named(one)} reads {', '.join(entries_read(one)) or 'nothing'}{wraps}"


def _kept(keep: Recording) -> str:
    """What is kept of a run, in words."""
    steps = "the last step" if keep.every is None else "every step" if keep.every == 1 else f"every {keep.every}th step"
    owners = "all owners" if keep.owners is None else f"a random sample of {keep.owners:,} owners"
    return f"{steps} and {owners} are kept" + (", with sums by strategy" if keep.strategies else "")


def _learns(strategy: Any) -> bool:
    """Whether owners that play it remember something of their own; who wraps another remembers what that one does."""
    return not hasattr(strategy, "truth") and type(strategy).begin is not Strategy.begin


def _initial(model: Described) -> Content:
    given = Rows(("parameter", "value", "meaning"), model.parameters)
    within = [Element("Parameters", (given,) if model.parameters else ("None.",))]
    populations = distinct([tuple(over_owners(one)) for one in model.scenarios])
    for place, rows in enumerate(populations, 1):
        title = "Owners" if len(populations) == 1 else f"Owners, population {place}"
        within.append(Element(title, (Rows(("fact", "value"), rows),)))
    return (f"The state at the beginning, drawn with seed {model.seed}.",), within


def _input(model: Described) -> Content:
    found = distinct([row for scenario in model.scenarios for row in datasets(scenario)])
    if not found:
        return ("The model reads no data: the worth of data is a function in closed form.",), ()
    return (Rows(("data", "size", "SHA-256 (first 16 digits)"), tuple(found)),), ()


def _submodels(model: Described) -> Content:
    parts = distinct([part for scenario in model.scenarios for part in parts_of(scenario)])
    by_class: dict[tuple[str, type], list[Any]] = {}
    for family, part in parts:
        by_class.setdefault((family, type(part)), []).append(part)
    within = [
        Element(
            f"{family}: {kind.__name__}", (*described(kind), *(block for part in some for block in parameters(part)))
        )
        for (family, kind), some in by_class.items()
    ]
    return (), within
