"""Every picture of the documents is there for screens and for print, sharp, with its setting."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from PIL import Image

from dpcalc.reproduction.catalogue import experiment, names

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "figures"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PICTURES = sorted(path.with_suffix("") for path in FIGURES.rglob("*.png"))
LEAST = 150
"""Dots per inch."""


def _name(picture: Path) -> str:
    return str(picture.relative_to(FIGURES))


def _inches(path: Path) -> tuple[float, ...]:
    """Width and height of a picture; those of an SVG are in points."""
    if path.suffix == ".svg":
        text = path.read_text(encoding="utf-8")
        found = [re.search(rf'<svg [^>]*{side}="([\d.]+)pt"', text) for side in ("width", "height")]
        return tuple(float(size[1]) / 72 for size in found if size)
    with Image.open(path) as image:
        across, up = image.info["dpi"]
        return image.width / across, image.height / up


def test_pages_show_every_picture_there_is_and_lead_to_its_lines() -> None:
    shown: set[Path] = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"!\[[^]]*\]\(([^)\s]*figures/[^)\s]+)\)", text):
            assert f"]({target})]({Path(target).with_suffix('.svg')})" in text, f"{page}: {target}"
            shown.add((page.parent / target).resolve().with_suffix(""))
    assert shown == set(PICTURES)
    assert {path.with_suffix("") for path in FIGURES.rglob("*.svg")} == set(PICTURES)


@pytest.mark.parametrize("picture", PICTURES, ids=_name)
def test_a_picture_is_sharp_and_both_its_files_are_of_one_size(picture: Path) -> None:
    png, svg = picture.with_suffix(".png"), picture.with_suffix(".svg")
    with Image.open(png) as image:
        assert min(image.info["dpi"]) >= LEAST - 0.01  # kept in whole dots per metre
    dot = 1 / LEAST
    assert _inches(svg) == pytest.approx(_inches(png), abs=dot)


@pytest.mark.parametrize("picture", PICTURES, ids=_name)
def test_nothing_on_a_picture_is_cut_off(picture: Path) -> None:
    """Its outermost dots are as white as paper."""
    with Image.open(picture.with_suffix(".png")) as image:
        grey = image.convert("L")
        across, up = grey.size
        edges = [(0, 0, across, 1), (0, up - 1, across, up), (0, 0, 1, up)]
        for edge in [*edges, (across - 1, 0, across, up)]:
            assert grey.crop(edge).getextrema() == (255, 255)


@pytest.mark.parametrize("picture", PICTURES, ids=_name)
def test_the_setting_under_a_picture_ends_with_the_version(picture: Path) -> None:
    lines = picture.with_suffix(".svg").read_text(encoding="utf-8")
    words = " ".join(" ".join(re.findall(r"<!-- (.*?) -->", lines, re.DOTALL)).split())
    assert re.search(r"dpcalc \d+\.\d+", words), words[-300:]


REPRODUCED = [name for name in map(_name, PICTURES) if name in names()]
CURVES = "panel,curve,noise,certified_epsilon,delta,noisy_rounds,x,mean,lowest,highest"


@pytest.mark.parametrize("name", REPRODUCED)
def test_the_numbers_of_a_reproduced_picture_stand_beside_it(name: str) -> None:
    """As `dpcalc reproduce` writes them, for every panel, and the page leads to them."""
    lines = (FIGURES / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    panels = experiment(name).panels
    if panels:
        assert lines[0] == CURVES
        rows = list(csv.DictReader(lines))
        assert {row["panel"] for row in rows} == {panel.key for panel in panels}
        for row in rows:
            low, mean, high = (float(row[key]) for key in ("lowest", "mean", "highest"))
            assert low <= mean * (1 + 1e-5) + 1e-9
            assert mean <= high * (1 + 1e-5) + 1e-9
    assert len(lines) > 1
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert f"(figures/{name}.csv)" in page


def test_the_numbers_are_small() -> None:
    files = sorted(FIGURES.rglob("*.csv"))
    assert [path.stem for path in files] == REPRODUCED
    assert sum(path.stat().st_size for path in files) < 2e6
