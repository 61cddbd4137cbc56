#!/usr/bin/env python3
"""hone import and hone export end to end, with every PyTorch that is to be found. export_test.py HONE

Exit status 77: skipped, no torch. Candidates are found by `hone optimize` with a small budget.
"""
import ast
import hashlib
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import tree

HONE = os.path.abspath(sys.argv[1])
PROBLEMS = tree.ROOT / "examples" / "problems"
DATA = tree.ROOT / "tests/data/in_place"
failures = []


def expect(true, what):
    if not true:
        failures.append(f"tests/export_test.py:1: {what}")
        print("FAILED", what)


def pythons():
    """One interpreter a torch version."""
    found, versions = [], set()
    for name in (os.environ.get("HONE_PYTHON"), tree.ROOT / "build/venv/bin/python", "python3", "/usr/bin/python3"):
        path = shutil.which(str(name)) if name else None
        if not path:
            continue
        asked = subprocess.run([path, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True)
        if asked.returncode == 0 and asked.stdout not in versions:
            versions.add(asked.stdout)
            found.append(path)
    return found


class Warm:
    """Interpreters that have imported torch already (warm_python.py), for what tests no process. By the path of the usual one."""

    def __init__(self, folder):
        self.folder, self.servers = folder, {}

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        for server in self.servers.values():
            server.communicate()

    def __getitem__(self, python):
        folder = self.folder / hashlib.sha256(python.encode()).hexdigest()[:8]
        if python not in self.servers:
            folder.mkdir()
            self.servers[python] = subprocess.Popen([python, "-I", tree.ROOT / "tests/warm_python.py", folder], stdin=subprocess.PIPE,
                                                    stdout=subprocess.PIPE, text=True)
            expect(self.servers[python].stdout.readline() == "ready\n", f"warm_python.py comes up with {python}")
        return folder / "bin" / "python"


def run(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, **more)


def hone(*arguments):
    return run(HONE, *arguments)


def one_line(done, code, *words):
    """The call failed with this code and one line that holds the words, after those of a slow machine: "importing, 3 s"."""
    lines = [line for line in done.stderr.strip().splitlines() if not re.fullmatch(r"importing, \d+ s", line)]
    good = done.returncode == code and len(lines) == 1 and all(word in lines[0] for word in words) and not done.stdout
    expect(good, f"{' '.join(done.args[1:])}: wanted code {code} and one line with {words}, got {done.returncode}: {done.stderr}")


GOOD = """import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self, width, bias=True):
        super().__init__()
        self.linear = nn.Linear(width, 24, bias=bias)
        self.register_buffer("places", torch.arange(width - 1, -1, -1))
    def forward(self, x, slope):
        return torch.nn.functional.leaky_relu(self.linear(x[:, self.places]), slope) * torch.tensor([float(i % 5) for i in range(24)])
def get_inputs():
    return [torch.randn(16, 40), 0.125]
def get_init_inputs():
    return [40]
"""

BAD = {
    "syntax": ("class Model(:\n", "bad.py:1", "SyntaxError"),
    "no Model": ("x = 1\n", "no class Model"),
    "no module": ("class Model: pass\ndef get_inputs(): return []\n", "bad.py:1", "Model is not a torch.nn.Module"),
    "no inputs": ("import torch\nclass Model(torch.nn.Module):\n    def forward(self, x): return x\n", "no get_inputs()"),
    "raises": (GOOD.replace("return [torch.randn(16, 40), 0.125]", "raise ValueError('no data today')"), "no data today", "bad.py:11"),
    "missing import": ("import surely_not_there\n" + GOOD, "bad.py:1", "surely_not_there", "pip install"),
    "exits": ("import sys\nsys.exit(3)\n", "bad.py:2", "sys.exit"),
    "data dependent": (GOOD.replace("return torch.nn", "return x if x.sum() > 0 else torch.nn"), "bad.py:9", "torch.where"),
    "not tensors": (GOOD.replace("return torch.nn.functional", "return 'text' or torch.nn.functional"), "bad.py"),
}


def test_import(folder, python, warm):
    good, bad, out = folder / "good.py", folder / "bad.py", folder / "p.json"
    good.write_text(GOOD.split(" * torch.tensor")[0] + GOOD[GOOD.index("\ndef get_inputs"):])
    done = hone("import", good, "--python", python)  # as users have it; the others test what is said, by one that is warm
    python = warm[python]
    expect(done.returncode == 0 and json.loads(done.stdout)["hone_problem"] == 1, f"import prints a problem: {done.stderr}")
    good.write_text(GOOD)
    done = hone("import", good, "--python", python)
    named = [tensor["generator"]["path"] for tensor in json.loads(done.stdout)["tensors"] if tensor["name"] == "constant"]
    expect(done.returncode == 0 and named[0] in done.stderr and os.path.isfile(named[0]), f"values are named: {done.stderr}")
    done = hone("import", good, "--python", python, "-o", out, "--weights", "--json")
    document = json.loads(done.stdout)
    expect(done.returncode == 0 and document["files"] == ["p.safetensors"] and document["parameters"] == 3 and document["optimizable"],
           f"import -o says what it wrote: {done.stdout} {done.stderr}")
    again = hone("import", out, "-o", folder / "deep" / "q.json", "--json")
    expect(json.loads(again.stdout)["identity"] == document["identity"], "values are still found from another folder")
    one_line(hone("import", folder / "absent.py"), 2, "absent.py", "No such file")
    one_line(hone("import", folder), 2, "no importer")
    one_line(hone("import", good, "--contract", "fp13"), 2, "fp13", "fp16")
    one_line(hone("import", good, "--weights"), 2, "-o")
    (folder / "broken.json").write_text("{")
    one_line(hone("import", folder / "broken.json"), 2, "broken.json:1")
    for text, *words in BAD.values():
        bad.write_text(text)
        one_line(hone("import", bad, "--python", python), 2, *words)


def optimized(folder, problem, *more):
    """The id of a run with an accepted attempt."""
    done = hone("optimize", problem, "--budget", 2, "--time", 0, "--store", folder / "runs.sqlite", "--no-torch", "--json", *more)
    document = json.loads(done.stdout)
    expect(document.get("best_attempt", 0) > 0, f"{problem} is optimized: {done.stderr}")
    return document.get("run", "")


USE = """
import sys
sys.path.insert(0, sys.argv[1])
import torch, hone_kernel
from hone_kernel import ModelNew, KernelError, model
def same(a, b): assert torch.allclose(a, b, rtol=1e-5, atol=1e-5), (a - b).abs().max()
def refused(word, call):
    try:
        call()
    except KernelError as error:
        assert word in str(error) and "\\n" not in str(error), error
    else:
        raise AssertionError("not refused: " + word)
torch.manual_seed(5); old = model.Model(40)
torch.manual_seed(5); new = ModelNew(40)
assert list(new.state_dict()) == list(old.state_dict())
x = torch.randn(16, 40)
same(new(x, 0.125), old(x, 0.125))
same(new(x=x, slope=0.125), old(x, 0.125))
same(new(torch.randn(40, 16).t(), 0.125).new_zeros(1), torch.zeros(1))          # not contiguous
wide = torch.randn(16 * 40 + 1)[1:].reshape(16, 40)                             # not aligned
same(new(wide, 0.125), old(wide, 0.125))
with torch.no_grad():
    for one in (new, old): one.linear.weight.mul_(0.5)                          # changed in place
    same(new(x, 0.125), old(x, 0.125))
    for one in (new, old): one.linear.bias = torch.nn.Parameter(torch.ones(24)) # replaced
    same(new(x, 0.125), old(x, 0.125))
with torch.inference_mode():
    same(new(x, 0.125), old(x, 0.125))
    other = ModelNew(40)                                                        # parameters that count no changes
    for _ in range(2):
        other.linear.weight.mul_(0.5)
        old.load_state_dict(other.state_dict())
        same(other(x, 0.125), old(x, 0.125))
others = dict(old.state_dict(), places=torch.arange(40))                        # the kernel has those of the constructor
refused("other numbers", lambda: new.load_state_dict(others))
new.load_state_dict(old.state_dict())
refused("shape", lambda: new(torch.randn(8, 40), 0.125))
refused("type", lambda: new(x.double(), 0.125))
refused("slope", lambda: new(x, 0.25))
refused("takes 1 inputs", lambda: new(x, x, 0.125))
if not hone_kernel.NEW:  # else such tensors are traced
    refused("CPU", lambda: new(x.to("meta"), 0.125))
made = new(x, 0.125)
assert made.requires_grad
refused("forward only", lambda: made.sum().backward())
fake = hone_kernel.op([x.to("meta")], [p.to("meta") for p in (new.linear.weight, new.linear.bias, torch.ones(24))])
assert fake.shape == made.shape and fake.device.type == "meta"
if sys.argv[2:] == ["compile"] and hasattr(torch, "compile"):
    compiled = torch.compile(new, fullgraph=True, backend="aot_eager")(x, 0.125)  # where gradients could be wanted
    same(compiled, new(x, 0.125))
    refused("torch.no_grad()", lambda: compiled.sum().backward())
    with torch.no_grad():
        same(torch.compile(new, fullgraph=True, backend="aot_eager")(x, 0.125), new(x, 0.125))
        torch.library.opcheck(hone_kernel.op, ([x], [p.detach() for p in (new.linear.weight, new.linear.bias, torch.ones(24))]),
                              test_utils=("test_schema", "test_faketensor"))
print("used with torch", torch.__version__)
"""


def test_bundle(folder, interpreters, warm):
    model = folder / "good.py"
    model.write_text(GOOD)
    # Constants that forward makes are values of their own, for which the import wants a file.
    done = hone("import", model, "--python", interpreters[0], "-o", folder / "good.json")
    expect(done.returncode == 0, f"import: {done.stderr}")
    store, run_id = folder / "runs.sqlite", optimized(folder, folder / "good.json")
    out = folder / "out"
    export = ["export", run_id, "--store", store]
    one_line(hone(*export), 2, "-o DIR")
    one_line(hone(*export, "-o", out, "--form", "bundel"), 2, "bundle")
    one_line(hone(*export, "-o", out, "--attempt", 99), 2, "has no attempt 99")
    one_line(hone("export", "nothing", "--store", store, "-o", out), 2, "nothing")
    done = run(HONE, *export, "-o", out, "--json", cwd=folder)
    document = json.loads(done.stdout)
    expect(done.returncode == 0 and document["model"] and not document["sample"], f"export: {done.stdout} {done.stderr}")
    one_line(run(HONE, *export, "-o", out, cwd=folder), 2, "not an empty folder")
    expect(not [path for path in folder.iterdir() if path.name.startswith(".out")], "nothing unfinished is left")
    moved = folder / "elsewhere" / "moved"
    moved.parent.mkdir()
    out.rename(moved)
    for path in ("good.py", "good.json", "good.safetensors"):
        (folder / path).rename(folder / ("away_" + path))  # it stands alone
    for i, python in enumerate(interpreters):
        used = run(warm[python], "-I", "-c", USE, moved, *(["compile"] if i == 0 else []))
        expect(used.returncode == 0, f"ModelNew with {python}: {used.stderr}")
        verified = run(python, moved / "verify.py", "--seconds", 0.2)
        expect(verified.returncode == 0 and "right" in verified.stdout, f"verify with {python}: {verified.stdout} {verified.stderr}")
    # A wrong kernel is seen, and so is one that is wrong by less than a person would see.
    kernel = (moved / "kernel.cc").read_text()
    entry = "int32_t hone_run(const HoneCall* call)"
    expect(entry in kernel, "the kernel's entry is found")
    for what, change in (("one element", "y[100] *= 1.0005f;"), ("a tile", "for (int i = 300; i < 308; ++i) y[i] = 0;"),
                         ("rounding", "for (int i = 0; i < 384; ++i) y[i] = (float)(_Float16)y[i];")):
        wrong = kernel.replace(entry, "int32_t right_run(const HoneCall* call)")
        wrong += ('\nextern "C" HONE_EXPORT %s {\n  int32_t code = right_run(call);\n  float* y = static_cast<float*>(call->outputs[0].data);\n'
                  "  %s\n  return code;\n}\n" % (entry, change))
        (moved / "kernel.cc").write_text(wrong)
        verified = run(interpreters[0], moved / "verify.py", "--seconds", 0.1)
        expect(verified.returncode == 1 and "wrong: " in verified.stdout, f"{what} is found: {verified.stdout} {verified.stderr}")
    (moved / "kernel.cc").write_text("no kernel\n")
    verified = run(interpreters[0], moved / "verify.py")
    expect(verified.returncode == 2 and "does not build" in verified.stdout, f"a kernel that does not build: {verified.stdout}")
    # Without model.py: a sample. The file of values has moved.
    one_line(run(HONE, *export, "-o", out, cwd=folder), 3, "good.safetensors", "--values")
    (folder / "away_good.safetensors").rename(folder / "good.safetensors")
    done = hone(*export, "-o", out, "--values", folder, "--json")
    expect(done.returncode == 0 and json.loads(done.stdout)["sample"], f"a sample stands in for model.py: {done.stderr}")
    verified = run(sys.executable, out / "verify.py", "--seconds", 0.1)
    expect(verified.returncode == 0, f"verify by sample: {verified.stdout} {verified.stderr}")
    done = hone(*export, "-o", folder / "again", "--model", folder / "away_good.py", "--values", folder)
    expect(done.returncode == 0 and (folder / "again" / "model.py").exists(), f"a model that moved: {done.stderr}")


def test_in_place(folder, interpreters, warm):
    """What forward writes into is written by the kernel, by the same memory."""
    model, out = folder / "step.py", folder / "step"
    shutil.copy(DATA / "step.py", model)
    done = hone("import", model, "--python", interpreters[0], "-o", folder / "step.json")
    if done.returncode == 2 and "in place, which torch 1." in done.stderr:
        return  # an older torch alone, which cannot express a write through a view
    run_id = optimized(folder, folder / "step.json")
    done = hone("export", run_id, "--store", folder / "runs.sqlite", "-o", out)
    expect(done.returncode == 0, f"export of what writes in place: {done.stderr}")
    for i, python in enumerate(interpreters):
        used = run(warm[python], "-I", "-c", (DATA / "use.py").read_text(), out, *(["compile"] if i == 0 else []))
        expect(used.returncode == 0, f"in place with {python}: {used.stderr}")
        verified = run(python, out / "verify.py", "--seconds", 0.1)
        expect(verified.returncode == 0 and "right" in verified.stdout, f"verify with {python}: {verified.stdout} {verified.stderr}")
    layers = folder / "layers.py"
    shutil.copy(DATA / "layers.py", layers)
    done = hone("import", layers, "--python", interpreters[0], "-o", folder / "layers.json")
    expect(done.returncode == 0, f"import of what parts write: {done.stderr}")
    done = hone("export", optimized(folder, folder / "layers.json"), "--store", folder / "runs.sqlite", "-o", folder / "layers")
    for python in interpreters:
        verified = run(python, folder / "layers" / "verify.py", "--seconds", 0.1)
        expect(verified.returncode == 0, f"verify what parts write with {python}: {verified.stdout} {verified.stderr}")
    # What is left wrong is seen, in the argument, in the module and in the place.
    problem = json.loads((out / "problem.json").read_text())
    names = [tensor["name"] for tensor in problem["tensors"] if tensor["role"] == "output"]
    kernel, entry = (out / "kernel.cc").read_text(), "int32_t hone_run(const HoneCall* call)"
    for name, wrapped in (("output_1", "%s; static_cast<float*>(values)[170] += 0.01f;"),
                          ("keys_after", "%s; static_cast<float*>(keys)[300] += 0.01f;"), ("place_after", "%s; ++*place;"),
                          ("keys_after", "const int64_t at = *place; *place = 0; %s; *place = at + 1;")):  # always at the first place
        wrong = kernel.replace(entry, "int32_t right_run(const HoneCall* call)")
        wrong += '\nextern "C" HONE_EXPORT %s {\n  void *values = call->outputs[%d].data, *keys = call->outputs[%d].data;\n' % (
            entry, names.index("output_1"), names.index("keys_after"))
        wrong += "  auto* place = static_cast<int64_t*>(call->outputs[%d].data);\n  static_cast<void>(values), static_cast<void>(keys);\n" % (
            names.index("place_after"))
        wrong += "  int32_t code = 0;\n  %s\n  return code;\n}\n" % (wrapped % "code = right_run(call)")
        (out / "kernel.cc").write_text(wrong)
        verified = run(interpreters[0], out / "verify.py", "--seconds", 0.1)
        expect(verified.returncode == 1 and name in verified.stdout, f"{name} is found wrong: {verified.stdout} {verified.stderr}")
    # By a sample, and by names.
    model.unlink()
    done = hone("export", run_id, "--store", folder / "runs.sqlite", "-o", folder / "step_alone", "--values", folder)
    expect(done.returncode == 0, f"export without the model: {done.stderr}")
    verified = run(sys.executable, folder / "step_alone" / "verify.py", "--seconds", 0.1)
    expect(verified.returncode == 0, f"verify in place by sample: {verified.stdout} {verified.stderr}")
    used = run(warm[interpreters[0]], "-I", "-c", "import sys; sys.path.insert(0, sys.argv[1]); import torch; from hone_kernel import ModelNew\n"
               "new = ModelNew(qkv_weight=torch.randn(48, 16), qkv_bias=torch.zeros(48), keys=torch.zeros(2, 12, 16),\n"
               "               place=torch.zeros(1, dtype=torch.int64), state=torch.zeros(2, 16))\n"
               "values = torch.zeros(2, 12, 16)\n"
               "state, same = new(torch.randn(2, 1, 16), values)\n"
               "assert same is values and new.place.item() == 1 and torch.equal(new.state, state)\n"
               "assert new.keys[:, 0].abs().min() > 0 and values[:, 3].abs().min() > 0 and not values[:, :3].any()", folder / "step_alone")
    expect(used.returncode == 0, f"in place, by names: {used.stderr}")
    done = hone("export", run_id, "--store", folder / "runs.sqlite", "-o", folder / "step_module", "--form", "module")
    expect(done.returncode == 0, f"--form module of what writes in place: {done.stderr}")


def test_json_problem(folder):
    run_id = optimized(folder, PROBLEMS / "scaled_row_sum.json")
    out = folder / "sums"
    done = hone("export", run_id, "--store", folder / "runs.sqlite", "-o", out)
    expect(done.returncode == 0, f"export of a JSON problem: {done.stderr}")
    verified = run(sys.executable, out / "verify.py", "--seconds", 0.1)
    expect(verified.returncode == 0, f"verify without torch: {verified.stdout} {verified.stderr}")
    done = hone("export", run_id, "--store", folder / "runs.sqlite", "-o", folder / "module", "--form", "module")
    expect(done.returncode == 0 and not (folder / "module" / "verify.py").exists(), f"--form module: {done.stderr}")
    kernel = out / "kernel.cc"
    text = kernel.read_text().replace("int32_t hone_run(const HoneCall* call)", "int32_t right_run(const HoneCall* call)")
    kernel.write_text(text + '\nextern "C" HONE_EXPORT int32_t hone_run(const HoneCall* call) {\n  int32_t code = right_run(call);\n'
                      "  static_cast<float*>(call->outputs[0].data)[7] += 0.01f;\n  return code;\n}\n")
    verified = run(sys.executable, out / "verify.py", "--seconds", 0.1)
    expect(verified.returncode == 1 and "element 7 of y" in verified.stdout, f"a wrong element is found: {verified.stdout}")


# Of 16 bits, the second of which does not run in double precision.
HALVES = {"double": ("self.linear(x)", "bfloat16"), "own": ("self.linear(x.to(torch.bfloat16))", "float32")}
HALVES_MODEL = """import torch
import torch.nn as nn
from beside_it import WIDTH
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, 48, dtype=torch.bfloat16)
    def forward(self, x):
        return torch.relu(%s).t()
def get_inputs():
    return [torch.randn(32, 64, dtype=torch.%s)]
def get_init_inputs():
    return []
"""


def test_halves(folder, interpreters):
    """verify.py takes what 16 bits round, and not what is a 64th too large everywhere, which is less than an element may be off.

    It says which file the model imports that is not there.
    """
    (folder / "beside_it.py").write_text("WIDTH = 64\n")
    there = dict(os.environ, PYTHONPATH=str(folder))
    for name, forward in HALVES.items():
        model = folder / f"{name}.py"
        model.write_text(HALVES_MODEL % forward)
        out = folder / name
        done = hone("import", model, "--python", interpreters[0], "-o", folder / f"{name}.json")
        expect(done.returncode == 0, f"import {name}: {done.stderr}")
        done = hone("export", optimized(folder, folder / f"{name}.json"), "--store", folder / "runs.sqlite", "-o", out)
        expect(done.returncode == 0, f"export {name}: {done.stderr}")
        verified = run(interpreters[0], out / "verify.py")
        expect(verified.returncode == 2 and f"imports beside_it, which Python does not find here: add the folder that model.py was in "
               f"to PYTHONPATH ({folder})" in verified.stdout, f"a file that is missing: {verified.stdout} {verified.stderr}")
        verified = run(interpreters[0], out / "verify.py", "--seconds", 0.1, env=there)
        expect(verified.returncode == 0 and ("does not run in double" in verified.stdout) == (name == "own"),
               f"verify in 16 bits, {name}: {verified.stdout} {verified.stderr}")
        kernel, entry = (out / "kernel.cc").read_text(), "int32_t hone_run(const HoneCall* call)"
        (out / "kernel.cc").write_text(kernel.replace(entry, "int32_t right_run(const HoneCall* call)") + (
            '\nextern "C" HONE_EXPORT %s {\n  int32_t code = right_run(call);\n'
            "  unsigned short* y = static_cast<unsigned short*>(call->outputs[0].data);\n"
            "  for (int i = 0; i < 32 * 48; ++i) {\n    unsigned bits = unsigned(y[i]) << 16;\n    float x;\n"
            "    __builtin_memcpy(&x, &bits, 4);\n    x *= 65.0f / 64;\n    __builtin_memcpy(&bits, &x, 4);\n"
            "    y[i] = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;\n  }\n"
            "  return code;\n}\n" % entry))
        verified = run(interpreters[0], out / "verify.py", "--seconds", 0.1, env=there)
        expect(verified.returncode == 1 and "root mean square" in verified.stdout, f"a 64th too large, {name}: {verified.stdout} {verified.stderr}")


CUDA = {  # name: (tensors, operators)
    "softmax": ([("x", [64, 512], "input"), ("y", [64, 512], "output")],
                [("aten._softmax.default", {"self": "%x", "dim": 1, "half_to_float": False}, ["y"])]),
    "matmul": ([("a", [512, 512], "input"), ("b", [512, 512], "input"), ("y", [512, 512], "output")],
               [("aten.mm.default", {"self": "%a", "mat2": "%b"}, ["y"])]),
    "cumsum": ([("x", [64, 512], "input"), ("y", [64, 512], "output")],
               [("aten.cumsum.default", {"self": "%x", "dim": 1}, ["y"])]),
    "argmax": ([("x", [64, 512, 8], "input"), ("y", [64, 8], "output")],
               [("aten.argmax.default", {"self": "%x", "dim": 1}, ["y"])]),
}
CUDA_MODEL = """import torch
class Model(torch.nn.Module):
    \"\"\"The forward pass.\"\"\"
    def __init__(self):
        super(Model, self).__init__()
    def forward(self, *tensors):
        raise NotImplementedError
"""


def test_cuda(folder, interpreters):
    """What the expert writes for CUDA is one Python file whose kernels nvcc takes, without a device; verify.py says that it needs one."""
    model = folder / "model.py"
    model.write_text(CUDA_MODEL)
    sha = hashlib.sha256(CUDA_MODEL.encode()).hexdigest()
    for name, (tensors, operators) in CUDA.items():
        described = []
        for tensor, shape, role in tensors:
            dtype = "i64" if name == "argmax" and role == "output" else "f32"
            described.append({"name": tensor, "shape": shape, "dtype": dtype, "role": role})
            if role != "output":
                described[-1]["generator"] = {"kind": "uniform", "low": 0, "high": 1}
        problem, program, out = folder / f"{name}.json", folder / f"{name}.hk", folder / f"{name}_cuda"
        problem.write_text(json.dumps({"hone_problem": 1, "name": name, "contract": "torch", "tensors": described,
                                       "provenance": {"source": str(model), "source_sha256": sha},
                                       "graph": [{"op": op, "args": args, "outputs": made} for op, args, made in operators]}))
        done = hone("propose", problem, "--target", "cuda")
        expect(done.returncode == 0, f"propose {name} for CUDA: {done.stderr}")
        program.write_text(done.stdout)
        done = hone("export", "--problem", problem, "--program", program, "-o", out)
        expect(done.returncode == 0, f"export {name} for CUDA: {done.stderr}")
        if done.returncode != 0:
            continue
        if interpreters and (out / "hone_kernel.py").exists():  # NVRTC is here
            verified = run(interpreters[0], out / "verify.py")
            expect(verified.returncode == 2 and "not checked: " in verified.stdout, f"verify {name} for CUDA: {verified.stdout}")
        plan, text = json.loads((out / "plan.json").read_text()), (out / "model_new.py").read_text()
        names = {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)}
        expect(names == {"ModelNew"}, f"{name}: the classes of model_new.py are {names}")
        for step in plan.get("prepare", []) + plan["steps"]:
            if step["do"] == "launch":
                grid = ", ".join(map(str, (step["grid"] + [1, 1])[:3]))
                launch = f"reinterpret_cast<const void*>(&{step['kernel']}), dim3({grid}),"
                expect(launch in text, f"{name}: {launch} is not in model_new.py")
        plain = re.sub(r"(#|//).*", "", text)  # as KernelBench's checker reads it
        expect(not re.search(r"\bpass\b|\btry\s*:|\bexcept\b", plain), f"{name}: a word that KernelBench forbids")
        expect("__global__" in plain and "load_inline" in plain, f"{name}: what KernelBench asks for is not in it")
        if shutil.which("nvcc"):
            source = folder / f"{name}.cu"
            source.write_text(text.split("hone_cuda = r'''\n")[1].split("'''\n")[0])
            done = run("nvcc", "-gencode=arch=compute_90a,code=sm_90a", "-std=c++17", "-c", source, "-o", folder / f"{name}.o")
            expect(done.returncode == 0, f"nvcc on {name}: {done.stderr[:500]}")
    done = hone("export", "--problem", problem, "--program", program, "-o", folder / "none", "--form", "module")
    one_line(done, 2, "--form bundle")
    done = hone("export", "-o", folder / "none")
    one_line(done, 2, "--program")

    # A run for CUDA needs a device: one for the CPU becomes one in the store.
    run_id = optimized(folder, folder / "softmax.json")
    done = hone("export", run_id, "--store", folder / "runs.sqlite", "-o", folder / "none", "--form", "kernelbench")
    one_line(done, 2, "C++ for a CPU")
    program = (folder / "softmax.hk").read_bytes()
    key = hashlib.sha256(program).hexdigest()
    with sqlite3.connect(folder / "runs.sqlite") as store:
        store.execute("INSERT INTO blob VALUES (?, ?)", (key, program))
        number, = store.execute("SELECT sequence FROM run WHERE id = ?", (run_id,)).fetchone()
        store.execute("UPDATE run SET target = 'cuda' WHERE sequence = ?", (number,))
        store.execute("UPDATE attempt SET kind = 'program', source_blob = ? WHERE run = ?", (key, number))
    store.close()
    done = hone("export", run_id, "--store", folder / "runs.sqlite", "-o", folder / "of_run")
    expect(done.returncode == 0, f"export of a run for CUDA: {done.stderr}")
    for name in ("plan.json", "program.hk", "model_new.py", "problem.json"):
        expect(done.returncode != 0 or (folder / "of_run" / name).read_bytes() == (folder / "softmax_cuda" / name).read_bytes(),
               f"{name} of a run is that of its program")


def main():
    interpreters = pythons()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["HONE_CACHE"] = os.environ.get("HONE_CACHE") or str(folder / "cache")
        if not os.environ.get("HONE_DATA"):
            os.environ["HONE_DATA"] = str(folder / "data")
            tree.lend_machine(HONE, folder / "data")
        test_json_problem(folder)
        test_cuda(folder, interpreters)
        # The other versions have a pass of their own; that they can use what one of them exported is for any pass.
        alone = interpreters[:1] if os.environ.get("HONE_ONE_TORCH") else interpreters
        with Warm(folder) as warm:
            for i, python in enumerate(alone):
                (folder / f"import_{i}").mkdir()
                test_import(folder / f"import_{i}", python, warm)
            if interpreters:
                test_bundle(folder, interpreters, warm)
                test_in_place(folder, interpreters, warm)
                test_halves(folder, interpreters)
    if not interpreters and not failures:
        tree.skip("no Python with torch is installed")
    tree.finish(failures, f"import and export with {len(interpreters)} torch versions")


main()
