"""Reads with PyTorch what only PyTorch can read, and answers one JSON document: {"problem": ...} or {"error": "one line"}.

A KernelBench-style file, a definition of SOL-ExecBench or FlashInfer-Bench, or a program that torch.export saved. Run by hone as
a child: python -I -c THIS OPTIONS, where OPTIONS is a JSON object (see import/through_python.cc and import/importers/).
Works with torch 2.x (torch.export) and with torch 1.13 (make_fx). Tensors are fake ones, without data, wherever that goes.
"""
import contextlib
import ctypes
import hashlib
import json
import linecache
import math
import operator
import os
import re
import resource
import sys
import traceback
import types

# The answer goes to our real standard output; whatever the user's file prints goes to standard error.
ANSWER = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

OPTIONS = json.loads(sys.argv[1])
PATH = OPTIONS["path"]
KIND = OPTIONS.get("kind", "kernelbench_py")
CODE = PATH + " (reference)" if KIND == "definition" else PATH  # the file name that tracebacks give the user's code


class Complaint(Exception):
    """One line for the user: PATH or PATH:LINE is put before it."""

    def __init__(self, message, line=None):
        super().__init__(message)
        self.line = line


def answer(document):
    ANSWER.write(json.dumps(document) + "\n")
    ANSWER.flush()
    os._exit(0)  # no destructors or exit handlers of the user's file


def fail(message, line=None):
    place = PATH if line is None else "%s: line %d of the reference" % (PATH, line) if KIND == "definition" else "%s:%d" % (PATH, line)
    answer({"error": "%s: %s" % (place, " ".join(str(message).split())[:600])})


def line_in_file(error):
    """The innermost line of the user's file that the error passed through, or None."""
    lines = [row.lineno for row in traceback.extract_tb(error.__traceback__) if row.filename == CODE]
    return lines[-1] if lines else None


def out_of_memory(error):
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error) or "not enough memory" in str(error)


def describe_error(error):
    first = next((row.strip() for row in str(error).splitlines() if row.strip()), "")
    text = "%s: %s" % (type(error).__name__, first) if first else type(error).__name__
    if isinstance(error, ModuleNotFoundError) and error.name:
        text += " (pip install %s)" % error.name.split(".")[0]
    if out_of_memory(error):
        text = "needs more than the %.1f GB of memory that an import may take" % (OPTIONS["memory_bytes"] / 1e9)
    return text


def set_memory_limit():
    # Of data, not of addresses: PyTorch maps far more than it ever touches.
    limit = OPTIONS["memory_bytes"]
    if limit:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


try:
    import torch
except ImportError as error:
    fail("%s has no torch: %s" % (sys.executable, error))

import torch.nn as nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

NEW = hasattr(torch, "export") and hasattr(torch.export, "export")
SEED = 42  # KernelBench's, before the model is made

DTYPES = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
    torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool",
}
SAFETENSORS = {"f64": "F64", "f32": "F32", "f16": "F16", "bf16": "BF16", "i64": "I64", "i32": "I32", "i16": "I16",
               "i8": "I8", "u8": "U8", "bool": "BOOL"}


def dtype_name(tensor, what):
    if tensor.dtype not in DTYPES:
        raise Complaint("%s is of type %s, which hone does not know" % (what, tensor.dtype))
    return DTYPES[tensor.dtype]


# ---------------------------------------------------------------------------------------------------------------------
# Where values come from. Fake tensors have no data, so what is drawn into them is written down as it happens.

class Origin:
    """How the elements of a storage came about: a generator where that is known, and whether chance was involved.

    `sample`: some elements as operators on such draws would make them, where no generator says it: a softmax of uniform numbers.
    """

    def __init__(self, kind="unknown", a=0.0, b=0.0, random=False, value=None, spread=False, sample=None):
        self.kind, self.a, self.b, self.random, self.value, self.spread, self.sample = kind, a, b, random, value, spread, sample

    def drawn(self, count, seed):
        """`count` real elements, or None."""
        chance = torch.Generator().manual_seed(seed)
        if self.sample is not None:
            return self.sample[:count]
        if self.kind == "constant":
            return torch.full((count,), float(self.a), dtype=torch.float64)
        if self.kind == "uniform":
            return self.a + (self.b - self.a) * torch.rand(count, generator=chance, dtype=torch.float64)
        if self.kind == "normal":
            return self.a + self.b * torch.randn(count, generator=chance, dtype=torch.float64)
        if self.kind == "integer" and not self.spread:
            return torch.randint(int(self.a), int(self.b), (count,), generator=chance).double()
        return None

    def affine(self, scale, shift):
        if not (math.isfinite(scale) and math.isfinite(shift)) or scale == 0:
            return Origin(random=self.random)
        if self.kind == "constant":
            return Origin("constant", self.a * scale + shift)
        if self.kind == "uniform":
            low, high = self.a * scale + shift, self.b * scale + shift
            return Origin("uniform", min(low, high), max(low, high), True)
        if self.kind == "normal":
            return Origin("normal", self.a * scale + shift, self.b * abs(scale), True)
        if self.kind == "integer" and scale == int(scale) and shift == int(shift):
            # Spread by more than 1, as in 2 * randint(0, 2) - 1: the range has values that the file does not draw.
            ends = sorted((self.a * int(scale) + int(shift), (self.b - 1) * int(scale) + int(shift)))
            return Origin("integer", ends[0], ends[1] + 1, True, spread=self.spread or abs(scale) != 1)
        return Origin(random=self.random, sample=None if self.sample is None else real(lambda: self.sample * scale + shift))

    def generator(self):
        if self.kind == "constant":
            return {"kind": "constant", "value": number(float(self.a))}
        if self.kind == "uniform" and self.a < self.b:
            return {"kind": "uniform", "low": self.a, "high": self.b}
        if self.kind == "normal":
            return {"kind": "normal", "mean": self.a, "deviation": self.b}
        if self.kind == "integer":
            return {"kind": "integer", "low": int(self.a), "high": int(self.b)}
        return None


def number(value):
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def storage_of(tensor):
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage._cdata, storage.nbytes()


SAMPLE = 1 << 14  # elements
# Operators that a sample goes through: element by element, of one or of two tensors.
OF_ONE = {"abs", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "square", "reciprocal", "sigmoid", "tanh", "relu", "softplus",
          "sin", "cos", "floor", "ceil", "round", "neg"}
OF_TWO = {"mul", "add", "sub", "div", "maximum", "minimum", "pow"}


def real(work):
    """work() on real tensors, whatever modes are on."""
    with no_dispatch():
        return work()


def sampled(name, args, kwargs, origins, made):
    """What an operator makes of samples of what it reads, or None."""
    def draws(position, tensor):
        return origins[position].drawn(1 if tensor.numel() == 1 else SAMPLE, 1 + position)

    def work():
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        if not made.dtype.is_floating_point or len(tensors) != len(origins) or not any(o.random for o in origins):
            return None
        samples = [draws(i, tensor) for i, tensor in enumerate(tensors)]
        if any(sample is None for sample in samples):
            return None
        if name in ("_softmax", "softmax", "_log_softmax", "log_softmax") and len(samples) == 1 and len(args) > 1:
            extent, sample = int(made.shape[args[1]]), samples[0]
            powers = (sample - sample.max()).exp()
            if extent * 4 <= sample.numel():
                powers = powers[: sample.numel() // extent * extent].reshape(-1, extent)
                parts = (powers / powers.sum(1, keepdim=True)).reshape(-1)
            else:
                parts = powers / (powers.mean() * extent)
            return parts.log() if "log" in name else parts
        scalars = [a for a in args if isinstance(a, (int, float)) and not isinstance(a, bool)]
        if name in OF_ONE and len(args) == 1:
            return getattr(nn.functional if name == "softplus" else torch, name)(samples[0])
        if name in ("clamp", "clamp_min", "clamp_max") and len(samples) == 1:
            ends = (args[1:] + (None,))[:2] if name == "clamp" else (args[1], None) if name == "clamp_min" else (None, args[1])
            low, high = kwargs.get("min", ends[0]), kwargs.get("max", ends[1])
            return samples[0].clamp(low, high)
        if name in OF_TWO and not kwargs and len(args) == 2 and len(samples) + len(scalars) == 2:
            both = [samples.pop(0) if isinstance(a, torch.Tensor) else torch.tensor(float(a), dtype=torch.float64) for a in args]
            return getattr(torch, name)(*both)
        return None

    def finite():
        sample = work()
        return sample if sample is not None and bool(torch.isfinite(sample).all()) else None

    return real(finite)


RANDOM = re.compile(r"rand|bernoulli|multinomial|normal|uniform|exponential|cauchy|geometric|poisson|dropout|random_")


class Recorder(TorchDispatchMode):
    """Sees every operator while the model and its inputs are made."""

    def __init__(self):
        super().__init__()
        self.origins = {}
        self.keep = []  # storages that are alive keep their addresses to themselves

    def of(self, tensor):
        return self.origins.get(storage_of(tensor)[0]) or Origin()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        read = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        origins = [self.of(t) for t in read]
        places = {storage_of(t)[0] for t in read}
        out = func(*args, **kwargs)
        name = func._schema.name.split("::")[-1]
        if name.endswith("_") and not name.endswith("__") and read:
            target = args[0]
            place, size = storage_of(target)
            whole = target.numel() * target.element_size() == size
            origin = self.result(name[:-1], args, kwargs, origins, target)
            self.origins[place] = origin if whole else Origin(random=origin.random or origins[0].random)
        else:
            for made in tree_flatten(out)[0]:
                if isinstance(made, torch.Tensor) and storage_of(made)[0] not in places:
                    self.keep.append(made)
                    self.origins[storage_of(made)[0]] = self.result(name, args, kwargs, origins, made)
                elif isinstance(made, torch.Tensor) and name.startswith("lift") and not isinstance(args[0], FakeTensor):
                    self.origins[storage_of(made)[0]] = Origin(value=args[0])
        return out

    @staticmethod
    def result(name, args, kwargs, origins, made):
        def arg(i, key, default):
            return args[i] if len(args) > i else kwargs.get(key, default)

        base = name[:-5] if name.endswith("_like") else name
        if name in ("uniform",):
            return Origin("uniform", float(arg(1, "from", 0.0)), float(arg(2, "to", 1.0)), True)
        if name == "normal" and origins:
            return Origin("normal", float(arg(1, "mean", 0.0)), float(arg(2, "std", 1.0)), True)
        if base == "rand":
            return Origin("uniform", 0.0, 1.0, True)
        if base == "randn":
            return Origin("normal", 0.0, 1.0, True)
        if base == "randint":
            numbers = [a for a in args if isinstance(a, int) and not isinstance(a, bool)]
            low, high = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
            return Origin("integer", low, high, True)
        if name == "random" and len(args) >= 2 and all(isinstance(a, int) for a in args[1:3]):
            low, high = (0, args[1]) if len(args) == 2 else args[1:3]
            return Origin("integer", low, high, True)
        if base in ("ones", "new_ones"):
            return Origin("constant", 1.0)
        if base in ("zeros", "zero", "new_zeros"):
            return Origin("constant", 0.0)
        if base in ("full", "new_full", "fill", "scalar_tensor"):
            value = arg(0 if base == "scalar_tensor" else 2 if base == "new_full" else 1, "value", None)
            if isinstance(value, (int, float)):
                return Origin("constant", float(value))
        if base.startswith(("empty", "new_empty")):
            return Origin("empty")
        if name.startswith("lift") and not isinstance(args[0], FakeTensor):
            return Origin(value=args[0])
        source = origins[0] if origins else None
        if source is not None:
            if name in ("clone", "lift_fresh", "lift_fresh_copy", "contiguous", "repeat", "expand_copy"):
                return source
            if name == "copy" and len(origins) > 1:
                return origins[1]
            if name == "_to_copy":
                to_float = made.dtype.is_floating_point
                keeps = to_float or source.kind == "constant" and source.a == int(source.a) or source.kind == "integer"
                return source if keeps and made.dtype != torch.bool else Origin(random=source.random)
            scalars = [a for a in args if isinstance(a, (int, float)) and not isinstance(a, bool)]
            if len(origins) == 1 and len(args) == 2 and len(scalars) == 1 and not kwargs:
                s = float(scalars[0])
                if name == "mul":
                    return source.affine(s, 0.0)
                if name == "div" and s != 0:
                    return source.affine(1.0 / s, 0.0)
                if name == "add":
                    return source.affine(1.0, s)
                if name == "sub" and isinstance(args[0], torch.Tensor):
                    return source.affine(1.0, -s)
                if name == "rsub":
                    return source.affine(-1.0, s)
            if name == "neg":
                return source.affine(-1.0, 0.0)
        return Origin(random=any(o.random for o in origins) or bool(RANDOM.search(name)),
                      sample=sampled(name, args, kwargs, origins, made) if origins else None)


def measured(tensor):
    """A generator that resembles real data of which chance was a part."""
    if tensor.numel() == 0:
        return {"kind": "constant", "value": 0}
    flat = tensor.detach().reshape(-1)
    if flat.numel() > 1 << 22:
        flat = flat[:: flat.numel() >> 22]
    real = flat.double()
    low, high = real.min().item(), real.max().item()
    if low == high:
        return {"kind": "constant", "value": number(low)}
    if not (math.isfinite(low) and math.isfinite(high)):
        raise Complaint("a tensor that is drawn at random holds infinities or NaN; import it with --weights")
    if not tensor.dtype.is_floating_point or (bool((real == real.round()).all()) and high - low < 1 << 20):
        return {"kind": "integer", "low": int(low), "high": int(high) + 1}
    mean, deviation = real.mean().item(), real.std().item()
    # The fourth moment tells a uniform (1.8) from a normal (3).
    kurtosis = ((real - mean) / deviation).pow(4).mean().item()
    short = lambda x: float("%.5g" % x)
    if kurtosis < 2.2:
        return {"kind": "uniform", "low": short(low), "high": short(high)}
    if (low >= 0 or high <= 0) and abs(mean) < 5 * deviation:
        # A normal would leave the side of zero that all lie on, which a logarithm or a root may need.
        reach = math.sqrt(3) * deviation
        return {"kind": "uniform", "low": short(max(low, mean - reach)), "high": short(min(high, mean + reach))}
    return {"kind": "normal", "mean": short(mean), "deviation": short(deviation)}


def constant_of(tensor):
    """The one value that all elements have, or None."""
    if tensor.numel() == 0:
        return 0
    flat = tensor.detach().reshape(-1)
    first = flat[0]
    same = bool((flat == first).all()) or bool(torch.isnan(flat.double()).all())
    return number(float(first.item())) if same else None


# ---------------------------------------------------------------------------------------------------------------------
# The user's file.

def read_source():
    try:
        with open(PATH, "rb") as file:
            return file.read()
    except OSError as error:
        raise Complaint("cannot be read: %s" % error.strerror)


def run_source(source):
    """The user's module, after its code has run."""
    try:
        code = compile(source, CODE, "exec")
    except SyntaxError as error:
        raise Complaint("%s: %s" % (type(error).__name__, error.msg), error.lineno)
    except ValueError as error:
        raise Complaint("is no Python source: %s" % error)
    except RecursionError:
        raise Complaint("nests too deep for Python")
    linecache.checkcache(PATH)
    module = types.ModuleType("hone_problem_file")
    module.__file__ = PATH
    sys.modules["hone_problem_file"] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(PATH)))
    torch.manual_seed(SEED)
    exec(code, module.__dict__)
    return module


def load_source(source):
    if KIND == "definition":
        return load_definition(source)
    module = run_source(source)
    model = getattr(module, "Model", None)
    if model is None:
        raise Complaint("no class Model")
    match = re.search(rb"^class\s+Model\b", source, re.M)
    line = source[: match.start()].count(b"\n") + 1 if match else None
    if not (isinstance(model, type) and issubclass(model, nn.Module)):
        raise Complaint("Model is not a torch.nn.Module", line)
    if getattr(model, "forward", None) is getattr(nn.Module, "forward", None):
        raise Complaint("class Model has no forward", line)
    if not callable(getattr(module, "get_inputs", None)):
        raise Complaint("no get_inputs()")
    return module, hashlib.sha256(source).hexdigest()


# What a definition calls the types. Others, such as float8_e4m3fn, torch may know; hone does not.
DEFINED_TYPES = {
    "float64": torch.float64, "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "int64": torch.int64,
    "int32": torch.int32, "int16": torch.int16, "int8": torch.int8, "uint8": torch.uint8, "bool": torch.bool,
}


class Definition:
    """A definition with one workload: axes have values, inputs a source."""

    def __init__(self, document, workload, where):
        self.document, self.where = document, where or PATH
        self.workload = workload if isinstance(workload, dict) else {}
        self.sources = self.workload.get("inputs", {})
        if not isinstance(self.sources, dict) or not isinstance(self.workload.get("axes", {}), dict):
            raise Complaint("%s: axes or inputs of the workload are no objects" % self.where)
        self.axes = {}
        for name, row in document["axes"].items():
            if not isinstance(row, dict):
                raise Complaint("/axes/%s: is not an object" % name)
            if row.get("type") == "const":
                self.axes[name] = self.extent(row.get("value"), "/axes/%s/value" % name)
            elif row.get("type") == "var":
                if name not in self.workload.get("axes", {}):
                    raise Complaint("/axes/%s: is variable, and %s" % (
                        name, "%s gives it no value" % self.where if self.workload else "there is no workload beside the file"))
                self.axes[name] = self.extent(self.workload["axes"][name], "%s: axis %s" % (self.where, name))
            elif row.get("type") != "expr":
                raise Complaint("/axes/%s/type: is %r; known are const, var, expr" % (name, row.get("type")))
        for name, row in document["axes"].items():
            if row.get("type") == "expr":
                place = "/axes/%s/expression" % name
                self.axes[name] = self.extent(self.evaluate(row.get("expression"), place), place)

    @staticmethod
    def extent(value, place):
        if isinstance(value, float) and value == int(value):
            value = int(value)
        if type(value) is not int or not 0 <= value < 1 << 40:
            raise Complaint("%s: is %r, not a size" % (place, value))
        return value

    def evaluate(self, text, place):
        import ast

        def value(node, depth=0):
            if depth > 50:
                raise Complaint("%s: nests too deep" % place)
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                return node.value
            if isinstance(node, ast.Name):
                row = self.document["axes"].get(node.id)
                if node.id in self.axes:
                    return self.axes[node.id]
                if isinstance(row, dict) and row.get("type") == "expr" and row.get("expression") != text:
                    return value(ast.parse(str(row.get("expression")), mode="eval").body, depth + 1)
                raise Complaint("%s: %s is no axis" % (place, node.id))
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
                inner = value(node.operand, depth + 1)
                return inner if isinstance(node.op, ast.UAdd) else -inner
            operators = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
                         ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow}
            if isinstance(node, ast.BinOp) and type(node.op) in operators:
                left, right = value(node.left, depth + 1), value(node.right, depth + 1)
                if isinstance(node.op, ast.Pow) and (abs(left) > 1 << 20 or abs(right) > 64):
                    raise Complaint("%s: a power is too large" % place)
                return operators[type(node.op)](left, right)
            raise Complaint("%s: %r is no expression of axes; known are + - * / // %% ** and brackets" % (place, text))

        try:
            return value(ast.parse(str(text), mode="eval").body)
        except (SyntaxError, ArithmeticError, RecursionError, MemoryError) as error:
            raise Complaint("%s: %r: %s" % (place, text, error))

    def shape(self, row, place):
        """A list of extents, or None for a plain number."""
        shape = row.get("shape") if isinstance(row, dict) else 0
        if shape is None:
            return None
        if not isinstance(shape, list):
            raise Complaint("%s/shape: is not a list of axes" % place)
        for name in shape:
            if not (isinstance(name, str) and name in self.axes):
                raise Complaint("%s/shape: %r is no axis" % (place, name))
        return [self.axes[name] for name in shape]

    def dtype(self, row, place):
        name = row.get("dtype") if isinstance(row, dict) else None
        if name not in DEFINED_TYPES:
            raise Complaint("%s/dtype: is %r, which hone does not know; it knows %s" % (place, name, ", ".join(DEFINED_TYPES)))
        return DEFINED_TYPES[name]

    def number(self, name, row):
        source = self.sources.get(name)
        if isinstance(source, dict) and source.get("type") == "scalar" and type(source.get("value")) in (int, float, bool):
            return source["value"]
        raise Complaint("%s: gives the number %s no value" % (self.where, name))

    def stored(self, name, source, shape, dtype):
        path = os.path.join(os.path.dirname(self.where.rsplit(":", 1)[0]), str(source.get("path")))
        try:
            with open(path, "rb") as file:
                header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
                row = header[source.get("tensor_key")]
                file.seek(-0, 1)
                begin, end = row["data_offsets"]
                file.seek(begin, 1)
                data = bytearray(file.read(end - begin))
            tensor = torch.frombuffer(data, dtype=dtype).reshape(shape)
        except Complaint:
            raise
        except Exception as error:
            raise Complaint("%s: input %s: %s cannot be read as %s: %s" % (self.where, name, path, shape, describe_error(error)))
        return tensor

    def inputs(self, module):
        rows = self.document["inputs"]
        if any(isinstance(s, dict) and s.get("type") == "custom" for s in self.sources.values()):
            entry = getattr(module.source, str(self.document.get("custom_inputs_entrypoint")), None)
            if not callable(entry):
                raise Complaint("%s: wants custom inputs, and the reference has no function %s" % (
                    self.where, self.document.get("custom_inputs_entrypoint")))
            known = dict(self.axes)
            known.update({name: source["value"] for name, source in self.sources.items()
                          if isinstance(source, dict) and source.get("type") == "scalar" and "value" in source})
            made = entry(known, torch.device("cpu"))
            if not isinstance(made, dict) or any(name not in made for name in rows):
                raise Complaint("/custom_inputs_entrypoint: gives no dict with all of %s" % ", ".join(rows))
            return [made[name] for name in rows]
        return [self.input(name, row) for name, row in rows.items()]

    def input(self, name, row):
        place = "/inputs/%s" % name
        shape = self.shape(row, place)
        if shape is None:
            return self.number(name, row)
        dtype, source = self.dtype(row, place), self.sources.get(name, {"type": "random"})
        kind = source.get("type") if isinstance(source, dict) else None
        if kind == "safetensors":
            return self.stored(name, source, shape, dtype)
        if kind != "random":
            raise Complaint("%s: input %s comes from %r; known are random, scalar, safetensors, custom" % (self.where, name, kind))
        if dtype == torch.bool:
            return torch.randint(0, 2, shape).to(torch.bool)
        if not dtype.is_floating_point:
            return torch.randint(0, 2, shape, dtype=dtype)  # the one range that is valid as an index, too
        # As the benchmark draws them: normal, but parameters at the scale that a trained model has.
        if re.search(r"(^|_)(norm|ln|gamma|rms)\w*weight|norm_weight|^weight$", name) and len(shape) == 1:
            return torch.ones(shape, dtype=dtype)
        drawn = torch.randn(shape, dtype=dtype)
        return drawn / math.sqrt(shape[-1]) if re.search(r"weight|proj|^w_", name) and len(shape) >= 2 and shape[-1] else drawn


def load_definition(source):
    try:
        document = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise Complaint("not JSON: %s" % error)
    definition = Definition(document, OPTIONS.get("workload"), OPTIONS.get("workload_where"))
    code = run_source(document["reference"])
    run = getattr(code, "run", None)
    if not callable(run):
        raise Complaint("/reference: has no function run")
    while hasattr(run, "__wrapped__"):  # torch.no_grad: nothing here asks for gradients
        run = run.__wrapped__

    class Model(nn.Module):
        input_names = list(document["inputs"])
        output_names = list(document["outputs"])

        def forward(self, *inputs):
            result = run(*inputs)
            return [result[name] for name in document["outputs"]] if isinstance(result, dict) else result

    module = types.SimpleNamespace(source=code, Model=Model, definition=definition, name=document.get("name"))
    module.get_inputs = lambda: definition.inputs(module)
    return module, hashlib.sha256(source).hexdigest()


def check_outputs(definition, problem):
    """The reference gives what the definition says that it gives."""
    made = [row for row in problem["tensors"] if row["role"] == "output"]
    rows = list(definition.document["outputs"].items())
    if len(made) != len(rows):
        raise Complaint("/outputs: names %d, and run() gives %d" % (len(rows), len(made)))
    for (name, row), tensor in zip(rows, made):
        place = "/outputs/%s" % name
        shape, dtype = definition.shape(row, place) or [], DTYPES[definition.dtype(row, place)]
        if tensor["shape"] != shape or tensor["dtype"] != dtype:
            raise Complaint("%s: is %s %s, and run() gives %s %s" % (place, dtype, shape, tensor["dtype"], tensor["shape"]))


@contextlib.contextmanager
def fakes(wanted):
    """Fake tensors and what they need: initializers that look at data are replaced by ones that do not."""
    if not wanted:
        yield None
        return
    truncated = nn.init.trunc_normal_

    def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
        # The deviation of a normal cut at a and b; what is recorded is the normal with that deviation.
        density = lambda x: math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        share = lambda x: (1 + math.erf(x / math.sqrt(2))) / 2
        low, high = (a - mean) / std, (b - mean) / std
        mass = max(share(high) - share(low), 1e-12)
        shift = (density(low) - density(high)) / mass
        spread = 1 + (low * density(low) - high * density(high)) / mass - shift * shift
        with torch.no_grad():
            return tensor.normal_(mean + std * shift, std * math.sqrt(max(spread, 1e-12)))

    nn.init.trunc_normal_ = trunc_normal_
    try:
        with (FakeTensorMode(allow_non_fake_inputs=True) if NEW else FakeTensorMode()) as mode:
            yield mode
    finally:
        nn.init.trunc_normal_ = truncated


# Recurrent layers are operators of PyTorch, but tracing takes them apart, step by step in time: tens of thousands of nodes.
# While a model runs, its layers call operators of our own instead, which are nothing but a schema and shapes.
RECURRENT = {
    "lstm": "(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
            "bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
    "gru": "(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
           "bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
}
RECURRENT["rnn_tanh"] = RECURRENT["rnn_relu"] = RECURRENT["gru"]
LIBRARY = []  # torch.library keeps definitions as long as the library lives


def define_recurrent():
    if LIBRARY:
        return
    LIBRARY.append(torch.library.Library("hone_whole", "DEF"))
    for name, schema in RECURRENT.items():
        LIBRARY[0].define(name + schema)

        def shapes(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
            states = list(hx) if isinstance(hx, (list, tuple)) else [hx]
            out = input.new_empty(tuple(input.shape[:-1]) + (states[0].shape[-1] * (2 if bidirectional else 1),))
            return tuple([out] + [torch.empty_like(state) for state in states])

        LIBRARY[0].impl(name, shapes, "Meta")
        packet = getattr(torch.ops.aten, name)
        LIBRARY[0].impl(name, lambda *args, op=packet.input: op(*args), "CPU")


@contextlib.contextmanager
def recurrences_whole():
    define_recurrent()
    saved = {}

    def divert(name, original):
        op = getattr(torch.ops.hone_whole, name)

        def call(*args):
            if len(args) == 9 and not isinstance(args[3], torch.Tensor) and not isinstance(args[1], torch.Tensor) ^ (name != "lstm"):
                return op(*args)
            return original(*args)  # packed sequences

        return call

    for name in RECURRENT:
        saved[name] = getattr(torch._VF, name)
        setattr(torch._VF, name, divert(name, saved[name]))
    try:
        yield
    finally:
        for name in RECURRENT:
            setattr(torch._VF, name, saved[name])


def register_plain_tensors(model):
    """Tensors that a module merely holds are state as buffers are: torch.export wants them registered."""
    for part in model.modules():
        for name, value in list(part.__dict__.items()):
            if isinstance(value, torch.Tensor) and name not in part._buffers and name not in part._parameters:
                del part.__dict__[name]
                part.register_buffer(name, value, persistent=False)


class Built:
    def __init__(self, module, fake, record=True):
        self.fake = fake
        self.recorder = Recorder()
        torch.manual_seed(SEED)
        init = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
        if not NEW:
            define_recurrent()
            define_old_shapes()
        with fakes(fake) as self.mode, self.recorder if record else contextlib.nullcontext():
            self.model = module.Model(*init) if isinstance(init, (list, tuple)) else module.Model(**init)
            inputs = module.get_inputs()
        register_plain_tensors(self.model)
        if not isinstance(inputs, (list, tuple)):
            raise Complaint("get_inputs() gives a %s, not a list" % type(inputs).__name__)
        self.inputs = list(inputs)
        self.weights = dict(self.model.named_parameters())
        self.weights.update(self.model.named_buffers())


class Archive:
    """What Built is, of a program that torch.export saved: its tensors are real, how they were drawn is not known."""

    fake = False

    def __init__(self):
        if not NEW:
            raise Complaint("is a program of torch.export, which torch %s cannot read; use torch 2" % torch.__version__)
        try:
            self.program = torch.export.load(PATH)
        except Exception as error:
            if out_of_memory(error):
                raise
            raise Complaint("is no program that torch %s can load: %s" % (torch.__version__.split("+")[0], describe_error(error)))
        given, named = self.program.example_inputs or ((), {})
        self.inputs = list(given) + list((named or {}).values())
        self.weights = dict(self.program.state_dict)
        drawn = {id(t) for t in tree_flatten(self.inputs)[0]}
        drawn |= {id(self.weights[name]) for name in self.program.graph_signature.parameters if name in self.weights}
        self.recorder = types.SimpleNamespace(of=lambda tensor: Origin(random=id(tensor) in drawn))
        names = [spec.arg.name for spec in self.program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
        self.model = types.SimpleNamespace(input_names=names)


def total_bytes(built):
    tensors = [t for t in tree_flatten(built.inputs)[0] if isinstance(t, torch.Tensor)] + list(built.weights.values())
    return sum(t.numel() * t.element_size() for t in tensors)


# ---------------------------------------------------------------------------------------------------------------------
# The graph: PyTorch's nodes as calls of functional operators on named values.

class Value:
    def __init__(self, hint, tensor=None):
        self.hint, self.tensor, self.name = hint, tensor, None


class Cell:
    """What a PyTorch node stands for. In-place operators give a cell a new value; then its views are out of date."""

    def __init__(self, value, base=None):
        self.value, self.views, self.stale, self.base = value, [], None, base
        if base is not None:
            base.views.append(self)

    def mutate(self, value, op):
        self.value = value
        for view in self.views:
            view.make_stale(op)
        if self.base is not None:
            self.base.make_stale(op)
            for view in self.base.views:
                if view is not self:
                    view.make_stale(op)

    def make_stale(self, op):
        self.stale = op
        for view in self.views:
            view.make_stale(op)


SKIPPED_ARGUMENTS = ("device", "layout", "pin_memory", "memory_format", "generator", "implicit", "non_blocking")
IDENTITIES = ("detach", "alias", "lift", "lift_fresh", "lift_fresh_copy", "clone", "contiguous", "detach_copy")
SAME_SHAPE_IDENTITIES = ("slice", "view", "_unsafe_view", "reshape", "_reshape_alias", "expand", "view_copy", "expand_copy")


class GraphWriter:
    def __init__(self):
        self.cells = {}   # PyTorch node -> Cell, or a list of them for several results
        self.calls = []   # (op, arguments, [Value or None])

    def value(self, node):
        cell = self.cells[node]
        if isinstance(cell, list):
            raise Complaint("the results of %s are used as one value" % node.name)
        if cell.stale:
            raise Complaint("%s changes a view in place, which torch %s cannot express; import with torch 2" %
                            (cell.stale, torch.__version__))
        return cell.value

    def argument(self, value):
        if isinstance(value, torch.fx.Node):
            return self.value(value)
        if isinstance(value, (list, tuple)):
            return [self.argument(item) for item in value]
        if isinstance(value, torch.dtype):
            if value not in DTYPES:
                raise Complaint("the type %s is one that hone does not know" % value)
            return DTYPES[value]
        if isinstance(value, float) and not math.isfinite(value):
            return {"real": number(value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return str(value)

    def arguments(self, node):
        given = {}
        for i, parameter in enumerate(node.target._schema.arguments):
            if i < len(node.args):
                value = node.args[i]
            elif parameter.name in node.kwargs:
                value = node.kwargs[parameter.name]
            else:
                continue
            if parameter.name in SKIPPED_ARGUMENTS:
                continue
            if parameter.has_default_value() and not isinstance(value, torch.fx.Node) and \
                    plain(value) == plain(parameter.default_value):
                continue
            given[parameter.name] = value
        return given

    def call(self, node):
        schema = node.target._schema
        name = schema.name.split("::")[-1]
        overload = schema.overload_name or "default"
        namespace = schema.name.split("::")[0]
        given = self.arguments(node)
        first = node.args[0] if node.args and isinstance(node.args[0], torch.fx.Node) else None
        meta = results_of(node)
        in_place = name.endswith("_") and not name.endswith("__") and first is not None
        if in_place:
            name = name[:-1]
            functional = getattr(torch.ops.aten, name, None)
            if functional is None or overload not in functional.overloads():
                raise Complaint("%s_ works in place and has no functional form here; import with torch 2" % name)
        if namespace == "hone_whole":
            namespace, overload = "aten", "input"
        if name == "copy" and isinstance(given.get("src"), torch.fx.Node):
            source = tensor_of(given["src"])
            if tuple(source.shape) == tuple(meta.shape) and source.dtype == meta.dtype:  # all of it is written anew
                value = self.value(given["src"])
                if in_place:
                    self.cells[first].mutate(value, "aten.copy_")
                    self.cells[node] = self.cells[first]
                else:
                    self.cells[node] = Cell(value)
                return
        if self.is_identity(name, node, given, first, meta):
            if name in ("native_dropout",):
                self.cells[node] = [self.cells[first], None]
            elif name in ("clone", "lift_fresh_copy", "contiguous", "_to_copy"):
                self.cells[node] = Cell(self.value(first))
            else:
                self.cells[node] = self.cells[first]
            return
        name, overload, given = canonical(name, overload, given, first)
        arguments = {key: self.argument(value) for key, value in given.items()}
        if isinstance(meta, (list, tuple)):
            results = [Value(name, t) if isinstance(t, torch.Tensor) else None for t in meta]
        elif isinstance(meta, torch.Tensor) or meta is None:
            results = [Value(name, meta)]
        else:
            raise Complaint("%s gives something other than tensors" % node.target)
        # Some names of batch norm give new statistics too.
        kept = results[:3] if name == "native_batch_norm" else results
        self.calls.append(("%s.%s.%s" % (namespace, name, overload), arguments, kept))
        if in_place:
            self.cells[first].mutate(results[0], "%s.%s_" % (namespace, name))
            self.cells[node] = self.cells[first]
            return
        alias = schema.returns[0].alias_info if schema.returns else None
        base = self.cells[first] if alias is not None and first is not None and isinstance(self.cells[first], Cell) else None
        cells = [Cell(value, base) for value in results]
        self.cells[node] = cells if isinstance(meta, (list, tuple)) else cells[0]

    @staticmethod
    def is_identity(name, node, given, first, meta):
        source = tensor_of(first) if first is not None else None
        if not isinstance(source, torch.Tensor):
            return False
        if name in IDENTITIES:
            return True
        if name in ("_to_copy", "to", "type_as"):
            return meta.dtype == source.dtype
        if name in SAME_SHAPE_IDENTITIES:
            return tuple(meta.shape) == tuple(source.shape)
        if name in ("dropout", "native_dropout", "feature_dropout", "alpha_dropout"):
            training = node.args[2] if len(node.args) > 2 else node.kwargs.get("train", True)
            p = node.args[1] if len(node.args) > 1 else node.kwargs.get("p", 0.5)
            return p == 0 or training is False
        return False


def tensor_of(node):
    """A tensor of the node's shape and type, or None. torch 1.13 keeps a fake one only where it traced fake ones."""
    found = node.meta.get("val")
    if found is None and hasattr(node.meta.get("tensor_meta"), "dtype"):
        meta = node.meta["tensor_meta"]
        found = node.meta["val"] = torch.empty(meta.shape, dtype=meta.dtype, device="meta")
    return found


def results_of(node):
    """The tensors that a node gives. torch 1.13 keeps none at nodes with several results, only at those that pick one."""
    found = tensor_of(node)
    if found is not None:
        return found
    picks = [user for user in node.users if user.target is operator.getitem]
    returns = node.target._schema.returns
    if len(returns) < 2 and not picks:
        return None
    found = [None] * max([len(returns)] + [pick.args[1] + 1 for pick in picks])
    for pick in picks:
        found[pick.args[1]] = tensor_of(pick)
    return found


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return (isinstance(value, bool), value) if isinstance(value, (bool, int, float)) else value


def canonical(name, overload, given, first):
    """Old torch's names for what core ATen calls otherwise, so that both torches give the same operators."""
    if name in ("_unsafe_view", "_reshape_alias", "reshape"):
        size = given.get("size", given.get("shape"))
        return "view", "default", {"self": first, "size": size}
    if name in ("t", "transpose", "numpy_T") and first is not None:
        rank = tensor_of(first).dim()
        order = list(range(rank))
        if name == "transpose":
            a, b = given["dim0"] % rank, given["dim1"] % rank
            order[a], order[b] = order[b], order[a]
        else:
            order.reverse()
        return "permute", "default", {"self": first, "dims": order}
    # Batch norm has several names, by what it does to the running statistics, which nobody checks.
    if name in ("_native_batch_norm_legit_functional", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training"):
        name, overload = "native_batch_norm", "default"
        given.setdefault("training", False)
    if name == "native_batch_norm" and given.get("training") is True:
        given = dict(given, running_mean=None, running_var=None)
    if name in ("norm", "frobenius_norm") and "dtype" not in given:
        p = given.get("p", 2) if name == "norm" else 2
        given = {key: given[key] for key in ("self", "dim", "keepdim") if key in given}
        if p not in (None, 2):
            given["ord"] = p
        return "linalg_vector_norm", "default", given
    if name == "sub" and isinstance(given.get("self"), (int, float)) and "alpha" not in given:
        return "rsub", "Scalar", {"self": given["other"], "other": given["self"]}
    return name, overload, given


def sanitized(text):
    text = re.sub(r"[^0-9A-Za-z_]", "_", text)[:150].strip("_") or "value"
    return "v_" + text if text[0].isdigit() else text


# ---------------------------------------------------------------------------------------------------------------------
# Tracing.

class NeedsReal(Exception):
    """Fake tensors do not do: values are needed."""


def forward_names(model):
    if hasattr(model, "input_names"):
        return model.input_names
    code = getattr(type(model).forward, "__code__", None)
    return list(code.co_varnames[1 : code.co_argcount]) if code else []


def export_new(built):
    """torch 2.x: {placeholder node: ("input", index) | ("weight", name) | ("constant", tensor)}, nodes and outputs."""
    if isinstance(built, Archive):
        program = built.program
    else:
        program = torch.export.export(built.model, tuple(built.inputs), strict=False)
    table = torch.export.default_decompositions()
    for name in ("lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input"):
        packet, overload = name.split(".")
        op = getattr(getattr(torch.ops.aten, packet), overload)
        for entry in [key for key in table if key == op]:
            table.pop(entry)
    program = program.run_decompositions(table)
    from torch.export.graph_signature import InputKind, OutputKind

    sources, index = {}, 0
    flat_inputs = tree_flatten(built.inputs)[0]
    for spec, node in zip(program.graph_signature.input_specs, [n for n in program.graph.nodes if n.op == "placeholder"]):
        if spec.kind == InputKind.USER_INPUT:
            sources[node] = ("input", index)
            index += 1
        elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
            sources[node] = ("weight", spec.target)
        else:
            sources[node] = ("constant", program.constants[spec.target])
    if index != len(flat_inputs):
        raise Complaint("torch.export sees %d inputs where get_inputs() gives %d" % (index, len(flat_inputs)))
    results = next(n for n in program.graph.nodes if n.op == "output").args[0]
    outputs = [result for spec, result in zip(program.graph_signature.output_specs, results) if spec.kind == OutputKind.USER_OUTPUT]
    return program.graph_module, sources, outputs


# What torch 1.13 keeps whole and core ATen takes apart.
OLD_DECOMPOSED = (
    "smooth_l1_loss", "mse_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "l1_loss",
    "softplus", "mish", "silu", "hardswish", "hardsigmoid", "hardshrink", "softshrink", "selu", "celu", "log_sigmoid_forward",
    "threshold", "addcmul", "addcdiv", "std", "logsumexp", "_softmin", "kl_div", "cosine_similarity",
    "hinge_embedding_loss", "margin_ranking_loss", "relu6",
)


def smooth_l1_loss(self, target, reduction=1, beta=1.0):
    distance = (self - target).abs()
    if beta > 0:
        distance = torch.where(distance < beta, distance**2 * 0.5 / beta, distance - 0.5 * beta)
    return distance.mean() if reduction == 1 else distance.sum() if reduction == 2 else distance


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    """scaled_dot_product_attention, which torch 2 has."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ key.transpose(-2, -1) * scale
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    weights = torch.softmax(scores, -1)
    return (nn.functional.dropout(weights, dropout_p) if dropout_p else weights) @ value


@contextlib.contextmanager
def old_gaps_filled():
    """What torch 1.13 lacks, or traces into operators that work in place."""
    functions = nn.functional
    added = not hasattr(functions, "scaled_dot_product_attention")
    dropout = functions.dropout
    if added:
        functions.scaled_dot_product_attention = attention

    def functional_dropout(input, p=0.5, training=True, inplace=False):
        return torch.native_dropout(input, p, training)[0] if training and p > 0 else input

    functions.dropout = functional_dropout
    try:
        yield
    finally:
        functions.dropout = dropout
        if added:
            del functions.scaled_dot_product_attention


def pooled_3d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """Shapes of max_pool3d_with_indices, which torch 1.13 has for real tensors only."""
    def three(value):
        value = list(value) if isinstance(value, (list, tuple)) else [value]
        return value * 3 if len(value) == 1 else value

    kernel, padding, dilation = three(kernel_size), three(padding), three(dilation)
    stride = three(stride) if stride or isinstance(stride, int) else kernel
    extents = []
    for size, k, s, p, d in zip(input.shape[-3:], kernel, stride, padding, dilation):
        reach = size + 2 * p - d * (k - 1) - 1
        count = (-(-reach // s) if ceil_mode else reach // s) + 1
        extents.append(count - 1 if ceil_mode and (count - 1) * s >= size + p else count)
    shape = list(input.shape[:-3]) + extents
    return input.new_empty(shape), input.new_empty(shape, dtype=torch.int64)


def define_old_shapes():
    if len(LIBRARY) < 2:
        LIBRARY.append(torch.library.Library("aten", "IMPL", "Meta"))
        LIBRARY[1].impl("max_pool3d_with_indices", pooled_3d)


def export_old(built):
    from torch._decomp import decomposition_table
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.nn.utils.stateless import functional_call

    table = {op: rule for op, rule in decomposition_table.items()
             if op._schema.name.split("::")[-1] in OLD_DECOMPOSED and not op._schema.overload_name.endswith("out")}
    table.setdefault(torch.ops.aten.smooth_l1_loss.default, smooth_l1_loss)
    weights = {name: tensor.detach() for name, tensor in built.weights.items()}
    flat_inputs, structure = tree_flatten(built.inputs)
    tensors = [t for t in flat_inputs if isinstance(t, torch.Tensor)]
    from torch.utils._pytree import tree_unflatten

    def current_weights(part, _):  # a recurrent layer keeps a list of its own, past which functional_call puts new values
        part._flat_weights = [getattr(part, name) for name in part._flat_weights_names]

    for part in built.model.modules():
        if isinstance(part, nn.RNNBase):
            part.register_forward_pre_hook(current_weights)

    def run(parameters, *given):
        given = iter(given)
        inputs = tree_unflatten([next(given) if isinstance(t, torch.Tensor) else t for t in flat_inputs], structure)
        result = functional_call(built.model, parameters, tuple(inputs))
        return tree_flatten(result)[0]

    # Within the fake mode, tensors that forward itself makes are fake like those that it is given.
    with old_gaps_filled(), built.mode or contextlib.nullcontext():
        module = make_fx(run, decomposition_table=table)(weights, *tensors)
    places = [("weight", name) for name in weights]
    places += [("input", i) for i, t in enumerate(flat_inputs) if isinstance(t, torch.Tensor)]
    sources = dict(zip([n for n in module.graph.nodes if n.op == "placeholder"], places))
    results = next(n for n in module.graph.nodes if n.op == "output").args[0]
    return module, sources, list(results)


def trace(built):
    with recurrences_whole():
        module, sources, outputs = (export_new if NEW else export_old)(built)
    writer = GraphWriter()
    inputs, weights, constants = {}, {}, []
    for node in module.graph.nodes:
        if node.op == "placeholder":
            kind, what = sources[node]
            value = Value(node.name, tensor_of(node))
            if kind == "input":
                if not isinstance(tree_flatten(built.inputs)[0][what], torch.Tensor):
                    continue  # a number: the trace holds its value
                inputs[what] = value
            elif kind == "weight":
                weights[what] = value
            else:
                constants.append((value, what))
            writer.cells[node] = Cell(value)
        elif node.op == "get_attr":
            tensor = getattr(module, node.target)
            node.meta.setdefault("val", tensor)
            value = Value("constant", tensor)
            constants.append((value, tensor))
            writer.cells[node] = Cell(value)
        elif node.op == "call_function":
            if node.target is operator.getitem:
                parts = writer.cells[node.args[0]]
                writer.cells[node] = parts[node.args[1]]
            elif hasattr(node.target, "_schema"):
                writer.call(node)
            elif not isinstance(tensor_of(node), torch.Tensor):
                continue  # arithmetic on sizes, whose results are constants by now
            else:
                raise Complaint("the trace calls %s, which is no operator" % (node.target,))
    values = []
    for node in outputs:
        if node is None:
            continue
        if not isinstance(node, torch.fx.Node):
            raise Complaint("forward gives a %s beside tensors; hone checks tensors only" % type(node).__name__)
        values.append(writer.value(node))
    if not values:
        raise Complaint("forward gives no tensor")
    return writer, inputs, weights, constants, values


# ---------------------------------------------------------------------------------------------------------------------
# Putting it together.

class Weights:
    """Exact values, to be written as one safetensors file beside the problem."""

    def __init__(self, path):
        self.path, self.tensors = path, []

    def add(self, name, tensor):
        if not self.path:
            raise Complaint("%s holds values that no generator gives; name a file for them with -o or --weights" % name)
        self.tensors.append((name, tensor.detach().cpu().contiguous()))
        return {"kind": "file", "path": os.path.basename(self.path), "tensor": name}

    def write(self):
        if not self.tensors:
            return
        header, offset = {}, 0
        for name, tensor in self.tensors:
            size = tensor.numel() * tensor.element_size()
            header[name] = {"dtype": SAFETENSORS[DTYPES[tensor.dtype]], "shape": list(tensor.shape),
                            "data_offsets": [offset, offset + size]}
            offset += size
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(self.path, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for _, tensor in self.tensors:
                size = tensor.numel() * tensor.element_size()
                file.write(memoryview((ctypes.c_char * size).from_address(tensor.data_ptr())) if size else b"")


class Importer:
    def __init__(self, module, digest, built, graph, notes):
        self.module, self.digest, self.built = module, digest, built
        self.writer, self.inputs, self.weight_values, self.constants, self.outputs = graph
        self.weights = Weights(OPTIONS["weights_path"])
        self._real = None if built.fake else built
        self.notes = dict(notes)

    def real(self, why):
        if self._real is None:
            if total_bytes(self.built) > OPTIONS["memory_bytes"] // 2:
                raise Complaint("%s needs real values, and they do not fit the memory that an import may take" % why)
            self._real = Built(self.module, False)
        return self._real

    def generator(self, name, tensor, real_tensor):
        """tensor: maybe fake; real_tensor(): the same with data."""
        origin = self.built.recorder.of(tensor)
        found = origin.generator()
        if origin.spread:
            self.notes["note " + name] = "whole numbers with gaps: drawn from all between the least and the greatest"
        if found is not None and not (found["kind"] in ("uniform", "normal") and not tensor.dtype.is_floating_point):
            return found
        if origin.kind == "empty":
            self.notes["note " + name] = "made by torch.empty and never filled: drawn from a normal distribution"
            return {"kind": "normal", "mean": 0.0, "deviation": 1.0}
        if origin.value is not None:
            values = origin.value.expand(tensor.shape) if origin.value.numel() == 1 else origin.value
            if tuple(values.shape) != tuple(tensor.shape):
                values = real_tensor()
        elif origin.random and self.built.fake and total_bytes(self.built) > OPTIONS["memory_bytes"] // 2:
            if origin.sample is not None:
                self.notes["note " + name] = "too large to be measured: as a sample of it is"
                return measured(origin.sample)
            self.notes["note " + name] = "too large to be measured: drawn from a normal distribution"
            return {"kind": "normal", "mean": 0.0, "deviation": 1.0}
        else:
            values = real_tensor()
        if origin.random:
            return measured(values)
        constant = constant_of(values)
        if constant is not None:
            return {"kind": "constant", "value": constant}
        return self.weights.add(name, values)

    def problem(self):
        calls = self.live_calls()
        taken, tensors = set(), []

        def name_it(value, wanted):
            wanted, name, count = sanitized(wanted), sanitized(wanted), 0
            while name in taken:
                count += 1
                name = "%s_%d" % (wanted, count)
            taken.add(name)
            value.name = name
            return name

        def add(value, role, tensor, generator=None):
            row = {"name": value.name, "shape": [int(e) for e in tensor.shape], "dtype": dtype_name(tensor, value.name), "role": role}
            if generator is not None:
                row["generator"] = generator
            tensors.append(row)

        flat_inputs = tree_flatten(self.built.inputs)[0]
        names = forward_names(self.built.model)
        for i, value in sorted(self.inputs.items()):
            tensor = flat_inputs[i]
            flat = len(flat_inputs) == len(self.built.inputs) and i < len(names)
            name = name_it(value, names[i] if flat else "input_%d" % i)
            add(value, "input", tensor,
                self.generator(name, tensor, lambda i=i: tree_flatten(self.real(name).inputs)[0][i]))
        numbers = ["%s = %r" % (names[i] if i < len(names) else "input_%d" % i, x) for i, x in enumerate(flat_inputs)
                   if not isinstance(x, torch.Tensor)]
        if numbers:
            self.notes["constant arguments"] = ", ".join(numbers)
        used = self.used_values(calls)
        for key in self.built.weights:
            value = self.weight_values.get(key)
            if value is None or value not in used:
                continue
            tensor = self.built.weights[key]
            name = name_it(value, key.replace(".", "_"))
            self.notes["parameter " + name] = key
            if OPTIONS["weights"]:
                generator = self.weights.add(key, self.real(key).weights[key])
            else:
                generator = self.generator(name, tensor, lambda key=key: self.real(key).weights[key])
            add(value, "parameter", tensor, generator)
        for value, tensor in self.constants:
            if value not in used:
                continue
            if isinstance(tensor, FakeTensor):
                raise NeedsReal("a constant that forward makes")
            name = name_it(value, "constant")
            constant = constant_of(tensor)
            add(value, "parameter", tensor,
                {"kind": "constant", "value": constant} if constant is not None else self.weights.add(name, tensor))
        for i, value in enumerate(self.outputs):
            named = getattr(self.built.model, "output_names", [])
            name_it(value, named[i] if i < len(named) else "output" if len(self.outputs) == 1 else "output_%d" % i)
            if value.tensor is None:
                raise Complaint("torch %s does not tell the shape of output %d" % (torch.__version__, i))
            add(value, "output", value.tensor)
        graph = []
        for op, arguments, results in calls:
            for value in results:
                if value is not None and value.name is None and value in used:
                    name_it(value, value.hint)
            graph.append({"op": op, "args": {key: self.reference(a) for key, a in arguments.items()},
                          "outputs": [v.name if v is not None and v.name else "" for v in results]})
        self.weights.write()
        provenance = {"source": PATH, "source_sha256": self.digest, "torch": torch.__version__.split("+")[0],
                      "importer": KIND}
        provenance.update(self.notes)
        self.shapes = {v.name: [int(e) for e in v.tensor.shape] for _, _, results in calls for v in results
                       if v is not None and v.name and isinstance(v.tensor, torch.Tensor)}
        base = getattr(self.module, "name", None) or os.path.splitext(os.path.basename(PATH))[0]
        if KIND == "definition" and isinstance(OPTIONS.get("workload"), dict):
            provenance["workload"] = str(OPTIONS["workload"].get("uuid", OPTIONS.get("workload_where")))
        return {"hone_problem": 1, "name": base, "tensors": tensors, "graph": graph, "contract": OPTIONS["contract"],
                "provenance": provenance}

    def reference(self, argument):
        if isinstance(argument, Value):
            return "%" + argument.name
        if isinstance(argument, list):
            return [self.reference(item) for item in argument]
        return argument

    @staticmethod
    def values_in(argument):
        if isinstance(argument, Value):
            yield argument
        elif isinstance(argument, list):
            for item in argument:
                yield from Importer.values_in(item)

    def used_values(self, calls):
        used = set(self.outputs)
        for _, arguments, _ in calls:
            for argument in arguments.values():
                used.update(self.values_in(argument))
        return used

    def live_calls(self):
        # An output that is an input, or that is given twice, is a copy of its own.
        made = {v for _, _, results in self.writer.calls for v in results if v is not None}
        seen, outputs = set(), []
        for value in self.outputs:
            if value not in made or value in seen:
                copy = Value("clone", value.tensor)
                self.writer.calls.append(("aten.clone.default", {"self": value}, [copy]))
                value = copy
            seen.add(value)
            outputs.append(value)
        self.outputs = outputs
        needed, live = set(outputs), []
        for call in reversed(self.writer.calls):
            if any(v in needed for v in call[2] if v is not None):
                live.append(call)
                for argument in call[1].values():
                    needed.update(self.values_in(argument))
        return list(reversed(live))


def traced(module, fake):
    built = Built(module, fake)
    return built, trace(built)


def answer_of(importer, extra):
    document = {"problem": importer.problem(), "shapes": importer.shapes}
    if KIND == "definition":
        check_outputs(importer.module.definition, document["problem"])
    document.update(extra)
    return document


def run():
    if KIND == "torch_pt2":
        built = Archive()
        with open(PATH, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        return answer_of(Importer(None, digest, built, trace(built), {}), {})
    source, extra, notes = read_source(), {}, {}
    if OPTIONS.get("shrink_mflop"):
        load_source(source)  # what is wrong with the file is said as ever
        exec(compile(OPTIONS["shrink_program"], "hone_shrink.py", "exec"), globals())
        source, notes = Shrinking(source, OPTIONS["shrink_mflop"] * 1e6).run()
        extra["shrunk_source"] = source.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
        notes["source"] = OPTIONS["shrunk_path"]
    module, digest = load_source(source)
    try:
        return answer_of(Importer(module, digest, *traced(module, True), notes), extra)
    except Complaint:
        raise
    except Exception as error:
        if out_of_memory(error):
            raise
        fake_error = error
    try:
        # Whatever looks at data while it is built or traced: once more with real tensors, as far as they fit.
        return answer_of(Importer(module, digest, *traced(module, False), notes), extra)
    except Complaint:
        raise
    except Exception as error:
        if out_of_memory(error) and not out_of_memory(fake_error):
            raise Complaint("cannot be imported on fake tensors (%s), and real ones need more than the %.1f GB of memory "
                            "that an import may take" % (describe_error(fake_error), OPTIONS["memory_bytes"] / 1e9),
                            line_in_file(fake_error))
        raise


try:
    set_memory_limit()
    import warnings

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    document = run()
except Complaint as error:
    fail(error, error.line)
except SystemExit as error:
    fail("calls sys.exit(%s) while it is imported" % (error.code,), line_in_file(error))
except BaseException as error:
    fail(describe_error(error), line_in_file(error))
answer(document)
