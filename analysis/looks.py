"""One look per strategy, mechanism and role, the same in every figure: colour, marker, dashes and hatch.

Colours are seaborn's "colorblind" palette; whatever differs in colour differs in marker, dashes and hatch as well, so
that figures can be read in print and without colour vision.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb

__all__ = [
    "Look",
    "kind_of",
    "mechanism_looks",
    "new_panel",
    "protocol_looks",
    "strategy_colours",
    "strategy_looks",
    "styled",
]

_COLOURS = sns.color_palette("colorblind").as_hex()
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "d", "8", "H")
_DASHES: tuple[Any, ...] = ("", (4, 1.5), (1, 1), (3, 1.25, 1.5, 1.25), (5, 1, 1, 1), (5, 1, 2, 1, 2, 1), (2, 2))
_HATCHES = ("", "//", "..", "xx", "\\\\", "--", "++", "oo", "||", "**", "/o", "-.")

#: without the palette's lightest two, which are hard to see on white
_STRATEGIES = {
    **dict(zip(("best_response", "gradient_response", "honest", "free_rider", "liar"), _COLOURS, strict=False)),
    **{"quitter": _COLOURS[5], "random": _COLOURS[9], "fixed_share": _COLOURS[7], "attacker": "#8c7a00"},
    **{"equilibrium": "#333333", "keep": "#5b2a86", "measured_response": "#00615c", "multiplicative_share": "#7f3b08"},
    **{
        "as_asked": "#7a9a01",
        "aspiration": "#e07b6a",
        "epsilon_greedy": "#a3162b",
        "exp3": "#2e4a9e",
        "ucb": "#c2185b",
    },
    **{"fictitious_play": "#5d8aa8", "imitation": "#9a6fb0", "logit_response": "#3f7d20", "q_learning": "#c9a227"},
    **{"regret_matching": "#1a1a6e", "tit_for_tat": "#6e6259"},
}
#: roles in a market, as in `fedabm.analysis.market`
_ROLES = {"trader": _COLOURS[2], "buyer": _COLOURS[0], "attacker": _COLOURS[3], "seller": _COLOURS[1]}
#: what costs nothing and pays nothing is grey
_MECHANISMS = {
    **{"NoPayments": _COLOURS[7], "ContributionSubsidy": _COLOURS[0], "CostSharing": _COLOURS[1]},
    **{"ShapleyShare": _COLOURS[2], "PartialReciprocity": _COLOURS[3], "ValueShaping": _COLOURS[4]},
    **{"Screening": _COLOURS[5], "ProportionalData": _COLOURS[9], "ProportionalValue": "#8c7a00"},
    **{"ProportionalShapley": "#5b2a86", "ModelMarket": "#333333", "BanzhafShare": "#00615c"},
}
#: the market's rivals are compared with each other and with the market
_RIVALS = {
    **{"Local": "#767676", "FedAvg": "#a3162b", "FedProx": "#4da6dd", "CFL": "#c97a00", "Ditto": "#13875f"},
    **{"FedAMP": "#b85fa6", "FedFomo": "#a8703f", "PFedGraph": "#6b3fa0"},
}
#: mechanisms that came later; the looks above stay what they are
_LATER = {
    **{"Clarke": "#2e4a9e", "Deposit": "#c2185b", "LeaveOneOut": "#7a9a01", "MultiplicativeWeights": "#7f3b08"},
    **{"PaymentRule": "#9a6fb0", "TullockContest": "#e07b6a", "Verification": "#5d8aa8"},
}
#: what papers call protocols, by the mechanism that they run
_PROTOCOLS = {
    **{"M^0": "NoPayments", "M^BG": "CostSharing", "M^Shap": "ShapleyShare"},
    **{"FedBR": "NoPayments", "FedBR-BG": "CostSharing", "FedBR-Shap": "ShapleyShare"},
    **{"UPBReD": "NoPayments", "2P-UPBReD": "ContributionSubsidy"},
    **{"iPFL": "ModelMarket", "pFedGraph": "PFedGraph", "MWFed": "MultiplicativeWeights"},
    **{"PD": "ProportionalData", "PV": "ProportionalValue", "PS": "ProportionalShapley"},
}
#: for names that are in no list
_SPARE = ("#1b4f72", "#6b6b00", "#99004c", "#4b2e05", "#005f2f", "#3d3d8f")


@dataclass(frozen=True)
class Look:
    """How one thing is drawn everywhere.

    Parameters
    ----------
    colour : str
        A colour as Matplotlib takes it.
    marker : str
        A marker as Matplotlib takes it.
    dashes : Any
        Dashes as seaborn takes them.
    hatch : str
        A hatch as Matplotlib takes it.
    """

    colour: str
    marker: str
    dashes: Any
    hatch: str

    @property
    def line(self) -> dict[str, Any]:
        """Arguments of Matplotlib's `plot` that draw a line with this look."""
        return {"color": self.colour, "linestyle": (0, self.dashes) if self.dashes else "-", "marker": self.marker}


def _look(place: int, colour: str) -> Look:
    return Look(
        to_hex(colour), _MARKERS[place % len(_MARKERS)], _DASHES[place % len(_DASHES)], _HATCHES[place % len(_HATCHES)]
    )


def kind_of(text: str) -> str:
    """The name without parameters: ContributionSubsidy(rate=0.1) -> ContributionSubsidy.

    >>> kind_of("liar(best_response)")
    'liar'
    """
    return re.split(r"[(\[{ ]", str(text).strip(), maxsplit=1)[0]


def strategy_looks(labels: Iterable[str]) -> dict[str, Look]:
    """One look per strategy; a wrapper has the look of its kind, whatever it wraps.

    >>> strategy_looks(["honest"]) == {"honest": strategy_looks(["liar", "honest"])["honest"]}
    True

    Parameters
    ----------
    labels : Iterable[str]
        The labels that need one.

    Returns
    -------
    dict[str, Look]
        Looks by label.
    """
    return _assign({label: label for label in labels}, _listed(_ROLES) | _listed(_STRATEGIES))


def mechanism_looks(mechanisms: Mapping[str, str]) -> dict[str, Look]:
    """One look per label from the mechanism behind it; labels with one mechanism differ in shade and marker.

    Parameters
    ----------
    mechanisms : Mapping[str, str]
        The mechanism, as text, by label.

    Returns
    -------
    dict[str, Look]
        Looks by label.
    """
    return _assign(mechanisms, _listed(_MECHANISMS | _RIVALS | _LATER))


def protocol_looks(labels: Iterable[str]) -> dict[str, Look]:
    """One look per protocol by its name in a paper: that of its mechanism, where it has one.

    >>> protocol_looks(["FedAvg", "M^Shap"])["M^Shap"] == mechanism_looks({"shares": "ShapleyShare()"})["shares"]
    True

    Parameters
    ----------
    labels : Iterable[str]
        The labels that need one.

    Returns
    -------
    dict[str, Look]
        Looks by label.
    """
    return mechanism_looks({label: _PROTOCOLS.get(label, label) for label in labels})


def strategy_colours(labels: Iterable[str]) -> dict[str, tuple[float, float, float]]:
    """One colour per strategy, the same in every figure.

    Parameters
    ----------
    labels : Iterable[str]
        The labels that need one.

    Returns
    -------
    dict[str, tuple[float, float, float]]
        Colours by label.
    """
    return {label: to_rgb(look.colour) for label, look in strategy_looks(labels).items()}


def _listed(colours: Mapping[str, str]) -> dict[str, Look]:
    return {name: _look(place, colour) for place, (name, colour) in enumerate(colours.items())}


def _assign(kinds: Mapping[str, str], listed: Mapping[str, Look]) -> dict[str, Look]:
    found: dict[str, Look] = {}
    for label, text in kinds.items():
        kind = kind_of(text)
        look = listed.get(kind) or listed.get(kind.split("_")[0]) or _unknown(kind)
        while look in found.values():
            look = _next(look)
        found[str(label)] = look
    return found


def _unknown(kind: str) -> Look:
    """The look of a name nobody has listed: always the same, because it is drawn from the name itself."""
    place = zlib.crc32(kind.encode()) % len(_SPARE)
    return _look(len(_MARKERS) - 1 - place, _SPARE[place])


def _next(look: Look) -> Look:
    """A relative: darker, or lighter again where it was dark, with the next marker, dashes and hatch."""
    darker = [0.72 * part for part in to_rgb(look.colour)]
    colour = to_hex(darker) if max(darker) > 0.3 else to_hex([0.5 + 0.5 * part for part in darker])
    following = _look(_MARKERS.index(look.marker) + 1, colour)
    return replace(
        following,
        dashes=_DASHES[(_DASHES.index(look.dashes) + 1) % len(_DASHES)],
        hatch=_HATCHES[(_HATCHES.index(look.hatch) + 1) % len(_HATCHES)],
    )


def styled(looks: Mapping[str, Look], *parts: str) -> dict[str, Any]:
    """Arguments of seaborn that draw hue and style by these looks: some of palette, markers and dashes.

    Parameters
    ----------
    looks : Mapping[str, Look]
        Looks by label.
    *parts : str
        Which of "palette", "markers" and "dashes".

    Returns
    -------
    dict[str, Any]
        Keyword arguments.
    """
    fields = {"palette": "colour", "markers": "marker", "dashes": "dashes"}
    return {part: {label: getattr(look, fields[part]) for label, look in looks.items()} for part in parts}


def new_panel(ax: Axes | None, width: float = 5.4, height: float = 3.6) -> Axes:
    """The axes given, or new ones in the style of all figures.

    Parameters
    ----------
    ax : Axes | None
        Where to draw; by default new axes.
    width : float, optional
        Width in inches.
    height : float, optional
        Height in inches.

    Returns
    -------
    Axes
        The axes.
    """
    if ax is not None:
        return ax
    with sns.axes_style("whitegrid"), sns.plotting_context("paper", font_scale=1.05):
        return plt.subplots(figsize=(width, height), layout="constrained")[1]
