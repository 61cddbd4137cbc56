#!/usr/bin/env python3
"""Says what the noise guard is worth: headlines of `hone optimize` on a quiet machine, and beside a load that comes and goes.

measure_noise.py HONE [--problem FILE] [--runs N] [--budget N] [--time S] [--on S] [--off S] [--before HONE]

Runs of the problem (default: examples/problems/softmax.py), each with a seed and a store of its own; first N without a load, then
N beside one, a spinning process for each processor that works for about --on seconds and rests for about --off. Exit status 1
if a headline stated beside the load is more than 1.3 times the quiet ones' median. --before: an older hone; what both take for the
same runs of the quiet kind says what the guard costs. For people: run it on an otherwise idle machine.
"""
import argparse
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FURTHEST = 1.3


class Load:
    """Processes that spin and rest, all at the same time, for as long as it is entered."""

    def __init__(self, on, off):
        self.on, self.off = on, off

    def __enter__(self):
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, 0)
            self.work()
        return self

    def __exit__(self, *ignored):
        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def work(self):
        draw = random.Random(7)
        spinners = [os.fork() or self.spin() for _ in os.sched_getaffinity(0)]
        while True:
            for what, seconds in ((signal.SIGCONT, self.on), (signal.SIGSTOP, self.off)):
                for one in spinners:
                    os.kill(one, what)
                time.sleep(seconds * draw.uniform(0.3, 1.7))

    @staticmethod
    def spin():
        while True:
            pass


def optimize(hone, given, seed):
    """The run's document, and its seconds."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        done = subprocess.run([hone, "optimize", given.problem, "--budget", str(given.budget), "--time", str(given.time), "--seed",
                               str(seed), "--store", folder + "/runs.sqlite", "--json"], capture_output=True, text=True)
        seconds = time.monotonic() - begin
    try:
        return json.loads(done.stdout), seconds
    except ValueError:
        sys.exit("%s: %s" % (hone, (done.stderr or done.stdout).strip()[-300:]))


def series(what, hone, given, runs):
    headlines, took = [], []
    for seed in range(1, runs + 1):
        document, seconds = optimize(hone, given, seed)
        headline = (document.get("headline") or {}).get("speedup")
        timing = (document.get("best") or {}).get("timing") or {}
        why = timing.get("disturbed") or next((one["disturbed"] for one in timing.get("against", []) if one.get("disturbed")), "")
        print("%-8s run %2d  %s  best %s us, %.0f s" %
              (what, seed, "%.2fx" % headline if headline else "no headline (disturbed: %s)" % why if why else "nothing accepted",
               (timing.get("warm") or {}).get("median_us"), seconds), flush=True)
        took.append(seconds)
        if headline:
            headlines.append(headline)
    return headlines, took


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("--problem", default=str(ROOT / "examples" / "problems" / "softmax.py"))
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--budget", type=int, default=8)
    options.add_argument("--time", type=float, default=30)
    options.add_argument("--on", type=float, default=2)
    options.add_argument("--off", type=float, default=4)
    options.add_argument("--before")
    given = options.parse_args()

    print("load average %.2f before anything is run" % os.getloadavg()[0])
    for hone in filter(None, (given.hone, given.before)):  # else the first runs measure the machine in their own time
        subprocess.run([hone, "calibrate"], check=True, capture_output=True)
    quiet, took = series("quiet", given.hone, given, given.runs)
    if given.before:
        _, before = series("before", given.before, given, given.runs)
        print("the guard's cost on this machine: %.1f s a run, %.1f s before (medians): %+.0f %%" %
              (statistics.median(took), statistics.median(before), 100 * (statistics.median(took) / statistics.median(before) - 1)))
    with Load(given.on, given.off):
        loaded, _ = series("loaded", given.hone, given, given.runs)
    if not quiet:
        sys.exit("no headline without a load: this machine is not quiet by itself")
    usual = statistics.median(quiet)
    print("quiet: %d of %d runs have a headline, %.2fx to %.2fx, median %.2fx" %
          (len(quiet), given.runs, min(quiet), max(quiet), usual))
    if loaded:
        print("loaded: %d of %d runs have a headline, %.2fx to %.2fx, at most %.2f times the quiet ones' median" %
              (len(loaded), given.runs, min(loaded), max(loaded), max(loaded) / usual))
    else:
        print("loaded: no run has a headline")
    return 1 if loaded and max(loaded) > FURTHEST * usual else 0


if __name__ == "__main__":
    sys.exit(main())
