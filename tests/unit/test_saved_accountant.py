"""A saved accountant fails closed: it is read whole, or refused."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcalc.accountant import Accountant
from dpcalc.errors import DpcalcError, InvalidInput
from dpcalc.guarantees import GDP, ZCDP, PureDP

SPENT = (
    Accountant(8.0, 1e-6)
    .spend({"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": 1.1, "rate": 0.01}, 30)
    .spend(PureDP(0.25), 3)
    .spend(ZCDP(0.125))
)
TEXT = SPENT.to_json()


def resealed(record: dict[str, Any]) -> str:
    """A record with the checksum that fits it, as the documentation defines it."""
    rest = {name: value for name, value in record.items() if name != "sha256"}
    plain = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
    return json.dumps({**rest, "sha256": hashlib.sha256(plain).hexdigest()})


def changed(**changes: Any) -> str:
    record = {**json.loads(TEXT), **changes}
    return resealed({name: value for name, value in record.items() if value is not ...})


@pytest.mark.parametrize(
    "release",
    [
        {"rdp": {2: 0.1, 16: 1}},
        {"mechanism": "profile", "points": [[0.5, 0.1], [1, 0.01]]},
        {"mechanism": "finite-distributions", "p": [0.5, 0.5], "q": [0.25, 0.75]}
        | {"adjacency": "replace-one"},
    ],
)
def test_what_was_read_is_equal_and_goes_on(release: dict[str, Any]) -> None:
    """Orders are keys, which JSON has as texts: "16" before "2"."""
    spent = Accountant(8.0, 1e-6).spend(release)
    again = Accountant.from_json(spent.to_json())
    assert (again, hash(again)) == (spent, hash(spent))
    more = again.spend(release)
    assert [kind.count for kind in more.releases] == [2]
    assert Accountant.from_json(more.to_json()) == more


def test_the_checksum_is_the_documented_one() -> None:
    assert Accountant.from_json(resealed(json.loads(TEXT))) == SPENT


@given(st.data())
def test_a_mutation_never_changes_the_answer_silently(data: Any) -> None:
    start = data.draw(st.integers(0, len(TEXT)))
    end = data.draw(st.integers(start, min(len(TEXT), start + 8)))
    stray = data.draw(st.one_of(st.text(max_size=3), st.sampled_from([*'0123456789.,-e"{}[] \n'])))
    mutated = TEXT[:start] + stray + TEXT[end:]
    try:
        found = Accountant.from_json(mutated)
    except InvalidInput:
        return
    assert found == SPENT


@given(st.integers(0, len(TEXT) - 1))
def test_a_cut_text_is_refused(length: int) -> None:
    with pytest.raises(InvalidInput):
        Accountant.from_json(TEXT[:length])


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner)),
    max_leaves=5,
)


@given(st.sampled_from(["epsilon", "delta", "releases", "format", "version", "extra"]), JSON)
def test_a_record_of_another_shape_is_one_clear_error(name: str, value: Any) -> None:
    record = {**json.loads(TEXT), name: value}
    try:
        text = resealed(record)
        found = Accountant.from_json(text)
    except DpcalcError:
        return
    assert json.loads(found.to_json()) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (changed(releases=...), "lacks 'releases'"),
        (changed(epsilon=...), "lacks 'epsilon'"),
        (changed(delta=...), "lacks 'delta'"),
        (changed(release=[]), "unknown 'release'"),
        (changed(epsilon=[]), "epsilon needs"),
        (changed(epsilon="8"), "epsilon needs"),
        (changed(epsilon=True), "epsilon needs"),
        (changed(delta=None), "delta needs"),
        (changed(releases=5), "list of tables"),
        (changed(releases=[5]), "list of tables"),
        (changed(releases=[{"pure": 1.0}]), "count"),
        (changed(releases=[{"pure": 1.0, "count": 2.0}]), "count"),
        (changed(releases=[{"pure": 1.0, "count": True}]), "count"),
        (changed(releases=[{"pure": 1.0, "count": 2}] * 2), "once"),
        (changed(releases=[{"puer": 1.0, "count": 2}]), "needs exactly one of"),
        (changed(version=1), "version 2; got version 1"),
        (changed(version=True), "version"),
        (TEXT.replace('"count": 30', '"count": 30, "count": 0'), "repeated"),
        (TEXT.replace('"count": 30', '"count": 20'), "checksum"),
        (TEXT.replace("8.0", "1e999"), "beyond the doubles"),
        (TEXT.replace("8.0", "NaN"), "NaN"),
        ("[" * 100_000, "not its JSON"),
        ("[]", "format"),
        ("", "not its JSON"),
    ],
)
def test_what_is_not_whole_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Accountant.from_json(text)


def test_no_limit_is_written_and_read() -> None:
    free = Accountant(delta=1e-5).spend(GDP(0.5), 7)
    assert json.loads(free.to_json())["epsilon"] is None
    assert Accountant.from_json(free.to_json()) == free
