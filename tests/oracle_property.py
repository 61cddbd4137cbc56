#!/usr/bin/env python3
"""Every operator of hone against PyTorch in float64, on random small cases.

    oracle_property.py HONE [--only OP,OP] [--cases N] [--seed N] [--thorough] [--keep FOLDER]

Cases come from the operators' own ATen schemas: each argument is drawn by its type and name, and a draw that PyTorch refuses is
drawn again. So a new operator in src/graph/ops/ is tested without a change here. Many cases make one problem, since compiling the
oracle costs more than running it. HONE_THOROUGH=1 is --thorough. Exit status 77: skipped, no torch.
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
TORCH_TYPES = {name: dtype for dtype, name in DTYPES.items()}
NOT_NUMBERS = {"Layout", "Device", "MemoryFormat", "Generator", "Storage", "Stream", "DimnameList", "Dimname"}
UNIT = {"f32": 2.0 ** -23, "f16": 2.0 ** -10, "bf16": 2.0 ** -7}
NODES_A_PROBLEM = 100
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
        self.dtypes = [torch.float64] if kind < 0.65 else [torch.int64] if kind < 0.75 else [torch.bool] if kind < 0.8 else \
            [torch.float64, torch.int64, torch.bool, torch.int32] if kind < 0.9 else \
            [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
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


DRAWN_WHOLE = {
    **{op: draw_recurrent for op in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
    **{op: draw_cell for op in ("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")},
}


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
        self.overload = overload
        self.call = (positional, keywords)
        self.tensors = drawer.tensors

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
            if not all(isinstance(r, torch.Tensor) and r.dtype in DTYPES for r in results):
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
        header[name] = {"dtype": DTYPES[tensor.dtype].upper(), "shape": list(tensor.shape), "data_offsets": [at, at + size]}
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
        dtype = TORCH_TYPES[row["dtype"].lower()]
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
    for i, (name, want) in enumerate(zip(case.outputs, case.want)):
        mine = got[name]
        if not want.dtype.is_floating_point:
            want, mine = want.double(), mine
            bad = (want != mine) & (want.abs() < 2.0 ** 31)
        else:
            unit = UNIT.get(case.exact_types[i], 0)
            want = want.double()
            near = (mine - want).abs() <= want.abs() * max(case.tolerance, unit) + 1e-13 * largest * max(1, unit * 1e13)
            bad = ~(near | (mine == want) | (mine.isnan() & want.isnan()))
            if unit:
                bad &= torch.isfinite(want)  # what overflows or vanishes in the narrow type is not hone's to say
        if bad.any():
            at = bad.flatten().nonzero()[0].item()
            place = list(bad.nonzero()[0].tolist())
            return "result %d at %s: hone says %.17g, PyTorch %.17g (%d of %d differ)" % (
                i, place, mine.flatten()[at].item(), want.flatten()[at].item(), int(bad.sum()), bad.numel())
    return None


Case.tolerance = 1e-10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hone")
    parser.add_argument("--only", default="")
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--keep", default="")
    options = parser.parse_args()
    thorough = options.thorough or os.environ.get("HONE_THOROUGH", "") not in ("", "0")
    wanted = options.cases or (200 if thorough else 10)
    torch.set_num_threads(1)

    hone = Hone(options.hone, options.keep)
    ops = hone.ops()
    if options.only:
        ops = [op for op in ops if op in options.only.split(",")]
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
    with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for complaints in pool.map(hone.check, range(count), [cases[i::count] for i in range(count)]):
            failures += ["%s\n    %s" % (case, complaint) for case, complaint in complaints]
    for failure in sorted(failures):
        print(failure)
    print("%d cases of %d operators against torch %s%s: %d failures" % (
        len(cases), len(ops) - len(absent), torch.__version__, ", without " + " ".join(absent) if absent else "", len(failures)))
    sys.exit(1 if failures else 0)


main()
