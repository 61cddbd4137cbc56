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
import json
import math
import os
import random
import re
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

from oracle_drawer import Drawer, Refused
from oracle_draws import DRAWN_WHOLE
from tensor_files import DTYPES, read_safetensors, write_safetensors

NOT_NUMBERS = {"Layout", "Device", "MemoryFormat", "Generator", "Storage", "Stream", "DimnameList", "Dimname"}
UNIT = {"f32": 2.0 ** -21, "f16": 2.0 ** -10, "bf16": 2.0 ** -7, "f8e4m3": 2.0 ** -3, "f8e5m2": 2.0 ** -2}
NODES_A_PROBLEM = 40  # more compile for longer than the oracle's compiler may take on a busy machine
OLD = int(torch.__version__.split(".")[0]) < 2
# Their values are a known draw of hone's own, or they exist on a GPU only, or they have no value: tested elsewhere.
NOT_COMPARED = {"native_dropout", "dropout", "feature_dropout", "bernoulli", "rand", "rand_like", "randn", "randn_like", "randint",
                "randperm", "empty", "empty_like", "empty_permuted", "new_empty",
                "_scaled_dot_product_efficient_attention", "_scaled_dot_product_flash_attention", "_scaled_dot_product_cudnn_attention",
                "_assert_tensor_metadata", "_grouped_mm"}  # the last: PyTorch has none of doubles
# What goes through functions that no library rounds to the last bit: their relative error is 1e-10, all others' 1e-12.
TRANSCENDENTAL = set("""
    exp exp2 expm1 ldexp log log10 log1p log2 logaddexp logaddexp2 logcumsumexp logit logsumexp log_sigmoid log_sigmoid_forward pow
    sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sinc erf erfc
    sigmoid silu softplus gelu mish elu celu selu glu softmax _softmax _safe_softmax log_softmax _log_softmax
    lstm gru rnn_tanh lstm_cell gru_cell rnn_tanh_cell scaled_dot_product_attention _scaled_dot_product_flash_attention_for_cpu
    binary_cross_entropy binary_cross_entropy_with_logits cross_entropy_loss kl_div poisson_nll_loss soft_margin_loss
    norm linalg_vector_norm dist cdist _cdist_forward pairwise_distance triplet_margin_loss
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
        if "out" in names or name.endswith("out") or writes or "Dimname" in str(schema) or "complex" in kinds:
            continue
        if "Generator" in kinds and op not in DRAWN_WHOLE:  # it draws, whatever is drawn for it
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
                culprit = re.search(r"/graph/(\d+)[ /]", done.stderr) or re.search(r"output 'c(\d+)_", done.stderr)
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
