#!/usr/bin/env python3
"""What it is worth to tell the expert why a candidate is slow: hone optimize --tools none, raw and on, side by side.

measure_tools.py HONE -o FILE.jsonl [--target cpu|cuda] [--budget N] [--seeds 1,2,3] [--only NAME,NAME] [--minutes M]
                 [--stores FOLDER] [-- FLAGS of hone optimize]

Every problem of examples/problems is searched once an arm and seed, the arms in turn, each in a store of its own, so that
no arm learns from another. A candidate that several searches tried has one time: the median of all of theirs (of each
what hone goes by: the median of its calls, or what a tenth of them took where others disturbed the rest). Of each search
it counts the attempts until one was within 95 % of the speed of the best that any search of the problem found, and what
its best is worth beside that. A search that never gets there counts as one attempt more than the budget.

FILE gets a line a search, as soon as it is done: the same command goes on where it was stopped. The table is printed.
"""
import argparse
import datetime
import itertools
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

from measuring import ROOT, ask, geomean

ARMS = ("none", "raw", "on")
NEAR = 0.95


def likely_us(attempt):
    """As Timing::LikelyUs; None where it was refused or not timed."""
    timing = (attempt.get("evaluation") or {}).get("timing")
    if attempt["outcome"] != "accepted" or not timing:
        return None
    return timing["warm"]["p10_us"] if timing.get("disturbed") else timing["warm"]["median_us"]


def search(given, problem, arm, seed):
    store = str(pathlib.Path(given.stores) / f"tools_{arm}_{seed}.sqlite")
    command = [given.hone, "optimize", str(problem), "--target", given.target, "--budget", str(given.budget), "--time", "0", "--headroom", "-1",
               "--seed", str(seed), "--tools", arm, "--store", store, "--json", *given.flags]
    begun = time.monotonic()
    run = ask(command)
    if not run.get("run"):
        return {"error": (run.get("error") or {}).get("message", "no answer")}
    shown = ask([given.hone, "show", run["run"], "--store", store, "--json"])
    attempts = []
    for one in shown["attempts"]:
        detail = ask([given.hone, "show", run["run"], str(one["number"]), "--store", store, "--json"])
        attempts.append({"identity": one["identity"], "us": likely_us(detail), "rule": one.get("rule", "")})
    return {"attempts": attempts, "search_s": run["search_s"], "look_s": run["look_s"], "took_s": time.monotonic() - begun, "stop": run["stop"],
            "rules": shown.get("rules", [])}


def wilcoxon(pairs):
    """Two-sided p of the signed-rank test, exact; zero differences are left out."""
    differences = sorted((a - b for a, b in pairs if a != b), key=abs)
    if not differences:
        return 1.0
    ranks, at = [], 0
    for _, tied in itertools.groupby(differences, key=abs):
        count = len(list(tied))
        ranks += [2 * at + count + 1] * count  # twice the mean rank: whole
        at += count
    plus = sum(rank for rank, difference in zip(ranks, differences) if difference > 0)
    ways = {0: 1}
    for rank in ranks:
        for total, count in list(ways.items()):
            ways[total + rank] = ways.get(total + rank, 0) + count
    lower = sum(count for total, count in ways.items() if total <= min(plus, sum(ranks) - plus))
    return min(1.0, 2 * lower / 2 ** len(ranks))


def judged(searches, budget):
    """Of the searches of one problem: (arm, seed) -> attempts until near the best, the best's share of the best known."""
    times = {}
    for one in searches:
        for attempt in one["attempts"]:
            if attempt["us"]:
                times.setdefault(attempt["identity"], []).append(attempt["us"])
    pooled = {identity: statistics.median(all_of) for identity, all_of in times.items()}
    if not pooled:
        return {}, None
    best = min(pooled.values())
    found = {}
    for one in searches:
        reached, own = budget + 1, math.inf
        for number, attempt in enumerate(one["attempts"], 1):
            own = min(own, pooled.get(attempt["identity"], math.inf))
            if own <= best / NEAR:
                reached = min(reached, number)
        found[one["arm"], one["seed"]] = (reached, best / own)
    return found, best


def table(rows, budget):
    problems = sorted({row["problem"] for row in rows})
    arms = [arm for arm in ARMS if any(row["arm"] == arm for row in rows)]
    lines = ["| problem | best | " + " | ".join(f"{arm}: attempts, best" for arm in arms) + " |", "|---|---|" + "---|" * len(arms)]
    reached = {arm: {} for arm in arms}
    shares = {arm: {} for arm in arms}
    for problem in problems:
        searches = [row for row in rows if row["problem"] == problem and "attempts" in row]
        found, best = judged(searches, budget)
        complete = {seed for _, seed in found if all((arm, seed) in found for arm in arms)}
        if not complete:
            continue
        cells = []
        for arm in arms:
            own = [found[arm, seed] for seed in sorted(complete)]
            reached[arm][problem] = statistics.mean(one[0] for one in own)
            shares[arm][problem] = geomean([one[1] for one in own])
            cells.append(f"{', '.join(str(one[0]) for one in own)}; {100 * shares[arm][problem]:.0f} %")
        lines.append(f"| {problem} | {best:.3g} us | " + " | ".join(cells) + " |")
    lines += ["", f"{len(reached[arms[0]])} problems, searches of {budget} attempts.", ""]
    for arm in arms:
        lines.append(f"- {arm}: geomean of the attempts until {100 * NEAR:.0f} % of the best known {geomean(reached[arm].values()) or 0:.2f}, "
                     f"geomean of its best beside the best known {100 * (geomean(shares[arm].values()) or 0):.1f} %")
    for one, other in itertools.combinations(arms, 2):
        for what, values in (("attempts", reached), ("best", shares)):
            pairs = [(values[one][problem], values[other][problem]) for problem in values[one]]
            better = sum((a < b) == (what == "attempts") for a, b in pairs if a != b)
            lines.append(f"- {one} against {other}, {what}: {one} better at {better}, {other} at {sum(a != b for a, b in pairs) - better}, "
                         f"Wilcoxon p = {wilcoxon(pairs):.3f}")
    seen = [row for row in rows if row.get("search_s")]
    if seen:
        lines.append(f"- looking at attempts took {100 * sum(row['look_s'] for row in seen) / sum(row['search_s'] for row in seen):.2f} % of the searches' time")
    return "\n".join(lines)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("-o", "--output", required=True)
    options.add_argument("--target", default="cpu")
    options.add_argument("--budget", type=int, default=20)
    options.add_argument("--seeds", default="1,2,3")
    options.add_argument("--only", default="")
    options.add_argument("--minutes", type=float, default=0, help="begin no search after so many; 0 = no limit")
    options.add_argument("--stores", default=str(ROOT / "build"))
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given = options.parse_args(sys.argv[1:cut])
    given.flags = sys.argv[cut + 1:]
    seeds = [int(seed) for seed in given.seeds.split(",")]
    problems = sorted(p for p in (ROOT / "examples" / "problems").iterdir() if p.suffix in (".py", ".json"))
    if given.only:
        problems = [p for p in problems if p.stem in given.only.split(",")]
    output = pathlib.Path(given.output)
    rows = [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []
    done = {(row["problem"], row["arm"], row["seed"]) for row in rows}
    pathlib.Path(given.stores).mkdir(parents=True, exist_ok=True)
    try:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT, check=False).stdout.strip()
    except OSError:  # a machine without git
        commit = ""
    begun = time.monotonic()
    # All problems once before any twice: a run that is cut short has seen as many as it could.
    for number, (seed, problem) in enumerate(itertools.product(seeds, problems)):
        arms = ARMS[number % len(ARMS):] + ARMS[:number % len(ARMS)]  # in turn: a machine changes
        for arm in arms:
            if (problem.stem, arm, seed) in done or (given.minutes and time.monotonic() - begun > 60 * given.minutes):
                continue
            row = {"problem": problem.stem, "arm": arm, "seed": seed, "budget": given.budget, "target": given.target,
                   "date": datetime.date.today().isoformat(), "commit": commit, **search(given, problem, arm, seed)}
            print(f"{problem.stem} {arm} {seed}: {row.get('error') or len(row['attempts'])}", file=sys.stderr, flush=True)
            rows.append(row)
            with output.open("a") as file:
                file.write(json.dumps(row) + "\n")
    print(table(rows, given.budget))


if __name__ == "__main__":
    main()
