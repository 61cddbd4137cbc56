#!/usr/bin/env python3
"""How busy compilers and a device are where candidates take as long to compile as CUTLASS's do (docs/measured/search.md).
Writes products of bf16, and as recorded rounds variants of measure_compilers.cu for each of them, no two of the
same text; then makes a suite of them. Needs nvcc, CUTLASS's headers (docs/evaluation.md), a device.

  tools/measure_compilers.py HONE FOLDER [--problems N] [--each N] [--size N] [options of hone optimize]"""
import argparse
import itertools
import json
import pathlib
import re
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent


def variants():
    """Tiles and warps over them, of which two lie side by side: what fits into 48 KiB of shared memory."""
    for rows, columns, summed, warps in itertools.product((64, 128, 256), (64, 128, 256), (32, 64),
                                                          ((1, 4), (2, 2), (4, 1), (2, 4), (4, 2))):
        sums = rows * columns // (32 * warps[0] * warps[1])  # of a thread
        if 2 * (rows * (summed + 8) + summed * (columns + 8)) <= 48 << 10 and 32 <= sums <= 128:
            yield rows, columns, summed, *warps


def module(text, rows, columns, summed, down, across):
    for pattern, to in ((r"using Tile = .*", f"using Tile = Shape<_{rows}, _{columns}, _{summed}>;"),
                        (r"using Warps = .*", f"using Warps = Layout<Shape<_{down}, _{across}, _1>>;")):
        text, changed = re.subn(pattern, to, text)
        assert changed, pattern
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--problems", type=int, default=32)
    parser.add_argument("--each", type=int, default=4, help="candidates of each problem")
    parser.add_argument("--size", type=int, default=4096, help="of the outputs, rows and columns; of as many and more elements is a sum")
    arguments, options = parser.parse_known_args()
    problems = arguments.folder / "problems"
    problems.mkdir(parents=True, exist_ok=True)
    problem = json.loads((HERE / "examples/problems/bf16_matmul.json").read_text())
    source = pathlib.Path(__file__).with_suffix(".cu").read_text()
    every = itertools.cycle(variants())
    rounds = arguments.folder / "rounds.jsonl"
    with rounds.open("w") as lines:
        for number in range(arguments.problems):
            problem["name"] = f"product_{number}"
            size, summed = arguments.size, arguments.size + 64 * number
            for tensor, shape in zip(problem["tensors"], ([size, summed], [summed, size], [size, size]), strict=True):
                tensor["shape"] = shape
            (problems / f"product_{number}.json").write_text(json.dumps(problem))
            proposals = [{"kind": "cuda_module", "text": f"// {problem['name']}\n" + module(source, *one),
                          "key": "x".join(map(str, one))} for one in itertools.islice(every, arguments.each)]
            lines.write(json.dumps({"problem": problem["name"], "proposals": proposals}) + "\n")
    signal.signal(signal.SIGINT, lambda *_: None)  # it is for hone, which says then what there is
    return subprocess.run([arguments.hone, "optimize", "--suite", problems, "--target", "cuda", "--proposer",
                           f"replay:{rounds}", "--budget", str(arguments.each), *options]).returncode


if __name__ == "__main__":
    sys.exit(main())
