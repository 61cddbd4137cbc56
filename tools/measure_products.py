#!/usr/bin/env python3
"""Times the expert's first programs for 16-bit products on a CUDA device beside torch.matmul (docs/measured/cuda_16bit.md).

measure_products.py HONE -o FILE.md [--beside OTHER] [--shapes 4096x4096x4096,...] [--types f16,bf16] [--layouts NN,NT,TN,TT] [--end gelu]

A shape is M x N x K, or batches x M x N x K. Of the layouts, N is an operand as it is multiplied, A [M, K] and B [K, N], T one that lies the other way round.
What HONE proposes takes turns with torch.matmul, which is cuBLAS, and then what OTHER does, another build; one judge asks for both. With an
end there are a bias and a function behind the product, which is linear() with a function in PyTorch: shapes without batches, layout NT.
"""
import argparse
import concurrent.futures
import math
import pathlib
import subprocess
import tempfile

from measuring import against, ask, geomean, microseconds, speedup

TYPES = {"f16": "float16", "bf16": "bfloat16"}
TURNED = ".transpose(-1, -2)"
PROBLEM = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a{a}, b{b})


def get_inputs():
    return [torch.randn({a_shape}, dtype=torch.{type}), torch.randn({b_shape}, dtype=torch.{type})]


def get_init_inputs():
    return []
"""

LAYER = """import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, a, b, bias):
        return F.{end}(F.linear(a, b, bias))


def get_inputs():
    return [torch.randn({shape}, dtype=torch.{type}) for shape in ({a_shape}, {b_shape}, [{b_shape}[0]])]


def get_init_inputs():
    return []
"""


def write_problem(hone, folder, end, kind, layout, shape):
    *batch, m, n, k = shape
    name = f"{kind}_{layout}_" + "x".join(str(size) for size in shape)
    source = folder / f"{name}.py"
    a_turned, b_turned = (side == "T" for side in layout)
    if end:
        source.write_text(LAYER.format(end=end, shape="shape", type=TYPES[kind], a_shape=[m, k], b_shape=[n, k]))
    else:
        source.write_text(PROBLEM.format(a=TURNED if a_turned else "", b=TURNED if b_turned else "", type=TYPES[kind],
                                         a_shape=[*batch, *((k, m) if a_turned else (m, k))],
                                         b_shape=[*batch, *((n, k) if b_turned else (k, n))]))
    problem = folder / f"{name}.json"
    done = subprocess.run([hone, "import", str(source), "-o", str(problem)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr.strip()}")
    return problem


def plan_of(hone, problem, name):
    """The expert's first program as a plan, or what was said instead."""
    program, plan = problem.with_suffix(".hk"), problem.with_name(f"{problem.stem}_{name}.json")
    for command, to in ((["propose", str(problem), "--target", "cuda"], program), (["lower", str(program), "--target", "cuda", "--plan"], plan)):
        done = subprocess.run([hone, *command], capture_output=True, text=True)
        if done.returncode != 0:
            return None, done.stderr.strip()
        to.write_text(done.stdout)
    return plan, ""


def cells(answer, operations):
    timing = answer.get("timing")
    if not timing:
        return [(answer.get("error") or {}).get("message") or f"{answer.get('outcome')}: {answer.get('reason')}", "", ""]
    us = timing["warm"]["median_us"]
    return [microseconds(us), f"{operations / us / 1e6:.0f}", speedup(against(answer, "eager"))]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("-o", "--output", required=True, type=pathlib.Path)
    options.add_argument("--beside", default="")
    options.add_argument("--shapes", default="4096x4096x4096,8192x2048x2048,2048x8192x4096")
    options.add_argument("--types", default="f16,bf16")
    options.add_argument("--layouts", default="NN,NT,TN,TT")
    options.add_argument("--end", default="", help="a function of torch.nn.functional behind a product with a bias: gelu, say")
    options.add_argument("--budget", default=0.5, type=float, help="seconds of timing a plan and baseline")
    given = options.parse_args()

    builds = [given.hone] + ([given.beside] if given.beside else [])
    shapes = [tuple(int(size) for size in shape.split("x")) for shape in given.shapes.split(",")]
    cases = [(kind, layout, shape) for shape in shapes for kind in given.types.split(",") for layout in (["NT"] if given.end else given.layouts.split(","))]
    head = ["type", "layout", "M x N x K", f"torch.nn.functional.{given.end}(linear)" if given.end else "torch.matmul"] + ["ours", "TFLOP/s", "over it"]
    head += ["before", "TFLOP/s", "over it"] if given.beside else []
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    ratios = {build: [] for build in builds}
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(8) as pool:
        folder = pathlib.Path(name)
        problems = list(pool.map(lambda case: write_problem(given.hone, folder, given.end, *case), cases))
        for (kind, layout, shape), problem in zip(cases, problems):
            plans = [plan_of(build, problem, number) for number, build in enumerate(builds)]
            said = ask([given.hone, "evaluate", str(problem), *(str(plan) for plan, _ in plans if plan), "--target", "cuda",
                        "--baseline", "eager", "--budget", str(given.budget), "--json"])
            made = iter(said.get("evaluations", [said]))
            answers = [next(made, said) if plan else {"error": {"message": why}} for plan, why in plans]
            operations = 2 * math.prod(shape)
            eager = [against(answer, "eager") for answer in answers]
            row = [kind, layout, " x ".join(str(size) for size in shape)]
            row.append(microseconds(eager[0]["baseline_warm"]["median_us"] if eager[0] else None))
            for build, answer, beside in zip(builds, answers, eager):
                row += cells(answer, operations)
                ratios[build].append((beside or {}).get("speedup"))
            rows.append("| " + " | ".join(row) + " |")
            given.output.write_text("\n".join(rows) + "\n")
            print(rows[-1], flush=True)
    for build in builds:
        print(build, "geomean over PyTorch:", geomean(ratios[build]))


if __name__ == "__main__":
    main()
