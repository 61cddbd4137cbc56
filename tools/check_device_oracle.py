#!/usr/bin/env python3
"""Holds the oracle as a CUDA device computes it against the processor's and against PyTorch in float64 on the same device.

check_device_oracle.py HONE PROBLEMS -o FILE.md [--jobs N]

PROBLEMS is a folder of L1_5.json ... as `hone import --shrink 20` writes them, each with its cut .py file beside it. Run it with a
Python that has PyTorch with CUDA, and safetensors.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import tempfile
import threading

import torch
from safetensors.torch import load_file

TORCH = threading.Lock()  # one model at a time; hone runs side by side


def reference(hone, problem, target, folder):
    """The file's tensors, or why there are none."""
    file = pathlib.Path(folder) / (target + ".safetensors")
    done = subprocess.run([hone, "reference", str(problem), "-o", str(file), "--target", target], capture_output=True, text=True, timeout=300)
    return (load_file(str(file)), "") if done.returncode == 0 else (None, "%s: %s" % (target, done.stderr.strip()[-200:]))


def by_torch(source, document, data):
    """The model's outputs in float64 on the device, of the inputs and parameters that hone drew."""
    module = {}
    exec(compile(source.read_text(), str(source), "exec"), module)
    model = module["Model"](*module["get_init_inputs"]()).double().cuda()
    drawn = {tensor["name"]: data[tensor["name"]] for tensor in document["tensors"] if tensor["role"] in ("input", "parameter")}
    state = model.state_dict()
    names = {key.split(" ", 1)[1]: name for key, name in document["provenance"].items() if key.startswith("parameter ")}
    for key, name in names.items():
        if name not in state or drawn[key].shape != state[name].shape:
            return None, "the model has no '%s' of the graph's shape" % name
        state[name] = drawn[key].to(state[name].dtype)
    model.load_state_dict(state)
    inputs = [drawn[tensor["name"]].cuda() for tensor in document["tensors"] if tensor["role"] == "input"]
    given = module["get_inputs"]()
    if sum(isinstance(one, torch.Tensor) for one in given) != len(inputs):
        return None, "the graph has %d inputs" % len(inputs)
    inputs = iter([one.double() if one.is_floating_point() else one for one in inputs])
    with torch.no_grad():
        out = model(*[next(inputs) if isinstance(one, torch.Tensor) else one for one in given])
    return [one.double().cpu() for one in (out if isinstance(out, (tuple, list)) else [out])], ""


def apart(got, want):
    """The largest difference, relative to the largest value; NaN in both is the same."""
    got, want = got.double().flatten(), want.double().flatten()
    if got.shape != want.shape:
        return float("inf")
    same = (got == want) | (got.isnan() & want.isnan())
    if bool(same.all()):
        return 0.0
    finite = want[want.isfinite()]
    size = float(finite.abs().max()) if finite.numel() else 1.0
    worst = float((got - want)[~same].abs().nan_to_num(float("inf")).max())
    return worst / (size or 1.0)


def check(given, problem):
    document = json.loads(problem.read_text())
    source = problem.parent / document["provenance"]["source"]
    row = {"name": problem.stem.replace("_", "/", 1)}
    with tempfile.TemporaryDirectory() as folder:
        device, error = reference(given.hone, problem, "cuda", folder)
        if not device:
            return {**row, "error": error}
        host, error = reference(given.hone, problem, "cpu", folder)
    names = [tensor["name"] for tensor in document["tensors"] if tensor["role"] == "output"]
    if host:
        row["host"] = max(apart(device[name], host[name]) for name in names)
    else:
        row["notes"] = error
    with TORCH:
        try:
            outputs, error = by_torch(source, document, device)
        except Exception as problem_of_torch:
            outputs, error = None, str(problem_of_torch).splitlines()[0][:200]
        torch.cuda.empty_cache()
    if outputs is None or len(outputs) != len(names):
        row["notes"] = "PyTorch: " + (error or "other outputs")
    else:
        row["torch"] = max(apart(device[name], out) for name, out in zip(names, outputs))
    return row


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("problems", type=pathlib.Path)
    options.add_argument("-o", "--output", required=True, type=pathlib.Path)
    options.add_argument("--jobs", type=int, default=4)
    given = options.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    problems = sorted(given.problems.glob("L*_*.json"), key=lambda p: [int(n) for n in re.findall(r"\d+", p.stem)])
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        rows = list(pool.map(lambda problem: check(given, problem), problems))
    text = ["| held against | problems | largest difference | above 1e-10 |", "|---|---|---|---|"]
    for beside in ("host", "torch"):
        some = [row for row in rows if beside in row]
        worst = max(some, key=lambda row: row[beside], default=None)
        far = [row["name"] for row in some if not row[beside] <= 1e-10]
        text.append("| %s | %d of %d | %s | %s |" % ({"host": "the processor's oracle", "torch": "PyTorch in float64 on the device"}[beside], len(some), len(rows),
                                                  "%.1e (%s)" % (worst[beside], worst["name"]) if worst else "-", ", ".join(far) or "none"))
    text.append("")
    reasons = collections.defaultdict(list)
    for row in rows:
        for key in ("error", "notes"):
            if key in row:
                reasons[row[key]].append(row["name"])
    text += ["- %s: %s" % (", ".join(names), reason) for reason, names in reasons.items()]
    given.output.write_text("\n".join(text) + "\n")
    given.output.with_suffix(".jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
