#!/usr/bin/env python3
"""Our C++ is as clang-format-19 would write it. With --mend, makes it so (./dev format)."""
import re
import shutil
import subprocess
import sys

import tree

FORMATTER = "clang-format-19"  # another version formats differently

if not shutil.which(FORMATTER):
    tree.skip(f"{FORMATTER} is not in PATH")
sources = tree.formatted()
if "--mend" in sys.argv:
    sys.exit(subprocess.run([FORMATTER, "-i", *sources], cwd=tree.ROOT).returncode)
done = subprocess.run([FORMATTER, "--dry-run", *sources], cwd=tree.ROOT, capture_output=True, text=True)
first = {}
for match in re.finditer(r"^(.*?):(\d+):\d+: (?:warning|error):", done.stderr, re.M):
    first.setdefault(match[1], match[2])
tree.finish([f"{path}:{line}: not formatted; ./dev format mends it" for path, line in first.items()], f"{len(sources)} files")
