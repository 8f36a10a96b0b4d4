"""The data sets: what the table says and what the files hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcalc.reproduction.experiment import Experiment, Outcome, Table

if TYPE_CHECKING:
    from dpcalc.reproduction.setup import ExperimentConfig

PRINTED = {
    "a9a": (32561, 16281, 123),
    "a8a": (22696, 9865, 123),
    "ijcnn1": (49990, 91701, 22),
    "bio_train": (72876, 72875, 74),
}
WEIGHT = "1e-5"


def compute(config: ExperimentConfig) -> Outcome:
    """Printed counts next to counted ones."""
    rows: list[tuple[object, ...]] = []
    for name, printed in PRINTED.items():
        counted: tuple[object, ...] = ("—",) * 3
        if name != "bio_train" and config.has_data(name):
            split = config.split(name)
            counted = (len(split.train[1]), len(split.test[1]), split.train[0].shape[1])
        rows.append((name, *printed, *counted, WEIGHT))
    columns = ("data", "train", "test", "features", "train*", "test*", "features*", "λ")
    return Outcome(
        table=Table(columns=columns, rows=tuple(rows)), notes=("* counted in the files",)
    )


EXPERIMENT = Experiment(
    reference="shang2021, table I",
    title="data sets",
    compute=compute,
    choices=("bio_train is the KDD Cup 2004 protein data, which is not distributed any more.",),
)
