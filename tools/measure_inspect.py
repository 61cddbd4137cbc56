#!/usr/bin/env python3
"""Times `hone inspect` of a long kernel (docs/measured/profile.md).

measure_inspect.py HONE [--lines N] [--turns N]

Writes a kernel of N lines (default: 2000) of loads, divisions, barriers and exponentials, has it inspected once, so that it is compiled
and remembered, and then N times (default: 15), with and without a device that is named. Prints the median and the range in milliseconds,
from the process's start to its end, and how many instructions and findings there are.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

LINES = (
    "a = fmaf(a, b, x[i + {0} * 256]);",
    "b = b * w[(i * {0}) % n];",
    "s[threadIdx.x] = a; __syncthreads(); a += s[threadIdx.x ^ {0} % 256];",
    "if (a > {0}.0f) b += expf(a);",
)


def kernel(lines):
    head = ['extern "C" __global__ void __launch_bounds__(256) kernel(const float* x, const float* w, float* y, int n) {',
            "  const int i = blockIdx.x * 256 + threadIdx.x;", "  __shared__ float s[256];", "  float a = x[i], b = w[i];"]
    body = ["  " + LINES[k % len(LINES)].format(k + 1) for k in range(lines - len(head) - 2)]
    return "\n".join([*head, *body, "  y[i] = a + b;", "}", ""])


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("--lines", type=int, default=2000)
    options.add_argument("--turns", type=int, default=15)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "kernel.cu"
        file.write_text(kernel(given.lines))
        for device in ([], ["--device", "h200"]):
            command = [given.hone, "inspect", str(file), "--json", *device]
            told = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
            times = []
            for _ in range(given.turns):
                began = time.monotonic()
                subprocess.run(command, capture_output=True, check=True)
                times.append(1000 * (time.monotonic() - began))
            print("%s: %.0f ms (%.0f to %.0f), %d instructions, %d findings" %
                  (" ".join(device) or "no device named", statistics.median(times), min(times), max(times),
                   sum(told["kernels"][0]["instructions"].values()), len(told["diagnosis"]["findings"])))


main()
