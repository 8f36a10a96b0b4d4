"""Re-verifies a certificate in ball arithmetic: ``python -m dpcalc.certificates.checker FILE``.

This file decides. grammar.py reads numbers, mechanisms.py and laws.py know the losses, methods.py and
inversion.py compute δ(ε). They depend on the standard library and python-flint alone, and can be read
in one sitting. Every value is an enclosure; docs/certificates.md has the proofs. For independent
rounds with losses L a certificate is about

    δ(ε) = E[(1 - e^{ε-S})₊],  S the sum of the losses, 1 where S = ∞,

in each direction of the neighbouring relation: "upper" says that all are at most δ, "lower" that in one
of them δ(e) > δ for every e below ε. Methods, nodes and contours are choices: none makes a false
statement pass.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpcalc.certificates.grammar import Refused, exact, fields, need, number, whole
from dpcalc.certificates.laws import precision
from dpcalc.certificates.mechanisms import rounds_of
from dpcalc.certificates.methods import BOUNDS, enclosure

FORMAT = "dpcalc certificate 1"
FIELDS = "format", "made_by", "adjacency", "releases", "delta", "upper", "lower", "digest"


def over_losses(releases: Any, end: str, eps: Fraction, delta: Fraction) -> bool:
    """What follows from the largest finite losses and the chances of infinite ones alone.

    If no sum of finite losses exceeds ε, δ(ε) is the chance of an infinite one; below the largest sum,
    which has a positive chance, it is larger.
    """
    need(that={r["mechanism"] for r in releases} <= {"approximate", "laplace"}, got="largest loss")
    largest = sum(r["count"] * exact(r["epsilon"]) for r in releases)
    if end == "upper":
        return largest <= eps and sum(r["count"] * failure(r) for r in releases) <= delta
    finite = math.prod((1 - failure(r)) ** r["count"] for r in releases)
    return largest >= eps and 1 - finite >= delta


def failure(release: Any) -> Fraction:
    """The chance of an infinite loss."""
    return exact(release.get("delta", "0"))


def holds(certificate: Any, end: str, direction: str, how: Any) -> bool:
    """Whether δ(ε) is certainly on the right side of δ in one direction."""
    eps, delta = exact(certificate[end]["epsilon"]), exact(certificate["delta"])
    releases, adjacency = certificate["releases"], certificate["adjacency"]
    need(that=isinstance(how, dict) and isinstance(how.get("method"), str), got=how)
    bits = whole(how.get("precision"), 53)
    with precision(min(bits, 10_000)):
        rounds = rounds_of(releases, adjacency, direction == "add")
        if how["method"] == "largest loss":
            fields(how, "method", "precision")
            return over_losses(releases, end, eps, delta)
        need(that=end == "upper" or how["method"] not in BOUNDS, got="a bound from above")
        value = enclosure(rounds, number(certificate[end]["epsilon"]), how)
        need(that=isinstance(how["enclosure"], list) and len(how["enclosure"]) == 2, got=how)
        least, most = how["enclosure"]
        above = exact(least) == 0 or bool(number(least) <= value)
        need(that=above and bool(value <= number(most)), got=how["enclosure"])
    return exact(most) <= delta if end == "upper" else exact(least) > delta


def check(certificate: Any) -> list[str]:
    """What the certificate proves, a sentence for each end; raises Refused if it does not."""
    fields(certificate, *FIELDS)
    need(that=certificate["format"] == FORMAT, got=certificate["format"])
    need(that=certificate["digest"] == digest(certificate), got=certificate["digest"])
    one_sided = certificate["adjacency"] == "add-remove"
    directions = {"remove", "add"} if one_sided else {"both"}
    proved, delta = [], certificate["delta"]
    sentences = ("upper", "δ({}) <= {}"), ("lower", "δ(ε) > {1} for every ε < {0}")
    for end, sentence in sentences:
        if certificate[end] is None:
            continue
        eps, evidence = fields(certificate[end], "epsilon", "evidence")
        need(that=isinstance(evidence, dict) and set(evidence) <= directions, got=evidence)
        need(that=len(evidence) == (len(directions) if end == "upper" else 1), got=evidence)
        for direction, how in evidence.items():
            if not holds(certificate, end, direction, how):
                raise Refused(f"{sentence.format(eps, delta)}: this does not follow")
        proved.append(sentence.format(eps, delta))
    need(that=len(proved) > 0, got="no end")
    return proved


def digest(certificate: dict[str, Any]) -> str:
    """A checksum of everything but itself, to tell an edited file from a false one."""
    rest = {name: value for name, value in certificate.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table whose fields are given once."""
    need(that=len(dict(pairs)) == len(pairs), got="a field given twice")
    return dict(pairs)


if __name__ == "__main__":
    try:
        text = Path(sys.argv[1]).read_text(encoding="utf-8")
        sys.stdout.write("\n".join(check(json.loads(text, object_pairs_hook=unique))) + "\n")
    except (Refused, ValueError, ArithmeticError, OSError, RecursionError) as error:
        sys.exit(f"REFUSED: {error}")
