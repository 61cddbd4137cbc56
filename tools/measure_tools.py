#!/usr/bin/env python3
"""What it is worth to tell the expert why a candidate is slow: searches with --tools none, raw and on, side by side.

measure_tools.py HONE -o FILE.jsonl [--target cpu|cuda] [--budget N] [--seeds N] [--measured FOLDER] [--minutes M] [--lanes N]
                 [--commit HASH] PROBLEM...
measure_tools.py --table FILE.jsonl [--half 0|1] [--of HASH]

`hone compare` makes the searches of a problem: every arm with every seed, a candidate measured once whoever comes to it, a time
drawn from its interval by seed, nothing known of earlier runs. FILE gets a line a problem as soon as it is done: the same
command goes on where it was stopped, and --measured keeps what was measured for searches with other rules. --lanes starts so
many processes at a time, of which one has the device.

Of each search the table has the attempts and seconds until one was within 95 % of the speed of the best that any search of the
problem found (of a search that never came there one attempt more than the budget, and all of its seconds), and what its best is
worth beside that. A problem counts once: means over its seeds, of attempts and seconds geometric. --half: only every second
problem, by name, the first half or the other; --of: only what was measured at that commit.
"""
import argparse
import concurrent.futures
import datetime
import itertools
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

from measuring import ask, geomean

ARMS = ("none", "raw", "on")
NEAR = 0.95


def measure(given, problem):
    command = [given.hone, "compare", "--suite", str(problem), "--target", given.target, "--budget", str(given.budget), "--seeds", str(given.seeds)]
    if given.measured:
        command += ["--measured", given.measured]
    begun = time.monotonic()
    answer = ask(command + [f"greedy --tools {arm}" for arm in ARMS] + ["--json"])
    line = {"problem": problem.stem, "budget": given.budget, "target": given.target, "date": datetime.date.today().isoformat(),
            "commit": given.commit, "took_s": round(time.monotonic() - begun, 1)}
    if "searches" not in answer:
        return line | {"error": (answer.get("error") or {}).get("message", "no answer")}
    searches = [{"arm": one["arm"].split()[-1], "seed": one["seed"], "stop": one["stop"],
                 "attempts": [[a["candidate"][:8], round(a["us"], 4), round(a["seconds"], 3), a["rule"], round(a["promised"], 4), round(a["brought"], 4), a["change"]]
                              for a in one["attempts"]]} for one in answer["searches"]]
    return line | {"best_us": answer["searches"][0]["best_us"], "searches": searches}


def wilcoxon(pairs):
    """Two-sided p of the signed-rank test, exact; zero differences are left out."""
    differences = sorted((a - b for a, b in pairs if abs(a - b) > 1e-9), key=abs)
    if not differences:
        return 1.0
    ranks, at = [], 0
    for _, tied in itertools.groupby(differences, key=lambda d: round(abs(d), 9)):
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


def judged(search, best_us, budget):
    """(attempts until near the best, seconds until then, what its best is worth beside the best known)"""
    own, reached, seconds = math.inf, None, 0.0
    for number, (_, us, seconds, *_) in enumerate(search["attempts"], 1):
        own = min(own, us or math.inf)
        if reached is None and own * NEAR <= best_us:
            reached = (number, seconds)
    return (*(reached or (budget + 1, seconds)), best_us / own)


def best_known(rows):
    """The fastest of all attempts: a table that is kept may hold what no search of these came to."""
    return min((a[1] for row in rows for one in row["searches"] for a in one["attempts"] if a[1]), default=0)


def rules_table(rows):
    """By rule, of the searches with findings: how often its moves were tried, what they promised and brought."""
    rules = {}
    for row in rows:
        for search in row["searches"]:
            for _, _, _, rule, promised, brought, *_ in search["attempts"]:
                if search["arm"] != "none" and rule:
                    rules.setdefault((search["arm"], rule), []).append((promised, brought))
    lines = ["", "| arm | rule | moves | promised | brought | at best | slower by more than 2 % |", "|---|---|---|---|---|---|---|"]
    for (arm, rule), moves in sorted(rules.items(), key=lambda item: (item[0][0], -len(item[1]))):
        promised, brought = statistics.mean(m[0] for m in moves), statistics.mean(m[1] for m in moves)
        lines.append(f"| {arm} | `{rule}` | {len(moves)} | {100 * promised:.1f} % | {100 * brought:.1f} % | {100 * max(m[1] for m in moves):.1f} % | "
                     f"{sum(m[1] < -0.02 for m in moves)} |")
    return lines


def table(rows):
    lines = ["| problem | best | " + " | ".join(f"{arm}: attempts, best" for arm in ARMS) + " |", "|---|---|" + "---|" * len(ARMS)]
    figures = {what: {arm: [] for arm in ARMS} for what in ("attempts", "seconds", "best")}
    easy = 0
    for row in rows:
        best_us, cells, firsts = best_known([row]), [], []
        for arm in ARMS:
            own = [judged(one, best_us, row["budget"]) for one in row["searches"] if one["arm"] == arm]
            for what, k in (("attempts", 0), ("seconds", 1), ("best", 2)):
                figures[what][arm].append(geomean([one[k] for one in own]))
            firsts += [one[0] for one in own]
            cells.append(f"{', '.join(str(one[0]) for one in own)}; {100 * figures['best'][arm][-1]:.0f} %")
        easy += all(first == 1 for first in firsts)
        lines.append(f"| {row['problem']} | {best_us:.4g} us | " + " | ".join(cells) + " |")
    lines += ["", f"{len(rows)} problems, {max(len(row['searches']) for row in rows) // len(ARMS)} seeds, searches of {rows[0]['budget']} attempts; at {easy} "
              f"problems the first attempt of all was within {100 * NEAR:.0f} %.", ""]
    lines += ["| arm | attempts | seconds | best beside the best known |", "|---|---|---|---|"]
    for arm in ARMS:
        lines.append(f"| {arm} | {geomean(figures['attempts'][arm]):.2f} | {geomean(figures['seconds'][arm]):.2f} | {100 * geomean(figures['best'][arm]):.2f} % |")
    lines += ["", "| | attempts: ratio, p, better-worse | seconds: ratio, p, better-worse | best: ratio, p, better-worse |", "|---|---|---|---|"]
    for other, one in (("none", "on"), ("none", "raw"), ("raw", "on")):
        cells = []
        for what in ("attempts", "seconds", "best"):
            pairs = [(math.log(a), math.log(b)) for a, b in zip(figures[what][one], figures[what][other])]
            lower, higher = sum(a < b - 1e-9 for a, b in pairs), sum(a > b + 1e-9 for a, b in pairs)
            better, worse = (higher, lower) if what == "best" else (lower, higher)
            cells.append(f"{math.exp(statistics.mean(a - b for a, b in pairs)):.3f}, {wilcoxon(pairs):.3f}, {better}-{worse}")
        lines.append(f"| {one} over {other} | " + " | ".join(cells) + " |")
    return "\n".join(lines + rules_table(rows))


def read(path, half=None, commit=""):
    path = pathlib.Path(path)
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = sorted((row for row in rows if "searches" in row and commit in ("", row["commit"])), key=lambda row: row["problem"])
    return [row for number, row in enumerate(done) if half is None or number % 2 == half]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("hone", nargs="?")
    options.add_argument("problems", nargs="*", type=pathlib.Path)
    options.add_argument("-o", "--output")
    options.add_argument("--table")
    options.add_argument("--half", type=int, choices=(0, 1))
    options.add_argument("--of", default="", metavar="HASH")
    options.add_argument("--target", default="cpu")
    options.add_argument("--budget", type=int, default=16)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--measured", default="")
    options.add_argument("--minutes", type=float, default=0, help="begin no problem after so many; 0 = no limit")
    options.add_argument("--lanes", type=int, default=1)
    options.add_argument("--commit", default="")
    given = options.parse_intermixed_args()
    if given.table:
        print(table(read(given.table, given.half, given.of)))
        return
    if not (given.hone and given.problems and given.output):
        options.error("HONE, -o FILE.jsonl and a PROBLEM are needed, or --table FILE.jsonl")
    if not given.commit:
        try:
            given.commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
        except OSError:  # a machine without git
            given.commit = "unknown"
    known = {row["problem"] for row in read(given.output)}
    begun = time.monotonic()

    def one(problem):
        if problem.stem in known or (given.minutes and time.monotonic() - begun > 60 * given.minutes):
            return
        line = measure(given, problem)
        with open(given.output, "a") as out:
            out.write(json.dumps(line, separators=(",", ":")) + "\n")
        print(f"{problem.stem}: {line.get('error') or len(line['searches'])} ({line['took_s']} s)", file=sys.stderr, flush=True)

    with concurrent.futures.ThreadPoolExecutor(given.lanes) as lanes:
        list(lanes.map(one, given.problems))
    print(table(read(given.output)))


if __name__ == "__main__":
    main()
