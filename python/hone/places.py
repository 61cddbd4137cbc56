"""Places that a tensor of one number says: x[t], x[:, t] = v. PyTorch takes the number out of such a tensor, which an export has not:
here the place is looked up, or written, by the tensor."""
import contextlib
import functools

import torch
from torch.overrides import TorchFunctionMode

from hone.process import Failure


def is_place(key):
    return (isinstance(key, torch.Tensor) and key.dim() == 0
            and key.dtype in (torch.int8, torch.int16, torch.int32, torch.int64))


def wide(place):
    """As operators want it."""
    return place if place.dtype in (torch.int32, torch.int64) else place.long()


def consumed(key):
    """How many dimensions of a tensor an element of its index is about."""
    if key is None or isinstance(key, bool) or key is Ellipsis:
        return 0
    return key.dim() if isinstance(key, torch.Tensor) and key.dtype in (torch.bool, torch.uint8) else 1


def base(x):
    """What a view is of."""
    return x if x._base is None else x._base


class ByTensors(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.copies, self.changed = [], []  # that the original has as views; such that were written into and are not stored again

    def __torch_function__(self, function, types, args=(), named=None):
        name = getattr(function, "__name__", "")
        if self.copies and args and isinstance(args[0], torch.Tensor) and (
                name == "__setitem__" or (name.endswith("_") and not name.endswith("__")) or name.startswith("__i")):
            self.changed += [copy for copy in self.copies if copy is base(args[0])]
        replacement = {torch.Tensor.__getitem__: self.read, torch.Tensor.__setitem__: self.write}
        return replacement.get(function, function)(*args, **(named or {}))

    def read(self, x, index):
        keys = list(index) if isinstance(index, tuple) else [index]
        if not any(map(is_place, keys)):
            return x[index]
        d, left = 0, []
        for key in keys:
            if is_place(key):
                x = torch.ops.aten.index.Tensor(x, [None] * d + [wide(key)])
            else:
                d += x.dim() - sum(map(consumed, keys)) if key is Ellipsis else consumed(key)
                left.append(key)
        made = x[tuple(left)] if left else x
        if not any(isinstance(key, (torch.Tensor, list)) for key in left):
            self.copies.append(base(made))
        return made

    def write(self, x, index, value):
        keys = list(index) if isinstance(index, tuple) else [index]
        tensors = [key for key in keys if isinstance(key, (torch.Tensor, list))]
        if not tensors or not all(map(is_place, tensors)):
            x[index] = value
            return
        if isinstance(value, torch.Tensor):
            self.changed = [copy for copy in self.changed if copy is not base(value)]
        left_over = x.dim() - sum(map(consumed, keys))
        if not any(key is Ellipsis for key in keys):
            keys.append(Ellipsis)
        places = [n for n, key in enumerate(keys) if is_place(key)]
        if places[-1] - places[0] < len(places):  # else what stands between them comes behind the place, too
            behind = sum(left_over if key is Ellipsis else not isinstance(key, int) for key in keys[places[-1] + 1 :])
            if isinstance(value, torch.Tensor) and value.dim() > behind:
                value = value.unsqueeze(value.dim() - behind)
        x[tuple(wide(key).reshape(1) if is_place(key) else key for key in keys)] = value


@contextlib.contextmanager
def by_tensors(module):
    """While the module is exported. Within its forward: an export looks at indices before modes that are there already."""
    original, own = module.forward, "forward" in module.__dict__
    mode = ByTensors()

    @functools.wraps(original)
    def forward(*args, **named):
        with mode:
            return original(*args, **named)

    module.forward = forward
    try:
        yield
    finally:
        if own:
            module.forward = original
        else:
            del module.forward
    if mode.changed:
        raise Failure("%s writes into an element that a tensor's value says, x[t], through a name of its own, of which an export has a "
                      "copy: write x[t] = value" % type(module).__name__)
