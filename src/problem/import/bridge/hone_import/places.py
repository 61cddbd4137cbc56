"""Places that a tensor of one number says: x[t], x[:, t], x[t] = v. PyTorch takes the number out of such a tensor, which a trace
has not: here the place is looked up, or written, by the tensor.

Part of hone_import.py, whose names it uses.
"""

COPIES = ("writes into an element that a tensor's value says, x[t], through a name of its own, of which an import has a copy: write "
          "x[t] = value")


def is_place(key):
    return (isinstance(key, torch.Tensor) and key.dim() == 0 and not key.is_floating_point() and not key.is_complex()
            and key.dtype not in (torch.bool, torch.uint8))


def wide_place(place):
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


class Places:
    """What one trace looks up."""

    def __init__(self):
        self.copies = []  # that the original has as views
        self.changed = []  # such that were written into, with their lines, and are not stored again yet

    def read(self, x, index):
        keys = list(index) if isinstance(index, tuple) else [index]
        if not any(map(is_place, keys)):
            return x[index]
        d, left = 0, []
        for key in keys:
            if is_place(key):
                x = torch.ops.aten.index.Tensor(x, [None] * d + [wide_place(key)])
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
            self.changed = [(copy, line) for copy, line in self.changed if copy is not base(value)]
        left_over = x.dim() - sum(map(consumed, keys))
        if not any(key is Ellipsis for key in keys):
            keys.append(Ellipsis)
        places = [n for n, key in enumerate(keys) if is_place(key)]
        if places[-1] - places[0] < len(places):  # else what stands between them comes behind the place, too
            behind = sum(left_over if key is Ellipsis else not isinstance(key, int) for key in keys[places[-1] + 1 :])
            if isinstance(value, torch.Tensor) and value.dim() > behind:
                value = value.unsqueeze(value.dim() - behind)
        x[tuple(wide_place(key).reshape(1) if is_place(key) else key for key in keys)] = value

    def note(self, function, args):
        """What is about to be written into a copy where the original has a view: x[t] += v is, and is stored then."""
        name = getattr(function, "__name__", "")
        in_place = name == "__setitem__" or (name.endswith("_") and not name.endswith("__")) or name.startswith("__i")
        if self.copies and in_place and isinstance(args[0], torch.Tensor):
            copy = base(args[0])
            if any(copy is known for known in self.copies):
                self.changed.append((copy, line_now()))

    def done(self):
        """At the end of a trace."""
        if self.changed:
            raise Complaint(COPIES, self.changed[0][1])
