"""What is said of a word that is no option, verb or name here."""

from __future__ import annotations

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
        ("calibrate gaussian --epsilon 1 --sigma 2", "--noise-multiplier, σ over one record's"),
        ("calibrate gaussian --epsilon 1 --epochs 2", "epochs × records / batch size"),
        ("calibrate gaussian --epsilon 1 --batch-size 2", "--sample, with --population"),
        ("compose plan.toml --output x", "--json > answer.json"),
        ("compose plan.toml --deltta 1", "did you mean '--delta'?"),
        ("version", "try: dpcalc --version"),
        ("epsilonn", "did you mean 'epsilon'?"),
        ("noise dp-sgd --epsilon 1", "poisson-subsampled-gaussian"),
        ("epsilon DP-ADM -h", "did you mean 'dp-admm'?"),
        ("theorems liu2022", "private-dual-averaging"),
        ("theorems nobody2020", "unknown theorem"),
    ],
)
def test_the_hint_is_about_what_was_meant(refused: Any, line: str, said: str) -> None:
    assert said in refused(line)


def test_a_far_word_is_not_taken_for_a_name(refused: Any) -> None:
    assert "did you mean" not in refused("calibrate gaussian --epsilon 1 --zzz 2")
    assert "did you mean" not in refused("calibrate circle --epsilon 1")


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
