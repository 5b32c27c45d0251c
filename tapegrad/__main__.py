"""The command line: ``python -m tapegrad demo``, ``info`` and ``cache``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 when it did what it says, 1 when it could not, 2 for a wrong usage."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command == "info":
        from .demo.info import report

        print(report())
        return 0
    if options.command == "demo":
        from .demo.train import run

        return run(options)
    if options.command == "cache":
        from .demo.cache import run_cache

        return run_cache(options.action)
    parser.print_help()
    return 0


def _parser() -> argparse.ArgumentParser:
    from .demo.cache import ACTIONS
    from .demo.train import add_options

    parser = argparse.ArgumentParser(prog="python -m tapegrad", description="Automatic differentiation on a tape.")
    commands = parser.add_subparsers(dest="command", title="commands")
    demo = commands.add_parser("demo", help="train a network to read handwritten digits, and show the tape of a step")
    add_options(demo)
    commands.add_parser("info", help="print versions, mode, threads and how full the caches are")
    cache = commands.add_parser("cache", help="look at the compiled kernels on disk, or delete them")
    cache.add_argument("action", nargs="?", choices=ACTIONS, default="size", help="what to do (size unless given)")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)  # what a shell calls the end by Ctrl-C
