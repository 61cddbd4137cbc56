#!/usr/bin/env python3
"""Programs and plans whose products are less accurate than they have to be are refused on a device. hostile_programs.py HONE

Each file of tests/data/hostile_cuda_programs begins with the verdict that it has to get. Exit status 77: skipped, no device.
"""
import json
import pathlib
import subprocess
import sys

import tree

HONE = sys.argv[1]
FOLDER = tree.ROOT / "tests/data/hostile_cuda_programs"


def wanted(path):
    """"# wrong_result: why", or the same behind // as the first line of a plan's first source."""
    text = path.read_text()
    first = json.loads(text)["sources"][0]["text"][0] if path.suffix == ".json" else text.splitlines()[0]
    return first.lstrip("#/ ").split(":")[0]


def main():
    checks = json.loads(subprocess.run([HONE, "doctor", "--json"], capture_output=True, text=True).stdout)["checks"]
    missing = [check for check in checks if check["name"] in ("cuda device", "nvrtc") and not check["present"]]
    if missing:
        tree.skip(missing[0]["detail"])
    problems, files = [], sorted(path for path in FOLDER.iterdir() if path.name != "problem.json")
    for path in files:
        done = subprocess.run([HONE, "evaluate", FOLDER / "problem.json", path, "--target", "cuda", "--no-time", "--json"],
                              capture_output=True, text=True, timeout=300)
        verdict = json.loads(done.stdout) if done.stdout else {"reason": done.stderr.strip()}
        if verdict.get("outcome") != wanted(path):
            problems.append(f"{path.relative_to(tree.ROOT)}:1: is {verdict['outcome']}, {wanted(path)} was wanted: {verdict.get('reason')}")
    tree.finish(problems, f"{len(files)} programs")


main()
