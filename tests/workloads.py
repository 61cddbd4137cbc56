#!/usr/bin/env python3
"""Every workload of examples/workloads, in small where it has such a form, imports and has a first program within a second. The
processor judges the small ones. workloads.py HONE

PyTorch itself is held against the oracle beside them, as a module that a user brings. What examples/spellings become on a device is of
the families that it should be of. Exit status 77: skipped, no torch of version 2.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import tree

HONE = os.path.abspath(sys.argv[1])
WORKLOADS = tree.ROOT / "examples" / "workloads"
SPELLINGS = tree.ROOT / "examples" / "spellings"
# The families of a file's first program on a device, in their order.
FAMILIES = {
    "adamw": ["map"],
    "adamw_in_place": ["map"],
    "adapters": ["matmul", "nest", "matmul"],
    "cache_in_place": ["nest", "nest", "attention"],
    "cache_int8_in_place": ["reduce", "nest", "nest", "reduce", "nest", "nest", "attention"],
    "cache_places": ["nest", "nest", "attention"],
    "cache_rolling": ["nest", "nest", "attention"],
    "cache_slice": ["nest", "nest", "attention"],
    "cache_slots": ["nest", "nest", "attention"],
    "causal_loss": ["map", "matmul_reduce", "nest", "reduce"],
    "channel_heads": ["matmul", "map", "attention", "map"],
    "class_token": ["norm", "matmul", "attention", "matmul", "norm", "matmul", "matmul", "norm", "matmul"],
    "decode_mask": ["attention"],
    "delta_step": ["norm"],
    "expert_blocks": ["matmul"],
    "expert_rows": ["matmul"],
    "fp8_blocks": ["nest"],
    "fp8_blocks_prefill": ["norm", "scaled_matmul"],
    "fp8_blocks_written_out": ["scaled_matmul"],
    "fp8_cache": ["attention"],
    "fp8_cache_prompt": ["map", "map", "attention"],
    "fp8_norm": ["norm"],
    "gate_up": ["matmul", "matmul"],
    "gla_step": ["map", "norm"],
    "gqa": ["attention"],
    "gqa_decode": ["attention"],
    "greedy": ["matmul_reduce"],
    "growing_cache": ["matmul", "nest", "matmul", "nest", "matmul", "nest", "nest", "attention", "matmul"],
    "int8_cache": ["attention"],
    "int8_rows": ["matmul"],
    "int8_wholes": ["matmul"],
    "last_token": ["norm", "matmul", "softmax"],
    "mamba2_step": ["nest", "reduce", "map", "norm"],
    "mamba_step": ["nest", "reduce", "map", "norm"],
    "mla_decode": ["attention"],
    "mla_parts": ["attention"],
    "moe_counts": ["order", "nest", "nest", "scan", "grouped_matmul"],
    "moe_histogram": ["order", "nest", "scan", "nest", "grouped_matmul", "nest", "nest"],
    "moe_sorted": "matmul softmax order norm order nest scan map nest grouped_matmul nest grouped_matmul nest".split(),
    "nearest": ["reduce", "reduce", "nest", "nest", "matmul_reduce"],
    "neighbours": ["reduce", "reduce", "nest", "nest", "matmul_reduce", "order", "order", "nest", "order", "nest"],
    "norm_backward": ["norm", "reduce"],
    "norm_statistics": ["norm"],
    "nucleus": ["softmax", "order", "scan", "reduce", "nest", "nest"],
    "packed_documents": ["nest", "reduce", "attention"],
    "packed_mask": ["attention"],
    "packed_weights": ["nest"],
    "paged_decode": ["attention"],
    "paged_mla": ["attention"],
    "paged_mla_parts": ["attention"],
    "paged_prefill": ["attention"],
    "patches": ["conv", "map"],
    "quantized_rows": ["norm"],
    "relu_attention": ["attention"],
    "retention": ["nest", "nest", "nest", "nest", "map", "attention"],
    "retrieval": ["norm", "norm", "matmul_reduce", "order", "order", "nest", "order", "nest"],
    "rotary_pairs": ["nest"],
    "selective_log_probs": ["matmul_reduce", "nest"],
    "shifted_loss": ["nest", "matmul_reduce", "nest", "reduce"],
    "sigmoid_attention": ["attention"],
    "sinks": ["attention"],
    "state_in_place": ["nest", "reduce", "norm"],
    "state_space": "map map nest scan nest nest nest nest scan map attention map map matmul nest nest nest nest nest nest scan map reduce matmul map map"
                   .split(),
    "windows": ["matmul", "nest", "attention", "matmul"],
}
MOST_SECONDS = 1  # for a first program, from its problem.json
GROUPED = "moe_"  # their products need a PyTorch that has torch._grouped_mm


def torch_2():
    """(an interpreter, whether its PyTorch groups products)"""
    for name in (os.environ.get("HONE_PYTHON"), tree.ROOT / "build/venv/bin/python", "python3", "/usr/bin/python3"):
        path = shutil.which(name) if name else None
        if not path:
            continue
        asked = subprocess.run([path, "-c", "import torch; print(torch.__version__[0], hasattr(torch, '_grouped_mm'))"],
                               capture_output=True, text=True)
        if asked.returncode == 0 and asked.stdout[0] != "1":
            return path, "True" in asked.stdout
    return None, False


def run(environment, *arguments):
    return subprocess.run([HONE, *map(str, arguments)], capture_output=True, text=True, timeout=900, env=environment)


def first_program(problem, target, environment):
    """(its text, what is wrong or None)"""
    for last in (False, True):  # once more where the machine was busy
        begin = time.monotonic()
        done = run(environment, "propose", problem, "--target", target, *(["--device", "h200"] if target == "cuda" else []))
        seconds = time.monotonic() - begin
        if done.returncode or not done.stdout:
            return "", f"has no program on {target}: {done.stderr.strip()}"
        if seconds <= MOST_SECONDS:
            break
        if last:
            return "", f"its first program on {target} takes {seconds:.2f} s"
    return done.stdout, None


def wrong_with(file, folder, environment):
    """What is wrong with a workload, or None. Small ones are judged."""
    problem = folder / f"{file.stem}.json"
    done = run(environment, "import", file, "-o", problem)
    if done.returncode or "cannot optimize" in done.stderr:
        return done.stderr.strip()
    for target in ("cuda", "cpu"):  # the latter's is evaluated
        text, wrong = first_program(problem, target, environment)
        if wrong:
            return wrong
    if not file.stem.endswith("_small"):
        return None
    program = folder / f"{file.stem}.{'cc' if text.startswith('//') else 'hk'}"
    program.write_text(text)
    done = run(environment, "evaluate", problem, program, "--baseline", file, "--budget", "0.1", "--json")
    document = json.loads(done.stdout or "{}")
    if document.get("outcome") != "accepted":
        return f"{document.get('outcome')}: {document.get('reason')} {done.stderr.strip()}"
    against = document["timing"]["against"]
    if not against or "wrong" in against[0]:
        return f"PyTorch itself: {against[0]['wrong'] if against else document.get('notes')}"
    return None


def wrongly_spelled(file, folder, environment):
    """What is wrong with what a spelling becomes, or None."""
    problem = folder / f"{file.stem}.json"
    done = run(environment, "import", file, "-o", problem)
    if done.returncode:
        return done.stderr.strip()
    text, wrong = first_program(problem, "cuda", environment)
    if wrong:
        return wrong
    families = re.findall(r"^\w+(?:: [^=]*)? = (\w+)", text, re.M)
    return None if families == FAMILIES[file.stem] else f"it is {families}, not {FAMILIES[file.stem]}"


def main():
    python, grouped = torch_2()
    if python is None:
        print("skipped: no torch of version 2")
        sys.exit(77)
    whole = {file.stem for file in WORKLOADS.glob("*.py") if "\ndef get_inputs" in file.read_text()}
    files = [WORKLOADS / f"{name}.py" for name in sorted(whole)
             if f"{name}_small" not in whole and (grouped or not name.startswith(GROUPED))]
    problems = []
    for file in files:
        if file.stem.endswith("_small") and file.stem[: -len("_small")] not in whole:
            problems.append(f"{file.relative_to(tree.ROOT)}:1: there is no {file.stem[: -len('_small')]}.py")
    with tempfile.TemporaryDirectory(prefix="hone-workloads-", dir="/var/tmp") as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        environment = dict(os.environ, HONE_PYTHON=python, HONE_DATA=folder + "/data")
        for file, wrong in zip(files, pool.map(lambda file: wrong_with(file, pathlib.Path(folder), environment), files)):
            if wrong:
                problems.append(f"{file.relative_to(tree.ROOT)}:1: {wrong}")
        spellings = [file for file in sorted(SPELLINGS.glob("*.py")) if grouped or not file.stem.startswith(GROUPED)]
        for file, wrong in zip(spellings, pool.map(lambda file: wrongly_spelled(file, pathlib.Path(folder), environment), spellings)):
            if wrong:
                problems.append(f"{file.relative_to(tree.ROOT)}:1: {wrong}")
    tree.finish(problems, f"{len(files)} workloads, {len(spellings)} spellings")


main()
