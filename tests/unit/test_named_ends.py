"""Names beside curves: near their ends, none on another, each after a sample of its line."""

from __future__ import annotations

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch

from dpcalc.pictures.curves import Curve, Picture
from dpcalc.pictures.drawing import STYLES, _styles, figure_of
from dpcalc.pictures.ends import End, fits, name_ends, spread


def test_what_has_room_stays_where_it_is():
    assert spread([0.2, 0.5, 0.8], [0.1, 0.1, 0.1]) == pytest.approx([0.2, 0.5, 0.8])
    assert spread([], []) == []


def test_what_would_meet_moves_apart_by_the_same():
    assert spread([0.5, 0.5], [0.1, 0.1]) == pytest.approx([0.45, 0.55])
    assert spread([0.5, 0.5], [0.1, 0.3]) == pytest.approx([0.4, 0.6])


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_on_anything_else_or_outside(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 12))
    wanted = np.sort(rng.random(count) ** 4)
    sizes = rng.uniform(0.02, 0.2, count)  # of which the longest have not enough room
    places = spread(list(wanted), list(sizes))
    sizes *= min(1.0, 1.0 / sizes.sum())
    assert places[0] >= sizes[0] / 2 - 1e-12
    assert places[-1] <= 1 - sizes[-1] / 2 + 1e-12
    for k, (low, high) in enumerate(itertools.pairwise(places)):
        assert high - low >= (sizes[k] + sizes[k + 1]) / 2 - 1e-12


def _named(heights: list[float]) -> tuple[Figure, list[str]]:
    figure = plt.figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    ends = []
    for k, height in enumerate(heights):
        (line,) = axes.plot([0, 1], [0, height], linestyle="--", marker="s", color=f"C{k}")
        ends.append(End(f"curve {k}", line, (1.0, height)))
    name_ends(figure, {axes: ends}, size=8)
    figure.draw_without_rendering()
    return figure, [end.name for end in ends]


def test_names_of_curves_that_end_together_do_not_overlap_and_keep_their_order():
    figure, names = _named([1.0, 1.001, 0.999, 0.5])
    (axes,) = figure.axes
    boxes = {text.get_text(): text.get_window_extent() for text in axes.texts}
    assert set(boxes) == set(names)
    below = sorted(boxes.values(), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 for low, high in itertools.pairwise(below))
    order = sorted(boxes, key=lambda name: boxes[name].y0)
    assert order == ["curve 3", "curve 2", "curve 0", "curve 1"]
    for box in boxes.values():
        assert axes.bbox.x1 < box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
    plt.close(figure)


def test_a_name_comes_after_a_sample_of_its_line_and_a_thin_line_to_its_end():
    figure, names = _named([1.0, 0.5])
    (axes,) = figure.axes
    assert len(figure.artists) == len(names)
    for line, sample in zip(axes.lines[::-1], figure.artists, strict=True):
        assert (sample.get_color(), sample.get_marker()) == (line.get_color(), line.get_marker())
        assert sample.get_linestyle() == line.get_linestyle()
        assert not sample.get_clip_on()  # it is outside the axes
    leaders = [patch for patch in axes.patches if isinstance(patch, ConnectionPatch)]
    assert {patch.xy1 for patch in leaders} == {(1.0, 1.0), (1.0, 0.5)}
    plt.close(figure)


def test_names_too_wide_or_too_many_do_not_fit():
    figure = plt.figure()
    assert fits(figure, ["certified"] * 3, size=8, width=7, height=3)
    assert not fits(figure, ["certified " * 9], size=8, width=7, height=3)
    assert not fits(figure, ["certified"] * 40, size=8, width=7, height=3)
    plt.close(figure)


POINTS = ((1.0, 1.0), (2.0, 3.0))


def test_a_picture_names_its_curves_beside_them_and_has_no_legend():
    curves = (Curve("one", POINTS), Curve("two", ((1.0, 2.0), (2.0, 2.0))), Curve("claimed", ()))
    axes = figure_of(Picture("rounds", "error", curves), title="", setting="").axes[0]
    assert axes.get_legend() is None
    heights = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert list(heights) == ["claimed: no finite error", "two", "one"]
    assert heights["two"] < heights["one"]


def test_a_narrow_picture_has_a_legend():
    names = [f"a name as long as this one is, number {k}" for k in range(9)]
    curves = tuple(Curve(name, ((1.0, 1.0 + k), (2.0, 3.0))) for k, name in enumerate(names))
    picture = Picture("rounds", "error", curves)
    assert figure_of(picture, title="", setting="", width=3.3).axes[0].get_legend() is not None


@pytest.mark.parametrize(("width", "words"), [(2.0, 30), (3.3, 4), (7.0, 5), (7.0, 12)])
def test_a_legend_lies_below_the_axes_within_the_picture(width, words):
    """Over the axes it would cover the lines that it names."""
    names = [f"{'multiplier ' * words}{k}" for k in range(9)]
    curves = tuple(Curve(name, ((1.0, 1.0 + k), (2.0, 3.0))) for k, name in enumerate(names))
    figure = figure_of(Picture("rounds", "error", curves), title="", setting="s", width=width)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    legend, outer = axes.get_legend().get_window_extent(), figure.bbox
    label = axes.xaxis.label.get_window_extent()
    assert legend.y1 <= label.y0
    assert outer.x0 <= legend.x0 < legend.x1 <= outer.x1
    assert outer.y0 <= legend.y0
    assert axes.bbox.height > figure.dpi * 0.25 * width


def test_no_two_curves_of_a_picture_look_alike():
    own = [Curve(f"c{k}", POINTS) for k in range(20)]
    levels = [Curve(f"l{k}", POINTS[:1], level=True) for k in range(3)]
    names = [curve.name for curve in (*own, *levels)]
    for kinds in ([], [Curve("claimed", POINTS), Curve("certified", POINTS)]):
        styles = _styles([*own, *levels, *kinds])
        shown = [styles[name] for name in (*names, *(kind.name for kind in kinds))]
        assert len({str(style) for style in shown}) == len(shown)
    assert len({style[:2] for style in STYLES.values()}) >= 4
