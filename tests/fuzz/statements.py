"""The statements that random programs are made of.

A production returns a statement for what the writer has, or None where nothing fits. `PRODUCTIONS`, at the end, has all of
them with their weights.
"""

from __future__ import annotations

from typing import Any

from .expressions import brackets, expression, picking, view
from .operations import NUMBERS_0D
from .running import is_leaf
from .writing import ARRAYS, LEAVES, Production, Writer, is_floating, is_free

IN_PLACE_UNARY = ("sin_", "tanh_", "neg_", "zero_", "sigmoid_", "relu_", "abs_", "square_", "cos_")
IN_PLACE_BINARY = ("add_", "sub_", "mul_", "copy_", "clamp_min_")


def assign(writer: Writer) -> str | None:
    found = expression(writer)
    return None if found is None else f"{writer.target()} = {found}"


def assign_without_grad(writer: Writer) -> str | None:
    found = assign(writer)
    is_product = found is not None and " @ " in found  # which PyTorch may fold, and give a view of
    return None if found is None or is_product else f"with t.no_grad(): {found}"


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
    kind = writer.integer(0, 8)
    if not is_floating(writer.of(name)):
        return f"{target}.fill_({writer.integer(0, 3)})"
    if kind == 7:
        return f"{target}.masked_fill_({target} > c(0.0519), c(0.2))"
    if kind == 8:
        return f"{target}.{writer.pick(('mul_', 'add_', 'sub_', 'clamp_max_'))}({writer.pick(NUMBERS_0D)})"
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
        cut_off = writer.tensors(lambda tensor: tensor._takes_no_gradient)
        wanted = writer.tensor(lambda tensor: is_free(tensor) or (not cut_off and is_product(tensor))) or name
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


def loop(writer: Writer) -> str | None:
    """Return a statement that runs a few times."""
    statement = writer.pick((assign, assign, in_place, backward))(writer)
    return None if statement is None or "with" in statement else f"for _ in range({writer.integer(2, 3)}): {statement}"


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


def repeats(tensor: Any) -> bool:
    """Whether elements of a tensor share memory, in which PyTorch writes and differentiates inconsistently."""
    return any(stride == 0 and length > 1 for stride, length in zip(tensor.stride(), tensor.shape, strict=True))


def is_product(tensor: Any) -> bool:
    """Whether a tensor was made by an operation that is one in PyTorch too."""
    return is_leaf(tensor) is False and type(tensor.grad_fn).__name__ == "MulBackward0"


def tolerance_of(program: list[str]) -> float:
    """Return how far numbers may be apart from another library's, of the largest of them."""
    return 1e-9 if "t.set_default_dtype(t.float64)" in program else 2e-4


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
    (2, loop),
    (2, forget),
    (4, share),
)
