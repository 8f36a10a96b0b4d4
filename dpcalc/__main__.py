"""``python -m dpcalc`` and the command ``dpcalc``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, also when it is interrupted while it is still being loaded."""
    try:
        from dpcalc.cli.main import main as command_line

        command_line()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("dpcalc: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
