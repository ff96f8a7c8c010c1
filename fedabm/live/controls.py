"""What can be chosen on the page: mechanisms, mixture of strategies, costs, oracle, seed.  Nothing is run here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nicegui import ui

from fedabm.common.errors import InputError
from fedabm.games.accuracy import Oracle
from fedabm.live.run_choice import RunChoice, accuracy_words, strategy_words
from fedabm.live.setup import MixturePart, Setup, mixture_of
from fedabm.live.words import asked_for, joined, parted
from fedabm.mechanisms import Mechanism
from fedabm.strategies import Strategy

__all__ = ["ControlForm"]

_NOTHING = "(nothing)"
_AS_WRITTEN = "(as written)"
#: every field is as wide as its place
_FIELD = "outlined dense hide-bottom-space"


class ControlForm:
    """The form; `changed` is called whenever somebody has changed a field."""

    def __init__(self, source: RunChoice, setup: Setup, changed: Callable[[], Any]) -> None:
        self._source, self._changed = source, changed
        self._usual = mixture_of(source.make(setup.seed).owners)
        self._owners = sum(int(part.share) for part in self._usual)
        rules = source.rules()
        second = setup.mechanisms[1] if len(setup.mechanisms) > 1 else _NOTHING
        ui.label("Mechanism").classes("fed-title")
        self._first = _Kind("mechanism", rules, setup.mechanisms[0], Mechanism, changed)
        self._second = _Kind("beside", [_NOTHING, *rules], second, Mechanism, changed)
        ui.label("Strategies").classes("fed-title")
        self._rows: list[tuple[Any, Any]] = []
        self._mixture = ui.element("div").classes("fed-mixture")
        for part in setup.mixture or self._usual:
            self._add(part)
        ui.button("add a strategy", icon="add", on_click=self._another).props("flat dense no-caps")
        ui.label("Costs").classes("fed-title")
        with ui.element("div").classes("fed-three"):
            self._cost = _number("costs times", setup.cost, changed, "cost")
            self._low = _number("lowest", setup.low, changed, "low")
            self._high = _number("highest", setup.high, changed, "high")
        ui.label("Oracle").classes("fed-title")
        oracle = setup.accuracy or _AS_WRITTEN
        self._accuracy = _Kind("accuracy", [_AS_WRITTEN, *accuracy_words()], oracle, Oracle, changed)
        ui.label("Run").classes("fed-title")
        with ui.element("div").classes("fed-three"):
            self._seed = _number("seed", setup.seed, changed, "seed")
            self._steps = _number("steps", setup.steps, changed, "steps")
        self._owner = setup.owner

    def read(self) -> Setup:
        """What the form says, checked."""
        first, second = self._first.text, self._second.text
        accuracy = self._accuracy.text
        mixture = tuple(
            MixturePart(_given(f"the share of {name.value}", share.value), name.value) for name, share in self._rows
        )
        if not mixture:
            raise InputError("a mixture needs somebody, got no strategy; add one")
        made = Setup((first,) if second == _NOTHING else (first, second), owner=self._owner)
        return replace(
            made,
            seed=int(_given("the seed", self._seed.value)),
            mixture=() if mixture == self._usual else mixture,
            cost=_given("the factor of all costs", self._cost.value),
            low=self._low.value,
            high=self._high.value,
            accuracy="" if accuracy == _AS_WRITTEN else accuracy,
            steps=None if self._steps.value is None else int(self._steps.value),
        )

    def follow(self, owner: int) -> None:
        """Remember who is followed, so that it still is after a restart."""
        self._owner = owner

    def _add(self, part: MixturePart) -> None:
        words = list(dict.fromkeys([*strategy_words(self._source.make(0).owners), part.strategy]))
        with self._mixture, ui.element("div").classes("fed-part") as row:
            name = ui.select(words, value=part.strategy, new_value_mode="add-unique", on_change=self._changed)
            name.props(_FIELD).tooltip(asked_for(parted(part.strategy)[0], Strategy))
            share = ui.number(value=part.share, min=0, on_change=self._changed).props(_FIELD)
            mine = (name, share)
            ui.button(icon="close", on_click=lambda: self._remove(row, mine)).props("flat dense round size=sm")
        self._rows.append(mine)

    def _another(self) -> None:
        self._add(MixturePart(1, "free_rider"))
        self._changed()

    def _remove(self, row: Any, mine: tuple[Any, Any]) -> None:
        self._rows.remove(mine)
        row.delete()
        self._changed()


class _Kind:
    """A kind and its parameters: a name to choose, and a field for what it needs."""

    def __init__(self, what: str, names: list[str], text: str, base: type, changed: Callable[[], Any]) -> None:
        kind, parameters = (text, "") if text in names else parted(text)
        options = list(dict.fromkeys([*names, kind]))
        self._base, self._changed = base, changed
        self._name = ui.select(options, value=kind, label=what, with_input=True, on_change=self._chosen)
        self._name.props(_FIELD).classes(f"fed-{what}")
        self._more = (
            ui.input("its parameters", value=parameters, on_change=changed).props(_FIELD).classes(f"fed-{what}-more")
        )
        self._show()

    @property
    def text(self) -> str:
        """What was chosen."""
        if self._name.value is None:
            raise InputError("nothing is chosen; choose one of the names")
        return joined(self._name.value, self._more.value or "")

    def _chosen(self) -> None:
        self._more.value = ""
        self._show()
        self._changed()

    def _show(self) -> None:
        words = asked_for(self._name.value or "", self._base)
        self._more.set_visibility(bool(words))
        self._more.props["placeholder"] = words
        self._more.props["label"] = f"parameters: {words}"
        self._more.update()


def _number(label: str, value: float | None, changed: Callable[[], Any], name: str) -> Any:
    return ui.number(label, value=value, min=0, on_change=changed).props(_FIELD).classes(f"fed-{name}")


def _given(what: str, value: float | None) -> float:
    if value is None:
        raise InputError(f"{what} is empty; give a number")
    return value
