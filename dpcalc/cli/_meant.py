"""What people type who mean something else here: a word, and where to find what is meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping

_VERBS = {
    "version": "try: dpcalc --version",
    "help": "try: dpcalc --help",
    "train": "try: dpcalc run",
    "attack": "try: dpcalc audit",
    "account": "compose adds up releases; in Python see dpcalc.Accountant",
    "plan": "dpcalc new plan NAME writes one, dpcalc compose reads it",
    "claim": "dpcalc new claim NAME writes one, dpcalc verify judges it",
    "report": "verify, compose and audit write one: --report FILE.html",
    "budget": "epsilon finds that of a paper's algorithm, compose that of a list of releases",
    "accountant": "compose adds up releases; in Python see dpcalc.Accountant",
    "accounting": "compose adds up releases; in Python see dpcalc.Accountant",
    "utility": "rate compares bounds of utility, plot draws them over the budget",
    "convergence": "rate compares what is claimed and certified",
    "list": "theorems, audit, reproduce and run without a name list what there is",
    "mechanisms": "dpcalc calibrate --help lists them",
    "figure": "plot draws curves, reproduce recomputes figures of papers",
    "figures": "plot draws curves, reproduce recomputes figures of papers",
    "picture": "plot draws curves, reproduce recomputes figures of papers",
    "certify": "epsilon, noise, calibrate, compose and verify take --certify FILE; check verifies it",
    "ledger": "try: dpcalc audit --ledger FILE",
    "compare": "epsilon and verify put claimed next to certified; sweep answers a whole grid",
    "rdp": "try: dpcalc convert --rdp ORDER:DIVERGENCE --to approx --delta 1e-6",
    "gdp": "try: dpcalc convert --gdp MU --to approx --delta 1e-6",
    "zcdp": "try: dpcalc convert --zcdp RHO --to approx --delta 1e-6",
    "papers": "try: dpcalc theorems",
    "sigma": "calibrate finds the noise of a mechanism, noise that of a theorem's algorithm",
}

_OPTIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "--epochs": (("--rounds", "rounds = epochs × records / batch size, --rounds"),),
    "--steps": (("--rounds", "--rounds"),),
    "--iterations": (("--rounds", "--rounds"),),
    "--batch-size": (("--sample", "--sample, with --population for the records in all"),),
    "--sigma": (("--noise-multiplier", "--noise-multiplier, σ over one record's largest norm"),),
    "--clip": (("--noise-multiplier", "--noise-multiplier, which is σ over the clipping norm"),),
    "--repeat": (("--runs", "--runs, independent runs of which each spends the budget"),),
    "--repeats": (("--runs", "--runs, independent runs of which each spends the budget"),),
    "--neighbours": (("--adjacency", "--adjacency"),),
    "--neighbors": (("--adjacency", "--adjacency"),),
}
"""Option -> the option of the same verb that is meant, and how to say so."""

_OUTPUTS = ("--output", "--out", "--csv", "--save", "--report", "--md")

_PICTURES = ("--png", "--svg", "--pdf", "--html", "--plot", "--picture", "--figure", "--file")

_SENSITIVITIES = ("--sensitivity", "--l1-sensitivity", "--l2-sensitivity")

_BUDGETS = ("--fail-on", "--strict-mode")

LAST_ALONE = ("fixed-point-admm", "gradient-admm", "gradient-admm-noisy-oracle")
"""Methods of `run` of which nothing but the last iterate is certified."""

_NOISES = ("--sigma", "--noise", "--noise-multiplier", "--noise-rate")


def meant_verb(given: str, known: Collection[str]) -> str:
    """What to say of an unknown verb; "" if nothing better than the nearest name is known.

    Args:
        given: the word.
        known: the verbs.
    """
    word = given.lower()
    near = difflib.get_close_matches(word, [*_VERBS, *known], n=1, cutoff=0.75)
    return _VERBS.get(word) or _VERBS.get(near[0] if near else "", "")


def meant_mechanism(given: str, verb: str) -> str:
    """The same for a mechanism where a theorem was needed.

    Args:
        given: the name.
        verb: such as "epsilon".
    """
    from dpcalc.claims.named import meant_by, mechanism, mechanism_key, mechanism_names

    name = mechanism_key(given)
    if name not in mechanism_names():
        found = meant_by(given)
        asked = "calibrate" if verb == "noise" else "epsilon"
        return f"{found}; try: dpcalc {asked} dp-sgd" if found else ""
    what = f"{given} is the mechanism {name}" if name != given else f"{given} is a mechanism"
    if {"p", "points"} & {*mechanism(name).fields}:
        return f"{what} whose fields are lists; try: dpcalc compose FILE"
    if verb == "noise":
        return f"{what}; its noise: dpcalc calibrate {given}"
    return f"{what}; its ε: dpcalc epsilon {given}"


def meant_method(given: str) -> str:
    """The theorem that certifies an algorithm, where the theorem's name was needed."""
    from dpcalc.training.catalogue import UNCOVERED, method, methods

    key = given.lower().replace("_", "-")
    if key in UNCOVERED:
        return f"{key} is an algorithm that no result here covers; use {UNCOVERED[key][1]}"
    if key not in methods():
        return ""
    theorem = method(key).theorem_key
    if theorem is None:
        return (
            f"{key} is an algorithm without noise, which nothing certifies; try: dpcalc run {key}"
        )
    return (
        f"{key} is an algorithm, certified by the theorem {theorem}; train with: dpcalc run {key}"
    )


def meant_theorem(given: str) -> str:
    """The same for a theorem where a mechanism was needed, with its noise for a budget."""
    from dpcalc.theorems.catalogue import key_of, keys

    name = key_of(given, privacy=True)
    if name not in keys(privacy=True):
        return ""
    return f"{name} is a theorem; its algorithm's noise: dpcalc noise {name}"


def _is_mechanism(given: str) -> bool:
    from dpcalc.claims.named import mechanism_key, mechanism_names

    return mechanism_key(given) in mechanism_names()


def meant_option(given: str, known: Collection[str], verb: str) -> str:
    """The same for an option of a verb.

    Args:
        given: the unknown option.
        known: the verb's options.
        verb: its path, such as "dpcalc epsilon dp-admm".
    """
    if given == "--epsilon" and verb.startswith("dpcalc epsilon"):
        budget = "calibrate" if _is_mechanism(verb.removeprefix("dpcalc epsilon ")) else "noise"
        return (
            f"ε is what this verb finds; dpcalc {budget} takes a budget, "
            "dpcalc verify judges a claim"
        )
    if given in _SENSITIVITIES and "--noise-over-sensitivity" in known:
        return (
            "noise is found as a multiple: leave the option out, and multiply the answer's noise "
            "over the sensitivity by yours"
        )
    if verb.startswith("dpcalc run") and given in _NOISES:
        return "the noise follows from the budget, --epsilon and --delta"
    if given == "--output" and verb.removeprefix("dpcalc run ") in LAST_ALONE:
        return (
            "the model is the last iterate, which alone is certified: no mean of others is covered"
        )
    if verb.startswith("dpcalc run") and given in ("--batch-size", "--sample"):
        return "its steps use the records that the method says; dpcalc run METHOD --help"
    if given == "--epsilon" and verb == "dpcalc compose":
        return "the budget stands in a TOML file: epsilon = 1; a table there: rounds = 'file.csv'"
    if given in _BUDGETS and "--strict" in known:
        return "--strict makes UNSUPPORTED an exit status of 1 too"
    if given in _PICTURES and "--out" in known:
        return "what is meant is --out, whose ending decides the format"
    for option, text in _OPTIONS.get(given, ()):
        if option in known:
            return f"what is meant is {text}"
    if given in _OUTPUTS and "--json" in known and "--out" not in known:
        return f"the output goes to the terminal; into a file: {verb} ... --json > answer.json"
    return ""
