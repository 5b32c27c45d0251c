"""What is installed, how the tape runs, and how full its caches are."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from .. import __version__
from ..execute import arenas, disk_cache, kernels
from ..execute.threads import get_num_threads, usable_cores
from ..tape import trace, types
from ..tape.modes import get_mode
from .cache import describe

_PACKAGES = ("numpy", "scipy", "numba", "llvmlite")


def report() -> str:
    """Return a few lines on versions, mode, threads and caches, for bug reports and benchmarks.

    >>> print(report())
    tapegrad  ...
    """
    facts = [("tapegrad", __version__), *[(package, _version(package)) for package in _PACKAGES]]
    facts += [
        ("python", f"{platform.python_version()} ({platform.python_implementation()}, {platform.platform()})"),
        ("mode", f"{get_mode()} (TAPEGRAD_MODE is {os.environ.get('TAPEGRAD_MODE', 'not set')})"),
        ("threads", f"{get_num_threads()}; {usable_cores()} of {os.cpu_count()} cores usable"),
    ]
    facts += [(name, f"{size:,} of at most {limit:,}") for name, size, limit in _caches()]
    facts.append(("plans", f"{sum(1 for _ in _plans()):,}"))
    facts.append(("kernels", f"{len(kernels.kernels()):,} of at most {kernels.LIMIT:,}"))
    facts.append(("arenas", f"{arenas.arenas.total() / (1 << 20):,.1f} of at most {arenas.LIMIT >> 20:,} MiB"))
    facts.append(("kernel cache", f"{describe()}, in {disk_cache.folder()}"))
    width = max(len(name) for name, _ in facts)
    return "\n".join(f"{name:{width}}  {fact}" for name, fact in facts)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _caches() -> list[tuple[str, int, int]]:
    """Return the caches: what is in them, how much, and the limit."""
    roots = list(trace._roots.values())
    return [
        ("trie nodes", sum(root.count for root in roots), trace.NODE_LIMIT * max(len(roots), 1)),
        ("record kinds", len(trace._kinds), trace._KINDS_LIMIT),
        ("types", len(types._interned), types._INTERNED_LIMIT),
    ]


def _plans() -> Iterator[object]:
    """Yield the plans in the trie; what a trace remembers beside them has a text as its key."""
    nodes: list[trace.Node] = list(trace._roots.values())
    while nodes:
        node = nodes.pop()
        nodes.extend(node.children.values())
        yield from [plan for key, plan in (node.plans or {}).items() if not isinstance(key, str)]
