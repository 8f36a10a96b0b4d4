"""``dpcalc rate``: text, JSON, help and one clear line for bad input."""

from __future__ import annotations

import json

import pytest

from dpcalc.cli.main import main
from dpcalc.report.rates import _shown, comparison, verdict_line
from dpcalc.theorems.catalogue import keys, result

KEYS = keys(privacy=False)


def arguments(key, *changed):
    """The example as a command line, with some options changed or added."""
    found = ["rate", key]
    for name, value in result(key).example.items():
        option = f"--{name.replace('_', '-')}"
        if option not in changed:
            found += [option, str(value)]
    return [*found, *changed]


def run(capsys, argv):
    with pytest.raises(SystemExit) as stopped:
        main(argv)
    captured = capsys.readouterr()
    return stopped.value.code, captured.out, captured.err


@pytest.mark.parametrize("key", KEYS)
def test_every_example_runs(key, capsys):
    code, out, err = run(capsys, arguments(key))
    assert (code, err) == (0, "")
    for word in ("claimed", "certified", "Findings", "Assumptions", "certified by"):
        assert word in out
    code, out, _ = run(capsys, [*arguments(key), "--json"])
    record = json.loads(out)
    assert code == 0
    assert record["theorem"] == key
    assert record["claimed"]["value"] is not None
    assert record["verdict"] in ("HOLDS", "LOOSE", "REFUTED", "UNSUPPORTED")
    assert "NaN" not in out


@pytest.mark.parametrize("key", KEYS)
def test_every_result_has_help_and_a_page_in_the_ledger(key, capsys):
    code, out, _ = run(capsys, ["rate", key, "--help"])
    assert code == 0
    assert "--json" in out
    code, out, _ = run(capsys, ["theorems", key])
    assert code == 0
    assert f"dpcalc rate {key}" in " ".join(out.split())


def test_infinite_values_are_strings_in_json(capsys):
    _, out, _ = run(capsys, [*arguments("m-admm-convergence"), "--json"])
    record = json.loads(out)
    assert record["certified"]["value"] == "inf"
    assert record["attained"]["value"] == pytest.approx(0.00771, abs=1e-5)
    assert record["inputs"]["graph"] == "complete:2"
    assert record["inputs"]["penalty"] == "0.5:1.2"


def test_where_the_paper_claims_nothing(capsys):
    argv = arguments("recycled-admm-convergence", "--graph", "path:4")
    code, out, _ = run(capsys, argv)
    assert code == 0
    assert "The paper claims nothing here" in out
    _, out, _ = run(capsys, [*argv, "--json"])
    assert json.loads(out)["claimed"]["value"] is None


def test_files_are_read(tmp_path, capsys):
    edges, penalties = tmp_path / "edges.csv", tmp_path / "penalties.csv"
    edges.write_text("a,b\nb,c\nc,a\n")
    penalties.write_text("1,2,4\n")
    argv = ["rate", "recycled-admm-convergence", "--graph", f"edges:@{edges}"]
    argv += ["--penalty", f"@{penalties}", "--proximal-weight", "50", "--smoothness", "1"]
    linear = tmp_path / "b.csv"
    linear.write_text("0\n0\n3\n")
    code, out, _ = run(capsys, [*argv, "--curvature", "1", "--linear", f"@{linear}", "--json"])
    assert code == 0
    assert json.loads(out)["attained"]["limit"] == pytest.approx(3 / 7)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--graph", "wheel:3"], "unknown graph"),
        (["--graph", "ring:x"], "2 to 2000 nodes"),
        (["--penalty", "-1"], "above 0"),
        (["--penalty", "nan"], "needs a number"),
        (["--penalty", "one"], "needs a number"),
        (["--penalty", "@/no/such/file"], "readable text file"),
        (["--dual-step", "0"], "above 0"),
        (["--split", "0.5"], "above 1"),
        (["--smoothness", "1:2"], "does not change over rounds"),
        (["--rounds", "0"], "whole number"),
        (["--rounds", "3.5"], "whole number"),
        (["--speed", "3"], "unknown option"),
        (["--attest", "luck"], "attestation"),
    ],
)
def test_bad_input_is_one_line(extra, words, capsys):
    code, out, err = run(capsys, arguments("m-admm-rate", *extra))
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert words in err


def test_unknown_and_missing_names(capsys):
    assert "did you mean 'm-admm-rate'" in run(capsys, ["rate", "m-adm-rate"])[2]
    assert "also needs --graph" in run(capsys, ["rate", "m-admm-rate"])[2]


def test_numbers_are_rounded_to_the_safe_side():
    # Bounds up, what is attained and what is better when larger down, whatever the sign.
    assert _shown("value", "certified", 0.12345678) == "0.123457"
    assert _shown("value", "attained", 0.12345678) == "0.123456"
    assert _shown("delta", "certified", 0.12345678) == "0.123456"
    assert _shown("delta", "attained", 0.12345678) == "0.123457"
    assert _shown("value", "attained", -0.5) == "-0.5"
    assert _shown("value", "certified", None) == "—"


def test_verdict_lines():
    def line(key, **changes):
        given = {**result(key).example, **changes}
        return verdict_line(comparison(result(key).from_parameters(given)))

    assert "refuted" in line("m-admm-rate")
    assert line("recycled-admm-convergence") == "The claim is certified."
    assert "0.5186 times" in line("dual-averaging-rate")
    undecided = line("m-admm-convergence", penalty=[[1, 2]])
    assert undecided.startswith("The published proof fails, nothing decides the claim: nothing is")
