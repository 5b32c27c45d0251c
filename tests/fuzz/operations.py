"""More expressions of random programs: masks, numbers of other dtypes, positions, scans, functions of networks, compiled functions."""

from __future__ import annotations

from .writing import Writer, expands, is_floating

NUMBERS_0D = (
    "t.tensor(2)",
    "t.tensor(True)",
    "t.tensor(c(0.37), dtype=t.float32)",
    "t.tensor(c(-0.7), dtype=t.float64)",
    "t.tensor(-1, dtype=t.int16)",
)
INTEGERS = ("t.int8", "t.int16", "t.int32", "t.int64", "t.bool")
FUNCTIONS = (
    "softplus({0})",
    "gelu({0})",
    "silu({0})",
    "leaky_relu({0}, 0.3)",
    "elu({0})",
    "hardtanh({0}, -0.4, 0.6)",
    "logsigmoid({0})",
    "mse_loss({0}, {1})",
    "smooth_l1_loss({0}, {1}, reduction='sum')",
    "l1_loss({0}, {1}, reduction='none')",
)
COMPILED = (
    "lambda a, b: (a * b).tanh() + a",
    "lambda a, b: ((a - b) ** 2).sum()",
    "lambda a, b: (a.exp() * 0.1 + b).mean(0) if a.ndim else a * b",
    "lambda a, b: a.view(-1)[::2] * 2.0 + b.detach().sum()",
    "lambda a, b: t.where(a > b, a.sin(), b * 0.5).cumsum(0)",
)


def masked(writer: Writer) -> str | None:
    """What a mask chooses."""
    name = writer.floating()
    if name is None:
        return None
    shape = tuple(writer.of(name).shape)
    mask = (
        writer.tensor(lambda tensor: str(tensor.dtype).endswith("bool") and expands(tuple(tensor.shape), shape)) or f"({name} > c(0.0519))"
    )
    kind = writer.integer(0, 4)
    if kind == 0:
        return f"{name}.masked_fill({mask}, {writer.pick(('c(0.2)', '1', 't.tensor(c(0.7))'))})"
    if kind == 1:
        return f"{name}.masked_select({mask}).sum()"  # a shape that depends on data is another in the next round
    if kind == 2:
        return f"t.where({mask}, {name}, {writer.pick(('c(0.3)', '2', *NUMBERS_0D))})"
    if kind == 3:
        return f"t.where({mask}, {writer.pick(('c(0.3)', *NUMBERS_0D))}, {name})"
    return f"{name} * {mask}"


def promoted(writer: Writer) -> str | None:
    """Arithmetic of different dtypes, which a number and a tensor without dimensions change less."""
    name = writer.tensor()
    if name is None:
        return None
    kind = writer.integer(0, 4)
    if kind == 0 and not is_floating(writer.of(name)):
        return f"{name} {writer.pick(('// 2', '% 3', '/ 4', '* c(0.5)', '+ True', '- 3', '** 2'))}"
    if kind == 1:
        return f"{writer.pick(NUMBERS_0D)} {writer.pick('+*')} {name}"
    if kind == 2:
        whole = f"({name} * 3).abs()" if is_floating(writer.of(name)) else f"{name}"
        return f"{whole}.to({writer.pick(INTEGERS)})"
    if kind == 3:
        return f"t.{writer.pick(('maximum', 'minimum', 'add', 'mul'))}({name}, {writer.pick(NUMBERS_0D)})"
    return f"{name} {writer.pick('+*')} {writer.pick(NUMBERS_0D)}"


def positions(writer: Writer) -> str | None:
    """Reading and adding at positions along an axis."""
    name = writer.tensor(lambda tensor: is_floating(tensor) and tensor.ndim > 0 and tensor.numel() > 0)
    if name is None:
        return None
    shape = tuple(writer.of(name).shape)
    axis = writer.integer(0, len(shape) - 1)
    picked = [writer.integer(0, shape[axis] - 1) for _ in range(writer.integer(1, 4))]
    index = f"t.tensor({picked})"
    whole = f"t.arange({writer.of(name).numel()}).view({shape}) % {shape[axis]}"
    kind = writer.integer(0, 7)
    if kind == 0:
        return f"{name}.index_select({axis}, {index})"
    if kind == 1:
        return f"{name}.gather({axis}, {whole})"
    if kind == 2:
        return f"{name}.scatter_add({axis}, {whole}, {name} * c(0.4))"
    if kind == 3:
        return f"{name}.index_add({axis}, {index}, {name}.index_select({axis}, {index}))"
    if kind == 4:
        return f"{name}.scatter({axis}, {whole}, c(0.6))" if axis == 0 and len(shape) == 1 else f"{name}.take({index})"
    if kind == 5:
        return f"{name}.index_fill({axis}, {index}, c(0.1))"
    if kind == 6:
        return f"{name}.index_select({axis}, {index}).sum({axis})"
    return f"{name}.sort({axis})[0]" if writer.happens(2) else f"{name}.topk(1, {axis})[0]"


def scanned(writer: Writer) -> str | None:
    """What goes along an axis."""
    name = writer.tensor(lambda tensor: is_floating(tensor) and tensor.ndim > 0 and tensor.numel() > 0)
    if name is None:
        return None
    axis = writer.integer(-writer.of(name).ndim, writer.of(name).ndim - 1)
    kinds = ("cumsum({})", "cumprod({})", "logcumsumexp({})", "cummax({})[0]", "cummin({})[0]", "var({}, unbiased=False)", "diff(dim={})")
    kinds += ("softmax({})", "log_softmax({})", "nansum({})", "norm(2, {})", "flip({})", "median({})[0]", "aminmax(dim={})[1]")
    return f"{name}.{writer.pick(kinds[:-5] if writer.graphs else kinds).format(axis)}"


def function(writer: Writer) -> str | None:
    """A function of networks."""
    name = writer.floating()
    if name is None:
        return None
    tensor = writer.of(name)
    other = writer.tensor(lambda other: other.shape == tensor.shape and other.dtype is tensor.dtype)
    kind = writer.integer(0, 3)
    if kind == 0 and tensor.ndim:
        return f"t.nn.functional.layer_norm({name}, ({tensor.shape[-1]},))" if tensor.shape[-1] > 2 else None
    if kind == 1 and tensor.ndim:
        return f"t.nn.functional.pad({name}, (1, {writer.integer(-1, 2)}), value=c(0.4))" if tensor.shape[-1] > 1 else None
    return f"t.nn.functional.{writer.pick(FUNCTIONS).format(name, other or name)}"


def repeated(writer: Writer) -> str | None:
    """A call of a function that is compiled, the same text as before or another."""
    name = writer.floating()
    if name is None:
        return None
    tensor = writer.of(name)
    other = writer.tensor(lambda other: other.shape == tensor.shape and other.dtype is tensor.dtype) or name
    return f"compiled({writer.pick(COMPILED)!r})({name}, {other})"


MORE = (*[masked] * 3, *[promoted] * 2, *[positions] * 3, *[scanned] * 2, *[function] * 2, repeated)
