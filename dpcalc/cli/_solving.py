"""What ``dpcalc calibrate`` does: solve a mechanism for one field and say what it then spends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc.cli._certify import Certificates, print_certificate
from dpcalc.cli._fields import offered_mechanisms
from dpcalc.cli._json import print_json
from dpcalc.cli._meant import meant_theorem
from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.numerals import spelt
from dpcalc.wording import spelt_count

if TYPE_CHECKING:
    from dpcalc.claims.solution import Solution


def solved(
    mechanism: str,
    *,
    epsilon: float,
    delta: float | None,
    rounds: float | None,
    each: float | None,
    adjacency: str | None,
    as_json: bool,
    certify: Path | None,
    **fields: float | None,
) -> int:
    """The exit status of a question for one field, after all is printed and written."""
    from dpcalc import checks
    from dpcalc.claims.named import meant_by, mechanism_fields, mechanism_key, mechanism_names
    from dpcalc.claims.solve import solve
    from dpcalc.cli._outputs import Writing, check_outputs

    certificates, writing = Certificates(certify), Writing()
    check_outputs([("--certify", certify)])
    table: dict[str, Any] = {"mechanism": mechanism_key(mechanism)}
    if table["mechanism"] not in mechanism_names():
        known = offered_mechanisms()
        meant = meant_by(mechanism) or meant_theorem(mechanism)
        raise unknown_name("mechanism", mechanism, known, meant=meant)
    given = {**fields, "epsilon": each, "adjacency": adjacency}
    table |= {name: value for name, value in given.items() if value is not None}
    if set(mechanism_fields(mechanism, table)) & {"p", "points"}:
        raise InvalidInput(f"{mechanism} has no field that can be solved for")
    count = None if rounds is None else checks.count("rounds", rounds)
    delta = 0.0 if delta is None else checks.delta(delta)
    found = solve(table, count, epsilon, delta)
    record = _record(found, epsilon, delta)
    parts = [(found.guarantee, 1)]
    certificates.add(record, record["certified"], parts, found.relation.name, delta)
    status = certificates.write(writing)
    if as_json:
        print_json(record)
    else:
        _print(found, record)
        print_certificate(record)
    writing.settle()
    return status


def _record(found: Solution, epsilon: float, delta: float) -> dict[str, Any]:
    from dpcalc.claims.named import UNITS, over_sensitivity
    from dpcalc.report.enclosures import enclosure

    record: dict[str, Any] = {
        "mechanism": found.table["mechanism"],
        "fields": _fields(found),
        "rounds": found.rounds,
        "solved_for": found.field,
        "value": found.value,
        "at_limit": found.at_limit,
        **over_sensitivity(found.table, found.relation.name),
        **found.relation.record(),
        "budget": {"epsilon": epsilon, "delta": delta},
        "certified": {
            "epsilon": found.guarantee.epsilon(delta),
            "delta": delta,
            **enclosure(found.guarantee, delta),
        },
    }
    if unit := UNITS.get(found.field):
        record["value_unit"] = unit
    return record


def _fields(found: Solution) -> dict[str, Any]:
    """The fields of the mechanism as solved, numbers of records as whole numbers."""
    whole = ("sample", "population", "dimension")
    fields = {name: value for name, value in found.table.items() if name != "mechanism"}
    return {
        name: int(value) if name in whole and value == int(value) else value
        for name, value in fields.items()
    }


def _unit_line(record: dict[str, Any]) -> str:
    """What the number is measured in, and the same noise over the sensitivity."""
    from dpcalc.report.text import upper

    kind, _, per = str(record["solved_for"]).partition("_")
    symbol = "standard deviation" if kind == "noise" else "scale"
    value = upper(record["value"], 8)
    if per == "over_sensitivity":
        return f"{symbol} = {value} times the sensitivity (the distance of two neighbours)"
    ratio = upper(record[f"{kind}_over_sensitivity"], 8)
    return f"{symbol} = {value} times one record's largest norm, {ratio} times the sensitivity"


def _print(found: Solution, record: dict[str, Any]) -> None:
    from dpcalc.report.enclosures import enclosure_line
    from dpcalc.report.remarks import remarks
    from dpcalc.report.text import console, escaped, lower, upper

    out = console()
    whole = found.field in ("rounds", "sample")
    smaller = found.field in ("noise_multiplier", "scale_multiplier")
    shown = f"{int(found.value):,}" if whole else (upper if smaller else lower)(found.value, 8)
    budget, spent = record["budget"], record["certified"]
    out.print(f"[bold]{found.field.replace('_', ' ')} = {shown}[/]")
    if "value_unit" in record:
        out.print(_unit_line(record))
    best = f"the {'smallest' if smaller else 'largest'}"
    end = f"; the search ends here, and a {'smaller' if smaller else 'larger'} one may meet it too"
    out.print(
        f"{'' if found.at_limit else best + ' that is '}certified to meet ε = "
        f"{spelt(budget['epsilon'])} at δ = {spelt(budget['delta'])} over {spelt_count(found.rounds)} "
        f"round{'s' if found.rounds != 1 else ''}; it spends ε = {upper(spent['epsilon'], 8)}"
        + (end if found.at_limit else "")
    )
    out.print(found.relation.sentence())
    for line in remarks(_fields(found), found.rounds, budget["delta"]):
        out.print(line)
    if "method" in spent:
        out.print(f"[dim]{escaped(enclosure_line(spent, 8))}[/]")
