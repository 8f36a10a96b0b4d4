"""Settings to take to extremes."""

from __future__ import annotations

DP = (
    "dp-admm --n-records 32561 --rounds 100 --gradient-bound 1 --dual-start zero --sigma 0.01 "
    "--delta 1e-5"
)

RA = (
    "recycled-admm --n-nodes 5 --loss-weight 1750 --regularization 0.22 --penalty 1 --degree 3 "
    "--n-records 8000 --delta 1e-6 --noise-rate 1 --rounds 25"
)


def changed(base: str, **options: object) -> list[str]:
    """A command line with other values for some options; None leaves one out."""
    words = base.split()
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if option in words:
            at = words.index(option)
            del words[at : at + 2]
        if value is not None:
            words += [option, str(value)]
    return words


CLAIM = "[[claim]]\ntheorem = 'dp-admm'\nepsilon = 1\ndelta = 1e-5\n"
