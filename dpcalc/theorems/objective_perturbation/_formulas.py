"""The objective-perturbation formulas as symbolic expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcalc.theorems.objective_perturbation._update import Fixed
from dpcalc.theorems.statements import Formula

if TYPE_CHECKING:
    import sympy

    from dpcalc.theorems.objective_perturbation._network import NetworkTheorem


def network_formulas(theorem: NetworkTheorem) -> tuple[Formula, ...]:
    """β as printed and as certified, summed over rounds at the node that attains the first.

    What is shown is the term of one round, for any schedule of eta and alpha.
    """
    import sympy

    c, c1, alpha, b, rho, n, eta, v, s = sympy.symbols("C c_1 alpha B rho N eta V s", positive=True)
    printed = theorem.printed_term(alpha, eta * v, b, Fixed(c, c1, rho / n))
    kappa = c / (b * (rho / n + 2 * eta * v))
    a = theorem.effective_rate(alpha, eta * v) * c / b
    if theorem.loss == "logistic":
        linear = (2 - a) * kappa
        root = sympy.sqrt(linear**2 + 4 * a * kappa * (a + kappa))
        best = (root - linear) / (2 * a * kappa)
        inner = (a * (1 + s) + sympy.log(1 + kappa * s * (1 - s))).subs(s, best)
        certified: sympy.Expr = sympy.Piecewise((2 * a, a >= kappa), (inner, True))
        shown = "2*a if a >= kappa, else a*(1 + s) + log(1 + kappa*s*(1 - s)) at its largest over s"
    else:
        certified = 2 * a + sympy.log(1 + kappa * c1)
        shown = "2*a + log(1 + kappa*c_1)"
    if theorem.adjacency == "add-remove":
        certified, shown = certified - a, f"a less than {shown}"
    shown += f", where a = {a} and kappa = {kappa}"
    return (
        Formula("claimed.beta", printed, term_values(theorem, "claimed")),
        Formula("certified.beta", certified, term_values(theorem, "certified"), shown),
    )


def term_values(theorem: NetworkTheorem, which: str) -> dict[str, float]:
    """Values of the symbols that do not change over rounds, at the node that attains the bound."""
    wanted = which == "claimed" and not theorem.violations_of_claim()
    bound = theorem.claimed() if wanted else theorem.replace(dimension=None).certified()
    i = int(bound.numbers["worst_node"]) - 1
    return {
        "C": theorem.loss_weight,
        "c_1": theorem.largest_curvature,
        "rho": theorem.regularization,
        "N": float(theorem.n_nodes),
        "B": theorem.n_records.nodes("n_records", theorem.cases)[i],
        "V": theorem.degree.nodes("degree", theorem.cases)[i],
    }
