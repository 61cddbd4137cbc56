#!/usr/bin/env python3
"""How long the device's judge takes for references at full size, and whether outputs of nothing but zeros pass it.

time_device_oracle.py HONE PROBLEMS -o FILE.jsonl [--jobs N] [--only L3/16,L2/5]

PROBLEMS is a folder of L1_5.json ... as `hone import` writes them. Every problem is judged with a plan that sets its outputs to
zero: inputs and parameters are drawn, the reference is computed on the device, and the first draw refuses the plan. A line a problem:
the seconds of the whole `hone evaluate`, compiling the reference included, those of drawing, computing and comparing alone, and
what came of it. With more than one job the seconds hold what waits for one another.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import tempfile
import time


def judge(hone, problem):
    document = json.loads(problem.read_text())
    outputs = [tensor["name"] for tensor in document["tensors"] if tensor["role"] == "output"]
    plan = {"hone_plan": 1, "sources": [], "steps": [{"do": "memset", "buffer": name, "byte": 0} for name in outputs]}
    row = {"name": problem.stem.replace("_", "/", 1)}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "zero.json"
        file.write_text(json.dumps(plan))
        began = time.monotonic()
        done = subprocess.run([hone, "evaluate", str(problem), str(file), "--target", "cuda", "--no-time", "--no-torch", "--json"],
                              capture_output=True, text=True, timeout=300)
    answer = json.loads(done.stdout)
    if "error" in answer:
        return {**row, "error": answer["error"]["message"]}
    return {**row, "wall_s": round(time.monotonic() - began, 3), "check_s": round(answer["stages"]["check_ms"] / 1000, 3),
            "outcome": answer["outcome"], "reason": answer["reason"]}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("problems", type=pathlib.Path)
    options.add_argument("-o", "--output", required=True, type=pathlib.Path)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--only", help="L3/16,L2/5")
    given = options.parse_args()
    only = given.only.split(",") if given.only else None
    problems = [p for p in given.problems.glob("L*_*.json") if not only or p.stem.replace("_", "/", 1) in only]
    problems.sort(key=lambda p: [int(n) for n in re.findall(r"\d+", p.stem)])
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool, given.output.open("w") as rows:
        for row in pool.map(lambda problem: judge(given.hone, problem), problems):
            rows.write(json.dumps(row) + "\n")
            rows.flush()


if __name__ == "__main__":
    main()
