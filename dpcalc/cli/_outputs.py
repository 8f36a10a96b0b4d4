"""Files that a verb writes: tried before any work, and their failures told after the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from dpcalc.errors import InvalidInput, OutputFailed
from dpcalc.files import check_output, is_there


def check_outputs(
    outputs: Iterable[tuple[str, Path | None]], inputs: Iterable[Path | None] = ()
) -> None:
    """Refuse files that cannot be written, one file for two outputs, and an output over an input.

    Args:
        outputs: options with their files; None for an option that was not given.
        inputs: files that are read.

    Raises:
        InvalidInput: naming the option and the file.
    """
    read = {path.resolve() for path in inputs if path is not None and is_there(path)}
    taken: dict[Path, str] = {}
    for option, path in outputs:
        if path is None:
            continue
        check_output(path, option)
        file = path.resolve()
        if file in read:
            raise InvalidInput(
                f"{option} needs a file of its own; {str(path)!r} is read; name another file"
            )
        if file in taken and file.is_file() | (not file.exists()):
            raise InvalidInput(
                f"{option} and {taken[file]} need files of their own; got {str(path)!r} for both"
            )
        taken[file] = option


def this_command(*more: str) -> str:
    """The command line that is running, to be repeated, with further words at its end."""
    import shlex
    import sys

    return shlex.join(["dpcalc", *sys.argv[1:], *more])


class Writing:
    """Writes files one by one; a result whose file fails is still printed, and then `settle` tells."""

    def __init__(self) -> None:
        self._failures: list[str] = []

    def attempt(self, write: Callable[[], object]) -> bool:
        """Whether it could be written."""
        try:
            write()
        except OutputFailed as failure:
            self._failures.append(str(failure))
            return False
        return True

    def settle(self) -> None:
        """Raise what failed; called after the answer was printed."""
        if self._failures:
            raise OutputFailed("; ".join(self._failures))
