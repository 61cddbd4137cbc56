#!/usr/bin/env python3
"""Times convolutions on a CUDA device: our own kernel beside cuDNN and PyTorch.

measure_convolutions.py HONE -o FILE.md [--layers 64x64x56x56:64x3x3/1,...] [--types bf16,f32] [--end relu] [--problems DIR] [--ways tiles,library]

A layer is N x C x H x W : O x KH x KW / stride, padded by half of its window. With an end there is a bias, a residual and a function behind it.
Each way has the expert's first program with channels first, and last; --problems are .py files that are imported instead.
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

from measuring import against, ask, geomean, microseconds, speedup

TYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}
LAYERS = ("64x64x56x56:64x3x3/1,64x64x56x56:256x1x1/1,64x256x14x14:256x3x3/1,32x512x7x7:512x3x3/1,128x3x224x224:64x7x7/2,"
          "8x320x64x64:320x3x3/1,8x640x32x32:640x3x3/1")
LAYER = """import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d({c}, {o}, ({kh}, {kw}), stride={stride}, padding=({kh} // 2, {kw} // 2), bias={bias}).to(torch.{type})

    def forward(self, x{more}):
        return {result}


def get_inputs():
    return [torch.randn({n}, {c}, {h}, {w}, dtype=torch.{type}){residual}]


def get_init_inputs():
    return []
"""


def write_layer(folder, kind, layer, end):
    n, c, h, w, o, kh, kw, stride = (int(number) for number in re.split("[x:/]", layer))
    down, right = (h + 2 * (kh // 2) - kh) // stride + 1, (w + 2 * (kw // 2) - kw) // stride + 1
    source = folder / f"{kind}_{layer.translate(str.maketrans(':/', '__'))}.py"
    residual = f", torch.randn({n}, {o}, {down}, {right}, dtype=torch.{TYPES[kind]})" if end else ""
    source.write_text(LAYER.format(n=n, c=c, h=h, w=w, o=o, kh=kh, kw=kw, stride=stride, type=TYPES[kind], bias=bool(end), residual=residual,
                                   more=", r" if end else "", result=f"F.{end}(self.conv(x) + r)" if end else "self.conv(x)"))
    return source, 2 * n * o * down * right * c * kh * kw


def plan_of(hone, problem, way, layout):
    """The expert's first program with this way of every convolution that can have it, or what was said instead."""
    program, plan = problem.with_name(f"{problem.stem}_{way}_{layout}.hk"), problem.with_name(f"{problem.stem}_{way}_{layout}.json")
    done = subprocess.run([hone, "propose", str(problem), "--target", "cuda"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    precision = ", precision: tf32" if "f32[" in done.stdout else ""

    def setting(match):
        return f"{match[1]} with {{path: {way}, layout: {layout}{precision}}}"

    text = re.sub(r"(= conv [^\n]*?\)(?: by \{[^}]*\})?|= conv\([^\n]*?\)(?: by \{[^}]*\})?)(?: with \{[^}]*\})?(?=\s|$)", setting, done.stdout)
    program.write_text(text)
    done = subprocess.run([hone, "lower", str(program), "--target", "cuda", "--plan"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    plan.write_text(done.stdout)
    return plan, ""


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("-o", "--output", required=True, type=pathlib.Path)
    options.add_argument("--layers", default=LAYERS)
    options.add_argument("--types", default="bf16,f32")
    options.add_argument("--end", default="", help="a function of torch.nn.functional behind the sum with a residual: relu, say")
    options.add_argument("--problems", nargs="*", type=pathlib.Path, help="files that are measured instead of layers")
    options.add_argument("--ways", default="tiles,library")
    options.add_argument("--budget", default=0.5, type=float, help="seconds of timing a plan and baseline")
    given = options.parse_args()

    kinds = [(way, layout) for way in given.ways.split(",") for layout in ("channels_first", "channels_last")]
    rows = ["| problem | eager | " + " | ".join(f"{way}, {layout.replace('_', ' ')} | over eager" for way, layout in kinds) + " |",
            "|" + "---|" * (2 + 2 * len(kinds))]
    ratios = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cases = [(path, 0) for path in given.problems] if given.problems else \
            [write_layer(folder, kind, layer, given.end) for kind in given.types.split(",") for layer in given.layers.split(",")]
        for source, operations in cases:
            problem = folder / f"{source.stem}.json"
            done = subprocess.run([given.hone, "import", str(source), "-o", str(problem)], capture_output=True, text=True)
            if done.returncode != 0:
                print(source, done.stderr.strip(), flush=True)
                continue
            plans = [plan_of(given.hone, problem, *kind) for kind in kinds]
            said = ask([given.hone, "evaluate", str(problem), *(str(plan) for plan, _ in plans if plan), "--target", "cuda",
                        "--baseline", "eager", "--budget", str(given.budget), "--json"])
            made = iter(said.get("evaluations", [said]))
            row, eager = [source.stem], ""
            for kind, (plan, why) in zip(kinds, plans):
                answer = next(made, said) if plan else {"error": {"message": why}}
                timing, beside = answer.get("timing"), against(answer, "eager")
                if not timing:
                    row += [(answer.get("error") or {}).get("message") or f"{answer.get('outcome')}: {answer.get('reason')}", ""]
                    continue
                us = timing["warm"]["median_us"]
                rate = f" ({operations / us / 1e6:.0f} TFLOP/s)" if operations else ""
                row += [microseconds(us) + rate, speedup(beside)]
                eager = microseconds(beside["baseline_warm"]["median_us"]) if beside else eager
                ratios[kind].append((beside or {}).get("speedup"))
            row.insert(1, eager)
            rows.append("| " + " | ".join(row) + " |")
            given.output.write_text("\n".join(rows) + "\n")
            print(rows[-1], flush=True)
    for kind in kinds:
        print(*kind, "geomean over PyTorch:", geomean(ratios[kind]))


if __name__ == "__main__":
    main()
