"""Pictures in the format of their file's suffix, written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc.errors import InvalidInput
from dpcalc.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_picture(path: Path, option: str) -> None:
    """Refuse a suffix that no picture has, before anything is computed for it."""
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in known:
        raise InvalidInput(
            f"{option} needs a name ending in .png, .svg, .pdf or another format of matplotlib; got "
            f"{str(path)!r}"
        )


def save_picture(figure: Figure, path: Path, **settings: Any) -> None:
    """Write a figure.

    Args:
        figure: what was drawn.
        path: the file, whose suffix says the format.
        settings: of matplotlib's ``savefig``.

    Raises:
        InvalidInput: if no picture has the suffix.
        OutputFailed: if it cannot be written.
    """
    check_picture(path, "a picture")
    with write_atomically(path) as file:
        figure.savefig(file, format=path.suffix.lower().removeprefix("."), **settings)
