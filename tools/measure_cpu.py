#!/usr/bin/env python3
"""Optimizes every problem under examples/problems and writes what came of it as tables (docs/measured/cpu.md).

measure_cpu.py HONE -o FILE.md [--budget N] [--time S] [--only NAME,NAME] [--store PATH]

Resumes: runs live in the store, and a finished run answers from it. Run it on an otherwise idle machine.
"""
import argparse
import datetime
import pathlib
import subprocess
import sys

from measuring import ROOT, against, ask, geomean, microseconds, speedup


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("-o", "--output", required=True)
    options.add_argument("--budget", default="20")
    options.add_argument("--time", default="45")
    options.add_argument("--only", default="")
    options.add_argument("--store", default=str(ROOT / "build" / "measure.sqlite"))
    given = options.parse_args()

    problems = sorted(p for p in (ROOT / "examples" / "problems").iterdir() if p.suffix in (".py", ".json"))
    if given.only:
        problems = [p for p in problems if p.stem in given.only.split(",")]
    machine = ask([given.hone, "calibrate", "--json"])
    rows, best_programs, ratios = [], [], {"naive": [], "eager": [], "compile": []}
    solved = 0
    for problem in problems:
        command = [given.hone, "optimize", str(problem.relative_to(ROOT)), "--budget", given.budget, "--time", given.time, "--store", given.store, "--json"]
        print(problem.stem, file=sys.stderr, flush=True)
        run = ask(command)
        best = run.get("best")
        if not best:
            why = (run.get("error") or {}).get("message") or run.get("stop", "nothing was accepted")
            rows.append(f"| {problem.stem} | not solved: {why} |" + " |" * 8)
            continue
        solved += 1
        timing = best["timing"]
        warm, cold = timing["warm"]["median_us"], timing["cold"]["median_us"]
        for name in ratios:
            comparison = against(best, name)
            if comparison:
                ratios[name].append(comparison["speedup"])
        rows.append(
            f"| {problem.stem} | {microseconds(warm)} ({microseconds(timing['warm']['low_us'])}-{microseconds(timing['warm']['high_us'])}) | {microseconds(cold)} "
            f"| {microseconds(run['bound_us'])} | {100 * run['bound_us'] / warm:.0f} % | {run['bound_limited_by']} "
            f"| {speedup(against(best, 'naive'))} | {speedup(against(best, 'eager'))} | {speedup(against(best, 'compile'))} | {run['attempts']} |")
        best_programs.append((problem.stem, best["source"] if best["kind"] == "program" else "(a module)"))

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT).stdout.strip()
    text = [
        f"Measured {datetime.date.today().isoformat()} at commit {commit} with",
        "",
        f"    tools/measure_cpu.py build/hone -o FILE.md --budget {given.budget} --time {given.time}",
        "",
        f"Machine: {machine.get('processor')}, {machine.get('threads')} threads; FMA peak {machine.get('fma_flops_f32', 0) / 1e9:.0f} GFLOP/s (f32), "
        f"compiler {machine.get('compiler')}.",
        "",
        "Copy bandwidth by working set: " + ", ".join(f"{p['working_set_bytes'] / 2**20:.3g} MiB {p['copy_bytes_per_second'] / 1e9:.0f} GB/s" for p in machine.get("bandwidth", [])[::3]) + ".",
        "",
        f"Solved: {solved} of {len(problems)}. Geomean of the speed-ups: " + ", ".join(f"{geomean(v):.2f} over {k} ({len(v)})" for k, v in ratios.items() if v) + ".",
        "",
        "| problem | warm, with 95 % interval | cold | bound | bound / warm | bound by | over naive | over eager | over compile | attempts |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *rows,
        "",
        "The winning programs:",
        "",
    ]
    for name, source in best_programs:
        text += [f"`{name}`", "", "```", source.rstrip(), "```", ""]
    pathlib.Path(given.output).write_text("\n".join(text))


if __name__ == "__main__":
    main()
