#!/usr/bin/env python3
"""Times what two versions of hone make of the same programs, by one clock (docs/measured/house.md).

measure_code.py HONE --before HONE -o FILE.jsonl [--target cpu|cuda] [--threads N] [--turns N] [PROBLEM...]

Of each problem (default: twenty of examples/problems) the older one's expert writes its first program, and each version lowers it to
a module of C++ or a plan. HONE judges and times both, in turn and in one judge, N times. Prints a table: whether the texts are the
same bytes, the medians of the warm times and of their ratio, and the ratio's least and largest. Raw figures go to FILE.jsonl. The exit
status is 1 where one of the two is refused.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from measuring import ROOT, ask, microseconds

PROBLEMS = ("layer_norm", "softmax", "rms_norm", "group_norm", "cross_entropy", "matmul", "mlp", "swiglu", "conv_bias_relu",
            "conv_batch_norm_silu", "causal_attention", "attention_heads", "transformer_block", "pooling", "cumulative", "selective_scan",
            "embedding_sum", "rotary", "elementwise_chain", "column_max")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s: %s" % (" ".join(command), done.stderr.strip()[-300:]))
    return done.stdout


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("--before", required=True)
    options.add_argument("-o", "--output", required=True)
    options.add_argument("--target", default="cpu")
    options.add_argument("--threads", type=int)
    options.add_argument("--turns", type=int, default=3)
    options.add_argument("problems", nargs="*")
    given = options.parse_intermixed_args()
    target = ["--target", given.target]

    print("| problem | text | before | after | after / before |\n|---|---|---|---|---|")
    refused = 0
    with tempfile.TemporaryDirectory() as folder, open(given.output, "w") as log:
        for file in given.problems or [str(ROOT / "examples" / "problems" / (name + ".py")) for name in PROBLEMS]:
            name = pathlib.Path(file).stem
            problem, program = folder + "/problem.json", folder + "/program.hk"
            run([given.hone, "import", file, "-o", problem])
            pathlib.Path(program).write_text(run([given.before, "propose", problem] + target))
            made = {}
            for when, hone in (("before", given.before), ("after", given.hone)):
                made[when] = folder + "/" + when + (".json" if given.target == "cuda" else ".cc")
                pathlib.Path(made[when]).write_text(run([hone, "lower", program, "--problem", problem] + target +
                                                        (["--plan"] if given.target == "cuda" else [])))
            same = pathlib.Path(made["before"]).read_bytes() == pathlib.Path(made["after"]).read_bytes()
            order = ["before", "after"] * given.turns
            answer = ask([given.hone, "evaluate", problem, *(made[when] for when in order), "--no-torch", "--json"] + target +
                         (["--threads", str(given.threads)] if given.threads else []))
            times = {"before": [], "after": []}
            for when, one in zip(order, answer.get("evaluations", [])):
                if one["outcome"] == "accepted":
                    times[when].append(one["timing"]["warm"]["median_us"])
            if len(times["before"]) != given.turns or len(times["after"]) != given.turns:
                reasons = [one.get("reason") for one in answer.get("evaluations", []) if one["outcome"] != "accepted"]
                print("| %s | refused: %s |" % (name, reasons or answer.get("error")), flush=True)
                refused += 1
                continue
            log.write(json.dumps({"problem": name, "same": same, **times}) + "\n")
            log.flush()
            ratios = [after / before for before, after in zip(times["before"], times["after"])]
            print("| %s | %s | %s | %s | %.3f (%.3f to %.3f) |" %
                  (name, "same" if same else "differs", *(microseconds(statistics.median(times[when])) for when in ("before", "after")),
                   statistics.median(ratios), min(ratios), max(ratios)), flush=True)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
