#!/usr/bin/env python3
"""Exports of first programs beside the modules that they stand in for, on a CUDA device. cuda_exports_test.py HONE

Sixteen-bit layers, a step that writes its caches, 8-bit and 4-bit weights, experts and retrieval, by tools/verify_exports.py. Exit
status 77: skipped, no device.
"""
import os
import subprocess
import sys

import torch_python
import tree

INSIDE = "HONE_CUDA_EXPORTS_INSIDE"
ENOUGH = "import torch; assert hasattr(torch, '_grouped_mm') and torch.cuda.is_available()"
NAMES = ["swiglu_mlp", "llama_block", "decode_step", "moe_block", "fp8_linear", "int4_linear", "maxsim", "sparse_retrieval"]

if INSIDE not in os.environ:
    torch_python.run_again(__file__, sys.argv[1], INSIDE, ENOUGH, "no Python with torch 2.8 or newer that sees a CUDA device")

files = [str(tree.ROOT / "examples/workloads" / (name + "_small.py")) for name in NAMES]
sys.exit(subprocess.run([sys.executable, tree.ROOT / "tools/verify_exports.py", os.environ["HONE_PROGRAM"], *files, "--seconds", "0.1"]).returncode)
