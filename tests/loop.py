#!/usr/bin/env python3
"""The whole loop as a user meets it: optimize, resume after kill -9 and Ctrl-C, propose, evaluate, exit codes.

loop.py HONE   the program; uses a store, a cache and a data folder of its own.
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HONE = sys.argv.pop(1) if len(sys.argv) > 1 else "build/hone"

PROBLEM = {
    "hone_problem": 1,
    "name": "small_softmax",
    "tensors": [
        {"name": "x", "shape": [64, 300], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
        {"name": "y", "shape": [64, 300], "dtype": "f32", "role": "output"},
    ],
    "graph": [
        {"op": "mul", "args": {"self": "%x", "other": 0.5}, "outputs": ["s"]},
        {"op": "_softmax", "args": {"self": "%s", "dim": 1, "half_to_float": False}, "outputs": ["y"]},
    ],
    "contract": "fp32",
}


class Loop(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="hone-loop-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.environment = dict(os.environ, HONE_DATA=str(cls.folder / "data"), HONE_CACHE=str(cls.folder / "cache"))
        cls.environment.pop("HONE_STORE", None)
        cls.problem = cls.folder / "p.json"
        cls.problem.write_text(json.dumps(PROBLEM))

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def command(self, *arguments):
        return [HONE, *map(str, arguments)]

    def hone(self, *arguments, code=0):
        done = subprocess.run(self.command(*arguments), env=self.environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def has_device(self):
        checks = json.loads(self.hone("doctor", "--json").stdout)["checks"]
        return next(check["present"] for check in checks if check["name"] == "cuda device")

    def optimize(self, store, *more):
        return self.command("optimize", self.problem, "--store", self.folder / store, "--headroom", "-1", "--time", "0", *more)

    def test_1_optimize_finds_a_proven_faster_kernel_and_the_same_command_answers_again(self):
        command = self.optimize("first.db", "--budget", "4", "--json")
        first = json.loads(subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300).stdout)
        self.assertEqual(first["best"]["outcome"], "accepted")
        self.assertTrue(first["confirmed"])
        self.assertEqual(first["attempts"], 4)
        self.assertGreater(first["bound_us"], 0)
        self.assertTrue(any(c["baseline"] == "naive" and c["speedup"] > 1 for c in first["best"]["timing"]["against"]))
        again = json.loads(subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300).stdout)
        self.assertEqual((again["run"], again["replayed"], again["best_attempt"]), (first["run"], 4, first["best_attempt"]))
        more = self.optimize("first.db", "--budget", "6", "--json")
        longer = json.loads(subprocess.run(more, env=self.environment, capture_output=True, text=True, timeout=300).stdout)
        self.assertEqual((longer["run"], longer["replayed"], longer["attempts"]), (first["run"], 4, 6))
        runs = json.loads(self.hone("runs", "--store", self.folder / "first.db", "--json").stdout)
        self.assertIn(first["run"], json.dumps(runs))
        self.assertIn("softmax", self.hone("show", first["run"], "best", "--store", self.folder / "first.db").stdout)

    def test_2_kill_9_loses_at_most_the_attempt_in_flight(self):
        chance = random.Random(7)
        budget, reached = 8, 0
        for _ in range(4):
            process = subprocess.Popen(self.optimize("killed.db", "--budget", str(budget)), env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.5, 4))
            process.kill()
            process.wait()
            runs = subprocess.run(self.command("runs", "--store", self.folder / "killed.db", "--json"), env=self.environment, capture_output=True, text=True)
            if runs.returncode == 0:
                now = max((run["attempts"] for run in json.loads(runs.stdout)["runs"]), default=0)
                self.assertGreaterEqual(now, reached)
                reached = now
        done = subprocess.run(self.optimize("killed.db", "--budget", str(budget), "--json"), env=self.environment, capture_output=True, text=True, timeout=300)
        document = json.loads(done.stdout)
        self.assertEqual(document["attempts"], budget, done.stderr)
        self.assertGreaterEqual(document["replayed"], reached)

    def test_3_ctrl_c_ends_within_a_second_with_the_best_so_far(self):
        process = subprocess.Popen(self.optimize("interrupted.db", "--budget", "1000", "--json"), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        for line in process.stderr:
            if line.startswith("[2/"):
                break
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        # A second by the clock of an idle machine; this one may be busy.
        self.assertLess(time.monotonic() - began, 1 if os.getloadavg()[0] < 2 else 5)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(json.loads(output)["best"]["outcome"], "accepted")

    def test_4_whatever_the_expert_says_evaluate_runs(self):
        program = self.folder / "first.hk"
        program.write_text(self.hone("propose", self.problem).stdout)
        document = json.loads(self.hone("evaluate", self.problem, program, "--json").stdout)
        self.assertEqual(document["outcome"], "accepted")

    def test_5_a_wrong_program_and_a_broken_one_are_refused_with_the_place(self):
        text = self.hone("propose", self.problem).stdout
        wrong = self.folder / "wrong.hk"
        wrong.write_text(text.replace("0.5", "0.51"))
        self.assertIn("wrong_result", self.hone("evaluate", self.problem, wrong, code=1).stdout)
        broken = self.folder / "broken.hk"
        broken.write_text(text.replace("softmax(", "sofmax(", 1))
        refused = self.hone("evaluate", self.problem, broken, "--json", code=1)
        verdict = json.loads(refused.stdout)
        self.assertEqual(verdict["outcome"], "invalid")
        self.assertIn("did you mean 'softmax'", verdict["reason"])
        both = json.loads(self.hone("evaluate", self.problem, self.folder / "first.hk", wrong, "--no-time", "--json", code=1).stdout)
        self.assertEqual([(pathlib.Path(one["path"]).name, one["outcome"]) for one in both["evaluations"]],
                         [("first.hk", "accepted"), ("wrong.hk", "wrong_result")])

    def test_6_bad_words_are_one_line_and_exit_code_2(self):
        for arguments in (["optimize"], ["optimize", "absent.py"], ["optimize", self.problem, "--budget", "many"],
                          ["optimize", self.problem, "--search", "gredy"], ["optimise", self.problem], ["optimize", self.problem, "--target", "cuda"]):
            if "cuda" in arguments and self.has_device():
                continue
            done = subprocess.run(self.command(*arguments), env=self.environment, capture_output=True, text=True, timeout=60)
            self.assertIn(done.returncode, (2, 3), arguments)
            self.assertEqual(done.stdout, "", arguments)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_9_nothing_is_left_running(self):
        time.sleep(0.5)
        left = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True).stdout
        mine = [line for line in left.splitlines() if str(self.folder) in line]
        self.assertEqual(mine, [])


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=1).result
    sys.exit(0 if result.wasSuccessful() else 1)
