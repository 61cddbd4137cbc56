#!/usr/bin/env python3
"""Optimizes KernelBench's levels 1 to 3 at reduced sizes and writes what came of it (docs/measured/cpu_kernelbench.md).

measure_kernelbench.py HONE KERNELBENCH -o FILE.md --python PATH [--target cpu|cuda] [--shrink MFLOP] [--budget N]
                       [--time S] [--limit S] [--only L1/5,L3/33 | --sample] [--again REGEX] [--state FOLDER] [--no-compile]
                       [--lanes N --cores N] [--devices N]

KERNELBENCH is a checkout of ScalingIntelligence/KernelBench, PATH a Python that has PyTorch. Each problem is imported with
`hone import --shrink`, optimized by the built-in expert alone, and its best candidate is timed once more beside PyTorch: eager, and
torch.compile if that is ready in time. Resumes: a finished problem is a line of STATE/rows.jsonl and is not done again, unless its
error matches --again. Run it on an otherwise idle machine. --lanes measures so many problems side by side, each on --cores
cores of its own, and on one of --devices CUDA devices. --shrink 0 keeps the sizes. --sample: every fifth problem of levels 1 and 2
and every third of level 3 stand for all. With -o - the table of the rows that are there is printed, and nothing is measured.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent


LANE = threading.local()  # .cores, .device: the processors and the CUDA device of this lane, if it has some of its own


def ask(command, limit):
    """(answer or None, error text): what `hone ... --json` says within the limit; its whole process group is ended then."""
    cores = getattr(LANE, "cores", None)
    if cores:
        command = ["taskset", "-c", ",".join(map(str, cores))] + command
    device = getattr(LANE, "device", None)
    environment = dict(os.environ, CUDA_VISIBLE_DEVICES=str(device)) if device is not None else None
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True)
    try:
        out, err = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return None, "not done within %d s" % limit
    try:
        answer = json.loads(out)
    except ValueError:
        return None, (err or out).decode(errors="replace").strip()[-300:] or "exit %d" % child.returncode
    if isinstance(answer, dict) and "error" in answer:
        return None, answer["error"].get("message", str(answer["error"]))
    return answer, ""


def problems(folder):
    for level in (1, 2, 3):
        files = (folder / "KernelBench" / ("level%d" % level)).glob("*.py")
        for file in sorted(files, key=lambda f: int(f.name.split("_")[0])):
            yield "L%d/%s" % (level, file.name.split("_")[0]), file


def speedups(answer):
    timing = (answer or {}).get("timing") or {}
    return {one["baseline"]: one["speedup"] for one in timing.get("against", []) if one["speedup"]}


def families(best):
    """The kernels of the winner: {"conv": 2, "map": 1}, or the loop nests of the definitions."""
    if best["kind"] != "program":
        return {"loop nests": 1}
    found = {}
    for family in re.findall(r"^\w+(?:: \[[^\]]*\])? = (\w+)", best["source"], re.M):
        found[family] = found.get(family, 0) + 1
    return found


def measure(name, file, given):
    """One row: what came of one problem."""
    state = pathlib.Path(given.state)
    began = time.monotonic()
    left = lambda: max(1, given.limit - (time.monotonic() - began))
    row = {"name": name, "file": file.stem, "date": datetime.date.today().isoformat()}
    path = state / name.replace("/", "_") / "problem.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        cut = ["--shrink", str(given.shrink)] if given.shrink else []
        answer, error = ask([given.hone, "import", str(file), "-o", str(path), "--python", given.python, "--json"] + cut, left())
        if not answer:
            return {**row, "error": "import: " + error}
    graph, error = ask([given.hone, "graph", str(path), "--json"], left())
    if not graph:
        return {**row, "error": "graph: " + error}
    row["flags"] = [flag.get("kind", "flagged") if isinstance(flag, dict) else str(flag) for flag in graph.get("flags", [])]
    # On a device PyTorch is timed during the search: starting it once costs more than a search does.
    beside = [word for name in given.beside.split(",") for word in ("--baseline", name)] if given.beside else ["--no-torch"]
    run, error = ask([given.hone, "optimize", str(path), "--target", given.target, "--budget", str(given.budget), "--time",
                      str(given.time), "--store", str(path.with_name("runs.sqlite")), "--python", given.python, "--json"] + beside, left())
    if not run:
        return {**row, "error": "optimize: " + error}
    row["attempts"] = run.get("attempts")
    best = run.get("best")
    if not best:
        return {**row, "error": "nothing was accepted: " + str(run.get("why") or run.get("stop"))}
    row["families"] = families(best)
    row["warm_us"] = best["timing"]["warm"]["median_us"]
    row["bound_us"] = run.get("bound_us")
    row["speedups"] = speedups(best)
    candidate = path.with_name("best.hk" if best["kind"] == "program" else "best.cc")
    candidate.write_text(best["source"])
    row["allclose"] = (best.get("accuracy") or {}).get("official_allclose")
    for baseline in [] if given.beside else ["eager"] if given.no_compile else ["eager", "compile"]:
        answer, error = ask([given.hone, "evaluate", str(path), str(candidate), "--target", given.target, "--baseline", baseline,
                             "--budget", "0.5", "--python", given.python, "--json"], left())
        if answer and answer.get("outcome") == "accepted":
            row["speedups"].update(speedups(answer))
            row["allclose"] = (answer.get("accuracy") or {}).get("official_allclose")
        else:
            row.setdefault("notes", []).append("%s: %s" % (baseline, error or answer.get("reason")))
    row["seconds"] = time.monotonic() - began
    return row


def geomean(values):
    values = [v for v in values if v]
    return "%.2f (%d)" % (math.exp(sum(map(math.log, values)) / len(values)), len(values)) if values else "-"


def slower(values):
    values = [v for v in values if v]
    return "%d of %d" % (sum(v < 1 for v in values), len(values)) if values else "-"


def in_sample(name):
    level, number = name[1:].split("/")
    return int(number) % (3 if level == "3" else 5) == 0


def number(value, form="%.2f"):
    return form % value if value else "-"


def table(rows, given):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT).stdout.strip()
    solved = [row for row in rows if "error" not in row]
    plain = [row for row in solved if not row["flags"]]
    bases = sorted({base: None for row in solved for base in row["speedups"]}, key=lambda base: base != "naive")
    of_torch = [base for base in bases if base != "naive"]
    # TF32's products are less accurate than the contract asks for; without products eager_tf32 is eager.
    bests = {"the best as accurate": [base for base in of_torch if base != "eager_tf32"], "the best of all": of_torch}
    for row in solved:
        for best, some in bests.items():
            timed = [row["speedups"][base] for base in some if row["speedups"].get(base)]
            if len(timed) > 1:
                row["speedups"][best] = min(timed)
    bases += [best for best in bests if any(best in row["speedups"] for row in solved)]
    text = [
        "# KernelBench%s, %s target, the expert alone" % (" at reduced sizes" if given.shrink else "", given.target.upper()),
        "",
        "Measured until %s at commit %s%s with" % (datetime.date.today().isoformat(), commit,
                                                   " on %s" % given.machine if given.machine else ""),
        "",
        "    tools/measure_kernelbench.py build/hone KERNELBENCH -o docs/measured/%s_kernelbench.md --python PYTHON --shrink %g "
        "--budget %d --time %g --limit %g%s" % (given.target, given.shrink, given.budget, given.time, given.limit,
                                              (" --no-compile" if given.no_compile else "") +
                                              (" --target cuda --beside %s" % given.beside if given.target == "cuda" else "") +
                                              (" --lanes %d --cores %d" % (given.lanes, given.cores) if given.lanes > 1 else "") +
                                              (" --devices %d" % given.devices if given.devices else "")),
        "",
        "Solved: %d of %d (%s)." % (len(solved), len(rows), ", ".join(
            "level %d: %d of %d" % (level, sum(r["name"].startswith("L%d" % level) for r in solved),
                                    sum(r["name"].startswith("L%d" % level) for r in rows)) for level in (1, 2, 3))),
        "Official allclose: %d of %d pass." % (sum(row.get("allclose") is True for row in solved),
                                              sum(row.get("allclose") is not None for row in solved)),
        "",
        "Geomean of the speed-ups, flagged problems apart:",
        "",
        "| | %s |" % " | ".join("over " + base for base in bases),
        "|---|" + "---|" * len(bases),
    ]
    groups = [("level %d" % level, [r for r in plain if r["name"].startswith("L%d" % level)]) for level in (1, 2, 3)] + [
        ("all", plain), ("flagged", [r for r in solved if r["flags"]])]
    for form, what in ((geomean, "%s"), (slower, "%s: slower on")):
        for label, some in groups:
            if some:
                text.append("| %s | %s |" % (what % label, " | ".join(form([row["speedups"].get(base) for row in some]) for base in bases)))
    text += ["", "| problem | time | of the bound | %s | allclose | kernels | flags | attempts |" % " | ".join("over " + b for b in bases),
             "|---|---|---|" + "---|" * (len(bases) + 4)]
    for row in rows:
        if "error" in row:
            text.append("| %s %s | not solved: %s |" % (row["name"], row["file"], row["error"].replace("|", "/")) +
                        " |" * (len(bases) + 5))
            continue
        bound = row.get("bound_us")
        text.append("| %s %s | %s us | %s | %s | %s | %s | %s | %s |" % (
            row["name"], row["file"], number(row["warm_us"], "%.4g"), "%.0f %%" % (100 * bound / row["warm_us"]) if bound else "-",
            " | ".join(number(row["speedups"].get(base)) for base in bases),
            {True: "yes", False: "no"}.get(row.get("allclose"), "-"),
            ", ".join("%s%s" % (k, " x %d" % n if n > 1 else "") for k, n in row["families"].items()),
            ", ".join(row["flags"]) or "-", row["attempts"]))
    return "\n".join(text) + "\n"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("kernelbench", type=pathlib.Path)
    options.add_argument("-o", "--output", required=True)
    options.add_argument("--python", required=True)
    options.add_argument("--shrink", type=float, default=100)
    options.add_argument("--budget", type=int, default=6)
    options.add_argument("--time", type=float, default=30)
    options.add_argument("--limit", type=float, default=120)
    options.add_argument("--only", default="", help="these alone, in this order")
    options.add_argument("--sample", action="store_true", help="every fifth of levels 1 and 2, every third of level 3")
    options.add_argument("--again", default="")
    options.add_argument("--state", default=str(ROOT / "build" / "kernelbench"))
    options.add_argument("--no-compile", action="store_true")
    options.add_argument("--target", default="cpu")
    options.add_argument("--lanes", type=int, default=1)
    options.add_argument("--cores", type=int, default=2, help="of a lane, where there are several")
    options.add_argument("--devices", type=int, default=0, help="CUDA devices that the lanes share")
    options.add_argument("--beside", default="", help="baselines timed during the search, instead of once after it, the headline's first: eager,eager_tf32,eager_graph,compile")
    options.add_argument("--machine", default="", help="what the file's head says of the machine")
    given = options.parse_args()

    state = pathlib.Path(given.state)
    state.mkdir(parents=True, exist_ok=True)
    done = {}
    if (state / "rows.jsonl").exists():
        for line in (state / "rows.jsonl").read_text().splitlines():
            row = json.loads(line)
            done[row["name"]] = row
    wanted = [(name, file) for name, file in problems(given.kernelbench)
              if (not given.only or name in given.only.split(",")) and (not given.sample or in_sample(name))]
    if given.output == "-":
        print(table([done[name] for name, _ in wanted if name in done], given), end="")
        return
    order = given.only.split(",") if given.only else []
    if order:
        wanted.sort(key=lambda problem: order.index(problem[0]))
    lock = threading.Lock()
    lanes = iter(range(given.lanes))
    cores = sorted(os.sched_getaffinity(0))

    def begin_lane():
        with lock:
            lane = next(lanes)
        if given.lanes > 1:
            LANE.cores = cores[lane * given.cores:(lane + 1) * given.cores]
        if given.devices:
            LANE.device = lane % given.devices

    def one(problem):
        name, file = problem
        row = done.get(name)
        if row and not (given.again and re.search(given.again, row.get("error", ""))):
            return row
        row = measure(name, file, given)
        with lock:
            print(name, file.stem, row.get("error") or "ok", file=sys.stderr, flush=True)
            with open(state / "rows.jsonl", "a") as log:
                log.write(json.dumps(row) + "\n")
        return row

    with ThreadPoolExecutor(given.lanes, initializer=begin_lane) as pool:
        rows = list(pool.map(one, wanted))
    pathlib.Path(given.output).write_text(table(rows, given))


if __name__ == "__main__":
    main()
