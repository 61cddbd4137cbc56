#!/usr/bin/env python3
"""What `hone optimize --objective energy` saves beside the fastest kernel, at matched speed.

measure_energy.py HONE -o RESULTS.jsonl [--target cuda|cpu] [--slower PERCENT] [--budget N] [--time S] [--stores DIR] PROBLEM...
measure_energy.py --table RESULTS.jsonl

One run a problem, in a store of its own. Its finalists, the fastest and the one that took least on a first look, get windows in
turn (docs/energy.md): the joules of each window are in the results, so that a difference can be held against their spread. A
problem that is in the file already is not run again. The table says of each: the fastest, the one that takes least, what that
saves, whether all of its windows are below all of the fastest one's, and for how much more time.
"""
import argparse
import json
import pathlib
import statistics
import sys
import time

import measuring


def finalist(row, best):
    energy = row["energy"]
    return {"attempt": row["attempt"], "best": row["attempt"] == best, "warm_us": row["median_us"], **energy}


def measure(args, problem):
    """A line of the results: the run's finalists with their energies, or why there are none."""
    store = pathlib.Path(args.stores) / f"energy-{pathlib.Path(problem).stem}.sqlite"
    began = time.time()
    command = [args.hone, "optimize", problem, "--target", args.target, "--objective", "energy", "--slower", str(args.slower),
               "--budget", str(args.budget), "--time", str(args.time), "--store", str(store), "--no-torch", "--json"]
    run = measuring.ask(command)
    line = {"problem": pathlib.Path(problem).stem, "slower_percent": args.slower, "day": time.strftime("%Y-%m-%d"),
            "seconds": round(time.time() - began, 1)}
    if not run.get("run"):
        return line | {"error": run.get("error", {}).get("message", run.get("stop", "no run"))}
    shown = measuring.ask([args.hone, "show", run["run"], "--store", str(store), "--json"])
    origins = {row["number"]: row["origin"] for row in shown["attempts"]}
    finalists = [finalist(row, run["best_attempt"]) | {"origin": origins[row["attempt"]]}
                 for row in shown["confirmations"] if row["energy"]]
    tried = [{key: row[key] for key in ("number", "outcome", "median_us", "origin")} for row in shown["attempts"]]
    return line | {"processor": run["machine"]["processor"], "attempts": run["attempts"], "tried": tried, "stop": run["stop"],
                   "bound_us": run["bound_us"], "finalists": finalists, "source": (run.get("best") or {}).get("source")}


def compared(line):
    """(the fastest, the winner) of a line that has both."""
    finalists = line.get("finalists", [])
    winner = next((one for one in finalists if one["best"]), None)
    return (min(finalists, key=lambda one: one["warm_us"]), winner) if winner else None


def millijoules(joules):
    return f"{1e3 * joules:.4g} mJ" if joules >= 1e-3 else f"{1e6 * joules:.4g} uJ"


def windows(one):
    return f"{millijoules(one['joules'])} ({millijoules(min(one['windows']))} to {millijoules(max(one['windows']))})"


def table(lines):
    print("| problem | fastest | takes | winner | takes | saved | all windows below | more time | net saved | watts |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    saved = []
    for line in lines:
        pair = compared(line)
        if not pair:
            print(f"| {line['problem']} | {line.get('error', 'no finalist was measured')} |||||||||")
            continue
        fastest, winner = pair
        saved.append(1 - winner["joules"] / fastest["joules"])
        net = (f"{100 * (1 - winner['net_joules'] / fastest['net_joules']):.1f} %"
               if winner.get("net_joules") and fastest.get("net_joules") else "-")
        below = "-" if winner is fastest else "yes" if max(winner["windows"]) < min(fastest["windows"]) else "no"
        print(f"| {line['problem']} | {measuring.microseconds(fastest['warm_us'])} | {windows(fastest)} | "
              f"{measuring.microseconds(winner['warm_us'])} | {windows(winner)} | {100 * saved[-1]:.1f} % | {below} | "
              f"{100 * (winner['warm_us'] / fastest['warm_us'] - 1):.1f} % | {net} | "
              f"{fastest['watts']:.0f}, {winner['watts']:.0f} |")
    if saved:
        print(f"\nsaved, median of {len(saved)}: {100 * statistics.median(saved):.1f} %")


def read(path):
    path = pathlib.Path(path)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone", nargs="?")
    parser.add_argument("problems", nargs="*")
    parser.add_argument("-o", "--output")
    parser.add_argument("--table")
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--slower", type=float, default=2)
    parser.add_argument("--budget", type=int, default=12)
    parser.add_argument("--time", type=float, default=120)
    parser.add_argument("--stores", default=".")
    args = parser.parse_intermixed_args()
    if args.table:
        return table(read(args.table))
    if not (args.hone and args.problems and args.output):
        parser.error("HONE, -o RESULTS.jsonl and a PROBLEM are needed, or --table RESULTS.jsonl")
    known = {line["problem"] for line in read(args.output) if "error" not in line}
    for problem in args.problems:
        if pathlib.Path(problem).stem in known:
            continue
        line = measure(args, problem)
        with open(args.output, "a") as out:
            out.write(json.dumps(line) + "\n")
        print(f"{line['problem']}: {line.get('error') or len(line['finalists'])}", file=sys.stderr)
    return table(read(args.output))


if __name__ == "__main__":
    sys.exit(main())
