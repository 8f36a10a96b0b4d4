"""What ``dpcalc audit`` attacks and holds it against: targets, claims, live progress."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc.errors import DpcalcError, InvalidInput, unknown_name

if TYPE_CHECKING:
    from dpcalc.auditing import Claim, Progress, Target
    from dpcalc.auditing.suite.case import Case, Instance


def parsed_claim(text: str) -> dict[str, float]:
    """``eps=1,delta=1e-5`` or ``mu=0.5,delta=1e-5`` as numbers."""
    from dpcalc.numerals import number

    known = {"eps": "epsilon", "epsilon": "epsilon", "delta": "delta", "mu": "mu", "rho": "rho"}
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        key = name.strip().lower()
        if key not in known:
            raise unknown_name("part of --claim", key, known)
        if known[key] in found:
            raise InvalidInput(f"--claim needs each part once; got {key} again in {text!r}")
        try:
            found[known[key]] = number(value.strip())
        except (ValueError, ZeroDivisionError, OverflowError):
            raise InvalidInput(f"--claim {key} needs a number; got {value!r}") from None
    if len({"epsilon", "mu", "rho"} & set(found)) != 1:
        raise InvalidInput(
            f"--claim needs one of eps, mu and rho, and a delta; got {text!r}; try eps=1,delta=1e-5"
        )
    if "epsilon" not in found and "delta" not in found:
        raise InvalidInput(
            f"--claim {text} needs the δ at which ε is told; try --claim {text},delta=1e-5"
        )
    return found


def claim_of(numbers: Mapping[str, float], adjacency: str, release: str) -> Claim:
    """The claim that these numbers make."""
    from dpcalc.auditing import Claim
    from dpcalc.guarantees import GDP, ZCDP

    delta = numbers.get("delta", 0.0)
    if "epsilon" in numbers:
        return Claim.of(
            epsilon=numbers["epsilon"],
            delta=delta,
            adjacency=adjacency,  # type: ignore[arg-type] # converted by Claim
            release=release,  # type: ignore[arg-type]
        )
    curve = GDP(numbers["mu"]) if "mu" in numbers else ZCDP(numbers["rho"])
    return Claim(
        guarantee=curve,
        delta=delta,
        adjacency=adjacency,  # type: ignore[arg-type] # converted by Claim
        release=release,  # type: ignore[arg-type]
    )


def theorem_claim(
    key: str,
    settings: Sequence[str],
    *,
    delta: float,
    certified: bool,
    adjacency: str,
    release: str,
) -> Claim:
    """The claim of a theorem with parameters ``name=value``, as printed or as certified."""
    from dpcalc.auditing import Claim
    from dpcalc.theorems.catalogue import privacy_result

    kind = privacy_result(key)
    given: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise InvalidInput(f"--set needs NAME=VALUE; got {setting!r}; try --set rounds=5")
        given[name.strip()] = _value(value.strip())
    promises = [a.key for a in kind.assumptions if a.promised]
    theorem = kind.from_parameters(given, promises)
    bound = theorem.certified() if certified else theorem.claimed()
    return Claim(
        guarantee=bound.guarantee,
        delta=delta,
        adjacency=adjacency,  # type: ignore[arg-type] # converted by Claim
        release=release,  # type: ignore[arg-type]
        name=f"{key}, {'certified' if certified else 'claimed'}",
    )


def _value(text: str) -> Any:
    """A number or a flag where it reads as one; else text, such as a choice or a schedule."""
    from dpcalc.numerals import number

    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        value = number(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        return text
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def loaded(path: str) -> Any:
    """The object behind ``module:object``, looked up from the current folder."""
    module_name, _, name = path.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    needed = f"expected module:object, importable from {here!r}; got {path!r}"
    if module_name.endswith(".py"):
        raise InvalidInput(f"{needed}; {_as_imported(module_name, name or 'NAME')}")
    with of_the_user(needed):
        found: Any = importlib.import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    return found


def _as_imported(file: str, name: str) -> str:
    """How an object of a file is written."""
    *folders, module = Path(file).with_suffix("").parts
    if all(part.isidentifier() for part in folders):
        return f"write {'.'.join((*folders, module))}:{name}"
    return f"write {module}:{name}, from the folder of the file"


def send_along(path: str) -> None:
    """Send the module of ``module:object`` with the work: other machines do not have it."""
    import cloudpickle

    loaded(path)
    cloudpickle.register_pickle_by_value(sys.modules[path.partition(":")[0]])


@contextmanager
def of_the_user(what: str) -> Iterator[None]:
    """What goes wrong in the user's own code is told as the user's, an exit of it included.

    A status that the code would end with is no verdict: 0 would read as not refuted.
    """
    try:
        yield
    except DpcalcError:
        raise
    except SystemExit as error:
        raise InvalidInput(f"{what} (the code ends the program: exit {error.code})") from error
    except Exception as error:
        raise InvalidInput(f"{what} ({type(error).__name__}: {error})") from error


def guarded(target: Target) -> Target:
    """The target, whose own errors are reported as its own.

    What it prints goes to standard error, beside the answer; what it sets for numpy's warnings ends
    with the call.
    """
    import numpy as np

    def checked(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            with (
                of_the_user(f"target {target.name!r} could not {what}"),
                redirect_stdout(sys.stderr),
                np.errstate(),
            ):
                return function(*given)

        return call

    changed: dict[str, Any] = {"run": checked("release", target.run)}
    if target.score is not None:
        changed["score"] = checked("score what was released", target.score)
    if target.log_ratio is not None:
        changed["log_ratio"] = checked("compute the log-ratio", target.log_ratio)
    return replace(target, **changed)


def own_cases(path: str) -> tuple[Case, ...]:
    """Cases from an object of the user's: a Target, a (Target, Claim), an Audit, or their maker."""
    from dpcalc.auditing import Claim, Target
    from dpcalc.auditing.suite.case import Audit, Case, ClaimSource, Instance
    from dpcalc.auditing.targets.arguments import takes

    found = loaded(path)
    if callable(found) and not isinstance(found, type):
        needed = "a Target, a pair (Target, Claim) or a function without arguments that returns one"
        if not takes(found, 0):
            name = path.partition(":")[2]
            raise InvalidInput(
                f"expected {needed}; got {path!r}, a function with arguments; a release(data, "
                f"generator, runs) makes a target: target = dpcalc.auditing.mechanism({name}, "
                "WITH_RECORD, WITHOUT_RECORD, adjacency='add-remove')"
            )
        with of_the_user(f"expected {needed}; got {path!r}"):
            found = found()
    if isinstance(found, Audit):
        return found.cases
    target, claim = found if isinstance(found, tuple) and len(found) == 2 else (found, None)
    if not isinstance(target, Target) or not isinstance(claim, Claim | None):
        raise InvalidInput(
            "expected a Target, a pair (Target, Claim) or an Audit; got "
            f"{path!r} of type={type(found).__name__}"
        )

    target = guarded(target)

    def instance() -> Instance:
        if claim is None:
            raise InvalidInput(f"{path} comes without a claim; try --claim eps=1,delta=1e-5")
        return Instance(target=target, claim=claim)

    if claim is None:
        return (_unclaimed(target, path),)
    return (
        Case(key=target.name, title=path, role=ClaimSource.OWN, instance=instance, expected=()),
    )


def _unclaimed(target: Any, path: str) -> Case:
    """A case whose claim comes from the command line."""
    from dpcalc.auditing import Claim
    from dpcalc.auditing.suite.case import Case, ClaimSource, Instance

    nothing = Claim.of(epsilon=0.0, adjacency=target.adjacency)
    return Case(
        key=target.name,
        title=path,
        role=ClaimSource.OWN,
        instance=lambda: Instance(target=target, claim=nothing),
        expected=(),
    )


class LiveProgress:
    """A bar per case, there from the start and moving while nothing is counted yet."""

    def __init__(self, bar: Any, count: int) -> None:
        self.bar, self.count = bar, count
        self.tasks: dict[str, Any] = {}

    def begin(self, case: Case) -> None:
        """A case is begun; its first runs are those of the pilot."""
        for task in self.tasks.values():
            self.bar.stop_task(task)
        label = f"{len(self.tasks) + 1}/{self.count} {case.key}"
        self.tasks[case.key] = self.bar.add_task(label, total=None, done="", seen="pilot runs")

    def report(self, case: Case, seen: Progress) -> None:
        """A batch of counted runs is complete."""
        text = f"lower bound {seen.lower:.3g}, e-value {seen.e_value:.3g}" if seen.e_value else ""
        done = f"{seen.runs}/{seen.planned} runs"
        self.bar.update(
            self.tasks[case.key], completed=seen.runs, total=seen.planned, done=done, seen=text
        )


@contextmanager
def live_progress(count: int) -> Iterator[LiveProgress]:
    """A bar per case on standard error with the running lower bound; silent off a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    screen = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[done]}"),
        TextColumn("{task.fields[seen]}"),
        TimeElapsedColumn(),
    )
    bar = Bar(*columns, console=screen, transient=True, disable=not screen.is_terminal)
    with bar:
        yield LiveProgress(bar, count)
