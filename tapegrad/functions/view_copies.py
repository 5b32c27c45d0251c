"""What the functions that make views make, as tensors with memory of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..primitives import movement
from ..primitives.copying import copy
from ..primitives.type_rules import normalise_axis
from ..tape.record import here
from . import complex_numbers, matrices, shapes, splitting, strided
from .declare import accepts_out, require_tensor
from .reductions import show


def _copy(view: Any, shown: str, start: tuple[int, int]) -> Any:
    result = copy(view) if view._node.type.is_contiguous else movement.contiguous(view)
    return show(shown, result, start)


def _copying(name: str, function: Callable[..., Any], shown: str | None = None) -> Callable[..., Any]:
    """Return the function whose result (or results) is a copy of the view that `function` makes."""

    def copied(input: Any, *arguments: Any, **options: Any) -> Any:
        require_tensor(name, input)
        start = here()
        views = function(input, *arguments, **options)
        parts = views if isinstance(views, tuple) else (views,)
        names = [shown or f"{type(part.grad_fn).__name__}_copy" for part in parts]
        results = [_copy(part, named, start) for part, named in zip(parts, names, strict=True)]
        return tuple(results) if isinstance(views, tuple) else results[0]

    copied.__name__ = copied.__qualname__ = name
    copied.__doc__ = f"Return what `{name.removesuffix('_copy')}` does, in memory of its own."
    return accepts_out(copied)


def _alias(input: Any) -> Any:
    return movement.alias(input)


def _slice(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    axis = normalise_axis(dim, input.ndim)
    first, last, _ = slice(start, end).indices(input.shape[axis])
    return movement.slice_axis(input, first, axis=axis, length=len(range(first, last, step)), step=step)


alias_copy = _copying("alias_copy", _alias)
as_strided_copy = _copying("as_strided_copy", strided.as_strided)
detach_copy = _copying("detach_copy", lambda input: input.detach())
diagonal_copy = _copying("diagonal_copy", matrices.diagonal)
expand_copy = _copying("expand_copy", lambda input, size, *, implicit=False: shapes.expand(input, size))
narrow_copy = _copying("narrow_copy", splitting.narrow, "NarrowCopyBackward0")
permute_copy = _copying("permute_copy", shapes.permute)
select_copy = _copying("select_copy", splitting.select)
slice_copy = _copying("slice_copy", _slice)
split_copy = _copying("split_copy", splitting.split)
split_with_sizes_copy = _copying("split_with_sizes_copy", splitting.split_with_sizes)
squeeze_copy = _copying("squeeze_copy", shapes.squeeze)
t_copy = _copying("t_copy", shapes.t)
transpose_copy = _copying("transpose_copy", shapes.transpose)
unbind_copy = _copying("unbind_copy", splitting.unbind)
unfold_copy = _copying("unfold_copy", strided.unfold)
unsqueeze_copy = _copying("unsqueeze_copy", shapes.unsqueeze)
view_as_complex_copy = _copying("view_as_complex_copy", complex_numbers.view_as_complex)
view_as_real_copy = _copying("view_as_real_copy", complex_numbers.view_as_real)
view_copy = _copying("view_copy", lambda input, size=None, dtype=None: shapes.view(input, dtype or size))

__all__ = [
    "alias_copy", "as_strided_copy", "detach_copy", "diagonal_copy", "expand_copy", "narrow_copy", "permute_copy",
    "select_copy", "slice_copy", "split_copy", "split_with_sizes_copy", "squeeze_copy", "t_copy", "transpose_copy",
    "unbind_copy", "unfold_copy", "unsqueeze_copy", "view_as_complex_copy", "view_as_real_copy", "view_copy",
]

METHODS: dict[str, Any] = {"narrow_copy": narrow_copy}
