#!/usr/bin/env python3
"""Every header compiles alone. headers.py COMPILER FOLDER: COMPILER may be "ccache g++"; FOLDER keeps the one-line sources."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import tree


def compile_alone(command, folder, header):
    source = folder / (str(header).replace("/", "_") + ".cc")
    content = f'#include "{tree.ROOT / header}"\n'
    if not source.is_file() or source.read_text() != content:  # its age matters to ccache
        source.write_text(content)
    # Compiled, not only parsed: that is what ccache keeps.
    done = subprocess.run(command + ["-std=c++20", "-O0", "-I", tree.ROOT / "src", "-I", tree.ROOT / "include", "-c", source, "-o",
                                     source.with_suffix(".o")], capture_output=True, text=True)
    if done.returncode == 0:
        return None
    first = re.search(r"^(.*?): (?:fatal )?error: (.*)$", done.stderr, re.M)
    where, what = (first[1], first[2]) if first else (f"{tree.ROOT / header}:1", done.stderr.strip())
    return f"{where.replace(str(tree.ROOT) + '/', '')}: {header} does not compile alone: {what}"


def main(compiler, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    headers = [path for path in tree.files(".h") if path.parts[0] in ("src", "include")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda header: compile_alone(compiler.split(), folder, header), headers)
        tree.finish([problem for problem in results if problem], f"{len(headers)} headers")


main(sys.argv[1], sys.argv[2])
