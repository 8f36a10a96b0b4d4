"""Re-verifies a certificate in ball arithmetic: ``python -m dpcalc.certificates.checker FILE``.

This file decides, and depends on python-flint alone. For independent rounds with losses L, whose moment
functions M(z) = E[e^{zL}; L < ∞] mechanisms.py knows, a certificate is about

    δ(ε) = E[(1 - e^{ε-S})₊],  S the sum of the losses, 1 where S = ∞,

in each direction of the neighbouring relation: "upper" says that all are at most δ, "lower" that in one
of them δ(e) > δ for every e below ε; a sentence says so where this is of pairs that dominate mechanisms
which lose less. δ(ε) is enclosed by an integral of M on a vertical line, or by another method that the
evidence names. Every value is an enclosure; docs/certificates.md has the proofs. Methods, nodes and
lines are choices: none makes a false statement pass.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from flint import acb, arb

from dpcalc.certificates.balls import Ball, precision, product
from dpcalc.certificates.corners import METHOD, shown
from dpcalc.certificates.effort import EFFORT, affordable, most_effort
from dpcalc.certificates.grammar import (
    BITS,
    NODES,
    Refused,
    exact,
    fields,
    need,
    number,
    positive,
    whole,
    work_is_limited,
)
from dpcalc.certificates.laws import Rounds, gaussian, in_parts
from dpcalc.certificates.mechanisms import dominating, rounds_of
from dpcalc.certificates.meter import allowed
from dpcalc.certificates.methods import BOUNDS, METHODS
from dpcalc.certificates.moments import Heights, Line, effort, heights
from dpcalc.certificates.outcomes import over_losses
from dpcalc.certificates.quadrature import transformed
from dpcalc.certificates.renyi import sums_of_small

FORMAT = "dpcalc certificate 1"
FIELDS = "format", "made_by", "adjacency", "releases", "delta", "upper", "lower", "digest"


def check(certificate: Any, effort: float = EFFORT) -> list[str]:
    """What the certificate proves, a sentence for each end; raises Refused if it does not."""
    need(that=isinstance(certificate, dict), got=certificate)
    if certificate.get("format") != FORMAT:
        raise Refused(f"expected format {FORMAT!r}; got {certificate.get('format')!r:.60}")
    fields(certificate, *FIELDS, *({"claim"} & set(certificate)))
    made_for(certificate)
    if certificate["digest"] != digest(certificate):
        raise Refused("it was edited: its digest is not that of what stands in it")
    affordable([certificate], effort)
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
        pairs = end == "lower" and dominating(certificate["releases"], certificate["adjacency"])
        proved.append(
            ("their dominating pairs have " if pairs else "") + sentence.format(eps, delta)
        )
    need(that=len(proved) > 0, got="no end")
    return proved


def made_for(certificate: dict[str, Any]) -> str:
    """The claim that it names, "" if none: whether that is about these releases is not looked at."""
    if "claim" not in certificate:
        return ""
    file, place, name = fields(certificate["claim"], "file", "number", "name")
    need(that=isinstance(file, str) and isinstance(name, str), got=certificate["claim"])
    return f"made for claim {whole(place, 1, 10**9):,} of {file!r:.200}, {name!r:.200}"


def holds(certificate: Any, end: str, direction: str, how: Any) -> bool:
    """Whether δ(ε) is certainly on the right side of δ in one direction."""
    eps, delta = exact(certificate[end]["epsilon"]), exact(certificate["delta"])
    need(that=isinstance(how, dict) and isinstance(how.get("method"), str), got=how)
    bits = whole(how.get("precision"), 53, BITS)
    if how["method"] == METHOD:
        with precision(bits), allowed(most_effort(certificate, how)):
            certificate, how = shown(certificate, end, how)
    with precision(bits), allowed(most_effort(certificate, how)):
        rounds = rounds_of(certificate["releases"], certificate["adjacency"], direction == "add")
        if how["method"] == "largest loss":
            fields(how, "method", "precision")
            return over_losses(certificate["releases"], end, eps, delta)
        need(that=end == "upper" or how["method"] not in BOUNDS, got="a bound from above")
        value = enclosure(rounds, number(certificate[end]["epsilon"]), how)
        need(that=isinstance(how["enclosure"], list) and len(how["enclosure"]) == 2, got=how)
        least, most = how["enclosure"]
        above = exact(least) == 0 or bool(number(least) <= value)
        if not (above and value <= number(most)):
            raise Refused(f"δ({certificate[end]['epsilon']}) is not found to be as it is written")
    return exact(most) <= delta if end == "upper" else exact(least) > delta


def enclosure(rounds: Rounds, eps: Ball, how: dict[str, Any]) -> Ball:
    """δ(ε) in one direction, or a bound of it, by the method that the evidence names."""
    unknown = ("a method that is known",), line
    names, by_method = {**LINES, **METHODS}.get(how["method"], unknown)
    _, _, _, *chosen = fields(how, "method", "precision", "enclosure", *names)
    value = by_method(rounds, eps, *chosen)
    if how["method"] == "lattice":  # which counts infinite losses itself
        return value
    return 1 - product((1 - law.infinite) ** n for law, n in rounds) + value


def line(rounds: Rounds, eps: Ball, *chosen: Any) -> Ball:
    """By a line that the evidence describes."""
    *places, nodes, shifts, quiet = chosen
    c, period, far, smoothing = map(number, places)
    for each in (shifts, quiet):
        need(that=isinstance(each, list) and len(each) == len(rounds), got=each)
    last = whole(nodes, 1, NODES)
    first = [whole(node, 1, last + 1) for node in quiet]
    moments = sum(effort(law, c, n) for (law, _), n in zip(rounds, first, strict=True))
    work_is_limited(moments + last * len(rounds) / 4)  # a power takes a quarter of an exponential
    found = Line(c, period, far, smoothing, last, [number(text) for text in shifts], first)
    return by_a_line(rounds, eps, found)


PARTED = "real_part", "period", "order", "nodes", "shifts", "place", "chernoff"


def parted_line(rounds: Rounds, eps: Ball, *chosen: Any) -> Ball:
    """By a line for all but sums of small losses, which Chernoff's inequality bounds."""
    *places, nodes, shifts, place, chernoff = chosen
    split = [(in_parts(law, positive(place)), n) for law, n in rounds]
    quiet = [whole(nodes, 1, NODES) + 1] * len(rounds)
    value = line(split, eps, *places, "0", nodes, shifts, quiet)
    return value + sums_of_small(split, eps, number(chernoff))


LINES = {"line": (Line._fields, line), "parted line": (PARTED, parted_line)}


def on_a_line(found: Heights, eps: Ball, line: Line) -> Ball:
    """By the trapezoidal rule, with its tail and less its aliases."""
    c, period, order = line.real_part, line.period, line.order
    step = 2 * arb.pi() / period
    total = (-c * eps).exp() * transformed(found.terms, acb(0, -step * eps)).real
    cut = found.beyond * (-c * eps).exp() / (arb.pi() * step * line.nodes)
    left, right = (-c * period).exp(), ((c - order) * period).exp()
    above = found.chernoff * (-order * eps).exp()
    aliases = left / (1 - left) + above * right / (1 - right)
    return step / arb.pi() * total + arb(0, 1) * cut.upper() - arb(0.5, 0.5) * aliases


def by_a_line(rounds: Rounds, eps: Ball, line: Line) -> Ball:
    """Between bounds by one more Gaussian round of tiny μ = s <= 0.3, if s is not 0."""
    s, c, last = line.smoothing, line.real_part, line.nodes + 1
    sensible = c > 0 and line.order > c and line.period > 0 and s >= 0 and s <= arb("0.3")
    if not sensible:
        return arb.nan()
    if s == 0:
        return on_a_line(heights(rounds, line), eps, line)
    more = line._replace(shifts=[*line.shifts, arb(0)], quiet=[*line.quiet, last])
    found, a = heights([*rounds, (gaussian(s), 1)], more), 2 * s
    at, before, after = (on_a_line(found, eps + move, more) for move in (0, -a, a))
    least = 2 * at - before / (1 + (-a).exp()) - after / (1 + a.exp())
    return least.lower().min(at.upper()).union(at.upper())


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
