#!/usr/bin/env python3
"""Times the expert's first programs for attention on a CUDA device beside each back end of PyTorch (docs/measured/cuda_attention.md).

measure_attention.py HONE -o FILE.md [--shapes 4x32x4096x128c,...] [--types bf16,f16] [--budget S]

A shape is batches x heads x length x width; with a c behind it the attention is causal. All take turns, asked for by one judge: ours, what
scaled_dot_product_attention chooses by itself, and its kernels of cuDNN and of FlashAttention by force.
"""
import argparse
import concurrent.futures
import pathlib
import subprocess
import tempfile

from measuring import ask, geomean, microseconds, speedup

TYPES = {"f16": "float16", "bf16": "bfloat16"}
SHAPES = ("4x32x4096x128,4x32x4096x128c,1x16x16384x128c,8x16x2048x128,16x16x1024x128c,32x16x512x128,2x16x8192x64c,4x24x2048x64c,"
          "8x12x1024x64,16x16x512x64c,32x12x197x64,4x16x4096x256c")
BACKENDS = {"Cudnn": "CUDNN_ATTENTION", "Flash": "FLASH_ATTENTION"}
PROBLEM = """import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


class Model(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal={causal})


class Cudnn(nn.Module):
    def forward(self, q, k, v):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return F.scaled_dot_product_attention(q, k, v, is_causal={causal})


class Flash(nn.Module):
    def forward(self, q, k, v):
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return F.scaled_dot_product_attention(q, k, v, is_causal={causal})


def get_inputs():
    return [torch.randn({shape}, dtype=torch.{type}) for _ in range(3)]


def get_init_inputs():
    return []
"""


def write_problem(hone, folder, kind, text):
    """The problem of a shape, with the expert's first program; what was said instead of either."""
    causal = text.endswith("c")
    shape = [int(size) for size in text.rstrip("c").split("x")]
    source, problem, program = (folder / f"{kind}_{text}.{end}" for end in ("py", "json", "hk"))
    source.write_text(PROBLEM.format(causal=causal, shape=shape, type=TYPES[kind]))
    for command in (["import", str(source), "-o", str(problem)], ["propose", str(problem), "--target", "cuda"]):
        done = subprocess.run([hone, *command], capture_output=True, text=True)
        if done.returncode != 0:
            return source, done.stderr.strip()
    program.write_text(done.stdout)
    return source, ""


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("-o", "--output", required=True, type=pathlib.Path)
    options.add_argument("--shapes", default=SHAPES)
    options.add_argument("--types", default="bf16")
    options.add_argument("--budget", default=0.3, type=float, help="seconds of timing a program and baseline")
    given = options.parse_args()

    cases = [(kind, shape) for kind in given.types.split(",") for shape in given.shapes.split(",")]
    head = ["type", "shape", "ours", "TFLOP/s", "by itself", *BACKENDS.values(), "over the fastest"]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    ratios = []
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(8) as pool:
        folder = pathlib.Path(name)
        problems = list(pool.map(lambda case: write_problem(given.hone, folder, *case), cases))
        for (kind, text), (source, why) in zip(cases, problems):
            answer = {"error": {"message": why}}
            if not why:
                command = [given.hone, "evaluate", str(source.with_suffix(".json")), str(source.with_suffix(".hk")), "--target", "cuda"]
                for baseline in ["eager", *(f"{source}:{backend}" for backend in BACKENDS)]:
                    command += ["--baseline", baseline]
                answer = ask([*command, "--budget", str(given.budget), "--json"])
            timing = answer.get("timing")
            if not timing:
                rows.append(f"| {kind} | {text} | {(answer.get('error') or {}).get('message') or answer.get('reason')} |")
            else:
                batches, heads, length, width = (int(size) for size in text.rstrip("c").split("x"))
                operations = 4 * batches * heads * length**2 * width / (2 if text.endswith("c") else 1)
                us = timing["warm"]["median_us"]
                compared = timing["against"]
                fastest = min(compared, key=lambda one: one["baseline_warm"]["median_us"] if one.get("baseline_warm") else float("inf"), default=None)
                by_name = {one["baseline"].rsplit(":", 1)[-1]: one for one in compared}
                cells = [kind, text, microseconds(us), f"{operations / us / 1e6:.0f}"]
                for baseline in ["eager", *BACKENDS]:
                    one = by_name.get(baseline)
                    cells.append(microseconds(one["baseline_warm"]["median_us"]) if one and one.get("baseline_warm") else "-")
                rows.append("| " + " | ".join([*cells, speedup(fastest)]) + " |")
                ratios.append((fastest or {}).get("speedup"))
            given.output.write_text("\n".join(rows) + "\n")
            print(rows[-1], flush=True)
    print("geomean over the fastest:", geomean(ratios))


if __name__ == "__main__":
    main()
