#!/usr/bin/env python3
"""Optimizes the workloads of examples/workloads on a CUDA device, beside PyTorch and Triton (docs/measured/cuda_workloads.md).

measure_workloads.py HONE -o FILE.jsonl [--only moe_forward,maxsim] [--budget N] [--time S]
measure_workloads.py --table FILE.jsonl

Each is optimized for S seconds or N attempts, whichever ends first, and the winner is timed in turn with eager, torch.compile and,
where there is one, the kernel of examples/baselines. A line a workload, the last of a name counts:

    name, us (warm), bound_us, over ({baseline: [speed-up, low, high, its us]}), errors ({baseline: error over budget, or what is wrong}),
    attempts, outcomes (of all attempts, counted), notes, stop, seconds, error (why there is nothing)
"""
import argparse
import collections
import json
import pathlib
import re
import shutil
import sys
import tempfile
import time

from measuring import ROOT, ask, microseconds

# The workloads, each with its kernel in Triton.
WORKLOADS = {
    "maxsim": "maxsim_tokens.py",
    "maxsim_masked": "maxsim_tokens.py:Masked",
    "maxsim_wide": "maxsim_tokens.py",
    "maxsim_quantized": "maxsim_codes.py",
    "sparse_retrieval": "scatter_scores.py",
    "llama_block": None,
    "swiglu_mlp": None,
    "decode_step": None,
    "moe_gate_up": "grouped_product.py:GateUp",
    "moe_forward": "grouped_product.py",
    "moe_block": "moe_experts.py",
    "moe_weight_gradient_2": "grouped_gradient.py",
    "moe_weight_gradient_1": "grouped_gradient.py",
    "bert_layer": None,
    "biased_attention": None,
    "windowed_attention": None,
    "residual_norm": None,
    "causal_conv1d": None,
    "diffusion_block": None,
    "vocabulary_loss": None,
    "contrastive_loss": None,
    "distillation_loss": None,
    "codebook": None,
    "retrieval": None,
    "expert_gate": None,
    "graph_conv": None,
    "fourier_layer": None,
    "spectrogram": None,
}
# Others in sizes of their own: the workload, what its module is made with, and what its inputs are.
SIZES = {
    "sparse_retrieval_500": ("sparse_retrieval", [], {"queries": 500}),
    "sparse_retrieval_million": ("sparse_retrieval", [1000000], {"documents": 1000000, "queries": 500}),
}
RESIZED = """from {name} import Model, inputs


def get_inputs():
    return inputs(**{inputs})


def get_init_inputs():
    return {init}
"""


def module_of(name, folder):
    """The file of a workload, and its kernel in Triton or None; one of another size stands beside copies of what it imports."""
    workloads = ROOT / "examples" / "workloads"
    if name not in SIZES:
        return workloads / f"{name}.py", WORKLOADS[name]
    base, init, inputs = SIZES[name]
    for source in workloads.glob(f"{base.split('_')[0]}_*.py"):
        shutil.copy(source, folder)
    module = pathlib.Path(folder) / f"{name}.py"
    module.write_text(RESIZED.format(name=base, init=init, inputs=inputs))
    return module, WORKLOADS[base]


def measure(hone, name, given, folder):
    module, own = module_of(name, folder)
    command = [hone, "optimize", str(module), "--target", "cuda", "--budget", str(given.budget), "--time", str(given.time),
               "--store", f"{folder}/{name}.db", "--json"]
    for baseline in ["eager", "compile"] + ([str(ROOT / "examples" / "baselines" / own)] if own else []):
        command += ["--baseline", baseline]
    begin = time.monotonic()
    answer = ask(command)
    row = {"name": name, "seconds": round(time.monotonic() - begin, 1)}
    if "error" in answer:
        return row | {"error": answer["error"]["message"]}
    row |= {"attempts": answer.get("attempts"), "stop": answer.get("stop"), "bound_us": answer.get("bound_us")}
    if answer.get("run"):
        shown = ask([hone, "show", str(answer["run"]), "--store", f"{folder}/{name}.db", "--json"])
        row["outcomes"] = dict(collections.Counter(one["outcome"] for one in shown.get("attempts", [])))
    best = answer.get("best")
    if not best or not best.get("timing"):
        return row | {"error": "nothing was accepted" if answer.get("run") else str(answer.get("stage") or answer.get("stop"))}
    row |= {"us": best["timing"]["warm"]["median_us"], "notes": best.get("notes", []), "over": {}, "errors": {}}
    for one in best["timing"]["against"]:
        row["over"][one["baseline"]] = [one["speedup"], one.get("speedup_low"), one.get("speedup_high"), one["baseline_warm"]["median_us"]]
        if "wrong" in one or "error_over_budget" in one:
            row["errors"][one["baseline"]] = one.get("wrong") or one["error_over_budget"]
    return row


def cell(over, name):
    if not name or name not in over:
        return "-"
    speedup, low, high, us = over[name]
    interval = f" ({low:.2f} to {high:.2f})" if low else ""
    return f"{f'**{speedup:.2f}**{interval}' if speedup else 'no ratio'}, {microseconds(us)}"


def table(rows):
    yield "| workload | ours | of the bound | over eager | over torch.compile | over Triton | attempts |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        if "us" not in row:
            yield f"| {row['name']} | {row['error']} | | | | | {row.get('attempts') or 0} |"
            continue
        own = re.sub(r":.*", "", WORKLOADS[SIZES.get(row["name"], [row["name"]])[0]] or "")
        bound = f"{100 * row['bound_us'] / row['us']:.0f} %" if row.get("bound_us") else "-"
        cells = [cell(row["over"], name) for name in ("eager", "compile", own)]
        yield f"| {row['name']} | {microseconds(row['us'])} | {bound} | {' | '.join(cells)} | {row['attempts']} |"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone", nargs="?")
    options.add_argument("-o", "--output", type=pathlib.Path)
    options.add_argument("--only", default="")
    options.add_argument("--budget", type=int, default=8)
    options.add_argument("--time", type=int, default=45)
    options.add_argument("--table", type=pathlib.Path)
    given = options.parse_args()
    if given.table:
        rows = {row["name"]: row for row in map(json.loads, given.table.read_text().splitlines())}
        print("\n".join(table(rows.values())))
        return
    if not given.hone or not given.output:
        options.error("HONE and -o FILE.jsonl are missing")
    names = given.only.split(",") if given.only else list(WORKLOADS)
    unknown = [name for name in names if name not in WORKLOADS and name not in SIZES]
    if unknown:
        options.error(f"there is no workload {unknown[0]}; there are {', '.join([*WORKLOADS, *SIZES])}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            row = measure(given.hone, name, given, folder)
            with open(given.output, "a") as out:
                out.write(json.dumps(row) + "\n")
            print("\n".join(list(table([row]))[2:]), *row.get("notes", []), *map(str, row.get("errors", {}).items()), sep="\n  ",
                  file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
