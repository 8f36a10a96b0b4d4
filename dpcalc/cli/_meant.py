"""What people type who mean something else here: a word, and where to find what is meant."""

from __future__ import annotations

from collections.abc import Collection, Mapping

_VERBS = {
    "version": "try: dpcalc --version",
    "help": "try: dpcalc --help",
    "train": "try: dpcalc run",
    "attack": "try: dpcalc audit",
    "account": "compose adds up releases; in Python see dpcalc.accountant",
    "sigma": "calibrate finds the noise of a mechanism, noise that of a theorem's algorithm",
}

_OPTIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "--epochs": (("--rounds", "rounds = epochs × records / batch size, --rounds"),),
    "--steps": (("--rounds", "--rounds"),),
    "--iterations": (("--rounds", "--rounds"),),
    "--batch-size": (("--sample", "--sample, with --population for the records in all"),),
    "--sigma": (("--noise-multiplier", "--noise-multiplier, σ over one record's largest norm"),),
    "--clip": (("--noise-multiplier", "--noise-multiplier, which is σ over the clipping norm"),),
    "--neighbours": (("--adjacency", "--adjacency"),),
    "--neighbors": (("--adjacency", "--adjacency"),),
}
"""Option -> the option of the same verb that is meant, and how to say so."""

_OUTPUTS = ("--output", "--out", "--csv", "--save", "--report", "--md")

_SENSITIVITIES = ("--sensitivity", "--l1-sensitivity", "--l2-sensitivity")

_MECHANISMS = {
    "dp-sgd": "DP-SGD is poisson-subsampled-gaussian: dpcalc calibrate poisson-subsampled-gaussian",
    "dpsgd": "DP-SGD is poisson-subsampled-gaussian: dpcalc calibrate poisson-subsampled-gaussian",
}


def meant_verb(given: str) -> str:
    """What to say of an unknown verb; "" if nothing better than the nearest name is known."""
    return _VERBS.get(given.lower(), "")


def meant_mechanism(given: str) -> str:
    """The same for a mechanism or a theorem."""
    return _MECHANISMS.get(given.lower(), "")


def meant_option(given: str, known: Collection[str], verb: str) -> str:
    """The same for an option of a verb.

    Args:
        given: the unknown option.
        known: the verb's options.
        verb: its path, such as "dpcalc epsilon dp-admm".
    """
    if given == "--epsilon" and verb.startswith("dpcalc epsilon"):
        return (
            "ε is what this verb finds; dpcalc noise takes a budget, dpcalc verify judges a claim"
        )
    if given in _SENSITIVITIES and "--noise-over-sensitivity" in known:
        return (
            "noise is found as a multiple: leave the option out, and multiply the answer's noise "
            "over the sensitivity by yours"
        )
    for option, text in _OPTIONS.get(given, ()):
        if option in known:
            return f"what is meant is {text}"
    if given in _OUTPUTS and "--json" in known and "--out" not in known:
        return f"the output goes to the terminal; into a file: {verb} ... --json > answer.json"
    return ""
