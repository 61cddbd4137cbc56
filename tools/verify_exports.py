#!/usr/bin/env python3
"""Exports the first programs of PyTorch files and has each export's verify.py check and time it (docs/measured/cuda_exports.md).

verify_exports.py HONE [FILE.py...] [--device h200] [-o FILE.jsonl] [--seconds S] [--jobs N]
verify_exports.py --table FILE.jsonl

Without files: those of examples/workloads, in full size. Runs with the Python that has PyTorch. Each is imported, proposed for, and
exported without a device (N at a time, half the processors), then verified on it, one at a time. A line a file, and exit status 1 if
not all are right:

    name, types (of inputs and parameters), right, checks ({draw: largest error over its tolerance}), ours_us, model_us, speedup, said
    (what else verify.py or hone said), seconds (of verify.py)
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from measuring import ROOT, microseconds

UNITS = {"us": 1, "ms": 1e3, "s": 1e6}
CHECK = re.compile(r"^  (.*?) +largest error ([\d.]+) of its tolerance", re.M)
TIMED = re.compile(r"ModelNew ([\d.e+]+) (\w+), Model ([\d.e+]+) (\w+): ")


def export(hone, file, given, folder):
    """(its folder, types), or what is wrong."""
    problem, program, out = folder / f"{file.stem}.json", folder / f"{file.stem}.hk", folder / file.stem
    environment = dict(os.environ, HONE_PYTHON=sys.executable)
    for arguments, save in ((["import", file, "-o", problem], None),
                            (["propose", problem, "--target", "cuda", "--device", given.device], program),
                            (["export", "--problem", problem, "--program", program, "--model", file, "-o", out], None)):
        done = subprocess.run([hone, *map(str, arguments)], capture_output=True, text=True, env=environment)
        if done.returncode:
            return None, f"{arguments[0]}: {done.stderr.strip()[-300:]}"
        if save:
            save.write_text(done.stdout)
    types = {tensor["dtype"] for tensor in json.loads(problem.read_text())["tensors"] if tensor["role"] != "output"}
    return out, sorted(types)


def verify(file, out, seconds):
    begin = time.monotonic()
    environment = dict(os.environ, PYTHONPATH=str(file.parent))  # model.py may import what lies beside it
    try:
        done = subprocess.run([sys.executable, out / "verify.py", "--seconds", str(seconds)], capture_output=True, text=True, timeout=400,
                              env=environment)
        text, code = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        text, code = "not done within 400 s", 2
    row = {"right": code == 0, "checks": {what: float(worst) for what, worst in CHECK.findall(text)}}
    timed = TIMED.search(text)
    if timed:
        ours, model = float(timed[1]) * UNITS[timed[2]], float(timed[3]) * UNITS[timed[4]]
        row |= {"ours_us": ours, "model_us": model, "speedup": round(model / ours, 2)}
    said = [re.sub(r"\. .*", "", line)[:200] for line in text.splitlines() if re.match("wrong|not checked|Model does not|Error", line)]
    return row | ({"said": said} if said else {}) | {"seconds": round(time.monotonic() - begin, 1)}


def table(rows):
    yield "| module | types | largest error over its tolerance | Model, eager | ModelNew |"
    yield "|---|---|---|---|---|"
    for row in rows:
        said = "; ".join(row.get("said", []))
        if row["right"]:
            own = ", beside its own results" if "double precision" in said else ""
            yield (f"| {row['name']} | {', '.join(row['types'])} | {max(row['checks'].values()):.3f}{own} | {microseconds(row['model_us'])} | "
                   f"{microseconds(row['ours_us'])} |")
        else:
            yield f"| {row['name']} | {', '.join(row.get('types', []))} | {said} | | |"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone", nargs="?")
    options.add_argument("files", nargs="*", type=pathlib.Path)
    options.add_argument("-o", "--output", type=pathlib.Path)
    options.add_argument("--device", default="h200")
    options.add_argument("--seconds", type=float, default=1)
    options.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    options.add_argument("--table", type=pathlib.Path)
    given = options.parse_args()
    if given.table:
        print("\n".join(table(map(json.loads, given.table.read_text().splitlines()))))
        return
    if not given.hone:
        options.error("HONE is missing")
    whole = [file for file in sorted((ROOT / "examples" / "workloads").glob("*.py")) if not file.stem.endswith("_small")]
    files = given.files or [file for file in whole if "\ndef get_inputs" in file.read_text()]
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="hone-exports-", dir="/var/tmp") as folder, \
            concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for file, (out, more) in zip(files, pool.map(lambda file: export(given.hone, file, given, pathlib.Path(folder)), files)):
            row = {"name": file.stem}
            row |= {"types": more, **verify(file, out, given.seconds)} if out else {"right": False, "said": [more]}
            wrong += not row["right"]
            if given.output:
                with open(given.output, "a") as lines:
                    lines.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)
    print(f"{len(files) - wrong} of {len(files)} exports are right", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
