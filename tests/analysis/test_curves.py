"""Panels show what matters: outliers are named, not drawn, and no text takes a panel's room."""

from __future__ import annotations

from fedabm.analysis.curves import focus, panels


def test_what_lies_far_below_is_named_and_the_rest_fills_the_panel() -> None:
    _, (panel,) = panels(1)
    focus(panel, {"worst": -100.0, "low": 8.0, "high": 10.0})
    low, high = panel.get_ylim()
    assert -5 < low < 8 < 10 < high < 15
    assert [text.get_text() for text in panel.texts] == ["below: worst\N{NO-BREAK SPACE}-100"]


def test_differences_within_a_usual_interval_are_not_magnified() -> None:
    """20.0 and 20.6 differ by less than the interval of 0.6, so 18.3 stays; without it the panel is cut to the top."""
    ends = {"a": -0.4, "b": 18.3, "c": 20.0, "d": 20.6, "e": 20.61, "f": 20.61}
    _, (cut, kept) = panels(2)
    focus(cut, ends)
    focus(kept, ends, width=0.6)
    assert cut.get_ylim()[0] > 18.3 > kept.get_ylim()[0]


def test_many_values_below_do_not_squeeze_the_panel() -> None:
    figure, (left, right) = panels(2)
    focus(left, {f"a protocol with a long name, number {k}": -(10.0**k) for k in range(16)} | {"top": 1.0})
    for panel in (left, right):
        panel.set_title("title")
    figure.canvas.draw()
    assert left.get_window_extent().width > 0.95 * right.get_window_extent().width
    (note,) = left.texts
    assert note.get_text().endswith(", ...")
    assert note.get_window_extent().width <= left.get_window_extent().width
