"""What PyTorch demands of ``out=`` beyond a castable dtype, by function: its own memory, the very dtype of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..tape.checks import check_writable
from .in_place import check_overlap

# Functions that read their arguments while they write: not even the very argument may be `out`.
_ALONE = frozenset("cat gather index_select kthvalue masked_select nonzero scatter scatter_add take topk".split())

# Functions whose `out` has the dtype of the result and no other, by what they say otherwise.
_SAYINGS = {
    "Expected out tensor to have dtype {wanted_c}, but got {found_c} instead": """
        addmm addmv alias_copy aminmax argmax argmin as_strided_copy baddbmm bmm cross diagonal_copy expand_copy gather
        index_add index_copy index_reduce isin linalg_cholesky linalg_cholesky_ex linalg_cross linalg_det linalg_eigh
        linalg_eigvalsh linalg_inv linalg_inv_ex linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_qr
        linalg_slogdet linalg_solve linalg_solve_ex linalg_svd linalg_svdvals linalg_vector_norm log_softmax lu_solve
        lu_unpack max min mm msort norm permute_copy qr renorm scatter scatter_add scatter_reduce slice_scatter softmax sort
        split_with_sizes_copy squeeze_copy svd t_copy take_along_dim topk transpose_copy triangular_solve tril triu
        unbind_copy unfold_copy unsqueeze_copy view_copy
    """,
    "Found dtype {found} but expected {wanted}": """
        abs absolute ceil conj_physical floor frac neg negative round sgn sign trunc
    """,
    "expected scalar_type {wanted} but found {found}": "cummax cummin diff logcumsumexp",
    "result dtype {found} does not match input dtype {wanted}": "dot matmul vdot",
    "{name}(): self and result must have the same scalar type": "index_select masked_select",
    "Expected the dtype for input and out to match, but got {wanted} for input's dtype and {found} for out's dtype.": "amax amin",
    "{name} only supports bool tensor for result, got: {found}": "all any",
    "{name} does not support non-boolean outputs.": "isneginf isposinf signbit",
    "Expected object of scalar type {wanted} but got scalar type {found} for argument 'out'": "complex polar",
    "Expected out type to be {wanted} but got {found}": "where",
    "{name}: Expected out tensor to have scalar type Long but got scalar type{found}": "nonzero",
    "{name}: dtype of out: {found} should be same as input: {wanted}": "nan_to_num",
    "output values must be of same type as input": "kthvalue",
    "expected scalar type '{wanted}' but got '{found}' for values output": "mode",
    "{name}: Expected the output tensor to have dtype {wanted}, but got an output tensor with dtype {found}": "tensordot",
    "{name}(): self and out expected to have the same dtype, but got self.dtype = {wanted} and out.dtype = {found}": "take",
    "{name} expects Long tensor out, got: {found}": "multinomial",
    "quantile() out tensor must be same dtype as the input tensor": "nanquantile quantile",
}
_SAYING = {name: saying for saying, names in _SAYINGS.items() for name in names.split()}
_WITH_INDICES_ONLY = ("max", "min")  # with a dimension they are strict, without they are not

def check_dtype(name: str, wanted: dtypes.dtype, out: dtypes.dtype, *, is_one_of_several: bool) -> None:
    """Raise PyTorch's RuntimeError if the function takes an `out` of the result's dtype only, and this is another."""
    saying = _SAYING.get(name)
    if saying is None or wanted is out or (name in _WITH_INDICES_ONLY and not is_one_of_several):
        return
    from .declare import c_name

    raise RuntimeError(
        saying.format(name=name, wanted=wanted.title, found=out.title, wanted_c=c_name(wanted), found_c=c_name(out))
    )


def check_memory(name: str, outs: Sequence[Any], arguments: Sequence[Any]) -> None:
    """Raise PyTorch's RuntimeError if a tensor of `outs` lies in the memory of an argument, other than being it."""
    is_alone = name in _ALONE
    for out in outs:
        if is_alone:
            check_writable(out)
        check_overlap(out, tuple(arguments), fully=is_alone)
