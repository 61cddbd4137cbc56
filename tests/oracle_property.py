#!/usr/bin/env python3
"""Every operator of hone against PyTorch in float64, on random small cases.

    oracle_property.py HONE [--only OP,OP] [--cases N] [--seed N] [--thorough] [--keep FOLDER] [--calls FILE]

Cases come from the operators' own ATen schemas: each argument is drawn by its type and name, and a draw that PyTorch refuses is
drawn again. So a new operator in src/graph/ops/ is tested without a change here. Many cases make one problem, since compiling the
oracle costs more than running it. HONE_THOROUGH=1 is --thorough. Exit status 77: skipped, no torch.

--calls adds to src/graph/testdata/calls.json calls of the operators that it lacks, for tests that need no PyTorch.
"""
import argparse
import collections
import concurrent.futures
import ctypes
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

named = os.environ.get("HONE_PYTHON")
if named and os.environ.get("HONE_PROPERTY_CHILD") is None:  # whoever names one means that one
    os.execve(named, [named, *sys.argv], {**os.environ, "HONE_PROPERTY_CHILD": "1"})
try:
    import torch
except ImportError:
    print("skipped: %s has no torch; name a Python that has it with HONE_PYTHON" % sys.executable)
    sys.exit(77)

DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
          torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}
EIGHT_BITS = {getattr(torch, long): short for long, short in (("float8_e4m3fn", "f8e4m3"), ("float8_e5m2", "f8e5m2")) if hasattr(torch, long)}
DTYPES |= EIGHT_BITS  # old ones have none
TORCH_TYPES = {name: dtype for dtype, name in DTYPES.items()}
NOT_NUMBERS = {"Layout", "Device", "MemoryFormat", "Generator", "Storage", "Stream", "DimnameList", "Dimname"}
NARROW = {torch.uint8, torch.int8, torch.int16}
SAFETENSORS = {name: name.upper().replace("F8E", "F8_E") for name in TORCH_TYPES}
UNIT = {"f32": 2.0 ** -21, "f16": 2.0 ** -10, "bf16": 2.0 ** -7, "f8e4m3": 2.0 ** -3, "f8e5m2": 2.0 ** -2}
NODES_A_PROBLEM = 40  # more compile for longer than the oracle's compiler may take on a busy machine
OLD = int(torch.__version__.split(".")[0]) < 2


class Refused(Exception):
    """This draw makes no case."""


# ---------------------------------------------------------------------------------------------------------------------
# Drawing one case.

class Drawer:
    def __init__(self, op, rng):
        self.op, self.rng = op, rng
        some_empty = rng.random() < 0.1
        extents = [0, 1, 2, 3] if some_empty else [1, 2, 3, 4, 5, 6]
        self.pool = [rng.choice(extents) for _ in range(rng.choice([1, 2, 2, 3]))]
        self.shapes = []
        self.tensors = []
        kind = 0 if some_empty else rng.random()  # what PyTorch refuses of whole numbers it may take when there are none
        # One type for all tensors mostly; the others promote.
        self.dtypes = [torch.float64] if kind < 0.55 else [torch.int64] if kind < 0.63 else [torch.bool] if kind < 0.68 else \
            [torch.float64, torch.int64, torch.bool, torch.int32] if kind < 0.77 else \
            [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool] if kind < 0.85 else \
            [rng.choice([torch.uint8, torch.uint8, torch.int8, torch.int16])]
        # Of narrow whole numbers all that they hold, and numbers beside them that wrap around. Powers that leave 2^53 are hone's own.
        self.wide = rng.random() < 0.5 and op != "pow"
        # PyTorch makes NaN of a mean that is infinite, where it takes variances in one pass, and of padding times infinity or not;
        # of several NaN in a window it finds the last one here and the first one there.
        self.special = rng.random() < 0.2 and not re.search("norm|var|std|conv|pool", op)
        self.whole = rng.random() < 0.25  # ties and exact results

    def first(self):
        return self.shapes[0] if self.shapes else []

    def shape(self, name):
        rng, pool = self.rng, self.pool
        if not self.shapes:
            rank = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5])
            return [rng.choice(pool) for _ in range(rank)]
        first = rng.choice(self.shapes)
        way = rng.random()
        if "batch_norm" in self.op:  # PyTorch does not check these, and reads past their end
            if len(self.first()) < 2 or math.prod(self.first()) == 0:
                raise Refused
            return [self.first()[1]]
        if "convolution" in self.op and self.first()[1:2] == [0]:  # of no channels PyTorch makes none, whatever the weight's
            raise Refused
        if "convolution" in self.op and way < 0.8:
            if len(self.first()) < 3:
                raise Refused
            channels, made = self.first()[1], rng.choice([1, 2, 3, 4, 6])
            if name == "bias":
                return self.shapes[1][:1]
            return [rng.choice([made, channels]), rng.choice([channels, made, 1])] + [rng.randint(1, 3) for _ in self.first()[2:]]
        if name in ("weight", "bias", "running_mean", "running_var", "mean", "var") and way < 0.5:
            if len(self.first()) > 1 and rng.random() < 0.8:
                return [self.first()[1]]
            start = rng.randint(0, len(first))
            return first[start:]
        if way < 0.4:
            return list(first)
        if way < 0.6:  # broadcasts
            return [1 if rng.random() < 0.4 else extent for extent in first][rng.choice([0, 0, 0, 1, 2]):]
        if way < 0.75:  # a matrix that may follow the first one
            return first[:-2] + [first[-1] if first else 1, rng.choice(pool)]
        return [rng.choice(pool) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5]))]

    def data(self, shape, dtype):
        rng = self.rng
        count = math.prod(shape)
        if dtype == torch.bool:
            values = [rng.random() < 0.5 for _ in range(count)]
        elif not dtype.is_floating_point:
            low, high = (0, 6) if dtype == torch.uint8 else (-6, 6)
            if self.wide and dtype in NARROW:
                low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
            values = [rng.randint(low, high) for _ in range(count)]
        else:
            values = [float(rng.randint(-3, 3)) if self.whole or rng.random() < 0.1 else rng.gauss(0, 2) for _ in range(count)]
            if self.special:
                values = [rng.choice([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e30, 40.0, 1e-30]) if rng.random() < 0.2 else v
                          for v in values]
        return torch.tensor(values, dtype=dtype).reshape(shape)

    def tensor(self, name):
        shape = self.shape(name)
        if math.prod(shape) > 600:
            raise Refused
        if name in ("index", "indices", "target_indices"):
            high = max(1, min([e for s in self.shapes[:1] for e in s] or [1]))
            low = -high if self.rng.random() < 0.2 else 0
            made = torch.tensor([self.rng.randint(low, high - 1) for _ in range(math.prod(shape))], dtype=torch.int64).reshape(shape)
        elif name in ("condition", "mask"):
            made = self.data(shape, torch.bool)
        else:
            made = self.data(shape, self.rng.choice(self.dtypes))
            if name in ("running_var", "var"):
                made = made.abs() if made.dtype != torch.bool else made
        self.shapes.append(shape)
        self.tensors.append(made)
        return made

    def dims(self, rank, at_least=0):
        chosen = self.rng.sample(range(rank), self.rng.randint(min(at_least, rank), rank))
        return [d - rank if self.rng.random() < 0.3 else d for d in chosen]

    def ints(self, name, size):
        rng, first = self.rng, self.first()
        rank = len(first)
        if name == "normalized_shape":
            return first[rng.randint(0, max(rank - 1, 0)):]
        if name == "dims" and rng.random() < 0.9:
            return [d - rank if rng.random() < 0.3 else d for d in rng.sample(range(rank), rank)]
        if name.startswith("dim"):
            return self.dims(rank)
        if name in ("size", "shape", "sizes", "output_size") and size is None:
            return self.size()
        if name in ("repeats",):
            return [rng.randint(1, 3) for _ in range(rank + rng.choice([0, 0, 1]))]
        if name in ("pad",):
            return [rng.choice([0, 1, 2, -1]) for _ in range(2 * rng.randint(0, rank))]
        if name in ("padding", "output_padding"):
            low, high = 0, 2
        elif name in ("shifts", "storage_offset"):
            low, high = -3, 3
        else:
            low, high = 1, 3
        return [rng.randint(low, high) for _ in range(size if size and rng.random() < 0.7 else rng.choice([1, 2, 3]))]

    def size(self):
        rng, first = self.rng, self.first()
        way = rng.random()
        if not self.shapes:
            return [rng.choice(self.pool) for _ in range(rng.randint(0, 3))]
        if way < 0.35:  # expand
            return [rng.choice(self.pool) for _ in range(rng.choice([0, 0, 1, 2]))] + \
                [-1 if rng.random() < 0.2 else rng.choice(self.pool) if e == 1 else e for e in first]
        count, factors = math.prod(first), []
        while count > 1 and len(factors) < 4:
            factor = rng.choice([f for f in range(1, count + 1) if count % f == 0])
            factors.append(factor)
            count //= factor
        if count != 1:
            factors.append(count)
        rng.shuffle(factors)
        if factors and rng.random() < 0.3:
            factors[rng.randrange(len(factors))] = -1
        return factors

    def whole_number(self, name):
        rng, rank = self.rng, len(self.first())
        first = self.first()
        if name.startswith("dim") or name in ("start_dim", "end_dim", "axis"):
            return rng.randint(-max(rank, 1), max(rank - 1, 0))
        if name in ("reduction",):
            return rng.randint(0, 2)
        if name in ("group", "groups", "num_groups"):
            return rng.choice([1, 1, 2, 3])
        if name in ("N", "C", "HxW") and rank >= 2:
            return {"N": first[0], "C": first[1], "HxW": math.prod(first[2:])}[name]
        if name in ("correction",):
            return rng.choice([0, 1, 2])
        if name in ("step", "size", "k"):
            return rng.randint(1, 3)
        return rng.randint(-3, 6)

    def real(self, name):
        rng = self.rng
        if name in ("eps",):
            return rng.choice([1e-5, 1e-3, 0.1])
        if name in ("p", "ord"):
            return rng.choice([0, 1, 2, 2.0, 3, 0.5, math.inf, -math.inf, 2.5])
        if name in ("exponent",):
            return rng.choice([0, 1, 2, 3, 4, -1, 0.5, -0.5, 2.5, -2, 1.0, 2.0])
        return rng.choice([0.5, 1.0, 2.0, -1.0, 0.1, 3, 1, 0, -2, 2.5, 20.0])

    def wrapping(self):
        """A whole number that a narrow type may hold only as another one."""
        return self.rng.choice([-1, -2, -3, -100, 127, 128, 254, 256, 300] if self.wide else [-1, -2, -3, 2, 3, 5])

    def value(self, name, kind, size):
        rng = self.rng
        if kind.startswith("Optional["):
            if rng.random() < 0.4 and "batch_norm" not in self.op:
                return None
            return self.value(name, kind[9:-1], size)
        if kind == "Tensor":
            return self.tensor(name)
        if kind == "List[Tensor]":
            count = rng.randint(1, 3)
            made = [self.tensor(name)]
            rank = len(self.shapes[-1])
            dim = rng.randrange(rank) if rank else 0
            for _ in range(count - 1):
                shape = list(self.shapes[-1])
                if rank:
                    shape[dim] = rng.choice(self.pool + [1, 2])
                made.append(self.data(shape, rng.choice(self.dtypes)))
                self.tensors.append(made[-1])
            return made
        if kind == "List[Optional[Tensor]]":
            return [None if rng.random() < 0.4 else self.tensor("indices") for _ in range(rng.randint(1, max(len(self.first()), 1)))]
        if kind in ("List[int]", "List[SymInt]"):
            return self.ints(name, size)
        if kind == "List[bool]":
            return [rng.random() < 0.5 for _ in range(size or 2)]
        if kind in ("int", "SymInt"):
            if name == "dtype":
                return self.value(name, "ScalarType", size)
            return self.whole_number(name)
        if kind == "float":
            return float(self.real(name))
        if kind in ("number", "Scalar"):
            if self.tensors and self.tensors[0].dtype in NARROW and rng.random() < 0.7:
                return self.wrapping()
            drawn = self.real(name)
            return drawn if rng.random() < 0.9 else bool(drawn)
        if kind == "bool":
            if name == "training" and len(self.tensors) < 5:  # no running statistics to fall back to, which PyTorch does not check
                return True
            return rng.random() < 0.5
        if kind == "str":
            return rng.choice(["none", "tanh", "floor", "trunc"])
        if kind == "ScalarType":
            return torch.float64 if 0 in self.pool else rng.choice([torch.float64, torch.int64, torch.float32, torch.int32, torch.bool])
        raise Refused


# Operators whose arguments hang together so closely that independent draws would hardly ever fit: {argument: value} by name.

def draw_recurrent(op, drawer):
    rng = drawer.rng
    steps, rows, width, units = rng.randint(1, 5), rng.randint(1, 3), rng.randint(1, 4), rng.randint(1, 4)
    layers, both, biased, first = rng.randint(1, 2), rng.random() < 0.3, rng.random() < 0.8, rng.random() < 0.5
    gates = {"lstm": 4, "gru": 3}.get(op, 1)
    outputs = rng.randint(1, 3) if op == "lstm" and rng.random() < 0.3 else units
    data = lambda *shape: drawer.data(list(shape), torch.float64) * 0.7
    params = []
    for layer in range(layers):
        for _ in range(1 + both):
            params += [data(gates * units, width if layer == 0 else outputs * (1 + both)), data(gates * units, outputs)]
            params += [data(gates * units), data(gates * units)] if biased else []
            params += [data(outputs, units)] if outputs != units else []
    states = [data(layers * (1 + both), rows, outputs)] + ([data(layers * (1 + both), rows, units)] if op == "lstm" else [])
    return {"input": data(rows, steps, width) if first else data(steps, rows, width), "hx": states if op == "lstm" else states[0],
            "params": params, "has_biases": biased, "num_layers": layers, "dropout": 0.0, "train": rng.random() < 0.5,
            "bidirectional": both, "batch_first": first}


def draw_cell(op, drawer):
    rng = drawer.rng
    rows, width, units, gates = rng.randint(1, 3), rng.randint(1, 4), rng.randint(1, 4), {"lstm_cell": 4, "gru_cell": 3}.get(op, 1)
    data = lambda *shape: drawer.data(list(shape), torch.float64)
    states = [data(rows, units), data(rows, units)]
    made = {"input": data(rows, width), "hx": states if op == "lstm_cell" else states[0],
            "w_ih": data(gates * units, width), "w_hh": data(gates * units, units)}
    return made | ({"b_ih": data(gates * units), "b_hh": data(gates * units)} if rng.random() < 0.7 else {})


def reals(drawer, *shape):
    return drawer.data(list(shape), torch.float64)


def wholes(drawer, shape, low, high):
    return torch.tensor([drawer.rng.randint(low, high) for _ in range(math.prod(shape))], dtype=torch.int64).reshape(shape)


def some(drawer, **arguments):
    """Of optional arguments, some."""
    return {name: value for name, value in arguments.items() if drawer.rng.random() < 0.5}


def draw_pad(op, drawer):
    rng, spatial = drawer.rng, int(op[-2])
    shape = [rng.randint(1, 3) for _ in range(rng.randint(1, 2))] + [rng.randint(1, 5) for _ in range(spatial)]
    return {"self": reals(drawer, *shape), "padding": [rng.randint(-1, 3) for _ in range(2 * spatial)]}


def draw_upsample(op, drawer):
    rng, spatial = drawer.rng, int(op[-2])
    x = reals(drawer, rng.randint(1, 2), rng.randint(1, 2), *[rng.randint(1, 5) for _ in range(spatial)])
    made = {"self" if rng.random() < 0.5 else "input": x}
    if "linear" in op or "cubic" in op:
        made["align_corners"] = rng.random() < 0.5
    scales = [rng.choice([0.5, 2.0, 1.0, 3.0, 4.0]) for _ in range(spatial)]
    if "input" in made and rng.random() < 0.5:
        return made | {"scale_factors": scales, "output_size": None}
    if rng.random() < 0.3:
        names = ["scales"] if spatial == 1 else ["scales_d", "scales_h", "scales_w"][3 - spatial:]
        return {("self" if k == "input" else k): v for k, v in made.items()} | {
            "output_size": [int(n * f) for n, f in zip(x.shape[2:], scales)]} | dict(zip(names, scales))
    return made | {"output_size": [rng.randint(1, 9) for _ in range(spatial)]} | ({"scale_factors": None} if "input" in made else {})


def draw_adaptive(op, drawer):
    rng, spatial = drawer.rng, int(op[-2])
    shape = [rng.randint(1, 2) for _ in range(rng.randint(1, 2))] + [rng.randint(1, 7) for _ in range(spatial)]
    return {"self": reals(drawer, *shape), "output_size": [rng.randint(1, 8) for _ in range(spatial)]}


def draw_unpool(op, drawer):
    rng, spatial = drawer.rng, int(op[-2])
    shape = [rng.randint(1, 2), rng.randint(1, 2)] + [rng.randint(1, 3) for _ in range(spatial)]
    size = [rng.randint(3, 5) for _ in range(spatial)]
    places = [rng.sample(range(math.prod(size)), math.prod(shape[2:])) for _ in range(shape[0] * shape[1])]
    made = {"self": reals(drawer, *shape), "indices": torch.tensor(places).reshape(shape), "output_size": size}
    return made | ({"stride": [1] * 3, "padding": [0] * 3} if spatial == 3 else {})


def draw_blocks(op, drawer):
    rng = drawer.rng
    pair = lambda low, high: [rng.randint(low, high) for _ in range(2)]
    made = {"kernel_size": pair(1, 3), "dilation": pair(1, 2), "padding": pair(0, 2), "stride": pair(1, 3)}
    size, channels = pair(2, 7), rng.randint(1, 3)
    outer = [rng.randint(1, 2)] if rng.random() < 0.8 else []
    if op == "im2col":
        return made | {"self": reals(drawer, *outer, channels, *size)}
    places = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(size, *made.values())]
    if min(places) < 1:
        raise Refused
    return made | {"self": reals(drawer, *outer, channels * math.prod(made["kernel_size"]), math.prod(places)), "output_size": size}


def draw_attention(op, drawer):
    rng = drawer.rng
    batch, heads, rows, columns, width = (rng.randint(1, 3) for _ in range(5))
    both = width if "flash" in op else rng.randint(1, 3)
    lead = (batch, heads)
    made = {"query": reals(drawer, *lead, rows, width), "key": reals(drawer, *lead, columns, width), "value": reals(drawer, *lead, columns, both)}
    mask = "attn_mask" if op in ("scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu") else "attn_bias"
    if rng.random() < 0.5:
        made["is_causal"] = True
    elif rng.random() < 0.6 and "for_cpu" not in op:
        made[mask] = reals(drawer, rows, columns) if rng.random() < 0.5 else drawer.data([batch, 1, rows, columns], torch.bool)
    return made | some(drawer, scale=0.7)


def draw_scatter(op, drawer):
    rng = drawer.rng
    rank = rng.randint(0, 3)
    shape = [rng.randint(1, 4) for _ in range(rank)]
    dim = rng.randrange(rank) if rank else 0
    index_shape = [rng.randint(1, n) if d != dim else rng.randint(1, 5) for d, n in enumerate(shape)]
    dtype = rng.choice([torch.float64, torch.float64, torch.int64, torch.uint8])
    source = drawer.data([n + rng.randint(0, 1) for n in index_shape], dtype)
    # Which of several writes to one place is last is not said: one each.
    high = shape[dim] if rank else 1
    index = wholes(drawer, index_shape, 0, high - 1)
    reduce = {"scatter_reduce": rng.choice(["sum", "prod", "mean", "amax", "amin"]), "scatter": rng.choice(["add", "multiply"])}.get(op)
    made = {"self": drawer.data(shape, dtype), "dim": dim - (rank if rank and rng.random() < 0.3 else 0), "index": index}
    if op == "scatter" and rng.random() < 0.7:
        reduce = None
    if op == "scatter" and reduce is None:
        index_shape = [min(n, shape[d]) for d, n in enumerate(index_shape)]
        order = torch.stack([torch.randperm(high, generator=torch.Generator().manual_seed(rng.randrange(10**6)))
                             for _ in range(max(math.prod(index_shape) // max(index_shape[dim] if rank else 1, 1), 1))])
        moved = [n for d, n in enumerate(index_shape) if d != dim] + ([high] if rank else [])
        made["index"] = (order.reshape(moved).movedim(-1, dim)[tuple(slice(0, n) for n in index_shape)] if rank else order.reshape([])).contiguous()
    made |= {"value": 2.5 if dtype == torch.float64 else drawer.wrapping()} if op == "scatter" and rng.random() < 0.3 else {"src": source}
    if op == "scatter_reduce":
        made |= some(drawer, include_self=False)
    return made | ({"reduce": reduce} if reduce else {})


def draw_index(op, drawer):
    rng = drawer.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 4))]
    picked = [rng.randint(1, 3) for _ in range(rng.randint(0, 2))]
    indices = [None if rng.random() < 0.4 else wholes(drawer, [n if rng.random() < 0.8 else 1 for n in picked], -high if rng.random() < 0.3 else 0, high - 1)
               for high in shape[:rng.randint(1, len(shape))]]
    if all(i is None for i in indices):
        raise Refused
    x = drawer.data(shape, rng.choice([torch.float64, torch.int64]))
    if not op.endswith("index_put"):
        return {"self": x, "indices": indices}
    result = torch.ops.aten.index.Tensor(x, indices)
    accumulate = rng.random() < 0.6
    if not accumulate:  # of several the last one is anybody's guess
        marks = torch.ops.aten.index.Tensor(torch.arange(x.numel()).reshape(shape), indices)
        if marks.unique().numel() != marks.numel():
            raise Refused
    values = drawer.data(list(result.shape) if rng.random() < 0.7 else [], x.dtype)
    return {"self": x, "indices": indices, "values": values, "accumulate": accumulate}


def draw_index_along(op, drawer):
    rng = drawer.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    dim = rng.randrange(len(shape))
    count = rng.randint(1, 5 if op == "index_add" else shape[dim])
    index = wholes(drawer, [count], 0, shape[dim] - 1) if op == "index_add" else torch.tensor(rng.sample(range(shape[dim]), count))
    dtype = rng.choice([torch.float64, torch.float64, torch.int8, torch.uint8])
    number = 2.5 if dtype == torch.float64 else drawer.wrapping()
    source = drawer.data([count if d == dim else n for d, n in enumerate(shape)], dtype)
    made = {"self": drawer.data(shape, dtype), "dim": dim, "index": index}
    return made | ({"value": number} if op == "index_fill" else {"source": source}) | (some(drawer, alpha=number) if op == "index_add" else {})


def draw_classes(op, drawer):
    rng = drawer.rng
    rows, classes = rng.randint(1, 4), rng.randint(1, 5)
    places = [] if op in ("multi_margin_loss", "nll_loss", "nll_loss_forward") else [rng.randint(1, 3) for _ in range(2 if "2d" in op else rng.randint(0, 2))]
    lead = [rows] if places or rng.random() < 0.8 else []
    target = wholes(drawer, lead + places, 0, classes - 1)
    made = {"self": reals(drawer, *lead, classes, *places), "target": target, "reduction": rng.randint(0, 2)}
    if op == "multi_margin_loss":
        return made | some(drawer, margin=0.5, p=2, weight=reals(drawer, classes).abs())
    weight = reals(drawer, classes).abs() + 0.5
    if op == "cross_entropy_loss":
        if rng.random() < 0.3:
            made["target"] = made["self"].softmax(1 if lead else 0)
        return made | some(drawer, weight=weight, label_smoothing=0.2, ignore_index=1)
    return made | ({"weight": weight} if rng.random() < 0.5 else {"weight": None}) | {"ignore_index": rng.choice([-100, 1])}


def draw_pair(op, drawer):
    rng = drawer.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 2) if "cosine" in op or "triplet" in op else rng.randint(0, 3))]
    x, y = reals(drawer, *shape), reals(drawer, *shape)
    reduction = {"reduction": rng.randint(0, 2)}
    sign = lambda s: torch.tensor([rng.choice([-1.0, 1.0]) for _ in range(math.prod(s))], dtype=torch.float64).reshape(s)
    if op == "binary_cross_entropy":
        made = {"self": x.sigmoid(), "target": y.sigmoid()} | some(drawer, weight=reals(drawer, *shape))
    elif op == "binary_cross_entropy_with_logits":
        made = {"self": x, "target": y.sigmoid()} | some(drawer, weight=reals(drawer, *shape), pos_weight=reals(drawer, *shape[-1:]).abs())
    elif op == "cosine_embedding_loss":
        made = {"input1": x, "input2": y, "target": sign(shape[:-1])} | some(drawer, margin=0.3)
    elif op == "triplet_margin_loss":
        made = {"anchor": x, "positive": y, "negative": reals(drawer, *shape)} | some(drawer, margin=0.5, p=rng.choice([1.0, 2.0, 3.0]), swap=True)
    elif op == "margin_ranking_loss":
        made = {"input1": x, "input2": y, "target": sign(shape)} | some(drawer, margin=0.5)
    elif op == "hinge_embedding_loss":
        made = {"self": x, "target": sign(shape)} | some(drawer, margin=0.5)
    elif op == "poisson_nll_loss":
        made = {"input": x.abs() + 0.1, "target": y.abs() * 3, "log_input": rng.random() < 0.5, "full": rng.random() < 0.5, "eps": 1e-8}
    elif op == "kl_div":
        made = {"self": x, "target": y.abs()} | some(drawer, log_target=True)
    else:
        made = {"self": x, "target": sign(shape)}
    return made | reduction


def draw_distance(op, drawer):
    rng = drawer.rng
    width = rng.randint(1, 4)
    if "cdist" in op:
        lead = [rng.randint(1, 2)] if rng.random() < 0.5 else []
        made = {"x1": reals(drawer, *lead, rng.randint(1, 4), width), "x2": reals(drawer, *lead, rng.randint(1, 4), width),
                "p": rng.choice([0.0, 1.0, 2.0, 3.0, math.inf])}
        return made | {"compute_mode": 2} | ({} if op == "cdist" else {})
    lead = [rng.randint(1, 3) for _ in range(rng.randint(1, 2))]
    made = {"x1": reals(drawer, *lead, width), "x2": reals(drawer, *(lead if rng.random() < 0.7 else [1] * len(lead)), width)}
    if op == "cosine_similarity":
        return made | some(drawer, dim=rng.randrange(len(lead) + 1))
    return made | some(drawer, p=rng.choice([1.0, 2.0, 3.0]), keepdim=True)


def draw_einsum(op, drawer):
    rng = drawer.rng
    extent = {letter: rng.randint(1, 4) for letter in "abcdijk"}
    equation = rng.choice(["ij,jk->ik", "bij,bjk->bik", "ij->ji", "ij,ij->", "i,j->ij", "ijk,kd->ijd", "ii->i", "ii", "ij,jk", "...ij,jk->...ik",
                           "abc,abc->b", "bij,bkj->bik", "a,ab,b->", "...i->...", "ij,kj->ik", "ab, bc -> ca"])
    lead = [rng.randint(1, 3) for _ in range(rng.randint(0, 2))]
    tensors = []
    for term in equation.split("->")[0].replace(" ", "").split(","):
        dots = term.startswith("...")
        tensors.append(reals(drawer, *(lead if dots else []), *[extent[c] for c in term.replace("...", "")]))
    return {"equation": equation, "tensors": tensors}


def draw_distinct(op, drawer):
    """Which of equal elements comes first is not said: none are equal."""
    rng = drawer.rng
    shape = [rng.randint(1, 6) for _ in range(rng.randint(0, 3))]
    x = torch.tensor(rng.sample(range(-400, 400), math.prod(shape)), dtype=torch.float64).reshape(shape)
    if rng.random() < 0.3:
        x = x.to(torch.int64)
    elif rng.random() < 0.2 and x.numel() > 1:
        x.view(-1)[rng.randrange(x.numel())] = math.nan
    made = {"self": x}
    if op == "topk":
        dim = rng.randrange(len(shape)) if shape else 0
        return made | {"k": rng.randint(0 if shape else 1, shape[dim] if shape else 1), "dim": dim, "largest": rng.random() < 0.5}
    if op == "kthvalue":
        dim = rng.randrange(len(shape)) if shape else 0
        return made | {"k": rng.randint(1, shape[dim] if shape else 1), "dim": dim} | some(drawer, keepdim=True)
    return made | some(drawer, descending=True)


def draw_sorted(op, drawer):
    rng = drawer.rng
    bounds = reals(drawer, rng.randint(1, 6)).sort()[0]
    x = reals(drawer, *[rng.randint(1, 4) for _ in range(rng.randint(0, 2))])
    return {"self": x, "boundaries" if op == "bucketize" else "sorted_sequence": bounds} | some(drawer, right=True, out_int32=True)


def draw_shuffle(op, drawer):
    rng, r = drawer.rng, drawer.rng.randint(1, 3)
    lead, c, h, w = [rng.randint(1, 2)], rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 3)
    if op == "pixel_shuffle":
        return {"self": reals(drawer, *lead, c * r * r, h, w), "upscale_factor": r}
    if op == "pixel_unshuffle":
        return {"self": reals(drawer, *lead, c, h * r, w * r), "downscale_factor": r}
    return {"self": reals(drawer, *lead, c * r, h, w), "groups": r}


def draw_sizes(op, drawer):
    rng = drawer.rng
    shape = [rng.randint(1, 6) for _ in range(rng.randint(1, 3))]
    dim, rest, sizes = rng.randrange(len(shape)), 0, []
    rest = shape[dim]
    while rest:
        sizes.append(rng.randint(0, rest))
        rest -= sizes[-1]
    return {"self": drawer.data(shape, rng.choice(drawer.dtypes)), "split_sizes" if op == "split_with_sizes" else "split_size": sizes, "dim": dim}


def draw_strided(op, drawer):
    rng = drawer.rng
    size, stride = ([rng.randint(0 if i else 1, 3) for _ in range(2)] for i in range(2))
    offset = rng.randint(0, 2)
    return {"self": reals(drawer, offset + sum((n - 1) * s for n, s in zip(size, stride)) + 1), "size": size, "stride": stride, "storage_offset": offset}


def draw_rms(op, drawer):
    rng = drawer.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    normalized = shape[rng.randrange(len(shape)):]
    return {"input": reals(drawer, *shape), "normalized_shape": normalized, "weight": None, "eps": 0.01} | some(drawer, weight=reals(drawer, *normalized))


def draw_repeats(op, drawer):
    """A number of repeats: of a negative one in a tensor, torch 1.13 dies."""
    shape = [drawer.rng.randint(1, 4) for _ in range(drawer.rng.randint(1, 3))]
    return {"self": drawer.data(shape, drawer.rng.choice(drawer.dtypes)), "repeats": drawer.rng.randint(0, 3)} | some(drawer, dim=-1)


def draw_reshape(op, drawer):
    shape = [drawer.rng.randint(1, 4) for _ in range(3)]
    size = [shape[0] * shape[1], shape[2]]
    return {"self": reals(drawer, *shape), "size": size, "stride": [size[1], 1]}


def draw_prelu(op, drawer):
    rng = drawer.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    weight = [shape[1] if len(shape) > 1 else 1] if rng.random() < 0.6 else [1]
    if op == "_prelu_kernel":
        return {"self": reals(drawer, *shape), "weight": reals(drawer, *[1] * len(shape))}
    return {"self": reals(drawer, *shape), "weight": reals(drawer, *weight)}


def draw_instance_norm(op, drawer):
    rng = drawer.rng
    channels = rng.randint(1, 3)
    x = reals(drawer, rng.randint(1, 3), channels, *[rng.randint(2, 4) for _ in range(rng.randint(1, 2))])
    given = some(drawer, weight=reals(drawer, channels), bias=reals(drawer, channels))
    given = {"weight": None, "bias": None} | given
    return given | {"input": x, "running_mean": None, "running_var": None, "use_input_stats": True, "momentum": 0.1, "eps": 1e-5, "cudnn_enabled": False}


def draw_masked(op, drawer):
    rng = drawer.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    return {"self": reals(drawer, *shape), "mask": drawer.data(shape, torch.bool), "source": reals(drawer, math.prod(shape) + rng.randint(0, 2))}


def draw_one_hot(op, drawer):
    shape = [drawer.rng.randint(1, 4) for _ in range(drawer.rng.randint(0, 2))]
    classes = drawer.rng.randint(1, 5)
    return {"self": wholes(drawer, shape, 0, classes - 1), "num_classes": classes}


def draw_grid(op, drawer):
    rng = drawer.rng
    n = rng.randint(1, 2)
    x = reals(drawer, n, rng.randint(1, 2), rng.randint(1, 4), rng.randint(1, 4))
    return {"input": x, "grid": torch.tensor([rng.uniform(-1.6, 1.6) for _ in range(n * 18)], dtype=torch.float64).reshape(n, 3, 3, 2),
            "interpolation_mode": rng.randint(0, 1), "padding_mode": rng.randint(0, 2), "align_corners": rng.random() < 0.5}


def draw_scaled(op, drawer):
    """What is not of 8 bits PyTorch does not refuse on a processor: it reads past the end."""
    rng = drawer.rng
    if not EIGHT_BITS:
        raise Refused
    rows, depth, columns = (rng.randint(1, 5) for _ in range(3))
    single = rng.random() < 0.5
    scale = lambda *shape: torch.tensor([rng.choice([0.25, 0.5, 0.7, 2.0]) for _ in range(math.prod(shape))]).reshape(shape)
    a, b = (reals(drawer, *shape).to(rng.choice(list(EIGHT_BITS))) for shape in ((rows, depth), (columns, depth)))
    return {"self": a, "mat2": b.t(), "scale_a": scale() if single else scale(rows, 1), "scale_b": scale() if single else scale(1, columns)} | \
        some(drawer, out_dtype=rng.choice([torch.float32, torch.bfloat16]))


def by(draw, *ops):
    return dict.fromkeys(ops, draw)


DRAWN_WHOLE = {
    **by(draw_recurrent, "lstm", "gru", "rnn_tanh", "rnn_relu"),
    **by(draw_cell, "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"),
    **by(draw_pad, *("%s_pad%dd" % (how, d) for how in ("reflection", "replication") for d in (1, 2, 3))),
    **by(draw_upsample, *("upsample_nearest%dd" % d for d in (1, 2, 3)), *("_upsample_nearest_exact%dd" % d for d in (1, 2, 3)),
         "upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d"),
    **by(draw_adaptive, *("adaptive_%s_pool%dd" % (how, d) for how in ("avg", "max") for d in (1, 2, 3)),
         "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"),
    **by(draw_unpool, "max_unpool2d", "max_unpool3d"),
    **by(draw_blocks, "im2col", "col2im"),
    **by(draw_attention, "scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu"),
    **by(draw_scatter, "scatter", "scatter_add", "scatter_reduce"),
    **by(draw_index, "index", "_unsafe_index", "index_put", "_unsafe_index_put"),
    **by(draw_index_along, "index_add", "index_copy", "index_fill"),
    **by(draw_classes, "nll_loss", "nll_loss_forward", "nll_loss2d", "nll_loss2d_forward", "nll_loss_nd", "cross_entropy_loss", "multi_margin_loss"),
    **by(draw_pair, "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "triplet_margin_loss",
         "margin_ranking_loss", "hinge_embedding_loss", "poisson_nll_loss", "kl_div", "soft_margin_loss"),
    **by(draw_distance, "cosine_similarity", "pairwise_distance", "cdist", "_cdist_forward"),
    **by(draw_einsum, "einsum"),
    **by(draw_distinct, "sort", "argsort", "topk", "kthvalue"),
    **by(draw_sorted, "bucketize", "searchsorted"),
    **by(draw_shuffle, "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle"),
    **by(draw_sizes, "split_with_sizes"),
    **by(draw_strided, "as_strided"),
    **by(draw_repeats, "repeat_interleave"),
    **by(draw_rms, "rms_norm", "_fused_rms_norm"),
    **by(draw_reshape, "_reshape_alias"),
    **by(draw_prelu, "prelu", "_prelu_kernel"),
    **by(draw_instance_norm, "instance_norm"),
    **by(draw_masked, "masked_scatter"),
    **by(draw_one_hot, "one_hot"),
    **by(draw_grid, "grid_sampler_2d"),
    **by(draw_scaled, "_scaled_mm"),
}
# Their values are a known draw of hone's own, or they exist on a GPU only, or they have no value: tested elsewhere.
NOT_COMPARED = {"native_dropout", "dropout", "feature_dropout", "bernoulli", "rand", "rand_like", "randn", "randn_like", "randint",
                "randperm", "empty", "empty_like", "new_empty",
                "_scaled_dot_product_efficient_attention", "_scaled_dot_product_flash_attention", "_scaled_dot_product_cudnn_attention",
                "_assert_tensor_metadata", "_grouped_mm"}  # the last: PyTorch has none of doubles
# What goes through functions that no library rounds to the last bit: their relative error is 1e-10, all others' 1e-12.
TRANSCENDENTAL = set("""
    exp exp2 expm1 log log10 log1p log2 logaddexp logaddexp2 logcumsumexp logit logsumexp log_sigmoid log_sigmoid_forward pow
    sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sinc erf erfc
    sigmoid silu softplus gelu mish elu celu selu glu softmax _softmax _safe_softmax log_softmax _log_softmax
    lstm gru rnn_tanh lstm_cell gru_cell rnn_tanh_cell scaled_dot_product_attention _scaled_dot_product_flash_attention_for_cpu
    binary_cross_entropy binary_cross_entropy_with_logits cross_entropy_loss kl_div poisson_nll_loss soft_margin_loss
    norm linalg_vector_norm cdist _cdist_forward pairwise_distance triplet_margin_loss
""".split())  # the last line: to a power that need not be whole
# Where terms cancel, an error is relative to the largest of them: of what the largest operand is.
CANCELLED = 1e-15
# What has no variance is its rounding, divided by the square root of an epsilon that is 1e-5 or more.
NORMALISED = set("_fused_rms_norm _native_batch_norm_legit _native_batch_norm_legit_functional _native_batch_norm_legit_no_training "
                 "group_norm instance_norm layer_norm native_batch_norm native_group_norm native_layer_norm rms_norm".split())


class Case:
    """One call: its node for the problem, its tensors and what PyTorch says."""

    def __init__(self, op, overload, rng):
        self.op, self.name = op, overload.__name__ if hasattr(overload, "__name__") else "default"
        schema = overload._schema
        drawer = Drawer(op, rng)
        positional, keywords, self.arguments, self.inputs = [], {}, {}, []
        lean = rng.random() < 0.3
        whole = None
        if op in DRAWN_WHOLE:
            drawer.special = False
            whole = DRAWN_WHOLE[op](op, drawer)
            if op == "repeat_interleave" and "Tensor" in str(schema.arguments[min(1, len(schema.arguments) - 1)].type):
                raise Refused
            if any(name not in [p.name for p in schema.arguments] for name in whole):
                raise Refused  # another overload's
        for parameter in schema.arguments:
            kind = str(parameter.type)
            has_default = parameter.has_default_value()
            if whole is not None:
                if parameter.name not in whole and not has_default:
                    raise Refused
                drawn = whole.get(parameter.name, parameter.default_value)
            elif any(word in kind for word in NOT_NUMBERS) or parameter.name in ("layout", "device", "pin_memory", "memory_format", "non_blocking",
                                                                               "generator", "requires_grad", "implicit"):
                if not has_default:
                    raise Refused
                drawn = parameter.default_value
            elif has_default and (lean or rng.random() < 0.4):
                drawn = parameter.default_value
            else:
                drawn = drawer.value(parameter.name, "int" if parameter.name == "dtype" and "Optional" not in kind else kind, parameter.N)
            if parameter.name == "dtype" and isinstance(drawn, int):  # a default
                raise Refused
            if parameter.kwarg_only:
                keywords[parameter.name] = drawn
            else:
                positional.append(drawn)
            if drawn is None or (has_default and same(drawn, parameter.default_value)):
                continue
            self.arguments[parameter.name] = drawn
        narrowed = self.arguments.get("dtype")
        if drawer.special and isinstance(narrowed, torch.dtype) and not narrowed.is_floating_point:
            raise Refused  # what infinity is as a whole number is nobody's to say
        if OLD and self.arguments.get("beta", 1) == 0:  # torch 1.13 multiplies memory that it never wrote by it
            raise Refused
        if OLD and op == "diff" and self.arguments.get("n", 1) < 0:  # torch 1.13 takes it for 0, later ones refuse
            raise Refused
        if OLD and "shift" in op and not all(0 <= n < 7 for n in whole_numbers(self.arguments["other"])):  # torch 1.13 asks the processor
            raise Refused
        self.overload = overload
        self.call = (positional, keywords)
        drawn_whole = whole.values() if whole else []
        self.tensors = drawer.tensors + [t for drawn in drawn_whole for t in (drawn if isinstance(drawn, list) else [drawn])
                                         if isinstance(t, torch.Tensor)]

    def run(self):
        """PyTorch's results with reals in double, and the types that it gives them by default."""
        positional, keywords = self.call
        made = {}
        for default in (torch.float32, torch.float64):
            torch.set_default_dtype(default)
            try:
                results = self.overload(*copied(positional), **{k: copied(v) for k, v in keywords.items()})
            except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError, AssertionError) as error:
                raise Refused from error
            finally:
                torch.set_default_dtype(torch.float32)
            results = list(results) if isinstance(results, (list, tuple)) else [results]
            if not results or not all(isinstance(r, torch.Tensor) and r.dtype in DTYPES for r in results):
                raise Refused
            types = {t.dtype for t in self.tensors}
            if OLD and self.op == "addmv" and len(types) > 1:  # later ones refuse them
                raise Refused
            if OLD and self.op.startswith("bitwise_") and self.overload._schema.overload_name == "Scalar_Tensor" and types == {torch.bool}:  # gives int64
                raise Refused
            if OLD and self.op == "max_pool1d" and not results[0].numel():  # gives nothing where no window fits
                raise Refused
            made[default] = results
        self.types = [DTYPES[r.dtype] for r in made[torch.float32]]
        self.exact_types = [DTYPES[r.dtype] for r in made[torch.float64]]
        self.want = [r.detach().contiguous() for r in made[torch.float64]]
        if any(r.numel() > 4000 for r in self.want):
            raise Refused
        return self

    def argument(self, value, prefix):
        if isinstance(value, torch.Tensor):
            name = "%s_x%d" % (prefix, len(self.inputs))
            self.inputs.append((name, value))
            return "%" + name
        if isinstance(value, torch.dtype):
            return DTYPES[value]
        if isinstance(value, (list, tuple)):
            return [self.argument(item, prefix) for item in value]
        if isinstance(value, float) and not math.isfinite(value):
            return {"real": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
        return value

    def node(self, prefix):
        self.inputs = []
        self.outputs = ["%s_y%d" % (prefix, i) for i in range(len(self.want))]
        return {"op": "aten.%s.%s" % (self.op, self.overload._schema.overload_name or "default"),
                "args": {name: self.argument(value, prefix) for name, value in self.arguments.items()}, "outputs": self.outputs}

    def __str__(self):
        def text(value):
            if isinstance(value, torch.Tensor):
                return "%s%s" % (DTYPES[value.dtype], list(value.shape)) + ("=%s" % value.tolist() if value.numel() <= 12 else "")
            if isinstance(value, (list, tuple)):
                return "[%s]" % ", ".join(map(text, value))
            return repr(value)
        return "%s.%s(%s)" % (self.op, self.overload._schema.overload_name or "default",
                              ", ".join("%s=%s" % (k, text(v)) for k, v in self.arguments.items()))


def whole_numbers(value):
    return value.flatten().tolist() if isinstance(value, torch.Tensor) else [value]


def copied(value):
    if isinstance(value, torch.Tensor):
        return value.clone()
    return [copied(v) for v in value] if isinstance(value, list) else value


def same(a, b):
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return False
    return type(a) is type(b) and a == b


def overloads_of(op):
    packet = getattr(torch.ops.aten, op, None)
    if packet is None:
        return []
    found = []
    for name in packet.overloads():
        overload = getattr(packet, name)
        schema = overload._schema
        kinds = " ".join(str(a.type) for a in schema.arguments)
        names = [a.name for a in schema.arguments]
        writes = any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
        if "out" in names or name.endswith("out") or writes or "Dimname" in str(schema) or "complex" in kinds or "Generator" in kinds:
            continue
        if not all("Tensor" in str(r.type) for r in schema.returns) or not any(r for r in schema.returns):
            continue
        found.append(overload)
    return found


def cases_of(op, wanted, seed):
    overloads = overloads_of(op)
    cases, counts = [], collections.Counter()
    for overload in overloads:
        share = max(3, wanted // len(overloads)) if len(overloads) > 1 else wanted
        for attempt in range(400 * share):
            if counts[overload] >= share:
                break
            try:
                cases.append(Case(op, overload, random.Random("%s %s %d %d" % (op, overload, seed, attempt))).run())
                counts[overload] += 1
            except Refused:
                pass
    return cases


# ---------------------------------------------------------------------------------------------------------------------
# Asking hone.

def raw(tensor):
    tensor = tensor.contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()) if tensor.numel() else b""


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, tensor in tensors:
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": SAFETENSORS[DTYPES[tensor.dtype]], "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, tensor in tensors:
            file.write(raw(tensor))


def read_safetensors(path):
    with open(path, "rb") as file:
        content = file.read()
    length = struct.unpack("<Q", content[:8])[0]
    found = {}
    for name, row in json.loads(content[8:8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + o for o in row["data_offsets"])
        dtype = TORCH_TYPES[row["dtype"].lower().replace("_", "")]
        found[name] = torch.frombuffer(bytearray(content[begin:end]), dtype=dtype).reshape(row["shape"]) if end > begin else \
            torch.zeros(row["shape"], dtype=dtype)
    return found


class Hone:
    def __init__(self, program, keep):
        self.program, self.keep = program, keep

    def run(self, *arguments):
        return subprocess.run([self.program, *arguments], capture_output=True, text=True)

    def ops(self):
        done = self.run("graph", "--ops", "--json")
        if done.returncode != 0:
            sys.exit("hone graph --ops: " + done.stderr)
        return [row["name"] for row in json.loads(done.stdout)["ops"]]

    def check(self, number, cases):
        """[(case, complaint)] of one problem."""
        complaints = []
        with tempfile.TemporaryDirectory() as scratch:
            folder = scratch
            if self.keep:
                folder = os.path.join(self.keep, "problem%d" % number)
                os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, "problem.json")
            while cases:
                nodes, inputs, tensors = [], [], []
                for i, case in enumerate(cases):
                    nodes.append(case.node("c%d" % i))
                    inputs += case.inputs
                for name, tensor in inputs:
                    tensors.append({"name": name, "shape": list(tensor.shape), "dtype": DTYPES[tensor.dtype], "role": "input",
                                    "generator": {"kind": "constant", "value": 0}})
                for case in cases:
                    for name, want, dtype in zip(case.outputs, case.want, case.types):
                        tensors.append({"name": name, "shape": list(want.shape), "dtype": dtype, "role": "output"})
                with open(path, "w") as file:
                    json.dump({"hone_problem": 1, "name": "property", "contract": "fp64", "tensors": tensors, "graph": nodes}, file, indent=1)
                write_safetensors(os.path.join(folder, "in.safetensors"), inputs)
                done = self.run("reference", path, "--inputs", os.path.join(folder, "in.safetensors"), "-o", os.path.join(folder, "out.safetensors"))
                if done.returncode == 0:
                    break
                if "compiling took longer than" in done.stderr and len(cases) > 1:  # on a busy machine
                    half = len(cases) // 2
                    return complaints + self.check(number, cases[:half]) + self.check(number, cases[half:])
                culprit = re.search(r"node (\d+) \(", done.stderr) or re.search(r"output 'c(\d+)_", done.stderr)
                if not culprit:
                    return complaints + [(cases[0], "the whole problem fails with status %d: %s" % (done.returncode, done.stderr.strip()[-2000:]))]
                case = cases.pop(int(culprit[1]))
                if "hone does not define" not in done.stderr:  # such as results whose shape hangs on the data
                    complaints.append((case, done.stderr.strip()))
            if cases:
                got = read_safetensors(os.path.join(folder, "out.safetensors"))
                for case in cases:
                    complaint = compare(case, got)
                    if complaint:
                        complaints.append((case, complaint))
        return complaints


def compare(case, got):
    largest = 1.0
    for tensor in case.tensors:
        real = tensor.double().abs()
        real = real[torch.isfinite(real)]
        if real.numel():
            largest = max(largest, min(float(real.max()), 1e6))
    cancelled = CANCELLED * (1e3 if case.op in NORMALISED else 1)
    for i, (name, want) in enumerate(zip(case.outputs, case.want)):
        mine = got[name]
        if not want.dtype.is_floating_point:
            want, mine = want.double(), mine
            bad = (want != mine) & (want.abs() < 2.0 ** 31)
        else:
            unit = UNIT.get(case.exact_types[i], 0)
            want, mine = want.double(), mine.double()
            near = (mine - want).abs() <= want.abs() * max(1e-10 if case.op in TRANSCENDENTAL else 1e-12, unit) + largest * max(cancelled, unit)
            bad = ~(near | (mine == want) | (mine.isnan() & want.isnan()))
            if unit:
                bad &= torch.isfinite(want)  # what overflows or vanishes in the narrow type is not hone's to say
        if bad.any():
            at = bad.flatten().nonzero()[0].item()
            place = list(bad.nonzero()[0].tolist())
            return "result %d at %s: hone says %.17g, PyTorch %.17g (%d of %d differ)" % (
                i, place, mine.flatten()[at].item(), want.flatten()[at].item(), int(bad.sum()), bad.numel())
    return None


# ---------------------------------------------------------------------------------------------------------------------
# Calls for tests without PyTorch.

CALLS_AN_OPERATOR = 4


def call_of(case):
    """The call without its data: a tensor is "%real_2x3", "%whole_4" or "%truth" (a scalar)."""
    def plain(value):
        if isinstance(value, torch.Tensor):
            kind = "real" if value.is_floating_point() else "truth" if value.dtype == torch.bool else "whole"
            return "%%%s" % "_".join([kind] + ["x".join(map(str, value.shape))] * (value.dim() > 0))
        return [plain(item) for item in value] if isinstance(value, list) else case.argument(value, "")
    return {"op": "aten.%s.%s" % (case.op, case.overload._schema.overload_name or "default"),
            "args": {name: plain(value) for name, value in case.arguments.items()}, "results": len(case.want)}


def form_of(call):
    """What calls that differ in sizes and numbers only have in common."""
    def kind(value):
        if isinstance(value, list):
            return sorted({str(kind(item)) for item in value})
        return value.split("_")[0] if isinstance(value, str) else value if isinstance(value, bool) else None
    return json.dumps([call["op"], sorted((name, kind(value)) for name, value in call["args"].items())])


def add_calls(path, ops, seed):
    with open(path) as file:
        calls = json.load(file)
    known = {call["op"].split(".")[1] for call in calls}
    for op in ops:
        forms = {}
        for case in cases_of(op, 40, seed) if op not in known else []:
            if all(t.numel() for t in case.tensors + case.want):
                call = call_of(case)
                forms.setdefault(form_of(call), []).append((sum(e > 1 for t in case.tensors for e in t.shape), call))
        # Of a form the one with the most extents that are not 1: most is computed there.
        calls += [max(ones, key=lambda one: one[0])[1] for ones in list(forms.values())[:CALLS_AN_OPERATOR]]
    calls.sort(key=lambda call: call["op"].split(".")[1])  # stable: those of an operator stay in order
    with open(path, "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(call) for call in calls) + "\n]\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hone")
    parser.add_argument("--only", default="")
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--keep", default="")
    parser.add_argument("--calls", default="")
    options = parser.parse_args()
    thorough = options.thorough or os.environ.get("HONE_THOROUGH", "") not in ("", "0")
    wanted = options.cases or (200 if thorough else 10)
    torch.set_num_threads(1)

    hone = Hone(options.hone, options.keep)
    ops = hone.ops()
    if options.only:
        ops = [op for op in ops if op in options.only.split(",")]
    ops = [op for op in ops if op not in NOT_COMPARED]
    if options.calls:
        return add_calls(options.calls, ops, options.seed)
    failures, cases, absent = [], [], []
    for op in ops:
        if not overloads_of(op):
            absent.append(op)
            continue
        made = cases_of(op, wanted, options.seed)
        if not made:
            failures.append("%s: no draw of its arguments is one that PyTorch takes: it is not tested" % op)
        cases += made
    if absent and not OLD:
        failures += ["%s: torch %s has no such operator: it is not tested" % (op, torch.__version__) for op in absent]
    # Each problem holds some of every operator, so that one bad operator does not sink a whole problem's turn.
    count = max(1, -(-len(cases) // NODES_A_PROBLEM))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for complaints in pool.map(hone.check, range(count), [cases[i::count] for i in range(count)]):
            failures += ["%s\n    %s" % (case, complaint) for case, complaint in complaints]
    for failure in sorted(failures):
        print(failure)
    print("%d cases of %d operators against torch %s%s: %d failures" % (
        len(cases), len(ops) - len(absent), torch.__version__, ", without " + " ".join(absent) if absent else "", len(failures)))
    sys.exit(1 if failures else 0)


main()
