#!/usr/bin/env python3
"""Judges one candidate of every problem on a CUDA device, at the sizes that the problems have.

judge_problems.py HONE PROBLEMS -o FILE.jsonl --candidate zeros|first [--jobs N] [--only L3/16,L2/5]

PROBLEMS is a folder of L1_5.json ... as `hone import` writes them. The candidate is a plan that sets its outputs to zero, which the
first draw refuses, so that its seconds are those of computing the reference once; or the first program that the built-in expert
proposes, judged on all draws and timed. A line a problem: seconds of the whole `hone evaluate`, compiling the reference included
(with more than one job what waits for one another, too), those of the judge's checks alone, and what came of it.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import tempfile
import time


def zeros(problem, folder):
    document = json.loads(problem.read_text())
    outputs = [tensor["name"] for tensor in document["tensors"] if tensor["role"] == "output"]
    file = pathlib.Path(folder) / "zeros.json"
    file.write_text(json.dumps({"hone_plan": 1, "sources": [], "steps": [{"do": "memset", "buffer": name, "byte": 0} for name in outputs]}))
    return file


def first(hone, problem, folder):
    file = pathlib.Path(folder) / "first.hk"
    file.write_text(subprocess.run([hone, "propose", str(problem), "--target", "cuda"], capture_output=True, text=True, check=True).stdout)
    return file


def judge(given, problem):
    row = {"name": problem.stem.replace("_", "/", 1)}
    with tempfile.TemporaryDirectory() as folder:
        file = zeros(problem, folder) if given.candidate == "zeros" else first(given.hone, problem, folder)
        how = ["--no-time"] if given.candidate == "zeros" else ["--budget", "0.3"]
        began = time.monotonic()
        done = subprocess.run([given.hone, "evaluate", str(problem), str(file), "--target", "cuda", "--no-torch", "--json"] + how,
                              capture_output=True, text=True, timeout=600)
    answer = json.loads(done.stdout)
    if "error" in answer:
        return {**row, "error": answer["error"]["message"]}
    row.update(wall_s=round(time.monotonic() - began, 3), check_s=round(answer["stages"]["check_ms"] / 1000, 3), outcome=answer["outcome"])
    if answer["outcome"] != "accepted":
        row["reason"] = answer["reason"]
    for kind in ("warm", "cold"):
        if answer.get("timing"):
            row[kind + "_us"] = round(answer["timing"][kind]["median_us"], 1)
    return row


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("problems", type=pathlib.Path)
    options.add_argument("-o", "--output", required=True, type=pathlib.Path)
    options.add_argument("--candidate", choices=("zeros", "first"), required=True)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--only", help="L3/16,L2/5")
    given = options.parse_args()
    only = given.only.split(",") if given.only else None
    problems = [p for p in given.problems.glob("L*_*.json") if not only or p.stem.replace("_", "/", 1) in only]
    problems.sort(key=lambda p: [int(n) for n in re.findall(r"\d+", p.stem)])
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool, given.output.open("w") as rows:
        for row in pool.map(lambda problem: judge(given, problem), problems):
            rows.write(json.dumps(row) + "\n")
            rows.flush()


if __name__ == "__main__":
    main()
