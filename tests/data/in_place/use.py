"""ModelNew of step.py beside Model: what both return, and what they leave in place. use.py BUNDLE [compile]"""
import sys

sys.path.insert(0, sys.argv[1])
import hone_kernel  # noqa: E402
import torch  # noqa: E402
from hone_kernel import KernelError, ModelNew, model  # noqa: E402


def made():
    both = []
    for kind in (model.Model, ModelNew):
        torch.manual_seed(5)
        both.append(kind())
    return both


def same(old, new, calls=3, call=None):
    for _ in range(calls):
        x, values = model.get_inputs()
        mine = values.clone()
        have, want = (new if call is None else call)(x, mine), old(x, values)
        assert have[1] is mine
        kept = have[0].clone()
        for a, b in [(mine, values), *zip(have, want), *zip(new.buffers(), old.buffers())]:
            assert torch.allclose(a, b, rtol=1e-5, atol=1e-5), (a - b).abs().max()
        new(x, mine)
        old(x, values)
        assert torch.equal(have[0], kept)  # memory of its own


def refused(word, new, values):
    before = [one.clone() for one in [values, *new.buffers()]]
    try:
        new(torch.randn(2, 1, 16), values)
    except KernelError as error:
        assert word in str(error) and "\n" not in str(error), error
    else:
        raise AssertionError("not refused: " + word)
    assert all(torch.equal(a, b) for a, b in zip(before, [values, *new.buffers()])), "something was written"


old, new = made()
versions = [one._version for one in new.buffers()]
same(old, new)
assert all(one._version >= version + 6 for one, version in zip(new.buffers(), versions))
with torch.no_grad():
    same(old, new, 1)
new.load_state_dict(old.state_dict())
with torch.inference_mode():
    same(*made())

_, new = made()
good = torch.randn(2, 12, 16)
refused("values is written in place and has the strides", new, torch.randn(2, 16, 12).transpose(1, 2))
refused("values is written in place and begins at no multiple", new, torch.randn(2 * 12 * 16 + 1)[1:].view(2, 12, 16))
refused("values is of type torch.float64", new, good.double())
refused("values has the shape", new, good[:1])
refused("shares memory with keys", new, new.keys)
refused("wants gradients", new, good.clone().requires_grad_())
new.keys = new.keys.double()
refused("keys is of type torch.float64", new, good)
new.keys = torch.randn(2, 16, 12).transpose(1, 2)
refused("keys is written in place and has the strides", new, good)
new.keys = torch.zeros(2, 12, 16)
with torch.inference_mode():
    there = good.clone()
refused("values is written in place and was made in inference mode", new, there)
result = new(torch.randn(2, 1, 16), good)[0]
assert result.requires_grad
try:
    result.sum().backward()
    raise AssertionError("backward is not refused")
except KernelError as error:
    assert "forward only" in str(error)

if sys.argv[2:] == ["compile"] and hasattr(torch, "compile"):
    old, new = made()
    same(old, new, 1, torch.compile(new, fullgraph=True, backend="aot_eager"))  # where gradients could be wanted
    with torch.no_grad():
        same(old, new, 1, torch.compile(new, fullgraph=True, backend="aot_eager"))
        read, written = hone_kernel.IN_PLACE.parted([torch.randn(2, 1, 16), good, *new.buffers()])
        torch.library.opcheck(hone_kernel.op, (read, [one.detach() for one in new.parameters()], written),
                              test_utils=("test_schema", "test_faketensor"))
print("used with torch", torch.__version__)
