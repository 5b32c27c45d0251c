"""Kernels of matrix products: BLAS through the address of its `gemm`, and loops where that would take longer.

What a kernel is split by is the batch: all dimensions of the result but the last two, over which each operand has strides. In
a loop the rows of the left matrices belong to the batch, and a large product is a batch of blocks of its rows or columns.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..tape.types import Shape
from . import blas
from .executor import SMALL
from .memory import HEAD, SIZES, Input, Memory, Written

_SMALL = 64  # multiplications: BLAS takes longer to be called than so many take in a loop
_FEW = 4096  # multiplications that take less time in a loop than NumPy takes to be called
_CHUNK = 1 << 18  # multiplications that one call of a kernel does, at least
_MOST_CHUNKS = 64
_NARROWEST = 32  # rows or columns of a block, at least: the other operand is packed anew for each,
_WIDE = 128  # which takes little time beside so many
# OpenBLAS takes up to twice as long for a product of fewer multiplications than these where the right matrix alone is turned.
_TURNED = 1_000_000
_TURNED_ROWS = 16  # rows and columns of the result, at least: below that it does not


class Matrices(NamedTuple):
    """An operand as matrices: the strides over the batch, and those over rows and columns."""

    slot: int
    batch: Shape
    row: int
    column: int


class Product(NamedTuple):
    """A batch of (m, k) matrices times one of (k, n) matrices."""

    kind: str
    batch: Shape
    m: int
    n: int
    k: int
    a: Matrices
    b: Matrices


def lower_product(node: Any, operands: list[Any]) -> Written | None:
    """Return the kernel of a matrix product, or None."""
    first, second = operands
    if first.__class__ is not Input or second.__class__ is not Input:
        return None
    if first.kind != second.kind or first.kind not in ("f4", "f8"):
        return None
    shapes = [operand.type.shape for operand in node.operands]
    *batch, m, n = node.type.shape
    a, b = [_matrices(operand, shape, len(batch)) for operand, shape in zip(operands, shapes, strict=True)]
    name = node.primitive.name
    k = shapes[0][-2 if name == "matmul_tn" else -1]
    if not node.type.numel or not k:
        return None
    a, b = _turned(a) if name == "matmul_tn" else a, _turned(b) if name == "matmul_nt" else b
    return write_product(Product(first.kind, tuple(batch), m, n, k, a, b), node.slot)


def _matrices(operand: Input, shape: Shape, batch_ndim: int) -> Matrices:
    """Return an operand as matrices in a batch of so many dimensions."""
    *strides, row, column = operand.strides
    lead = [0 if length == 1 else stride for length, stride in zip(shape[:-2], strides, strict=True)]
    return Matrices(operand.slot, (*[0] * (batch_ndim - len(lead)), *lead), row, column)


def _turned(matrices: Matrices) -> Matrices:
    return matrices._replace(row=matrices.column, column=matrices.row)


def write_product(product: Product, result: int) -> Written | None:
    """Return the kernel that puts a product into the contiguous result of this slot, or None."""
    product = _with_rows_together(_with_batch_merged(product))
    size = product.m * product.n * product.k
    if size > _SMALL and 1 not in (product.m, product.n, product.k):
        by_blas = _by_blas(product, result)
        if by_blas is not None or size > _FEW:
            return by_blas
    return _loop(product, result)


def _with_batch_merged(product: Product) -> Product:
    """Join dimensions of the batch that both operands go through evenly, and leave out those of length 1."""
    batch: list[int] = []
    strides: list[tuple[int, int]] = []
    for length, of_a, of_b in zip(product.batch, product.a.batch, product.b.batch, strict=True):
        if length == 1:
            continue
        if batch and strides[-1] == (of_a * length, of_b * length):
            batch[-1] *= length
            strides[-1] = (of_a, of_b)
        else:
            batch.append(length)
            strides.append((of_a, of_b))
    a, b = [matrices._replace(batch=tuple([s[side] for s in strides])) for side, matrices in enumerate((product.a, product.b))]
    return product._replace(batch=tuple(batch), a=a, b=b)


def _with_rows_together(product: Product) -> Product:
    """Make one product of many, where the rows of the left matrices follow each other and the right matrix is the same."""
    a, b = product.a, product.b
    if not product.batch or b.batch[-1] != 0 or (product.m > 1 and a.batch[-1] != product.m * a.row):
        return product
    row = a.row if product.m > 1 else a.batch[-1]
    a, b = a._replace(batch=a.batch[:-1], row=row), b._replace(batch=b.batch[:-1])
    return product._replace(batch=product.batch[:-1], m=product.m * product.batch[-1], a=a, b=b)


class _Kernel:
    """The text and words of a kernel over a batch."""

    def __init__(self, product: Product, result: int) -> None:
        self.product = product
        self.words: list[Memory] = []
        self.head: list[str] = []
        self.place: list[str] = []
        self.size = SIZES[product.kind]
        if len(product.batch) > 1:
            self.place += ["rest = place"]
            for axis in range(len(product.batch) - 1, 0, -1):
                self.word(f"l{axis}", "word", product.batch[axis])
                self.place += [f"p{axis} = rest % l{axis}", f"rest = rest // l{axis}"]
            self.place += ["p0 = rest"]
        elif product.batch:
            self.place += ["p0 = place"]
        count = math.prod(product.batch)
        self.step = min(max(-(-_CHUNK // (product.m * product.n * product.k)), -(-count // _MOST_CHUNKS)), count)
        self._matrix("a", product.a)
        self._matrix("b", product.b)
        self.word("to", "cell", result)
        for name in ("m", "n", "k"):
            self.word(name, "word", getattr(product, name))

    def word(self, name: str, what: str, value: Any) -> None:
        """Let a name stand for a word of the arguments."""
        self.head.append(f"{name} = word(args + {8 * len(self.words)})")
        self.words.append(Memory(what, value))

    def _matrix(self, name: str, matrices: Matrices) -> None:
        self.word(f"cell_{name}", "cell", matrices.slot)
        terms = [f"word(cell_{name})"]
        for axis, stride in enumerate(matrices.batch):
            if stride:
                self.word(f"{name}{axis}", "word", stride * self.size)
                terms.append(f"p{axis} * {name}{axis}")
        self.place.append(f"{name} = {' + '.join(terms)}")

    def turn(self, name: str, rows: str, most: int) -> str:
        """Return the line that copies a matrix of so many rows as its transpose: to `turned`, which each chunk has of its own."""
        size = most * self.product.k * self.size
        self.word("turned", "scratch", size)
        self.word("turned_bytes", "word", size)
        self.word("step", "word", self.step)
        self.head.append("turned += lo // step * turned_bytes")
        return f"turn_{self.product.kind}({name}, from_{name}, turned, {rows}, k)"

    def write(self, body: list[str]) -> Written:
        """Return the kernel that does this for each place in the batch."""
        product = self.product
        count = math.prod(product.batch)
        loop = ["for place in range(lo, hi):", *[f"    {line}" for line in (*self.place, *body)]]
        lines = [*self.head, *loop, "return 0"]
        text = "def kernel(args, lo, hi):\n" + "".join([f"    {line}\n" for line in lines])
        return Written(f"{HEAD}\n\n{text}", self.words, count, self.step, [])


def _by_blas(product: Product, result: int) -> Written | None:
    routine = blas.gemm(product.kind)
    of_a, of_b = _order(product.m, product.k, product.a), _order(product.k, product.n, product.b)
    if routine is None or of_a is None or of_b is None:
        return None
    blocks = _in_blocks(product)
    kernel = _Kernel(blocks, result)
    kernel.word("gemm", "word", routine.address)
    for name, (turn, distance) in (("a", of_a), ("b", of_b)):
        kernel.word(f"turn_{name}", "word", turn)
        kernel.word(f"from_{name}", "word", distance)
    m, n, from_c, c = "m", "n", "n", "place * (m * n"
    if blocks.m < product.m:
        kernel.word("rows", "word", product.m)
        m = "least(m, rows - place * m)"
    elif blocks.n < product.n:
        kernel.word("columns", "word", product.n)
        n, from_c, c = "least(n, columns - place * n)", "columns", "place * (n"
    to = f"word(to) + {c} * {kernel.size})"
    turning: list[str] = []
    a, b = "a, turn_a, from_a", "b, turn_b, from_b"
    if _is_slow(blocks, of_a, of_b) and blocks.n <= blocks.m:
        turning.append(kernel.turn("b", n, blocks.n))
        b = f"turned, 0, {n}"
    elif _is_slow(blocks, of_a, of_b):
        turning.append(kernel.turn("a", m, blocks.m))
        a = f"turned, 1, {m}"
    written = kernel.write([*turning, f"{routine.caller}(gemm, {m}, {n}, k, {a}, {b}, 0, {to}, {from_c})"])
    written.is_alone = blas.is_large(blocks.m * blocks.n * blocks.k)
    return written


def _is_slow(product: Product, of_a: tuple[int, int], of_b: tuple[int, int]) -> bool:
    """Whether it pays to turn one of the matrices before BLAS multiplies them."""
    is_small = product.m * product.n * product.k < _TURNED and min(product.m, product.n) >= _TURNED_ROWS
    return is_small and not of_a[0] and of_b[0] == 1


def _in_blocks(product: Product) -> Product:
    """Return a large product as a batch of blocks of its rows or columns (the last may be smaller), if helpers can share them."""
    longest = max(product.m, product.n)
    wide = max(longest // _WIDE, SMALL + 1)
    count = min(wide, longest // _NARROWEST, product.m * product.n * product.k // _CHUNK, _MOST_CHUNKS)
    if product.batch or count <= SMALL or not blas.guard():
        return product
    length = -(-longest // count)
    count = -(-longest // length)
    a, b = product.a, product.b
    if product.m == longest:
        a, b = a._replace(batch=(length * a.row,)), b._replace(batch=(0,))
        return product._replace(batch=(count,), m=length, a=a, b=b)
    a, b = a._replace(batch=(0,)), b._replace(batch=(length * b.column,))
    return product._replace(batch=(count,), n=length, a=a, b=b)


def _order(rows: int, columns: int, matrix: Matrices) -> tuple[int, int] | None:
    """Return whether a matrix lies column by column, and from where to where one goes to the next; None if BLAS cannot read it."""
    if (matrix.column == 1 or columns == 1) and (matrix.row >= columns or rows == 1):
        return 0, max(matrix.row, columns)
    if (matrix.row == 1 or rows == 1) and (matrix.column >= rows or columns == 1):
        return 1, max(matrix.column, rows)
    return None


def _loop(product: Product, result: int) -> Written:
    """Return a loop over the rows of the result: sums of products where columns of b are contiguous, of its rows otherwise."""
    if product.n == 1:  # the row that is the result's transpose
        product = product._replace(m=1, n=product.m, a=_turned(product.b), b=_turned(product.a))
    a, b = product.a, product.b
    rows = _with_batch_merged(
        product._replace(
            batch=(*product.batch, product.m),
            m=1,
            a=a._replace(batch=(*a.batch, a.row)),
            b=b._replace(batch=(*b.batch, 0)),
        )
    )
    kernel = _Kernel(rows, result)
    kind = product.kind
    at_a = _element(kernel, "a", "p", a.column)
    pointers = [f"{name}_{kind} = pointer_{kind}({name})" for name in ("a", "b")]
    pointers.append(f"c_{kind} = pointer_{kind}(word(to) + place * (n * {kernel.size}))")
    if b.row == 1 and b.column != 1:
        kernel.word("column_b", "word", b.column)
        body = [
            "for j in range(n):",
            f"    total = {kind}(0)",
            "    for p in range(k):",
            f"        total = add_in_any_order(total, a_{kind}[{at_a}] * b_{kind}[j * column_b + p])",
            f"    c_{kind}[j] = total",
        ]
    else:
        kernel.word("row_b", "word", b.row)
        at_b = _element(kernel, "b", "j", b.column)
        body = [
            f"x = a_{kind}[0]",
            "for j in range(n):",
            f"    c_{kind}[j] = x * b_{kind}[{at_b}]",
            "for p in range(1, k):",
            f"    x = a_{kind}[{at_a}]",
            "    for j in range(n):",
            f"        c_{kind}[j] += x * b_{kind}[p * row_b + {at_b}]",
        ]
    return kernel.write([*pointers, *body])


def _element(kernel: _Kernel, name: str, counter: str, stride: int) -> str:
    """Return the code of an element's place."""
    if stride == 1:
        return counter
    kernel.word(f"column_{name}", "word", stride)
    return f"{counter} * column_{name}"
