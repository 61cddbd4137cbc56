#!/usr/bin/env python3
"""Imports broken files and checks that each ends in one clear line, a documented exit code, no crash and no hang.

import_fuzz.py HONE [--seconds S] [--seed N] [--python PATH] [--keep FOLDER]

Broken are: problem.json files, plain graphs and definitions (given to `hone graph` and `hone import`), and the .py files of
examples/problems with some recurrent, convolving and branching ones (given to the bridge, in forks of one Python that has torch, and
what comes of them to `hone graph`). A mistake is a signal, an exit code that is not documented, more than one line, or more time than
--limit. The files that show one are kept. The same seed makes the same files.
"""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXIT_CODES = (0, 2, 3)  # done, a mistake in what was given, the world failed: README.md

HUGE = [0, 1, -1, 2, 7, 63, 64, 65, 2**31 - 1, 2**31, 2**32, 2**40, 2**40 + 1, 2**62, 2**63 - 1, 2**63, -2**63, 2**64, 2**70, 10**30,
        1e308, -0.0, 1e-320, 0.5]
ODD = [None, True, False, "", "%", "%x", "%%x", "x", "f32", "f8", "inf", "nan", "a\nb", "\u0000", "\udc80", "ä" * 300, [], {}, [[]], [None],
       {"real": "inf"}, {"real": "x"}, "file"]

PLAIN = {"tensors": [{"name": "x", "shape": [4, 8, 6]}, {"name": "i", "shape": [4], "dtype": "i64"}, {"name": "y", "shape": [4, 6, 8], "role": "output"}],
         "graph": [{"op": "aten.index_select.default", "args": {"self": "%x", "dim": 0, "index": "%i"}, "outputs": ["s"]},
                   {"op": "aten.permute.default", "args": {"self": "%s", "dims": [0, 2, 1]}, "outputs": ["p"]},
                   {"op": "aten._softmax.default", "args": {"self": "%p", "dim": -1, "half_to_float": False}, "outputs": ["m"]},
                   {"op": "aten.cat.default", "args": {"tensors": ["%m", "%p"], "dim": 2}, "outputs": ["c"]},
                   {"op": "aten.slice.Tensor", "args": {"self": "%c", "dim": 2, "start": 4, "end": 12}, "outputs": ["y"]}]}
CONVOLVING = {"hone_problem": 1, "name": "conv", "tensors": [
    {"name": "x", "shape": [2, 4, 9, 9], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
    {"name": "w", "shape": [8, 2, 3, 3], "dtype": "f32", "role": "parameter", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "y", "shape": [2, 8, 2, 2], "dtype": "f32", "role": "output"}], "graph": [
    {"op": "aten.convolution.default", "args": {"input": "%x", "weight": "%w", "bias": None, "stride": [2, 2], "padding": [1, 1], "dilation": [1, 1],
     "transposed": False, "output_padding": [0, 0], "groups": 2}, "outputs": ["c"]},
    {"op": "aten.max_pool2d_with_indices.default", "args": {"self": "%c", "kernel_size": [2, 2], "stride": [2, 2]}, "outputs": ["y", ""]}]}
DEFINITION = {"name": "scale", "axes": {"n": {"type": "var"}, "d": {"type": "const", "value": 8}, "e": {"type": "expr", "expression": "d * 2 - d // 1"}},
              "inputs": {"x": {"shape": ["n", "d"], "dtype": "float32"}, "s": {"shape": None, "dtype": "float32"}},
              "outputs": {"y": {"shape": ["n", "e"], "dtype": "float32"}}, "reference": "import torch\ndef run(x, s):\n    return x * s\n"}
WORKLOAD = {"uuid": "a", "axes": {"n": 4}, "inputs": {"x": {"type": "random"}, "s": {"type": "scalar", "value": 2.0}}}

MODELS = ["""import torch
import torch.nn as nn
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, 8, 3, padding=1, groups=2)
        self.norm = nn.BatchNorm2d(8)
    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))
class Model(nn.Module):
    def __init__(self, width, depth=2):
        super().__init__()
        self.blocks = nn.Sequential(Block(width), *[Block(8) for _ in range(depth)])
        self.register_buffer("mask", torch.tril(torch.ones(4, 4)))
    def forward(self, x, scale):
        y = self.blocks(x) * scale
        y[:, 0] = 0
        y = y.flatten(2).transpose(1, 2)[:, ::2]
        y += 1
        return torch.cat([y, self.mask.sum() * y], dim=-1).chunk(2, -1)[0], y.argmax(-1)
batch_size, width = 2, 4
height = 6
def get_inputs():
    return [torch.rand(batch_size, width, height, height), 0.5]
def get_init_inputs():
    return [width]
""", """import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.rnn = nn.LSTM(size, hidden, 2, batch_first=True, bidirectional=True)
        self.state = torch.zeros(1)
        self.out = nn.Linear(2 * hidden, 3)
    def forward(self, x, rows):
        y, _ = self.rnn(x)
        if y.shape[0] > 100:
            y = y * 2
        self.state.copy_(y.mean().reshape(1))
        return {"y": self.out(y[rows]), "sum": torch.cumsum(y, 1).max(1)[0] + self.state}
def get_inputs():
    return [torch.randn(3, 7, 5) * 2 + 1, torch.randint(0, 3, (4,))]
def get_init_inputs():
    return {"size": 5, "hidden": 6}
"""]


# ---------------------------------------------------------------------------------------------------------------------
# Breaking things.

def break_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(data) + 1) if data else 0
        kind = rng.randrange(5)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at : at + rng.choice((1, 2, 10, 100))]
        elif kind == 2:
            data[at:at] = rng.randbytes(rng.choice((1, 3)))
        elif kind == 3:
            data[at:at] = data[at : at + rng.choice((1, 10, 60))]
        else:
            data[at:at] = rng.choice((b"[", b"{", b"(", b'"', b"\\", b"9")) * rng.choice((1, 70, 3000, 200000))
    return bytes(data)


def places_in(document, found):
    if isinstance(document, dict):
        for key in document:
            found.append((document, key))
            places_in(document[key], found)
    elif isinstance(document, list):
        for i in range(len(document)):
            found.append((document, i))
            places_in(document[i], found)
    return found


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def break_json(rng, document, ops):
    document = json.loads(json.dumps(document))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        places = places_in(document, [])
        if not places:
            break
        holder, key = rng.choice(places)
        kind = rng.randrange(9)
        if kind == 0:
            holder[key] = rng.choice(HUGE)
        elif kind == 1:
            holder[key] = rng.choice(ODD)
        elif kind == 2:
            del holder[key]
        elif kind == 3:
            other, name = rng.choice(places)
            try:
                holder[key] = json.loads(json.dumps(other[name]))
            except (KeyError, IndexError):
                pass
        elif kind == 4 and isinstance(holder, list):
            holder.insert(key, json.loads(json.dumps(holder[key])))
        elif kind == 5 and isinstance(holder, dict):
            holder[rng.choice(("", "dim", "dtype", "x", "ä", key + "_"))] = holder.pop(key)
        elif kind == 6:
            holder[key] = nested(rng.choice((3, 30, 58, 70)))
        elif kind == 7 and ops:
            nodes = [n for n in document.get("graph", []) if isinstance(n, dict)] if isinstance(document.get("graph"), list) else []
            if nodes:
                rng.choice(nodes)["op"] = "aten." + rng.choice(ops) + rng.choice(("", ".default", ".Tensor", ".odd"))
        elif isinstance(holder[key], int):
            holder[key] += rng.choice((-2, -1, 1, 2, 100))
    return document


TOKENS = re.compile(r"\s+|[A-Za-z_]\w*|\d+\.?\d*|\"[^\"]*\"|[^\s\w]")


def break_python(rng, text):
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.randrange(9)
        lines = text.split("\n")
        if kind == 0:
            del lines[rng.randrange(len(lines))]
            text = "\n".join(lines)
        elif kind == 1:
            a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[a], lines[b] = lines[b], lines[a]
            text = "\n".join(lines)
        elif kind == 2:
            a = rng.randrange(len(lines))
            lines[a] = rng.choice(("  ", "", "\t")) + lines[a].lstrip() if rng.random() < 0.5 else lines[a][: len(lines[a]) // 2]
            text = "\n".join(lines)
        elif kind == 3 and rng.random() < 0.2:
            data = break_bytes(rng, text.encode())
            text = data.decode("latin-1")
        else:
            tokens = TOKENS.findall(text)
            words = [i for i, t in enumerate(tokens) if not t.isspace()]
            if len(words) < 2:
                return text
            a, b = rng.choice(words), rng.choice(words)
            if kind == 4:
                tokens[a], tokens[b] = tokens[b], tokens[a]
            elif kind == 5:
                tokens[a] = tokens[b]
            else:
                numbers = [i for i in words if tokens[i].isdigit()]
                if numbers:
                    tokens[rng.choice(numbers)] = rng.choice(("0", "-1", "1", "3", "2.5", "2**20", "2**31", "2**40", "2**63", "10**30", "None", "[1, 2]",
                                                              "float('nan')", "'x'", "(" * 300 + "1" + ")" * 300))
            text = "".join(tokens)
    return text


# ---------------------------------------------------------------------------------------------------------------------
# One Python that has imported torch; each case is a fork of it.

SERVER = r'''
import json, os, resource, signal, sys
import torch
torch.set_num_threads(1)
if hasattr(torch, "export"):  # loads what tracing needs, once
    program = torch.export.export(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)), (torch.rand(2, 2),), strict=False)
    program.run_decompositions(torch.export.default_decompositions())
else:
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch._decomp import decomposition_table
BRIDGE = open(sys.argv[1]).read()
SHRINK = open(sys.argv[2]).read()
CODE = compile(BRIDGE, "bridge", "exec")
out = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    request = json.loads(line)
    if "shrink_mflop" in request: request["shrink_program"] = SHRINK
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.alarm(int(request["limit"]))
        os.dup2(write, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.close(read)
        os.chdir(request["folder"])
        sys.argv = ["bridge", json.dumps(request)]
        try:
            exec(CODE, {"__name__": "__main__"})
        finally:
            os._exit(70)
    os.close(write)
    text = os.fdopen(read, "rb").read()
    _, status = os.waitpid(child, 0)
    out.write(json.dumps({"text": text.decode("utf-8", "replace"), "signal": status & 127, "status": status >> 8}) + "\n")
    out.flush()
'''


def import_program():
    """The bridge as it is embedded: its files, one after the other."""
    folder = ROOT / "src" / "problem"
    files = re.search(r"hone_embed\(hone_problem kImportBridge ([^)]*)\)", (folder / "CMakeLists.txt").read_text())[1].split()
    return "".join((folder / name).read_text() for name in files)


class Fuzzer:
    def __init__(self, given):
        self.given, self.rng = given, random.Random(given.seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone-fuzz-"))
        self.counts, self.mistakes = {}, []
        listed = subprocess.run([given.hone, "graph", "--ops", "--json"], capture_output=True, text=True)
        self.ops = [op["name"] for op in json.loads(listed.stdout)["ops"]]
        self.server = None
        if given.python:
            bridge = ROOT / "src" / "problem" / "import" / "bridge"
            (self.folder / "server.py").write_text(SERVER)
            (self.folder / "hone_import.py").write_text(import_program())
            self.server = subprocess.Popen([given.python, str(self.folder / "server.py"), str(self.folder / "hone_import.py"), str(bridge / "hone_shrink.py")],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def mistake(self, why, path):
        if self.given.keep:
            keep = pathlib.Path(self.given.keep)
            keep.mkdir(parents=True, exist_ok=True)
            kept = keep / ("%03d_%s" % (len(self.mistakes), path.name))
            kept.write_bytes(path.read_bytes())
            path = kept
        self.mistakes.append("%s: %s" % (path, why))
        print("MISTAKE %s: %s" % (path, why), flush=True)

    def check_message(self, message, path):
        if not isinstance(message, str) or not message.strip():
            self.mistake("an error without words", path)
        elif "\n" in message or len(message) > 1500:
            self.mistake("no single line: %r" % message[:300], path)
        elif "Traceback" in message or "json.exception" in message or "bug" in message.lower():
            self.mistake("not for a user: %s" % message[:300], path)

    def hone(self, arguments, path, kind):
        begin = time.monotonic()
        try:
            done = subprocess.run([self.given.hone, *arguments, "--json"], capture_output=True, timeout=self.given.limit, cwd=self.folder)
        except subprocess.TimeoutExpired:
            return self.mistake("hone %s ran past %d s" % (arguments[0], self.given.limit), path)
        if done.returncode not in EXIT_CODES:
            return self.mistake("hone %s exited %d: %s" % (arguments[0], done.returncode, done.stderr.decode(errors="replace")[-300:]), path)
        try:
            document = json.loads(done.stdout)
        except ValueError:
            return self.mistake("hone %s gave no JSON: %r" % (arguments[0], done.stdout[:200]), path)
        if (done.returncode == 0) == ("error" in document):
            return self.mistake("exit code %d with %s" % (done.returncode, list(document)[:5]), path)
        if done.returncode:
            self.check_message(document["error"].get("message"), path)
        self.count("%s, %s" % (kind, "refused" if done.returncode else "accepted"))
        if time.monotonic() - begin > 5:
            self.count("%s, slower than 5 s" % kind)

    def json_case(self):
        which = self.rng.randrange(5)
        name, document = [("problem", json.loads((ROOT / "examples/problems/scaled_row_sum.json").read_text())), ("plain graph", PLAIN),
                          ("problem", CONVOLVING), ("problem", CONVOLVING), ("definition", DEFINITION)][which]
        if name == "definition" and not self.given.python:
            return
        workload = WORKLOAD
        if name == "definition" and self.rng.random() < 0.5:
            workload = break_json(self.rng, WORKLOAD, None)
        else:
            document = break_json(self.rng, document, self.ops)
        data = json.dumps(document).encode()
        if self.rng.random() < 0.25:
            data = break_bytes(self.rng, data)
        if name == "definition":
            return self.definition(data, workload)
        path = self.folder / "problem.json"
        path.write_bytes(data)
        self.hone(["graph" if self.rng.random() < 0.8 else "import", str(path)], path, name)

    def bridge(self, request, path, kind):
        request = dict({"weights": False, "weights_path": str(self.folder / "values.safetensors"), "memory_bytes": 4 << 30, "contract": "torch",
                        "path": str(path), "folder": str(self.folder), "limit": self.given.limit, "shrunk_path": str(self.folder / "cut.py")}, **request)
        begin = time.monotonic()
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        answer = json.loads(self.server.stdout.readline())
        if answer["signal"] == 14 or time.monotonic() - begin > self.given.limit:
            # hone itself stops what runs past its limit; a file may loop for ever. Ours is where it should not.
            return self.count("%s, past the time limit" % kind)
        if answer["signal"]:
            return self.count("%s, killed by signal %d" % (kind, answer["signal"]))  # hone says so in one line
        try:
            document = json.loads(answer["text"])
        except ValueError:
            return self.mistake("the bridge gave no JSON, status %d: %r" % (answer["status"], answer["text"][-300:]), path)
        if "error" in document:
            self.check_message(document["error"], path)
            return self.count("%s, refused" % kind)
        self.count("%s, imported" % kind)
        imported = self.folder / "imported.json"
        imported.write_text(json.dumps(document["problem"]))
        self.hone(["graph", str(imported)], path, "graph of a broken %s" % kind)

    def definition(self, data, workload):
        path = self.folder / "definition.json"
        path.write_bytes(data)
        try:
            document = json.loads(data)
            plain = all(isinstance(document.get(f), dict) for f in ("axes", "inputs", "outputs")) and isinstance(document.get("reference"), str)
        except (ValueError, RecursionError, AttributeError):
            plain = False
        if plain:  # otherwise it does not come so far as to the bridge
            return self.bridge({"kind": "definition", "definition_text": "", "workload": workload, "workload_where": "workload.jsonl:1"}, path, "definition")
        (self.folder / "workload.jsonl").write_text(json.dumps(workload) + "\n")
        self.hone(["import", str(path)], path, "definition")

    def python_case(self):
        texts = MODELS + [p.read_text() for p in sorted((ROOT / "examples/problems").glob("*.py"))]
        text = self.rng.choice(texts + MODELS * 4)
        broken = break_python(self.rng, text)
        path = self.folder / "model.py"
        path.write_bytes(broken.encode("utf-8", "surrogateescape"))
        request = {"kind": "kernelbench_py"}
        if self.rng.random() < 0.15:
            request["shrink_mflop"] = 1e-4
        self.bridge(request, path, "file, to be shrunk" if "shrink_mflop" in request else "file")

    def run(self):
        end, cases = time.monotonic() + self.given.seconds, 0
        while time.monotonic() < end and (not self.given.cases or cases < self.given.cases):
            if self.server and self.rng.random() < self.given.python_share:
                self.python_case()
            else:
                self.json_case()
            cases += 1
        if self.server:
            self.server.stdin.close()
            self.server.wait()
        for what in sorted(self.counts):
            print("%6d  %s" % (self.counts[what], what))
        print("%d cases, %d mistakes, seed %d" % (cases, len(self.mistakes), self.given.seed))
        return 1 if self.mistakes else 0


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("hone")
    options.add_argument("--seconds", type=float, default=600)
    options.add_argument("--cases", type=int, default=0, help="stop after so many")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--python", default="", help="with torch; without it, .py files and definitions are left out")
    options.add_argument("--python-share", type=float, default=0.6, help="of the cases")
    options.add_argument("--limit", type=int, default=60, help="seconds that one case may take")
    options.add_argument("--keep", default="", help="where files that show a mistake are kept")
    sys.exit(Fuzzer(options.parse_args()).run())


main()
