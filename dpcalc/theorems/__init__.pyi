from dpcalc.theorems.convergence.dp_admm_utility import DPADMMUtility as DPADMMUtility
from dpcalc.theorems.convergence.dual_averaging_consensus import (
    DualAveragingConsensus as DualAveragingConsensus,
)
from dpcalc.theorems.convergence.dual_averaging_convergence import (
    DualAveragingConvergence as DualAveragingConvergence,
)
from dpcalc.theorems.convergence.dual_averaging_rate import DualAveragingRate as DualAveragingRate
from dpcalc.theorems.convergence.dual_averaging_utility import (
    DualAveragingUtility as DualAveragingUtility,
)
from dpcalc.theorems.convergence.gradient_admm_utility import (
    GradientADMMUtility as GradientADMMUtility,
)
from dpcalc.theorems.convergence.m_admm_convergence import MADMMConvergence as MADMMConvergence
from dpcalc.theorems.convergence.m_admm_rate import MADMMRate as MADMMRate
from dpcalc.theorems.convergence.private_recycled_admm_sample_complexity import (
    PrivateRecycledADMMSampleComplexity as PrivateRecycledADMMSampleComplexity,
)
from dpcalc.theorems.convergence.recycled_admm_convergence import (
    RecycledADMMConvergence as RecycledADMMConvergence,
)
from dpcalc.theorems.convergence.recycled_admm_sample_complexity import (
    RecycledADMMSampleComplexity as RecycledADMMSampleComplexity,
)
from dpcalc.theorems.dual_averaging.private_dual_averaging import (
    PrivateDualAveraging as PrivateDualAveraging,
)
from dpcalc.theorems.fixed_point.fixed_point_admm import FixedPointADMM as FixedPointADMM
from dpcalc.theorems.gradient_admm.dp_admm import DPADMM as DPADMM
from dpcalc.theorems.iteration.admm_iteration import ADMMIteration as ADMMIteration
from dpcalc.theorems.iteration.admm_iteration_all_users import (
    ADMMIterationAllUsers as ADMMIterationAllUsers,
)
from dpcalc.theorems.iteration.admm_iteration_strongly_convex import (
    ADMMIterationStronglyConvex as ADMMIterationStronglyConvex,
)
from dpcalc.theorems.noisy_gradient_descent.noisy_cgd import NoisyCGD as NoisyCGD
from dpcalc.theorems.noisy_gradient_descent.noisy_cgd_constrained import (
    NoisyCGDConstrained as NoisyCGDConstrained,
)
from dpcalc.theorems.noisy_gradient_descent.noisy_gd import NoisyGD as NoisyGD
from dpcalc.theorems.noisy_gradient_descent.noisy_sgd import NoisySGD as NoisySGD
from dpcalc.theorems.noisy_gradient_descent.noisy_sgd_constrained import (
    NoisySGDConstrained as NoisySGDConstrained,
)
from dpcalc.theorems.noisy_gradient_descent.noisy_sgd_constrained_tradeoff import (
    NoisySGDConstrainedTradeoff as NoisySGDConstrainedTradeoff,
)
from dpcalc.theorems.noisy_gradient_descent.pnsgd import PNSGD as PNSGD
from dpcalc.theorems.noisy_gradient_descent.pnsgd_all_users import PNSGDAllUsers as PNSGDAllUsers
from dpcalc.theorems.noisy_gradient_descent.pnsgd_strongly_convex import (
    PNSGDStronglyConvex as PNSGDStronglyConvex,
)
from dpcalc.theorems.objective_perturbation.gaussian_objective_perturbation import (
    GaussianObjectivePerturbation as GaussianObjectivePerturbation,
)
from dpcalc.theorems.objective_perturbation.gaussian_objective_perturbation_profile import (
    Profile as Profile,
)
from dpcalc.theorems.objective_perturbation.penalty_perturbation import (
    PenaltyPerturbation as PenaltyPerturbation,
)
from dpcalc.theorems.objective_perturbation.recycled_admm import RecycledADMM as RecycledADMM
