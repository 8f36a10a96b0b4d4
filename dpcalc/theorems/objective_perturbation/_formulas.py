"""The objective-perturbation formulas as symbolic expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcalc.theorems.objective_perturbation._update import (
    Fixed,
    cost_at,
    cost_of_any_loss,
    curvature_share,
    gradient_cost,
    maximiser_terms,
)
from dpcalc.theorems.statements import Formula

if TYPE_CHECKING:
    import sympy

    from dpcalc.theorems.objective_perturbation._network import NetworkTheorem


def network_formulas(theorem: NetworkTheorem) -> tuple[Formula, ...]:
    """β as printed and as certified, summed over rounds at the node that attains the first.

    What is shown is the term of one round, for any schedule of eta and alpha.
    """
    import sympy

    c, c1, alpha, b, rho, n, eta, v = sympy.symbols("C c_1 alpha B rho N eta V", positive=True)
    printed = theorem.printed_term(alpha, eta * v, b, Fixed(c, c1, rho / n))
    kappa = curvature_share(c, b, rho / n, eta * v)
    a = gradient_cost(theorem.effective_rate(alpha, eta * v), c, b)
    records = 1 if theorem.adjacency == "add-remove" else 2

    def log1p(value: sympy.Expr) -> sympy.Expr:
        return sympy.log(1 + value)

    if theorem.loss == "logistic":
        linear, root = maximiser_terms(a, kappa, sympy.sqrt)
        inner = cost_at((root - linear) / (2 * a * kappa), a, kappa, log1p, records=records)
        certified: sympy.Expr = sympy.Piecewise((records * a, a >= kappa), (inner, True))
        shown = "2*a if a >= kappa, else a*(1 + s) + log(1 + kappa*s*(1 - s)) at its largest over s"
    else:
        certified = cost_of_any_loss(a, kappa * c1, log1p, records=records)
        shown = "2*a + log(1 + kappa*c_1)"
    if records == 1:
        shown = f"a less than {shown}"
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
