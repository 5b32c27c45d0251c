"""A new tensor has its axes in memory in the order that PyTorch gives them, and so has the array that `numpy()` shows."""

from __future__ import annotations

from typing import Any

import pytest

import tapegrad

FORMS = """
x.sort({axis})[0]
x.sort({axis})[1]
x.topk(2,{axis})[0]
x.topk(2,{axis})[1]
x.masked_fill(x>0,1.)
x.masked_fill(x[:1]>0,1.)
x.masked_scatter(x>0,x)
x.index_fill({axis},t.tensor([0]),1.)
x.index_add({axis},t.tensor([0]),x.narrow({axis},0,1))
x.scatter({axis},t.zeros_like(x,dtype=t.int64),1.)
x.scatter_add({axis},t.zeros_like(x,dtype=t.int64),x)
x.gather({axis},t.zeros_like(x,dtype=t.int64))
x.cumsum({axis})
x.cumprod({axis})
x.cummax({axis})[0]
x.logcumsumexp({axis})
x.flip({axis})
x.roll(1,{axis})
x.median({axis})[0]
x.kthvalue(1,{axis})[0]
x.tril()
x.softmax({axis})
x.log_softmax({axis})
x.index_select({axis},t.tensor([0,1]))
x.take_along_dim(t.zeros_like(x,dtype=t.int64),{axis})
x.index_copy({axis},t.tensor([0]),x.narrow({axis},0,1))
x.diff(dim={axis})
x.lerp(x,0.3)
x.lerp(x*2,x)
t.addcmul(x,x,x)
x.var({axis})
x.norm(2,{axis})
x.logsumexp({axis})
x.argmax({axis})
x.max({axis})[0]
x.max({axis},keepdim=True)[1]
x.amax({axis},keepdim=True)
x.prod({axis})
x.any({axis})
x.nansum({axis})
t.where(x>0,x,0.)
t.where(x>0,1.,x)
x.repeat_interleave(2,{axis})
x.unfold({axis},2,1).clone()
t.nn.functional.gelu(x)
t.nn.functional.dropout(x,0.)
t.nn.functional.pad(x,(1,1))
x.nan_to_num()
x.round()
x.pow(2)
x**x
x.bmm(x.mT)
x@x.mT
t.nn.functional.normalize(x)
x.heaviside(x)
x.tile(2,1,1)
x.rot90()
x.nanmean({axis})
x.std({axis},keepdim=True)
x.clamp(x,x)
t.nn.functional.prelu(x,t.tensor([.2]))
t.nn.functional.glu(x[:, :2],1)
t.nn.functional.one_hot((x>0).long())
t.bucketize(x,t.tensor([0.,1.]))
x.sum({axis})
x.mean({axis})
x.cumsum({axis}).sum(0)
x.quantile(0.5,{axis})
x.swapaxes(0,1).contiguous()
t.stack([x,x],{axis})
t.cat([x,x],{axis})
x.msort()
x.erfinv()
x.fmod(2)
x.remainder(0.3)
x.to(t.float64)
x.bool()
x.new_zeros(2)
t.zeros_like(x)
t.empty_like(x)
x.clone()
x.detach().clone()
x.logit()
x.xlogy(x)
x.atan2(x)
x.sign()
x.addcdiv(x,x)
x.view_as(x).mul(2)
x.softmax({axis}).log()
""".strip().split("\n")
ORDERS = [(2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2)]


def operand(library: Any, order: tuple[int, ...]) -> Any:
    return (library.arange(24.0).view(2, 3, 4) * 1.3).cos().permute(*order)


def strides(library: Any, form: str, axis: int) -> list[Any]:
    """Return the strides of what a form gives, for operands of which the axes are in these orders."""
    found = []
    for order in ORDERS:
        try:
            found.append(eval(form.format(axis=axis), {"t": library, "x": operand(library, order)}).stride())
        except (IndexError, RuntimeError) as error:
            found.append(type(error))
    return found


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
def test_strides_are_those_of_torch(torch: Any, form: str) -> None:
    for axis in range(3 if "{axis}" in form else 1):
        assert strides(tapegrad, form, axis) == strides(torch, form, axis)


@pytest.mark.parametrize(
    "form", ["x * 2", "x.exp().sum(0)", "(x + 1)[1:]", "x.sort(1)[0]", "x.masked_fill(x > 0, 1.0)", "(x * 2).transpose(0, 1)"]
)
def test_arrays_have_the_strides_of_their_tensors(mode: str, form: str) -> None:
    for order in ORDERS:
        found = eval(form, {"x": operand(tapegrad, order)})
        shown = found.numpy()
        assert tuple([stride // shown.itemsize for stride in shown.strides]) == found.stride()
