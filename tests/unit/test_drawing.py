"""Pictures of reproduced figures: a method keeps its colour from panel to panel."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from dpcalc.report import profile
from dpcalc.reproduction import drawing, looks
from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel, Table


def _drawn(tmp_path, monkeypatch, panels, names):
    """The colour of every line, by panel and label."""
    kept = []
    monkeypatch.setattr(plt, "close", kept.append)
    curves = [
        Curve(panel=panel, name=name, x=np.arange(20), y=np.arange(20.0) + i, noise="certified")
        for panel in panels
        for i, name in enumerate(names[panel])
    ]
    experiment = Experiment(
        reference="",
        title="",
        compute=lambda _: Outcome(),
        panels=tuple(Panel(key=p, title="", x="", y="") for p in panels),
    )
    drawing.draw(experiment, Outcome(curves=curves), [tmp_path / "a.png"])
    monkeypatch.undo()
    (figure,) = [closed for closed in kept if isinstance(closed, Figure)]  # not all of None
    found = {
        panel: {line.get_label(): line for line in axes.get_lines()}
        for panel, axes in zip(panels, figure.axes, strict=False)
    }
    plt.close(figure)
    return found


def _look(line):
    """What a reader can tell a line by."""
    return (
        line.get_color(),
        line._unscaled_dash_pattern,  # only here are two dashed lines told apart
        line.get_marker(),
        line.get_fillstyle(),
    )


def test_a_method_keeps_its_colour_and_its_stops_are_told_apart(tmp_path, monkeypatch):
    names = {
        "a": ["ADMM without noise", "ADMM", "R-ADMM"],
        "b": ["R-ADMM", "ADMM"],
        "c": ["ADMM 50 noisy rounds", "ADMM 25 noisy rounds", "R-ADMM 25 noisy rounds"],
    }
    found = _drawn(tmp_path, monkeypatch, "abc", names)
    colours = {p: {n: line.get_color() for n, line in of.items()} for p, of in found.items()}
    for name in ("ADMM", "R-ADMM"):
        assert colours["a"][name] == colours["b"][name]
    assert colours["c"]["ADMM 50 noisy rounds"] == colours["a"]["ADMM"]
    assert colours["c"]["ADMM 25 noisy rounds"] == colours["a"]["ADMM"]  # no shade of it
    assert colours["c"]["R-ADMM 25 noisy rounds"] == colours["a"]["R-ADMM"]
    for lines in found.values():
        assert len({_look(line) for line in lines.values()}) == len(lines)


def test_no_two_methods_of_a_panel_share_a_number():
    known = {"a": 0, "b": 0, "c": 1}  # a and b never met so far
    found = looks.colours_of(["d", "a", "b", "c"], known)
    assert found["a"] == 0
    assert len(set(found.values())) == 4


@pytest.mark.parametrize(("least", "most"), [(2e-7, 7e-7), (1e-9, 1e-3)])
def test_the_low_panel_labels_few_whole_decades(least, most):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 1.2))
    low = figure.subplots()
    profile._width_panel(low, [0.1, 1.0], [1 - least, 1 - most], [1.0, 1.0])
    figure.draw_without_rendering()
    bottom, top = low.get_ylim()
    places = [*low.get_yticks(), *low.get_yticks(minor=True)]
    shown = [
        text.get_text()
        for text, place in zip(low.get_yticklabels(which="both"), places, strict=True)
        if text.get_text() and bottom * 0.999 <= place <= top * 1.001
    ]
    assert 1 <= len(shown) <= 4
    assert all("times" not in text for text in shown)


def _curve(name: str, y: list[float], **more: object) -> Curve:
    return Curve(panel="a", name=name, x=np.arange(3), y=np.array(y), **more)  # type: ignore[arg-type]


def test_curves_that_hide_each_other_say_so():
    curves = [_curve("a", [1, 2, 3]), _curve("b", [1, 5, 9]), _curve("c", [1, 2.001, 3])]
    assert looks.coinciding(curves) == {2: 0}
    assert looks.said(curves, {2: 0}) == "a and c coincide"
    assert looks.coinciding([]) == {}
    assert looks.said(curves, {}) == ""
    apart = [_curve("a", [1, 2, 3]), _curve("c", [1, 2.1, 3])]
    assert looks.coinciding(apart) == {}


def test_the_setting_under_a_picture_names_data_delta_and_runs():
    curves = [
        Curve(panel="a", name="a", x=[1, 2], y=[[1, 2], [3, 4], [5, 6]], epsilon=1, delta=1e-6),
        _curve("b", [1, 2, 3]),
    ]
    text = drawing.setting(Outcome(curves=curves, notes=("Adult",)))
    assert text.startswith(
        "Adult; certified ε at δ = 1e-6; bands from the worst to the best of 3 runs"
    )
    assert "dpcalc " in text
    assert drawing.setting(Outcome(curves=curves[1:])).startswith("dpcalc ")


def test_what_is_apart_on_a_logarithmic_axis_does_not_coincide():
    curves = [_curve("a", [100, 1, 1]), _curve("b", [100, 1.1, 1.1])]
    assert looks.coinciding(curves) == {1: 0}
    assert looks.coinciding(curves, log=True) == {}


def test_groups_that_coincide_are_said_apart_and_names_keep_no_commas():
    names = ["a", "a, certified", "b", "c", "b, certified"]
    curves = [_curve(name, [1, 2, 3]) for name in names]
    said = looks.said(curves, {1: 0, 3: 2, 4: 2})
    assert said == "a and a certified coincide; b, c and b certified coincide"


@pytest.mark.parametrize(
    ("ends", "decades"), [((1, 99), False), ((1, 101), True), ((0, 500), False), ((-1, 500), False)]
)
def test_more_than_two_decades_are_shown_on_a_logarithmic_axis(ends, decades):
    assert looks.shows_decades([_curve("a", [ends[0], 50, ends[1]])]) is decades
    assert looks.shows_decades([]) is False


def test_no_two_curves_of_a_panel_look_alike(tmp_path, monkeypatch):
    """Twelve methods with three stops each, and as many levels as there are greys."""
    assert len(set(looks.MARKS)) == len(looks.COLOURS) == 8
    names = {"a": [f"m{i} {n} noisy rounds" for i in range(12) for n in (9, 6, 3)]}
    found = _drawn(tmp_path, monkeypatch, "a", names)["a"]
    assert len({_look(line) for line in found.values()}) == 36
    levels = [_curve(f"l{i}", [i, i, i]) for i in range(3)]
    assert len({str(look) for look in looks.looks_of(levels, {})}) == 3


def test_a_name_is_at_the_rightmost_point_that_an_axis_shows():
    """Wherever it comes among the points; a logarithmic axis has nothing at 0 and below."""
    curve = Curve(panel="a", name="a", x=[3, 2, 1], y=[-1, 5, 6])
    assert drawing._right(curve, log=False) == (3, -1)
    assert drawing._right(curve, log=True) == (2, 5)
    assert drawing._right(_curve("a", [-1, 0, -2]), log=True) is None


@pytest.mark.parametrize(("points", "number"), [(1, 5), (3, 7), (50, 0), (151, 4)])
def test_marks_fall_on_the_line(points, number):
    first, step = drawing._every(points, number)
    assert 0 <= first < points
    assert step >= 1


def test_long_names_have_a_line_each_and_no_two_legends_meet(tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(plt, "close", kept.append)
    name = "PP q₁=1.04 q₂=1.01, certified, number {}"
    curves = [
        Curve(panel=p, name=name.format(i), x=np.arange(9), y=np.arange(9.0) + i, noise="certified")
        for p in "abc"
        for i in range(12)
    ]
    panels = tuple(Panel(key=p, title="", x="", y="") for p in "abc")
    experiment = Experiment(reference="", title="", compute=lambda _: Outcome(), panels=panels)
    drawing.draw(experiment, Outcome(curves=curves), [tmp_path / "a.png"])
    monkeypatch.undo()
    (figure,) = [closed for closed in kept if isinstance(closed, Figure)]
    boxes = [axes.get_legend().get_window_extent() for axes in figure.axes[:3]]
    assert boxes[0].x1 < boxes[1].x0
    assert min(box.x0 for box in boxes) > 0
    assert max(box.x1 for box in boxes) < figure.bbox.x1
    plt.close(figure)


def _labels_out_of_view(axes):
    """Labels of an axis that are kept, but not drawn."""
    for axis, k in ((axes.xaxis, 0), (axes.yaxis, 1)):
        low, high = sorted(axis.get_view_interval())
        for label in axis.get_ticklabels(which="both"):
            if not axes.axison or not low <= label.get_position()[k] <= high:
                yield label


def _texts(figure):
    """Every text on a figure with where it is drawn."""
    from matplotlib.text import Text

    figure.draw_without_rendering()  # the file may have had another resolution
    renderer = figure.canvas.get_renderer()
    unseen = {id(label) for axes in figure.axes for label in _labels_out_of_view(axes)}
    for text in figure.findobj(Text):
        if id(text) not in unseen and text.get_visible() and text.get_text().strip():
            yield text.get_text(), text.get_window_extent(renderer)


_LONG = "a sentence about what was computed from, and by whom, on which of all networks; " * 5


@pytest.mark.parametrize("panels", [0, 1, 2, 3, 5])
@pytest.mark.few(3)
def test_no_word_leaves_the_canvas(tmp_path, monkeypatch, panels):
    kept = []
    monkeypatch.setattr(plt, "close", kept.append)
    keys = "abcdef"[:panels]
    experiment = Experiment(
        reference="paper",
        title=_LONG[:150],
        compute=lambda _: Outcome(),
        panels=tuple(Panel(key=p, title=_LONG[:90], x=_LONG[:90], y=_LONG[:80]) for p in keys),
    )
    curves = [
        Curve(panel=p, name=_LONG[:n], x=np.arange(9), y=np.arange(9.0) + n)
        for p in keys
        for n in (10, 90)
    ]
    table = None if panels else Table(columns=("first", "second"), rows=((1, 2), (3, 4)))
    outcome = Outcome(curves=curves, table=table, notes=(_LONG, "x" * 400))
    drawing.draw(experiment, outcome, [tmp_path / "a.svg"])
    monkeypatch.undo()
    (figure,) = [closed for closed in kept if isinstance(closed, Figure)]
    found = list(_texts(figure))
    assert sum(shown.replace("\n", "").count("x") for shown, _ in found) >= 400  # all of it
    for shown, box in found:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, shown
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, shown
    plt.close(figure)


def test_nothing_is_cut_off_in_the_first_file_that_is_saved(tmp_path):
    """Below a long legend an axis has other numbers than before, and the label beside it moves."""
    panels = (Panel(key="a", title="t", x="x", y="objective", log_x=True, log_y=True),)
    curves = [
        Curve(panel="a", name=f"last iterate, certified for {n}", x=[0.01, 5], y=[8e5, least])
        for n, least in enumerate((1, 1.3, 1.6, 0.04))
    ]
    experiment = Experiment(reference="", title="", compute=lambda _: Outcome(), panels=panels)
    drawing.draw(experiment, Outcome(curves=curves), [tmp_path / "a.png"])
    ink = plt.imread(tmp_path / "a.png")[..., :3].min(axis=2)
    for edge in (ink[0], ink[-1], ink[:, 0], ink[:, -1]):
        assert edge.min() == 1.0
