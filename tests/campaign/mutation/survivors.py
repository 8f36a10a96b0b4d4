"""What a mutant changes, and whether anyone could notice."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from difflib import ndiff
from pathlib import Path

REGISTER = Path(__file__).with_name("survivors.toml")

_WORDS = re.compile(r"XX.* .*XX|[\"'](?=[^\"']* )[A-Z ]{4,}[\"']")
"""Several words: one alone may be a name that is compared or looked up."""


@dataclass(frozen=True, slots=True)
class Change:
    """The lines that a mutant removes and adds."""

    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def wording(self) -> bool:
        """Whether only the text of a message differs."""
        return bool(_WORDS.search(" ".join(self.added))) and not _WORDS.search(
            " ".join(self.removed)
        )


def change(copy: Path, name: str) -> Change:
    """The change that a mutant makes in its function."""
    module, _, mutant = name.rpartition(".")
    path = copy / (module.replace(".", "/") + ".py")
    text = (path if path.exists() else path.with_suffix("") / "__init__.py").read_text("utf-8")

    def body(function: str) -> list[str]:
        start = re.search(rf"^( *)def {re.escape(function)}\(.*\n", text, re.MULTILINE)
        assert start is not None
        rest = text[start.end() :]
        end = re.search(rf"^ {{0,{len(start[1])}}}[^ )\n]", rest, re.MULTILINE)
        return rest[: end.start() if end else None].splitlines()

    lines = list(ndiff(body(mutant.partition("__mutmut_")[0] + "__mutmut_orig"), body(mutant)))
    removed = tuple(line[2:].strip() for line in lines if line.startswith("- "))
    return Change(removed, tuple(line[2:].strip() for line in lines if line.startswith("+ ")))


Known = set[tuple[str, str, str]]
"""Changes: the function they are made in, "" for any; the removed and the added line."""


def registered() -> Known:
    """Changes that no test can or need see."""
    with REGISTER.open("rb") as file:
        entries = tomllib.load(file).get("survivor", [])
    return {(e.get("where", ""), _plain(e["was"]), _plain(e["is"])) for e in entries}


def unnoticeable(name: str, found: Change, known: Known) -> bool:
    """Whether no user could tell the change that a mutant makes from the original."""
    lines = _plain(*found.removed), _plain(*found.added)
    where = name.rpartition("__mutmut_")[0]
    return found.wording or ("", *lines) in known or (where, *lines) in known


def _plain(*lines: str) -> str:
    """Lines as one, without blank ones."""
    return " ".join(" ".join(lines).split())
