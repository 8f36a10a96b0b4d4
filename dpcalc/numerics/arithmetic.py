"""The same arithmetic whatever the caller has set.

``numpy.seterr(all="raise")`` in a caller's program would make an error of every number that
underflows on purpose: a tail too small for a double is nothing, and enclosures count it as that.
Gates of the library therefore compute under settings of their own, numpy's defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

import numpy as np

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def own_arithmetic(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """The function under numpy's default handling of floating-point events."""

    @wraps(function)
    def computed(*args: Arguments.args, **given: Arguments.kwargs) -> Answer:
        with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
            return function(*args, **given)

    return computed


class OwnArithmetic:
    """A base whose descendants' public methods and properties compute in `own_arithmetic`."""

    __slots__ = ()

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        for name, member in list(vars(cls).items()):
            if not name.startswith("_") or name == "__post_init__":
                _guard(cls, name, member)


def _guard(cls: type, name: str, member: Any) -> None:
    if isinstance(member, FunctionType):
        if not hasattr(member, "__wrapped__"):  # a dataclass with slots is made from a made class
            setattr(cls, name, own_arithmetic(member))
    elif isinstance(member, property) and not hasattr(member.fget, "__wrapped__"):
        setattr(cls, name, property(own_arithmetic(member.fget), doc=member.__doc__))  # type: ignore[arg-type]
    elif isinstance(member, cached_property) and not hasattr(member.func, "__wrapped__"):
        member.func = own_arithmetic(member.func)
