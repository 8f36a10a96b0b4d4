"""Claims files: verdicts, reasons, and what is wrong with a bad file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.calibration import smallest_noise
from dpcalc.claims.file import default_file, read_claims
from dpcalc.claims.reading import claim_from
from dpcalc.claims.verdict import Claim, Verdict, judge
from dpcalc.cli.main import main
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.theorems.catalogue import privacy_result

BASE: dict[str, Any] = {
    "theorem": "dp-admm",
    "attest": "all",
    "delta": 1e-3,
    "parameters": {
        "n_records": 1000,
        "rounds": 10,
        "gradient_bound": 1,
        "sigma": 0.01,
        "adjacency": "add-remove",
        "dual_start": "zero",
    },
}


def _claim(**changes: Any) -> Any:
    table = {**BASE, **changes}
    return judge(claim_from("claim", table))


def test_verdicts_follow_the_numbers() -> None:
    exact = _claim(epsilon=100.0).certified
    assert _claim(epsilon=exact).verdict is Verdict.HOLDS
    assert _claim(epsilon=exact * 1.005).verdict is Verdict.HOLDS
    loose = _claim(epsilon=3 * exact)
    assert loose.verdict is Verdict.LOOSE
    assert loose.factor == pytest.approx(3)
    refuted = _claim(epsilon=exact * 0.99)
    assert refuted.verdict is Verdict.REFUTED
    assert "leaks at least" in refuted.reason


def test_a_claim_a_hair_below_the_exact_value_is_not_waved_through() -> None:
    exact = _claim(epsilon=100.0).certified
    assert _claim(epsilon=exact * (1 - 1e-9)).verdict is Verdict.REFUTED


def test_missing_promises_and_violations_are_unsupported() -> None:
    missing = _claim(epsilon=100.0, attest=["public-parameters"])
    assert missing.verdict is Verdict.UNSUPPORTED
    assert "gradient-bound" in missing.reason
    iteration = {
        "theorem": "admm-iteration",
        "attest": "all",
        "epsilon": 50,
        "delta": 1e-5,
        "parameters": {
            "sensitivity": 1, "step_size": 3, "penalty": 1, "sigma": 1, "iterations": 11,
            "smoothness": 1, "operator_norm": 1, "min_singular_value": 1, "square": True,
        },
    }  # fmt: skip
    violated = judge(claim_from("claim", iteration))
    assert violated.verdict is Verdict.UNSUPPORTED
    assert "2/smoothness" in violated.reason


def test_between_certified_and_attained_nothing_is_decided() -> None:
    iteration = {
        "theorem": "admm-iteration",
        "attest": "all",
        "delta": 1e-5,
        "parameters": {
            "sensitivity": 1, "step_size": 0.5, "penalty": 1, "sigma": 1, "iterations": 101,
            "smoothness": 2, "operator_norm": 2, "min_singular_value": 1, "square": True,
        },
    }  # fmt: skip
    known = judge(claim_from("claim", {**iteration, "epsilon": 1.0}))
    assert known.attained is not None
    between = (known.attained + known.certified) / 2
    found = judge(claim_from("claim", {**iteration, "epsilon": between}))
    assert known.attained < between < found.certified
    assert found.verdict is Verdict.UNSUPPORTED


def test_the_printed_dual_start_is_refuted_at_any_epsilon() -> None:
    parameters = {**BASE["parameters"], "dual_start": "data"}
    for epsilon in (0.1, 10.0, 1e5):
        assert _claim(epsilon=epsilon, parameters=parameters).verdict is Verdict.REFUTED


def test_without_noise_the_paper_prescribes() -> None:
    parameters = {k: v for k, v in BASE["parameters"].items() if k != "sigma"}
    found = _claim(epsilon=0.5, parameters=parameters)
    assert found.claim.theorem.claimed().guarantee.epsilon(1e-3) == pytest.approx(0.5)
    with pytest.raises(InvalidInput, match="sigma is needed"):
        claim_from("claim", {**BASE, "parameters": parameters})


def test_headline_settings_give_the_published_story() -> None:
    verdicts = {c.name: judge(c).verdict for c in read_claims(default_file())}
    refuted = {name for name, v in verdicts.items() if v is Verdict.REFUTED}
    assert {n.split(",")[0] for n in refuted} == {"shang2021", "liu2022"}
    unsupported = [name for name, v in verdicts.items() if v is Verdict.UNSUPPORTED]
    assert len(unsupported) == 4
    assert all("as run" in name or "last iterate (fig. 2)" in name for name in unsupported)


def test_a_released_transcript_and_its_end_are_judged_apart() -> None:
    found = {c.name: judge(c) for c in read_claims(default_file()) if "as printed, " in c.name}
    verdicts = {j.claim.theorem.release: j.verdict for n, j in found.items() if "shang" in n}
    assert verdicts == {"every iterate": "REFUTED", "last iterate": "UNSUPPORTED"}


def test_shang_replace_one_stands_at_a_budget_of_the_paper_and_fails_at_one_of_ours() -> None:
    found = [judge(c) for c in read_claims(default_file()) if "replace-one, ε" in c.name]
    assert [(j.claimed, str(j.verdict)) for j in found] == [(0.08, "LOOSE"), (0.5, "REFUTED")]
    assert "named" in found[0].claim.ours["epsilon"]
    assert "of ours" in found[1].claim.ours["epsilon"]


UNPRINTED = {
    "zhang2018": {"loss_weight", "regularization", "degree", "rounds", "noise_rate"},
    "zhang2019": {"degree", "rounds"},
    "shang2021": {"rounds", "gradient_bound"},
    "liu2022": {"lipschitz"},
    "chan2023": {"sensitivity", "sigma", "delta"},
}
"""Parameters whose values the papers' texts do not give."""


def test_what_a_paper_does_not_print_is_marked_next_to_its_claim() -> None:
    for claim in read_claims(default_file()):
        assert UNPRINTED[claim.name.split(",")[0]] <= set(claim.ours), claim.name
        record = judge(claim).record() if "fig. 2, dual" in claim.name else None
        assert record is None or record["ours"] == claim.ours


def test_reasons_for_chosen_values_name_parameters() -> None:
    assert _claim(epsilon=1.0, ours={"rounds": "not given"}).record()["ours"] == {
        "rounds": "not given"
    }
    with pytest.raises(InvalidInput, match="did you mean 'rounds'"):
        claim_from("claim", {**BASE, "epsilon": 1.0, "ours": {"round": "not given"}})
    with pytest.raises(InvalidInput, match="parameter = reason"):
        claim_from("claim", {**BASE, "epsilon": 1.0, "ours": ["rounds"]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "claim"),
        ("[[clam]]\n", "did you mean 'claim'"),
        ("[[claim]]\n", "'theorem'"),
        ("[[claim]]\ntheorem = 'dp-adm'", "did you mean 'dp-admm'"),
        ("[[claim]]\ntheorem = 'dp-admm'\nepsilom = 1", "did you mean 'epsilon'"),
        ("[[claim]]\ntheorem = 'dp-admm'\n[claim.parameters]\nn_recods = 1", "did you mean 'n_records'"),
        ("[[claim]]\ntheorem = 'dp-admm'\ndelta = 1.0", "delta"),
        ("[[claim]]\ntheorem = 'dp-admm'\ndelta = 0.1\nattest = ['gradient-bond']\n[claim.parameters]\nsigma = 1\n"
         "n_records = 1\nrounds = 1\ngradient_bound = 1", "did you mean 'gradient-bound'"),
        ("[[claim]]\nname = 'mine'\ntheorem = 'dp-admm'", "claim 1 (mine)"),
        ("claim = 3", "[[claim]]"),
        ("\x00", "not valid TOML"),
    ],
)  # fmt: skip
def test_bad_files_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(text)
    with pytest.raises(SystemExit) as stopped:
        main(["verify", str(file)])
    captured = capsys.readouterr()
    assert stopped.value.code == 2
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_a_long_file_is_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = (
        "[[claim]]\ntheorem = 'recycled-admm'\nattest = 'all'\n[claim.parameters]\nn_records = {n}\n"
        "n_nodes = 2\ndegree = 1\nloss_weight = 1\nregularization = 1\npenalty = 1\nnoise_rate = 1\n"
        "rounds = 1\n"
    )
    file = tmp_path / "claims.toml"
    file.write_text("".join(block.format(n=n + 10) for n in range(150)))
    with pytest.raises(SystemExit) as stopped:
        main(["verify", str(file), "--json"])
    assert stopped.value.code == 0
    assert len(json.loads(capsys.readouterr().out)["claims"]) == 150


def test_the_last_bad_claim_of_a_long_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "claims.toml"
    file.write_text("[[claim]]\ntheorem = 'dp-admm'\n" * 100_000)
    with pytest.raises(SystemExit) as stopped:
        main(["verify", str(file)])
    assert stopped.value.code == 2
    assert "claim 1" in capsys.readouterr().err


def test_a_claim_that_the_truth_meets_exactly_is_not_refuted() -> None:
    """(0, δ) with δ just above erf(μ/√8): true, but by less than the rounding of μ."""
    rng = np.random.default_rng(11)
    for _ in range(40):
        n, rounds = int(rng.integers(10, 5000)), int(rng.integers(1, 200))
        sigma = float(rng.uniform(0.1, 5))
        theorem = privacy_result("dp-admm")(
            n_records=n, rounds=rounds, gradient_bound=1, sigma=sigma, dual_start="zero",
            adjacency="add-remove", attest=("gradient-bound", "public-parameters"),
        )  # fmt: skip
        with mp.workdps(60):
            mu = mp.sqrt(rounds) / (n * mpf(sigma))
            delta = math.nextafter(float(mp.erf(mu / mp.sqrt(8))), 1.0)
            assert mpf(delta) >= mp.erf(mu / mp.sqrt(8))
        assert judge(Claim("true", theorem, 0.0, delta)).verdict is not Verdict.REFUTED


def test_batches_in_turn_are_refused_for_a_record_more_or_less() -> None:
    given = {"n_records": 4, "rounds": 6, "lipschitz": 1, "sigma": 1}
    given |= {"sampling": "mini-batch", "batch_size": 2}
    kind = privacy_result("private-dual-averaging")
    assert kind(**given).certified().numbers["mu"] == pytest.approx(math.sqrt(3))
    with pytest.raises(AssumptionViolated, match="replace-one"):
        kind(**given, adjacency="add-remove").certified()


def test_batches_that_do_not_divide_the_records_are_used_more_often() -> None:
    theorem = privacy_result("private-dual-averaging")(
        n_records=5, rounds=10, lipschitz=1, sigma=1, sampling="mini-batch", batch_size=3
    )
    assert theorem.certified().numbers["mu"] >= 2.108  # one batch, the rest left out


@pytest.mark.parametrize("budget", [0.1, 1.0, 3.0, 100.0])
def test_the_noise_for_a_round_budget_meets_it_in_the_last_digit(budget: float) -> None:
    kind = privacy_result("admm-iteration-all-users")
    found = smallest_noise(kind.from_parameters({**kind.example, "users": 50}), budget, 1e-5)
    assert found.certified().guarantee.epsilon(1e-5) <= budget


def test_a_claim_without_parameters_is_told_which_there_are() -> None:
    with pytest.raises(InvalidInput, match=r"^claim 3: dp-admm also needs n_records, "):
        claim_from("claim 3", {"theorem": "dp-admm", "delta": 1e-3})
