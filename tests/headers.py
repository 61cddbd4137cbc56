#!/usr/bin/env python3
"""Every header compiles alone. headers.py COMPILER BUILD_FOLDER: COMPILER may be "ccache g++"; BUILD_FOLDER was built whole.

What some source of the build includes before all else has been compiled alone there. The others are compiled here, from
one-line sources in BUILD_FOLDER/header-check.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

import tree


INCLUDE = re.compile(r'^\s*#\s*include\s+["<](.+)[">]', re.M)


def first_include(source):
    """The header of ours that this source includes before all else, or None. A batch (hone_batch) includes sources."""
    match = INCLUDE.search(source.read_text(errors="replace")) if source.is_file() else None
    if not match:
        return None
    if match[1].endswith(".cc"):
        return first_include(pathlib.Path(match[1]))
    return next((folder / match[1] for folder in map(pathlib.Path, ("src", "include")) if (tree.ROOT / folder / match[1]).is_file()), None)


def compiled_first(build):
    """The headers that the build compiled alone. A source counts if what was made of it is no older than it is, and if nothing
    precompiled came before its own."""
    found = set()
    for row in json.loads((build / "compile_commands.json").read_text()):
        if "-include" in row["command"]:
            continue
        folder = pathlib.Path(row["directory"])
        source, made = folder / row["file"], folder / re.search(r" -o (\S+)", row["command"])[1]
        header = first_include(source)
        if header and made.is_file() and made.stat().st_mtime >= (tree.ROOT / header).stat().st_mtime:
            found.add(header)
    return found


def compile_alone(command, folder, header):
    source = folder / (str(header).replace("/", "_") + ".cc")
    content = f'#include "{pathlib.Path(*header.parts[1:])}"\n'  # the same in every checkout: ccache knows it again
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


def main(compiler, build):
    build = pathlib.Path(build)
    folder = build / "header-check"
    folder.mkdir(parents=True, exist_ok=True)
    headers = [path for path in tree.files(".h") if path.parts[0] in ("src", "include")]
    left = sorted(set(headers) - compiled_first(build))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda header: compile_alone(compiler.split(), folder, header), left)
        tree.finish([problem for problem in results if problem], f"{len(headers)} headers, {len(left)} of them compiled here")


main(sys.argv[1], sys.argv[2])
