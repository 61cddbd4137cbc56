#!/usr/bin/env python3
"""Times the expert's first programs for 16-bit products on a CUDA device beside torch.matmul (docs/measured/cuda_16bit.md).

measure_products.py HONE -o FILE.md [--beside OTHER] [--shapes 4096x4096x4096,...|forty] [--types f16,bf16] [--layouts NN,NT,TN,TT] [--end gelu]
    [--proposals N]

A shape is M x N x K, or batches x M x N x K. Of the layouts, N is an operand as it is multiplied, A [M, K] and B [K, N], T one that lies the other way round.
What HONE proposes takes turns with torch.matmul, which is cuBLAS, and then what OTHER does, another build; one judge asks for both. With an
end there are a bias and a function behind the product, which is linear() with a function in PyTorch: shapes without batches, layout NT.
With proposals each of cuBLASLt's first N is timed in the same call, and the fastest of them stands beside ours.

`forty` are the shapes of linear layers that people run: projections, gates and heads of transformers from 768 to 8192 wide, for 128 to
16384 tokens, squares, long sums, batches, and sizes that no tile divides.
"""
import argparse
import concurrent.futures
import math
import pathlib
import re
import subprocess
import tempfile

from measuring import against, ask, geomean, microseconds, speedup

FORTY = """
1024x1024x1024 2048x2048x2048 4096x4096x4096 8192x8192x8192 3000x3000x3000 1000x2000x3000
16384x2304x768 16384x768x768 16384x3072x768 16384x768x3072 6304x3072x768 4096x768x3072
8192x3072x1024 8192x1024x1024 8192x4096x1024 8192x1024x4096 512x4096x1024
8192x6144x2048 8192x5632x2048 8192x2048x5632
4096x6144x4096 16384x4096x4096 4096x14336x4096 4096x4096x14336 2048x28672x4096 2048x11008x4096 2048x4096x11008
1024x6144x4096 512x4096x14336 256x28672x4096 128x6144x4096 128x4096x14336
4096x10240x8192 4096x8192x3584 2048x7168x8192
2048x32000x4096 1024x50257x768
1024x1024x16384 64x1024x1024x512 96x512x512x64
"""
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


def librarys(problem, proposals):
    """The same program with each of cuBLASLt's first proposals in place of its way."""
    text = problem.with_suffix(".hk").read_text()
    for number in range(proposals):
        program = problem.with_name(f"{problem.stem}_library_{number}.hk")
        program.write_text(re.sub(r"(matmul\(.*\)) with \{.*\}", rf"\1 with {{algorithm: {number}, precision: library}}", text))
        yield program


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
    options.add_argument("--proposals", default=0, type=int, help="how many of cuBLASLt's are timed beside")
    options.add_argument("--budget", default=0.5, type=float, help="seconds of timing a plan and baseline")
    given = options.parse_args()

    builds = [given.hone] + ([given.beside] if given.beside else [])
    named = FORTY.split() if given.shapes == "forty" else given.shapes.split(",")
    if given.end:
        named = [shape for shape in named if shape.count("x") == 2]
    shapes = [tuple(int(size) for size in shape.split("x")) for shape in named]
    cases = [(kind, layout, shape) for shape in shapes for kind in given.types.split(",") for layout in (["NT"] if given.end else given.layouts.split(","))]
    head = ["type", "layout", "M x N x K", f"torch.nn.functional.{given.end}(linear)" if given.end else "torch.matmul"] + ["ours", "TFLOP/s", "over it"]
    head += ["before", "TFLOP/s", "over it"] if given.beside else []
    head += ["the fastest of cuBLASLt over torch.matmul", "its place", "ours over it"] if given.proposals else []
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    ratios, over_library = {build: [] for build in builds}, []
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(8) as pool:
        folder = pathlib.Path(name)
        problems = list(pool.map(lambda case: write_problem(given.hone, folder, given.end, *case), cases))
        for (kind, layout, shape), problem in zip(cases, problems):
            plans = [plan_of(build, problem, number) for number, build in enumerate(builds)]
            library = list(librarys(problem, given.proposals))
            said = ask([given.hone, "evaluate", str(problem), *(str(plan) for plan, _ in plans if plan), *map(str, library), "--target", "cuda",
                        "--baseline", "eager", "--budget", str(given.budget), "--json"])
            made = iter(said.get("evaluations", [said]))
            answers = [next(made, said) if plan else {"error": {"message": why}} for plan, why in plans]
            theirs = [(against(answer, "eager") or {}).get("speedup") for answer in (next(made, {}) for _ in library)]
            operations = 2 * math.prod(shape)
            eager = [against(answer, "eager") for answer in answers]
            row = [kind, layout, " x ".join(str(size) for size in shape)]
            row.append(microseconds(eager[0]["baseline_warm"]["median_us"] if eager[0] else None))
            for build, answer, beside in zip(builds, answers, eager):
                row += cells(answer, operations)
                ratios[build].append((beside or {}).get("speedup"))
            if given.proposals:
                # Each had torch.matmul in turn beside it: by that they compare, whatever the clock was meanwhile.
                fastest = max((one for one in theirs if one), default=None)
                ours = (eager[0] or {}).get("speedup")
                over_library.append(ours / fastest if fastest and ours else None)
                row += [f"{fastest:.2f}", str(theirs.index(fastest)), f"{over_library[-1]:.2f}"] if over_library[-1] else ["-"] * 3
            rows.append("| " + " | ".join(row) + " |")
            given.output.write_text("\n".join(rows) + "\n")
            print(rows[-1], flush=True)
    for build in builds:
        print(build, "geomean over PyTorch:", geomean(ratios[build]))
    if given.proposals:
        print("geomean over the fastest of cuBLASLt:", geomean(over_library))


if __name__ == "__main__":
    main()
