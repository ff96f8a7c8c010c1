"""The page: controls, charts, graphs, the owner that is followed, and what happens.  What it shows is a `Session`'s."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import sys
import traceback
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from importlib import resources
from pathlib import Path
from typing import Any

from nicegui import background_tasks, ui

from fedabm.analysis.looks import mechanism_looks
from fedabm.common.errors import FedabmError
from fedabm.common.texts import readable, visible
from fedabm.live.charts import decision, looks_of, over_time
from fedabm.live.controls import ControlForm
from fedabm.live.following import followed
from fedabm.live.graphs import collaboration, money, network
from fedabm.live.moments import MEASURES, Moment
from fedabm.live.run_choice import RunChoice
from fedabm.live.session import Session, WatchedRun, fresh_folder
from fedabm.live.setup import Setup, setup_of

__all__ = ["Page"]

#: seconds between two steps, by what the choice is called
_PACES = {"slow": 1.0, "walking pace": 0.4, "fast": 0.1}
_MOST_EVENTS = 200
#: seconds that a browser may take to draw a step
_PATIENCE = 60.0
#: seconds after which nothing usually is left that knows the page of a visitor who is gone; then pauses double
_SOON = 1.0
#: after a pause of this many seconds nobody looks any more
_LATEST = 600.0
#: what stands below the name of a side, and what a moment calls it
_TOTALS = {"data": "data", "accuracy": "accuracy", "welfare": "welfare", "paid to owners": "paid", "present": "present"}


class Page:
    """One visitor's page; long work is done by `worker`, one piece at a time for all visitors."""

    def __init__(self, source: RunChoice, usual: Setup, query: str, worker: Executor, out: Path) -> None:
        self._source = source
        self._usual = usual
        self._worker = worker
        self._out = out
        self._session: Session | None = None
        self._gone = False
        self._sides: list[_SideView] = []
        self._drawer: Any = None
        self._trouble_at_start = ""
        ui.add_css(resources.files("fedabm.live").joinpath("style.css").read_text("utf-8"))
        try:
            self._wanted = setup_of(query, usual)
        except FedabmError as error:
            self._wanted, self._trouble_at_start = usual, str(error)
        self._build()
        ui.timer(0.05, self._begin, once=True)

    def close(self) -> None:
        """The visitor is gone: its runs and charts go, and as soon as nothing knows the page any more, their memory."""
        self._timer.deactivate()
        known = [weakref.ref(one) for one in (self, self._session) if one is not None]
        self._gone = True
        self._session = None
        self._sides = []
        background_tasks.create(_forget(known, self._worker))

    # The parts of the page

    def _build(self) -> None:
        with ui.header().classes("fed-header"), ui.element("div").classes("fed-bar"):
            ui.button(icon="menu", on_click=lambda: self._drawer.toggle()).props("flat dense aria-label=choose")
            ui.label(f"fedabm live: {visible(self._source.name)}").classes("fed-name")
            self._back = _button("skip_previous", self._rewind, "rewind", "back to the beginning")
            self._play = _button("play_arrow", self._toggle, "play", "play or pause")
            self._one = _button("skip_next", self._advance, "step", "one step on")
            self._slider = ui.slider(min=0, max=1, value=0, on_change=self._seek).classes("fed-slide")
            self._slider.props("label aria-label=step")
            self._at = ui.label("step 0").classes("fed-at")
            self._pace = ui.select(list(_PACES), value="walking pace", on_change=self._set_pace)
            self._pace.props("dense borderless options-dense aria-label=pace")
            _button("link", self._copy, "link", "copy a link that repeats what is shown")
            _button("download", self._download, "state", "a file that repeats what is shown")
            _button("save", self._save, "save", "save frames and report in a folder")
        with (
            ui.left_drawer(value=False, bordered=True)  # opened by the browser where there is room
            .classes("fed-drawer")
            .props("width=320 breakpoint=900 show-if-above") as self._drawer
        ):
            self._form = ui.element("div")
            self._note = ui.label("Changed, not applied: what is shown is still the old run.").classes("fed-note")
            self._note.set_visibility(False)
            self._apply_button = ui.button("apply and restart", icon="restart_alt", on_click=self._apply)
            self._apply_button.props("no-caps unelevated").classes("fed-apply")
        ui.label(visible(self._source.question)).classes("fed-question")
        self._trouble = ui.label("").classes("fed-trouble").props("role=alert")
        self._trouble.set_visibility(False)
        self._saved = ui.element("div").classes("fed-saved")
        self._legend = ui.element("div").classes("fed-legend")
        self._stage = ui.element("div").classes("fed-sides")
        self._timer = ui.timer(_PACES["walking pace"], self._tick, active=False)

    async def _begin(self) -> None:
        """The first run, after the page is there."""
        with self._form:
            self._controls = ControlForm(self._source, self._wanted, self._changed)
        await self._start(self._wanted)
        if self._session is None and self._wanted != self._usual:
            message = self._trouble.text
            await self._start(self._usual)
            self._say(message)
        if self._trouble_at_start:
            self._say(self._trouble_at_start)

    async def _start(self, setup: Setup) -> None:
        """Another session: everything of the old one goes before anything of the new one is shown."""
        self._pause()
        made = await self._work(lambda: _opened(self._source, setup))
        if made is None or self._gone:  # the visitor has not waited for it
            return
        self._session = made
        self._note.set_visibility(False)
        self._controls.follow(made.setup.owner)
        self._legend.clear()
        self._stage.clear()
        with self._legend:
            _draw_legend(made)
        with self._stage:
            self._sides = [_SideView(made, side, self._follow) for side in made.sides]
        self._draw()
        self._address()

    # What visitors do

    def _changed(self) -> None:
        """Somebody has changed the form: say so, until it is applied."""
        try:
            same = self._session is not None and self._controls.read() == _bare(self._session.setup)
        except FedabmError:
            same = False
        self._note.set_visibility(not same)

    async def _apply(self) -> None:
        try:
            wanted = self._controls.read()
        except FedabmError as error:
            self._say(str(error))
            return
        await self._start(wanted)

    def _toggle(self) -> None:
        if self._timer.active:
            self._pause()
            self._address()
        elif self._session is not None and not self._session.ended:
            self._timer.activate()
            self._play.props("icon=pause")

    def _pause(self) -> None:
        self._timer.deactivate()
        self._play.props("icon=play_arrow")

    def _set_pace(self) -> None:
        self._timer.interval = _PACES[self._pace.value]

    async def _tick(self) -> None:
        await self._advance()
        try:  # so that a browser that draws slowly is never behind, and pausing pauses at once
            await ui.run_javascript("return true", timeout=_PATIENCE)
        except TimeoutError:
            self._pause()
        if self._session is None or self._session.ended:
            self._pause()
            self._address()

    async def _advance(self) -> None:
        session = self._session
        if session is None:
            return
        await self._work(session.advance)
        if session is self._session:  # nobody has begun another run meanwhile
            self._draw()
            if not self._timer.active:
                self._address()

    def _rewind(self) -> None:
        self._go(0)

    def _seek(self) -> None:
        self._go(int(self._slider.value or 0))

    def _go(self, step: int) -> None:
        """Show a step that has been run."""
        session = self._session
        if session is None or step == session.step:
            return
        session.show(min(step, session.known))
        self._draw()
        if not self._timer.active:
            self._address()

    def _follow(self, owner: int) -> None:
        if self._session is not None and owner != self._session.setup.owner:
            self._session.follow(owner)
            self._controls.follow(owner)
            self._draw()
            self._address()

    def _copy(self) -> None:
        if self._session is not None:
            self._address()
            ui.run_javascript("navigator.clipboard && navigator.clipboard.writeText(location.href)")
            ui.notify("The address of this page repeats what it shows; it was copied.")

    def _download(self) -> None:
        if self._session is not None:
            ui.download.content(self._session.state.text(), "live.toml")

    async def _save(self) -> None:
        session = self._session
        if session is None:
            return
        folder = fresh_folder(self._out, self._source.name)
        report = await self._work(lambda: session.save(folder))
        if report is None:
            return
        self._saved.clear()
        with self._saved:
            ui.label(f"Saved in {folder}: frames, report and live.toml.")
            ui.link("Open the report", f"reports/{folder.name}", new_tab=True)

    # Showing

    def _draw(self) -> None:
        session = self._session
        if session is None:
            return
        for view in self._sides:
            view.draw()
        self._slider.props["max"] = max(session.known, 1)
        self._slider.set_value(session.step)
        self._slider.update()
        self._at.set_text(f"step {session.step} of {session.known}" + (", ended" if session.ended else ""))

    def _address(self) -> None:
        """The address of the page repeats what it shows."""
        if self._session is not None:
            ui.navigate.history.replace(f"?{self._session.state.query()}")

    def _say(self, trouble: str) -> None:
        """An error, in one line; nothing takes it away."""
        self._trouble.set_text(visible(" ".join(trouble.split())))
        self._trouble.set_visibility(bool(trouble))

    async def _work(self, task: Callable[[], Any]) -> Any:
        """Do something long elsewhere; what goes wrong is shown, and stops the play."""
        self._at.classes(add="fed-busy")
        try:
            done = await asyncio.get_running_loop().run_in_executor(self._worker, task)
        except FedabmError as error:
            self._pause()
            self._say(str(error))
            return None
        except Exception as error:  # a class of the user's own, or a mistake of ours
            self._pause()
            traceback.print_exc(file=sys.stderr)
            self._say(f"{type(error).__name__}: {error}; the terminal has the details")
            return None
        finally:
            self._at.classes(remove="fed-busy")
        self._say("")
        return done


class _SideView:
    """What is shown of one side; everything in it is made from that side's own run."""

    def __init__(self, session: Session, side: WatchedRun, follow: Callable[[int], None]) -> None:
        self._session, self._side = session, side
        self._looks = looks_of(session)
        colour = mechanism_looks({side.label: repr(side.scenario.mechanism)})[side.label].colour
        with ui.element("section").classes("fed-side fed-restarted").style(f"border-top-color: {colour}"):
            with ui.element("h2"):
                ui.label(visible(side.label))
            self._facts = ui.element("div").classes("fed-facts")
            with ui.element("div").classes("fed-charts"):
                self._charts = {
                    name: ui.echart(over_time(session, side, name)).classes("fed-chart") for name in MEASURES
                }
            with ui.element("div").classes("fed-graphs"):
                self._money = ui.echart(self._graph("money")).classes("fed-graph")
                self._models = ui.echart(self._graph("models")).classes("fed-graph")
            with ui.element("div").classes("fed-panel"):
                names = dict(enumerate(side.names))
                self._owner = ui.select(names, value=session.setup.owner, label="follow an owner")
                self._owner.on_value_change(lambda: follow(int(self._owner.value)))
                self._owner.props("outlined dense options-dense").classes("fed-owner")
                with ui.element("div").classes("fed-follow"):
                    self._followed = ui.element("div")
                    self._decision = ui.echart(decision(side, session.setup.owner, 0)).classes("fed-chart")
            with ui.element("div").classes("fed-panel"):
                ui.label("What happens, the latest first").classes("fed-title")
                self._events = ui.element("div").classes("fed-events")
        self._shown_events: list[Any] | None = None

    def draw(self) -> None:
        """Show the session's step."""
        side, step = self._side, self._session.step
        owner = self._session.setup.owner
        self._show_facts()
        for name, chart in self._charts.items():
            _replace(chart, over_time(self._session, side, name))
        _replace(self._money, self._graph("money"))
        _replace(self._models, self._graph("models"))
        _replace(self._decision, decision(side, owner, step))
        self._owner.set_value(owner)
        self._show_followed(owner, step)
        self._show_events(step)

    def _graph(self, what: str) -> dict[str, Any]:
        side, step = self._side, self._session.step
        moment = side.at(step)
        if what == "money":
            graph, title = money(moment), "money of this step, payer to payee"
        else:
            apart = moment is not None and moment.links is not None
            graph = collaboration(moment)
            title = "models, giver to importer" if apart else "data given to the shared model"
        return network(side, graph, self._looks, title, self._session.setup.owner, step)

    def _show_facts(self) -> None:
        side, step = self._side, self._session.step
        moment = side.at(step)
        self._facts.clear()
        with self._facts:
            whole = side.status if step >= len(side.moments) else "seen before, played again"
            ui.label(whole).classes("fed-status")
            totals = dict.fromkeys(_TOTALS, "") if moment is None else _totals(moment, len(side.names))
            for name, value in totals.items():
                with ui.element("div"):
                    ui.label(name).classes("fed-soft")
                    ui.label(value or "-")

    def _show_followed(self, owner: int, step: int) -> None:
        self._followed.clear()
        with self._followed:
            ui.label(f"{self._side.names[owner]}, {self._side.strategies[owner]}").classes("fed-kind")
            for title, rows in followed(self._side, owner, step)._asdict().items():
                if not rows:
                    continue
                ui.label(title).classes("fed-soft")
                with ui.element("div").classes("fed-rows"):
                    for name, value in rows:
                        ui.label(name)
                        ui.label(value)

    def _show_events(self, step: int) -> None:
        shown = self._side.events_at(step)[:_MOST_EVENTS]
        if shown == self._shown_events:
            return
        self._shown_events = shown
        self._events.clear()
        with self._events:
            if not shown:
                ui.label("nothing yet").classes("fed-soft")
            for event in shown:
                with ui.element("div").classes("fed-event"):
                    ui.label(str(event.step)).classes("fed-soft")
                    ui.label(event.kind).classes(f"fed-kind {event.kind}")
                    ui.label(event.words)


async def _forget(known: Sequence[weakref.ref[Any]], worker: Executor) -> None:
    """Give memory back until these are gone; what is still at work on them where a machine is busy takes its time."""
    pause = _SOON
    while pause < _LATEST and any(one() is not None for one in known):
        await asyncio.sleep(pause)
        try:
            await asyncio.get_running_loop().run_in_executor(worker, give_back)
        except RuntimeError:  # everything ends
            return
        pause *= 2.0


def give_back() -> None:
    """Free what is only known in circles, as a page and its parts are, and return it to the machine where possible."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def _opened(source: RunChoice, setup: Setup) -> Session:
    """A session at the step that was asked for."""
    session = Session(source, setup)
    session.show(setup.step)
    return session


def _bare(setup: Setup) -> Setup:
    """What a form can say of a setup."""
    return Setup(**{**vars(setup), "source": "", "settings": (), "step": 0})


def _draw_legend(session: Session) -> None:
    side = session.sides[0]
    for name, look in looks_of(session).items():
        with ui.element("div"):
            ui.element("span").classes("fed-swatch").style(f"background: {look.colour}")
            ui.label(f"{name}: {side.strategies.count(name)}")


def _totals(moment: Moment, owners: int) -> dict[str, str]:
    found = {name: readable(moment.totals[key]) for name, key in _TOTALS.items()}
    return {**found, "present": f"{moment.totals['present']:.0f} of {owners}"}


def _button(icon: str, action: Callable[[], Any], name: str, words: str) -> Any:
    button = ui.button(icon=icon, on_click=action).props(f'flat dense round aria-label="{words}"')
    return button.classes(f"fed-{name}").tooltip(words)


def _replace(chart: Any, options: dict[str, Any]) -> None:
    chart.options.clear()
    chart.options.update(options)
    chart.update()
