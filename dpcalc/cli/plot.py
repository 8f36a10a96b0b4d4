"""``dpcalc plot``: curves of a published result in a picture, and their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._json import print_json
from dpcalc.cli._options import NUMBER, Whole, delta_option, json_option
from dpcalc.cli._theorem_verb import TheoremVerb, theorem_from
from dpcalc.errors import InvalidInput, missing_delta
from dpcalc.extras import need

if TYPE_CHECKING:
    from dpcalc.report.curves import Picture
    from dpcalc.theorems.base import Theorem

_ENDS = {"delta": (1e-12, 0.1), "epsilon": (0.1, 10.0)}
"""Where an axis runs unless --from and --to say."""


def _run(
    theorem: type[Theorem],
    *,
    over: str,
    low: float | None,
    high: float | None,
    points: int,
    delta: float | None,
    out: Path,
    csv: Path | None,
    attacked: Path | None,
    as_json: bool,
    attest: tuple[str, ...],
    **given: Any,
) -> None:
    from dpcalc.cli._outputs import Writing, check_outputs
    from dpcalc.report.curve_picture import draw, table_of
    from dpcalc.report.pictures import check_picture
    from dpcalc.report.setting import setting_note

    need("matplotlib", purpose="plot")
    if out.suffix.lower() not in (".html", ".htm"):
        check_picture(out, "--out")
    check_outputs([("--out", out), ("--csv", csv)], inputs=[attacked])
    over = over.replace("-", "_")
    ends = _ends(theorem, over, low, high)
    instance = theorem_from(theorem, _complete(theorem, given, over, ends), attest)
    picture = _picture(instance, over, ends, points, delta)
    if attacked is not None:
        from dpcalc.report.attacked_points import with_attacks

        picture = with_attacks(picture, instance, delta or 0.0, attacked)
    setting = setting_note(instance, varied=over, delta=None if over == "delta" else delta)
    heads, rows = table_of(picture)
    writing = Writing()
    mark = delta or 0.0 if over == "delta" else 0.0
    writing.attempt(lambda: draw(picture, out, title=theorem.title, setting=setting, mark=mark))
    if csv is not None:
        writing.attempt(lambda: _write_csv(csv, heads, rows))
    if as_json:
        curves = {curve.name: [list(point) for point in curve.points] for curve in picture.curves}
        record = {"theorem": theorem.key, "x": picture.x, "y": picture.y, "curves": curves}
        print_json({**record, "setting": setting, "out": str(out)})
    else:
        click.echo(f"{out}: {picture.y} over {picture.x.replace('_', ' ')}, {len(rows)} places")
    writing.settle()


def _ends(
    theorem: type[Theorem], over: str, low: float | None, high: float | None
) -> tuple[float, float]:
    from dpcalc.report.curves import variable

    if over not in _ENDS:
        variable(theorem, over)
        if low is None or high is None:
            raise InvalidInput(
                f"--over {over.replace('_', '-')} needs --from and --to; got "
                f"{'neither' if low is None and high is None else 'one of them'}"
            )
        ends = low, high
    else:
        first, last = _ENDS[over]
        ends = first if low is None else low, last if high is None else high
    if not ends[0] < ends[1]:
        raise InvalidInput(f"--from needs to be below --to; got {ends[0]:g} and {ends[1]:g}")
    return ends


def _complete(
    theorem: type[Theorem], given: dict[str, Any], over: str, ends: tuple[float, float]
) -> dict[str, Any]:
    """The options with a value for what is varied, which nobody gives."""
    from dpcalc.theorems.parameters import parameters

    name = theorem.noise if over == "epsilon" else over
    if over == "delta" or name not in parameters(theorem):
        return given
    if given.get(name) is not None and parameters(theorem)[name].kind != "schedule":
        option = "--" + name.replace("_", "-")
        raise InvalidInput(f"{option} is what the picture varies; got {given[name]}; leave it out")
    if given.get(name) is None:
        given[name] = 1.0 if over == "epsilon" else ends[1]
    return given


def _picture(
    instance: Theorem,
    over: str,
    ends: tuple[float, float],
    points: int,
    delta: float | None,
) -> Picture:
    from dpcalc import checks
    from dpcalc.report.curves import (
        epsilon_over,
        epsilon_over_delta,
        noise_over_epsilon,
        steps,
        variable,
    )

    if over == "delta":
        if not 0 < ends[0] < ends[1] < 1:
            raise InvalidInput(f"--from and --to need δ in (0, 1); got {ends[0]:g} and {ends[1]:g}")
        return epsilon_over_delta(instance, steps(*ends, points))
    at = 0.0 if delta is None else checks.delta(delta)
    if at == 0 and instance.certified().guarantee.needs_delta():
        raise missing_delta(instance.key)
    if over == "epsilon":
        if ends[0] <= 0:
            raise InvalidInput(f"--from needs an ε above 0; got {ends[0]:g}")
        return noise_over_epsilon(instance, steps(*ends, points), at)
    whole = variable(type(instance), over)
    return epsilon_over(instance, over, steps(*ends, points, whole=whole), at)


def _write_csv(path: Path, heads: list[str], rows: list[list[str]]) -> None:
    import csv
    import io

    from dpcalc.files import write_atomically

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([heads, *rows])
    with write_atomically(path) as file:
        file.write(text.getvalue().encode())


_delta: Any = delta_option()(lambda: None)
_json: Any = json_option(lambda: None)

command = TheoremVerb(
    name="plot",
    short_help="A picture: ε over δ or a parameter, noise over a budget.",
    more=("--out epsilon.svg",),
    run=_run,
    extra=[
        click.Option(
            ["--over"],
            default="delta",
            show_default=True,
            metavar="delta|epsilon|PARAMETER",
            help="What is varied: δ; ε of the budget (the noise answers); or a parameter.",
        ),
        click.Option(["--from", "low"], type=NUMBER, help="Where the axis begins."),
        click.Option(["--to", "high"], type=NUMBER, help="Where it ends."),
        click.Option(
            ["--points"], type=Whole(2), default=40, show_default=True, help="Places on the axis."
        ),
        *_delta.__click_params__,
        click.Option(
            ["--out"],
            type=click.Path(path_type=Path, dir_okay=False),
            required=True,
            help="The picture: .png, .svg, .pdf or .html, which holds the numbers too.",
        ),
        click.Option(
            ["--csv"],
            type=click.Path(path_type=Path, dir_okay=False),
            help="The numbers, one column per curve.",
        ),
        click.Option(
            ["--attacked"],
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="The JSON of dpcalc verify CLAIMS --audit --json: what attacks on the same setting "
            "have shown, as points.",
        ),
        *_json.__click_params__,
    ],
    help="""Curves of a published result: claimed, certified, and what an instance attains.

\b
ε at every δ:
  dpcalc plot dp-admm --n-records 32561 --rounds 100 --gradient-bound 1 --sigma 0.01 \\
      --dual-start zero --out epsilon.png
ε over the rounds:
  dpcalc plot dp-admm --n-records 32561 --gradient-bound 1 --sigma 0.01 --dual-start zero \\
      --over rounds --from 1 --to 1000 --delta 1e-5 --out rounds.svg --csv rounds.csv
The noise over the budget:
  dpcalc plot dp-admm --n-records 32561 --rounds 100 --gradient-bound 1 --dual-start zero \\
      --over epsilon --from 0.1 --to 10 --delta 1e-5 --out noise.html
""",
)
