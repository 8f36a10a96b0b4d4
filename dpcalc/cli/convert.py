"""``dpcalc convert``: from one notion of privacy to another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._json import print_json
from dpcalc.cli._options import NUMBER, StrictCommand, completing, delta_option, json_option
from dpcalc.errors import InvalidInput, missing_delta

if TYPE_CHECKING:
    from dpcalc.guarantees import Guarantee

_LOWER_BOUNDS = ("false_negative_rate", "missed_at_5_percent_false_alarms")
TARGETS = ("approx", "pure", "zcdp", "gdp", "rdp", "risk", "tradeoff")


@click.command(
    "convert", cls=StrictCommand, short_help="One notion of privacy (ε, zCDP, GDP, RDP) as another."
)
@click.option("--pure", type=NUMBER, help="From ε-DP: its ε.")
@click.option("--zcdp", type=NUMBER, help="From zero-concentrated DP: its ρ.")
@click.option("--gdp", type=NUMBER, help="From Gaussian DP: its μ.")
@click.option(
    "--rdp",
    multiple=True,
    metavar="ORDER:DIVERGENCE",
    help="From Rényi DP: the divergence at an order; may be repeated.",
)
@click.option("--approx", metavar="EPSILON:DELTA", help="From (ε, δ)-DP.")
@click.option(
    "--to",
    "target",
    required=True,
    metavar="|".join(TARGETS),
    help="The notion to convert to.",
    shell_complete=completing(lambda: TARGETS),
)
@delta_option()
@click.option("--epsilon", type=NUMBER, help="With --to approx: give δ at this ε instead.")
@click.option("--order", type=NUMBER, help="With --to rdp: the order, above 1.")
@click.option("--fpr", type=NUMBER, help="With --to tradeoff: the false-positive rate.")
@click.option("--rounds", type=NUMBER, help="How often it is used; once unless given.")
@json_option
def command(target: str, as_json: bool, **given: Any) -> None:
    r"""From one notion of privacy to another, by the exact or best known formula.

    \b
    Examples:
      dpcalc convert --gdp 1 --to approx --delta 1e-5
      dpcalc convert --pure 0.1 --rounds 100 --to approx --delta 1e-6
      dpcalc convert --rdp 2:0.1 --rdp 16:1 --to approx --delta 1e-5
      dpcalc convert --gdp 1 --to risk
    """
    from dpcalc.errors import unknown_name
    from dpcalc.report.text import console, lower, upper

    if target not in TARGETS:
        raise unknown_name("target notion", target, TARGETS)
    _refuse_unused(target, given)
    found = _converted(_source(given), target, given)
    if as_json:
        print_json({"to": target, "certified": found, "adjacency": None})
        return
    out = console()
    for name, value in found.items():
        label = name.replace("_", " ")
        if isinstance(value, str):
            out.print(f"{label}: {value}")
        else:
            shown = lower(value, 10) if name in _LOWER_BOUNDS else upper(value, 10)
            out.print(f"{label} = {shown}")
    out.print("[dim]neighbouring relation: that of the guarantee given[/]")


def _refuse_unused(target: str, given: dict[str, Any]) -> None:
    """Refuse options that the target would ignore."""
    for option, where in (
        ("epsilon", "approx"),
        ("delta", "approx"),
        ("order", "rdp"),
        ("fpr", "tradeoff"),
    ):
        if given[option] is not None and target != where:
            raise InvalidInput(
                f"--{option} is for --to {where}; got it with --to {target}; leave one out"
            )
    if given["epsilon"] is not None and given["delta"] is not None:
        raise InvalidInput(
            "one of --epsilon (for δ) and --delta (for ε) is needed; got both; leave one out"
        )


def _source(given: dict[str, Any]) -> Guarantee:
    from dpcalc import checks
    from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, PureDP, compose

    names = [n for n in ("pure", "zcdp", "gdp", "rdp", "approx") if given[n] not in (None, ())]
    if len(names) != 1:
        raise InvalidInput(
            "exactly one of --pure, --zcdp, --gdp, --rdp, --approx is needed; got "
            + (", ".join("--" + n for n in names) or "none; try --gdp 1")
        )
    (name,) = names
    value = given[name]
    if name == "rdp":
        pairs = [_pair("--rdp", text) for text in value]
        if len({order for order, _ in pairs}) < len(pairs):
            raise InvalidInput(
                f"--rdp needs every order once; got {', '.join(value)}; leave out all but one"
            )
        source: Guarantee = RDP.from_points(dict(pairs))
    elif name == "approx":
        source = ApproxDP(*_pair("--approx", value))
    else:
        kinds: dict[str, type[PureDP | ZCDP | GDP]] = {"pure": PureDP, "zcdp": ZCDP, "gdp": GDP}
        source = kinds[name](checks.non_negative(name, value))
    if given["rounds"] is None:
        return source
    return compose((source, checks.count("rounds", given["rounds"], minimum=0)))


def _pair(option: str, text: str) -> tuple[float, float]:
    first, colon, second = text.partition(":")
    if not colon:
        example = "1:1e-5" if option == "--approx" else "2:0.1"
        raise InvalidInput(
            f"{option} needs two numbers joined by a colon; got {text!r}; try {example}"
        )
    from dpcalc.claims.tables import as_real

    return as_real(option, first), as_real(option, second)


def _converted(source: Guarantee, target: str, given: dict[str, Any]) -> dict[str, Any]:
    from dpcalc import checks
    from dpcalc.guarantees.conversion import to_gdp, to_pure, to_rdp, to_zcdp

    if target == "approx":
        return _approx(source, given)
    if target == "pure":
        return {"epsilon": to_pure(source).bound, "delta": 0.0}
    if target == "zcdp":
        return {"rho": to_zcdp(source).rho}
    if target == "gdp":
        return {"mu": to_gdp(source).mu}
    if target == "rdp":
        order = checks.above_one("order", _needed("--order", given["order"], "for --to rdp"))
        return {"order": order, "divergence": to_rdp(source).renyi(order)}
    if target == "tradeoff":
        fpr = _needed("--fpr", given["fpr"], "for --to tradeoff")
        checks.probability("fpr", fpr)
        return {"false_positive_rate": fpr, "false_negative_rate": source.tradeoff(fpr)}
    advantage = source.advantage()
    return {
        "attack_accuracy": source.attack_accuracy(),
        "advantage": advantage,
        # Where both worlds are told apart but for a part in 10^16, so little is missed.
        "missed_at_5_percent_false_alarms": source.tradeoff(0.05) if advantage < 1 else 0.0,
    }


def _approx(source: Guarantee, given: dict[str, Any]) -> dict[str, Any]:
    from dpcalc import checks
    from dpcalc.guarantees import ApproxDP
    from dpcalc.numerals import shown_at_least

    if given["epsilon"] is not None:
        epsilon = checks.non_negative("epsilon", given["epsilon"])
        found = {"epsilon": epsilon, "delta": source.delta(epsilon)}
        return {**found, **_weaker(source, "delta_bracket", epsilon)}
    delta = given["delta"]
    if delta is None:
        delta = source.failure if isinstance(source, ApproxDP) else 0.0
    delta = checks.delta(delta)
    epsilon = source.epsilon(delta)
    if math.isinf(epsilon) and delta == 0:
        raise missing_delta(source.notion)
    shown = shown_at_least(epsilon)
    return {"epsilon": shown, "delta": delta, **_weaker(source, "bracket", delta)}


def _weaker(source: Guarantee, enclosure: str, at: float) -> dict[str, str]:
    """How a bound was found, if it is a weaker one."""
    bracket = getattr(source, enclosure, None)
    method = "" if bracket is None else str(bracket(at).method)
    return {"method": method} if method.startswith("weaker") else {}


def _needed(option: str, value: float | None, why: str) -> float:
    if value is None:
        raise InvalidInput(f"{option} is needed {why}")
    return value
