"""The one grammar of numbers, for every option, file and text.

Grammar
    ``0.5``, ``1e-5``, ``.5``, ``10_000``, ``1/3``, ``1.5e3/7``, ``inf``; a sign in front. A whole
    number may be written in any of these ways: ``1e4`` is 10000.
Statement
    A number that is typed as a decimal is meant as that decimal. `number` gives the nearest double,
    and where that is another number, a `Written` one, which carries the decimal along:
    ``numerics.precise.mpf`` and ``numerics.rounding.extended`` read that one, so that closed forms
    are evaluated at what was typed. Where a formula works with doubles alone, `at_most` and
    `at_least` give the neighbouring double on the safe side.
"""

from __future__ import annotations

import math
import numbers
import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

from dpcalc.errors import InvalidInput, shortened

_DECIMAL = re.compile(
    r"([+-]?)(\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e([+-]?\d{1,6}))?", re.ASCII
)
_PADDED = re.compile(r"(?<=[\d.])e(?:\+|(-))0*(?=\d)", re.ASCII)
_COMMAS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?", re.ASCII)
_COMMA = re.compile(r"[+-]?\d+,\d+(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_PERCENT = re.compile(r"([+-]?\d{1,20}(?:\.\d{1,20})?) ?%", re.ASCII)
_POWER = re.compile(
    r"(?:(\d{1,20}(?:\.\d{1,20})?) ?[*x×·] ?)?10(?:\^|\*\*)\(?([+-]?\d{1,4})\)?", re.ASCII
)
_THOUSAND = re.compile(r"(\d{1,20}(?:\.\d{1,20})?) ?([kKM])", re.ASCII)
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_LOWERED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_TYPED = str.maketrans({"−": "-", "{": "(", "}": ")", "$": ""})
_INFINITE = {"inf": math.inf, "infinity": math.inf}
_LONGEST = 1000
_LARGEST_EXPONENT = 2000


class Written(float):
    """The double nearest to a ratio of whole numbers, next to that ratio.

    Attributes:
        numerator, denominator: the number that was written; ``denominator`` is above 0.
    """

    __slots__ = ("denominator", "numerator")
    numerator: int
    denominator: int

    def __new__(cls, numerator: int, denominator: int) -> Self:
        """The double nearest to numerator/denominator."""
        made = super().__new__(cls, numerator / denominator)
        made.numerator, made.denominator = numerator, denominator
        return made

    def __eq__(self, other: object) -> bool:
        """Whether the same number was written; a mere double is another number."""
        if isinstance(other, Written):
            return self.numerator * other.denominator == other.numerator * self.denominator
        return False if isinstance(other, int | float) else NotImplemented

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return float.__hash__(self)

    def __reduce__(self) -> tuple[type[Written], tuple[int, int]]:
        return Written, (self.numerator, self.denominator)


def nearest(numerator: int, denominator: int) -> float:
    """The nearest double to a ratio, as `Written` unless it is the ratio itself."""
    made = Written(numerator, denominator)
    return made if remainder(made) else float(made)


def ratio(value: Any) -> tuple[int, int]:
    """A finite number as it was written, as numerator and denominator.

    Whole numbers, fractions and floats of any width, also NumPy's, are taken as they are.
    """
    if type(value) is float:
        return value.as_integer_ratio()
    if isinstance(value, Written | numbers.Rational):
        return int(value.numerator), int(value.denominator)
    if hasattr(value, "__index__"):
        return int(value), 1
    exact = value if hasattr(value, "as_integer_ratio") else float(value)
    top, bottom = exact.as_integer_ratio()
    return int(top), int(bottom)


def plain(value: Any) -> float:
    """A real number of any type as an int or a float of Python's; `Written` where neither is it."""
    if type(value) in (float, int, Written):
        return value
    if isinstance(value, float) or not math.isfinite(value):
        return float(value)
    return nearest(*ratio(value))


def remainder(value: Any) -> float:
    """What the nearest double lacks of a number as it was written, to sixteen digits."""
    if type(value) is float or (isinstance(value, float) and not isinstance(value, Written)):
        return 0.0
    double = float(value)
    if not math.isfinite(double):
        return 0.0
    (top, bottom), (up, down) = ratio(value), double.as_integer_ratio()
    return (top * down - up * bottom) / (bottom * down)


def at_most(value: float) -> float:
    """The largest double that is not above a number as it was written."""
    if remainder(value) < 0:
        return math.nextafter(float(value), -math.inf)
    return float(value)


def at_least(value: float) -> float:
    """The smallest double that is not below a number as it was written."""
    if remainder(value) > 0:
        return math.nextafter(float(value), math.inf)
    return float(value)


def shown_at_least(value: float) -> float:
    """A double that is not below a number as it was written, nor are the digits it is shown by.

    The number itself if these digits are it, as those of 0.3 are, or if it is a mere double.
    """
    return value if _has_digits(value) else _beyond(value, at_least(value), math.inf)


def shown_at_most(value: float) -> float:
    """The same for a double, and digits, that are not above it."""
    return value if _has_digits(value) else _beyond(value, at_most(value), -math.inf)


def _has_digits(value: float) -> bool:
    return not isinstance(value, Written) or Fraction(repr(float(value))) == Fraction(*ratio(value))


def _beyond(value: float, double: float, end: float) -> float:
    gap = Fraction(repr(double)) - Fraction(*ratio(value))
    return math.nextafter(double, end) if (gap < 0 < end or end < 0 < gap) else double


@lru_cache(maxsize=2**10)  # orders of divergences come again with every release
def number(text: str) -> float:
    """A number as people write it.

    Returns:
        The nearest double; `Written` if that is not the number itself.

    Raises:
        ValueError: if it is none, underflows to 0, or is beyond the doubles.
        ZeroDivisionError: for a denominator of 0.
    """
    top, slash, bottom = text.strip().lower().partition("/")
    if not slash and top.lstrip("+-") in _INFINITE and len(top.lstrip("+-")) >= len(top) - 1:
        return -math.inf if top.startswith("-") else math.inf
    exact = _decimal(top) / _decimal(bottom) if slash else _decimal(top)
    try:
        value = nearest(exact.numerator, exact.denominator)
    except OverflowError:
        raise ValueError(f"{shortened(text)} is beyond the largest double") from None
    if value == 0 and exact != 0:
        raise ValueError(f"{shortened(text)} underflows to 0")
    return value


def _decimal(text: str) -> Fraction:
    found = _DECIMAL.fullmatch(text.strip())
    if found is None or len(text) > _LONGEST:
        raise ValueError(f"{shortened(text)!r} is no number")
    sign, digits, exponent = found.groups()
    power = int(exponent or 0)
    if abs(power) > _LARGEST_EXPONENT:
        raise ValueError(f"{shortened(text)} has an exponent beyond the doubles")
    before, _, after = digits.replace("_", "").partition(".")
    top, places = int(f"{sign}{before}{after}"), len(after) - power
    return Fraction(top, 10**places) if places > 0 else Fraction(top * 10**-places)


def whole(name: str, text: str) -> int:
    """A whole number in any spelling of a number: 10000, 10_000, 1e4.

    Raises:
        InvalidInput: for any other number, with its neighbours.
    """
    try:
        top, slash, bottom = text.strip().lower().partition("/")
        exact = _decimal(top) / _decimal(bottom) if slash else _decimal(top)
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(
            f"{name} needs a whole number such as 10000 or 1e4; got {shortened(text)!r}"
            + hint_of(text)
        ) from None
    if exact.denominator != 1:
        below = math.floor(exact)
        raise InvalidInput(
            f"{name} needs a whole number; got {shortened(text)}; try {below} or {below + 1}"
        )
    return int(exact)


def comma_hint(text: str) -> str:
    """What to say of a text that would be a number but for its commas; "" of any other."""
    thousands, decimal = (_COMMAS.fullmatch(text.strip()), _COMMA.fullmatch(text.strip()))
    if not thousands and not decimal:
        return ""
    plain_text = text.strip().replace(",", "" if thousands else ".")
    return f"; a comma is no part of a number; try {plain_text}"


def _typed(text: str) -> str:
    """What a keyboard has for a number that was printed."""
    lowered = _RAISED.sub(lambda found: "^" + found[0].translate(_LOWERED), text)
    return lowered.translate(_TYPED).replace(r"\times", "×").replace(r"\cdot", "·").strip()


def hint_of(text: str) -> str:
    """What to say of a text that means a number in another notation; "" of any other.

    Commas, percent signs, powers of ten (``10^-6``, ``2*10**-6``) and thousands (``10k``), also as
    they are printed: with a minus sign, raised digits, or in LaTeX.
    """
    if len(text) <= _LONGEST and (typed := _typed(text)) != text.strip():
        try:
            number(typed)
        except (ValueError, ZeroDivisionError):
            return hint_of(typed)
        return f"; try {typed}"
    if commas := comma_hint(text):
        return commas
    if found := _PERCENT.fullmatch(text.strip()):
        share = Decimal(found[1]).scaleb(-2).normalize()
        return f"; a percent sign is no part of a number; try {share:f}"
    if found := _POWER.fullmatch(text.strip()):
        return f"; try {found[1] or 1}e{int(found[2])}"
    if found := _THOUSAND.fullmatch(text.strip()):
        times = 3 if found[2] in "kK" else 6
        return f"; try {Decimal(found[1]).scaleb(times).normalize():f}"
    return ""


def spelt(value: float, digits: int = 6) -> str:
    """A number as people write it: 1e-5, not 1e-05; to this many significant digits."""
    return unpadded(f"{value:.{digits}g}")


def unpadded(text: str) -> str:
    """Text whose numbers have exponents as people write them: 1e-5 for 1e-05."""
    return _PADDED.sub(r"e\1", text)


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE | re.ASCII)
_UNITS = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def size(name: str, text: Any) -> float:
    """Bytes, written with their unit: 500MB, 2GB, 1.5GiB.

    Raises:
        InvalidInput: for anything else, a number without a unit among it.
    """
    found = _SIZE.fullmatch(str(text).strip())
    unit = None if found is None else _UNITS.get(found[2].lower())
    if found is None or unit is None or not float(found[1]) > 0:
        given = shortened(repr(text))
        raise InvalidInput(f"{name} needs a size with its unit, such as 2GB; got {given}")
    return float(found[1]) * unit


def spelt_size(count: float, *, at_least: bool = False) -> str:
    """Bytes to three digits with the unit that suits them: 20 kB, 1.5 GB.

    Args:
        count: of bytes, 0 or above.
        at_least: whether the number that is spelt is not below ``count``; else it is not above.
    """
    whole_bytes = math.ceil(count) if at_least else math.floor(count)
    step = 10 ** max(0, len(str(whole_bytes)) - 3)
    rounded = (-(-whole_bytes // step) if at_least else whole_bytes // step) * step
    power = min((len(str(rounded)) - 1) // 3, len(_THOUSANDS) - 1)
    return f"{rounded / 1000**power:.12g} {_THOUSANDS[power]}"


_THOUSANDS = "B", "kB", "MB", "GB", "TB"
