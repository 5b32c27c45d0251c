"""The statements that random programs are made of.

A production returns a statement for what the writer has, or None where nothing fits. The functions of the first part
return expressions; `PRODUCTIONS`, at the end, has all statements with their weights.
"""

from __future__ import annotations

from typing import Any

from .running import is_leaf
from .writing import ARRAYS, LEAVES, Production, Writer, is_floating, is_free

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
# A product comes last: what its second derivatives depend on differs.
REDUCTIONS = ("sum", "mean", "amax", "amin", "logsumexp", "prod")
WHOLE = (".sum()", ".mean()", ".max()", ".min()", ".amax()", ".std()", ".var()", ".norm()", ".any()", ".all()", ".prod()")
ALONG = ("softmax", "log_softmax", "cumsum", "argmax", "argmin")
IN_PLACE_UNARY = ("sin_", "tanh_", "neg_", "zero_", "sigmoid_", "relu_", "abs_", "square_", "cos_")
IN_PLACE_BINARY = ("add_", "sub_", "mul_", "copy_", "clamp_min_")


# Expressions


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
    if ndim == 0 or writer.happens(200):
        return writer.integer(-2, 2)
    return writer.integer(-ndim, ndim - 1)


def reduction(writer: Writer) -> str | None:
    name = writer.floating() if writer.integer(0, 4) else writer.tensor()
    if name is None:
        return None
    kind = writer.integer(0, 5)
    if kind == 0:
        return f"{name}{writer.pick(WHOLE[:-1] if writer.graphs else WHOLE)}"
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
    mask = writer.tensor(lambda tensor: not is_floating(tensor) and str(tensor.dtype).endswith("bool") and tensor.ndim > 0)
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
    if kind == 1:
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
)


def expression(writer: Writer) -> str | None:
    found: str | None = writer.pick(EXPRESSIONS)(writer)
    return found


# Statements


def assign(writer: Writer) -> str | None:
    found = expression(writer)
    return None if found is None else f"{writer.target()} = {found}"


def assign_without_grad(writer: Writer) -> str | None:
    found = assign(writer)
    return None if found is None else f"with t.no_grad(): {found}"


def place(writer: Writer) -> str | None:
    """Return something to write to: a tensor, or a view of it; mostly not a leaf that requires grad."""
    anything = writer.happens(10)
    name = writer.tensor(lambda tensor: (anything or not is_free(tensor)) and not repeats(tensor))
    if name is None:
        return None
    settle(writer, name)
    part = view(writer, name)
    return name if writer.happens(2) or ".expand(" in part else part


def settle(writer: Writer, name: str) -> None:
    """Let PyTorch see that a view's base was given a history: else it takes the view for a leaf when it is written to."""
    if writer.of(name)._base is not None:
        writer.emit(f"{name}.is_leaf")


def in_place(writer: Writer) -> str | None:
    target = place(writer)
    if target is None:
        return None
    name = target.split(".")[0].split("[")[0]
    kind = writer.integer(0, 6)
    if not is_floating(writer.of(name)):
        return f"{target}.fill_({writer.integer(0, 3)})"
    if kind <= 1:
        return f"{target}.{writer.pick(IN_PLACE_UNARY)}()"
    if kind == 2:
        return f"{target}.{writer.pick(('mul_', 'add_', 'fill_', 'sub_', 'div_'))}({writer.number()})"
    if kind == 3:
        return f"{name} {writer.pick(('+=', '-=', '*='))} {writer.filling(name, tuple(writer.of(name).shape))}"
    if kind == 4:
        return f"{name}.addcmul_({writer.like(name)}, {writer.like(name)}, value=c(0.2))"
    return f"{target}.{writer.pick(IN_PLACE_BINARY)}({writer.filling(name, tuple(writer.of(name).shape))})"


def set_item(writer: Writer) -> str | None:
    name = writer.tensor(lambda tensor: not is_free(tensor) and not repeats(tensor))
    if name is None:
        return None
    settle(writer, name)
    shape = tuple(writer.of(name).shape)
    is_view = writer.integer(0, 2) or not shape or not writer.of(name).is_contiguous()
    index = brackets(writer, shape) if is_view else picking(writer, name)
    if index is None:
        return None
    operator = "=" if writer.of(name)._base is not None else writer.pick(("=", "=", "=", "+=", "*="))
    value = writer.number() if writer.happens(2) or not is_floating(writer.of(name)) else writer.filling(name, shape[1:])
    return f"{name}[{index}] {operator} {value}"


def update_without_grad(writer: Writer) -> str | None:
    statement = in_place(writer) if writer.happens(2) else _step(writer)
    return None if statement is None else f"with t.no_grad(): {statement}"


def _step(writer: Writer) -> str | None:
    """Return an update of a leaf, as optimizers do it."""
    name = writer.leaf()
    if name is None or writer.of(name).grad is None:
        return None
    return writer.pick(
        (
            f"{name}.sub_({name}.grad, alpha=c(0.1))",
            f"{name} -= 0.1 * {name}.grad",
            f"{name}.mul_(c(0.9))",
            f"{name}.copy_({name}.sin())",
            f"{name}[...] = {name} * 0.5",
            f"{name}.addcmul_({name}.grad, {name}, value=-0.1)",
        )
    )


def write_data(writer: Writer) -> str | None:
    name = writer.tensor(lambda tensor: not tensor._made_without_grad)
    if name is None:
        return None
    is_alone = not writer.of(name)._views and writer.of(name)._alias_of is None
    return writer.pick(
        (
            f"{name}.data.mul_(c(0.7))",
            f"{name}.detach().mul_(c(0.8))",
            f"{name}.data = {name}.data * 0.5" if is_alone else f"{name}.data.neg_()",
            f"{name}.detach()[...] = c(0.2)",
            f"{name}.data.copy_({name}.detach().sin())",
        )
    )


def backward(writer: Writer) -> str | None:
    name = writer.tensor(lambda tensor: tensor.requires_grad and is_leaf(tensor) is False) or writer.tensor()
    if name is None:
        return None
    options = writer.keeping()
    comma = ", " if options else ""
    kind = writer.integer(0, 5)
    if kind == 0:
        return f"{name}.backward({options})"
    if kind == 1:
        return f"{name}.backward(t.ones_like({name}){comma}{options})"
    if kind == 2:
        return f"{name}.backward({name}.detach().clone(){comma}{options})"
    if kind == 3:
        return f"t.autograd.backward([{name}.sum(), ({writer.differentiable()} * 0.3).sum()]{comma}{options})"
    if kind == 4:
        wanted = writer.tensor(lambda tensor: is_free(tensor) or is_product(tensor)) or name
        return f"{name}.sum().backward(inputs=[{wanted}]{comma}{options})"
    return f"({name} * c(0.7)).sum().backward({options})"


def gradient(writer: Writer) -> str | None:
    root, first, second = writer.differentiable(), writer.differentiable(), writer.differentiable()
    if root is None:
        return None
    unused = writer.pick(("allow_unused=True", "allow_unused=True", "materialize_grads=True", "allow_unused=None"))
    options = writer.keeping() or "retain_graph=False"
    inputs = f"[{first}, {second}]" if writer.happens(2) else first
    scaled = f"({root} * c(0.6)).sum()" if writer.happens(2) else f"{root}.sum()"
    place = 0 if inputs == first else -1
    return f"{writer.target()} = t.autograd.grad({scaled}, {inputs}, {unused}, {options})[{place}].contiguous().clone()"


def gradient_with_cotangent(writer: Writer) -> str | None:
    root, first = writer.differentiable(), writer.differentiable()
    if root is None:
        return None
    shape, dtype = writer.of(root).shape, writer.of(root).dtype
    cotangent = writer.tensor(lambda tensor: tensor.shape == shape and tensor.dtype is dtype)
    options = "create_graph=True" if writer.graphs and writer.happens(2) else "retain_graph=True"
    if options == "retain_graph=True":
        cotangent = f"{cotangent}.detach()"
    return f"{writer.target()} = t.autograd.grad({root}, {first}, {cotangent}, allow_unused=True, {options})[0].contiguous().clone()"


def use_grad(writer: Writer) -> str | None:
    name = writer.tensor(lambda tensor: tensor.grad is not None)
    if name is None:
        return None
    return writer.pick(
        (
            f"{name}.grad = None",
            f"{name}.grad.zero_()",
            f"{name}.grad.mul_(c(0.5))",
            f"{name}.grad[...] = 0.25",
            f"{writer.target()} = {name}.grad",
            f"{writer.target()} = {name}.grad * {name}",
            f"{writer.target()} = {name}.grad.detach().clone()",
            f"{name}.grad = {name}.detach().clone()",
        )
    )


def change_flags(writer: Writer) -> str | None:
    name = writer.tensor(lambda tensor: tensor._base is None and not writer.has_views(tensor) and not tensor.retains_grad)
    if name is None:
        return None
    return writer.pick(
        (
            f"{name}.requires_grad_()",
            f"{name}.requires_grad_(False)",
            f"{name}.retain_grad()",
            f"{name} = {name}.detach_()" if is_product(writer.of(name)) else f"{name}.requires_grad_()",
            f"{name} = {name}.detach().requires_grad_()",
            f"{name} = {name}.detach().clone().requires_grad_()",
            f"{name}.requires_grad = {writer.happens(2)}",
        )
    )


def grad_mode(writer: Writer) -> str:
    return f"t.set_grad_enabled({writer.integer(0, 3) > 0})"


def read(writer: Writer) -> str | None:
    name = writer.tensor()
    if name is None:
        return None
    return writer.pick(
        (
            f"seen.append({name}.tolist())",
            f"seen.append({name}.sum().item())",
            f"seen.append(float({name}.mean()))",
            f"seen.append([{name}.requires_grad, {name}.is_leaf, {name}.retains_grad])",
            f"seen.append(bool(({name} > c(0.1234)).any()))",
            f"seen.append({name}.grad)",
            f"seen.append([{name}.is_contiguous(), {name}.storage_offset()])",
            f"seen.append({name}.item())",
        )
    )


def branch(writer: Writer) -> str | None:
    name, statement = writer.tensor(), writer.pick((assign, in_place, set_item, backward))(writer)
    if name is None or statement is None:
        return None
    return f"if ({name} > c(0.1234)).any(): {statement}"


def forget(writer: Writer) -> str | None:
    name = writer.tensor()
    return None if name is None or name in LEAVES else f"del {name}"


def share(writer: Writer) -> str | None:
    """Return a statement about an array that shares a tensor's memory."""
    if not writer.outside:
        return None
    array, name = writer.pick(ARRAYS), writer.tensor()
    if array not in writer.names or writer.happens(3):
        if name is None:
            return f"{array} = values({writer.seed()}, {writer.shape()})"
        return writer.pick(
            (
                f"{array} = {name}.detach().numpy()",
                f"{array} = {name}.numpy()",
                f"{array} = values({writer.seed()}, {writer.shape()})",
                f"{array} = np.array({name}.detach())",
                f"{array} = np.asarray({name}.detach())",
            )
        )
    return str(
        writer.pick(
            (
                f"{writer.target()} = t.from_numpy({array})",
                f"{writer.target()} = t.as_tensor({array})",
                f"{writer.target()} = t.tensor({array})",
                f"{array}[...] = c(0.3)",
                f"{array}[...] = np.sin({array})",
                f"{array} *= c(0.6)",
                f"{array}[0] = 1",
                f"{array} = {array}[::2]",
                f"{array} = {array}.T",
                f"seen.append({array}.sum())",
                f"del {array}",
            )
        )
    )


PRODUCTIONS: tuple[tuple[int, Production], ...] = (
    (40, assign),
    (2, assign_without_grad),
    (12, in_place),
    (5, set_item),
    (3, update_without_grad),
    (1, write_data),
    (5, backward),
    (3, gradient),
    (2, gradient_with_cotangent),
    (3, use_grad),
    (3, change_flags),
    (1, grad_mode),
    (4, read),
    (2, branch),
    (2, forget),
    (4, share),
)


def repeats(tensor: Any) -> bool:
    """Whether elements of a tensor share memory, in which PyTorch writes and differentiates inconsistently."""
    return any(stride == 0 and length > 1 for stride, length in zip(tensor.stride(), tensor.shape, strict=True))


def is_product(tensor: Any) -> bool:
    """Whether a tensor was made by an operation that is one in PyTorch too."""
    return is_leaf(tensor) is False and type(tensor.grad_fn).__name__ == "MulBackward0"


def dtype_tolerance(program: list[Any]) -> float:
    """Return how far numbers may be apart from another library's, of the largest of them."""
    return 1e-9 if "t.set_default_dtype(t.float64)" in program else 2e-4
