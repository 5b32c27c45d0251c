"""Forward mode and batching of single records, by the table's rules."""

from __future__ import annotations

from typing import Any

from ..primitives.casting import cast
from ..primitives.movement import expand, permute
from ..tensor import as_operand
from .constants import zeros

_OPERANDS = {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}
_RESULTS = {"r0": 0, "r1": 1, "r2": 2}


def push_forward(primitive: Any, operands: Any, tangents: Any, parameters: dict[str, Any]) -> tuple[Any, Any]:
    """Return the results and their tangents; an operand's tangent is None where it is constant."""
    results = primitive(*operands, **parameters)
    if all(tangent is None for tangent in tangents):
        return results, None
    if primitive.jvp is not None:
        filled = tuple([_tangent_or_zeros(operand, tangent) for operand, tangent in zip(operands, tangents, strict=True)])
        return results, _apply(primitive.jvp, operands, results, filled, parameters)
    if primitive.derivatives is None:
        return results, None
    if primitive.jointly:
        linear = [
            _tangent_or_zeros(operand, tangent) if place in primitive.linear_in else operand
            for place, (operand, tangent) in enumerate(zip(operands, tangents, strict=True))
        ]
        return results, primitive(*linear, **parameters)
    total = None
    for place, (rule, tangent) in enumerate(zip(primitive.derivatives, tangents, strict=True)):
        if rule is None or tangent is None:
            continue
        if place in primitive.linear_in:
            share = primitive(*operands[:place], tangent, *operands[place + 1 :], **parameters)
        else:
            share = _apply(rule, operands, results, tangent, parameters)
        total = share if total is None else total + share
    return results, _fit(total, results)


def _fit(tangent: Any, result: Any) -> Any:
    """Return a tangent in its result's dtype and shape: rules never mention promotion and broadcasting."""
    if tangent is None:
        return None
    if tangent.dtype is not result.dtype:
        tangent = cast(tangent, dtype=result.dtype)
    shape = tuple(result.shape)
    return tangent if tuple(tangent.shape) == shape else expand(tangent, shape=shape)


def _tangent_or_zeros(operand: Any, tangent: Any) -> Any:
    if tangent is not None or not hasattr(operand, "_node"):
        return tangent
    dtype = operand.dtype
    return zeros(tuple(operand.shape), dtype) if dtype.is_floating_point or dtype.is_complex else None


def _apply(rule: Any, operands: Any, results: Any, tangent: Any, parameters: dict[str, Any]) -> Any:
    """Call a rule with the arguments it names; `g` is the tangent."""
    tensors = [as_operand(operand) for operand in operands]
    arguments = []
    for name in rule.names:
        if name == "g":
            arguments.append(tangent)
        elif name in _OPERANDS:
            arguments.append(tensors[_OPERANDS[name]])
        elif name == "r":
            arguments.append(results)
        elif name in _RESULTS:
            arguments.append(results[_RESULTS[name]])
        elif name == "operands":
            arguments.append(tuple(tensors))
        elif name == "constants":
            arguments.append(tuple([tensor for tensor in tensors if tensor._node.type.is_constant]))
        elif name == "types":
            arguments.append(tuple([tensor._node.type for tensor in tensors]))
        elif name == "rtype":
            arguments.append(tuple([r._node.type for r in results]) if isinstance(results, tuple) else results._node.type)
        elif name == "needs":
            arguments.append(tuple([part is not None for part in tangent]))
        else:
            arguments.append(parameters[name])
    return rule.function(*arguments)


def push_batch(primitive: Any, operands: Any, in_dims: Any, parameters: dict[str, Any]) -> Any:
    """Apply a primitive to operands of which some have a batch dimension; the results have theirs in front."""
    moved = []
    for operand, dim in zip(operands, in_dims, strict=True):
        if dim:
            axes = list(range(operand.ndim))
            axes.insert(0, axes.pop(dim))
            operand = permute(operand, axes=tuple(axes))
        moved.append(operand)
    return primitive.batch(primitive, tuple(moved), tuple([dim is not None for dim in in_dims]), **parameters)
