"""scikit-learn estimators that take ε and δ, calibrate through dpcalc, and say what they spent.

    from dpcalc.estimators import NetworkClassifier

    model = NetworkClassifier(epsilon=1, delta=1e-6).fit(X, y)
    model.certified_, model.claimed_, model.budget_

A pipeline's other steps look at the data too: a fitted scaler is a look that nobody charged. Scale
by public numbers (``row_bound``) instead. Several fits on the same records are paid for through one
`SharedAccountant`, a choice of parameters by `PrivateSearchCV`.
"""

from __future__ import annotations

from dpcalc.extras import need

need("sklearn", "networkx", purpose="dpcalc.estimators")  # before the modules that import them

from dpcalc.estimators.averaging import AveragingClassifier  # noqa: E402
from dpcalc.estimators.budget import SharedAccountant  # noqa: E402
from dpcalc.estimators.composite import ADMMClassifier, ADMMRegressor  # noqa: E402
from dpcalc.estimators.network import NetworkClassifier  # noqa: E402
from dpcalc.estimators.search import PrivateSearchCV  # noqa: E402

__all__ = [
    "ADMMClassifier",
    "ADMMRegressor",
    "AveragingClassifier",
    "NetworkClassifier",
    "PrivateSearchCV",
    "SharedAccountant",
]
