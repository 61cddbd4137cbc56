#!/usr/bin/env python3
"""A whole run whose proposals are written by somebody else, through files: good answers, wrong, malformed, hostile and repeated
ones, and kill -9 in between. The answers are written for the purpose; no model has part in it. mailbox_test.py HONE
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import tree

HONE = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.path.abspath("build/hone")

PROBLEM = {
    "hone_problem": 1,
    "name": "small_softmax",
    "contract": "fp32",
    "tensors": [
        {"name": "x", "shape": [64, 300], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
        {"name": "y", "shape": [64, 300], "dtype": "f32", "role": "output"},
    ],
    "graph": [{"op": "_softmax", "args": {"self": "%x", "dim": 1, "half_to_float": False}, "outputs": ["y"]}],
}
PROGRAM = """program small_softmax
input  x: f32[64, 300]
output y: f32[64, 300]
y = softmax(x) over [1]{settings}
"""
MODULE = """#include <hone/module.h>
#include <cstdint>
#include <cstdlib>
#include <fstream>
extern "C" int32_t hone_abi_version() { return HONE_ABI_VERSION; }
extern "C" int32_t hone_run(const HoneCall* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  BODY
  return 0;
}
"""


def candidate(idea, kind, text):
    return f"idea: {idea}\n```{kind}\n{text}```\n"


def module(body):
    return MODULE.replace("BODY", body)


class Answerer(threading.Thread):
    """Answers what is asked, in the order of the asking; `script` gets the number of the question and whether it is a repair."""

    def __init__(self, box, script):
        super().__init__(daemon=True)
        self.box, self.script, self.asked, self.over = box, script, [], False
        self.start()

    def run(self):
        while not self.over:
            for path in sorted(self.box.glob("*.prompt.md")) + sorted(self.box.glob("*.repair.md")):
                repair = path.name.endswith(".repair.md")
                answer = path.with_name(path.name.replace(".repair.md", ".answer2.md").replace(".prompt.md", ".answer.md"))
                if answer.exists() or path.name in [name for name, _ in self.asked]:
                    continue
                number = sum(name.endswith(".prompt.md") for name, _ in self.asked) - (1 if repair else 0)
                self.asked.append((path.name, path.read_text()))
                text = self.script(number, repair)
                if text is not None:
                    draft = answer.with_suffix(".draft")
                    draft.write_text(text)
                    draft.rename(answer)
            time.sleep(0.05)


class Mailbox(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory(prefix="hone-mailbox-data-")
        tree.lend_machine(HONE, cls.shared.name + "/data")

    @classmethod
    def tearDownClass(cls):
        cls.shared.cleanup()

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="hone-mailbox-")
        self.folder = pathlib.Path(self.temporary.name)
        self.box = self.folder / "box"
        (self.folder / "p.json").write_text(json.dumps(PROBLEM))
        self.environment = dict(os.environ, HONE_DATA=f"{self.shared.name}/data", HONE_CACHE=f"{self.shared.name}/cache", HONE_STORE=f"{self.folder}/runs.sqlite")

    def tearDown(self):
        self.answerer.over = True
        self.answerer.join()
        self.temporary.cleanup()

    def command(self, *words):
        return [HONE, "optimize", str(self.folder / "p.json"), "--proposer", f"mailbox:{self.box}", "--time", "0", "--headroom", "-1", "--json", *words]

    def hone(self, *words):
        return json.loads(subprocess.run([HONE, *words, "--json"], env=self.environment, check=True, capture_output=True, text=True, timeout=300).stdout)

    def closed(self):
        return sorted(json.loads(path.read_text())["outcome"] for path in self.box.glob("*.closed.json"))

    def test_all_kinds_of_answers(self):
        owned = self.folder / "owned"
        begin = (candidate("begin", "program", PROGRAM.format(settings=" with {accumulators: 2}"))
                 + candidate("copies", "module", module("for (int i = 0; i < 64 * 300; ++i) y[i] = x[i];"))
                 + candidate("no C++", "module", module("for each row: normalise;"))
                 + candidate("mischief", "module", module(f'std::system("touch {owned}"); std::ofstream("{owned}") << 1;')))
        better = candidate("wider", "program", PROGRAM.format(settings=" with {accumulators: 4}"))
        again = candidate("the same in other words", "program", "# the first one\n" + PROGRAM.format(settings="  with  { accumulators : 2 }"))

        def script(number, repair):
            if number == 0:
                return begin if repair else "Certainly! Here are four kernels.\n" + begin
            return {1: better, 2: again, 3: "I am not sure."}.get(number, "done")

        self.answerer = Answerer(self.box, script)
        done = subprocess.run(self.command("--budget", "8"), env=self.environment, capture_output=True, text=True, timeout=500)
        report = json.loads(done.stdout)
        self.assertEqual(report["attempts"], 5, done.stderr)
        self.assertEqual((report["best"]["outcome"], report["confirmed"]), ("accepted", True))
        attempts = {one["key"]: one for one in self.hone("show", report["run"])["attempts"]}
        self.assertEqual(attempts["begin"]["outcome"], "accepted")
        self.assertEqual(attempts["wider"]["outcome"], "accepted")
        self.assertEqual(attempts["copies"]["outcome"], "wrong_result")
        self.assertEqual(attempts["no C++"]["outcome"], "compile_error")
        self.assertNotEqual(attempts["mischief"]["outcome"], "accepted")
        self.assertFalse(owned.exists())
        self.assertEqual(attempts["wider"]["parent"], attempts["begin"]["number"])
        closed = self.closed()
        self.assertEqual(closed.count("answered"), 2)
        self.assertEqual(closed.count("repeated"), 1)
        self.assertEqual(closed.count("failed"), 1 if len(closed) > 3 else 0)
        prompts = [text for name, text in self.answerer.asked if name.endswith(".prompt.md")]
        self.assertEqual(len(prompts), len(closed))
        self.assertIn("Write kernels to begin with", prompts[0])
        self.assertIn("Improve on attempt", prompts[1])
        self.assertIn("softmax(x) over [1]", prompts[1])
        rounds = self.hone("show", report["run"], "--rounds")["rounds"]
        self.assertEqual(len(rounds), len(closed))

    def test_a_kill_asks_nothing_twice(self):
        def script(number, _):
            return candidate("begin", "program", PROGRAM.format(settings="")) if number == 0 else None

        self.answerer = Answerer(self.box, script)
        first = subprocess.Popen(self.command("--budget", "4"), env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 300
        while len(list(self.box.glob("*.prompt.md"))) < 2:
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(first.poll())
            time.sleep(0.05)
        first.kill()
        first.wait()
        asked = {path.name: path.stat().st_mtime_ns for path in self.box.glob("*.prompt.md")}
        self.answerer.over = True
        self.answerer.join()
        # Somebody answers while nobody waits.
        for name in asked:
            answer = self.box / name.replace(".prompt.md", ".answer.md")
            if not answer.exists():
                answer.write_text(candidate("wider", "program", PROGRAM.format(settings=" with {accumulators: 4}")))
        self.answerer = Answerer(self.box, lambda *_: "done")
        self.answerer.asked = [(name, "") for name in asked]
        done = subprocess.run(self.command("--budget", "4"), env=self.environment, capture_output=True, text=True, timeout=500)
        report = json.loads(done.stdout)
        self.assertEqual((report["attempts"], report["replayed"]), (2, 1), done.stderr)
        for name, then in asked.items():
            self.assertEqual((self.box / name).stat().st_mtime_ns, then, "asked again")
        self.assertEqual(len(self.hone("show", report["run"], "--rounds")["rounds"]), len(list(self.box.glob("*.prompt.md"))))


if __name__ == "__main__":
    unittest.main(verbosity=2)
