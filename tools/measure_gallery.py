#!/usr/bin/env python3
"""What a device says of examples/gallery: kernels with one known fault each, and their mended twins.

measure_gallery.py HONE -o FILE.jsonl [RULE...]        profile the pairs that FILE does not have
measure_gallery.py HONE --table FILE.jsonl [--fit]     what today's rules say of the facts in it, without a device

FILE gets a line a kernel: its time, and the facts of its subjects with where each is from and how far it is to be believed. The
table has, of each pair, the place of the meant rule among the findings on the faulty kernel (without those that sum up, which
rank last), whether it is silent on the twin, what else fires there, and the gain beside the estimate. --fit puts each rule's
threshold half way (in logarithms) between its own faulty kernel and the nearest of those on which it should be silent, on one
half of the pairs, and says on the other half where it and today's threshold look closer without reason. Every second pair, by
name, is of the first half.
"""
import argparse
import datetime
import json
import math
import pathlib
import re
import statistics
import sys
import tempfile

from measuring import ROOT, ask

GALLERY = ROOT / "examples" / "gallery"
SUMS_UP = {"roofline_gap"}


def compact(answer):
    """The subjects' facts, [value, source, confidence] each."""
    return [{key: one["profile"][key] for key in ("scope", "subject", "where") if key in one["profile"]} |
            {"facts": {fact["name"]: [round(fact["value"], 6) if isinstance(fact["value"], float) else fact["value"], fact["source"], fact["confidence"]]
                       for fact in one["profile"]["facts"]}} for one in answer["subjects"]]


def document(row):
    """As hone profile --json said it."""
    facts = lambda one: [{"name": name, "value": value, "source": source, "confidence": confidence}
                         for name, (value, source, confidence) in one["facts"].items()]
    return {"subjects": [{"profile": {key: one[key] for key in ("scope", "subject", "where") if key in one} | {"facts": facts(one)}}
                         for one in row["subjects"]]}


def line(pair, kernel, answer):
    us = max(part["end_us"] for part in answer["timeline"]) - min(part["begin_us"] for part in answer["timeline"])
    return {"pair": pair, "kernel": kernel, "date": datetime.date.today().isoformat(), "device": answer["device"], "us": round(us, 3),
            "subjects": compact(answer)}


def measure(hone, output, pairs):
    known = {(row["pair"], row["kernel"]) for row in read(output)}
    for pair in pairs or sorted(folder.name for folder in GALLERY.iterdir()):
        for kernel in ("faulty", "mended"):
            if (pair, kernel) in known:
                continue
            answer = ask([hone, "profile", str(GALLERY / pair / "problem.json"), str(GALLERY / pair / f"{kernel}.cu"), "--sass", "--json"])
            if "timeline" not in answer:
                print(f"{pair} {kernel}: {(answer.get('error') or {}).get('message', 'no answer')}", file=sys.stderr)
                continue
            with open(output, "a") as out:
                out.write(json.dumps(line(pair, kernel, answer), separators=(",", ":")) + "\n")


def read(path):
    path = pathlib.Path(path)
    return [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []


def diagnosed(hone, rows):
    """pair -> kernel -> (microseconds, findings, facts by scope)"""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            path = pathlib.Path(folder) / "counted.json"
            path.write_text(json.dumps(document(row)))
            answer = ask([hone, "diagnose", str(GALLERY / row["pair"] / "problem.json"), str(path), "--json"])
            classes = {one["profile"]["scope"]: one["class"] for one in answer["subjects"]}
            facts = {one["scope"]: {name: fact[0] for name, fact in one["facts"].items()} for one in row["subjects"]}
            found.setdefault(row["pair"], {})[row["kernel"]] = (row["us"], answer["findings"], facts, classes)
    return {pair: kernels for pair, kernels in found.items() if len(kernels) == 2}


def table(found):
    print("| rule | place | silent on the mended twin | what else fires there | faulty | mended | gain | estimated |")
    print("|---|---|---|---|---|---|---|---|")
    ratios, first, silent, others = [], 0, 0, 0
    for pair, kernels in sorted(found.items()):
        (us, findings, *_), (after_us, twin, *_) = kernels["faulty"], kernels["mended"]
        ranked = [one for one in findings if one["rule"] not in SUMS_UP]
        place = next((number for number, one in enumerate(ranked, 1) if one["rule"] == pair), None)
        estimate = max((one["loss_us"] for one in ranked if one["rule"] == pair), default=None)
        quiet = all(one["rule"] != pair for one in twin)
        else_ = sorted({one["rule"] for one in twin} - SUMS_UP - {pair})
        first, silent, others = first + (place == 1), silent + quiet, others + len(else_)
        if estimate and us - after_us > 0.02 * us:
            ratios.append(estimate / (us - after_us))
        print(f"| `{pair}` | {place or 'silent'} | {'yes' if quiet else 'no'} | {', '.join(f'`{rule}`' for rule in else_) or '-'} | {us:.4g} | {after_us:.4g} | "
              f"{us - after_us:.3g} | {'-' if estimate is None else f'{estimate:.3g}'} |")
    print(f"\n{len(found)} pairs: the meant rule is first on {first} faulty kernels and silent on {silent} twins, where {others} others fire; "
          f"estimate to gain, the middle of {len(ratios)}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def thresholds():
    """rule -> (scope, classes, fact, side, value), as docs/diagnosis.md has them; a test holds that to the rules."""
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| (\w+) \| ([^|]+) \| `(\w+)` (above|below) ([\d.]+) \|$", (ROOT / "docs" / "diagnosis.md").read_text(), re.M)
    return {rule: (scope, set(classes.split(", ")), fact, side, float(value)) for rule, scope, classes, fact, side, value in rows}


def fit(found):
    known = thresholds()
    pairs = sorted(found)
    print("| rule | fitted on | threshold | fitted | looks closer on the other half: today | fitted | of kernels |\n|---|---|---|---|---|---|---|")
    alarms = {"today": 0, "fitted": 0, "of": 0}
    for rule in pairs:
        if rule not in known:
            continue
        scope, classes, fact, side, value = known[rule]
        sign = 1 if side == "above" else -1

        def looked_at(half):
            """The values of this rule's fact on the kernels of a half that it should be silent on, where their class is its own."""
            values = []
            for number, pair in enumerate(pairs):
                for kernel in ("faulty", "mended"):
                    _, findings, facts, kinds = found[pair][kernel]
                    if number % 2 != half or (pair == rule and kernel == "faulty") or fact not in facts.get(scope, {}):
                        continue
                    if kinds.get(scope) and kinds[scope] not in classes and kinds[scope] != "balanced":
                        continue
                    values.append(facts[scope][fact])
            return values

        half = pairs.index(rule) % 2
        own = found[rule]["faulty"][2].get(scope, {}).get(fact)
        if own is None:
            print(f"| `{rule}` | - | {value:g} | its fact is not there | | | |")
            continue
        nearest = [one for one in looked_at(half) if sign * one < sign * own]
        fitted = value
        if nearest:
            edge = max(nearest, key=lambda one: sign * one)
            fitted = math.exp((math.log(own) + math.log(edge)) / 2) if min(own, edge) > 0 else (own + edge) / 2
        other = looked_at(1 - half)
        closer = [sum(sign * one > sign * bound for one in other) for bound in (value, fitted)]
        alarms["today"] += closer[0]
        alarms["fitted"] += closer[1]
        alarms["of"] += len(other)
        print(f"| `{rule}` | {'the first' if half == 0 else 'the second'} | {value:g} | {fitted:.3g} | {closer[0]} | {closer[1]} | {len(other)} |")
    print(f"\nOn the halves that thresholds were not fitted on, today's look closer at {alarms['today']} of {alarms['of']} kernels that are meant for another rule, "
          f"fitted ones at {alarms['fitted']}.")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("hone")
    options.add_argument("rules", nargs="*")
    options.add_argument("-o", "--output")
    options.add_argument("--table")
    options.add_argument("--fit", action="store_true")
    given = options.parse_intermixed_args()
    if given.table:
        found = diagnosed(given.hone, read(given.table))
        return fit(found) if given.fit else table(found)
    if not given.output:
        options.error("-o FILE.jsonl, or --table FILE.jsonl")
    return measure(given.hone, given.output, given.rules)


if __name__ == "__main__":
    sys.exit(main())
