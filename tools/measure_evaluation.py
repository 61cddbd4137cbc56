#!/usr/bin/env python3
"""Says what an evaluation takes with two versions of hone (docs/measured/redteam.md).

measure_evaluation.py HONE --before HONE -o FILE.jsonl [--target cpu|cuda] [--threads N] [--turns N] [PROBLEM...]

Of each problem (default: ten of examples/problems) the older one's expert writes its first program, and both evaluate it three times, in one
judge, without PyTorch, in turn: milliseconds of check and timing, of the first candidate of a judge and the median of the two after
it. Prints a table of medians over the turns; raw figures go to FILE.jsonl. A problem of which one version refuses the program is
said so, and the exit status is 1. For people: run it on an otherwise idle machine.
"""
import argparse
import hashlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from measuring import ROOT, ask

PROBLEMS = ("conv_bias_relu", "rms_norm", "cumulative", "causal_attention", "group_norm", "hinge_loss", "mlp", "pooling", "gru_cell",
            "cross_entropy")


def apart(hone):
    """Runs it with data of its own: versions do not read each other's calibrations."""
    return ["env", "HONE_DATA=%s/hone-data-%s" % (tempfile.gettempdir(), hashlib.sha256(hone.encode()).hexdigest()[:8]), hone]


class Refused(Exception):
    """A version does not accept the program."""


def evaluate(hone, problem, program, given, tries=9):
    """Milliseconds of the first evaluation and of a later one, and the warm time in microseconds."""
    command = [*apart(hone), "evaluate", problem, program, program, program, "--no-torch", "--target", given.target, "--json"]
    document = ask(command + (["--threads", str(given.threads)] if given.threads else []))
    if "evaluations" not in document:
        raise Refused("%s: %s" % (hone, document.get("error")))
    document = document["evaluations"]
    refused = next((one for one in document if one["outcome"] != "accepted"), None)
    if refused and tries > 1:  # an older one takes a busy moment for a lie
        return evaluate(hone, problem, program, given, tries - 1)
    if refused:
        raise Refused("%s: %s" % (hone, refused.get("reason") or refused["outcome"]))
    took = [one["stages"]["check_ms"] + one["stages"]["timing_ms"] for one in document]
    return took[0], statistics.median(took[1:]), document[0]["timing"]["warm"]["median_us"]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("--before", required=True)
    options.add_argument("-o", "--output", required=True)
    options.add_argument("--target", default="cpu")
    options.add_argument("--threads", type=int)
    options.add_argument("--turns", type=int, default=2)
    options.add_argument("problems", nargs="*")
    given = options.parse_intermixed_args()

    print("| problem | first, before | after | later ones, before | after | warm us, before | after |\n|---|---|---|---|---|---|---|")
    refusals = 0
    with tempfile.TemporaryDirectory() as folder, open(given.output, "w") as log:
        for file in given.problems or [str(ROOT / "examples" / "problems" / (name + ".py")) for name in PROBLEMS]:
            name = pathlib.Path(file).stem
            problem, program = folder + "/problem.json", folder + "/program.hk"
            for command in ([given.hone, "import", file, "-o", problem], [*apart(given.before), "propose", problem, "--target", given.target]):
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode != 0:
                    sys.exit("%s: %s" % (file, done.stderr.strip()[-300:]))
            pathlib.Path(program).write_text(done.stdout)
            seen = {"before": [], "after": []}
            try:
                for _ in range(given.turns):
                    for when, hone in (("before", given.before), ("after", given.hone)):
                        seen[when].append(evaluate(hone, problem, program, given))
            except Refused as why:
                print("| %s | %s |" % (name, why), flush=True)
                refusals += 1
                continue
            log.write(json.dumps({"problem": name, **seen}) + "\n")
            log.flush()
            before, after = ([statistics.median(column) for column in zip(*seen[when])] for when in ("before", "after"))
            cells = ["%.4g | %.4g (%.2f)" % (old, new, new / old) for old, new in zip(before, after)]
            print("| %s | %s |" % (name, " | ".join(cells)), flush=True)
    return 1 if refusals else 0


if __name__ == "__main__":
    sys.exit(main())
