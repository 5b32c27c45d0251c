"""The expressions of random programs: what gives a tensor.

Each function returns an expression for what the writer has, or None where nothing fits.
"""

from __future__ import annotations

from typing import Any

from .operations import MORE
from .writing import Writer, is_floating

UNARY = (
    ".sin()",
    ".cos()",
    ".tanh()",
    ".sigmoid()",
    ".neg()",
    ".abs()",
    ".relu()",
    ".square()",
    ".atan()",
    ".erf()",
    ".exp()",
    ".clamp(-0.4, c(0.6))",
    ".clamp(min=-0.3)",
    ".sub(c(0.0123)).sign()",
    ".mul(c(1.37)).floor()",
    ".mul(c(1.37)).round()",
    " ** 2",
    " ** 3",
    " ** 0",
    ".abs().add(0.5).sqrt()",
    ".abs().add(0.5).log()",
    ".abs().add(0.5).reciprocal()",
    ".abs().add(0.7) ** c(1.3)",
    ".double()",
    ".clone()",
    ".contiguous()",
    ".detach()",
    ".nan_to_num()",
)
BINARY = ("+", "-", "*")
METHODS = ("add", "sub", "mul", "maximum", "minimum", "hypot", "fmax")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
# A product and a norm come last: their second derivatives depend on other values, or are not a number.
REDUCTIONS = ("sum", "mean", "amax", "amin", "logsumexp", "prod")
WHOLE = (".sum()", ".mean()", ".max()", ".min()", ".amax()", ".std()", ".var()", ".any()", ".all()", ".norm()", ".prod()")
ALONG = ("softmax", "log_softmax", "cumsum", "argmax", "argmin")


def unary(writer: Writer) -> str | None:
    name = writer.tensor() if writer.happens(8) else writer.floating()
    return None if name is None else f"{name}{writer.pick(UNARY)}"


def binary(writer: Writer) -> str | None:
    name = writer.tensor()
    if name is None:
        return None
    other = writer.fitting(name)
    kind = writer.integer(0, 9)
    if kind == 0:
        return f"{name} / ({other} ** 2 + 1)"
    if kind == 1:
        return f"t.where({condition(writer, name)}, {name}, {other})"
    if kind == 2 and other[0] in "wx":
        return f"{name}.{writer.pick(METHODS)}({other})"
    if kind == 3 and other[0] in "wx":
        return f"t.lerp({name}, {other}, c(0.3))"
    if kind == 4 and other[0] in "wx":
        return f"{name}.add({other}, alpha=c(0.3))"
    return f"{other} {writer.pick(BINARY)} {name}" if writer.happens(3) else f"{name} {writer.pick(BINARY)} {other}"


def condition(writer: Writer, name: str) -> str:
    other = f"{writer.fitting(name)} + c(0.0123)" if writer.happens(2) else "c(0.1234)"
    return f"({name} {writer.pick(COMPARISONS)} {other})"


def comparison(writer: Writer) -> str | None:
    name = writer.tensor()
    return None if name is None else condition(writer, name)


def logical(writer: Writer) -> str | None:
    name = writer.tensor(lambda tensor: not is_floating(tensor))
    if name is None:
        return None
    if writer.happens(3):
        return f"~{name}"
    other = writer.tensor(lambda tensor: not is_floating(tensor))
    return f"{name} {writer.pick('&|^')} {other}"


def axis(writer: Writer, name: str, inserted: int = 0) -> int:
    """Return an axis of a tensor, from either end, rarely one that it does not have."""
    ndim = writer.of(name).ndim + inserted
    if ndim == 0 or (writer.happens(200) and writer.of(name)._base is None):
        return writer.integer(-2, 2) if writer.of(name)._base is None else 0
    return writer.integer(-ndim, ndim - 1)


def reduction(writer: Writer) -> str | None:
    name = writer.floating() if writer.integer(0, 4) else writer.tensor()
    if name is None:
        return None
    kind = writer.integer(0, 5)
    if kind == 0:
        return f"{name}{writer.pick(WHOLE[:-2] if writer.graphs else WHOLE)}"
    if kind == 1:
        return f"{name}.{writer.pick(ALONG if is_floating(writer.of(name)) else ALONG[2:3])}({axis(writer, name)})"
    if kind == 2:
        return f"{name}.{writer.pick(('max', 'min'))}({axis(writer, name)}, keepdim={writer.happens(2)})[0]"
    keep = f", keepdim={writer.happens(2)}"
    return f"{name}.{writer.pick(REDUCTIONS[:-1] if writer.graphs else REDUCTIONS)}({axis(writer, name)}{keep})"


def matrix_product(writer: Writer) -> str | None:
    name = writer.tensor(lambda tensor: tensor.ndim >= 1 and is_floating(tensor))
    if name is None:
        return None
    dtype, length = writer.of(name).dtype, writer.of(name).shape[-1]
    other = writer.tensor(lambda tensor: tensor.ndim >= 1 and tensor.dtype is dtype and tensor.shape[max(tensor.ndim - 2, 0)] == length)
    return None if other is None else f"{name} @ {other}"


def view(writer: Writer, name: str) -> str:
    """Return a view of a tensor, as an expression."""
    tensor = writer.of(name)
    shape = tuple(tensor.shape)
    kind = writer.integer(0, 14)
    if kind == 0:
        return f"{name}.view(-1)" if writer.happens(2) else f"{name}.reshape({_other_shape(writer, shape)})"
    if kind == 1:
        order = list(range(len(shape)))
        writer.chance.shuffle(order)
        return f"{name}.permute({tuple(order)})"
    if kind == 2:
        return f"{name}.transpose({axis(writer, name)}, {axis(writer, name)})"
    if kind == 3:
        return f"{name}.{'T' if len(shape) == 2 else 'detach()'}"
    if kind == 4:
        return f"{name}.unsqueeze({axis(writer, name, 1)})"
    if kind == 5:
        return f"{name}.squeeze({axis(writer, name) if writer.happens(2) else ''})"
    if kind == 6:
        lengths = [writer.integer(2, 3) if length == 1 else -1 for length in shape]
        front = [2] if writer.happens(3) else []
        return f"{name}.expand({tuple(front + lengths)})"
    if kind == 7 and shape and 0 not in shape:
        at = axis(writer, name)
        return f"{name}.select({at}, {writer.integer(0, max(shape[at % len(shape)] - 1, 0))})"
    if kind == 8 and len(shape) >= 2:
        return f"{name}.diagonal({writer.integer(-1, 1)}, {axis(writer, name)}, {axis(writer, name)})"
    if kind == 9:
        return f"{name}.{writer.pick(('detach()', 'data', 'flatten()', 'view_as(' + name + ')'))}"
    if kind == 10 and shape:
        return f"{name}.{writer.pick(('unbind', 'split', 'chunk'))}({1 if shape else ''})[0]"
    return f"{name}[{brackets(writer, shape)}]"


def _other_shape(writer: Writer, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return another shape of as many elements."""
    kind = writer.integer(0, 3)
    if kind == 0 or 0 in shape:
        return (*shape[::-1],)
    if kind == 1:
        return (1, *shape)
    return (*shape[:-1], -1, 1) if kind == 2 and shape else (-1,)


def brackets(writer: Writer, shape: tuple[int, ...]) -> str:
    """Return an index without tensors: its result is a view."""
    entries = []
    for length in shape[: writer.integer(0, len(shape))]:
        kind = writer.integer(0, 5)
        if kind == 0 and length:
            entries.append(str(writer.integer(-length, length - 1)))
        elif kind == 1:
            entries.append(f"::{writer.integer(1, 2)}")
        elif kind == 2:
            entries.append(f"{writer.integer(-3, 2)}:")
        elif kind == 3:
            entries.append(f":{writer.integer(-2, 3)}")
        elif kind == 4:
            entries.append(f"{writer.integer(0, 1)}:{writer.integer(1, 3)}")
        else:
            entries.append(":")
    if writer.happens(4):
        entries.insert(writer.integer(0, len(entries)), "None")
    elif writer.happens(4):
        entries.append("...")
    return ", ".join(entries) or "..."


def picking(writer: Writer, name: str) -> str | None:
    """Return an index with a tensor in it: what it reads is a copy."""
    shape = tuple(writer.of(name).shape)
    kind = writer.integer(0, 5)
    if kind == 0 or not shape:
        return f"{name} > c(0.1234)"
    mask = writer.tensor(lambda tensor: is_mask(tensor) and tensor is not writer.of(name))
    if kind == 1 and mask is not None:
        return mask
    if 0 in shape:
        return None
    positions = [writer.integer(-shape[0], shape[0] - 1) for _ in range(writer.integer(1, 4))]
    if kind == 2:
        return str(positions)
    if kind == 3 and len(shape) > 1:
        others = [writer.integer(0, shape[1] - 1) for _ in positions]
        return f"{positions}, {others}"
    if kind == 4 and len(shape) > 1:
        others = [writer.integer(0, shape[1] - 1) for _ in positions]
        return f":, t.tensor({others})"
    return f"t.tensor({positions})"


def is_mask(tensor: Any) -> bool:
    """Whether a tensor can index as a mask."""
    return str(tensor.dtype).endswith("bool") and tensor.ndim > 0


def any_view(writer: Writer) -> str | None:
    name = writer.tensor()
    return None if name is None else view(writer, name)


def copying(writer: Writer) -> str | None:
    name = writer.tensor()
    if name is None:
        return None
    kind = writer.integer(0, 7)
    if kind == 0:
        return f"{name}.flip({axis(writer, name)})"
    if kind == 1 and writer.of(name).ndim:
        return f"{name}.roll(1, {axis(writer, name)})"
    if kind == 2:
        return f"{name}.repeat({(2,) * max(writer.of(name).ndim, 1)})"
    if kind == 3:
        return f"{name}.tril()"
    if kind in (4, 5):
        shape, dtype = writer.of(name).shape, writer.of(name).dtype
        other = writer.tensor(lambda tensor: tensor.shape == shape and (tensor.dtype is dtype or writer.happens(5)))
        return f"t.{writer.pick(('cat', 'stack'))}([{name}, {other or name}], {axis(writer, name)})"
    if kind == 6 and 0 not in writer.of(name).shape:
        return f"{name}.index_select({axis(writer, name)}, t.tensor([0]))"
    found = picking(writer, name)
    return None if found is None else f"{name}[{found}]"


def making(writer: Writer) -> str:
    shape = writer.shape()
    kind = writer.integer(0, 7)
    dtype = "float32" if writer.singles and writer.happens(2) else "float64"
    if kind == 0:
        return f"t.arange({writer.integer(0, 5)})"
    if kind == 1:
        return f"t.tensor(values({writer.seed()}, {shape}) > 0)"
    if kind == 2:
        return f"(t.tensor(values({writer.seed()}, {shape})) * 3).long()"
    if kind == 3:
        return f"t.ones({shape}, dtype=t.{dtype}, requires_grad={writer.happens(2)})"
    if kind == 4:
        return f"t.full({shape}, c(0.25), dtype=t.{dtype})"
    return f"t.tensor(values({writer.seed()}, {shape}), dtype=t.{dtype}, requires_grad={writer.happens(2)})"


def casting(writer: Writer) -> str | None:
    name = writer.tensor()
    if name is None:
        return None
    if is_floating(writer.of(name)) and writer.happens(3):
        return f"({name} * c(1.37) + 0.011).long()"
    kinds = ("double()", "to(t.float64)", "type_as(w0)")
    return f"{name}.{writer.pick((*kinds, 'float()', 'to(t.float32)') if writer.singles else kinds)}"


EXPRESSIONS = (
    *[unary] * 7,
    *[binary] * 8,
    comparison,
    logical,
    *[reduction] * 4,
    *[matrix_product] * 2,
    *[any_view] * 9,
    *[copying] * 3,
    making,
    casting,
    *MORE,
)


def expression(writer: Writer) -> str | None:
    found: str | None = writer.pick(EXPRESSIONS)(writer)
    return found
