#!/usr/bin/env python3
"""How busy compilers and a device are where candidates take as long to compile as CUTLASS's do (docs/measured/search.md).
Writes products of bf16, and as recorded rounds variants of measure_compilers.cu for each of them, no two of the
same text; then makes a suite of them, and prints what was busy for how long and when each candidate was tried.
Needs nvcc, CUTLASS's headers (docs/evaluation.md), a device. An interrupt ends it and prints what there is.

  tools/measure_compilers.py HONE FOLDER [--problems N] [--each N] [--size N] [options of hone optimize]"""
import argparse
import contextlib
import itertools
import json
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent


def variants():
    """Tiles and warps over them, of which two lie side by side: what fits into 48 KiB of shared memory."""
    for rows, columns, summed, warps in itertools.product((64, 128, 256), (64, 128, 256), (32, 64),
                                                          ((1, 4), (2, 2), (4, 1), (2, 4), (4, 2))):
        sums = rows * columns // (32 * warps[0] * warps[1])  # of a thread
        if 2 * (rows * (summed + 8) + summed * (columns + 8)) <= 48 << 10 and 32 <= sums <= 128:
            yield rows, columns, summed, *warps


def module(text, rows, columns, summed, down, across):
    for pattern, to in ((r"using Tile = .*", f"using Tile = Shape<_{rows}, _{columns}, _{summed}>;"),
                        (r"using Warps = .*", f"using Warps = Layout<Shape<_{down}, _{across}, _1>>;")):
        text, changed = re.subn(pattern, to, text)
        assert changed, pattern
    return text


def tried(store, suite):
    """What the device did, in order of time: the problem, which attempt or confirmation, and in milliseconds when its checks
    began, when it ended, and how long it had waited for its compiler before."""
    with contextlib.closing(sqlite3.connect(store)) as opened:
        rows = opened.execute("""
            SELECT problem_name, 'attempt ' || number, ended_ms, evaluation FROM attempt JOIN run ON run.sequence = attempt.run
            UNION ALL
            SELECT problem_name, 'confirms ' || attempt, ended_ms, evaluation FROM confirmation JOIN run ON run.sequence = confirmation.run
            """).fetchall()
    for problem, which, ended, evaluation in rows:
        if evaluation and problem in suite:
            stages = json.loads(evaluation)["stages"]
            yield stages["check_begun_ms"], ended, problem, which, stages["compile_ms"]


def figures(summary, events):
    kept = ("compilers", "device", "own_s", "search_s", "stop", "solved", "made")
    yield json.dumps({key: summary[key] for key in kept}, indent=1)
    compilers, device = summary["compilers"], summary["device"]
    events = sorted(events)
    at_work, until = 0, 0
    for begun, ended, *_ in events:
        at_work, until = at_work + max(0, ended - max(begun, until)), max(until, ended)
    yield f"compilers busy {compilers['busy_s'] / compilers['of_s']:.1%}, device held {device['held_s'] / device['wall_s']:.1%}, "\
          f"of all the time judging, timing and confirming {at_work / 1e3 / device['wall_s']:.1%}"
    yield "seconds from the first check on: begins, ends; what; waited for its compiler before"
    for begun, ended, problem, which, compiled in events:
        yield f"{(begun - events[0][0]) / 1e3:6.1f} {(ended - events[0][0]) / 1e3:6.1f}  {problem} {which}; {compiled / 1e3:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--problems", type=int, default=32)
    parser.add_argument("--each", type=int, default=4, help="candidates of each problem")
    parser.add_argument("--size", type=int, default=4096, help="of the outputs, rows and columns; of as many and more elements is a sum")
    arguments, options = parser.parse_known_args()
    problems = arguments.folder / "problems"
    problems.mkdir(parents=True, exist_ok=True)
    problem = json.loads((HERE / "examples/problems/bf16_matmul.json").read_text())
    source = pathlib.Path(__file__).with_suffix(".cu").read_text()
    every = itertools.cycle(variants())
    rounds = arguments.folder / "rounds.jsonl"
    with rounds.open("w") as lines:
        for number in range(arguments.problems):
            problem["name"] = f"product_{number}"
            size, summed = arguments.size, arguments.size + 64 * number
            for tensor, shape in zip(problem["tensors"], ([size, summed], [summed, size], [size, size]), strict=True):
                tensor["shape"] = shape
            (problems / f"product_{number}.json").write_text(json.dumps(problem))
            proposals = [{"kind": "cuda_module", "text": f"// {problem['name']}\n" + module(source, *one),
                          "key": "x".join(map(str, one))} for one in itertools.islice(every, arguments.each)]
            lines.write(json.dumps({"problem": problem["name"], "proposals": proposals}) + "\n")
    signal.signal(signal.SIGINT, lambda *_: None)  # it is for hone, which says then what there is
    made = subprocess.run([arguments.hone, "optimize", "--suite", problems, "--target", "cuda", "--proposer",
                           f"replay:{rounds}", "--budget", str(arguments.each), "--json", *options],
                          stdout=subprocess.PIPE, text=True)
    if made.stdout:
        summary = json.loads(made.stdout)
        print(*figures(summary, tried(summary["store"], {path.stem for path in problems.iterdir()})), sep="\n")
    return made.returncode


if __name__ == "__main__":
    sys.exit(main())
