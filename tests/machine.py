#!/usr/bin/env python3
"""This machine is measured once, while nothing else runs, for all checks that optimize (tree.lend_machine). machine.py HONE"""
import json
import os
import shutil
import subprocess
import sys

import tree

HONE = os.path.abspath(sys.argv[1])

shutil.rmtree(tree.machines(HONE), ignore_errors=True)
done = subprocess.run([HONE, "calibrate", "--json"], env=dict(os.environ, HONE_DATA=str(tree.machines(HONE))), capture_output=True, text=True)
kept = list(tree.machines(HONE).glob("machines/*.json"))
good = done.returncode == 0 and len(kept) == 1 and json.loads(done.stdout)["fma_flops_f32"] > 0
tree.finish([] if good else [f"tests/machine.py:1: hone calibrate ended with {done.returncode} and kept {kept}: {done.stderr}"], "this machine is measured")
