#!/usr/bin/env python3
"""Imports KernelBench's levels 1 to 3 and writes docs/measured/import.md: one line a problem, what failed and why.

import_sweep.py HONE KERNELBENCH -o FILE.md --python NAME=PATH [--python NAME=PATH] [--shrink MFLOP] [--only L1/5,L3/33]
                [--again REGEX] [--state FOLDER]

KERNELBENCH is a checkout of ScalingIntelligence/KernelBench. Resumes: each import is a line of STATE/rows.jsonl, and what has one is
not done again, unless its error matches --again. `hone graph` is cheap and runs anew where the program has changed. One process
at a time. Seconds are CPU seconds of the whole `hone import` command with all that it starts, which other work on the machine hardly
changes; memory is the peak of the largest of these processes.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

LEVELS = (1, 2, 3)


def descendants(pid):
    found = [pid]
    for one in found:
        try:
            for task in os.listdir("/proc/%d/task" % one):
                found += map(int, pathlib.Path("/proc/%d/task/%s/children" % (one, task)).read_text().split())
        except OSError:
            pass  # it has ended
    return found


class Watch(threading.Thread):
    """Peak memory and CPU time of a process and all that it starts. A sandbox's processes are not in anybody's rusage."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peaks, self.ticks, self.over = pid, {}, {}, threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.05):
            for pid in descendants(self.pid):
                try:
                    status = pathlib.Path("/proc/%d/status" % pid).read_text()
                    peak = re.search(r"VmHWM:\s+(\d+)", status)
                    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
                    self.peaks[pid] = max(self.peaks.get(pid, 0), int(peak[1]) * 1024 if peak else 0)  # none at its end
                    self.ticks[pid] = max(self.ticks.get(pid, 0), int(fields[11]) + int(fields[12]))
                except (OSError, IndexError):
                    pass

    def stop(self):
        self.over.set()
        self.join()
        return max(self.peaks.values(), default=0), sum(self.ticks.values()) / os.sysconf("SC_CLK_TCK")


def timed(command):
    """(answer or None, error text, wall seconds, CPU seconds, peak bytes)"""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    watch = Watch(child.pid)
    out, err = child.communicate()
    seconds = time.monotonic() - begin
    peak, cpu = watch.stop()
    answer, error = None, ""
    try:
        answer = json.loads(out)
    except ValueError:
        error = (err or out).decode(errors="replace").strip()[-300:] or "exit %d" % child.returncode
    if isinstance(answer, dict) and "error" in answer:
        error, answer = answer["error"].get("message", str(answer["error"])), None
    return answer, error, seconds, cpu, peak


def problems(root):
    found = []
    for level in LEVELS:
        for path in (root / "KernelBench" / ("level%d" % level)).glob("*.py"):
            match = re.match(r"(\d+)_", path.name)
            if match:
                found.append((level, int(match[1]), path))
    return sorted(found)


class State:
    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "rows.jsonl"
        self.rows = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                try:
                    row = json.loads(line)
                except ValueError:
                    continue  # cut off when we were stopped
                self.rows[row["key"]] = row

    def add(self, key, row):
        row["key"] = key
        self.rows[key] = row
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def short(value, unit=""):
    if value is None:
        return "-"
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size * 0.9995:
            return "%.3g %s%s" % (value / size, prefix, unit)
    return "%.3g %s" % (value, unit) if unit else "%.3g" % value


def flags_of(graph):
    """What the analysis says of a problem, as short names; whatever `hone graph` calls them."""
    found = []
    for flag in graph.get("flags") or graph.get("degenerate") or []:
        found.append(flag if isinstance(flag, str) else flag.get("kind") or flag.get("name") or flag.get("flag") or "flag")
    return found


def one_import(given, state, key, python, path, target, shrink):
    row = state.rows.get(key)
    if row and not (row.get("error") and given.again and re.search(given.again, row["error"])):
        return row
    command = [given.hone, "import", str(path), "-o", str(target), "--python", python, "--json"]
    if shrink:
        command += ["--shrink", str(shrink)]
    answer, error, seconds, cpu, peak = timed(command)
    row = {"seconds": seconds, "cpu_seconds": cpu, "peak_bytes": peak, "error": error}
    if answer:
        row.update({name: answer.get(name) for name in ("operators", "shapes_checked", "optimizable", "identity")})
        row["unknown"] = next((n for n in answer.get("notes", []) if "cannot optimize" in n), "")
    state.add(key, row)
    print("%-28s %6.1f s  %6.1f CPU s  %5.0f MB  %s" % (key, seconds, cpu, peak / 1e6, error or row.get("unknown") or "ok"), file=sys.stderr, flush=True)
    return row


def one_graph(given, state, key, target, program):
    row = state.rows.get(key)
    if row and row.get("program") == program:
        return row
    answer, error, seconds, _, _ = timed([given.hone, "graph", str(target), "--json"])
    row = {"program": program, "error": error, "seconds": seconds}
    if answer:
        row.update({"nodes": len(answer["nodes"]), "ops": sorted({n["op"] for n in answer["nodes"]}), "flops": answer["total"]["flops"],
                    "bytes": answer["total"]["bytes_read"] + answer["total"]["bytes_written"], "flags": flags_of(answer)})
    state.add(key, row)
    return row


def cut(problem_path):
    try:
        provenance = json.loads(problem_path.read_text())["provenance"]
    except (OSError, ValueError, KeyError):
        return ""
    return provenance.get("shrunk", "")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("kernelbench", type=pathlib.Path)
    options.add_argument("-o", "--output", required=True)
    options.add_argument("--python", action="append", required=True, metavar="NAME=PATH")
    options.add_argument("--shrink", type=float, default=0, help="also import at a reduced size of so many MFLOP")
    options.add_argument("--shrink-python", default="", metavar="NAME", help="the python for that (default: the first)")
    options.add_argument("--only", default="")
    options.add_argument("--again", default="")
    options.add_argument("--state", type=pathlib.Path, default=pathlib.Path("build/import_sweep"))
    options.add_argument("--table-only", action="store_true", help="write the file from what is there")
    options.add_argument("--note", default="", help="a sentence for the file's head, such as what else the machine did")
    given = options.parse_args()
    pythons = [text.split("=", 1) for text in given.python]
    state = State(given.state)
    program = hashlib.sha256(pathlib.Path(given.hone).read_bytes()).hexdigest()[:16]

    rows = problems(given.kernelbench)
    if given.only:
        rows = [r for r in rows if "L%d/%d" % r[:2] in given.only.split(",")]
    missing = {}
    shrinking = dict(pythons).get(given.shrink_python or pythons[0][0])
    for name, python in pythons + ([("shrunk", shrinking)] if given.shrink else []):
        folder = given.state / name
        folder.mkdir(exist_ok=True)
        if given.table_only:
            break
        for level, number, path in rows:
            label = "L%d/%d" % (level, number)
            target = folder / ("L%d_%d.json" % (level, number))
            row = one_import(given, state, "%s %s" % (name, label), python, path, target, given.shrink if name == "shrunk" else 0)
            if row["error"]:
                continue
            graph = one_graph(given, state, "%s %s graph" % (name, label), target, program)
            match = re.search(r"operator (\S+) is unknown|(aten\.\S+)", graph["error"] or "")
            if match:
                missing.setdefault((match[1] or match[2]).strip(",:"), set()).add(label)
    write(given, state, pythons, rows)
    for op, labels in sorted(missing.items()):
        print("not defined: %s  %s" % (op, " ".join(sorted(labels))), file=sys.stderr)


def write(given, state, pythons, rows):
    names = [name for name, _ in pythons]
    first = names[0]
    lines, reasons, cuts = [], [], []
    imported = {name: 0 for name in names}
    agreeing = {name: 0 for name in names}
    shapes = {name: 0 for name in names}
    slow, large, same_ops = {name: [] for name in names}, {name: [] for name in names}, 0
    for level, number, path in rows:
        label = "L%d/%d" % (level, number)
        cells, graphs = [], {}
        for name in names:
            row = state.rows.get("%s %s" % (name, label))
            graph = graphs[name] = state.rows.get("%s %s graph" % (name, label), {})
            if row is None:
                cells.append("not yet")
                continue
            if row["error"]:
                cells.append("no")
                reasons.append((name, label, row["error"]))
                continue
            imported[name] += 1
            if graph.get("error"):
                reasons.append((name, label, "imports, but its graph is not defined: " + graph["error"]))
            elif graph and row.get("shapes_checked") is not None:
                agreeing[name] += 1
                shapes[name] += row["shapes_checked"]
            cells.append("%.1f s, %.0f MB" % (row["cpu_seconds"], row["peak_bytes"] / 1e6))
            slow[name].append((row["cpu_seconds"], label))
            large[name].append((row["peak_bytes"], label))
        graph = graphs.get(first) or {}
        if len(names) > 1 and all(g.get("ops") for g in graphs.values()):
            same_ops += len({json.dumps(g["ops"]) for g in graphs.values()}) == 1
        cells += [str(graph.get("nodes", "-")), short(graph.get("flops")), short(graph.get("bytes"), "B"), ", ".join(graph.get("flags") or []) or "-"]
        if given.shrink:
            row, small = state.rows.get("shrunk " + label), state.rows.get("shrunk %s graph" % label, {})
            if row is None:
                cells.append("not yet")
            elif row["error"] or small.get("error"):
                cells.append("no")
                reasons.append(("--shrink", label, row["error"] or small["error"]))
            else:
                cells.append("%s, %s" % (short(small.get("flops")), short(small.get("bytes"), "B")))
                what = cut(given.state / "shrunk" / ("L%d_%d.json" % (level, number)))
                cuts.append("| %s | %s |" % (label, what or "nothing: it is small as it is"))
        lines.append("| %s | %s | %s |" % (label, path.stem.split("_", 1)[1].strip("_"), " | ".join(cells)))

    shrunk = given.shrink > 0
    text = ["# Importing KernelBench", "",
            "KernelBench (commit 423217d), levels 1 to 3: %d problems. Made by" % len(rows), "",
            "    tools/import_sweep.py build/hone KERNELBENCH -o docs/measured/import.md --python NAME=PATH ...", "",
            "which resumes when it is stopped. %s" % datetime.date.today().isoformat() + (". " + given.note if given.note else "."), "",
            "| torch | imported | graph defined, all shapes as torch recorded them | values compared | CPU seconds: median, most | MB: median, most |",
            "|---|---|---|---|---|---|"]
    for name in names:
        def spread(values, scale, form):
            values = sorted(values)
            return "-" if not values else (form + ", " + form + " (%s)") % (values[len(values) // 2][0] / scale, values[-1][0] / scale, values[-1][1])
        text.append("| %s | %d of %d | %d | %d | %s | %s |" % (name, imported[name], len(rows), agreeing[name], shapes[name],
                                                          spread(slow[name], 1, "%.1f"), spread(large[name], 1e6, "%.0f")))
    text += ["", "Seconds are CPU seconds of the whole command, Python's start and `import torch` (a second or two) among them; MB is the peak",
             "of its largest process. FLOP and bytes are what `hone graph` counts: each input and parameter read once, each output written once.",
             "`hone import` itself compares the shape of each value with what torch recorded, and fails where they differ."]
    if len(names) > 1:
        text.append("The set of operators is the same under %s in %d problems." % (" and ".join(names), same_ops))
    if shrunk:
        text += ["The last column is the problem after `hone import --shrink %g` (its FLOP and bytes)." % given.shrink]
    if reasons:
        text += ["", "## What is missing, and why", "", "| | problem | reason |", "|---|---|---|"]
        for name, label, why in reasons:
            why = re.sub(re.escape(str(given.kernelbench)) + r"/\S*?/", "", why).replace(str(given.state) + "/", "").replace("|", "\\|")
            text.append("| %s | %s | %s |" % (name, label, why))
    text += ["", "## Problems", "", "| | problem | " + " | ".join(names) + " | operators | FLOP | bytes | flags |" + (" shrunk |" if shrunk else ""),
             "|---" * (7 + len(names) - 1 + (1 if shrunk else 0)) + "|"] + lines
    if cuts:
        text += ["", "## What --shrink cut", "", "| problem | constant: from -> to |", "|---|---|"] + cuts
    pathlib.Path(given.output).write_text("\n".join(text) + "\n")


main()
