"""The numbers and messages of the last release: every published result in many settings, guarantees.

``python -m tests.golden.last_release`` writes them again, to last_release.json. They are recorded, not
derived: they show what a change of the code changes, not what is right, for which the other files here
have oracles. A number that changes on purpose is named in CHANGELOG.md under "Numbers that changed".
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpcalc.theorems.catalogue import keys
from tests.golden.answers import Plain, answers, glance
from tests.golden.guarantee_answers import PARTS
from tests.golden.settings import answered, changed, glanced_at

PATH = Path(__file__).with_name("last_release.json")

KEYS = [*keys(), *PARTS]
"""What there are records of."""

_PRESCRIBED = 8
"""The paper's noise is asked of so many settings of a result."""

_STEPPED = 1e-5
"""Where calibration stops short of the last double it is at most so far from its end."""

_EIGENVALUES = 1e-10
"""Of matrices of at most 25 rows, to 25·2⁻⁵² of their norm; differences of them, and of one less them,
are above 1e-4 of it here."""

_SEARCHED = 1e-2
"""A search over multipliers or curvatures, every end of which gives a proof, makes some sixty steps and
stops where it stands, on every processor elsewhere."""

_TRANSFORMED = 1e-6
"""Probabilities after hundreds of Fourier transforms, to 1e-13, at δ from 1e-5 on."""

_CURVES, _INVERTED = ("profile", "best number of counted steps", "best of several"), 1e-11
"""Their ε is where a curve of doubles crosses δ. A logarithm of the curve is known to some 1e-13, for
vectors of exponentials have other last digits on other processors, and ε moves by less than 20 times
its own size with it in the settings here."""

_LINEAR = (
    "dual-averaging-consensus",
    "dual-averaging-convergence",
    "dual-averaging-rate",
    "dual-averaging-utility",
    "m-admm-convergence",
    "m-admm-rate",
    "recycled-admm-convergence",
)
_ITERATED = ("admm-iteration", "admm-iteration-all-users", "admm-iteration-strongly-convex")

_MINIMISED, _FOUR_DIGITS = 1e-9, 1e-3
"""The best order is where a curve is flat: an error of √u of the place is one of u of the value. Curves
of compositions and mechanisms are found from δ to four digits, and divergences are sums over cells."""

WIDTHS: dict[str, dict[str, float]] = {
    **dict.fromkeys(_LINEAR, dict.fromkeys(("claimed", "certified", "attained"), _EIGENVALUES)),
    **dict.fromkeys(_ITERATED, dict.fromkeys(("certified", "attained"), _SEARCHED)),
    "noisy-cgd-constrained": {"attained": _TRANSFORMED},
}
"""Relative errors of bounds that go through linear algebra or searches in doubles; the others are
rounded from sixty digits, or are enclosures."""

WHOLE = {
    "guarantees in closed form": _MINIMISED,
    "guarantees by enclosures": _FOUR_DIGITS,
    "noise and other numbers": _MINIMISED,
}
"""The same for all numbers of a part."""

_ANY = {
    "m-admm-rate": {"split"},
    "recycled-admm-convergence": {"coupling", "split", "margin", "claimed.margin"},
}
"""Numbers of which any that meet a condition will do."""


def found(key: str) -> Plain:
    """What the code answers now about a result, by setting, or about guarantees."""
    if key in PARTS:
        return {name: question() for name, question in PARTS[key].items()}
    settings = (json.dumps(change) for change in answered(key))
    return {
        "answered": {setting: at(key, k) for k, setting in enumerate(settings)},
        "refused": refused(key),
    }


def at(key: str, k: int) -> Any:
    """All answers in setting number k of a result, as they are recorded."""
    change = answered(key)[k]
    given, first = changed(key, change), not change
    answer = answers(key, given, points=2 if first else 1, budget=k < _PRESCRIBED)
    return json.loads(json.dumps(_without(answer, _ANY.get(key, set()))))


def refused(key: str) -> Plain:
    """What is said of one parameter changed after the other, where something is said."""
    said = {json.dumps(c): glance(key, changed(key, c)) for c in glanced_at(key)}
    return {change: words for change, words in said.items() if words}


def _without(answer: Any, names: set[str]) -> Any:
    if not isinstance(answer, dict):
        return answer
    return {k: _without(v, names) for k, v in answer.items() if k not in names}


def recorded() -> Plain:
    """What is recorded, by result."""
    read: Plain = json.loads(PATH.read_text("utf-8"))
    return read


def differences(was: Any, now: Any, where: str, *, width: float = 0.0) -> Iterator[str]:
    """Where two answers differ by more than their own errors allow.

    Args:
        was: as recorded.
        now: as found.
        where: the path to both, from the result's key.
        width: relative error of a number.
    """
    if isinstance(was, dict) and isinstance(now, dict):
        if {*was} == {*now} == {"from", "to"}:
            if not (now["from"] <= was["to"] and was["from"] <= now["to"]):
                yield f"{where}: {was} was recorded, now {now}: the enclosures do not meet"
            return
        for name in sorted({*was, *now}):
            before, after = was.get(name, "nothing"), now.get(name, "nothing")
            wide = width or _width(where, name, now)
            yield from differences(before, after, f"{where}/{name}", width=wide)
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for k, (before, after) in enumerate(zip(was, now, strict=True)):
            yield from differences(before, after, f"{where}[{k}]", width=width)
    elif not _same(was, now, width):
        yield f"{where}: {was!r} was recorded, now {now!r}"


def _width(where: str, name: str, answer: Plain) -> float:
    """The relative error of a part of an answer, such as "certified" or "formulas/certified.mu"."""
    if name == "prescribed" and answer.get("tolerance", 0.0) > 1e-10:
        return _STEPPED
    if name == "epsilon" and answer.get("notion") in _CURVES:
        return _INVERTED
    return WIDTHS.get(where.partition("/")[0], {}).get(name.partition(".")[0], 0.0)


def _same(was: Any, now: Any, width: float) -> bool:
    numbers = _as_number(was), _as_number(now)
    if width and None not in numbers:
        before, after = numbers
        return abs(before - after) <= width * abs(before)
    return bool(was == now)


def _as_number(value: Any) -> Any:
    """A finite number, or a formula's value in text, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def main() -> None:
    """Write the file again."""
    PATH.write_text(_laid_out({key: found(key) for key in KEYS}), "utf-8")


def _laid_out(record: Plain) -> str:
    """JSON with a line for every setting."""
    results = []
    for key, parts in record.items():
        lines = []
        if key in PARTS:
            rows = [
                f"  {json.dumps(n)}: {json.dumps(a, ensure_ascii=False)}" for n, a in parts.items()
            ]
            results.append(f' "{key}": {{\n' + ",\n".join(rows) + "\n }")
            continue
        for part, settings in parts.items():
            rows = [
                f"   {json.dumps(c)}: {json.dumps(a, ensure_ascii=False)}"
                for c, a in settings.items()
            ]
            lines.append(f'  "{part}": {{\n' + ",\n".join(rows) + "\n  }")
        results.append(f' "{key}": {{\n' + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(results) + "\n}\n"


if __name__ == "__main__":
    main()
