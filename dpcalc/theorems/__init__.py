"""Published results, one file each, grouped by family.

    from dpcalc.theorems import DPADMM                 # typed: a misspelt parameter is a type error
    from dpcalc.theorems.catalogue import result       # by key, as the command line spells it

Every result's class can be imported from here and is found by its file; type checkers read the list
in ``__init__.pyi``, which ``python -m dpcalc.theorems.stub`` writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if not TYPE_CHECKING:

    def __getattr__(name):
        if not name.startswith("_"):
            from dpcalc.theorems.catalogue import by_class_name

            if (found := by_class_name(name)) is not None:
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        from dpcalc.theorems.catalogue import results

        return sorted({*globals(), *(result.__name__ for result in results())})
