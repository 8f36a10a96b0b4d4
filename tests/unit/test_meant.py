"""What is said of a word that is no option, verb or name here."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dpcalc.cli.main import group, main

DP_ADMM = "--n-records 100 --rounds 2 --gradient-bound 1 --sigma 1"


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(line: str) -> str:
        with pytest.raises(SystemExit) as stopped:
            main(line.split())
        assert stopped.value.code == 2
        return capsys.readouterr().err

    return call


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"epsilon dp-admm {DP_ADMM} --epsilon 1", "dpcalc noise takes a budget"),
        (
            "epsilon dp-sgd",
            "also needs --noise-multiplier, --rate; try: dpcalc epsilon poisson-sub",
        ),
        ("epsilon dp-sgd --rate .1 --delta .1", "also needs --noise-multiplier; try"),
        ("epsilon dp-sgd --sample 9 --noise-multiplier 1", "also needs --population; try"),
        ("epsilon randomised-response", "also needs --each; try: dpcalc epsilon randomised-resp"),
        ("epsilon exponential-norm --scale-over-sensitivity 1", "also needs --dimension; try"),
        ("epsilon laplace --epsilon 1", "this verb finds; dpcalc calibrate takes a budget"),
        (
            "calibrate DP_ADMM --epsilon 1",
            "dp-admm is a theorem; its algorithm's noise: dpcalc noise dp-admm",
        ),
        (
            "epsilon gradient_admm",
            "an algorithm, certified by the theorem admm-iteration-all-users",
        ),
        ("noise private-r-admm", "an algorithm, certified by the theorem recycled-admm; train"),
        ("plot gradient-admm", "certified by the theorem admm-iteration-all-users; train"),
        ("epsilon primal-variable-perturbation", "no result here covers; use dual-variable-pert"),
        ("epsilon gaussian --noise-multiplier 0", "dpcalc: noise_multiplier needs a finite num"),
        ("calibrate gaussian --epsilon 1 --sigma 2", "--noise-multiplier, σ over one record's"),
        ("calibrate gaussian --epsilon 1 --epochs 2", "epochs × records / batch size"),
        ("calibrate gaussian --epsilon 1 --batch-size 2", "--sample, with --population"),
        ("compose plan.toml --output x", "--json > answer.json"),
        ("compose plan.toml --deltta 1", "did you mean '--delta'?"),
        (
            "--certify x epsilon gaussian",
            "come after it, dpcalc VERB --certify; see: dpcalc --help",
        ),
        ("version", "try: dpcalc --version"),
        ("verson", "try: dpcalc --version"),
        ("trian", "try: dpcalc run"),
        ("epsilonn", "did you mean 'epsilon'?"),
        ("epsilon --epsilon 1", "ε is what this verb finds; dpcalc noise takes a budget"),
        ("rate --graph ring:5", "dpcalc rate needs a name before '--graph'"),
        ("--foo", "expected an option of dpcalc; got '--foo'"),
        ("compose none.toml", "dpcalc new plan NAME writes one"),
        ("verify none.toml", "dpcalc new claim NAME writes one"),
        ("noise dp-sgd --epsilon 1", "its noise: dpcalc calibrate dp-sgd"),
        (
            "calibrate dp-sgd --sample 2 --population 9 --rate .1 --rounds 9 --epsilon 1 --delta .1",
            "got rate and sample and population; leave out rate, or sample and population",
        ),
        (
            "epsilon dp-sgd --sample 2 --rate .1 --noise-multiplier 1 --delta .1",
            "got rate and sample; leave out rate, or sample",
        ),
        (
            "epsilon opacus",
            "unknown theorem or mechanism 'opacus'; it trains by dp-sgd; try: dpcalc",
        ),
        ("epsilon nothing", "unknown theorem or mechanism 'nothing'; known: admm-iteration, "),
        ("noise Opacus --epsilon 1", "try: dpcalc calibrate dp-sgd"),
        ("plot dp_adam --out x.svg", "with clipping and noise it is dp-sgd"),
        ("calibrate fedavg --epsilon 1", "clipping and noise are dp-sgd, each client a record"),
        ("epsilon profile --delta 1e-5", "whose fields are lists; try: dpcalc compose"),
        (
            "run recycled-admm --epsilon 1",
            "algorithms that it covers: private-mr-admm, private-r-admm",
        ),
        ("run dp-sgd --epsilon 1", "dpcalc run --help"),
        ("run dp-admm --epsilon 1 --sigma 2", "follows from the budget"),
        ("compose --epsilon 1 plan.toml", "the budget stands in a TOML file"),
        (
            "run fixed-point-admm --epsilon 1 --output mean",
            "the last iterate, which alone is certified",
        ),
        ("run dp-admm --repeat 3", "what is meant is --runs, independent runs"),
        ("plot dp-admm --png x.png", "what is meant is --out"),
        ("audit dp-admm --release last --claim eps=1", "unknown release"),
        ("report x", "--report FILE.html"),
        ("plan x", "dpcalc new plan"),
        ("convert --gdp 1 --to approx --delta 1e-5 --steps 2", "--rounds"),
        ("epsilon DP-ADM -h", "did you mean 'dp-admm'?"),
        ("theorems nobody2020", "unknown theorem"),
    ],
)
def test_the_hint_is_about_what_was_meant(refused: Any, line: str, said: str) -> None:
    assert said in refused(line)


def test_a_far_word_is_not_taken_for_a_name(refused: Any) -> None:
    assert "did you mean" not in refused("calibrate gaussian --epsilon 1 --zzz 2")
    assert "did you mean" not in refused("calibrate circle --epsilon 1")


def test_names_that_are_offered_are_those_that_the_verb_has(refused: Any) -> None:
    said = refused("calibrate circle --epsilon 1")
    assert (
        "known: dp-sgd, exponential-norm, gaussian, gaussian-without-replacement, laplace" in said
    )
    assert "profile" not in said
    assert "finite-distributions" not in said
    assert "has no field that can be solved for" in refused("calibrate profile --epsilon 1")


def test_every_verb_and_option_is_described_in_words_of_its_own() -> None:
    import click

    context = click.Context(group)
    for name in group.list_commands(context):
        verb = group.get_command(context, name)
        assert verb is not None
        assert len(verb.get_short_help_str(200).split()) >= 4, name
        for parameter in verb.params:
            if isinstance(parameter, click.Option):
                text = parameter.help or ""
                assert text, (name, parameter.name)
                assert not text.startswith("Of "), (name, parameter.name, text)
                assert not text.endswith(" of it."), (name, parameter.name, text)


def test_every_verb_shows_an_example() -> None:
    import click

    context = click.Context(group)
    for name in group.list_commands(context):
        verb = group.get_command(context, name)
        assert verb is not None
        shown = verb.help or ""
        assert f"dpcalc {name}" in shown or "[[claim]]" in shown or "[[release]]" in shown, name


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("epsilon DP-ADMM -h", "dp-admm"),
        ("epsilon dp_admm -h", "dp-admm"),
        ("noise shang2021 -h", "dp-admm"),
        ("noise DP-AccADMM -h", "dp-admm"),
        ("epsilon R-ADMM -h", "recycled-admm"),
        ("rate Chan2023 -h", "gradient-admm-utility"),
        ("epsilon altschuler2022 -h", "noisy-sgd-constrained"),
        ("calibrate DP-SGD --rate 1 --rounds 1 --epsilon 1 --delta 1e-5 --json",
         "poisson-subsampled-gaussian"),
        ("calibrate Randomized_Response --epsilon 1 --rounds 2 --json", "randomised-response"),
    ],
)  # fmt: skip
def test_the_papers_own_names_are_taken(
    line: str, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    out = capsys.readouterr().out
    assert not ended.value.code
    assert f'"{key}"' in out or re.search(rf"dpcalc \w+ {key} ", out)


def test_a_paper_with_several_results_is_asked_about(refused: Any) -> None:
    assert "noisy-cgd, noisy-cgd-constrained" in refused("epsilon bok2024 -h")
