"""Independent pieces of work, on whatever offers ``concurrent.futures.Executor``.

The standard library's pools, loky's and joblib's, Dask's ``client.get_executor()``, mpi4py's and
submitit's executors are taken as they are; `Processes` are those of this machine.

    with Processes(4) as executor:
        verdict = audit(target, claim, executor=executor)

Each piece is a pure function of its item, so the answers are the same bits whatever made them, in
what order, and how often it had to be begun again. Threads of linear algebra are part of what made
them: give every process as many (``OPENBLAS_NUM_THREADS=1``, as the command line does).
"""

from dpcalc.execution.executors import is_enough, workers_of
from dpcalc.execution.limited import Limited
from dpcalc.execution.order import handed_out, in_order, where_it_can_be_ended
from dpcalc.execution.processes import Processes
from dpcalc.execution.side_by_side import side_by_side

__all__ = [
    "Limited",
    "Processes",
    "handed_out",
    "in_order",
    "is_enough",
    "side_by_side",
    "where_it_can_be_ended",
    "workers_of",
]
