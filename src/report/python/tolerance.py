"""How far results of this folder's kernel may be from Model's. A part of verify.py.

An element may be off by FACTOR times the sum of: one rounding of the result; what rounding the inputs and parameters does to it; and
the error that PyTorch itself makes in this precision (root mean square over the tensor). Another order of summation differs from
PyTorch's by a few times these; a skipped element, a lower precision or a wrong operator by thousands.
In 16 bits and fewer that leaves room for a skipped element. There most of an error is the rounding of results, which is PyTorch's,
too: over a whole tensor, root mean square, it may be FACTOR_OF_ALL times PyTorch's. Where a rounding decides between two, as for a
largest one's place, PyTorch is off at some elements: a kernel may be so at FACTOR_OF_ALL times as many.
"""
import math

import hone_module

try:
    import torch
except ImportError:
    pass  # a sample is checked without

FACTOR, FACTOR_OF_ALL = 16, 4
UNITS = {"fp64": 2.0**-53, "fp32": 2.0**-24, "tf32": 2.0**-11, "bf16": 2.0**-8, "fp16": 2.0**-11}  # of one rounding
STORED = {name: 0.5 ** (row["mantissa"] + 1) for name, row in hone_module.TYPES.items() if row["mantissa"]}
# By how many units inputs are moved: one, and as many as are allowed, since what comes out elsewhere at once, a largest one's place,
# say, may be no unit away.
SIZES = (1, FACTOR)
SLICE = 1 << 26  # elements that are looked at together


class Wrong(Exception):
    """One line that says where the kernel is wrong."""


def contract_unit():
    contract = hone_module.PROBLEM.get("contract", "torch")
    if contract in UNITS:
        return UNITS[contract]
    # Reals of a byte are stored, and computed with in others.
    reals = [STORED[tensor["dtype"]] for tensor in hone_module.PROBLEM["tensors"] if tensor["dtype"] in STORED]
    return max((unit for unit in reals if unit <= UNITS["bf16"]), default=STORED["f32"])


def slices(*tensors):
    """The same elements of each, in double precision."""
    flat = [tensor.reshape(-1) for tensor in tensors]
    for begin in range(0, flat[0].numel(), SLICE):
        yield [tensor[begin:begin + SLICE].double() for tensor in flat]


class Effects:
    """What moving the inputs does to results that are `exact` where they are not moved."""

    def __init__(self, exact):
        self.exact = exact
        # Of a real the largest change; of a whole number whether there is none.
        self.found = [torch.zeros(x.shape, dtype=x.dtype, device=x.device) if x.is_floating_point() else torch.ones_like(x, dtype=torch.bool)
                      for x in exact]

    def see(self, units, moved):
        for found, other, x in zip(self.found, moved, self.exact):
            if not x.is_floating_point():
                found &= other == x
                continue
            flat = found.view(-1)
            for i, (largest, a, b) in enumerate(slices(found, other, x)):
                flat[i * SLICE:(i + 1) * SLICE] = torch.maximum(largest, ((a - b).abs() / units).nan_to_num(0.0, 0.0, 0.0))


def tied(exact, reals):
    """Of whole numbers, which stand beside a real that its neighbour is as large as: the places of a row's largest, in any order."""
    beside = torch.zeros_like(exact, dtype=torch.bool)
    for other in reals:
        if other.shape == beside.shape and other.dim() > 0:
            equal = other[..., 1:] == other[..., :-1]
            beside[..., 1:] |= equal
            beside[..., :-1] |= equal
    return beside


def check_wholes(what, spec, got, own, exact, undisturbed, reals):
    """`own`: PyTorch's; `reals`: all exact results that are reals."""
    bad = (got != exact) & undisturbed & (own == exact) & ~tied(exact, reals)
    if int(bad.sum()) > FACTOR_OF_ALL * int((own != exact).sum()):
        at = tuple(bad.nonzero()[0].tolist())
        raise Wrong("%s: %s%s is %s, expected %s" % (what, spec["name"], list(at), got[at].item(), exact[at].item()))


class Mean:
    """Root mean square."""

    def __init__(self):
        self.squares, self.count = 0.0, 0

    def add(self, values):
        self.squares += values.pow(2).sum().item()
        self.count += values.numel()

    def value(self):
        return math.sqrt(self.squares / self.count) if self.count else 0.0


def index_of(at, shape):
    index = []
    for extent in reversed(shape):
        index.insert(0, at % extent)
        at //= extent
    return index


def check_reals(what, spec, got, own, exact, effect, unit, own_known):
    """(the largest error over its tolerance, where that is). `own_known`: whether PyTorch's own error is, else it is taken for that of
    a rounding."""
    one = max(unit, STORED[spec["dtype"]])
    errors, values = Mean(), Mean()
    for mine, x in slices(own, exact):
        finite = mine.isfinite() & x.isfinite()
        errors.add((mine - x)[finite])
        values.add(x[finite])
    own_error = errors.value() if own_known else one / 2 * values.value()

    worst, wrong, own_off, steady_errors = (-1.0, 0, 0.0, 0.0, 0.0), 0, 0, Mean()
    for i, (value, mine, x, e) in enumerate(slices(got, own, exact, effect)):
        finite, rounding, error = mine.isfinite() & x.isfinite(), one * x.abs(), (value - x).abs()
        tolerance = FACTOR * (rounding + e + own_error + torch.finfo(own.dtype).tiny)
        ratio = error / tolerance
        # Where PyTorch itself is not finite in this precision, the same is right, and so is the exact value.
        same = (value == mine) | (value.isnan() & mine.isnan())
        ratio = torch.where(~finite & same, torch.zeros_like(ratio), ratio).nan_to_num(math.inf, math.inf, math.inf)
        wrong += int((ratio > 1).sum())
        own_off += int((finite & ((mine - x).abs() > FACTOR * (rounding + own_error))).sum())
        # What a moved input throws off, a code that was the nearest, is not counted.
        steady = finite & value.isfinite() & (e <= FACTOR_OF_ALL * (own_error + rounding))
        steady_errors.add((value - x)[steady])
        at = int(ratio.argmax())
        worst = max(worst, (ratio[at].item(), i * SLICE + at, value[at].item(), x[at].item(), tolerance[at].item()))

    ratio, at, value, x, tolerance = worst
    place = "%s%s" % (spec["name"], index_of(at, exact.shape))
    if wrong > FACTOR_OF_ALL * own_off or ratio == math.inf:
        raise Wrong("%s: %s is %.9g, expected %.9g, tolerance %.3g; %d of %d elements are wrong" %
                    (what, place, value, x, tolerance, wrong, exact.numel()))
    if STORED[spec["dtype"]] > UNITS["fp32"] and steady_errors.value() > FACTOR_OF_ALL * own_error:
        raise Wrong("%s: %s is off by %.3g, root mean square, PyTorch by %.3g: tolerance %d times that" %
                    (what, spec["name"], steady_errors.value(), own_error, FACTOR_OF_ALL))
    return ratio, "off by %.3g at %s" % (abs(value - x), place)
