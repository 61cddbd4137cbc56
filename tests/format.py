#!/usr/bin/env python3
"""Our C++ is as clang-format-19 would write it (./dev format does it)."""
import re
import shutil
import subprocess

import tree

FORMATTER = "clang-format-19"  # another version formats differently

if not shutil.which(FORMATTER):
    tree.skip(f"{FORMATTER} is not in PATH")
sources = tree.files(".h", ".cc")
done = subprocess.run([FORMATTER, "--dry-run", *sources], cwd=tree.ROOT, capture_output=True, text=True)
first = {}
for match in re.finditer(r"^(.*?):(\d+):\d+: (?:warning|error):", done.stderr, re.M):
    first.setdefault(match[1], match[2])
tree.finish([f"{path}:{line}: not formatted; ./dev format mends it" for path, line in first.items()], f"{len(sources)} files")
