#!/usr/bin/env python3
"""A run store with one run of scripted attempts: many_attempts.py STORE N [--hostile]; prints the run's id.

Its tables are those of src/store/schema.cc. Nothing was measured: times follow from a seeded generator. With --hostile all texts
that may be foreign hold HOSTILE.
"""
import hashlib
import json
import pathlib
import random
import re
import sqlite3
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN = "5c817d"
# What it would do if it ran: set the page's title to RAN.
RAN = "foreign script ran"
HOSTILE = "</script><img src=x onerror=\"document.title='foreign script '+'ran'\"><script>document.title='foreign script '+'ran'</script>'\"&<!--"
PROBLEM = {
    "hone_problem": 1, "name": "scripted", "contract": "fp32", "provenance": {"source": "scripted.py"},
    "tensors": [
        {"name": "x", "shape": [32768, 1024], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
        {"name": "y", "shape": [32768, 1024], "dtype": "f32", "role": "output"}],
    "graph": [{"op": "_softmax", "args": {"self": "%x", "dim": 1, "half_to_float": False}, "outputs": ["y"]}]}
SOURCE = """# {note}
kernel softmax(x: f32[32768, 1024]) -> y: f32[32768, 1024] {{
{lines}
  y = softmax(x, dim = 1) where threads = {threads}, vector = {vector}, rows = {rows}
}}
"""
RULES = {"roofline_gap": "far from the bound", "vector_width": "narrow vectors", "spills": "registers spill", "idle_threads": "threads wait"}
BASELINES = {"eager": 812.0, "naive": 3900.0}
BOUND = 61.0
BEGAN = 1_795_000_000_000


def schema():
    """The statements that make a store of the newest schema."""
    text = (ROOT / "src/store/schema.cc").read_text()
    steps = re.search(r"kSteps = \{(.*?)\n\)\"\};", text, re.S)[1] + '\n)"'
    return re.findall(r'R"\((.*?)\)"', steps, re.S)


def samples(us, count=24):
    return {"median_us": us, "low_us": us * 0.985, "high_us": us * 1.015, "p10_us": us * 0.97, "p90_us": us * 1.06, "count": count}


def accepted(us, stages, baselines):
    against = [{"baseline": name, "baseline_warm": samples(base), "speedup": base / us, "speedup_low": base / us * 0.98,
                "speedup_high": base / us * 1.02, "rounds": 12} for name, base in baselines.items()]
    return {"outcome": "accepted", "reason": "", "evidence": {}, "stages": stages, "sandbox": "bubblewrap + seccomp",
            "accuracy": {"bit_reproducible": True, "error_over_budget": 0.07, "error_over_honest": 0.4, "range": "componentwise"},
            "timing": {"warm": samples(us), "cold": samples(us * 1.4), "prepare_us": 0, "threads": 2, "ended_early": False, "against": against}}


class Writer:
    def __init__(self, path, hostile):
        self.connection = sqlite3.connect(path)
        for step in schema():
            self.connection.executescript(step)
        self.connection.execute("PRAGMA application_id = 0x686f6e65")
        self.connection.execute(f"PRAGMA user_version = {len(schema())}")
        self.hostile = HOSTILE if hostile else ""

    def blob(self, text):
        data = text.encode()
        key = hashlib.sha256(data).hexdigest()
        self.connection.execute("INSERT OR IGNORE INTO blob VALUES (?, ?)", (key, data))
        return key

    def row(self, table, **values):
        names = ", ".join(values)
        self.connection.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", list(values.values()))


def source(chance, number, hostile):
    lines = "\n".join(f"  # line {i}: what the kernel does with rows {i * 8} to {i * 8 + 7}" for i in range(40))
    return SOURCE.format(note=f"attempt {number} {hostile}", lines=lines, threads=chance.choice([1, 2, 4]), vector=chance.choice([4, 8, 16]),
                         rows=chance.randrange(1, 9))


def findings(chance, us, hostile):
    return [{"rule": rule, "title": title, "subject": "the candidate", "evidence": f"{us:.0f} us, {us / BOUND:.2f} times the bound of {BOUND} us {hostile}",
             "advice": f"Look at {title} first.", "lost": round(chance.uniform(0.05, 0.9), 3), "loss_us": us / 2, "confidence": 0.8,
             "moves": [{"knob": "vector", "value": "more"}]} for rule, title in chance.sample(sorted(RULES.items()), chance.randrange(1, 4))]


def write(path, count, hostile=False):
    """Makes the store; the id of its run."""
    writer, chance = Writer(path, hostile), random.Random(count)
    foreign = writer.hostile
    problem = dict(PROBLEM, name="scripted" + foreign)
    text = json.dumps(problem)
    baselines = dict(BASELINES, **({foreign: 1000.0} if foreign else {}))
    writer.row("run", id=RUN, problem_name=problem["name"], problem_identity="0" * 64, problem_blob=writer.blob(text), target="cuda",
               machine="h200", settings=json.dumps({"seed": 1, "search": "greedy", "proposer": "expert", "tools": "on"}),
               budget=json.dumps({"attempts": count, "seconds": 0.0, "headroom": 0.02}), state="done",
               stop_reason=f"all {count} attempts are made {foreign}", created_ms=BEGAN, updated_ms=BEGAN, bound_us=BOUND,
               baselines=json.dumps(baselines), note=foreign)
    times, now = {}, BEGAN + 2000
    for number in range(1, count + 1):
        ranked = sorted(times, key=times.get)[:6]
        parent = 0 if number <= 4 or not ranked else chance.choice(ranked)
        if number <= 4 or chance.random() < 0.15:
            writer.row("round", run=1, number=number, parent=parent, turn=number, moment=number, asked_ms=now - 400, answered_ms=now - 100,
                       input_tokens=1200, output_tokens=300, dollars=0.01)
        before = times.get(parent, 900.0)
        us = max(BOUND * 1.05, before * chance.uniform(0.93, 1.6))
        stages = {"compile_ms": chance.uniform(2, 60), "compile_cached": chance.random() < 0.3, "check_ms": chance.uniform(200, 500),
                  "timing_ms": chance.uniform(400, 900)}
        stages["total_ms"] = sum(stages[name] for name in ("compile_ms", "check_ms", "timing_ms")) + 20
        good = number == 1 or chance.random() > 0.15
        rule = chance.choice(sorted(RULES)) if parent and chance.random() < 0.5 else ""
        evaluation = accepted(us, stages, baselines) if good else {
            "outcome": "wrong_result", "reason": f"y is wrong at [3, 17] on seed 2 {foreign}", "stages": dict(stages, timing_ms=0), "sandbox": "bubblewrap + seccomp",
            "evidence": {"draw": "seed 2", "output": "y" + foreign, "index": [3, 17], "expected": 0.25, "got": 0.5, "budget": 0.001, "wrong_elements": 12, "elements": 33554432}}
        spent = int(stages["total_ms"])
        writer.row("attempt", run=1, number=number, parent=parent, kind="program", source_blob=writer.blob(source(chance, number, foreign)),
                   identity=f"{number:064x}", origin=f"expert: output: vector 4 -> {number % 7} {foreign}", key=f"vector={number % 7}", predicted_us=us * 0.9,
                   started_ms=now, ended_ms=now + spent, outcome=evaluation["outcome"], evaluation=json.dumps(evaluation),
                   log_blob=writer.blob("a compiler's words " + foreign) if not good else None, median_us=us if good else 0, cold_us=us * 1.4 if good else 0,
                   speedup=BASELINES["eager"] / us if good else 0, round=number if number <= 4 else 0, rule=rule, promised=0.2 if rule else 0,
                   brought=(1 - us / before if good else 0.0) if rule else None, findings=json.dumps(findings(chance, us, foreign) if good else []),
                   limits=json.dumps({"by_analysis": {"class": "memory", "confidence": 0.8, "why": f"its bytes take {BOUND} us {foreign}"}} if good else {}))
        if good:
            times[number] = us
        now += spent + 30
    best = min(times, key=times.get)
    evaluation = accepted(times[best], {"compile_ms": 0, "check_ms": 300, "timing_ms": 800, "total_ms": 1100}, baselines)
    writer.row("confirmation", run=1, attempt=best, ended_ms=now + 1200, outcome="accepted", evaluation=json.dumps(evaluation),
               median_us=times[best], cold_us=times[best] * 1.4, speedup=BASELINES["eager"] / times[best])
    writer.connection.execute("UPDATE run SET best_attempt = ?, updated_ms = ?", (best, now + 1300))
    writer.connection.commit()
    writer.connection.close()
    return RUN


if __name__ == "__main__":
    print(write(sys.argv[1], int(sys.argv[2]), "--hostile" in sys.argv))
