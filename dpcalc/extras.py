"""Libraries that the base installation leaves out, asked for before work is done."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from dpcalc.errors import MissingExtra

_DISTRIBUTION = "dpcalc-privacy"

_EXTRAS = {
    "networkx": ("networkx", "algorithms"),
    "sklearn": ("scikit-learn", "algorithms"),
    "matplotlib": ("matplotlib", "plots"),
    "distributed": ("distributed", "scale"),
    "pyarrow": ("pyarrow", "scale"),
    "zstandard": ("zstandard", "scale"),
    "dp_accounting": ("dp-accounting", "dp-accounting"),
    "flint": ("python-flint", "certify"),
    "diffprivlib": ("diffprivlib", "libraries"),
    "jax_privacy": ("jax-privacy", "libraries"),
    "opendp": ("OpenDP", "libraries"),
    "pydp": ("python-dp", "libraries"),
}
"""What is imported: the library's name, and the extra that brings it."""


def need(*modules: str, purpose: str) -> None:
    """Return if all modules can be imported; nothing is loaded.

    Args:
        modules: some of networkx, sklearn, matplotlib, dp_accounting, flint, and of those that are
            audited.
        purpose: what they are needed for, such as "a picture".

    Raises:
        MissingExtra: if one is not installed; its text is one sentence with a command that installs
            what is missing in the way dpcalc was installed.
    """
    missing = [module for module in modules if not _is_there(module)]
    if missing:
        names = " and ".join(_EXTRAS[module][0] for module in missing)
        extras = sorted({_EXTRAS[module][1] for module in missing})
        verb = "is" if len(missing) == 1 else "are"
        raise MissingExtra(
            f"{purpose} needs {names}, which {verb} not installed; try: {install_command(extras)}"
        )


def _is_there(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None
    return importlib.util.find_spec(module) is not None


def install_command(extras: list[str]) -> str:
    """The command that adds extras to this installation of dpcalc."""
    words = [_python(), "-m", "pip", "install", *_source(",".join(extras))]
    return " ".join(shlex.quote(word) for word in words)


def _python() -> str:
    """The interpreter's short name where that is the one which runs, else its path."""
    found = shutil.which("python")
    if found is not None and os.path.dirname(found) == os.path.dirname(sys.executable):  # noqa: PTH120 - links are kept
        return "python"
    return sys.executable or "python"


def _source(extras: str) -> list[str]:
    """What to give to ``pip install``, by where the installation came from."""
    from importlib import metadata

    try:
        record = metadata.distribution(_DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return ["-e", f"{Path(__file__).parents[1]}[{extras}]"]  # run from a checkout
    if record is None:
        return [f"{_DISTRIBUTION}[{extras}]"]  # from an index
    origin = json.loads(record)
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        address = f"{vcs['vcs']}+{origin['url']}@{vcs['commit_id']}"
        return [f"{_DISTRIBUTION}[{extras}] @ {address}"]
    parts = urlsplit(origin["url"])
    if parts.scheme != "file":
        return [f"{_DISTRIBUTION}[{extras}] @ {origin['url']}"]
    path = Path(unquote(parts.path))
    if not path.exists():
        return _requirements(extras.split(","))
    editable = ["-e"] if origin.get("dir_info", {}).get("editable") else []
    return [*editable, f"{path}[{extras}]"]


def _requirements(extras: list[str]) -> list[str]:
    """The libraries of the extras themselves, where the source of the installation is gone."""
    from importlib import metadata

    found = []
    for line in metadata.requires(_DISTRIBUTION) or ():
        requirement, _, marker = line.partition(";")
        if any(marker.strip() in (f"extra == '{e}'", f'extra == "{e}"') for e in extras):
            found.append(requirement.strip())
    return found
