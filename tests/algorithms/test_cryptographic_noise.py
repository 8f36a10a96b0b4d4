"""Real runs draw from AES in counter mode under derived keys; experiments keep their numbers."""

from __future__ import annotations

import hashlib
import os
import pickle

import numpy as np
import pytest
from scipy import stats

from dpcalc.algorithms.dp_admm import DPADMM
from dpcalc.algorithms.problems.draws import StandardNormal, UniformIndex, UnitExponentialNorm
from dpcalc.algorithms.problems.generators import cryptographic
from dpcalc.algorithms.problems.noise import Streams, streams
from dpcalc.errors import InvalidInput

# FIPS 197, appendix C.1: AES-128 of this block under this key.
_KEY = bytes(range(16))
_BLOCK = bytes(range(0, 256, 17))
_CIPHER = bytes.fromhex("69c4e0d86a7b0430d8cdb78070b4c55a")

ALARM = 1e-6  # false alarm of each statistical test of unseeded numbers


@pytest.mark.parametrize("hardware", [True, False])
def test_the_generator_is_aes_in_counter_mode(hardware: bool) -> None:
    """The published vector; the counter is little-endian."""
    from randomgen import AESCounter

    generator = AESCounter(
        key=int.from_bytes(_KEY, "little"), counter=int.from_bytes(_BLOCK, "little")
    )
    if not hardware:
        generator.use_aesni = False
    words = np.random.Generator(generator).integers(0, 2**64, 2, dtype=np.uint64)
    assert words.astype("<u8").tobytes() == _CIPHER


def test_keys_are_derived_by_keyed_blake2b() -> None:
    from randomgen import AESCounter

    where = b"".join(n.to_bytes(8, "little") for n in (2, 3, 5))
    master = (7).to_bytes(32, "little")
    key = hashlib.blake2b(where, digest_size=16, key=master, person=b"dpcalc noise").digest()
    expected = np.random.Generator(AESCounter(key=int.from_bytes(key, "little"), counter=0))
    assert cryptographic(7, (2, 3, 5)).random() == expected.random()


def test_every_place_and_every_run_has_numbers_of_its_own() -> None:
    source = streams(None, runs=3)
    kind = StandardNormal((2, 4))
    drawn = [source.draw(kind, purpose, t) for purpose in (0, 1) for t in (1, 2, 64, 65)]
    drawn += [streams(None, runs=3).draw(kind, 0, 1)]
    values = np.concatenate([part.ravel() for part in drawn])
    assert len(np.unique(values)) == len(values)


@pytest.mark.parametrize("t", [1, 63, 64, 200])
def test_a_batch_of_a_real_run_is_its_single_runs(t: int) -> None:
    whole = streams(None, runs=5)
    kind = UnitExponentialNorm((3, 4))
    one = Streams(whole.entropy, 1, 3, cryptographic=True)
    assert np.array_equal(whole.draw(kind, 0, t)[3:4], one.draw(kind, 0, t))


def test_the_laws_are_right() -> None:
    """Kolmogorov-Smirnov and chi-squared tests; unseeded, each alarms falsely once in a million."""
    source = streams(None, runs=20_000)
    normal = source.draw(StandardNormal((2,)), 0, 1).ravel()
    assert stats.kstest(normal, stats.norm.cdf).pvalue > ALARM
    radius = np.linalg.norm(source.draw(UnitExponentialNorm((1, 5)), 1, 1)[:, 0], axis=1)
    assert stats.kstest(radius, stats.gamma(5).cdf).pvalue > ALARM
    index = source.draw(UniformIndex((1,), (7,)), 2, 1).ravel()
    assert stats.chisquare(np.bincount(index, minlength=7)).pvalue > ALARM


def test_experiments_keep_their_numbers() -> None:
    """SFC64 from numpy's seed sequence, whose streams numpy keeps within a feature release."""
    drawn = streams(3, runs=2).draw(StandardNormal((2,)), 1, 0)
    seed = np.random.SeedSequence(3, spawn_key=(1, 0, 0), pool_size=8)
    expected = np.random.Generator(np.random.SFC64(seed)).standard_normal((2048, 2))[:2]
    assert np.array_equal(drawn, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork next to threads
@pytest.mark.parametrize(("seed", "allowed"), [(None, False), (3, True)])
def test_a_copy_of_the_process_does_not_repeat_real_noise(seed: int | None, allowed: bool) -> None:
    source = streams(seed)
    child = os.fork()
    if child == 0:
        try:
            source.draw(StandardNormal((1,)), 0, 1)
        except InvalidInput:
            os._exit(3)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (0 if allowed else 3)


def test_a_real_stream_is_not_sent_to_another_process() -> None:
    with pytest.raises(InvalidInput, match="as secret as the data"):
        pickle.dumps(streams(None))
    assert pickle.loads(pickle.dumps(streams(3))) == streams(3)  # noqa: S301


def test_transcripts_say_whether_they_are_experiments(tmp_path) -> None:
    for seed in (0, np.random.default_rng(1), np.random.SeedSequence(2)):
        assert DPADMM.example().run(seed).experiment
    real = DPADMM.example().run()
    assert not real.experiment
    real.save(tmp_path / "t.npz")
    assert not type(real).load(tmp_path / "t.npz").experiment


def test_estimators_say_whether_a_fit_is_a_private_release() -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("networkx")
    from dpcalc.estimators import ADMMClassifier

    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(60, 3)), rng.choice([-1, 1], 60)
    assert ADMMClassifier(random_state=0).fit(features, labels).private_release_ is False
    assert ADMMClassifier().fit(features, labels).private_release_ is True


@pytest.mark.parametrize(
    ("words", "private"), [((), True), (("--seed", "1"), False)], ids=["real", "seeded"]
)
def test_the_command_line_says_whether_it_is_a_private_release(
    words: tuple[str, ...], private: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    from dpcalc.cli.main import main

    with pytest.raises(SystemExit):
        main([*"run dp-admm --epsilon 1 --delta 1e-6 --rounds 2 --json".split(), *words])
    found = json.loads(capsys.readouterr().out)
    assert found["private_release"] is private
    assert ("not a private release" in found.get("private_release_reason", "")) is not private
