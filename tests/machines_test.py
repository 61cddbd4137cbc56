#!/usr/bin/env python3
"""One run on several machines: asked here, tried there, and the same as on one. machines_test.py HONE"""
import json
import os
import subprocess
import sys
import unittest

import answers

HONE = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.path.abspath("build/hone")

ROUNDS = [
    {"proposals": [{"text": answers.PROGRAM.format(settings=" with {accumulators: 2}")}, {"text": answers.PROGRAM.format(settings=" with {accumulators: 1}")}]},
    {"proposals": [{"text": answers.PROGRAM.format(settings=" with {accumulators: 4}")}]},
]


class Machines(answers.Runs):
    program = HONE

    def setUp(self):
        super().setUp()
        self.rounds = self.folder / "rounds.jsonl"
        self.rounds.write_text("".join(json.dumps(one) + "\n" for one in ROUNDS))

    def run_hone(self, *words, store=None, code=None):
        environment = dict(self.environment, **({"HONE_STORE": str(store)} if store else {}))
        done = subprocess.run([HONE, *map(str, words)], env=environment, capture_output=True, text=True, timeout=300)
        if code is not None:
            self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def document(self, *words, store=None):
        done = self.run_hone(*words, "--json", store=store)
        self.assertTrue(done.stdout, done.stderr)
        return json.loads(done.stdout)

    def new_run(self, *words, store=None):
        return self.document("optimize", self.folder / "p.json", "--proposer", f"replay:{self.rounds}", "--search", "breadth",
                             "--time", "0", "--headroom", "0", "--no-torch", *words, store=store)

    def tried(self, run, store=None):
        return [(one["identity"], one["parent"], one["outcome"]) for one in self.document("show", run, store=store)["attempts"]]

    def refused(self, *words, store=None):
        done = self.run_hone(*words, store=store)
        self.assertIn(done.returncode, (2, 3), done.stdout)
        self.assertEqual((done.stdout, len(done.stderr.strip().splitlines())), ("", 1), done.stderr)
        return done.stderr

    def test_1_asked_and_tried_apart_is_what_one_process_does(self):
        whole = self.new_run(store=self.folder / "whole.db")
        run = self.new_run("--prepare")
        self.assertEqual((run["attempts"], run["pending"]), (0, 0))
        asked = self.document("propose", run["run"], "-n", "1", "--proposer", f"replay:{self.rounds}")
        self.assertEqual(asked, {"run": run["run"], "proposed": 2, "pending": 2})
        ended = self.document("evaluate", run["run"], "--pending", "--no-torch")
        self.assertEqual((ended["attempts"], ended["pending"]), (1, 1), "what it came to is asked about first")
        self.assertIn("propose", ended["stop"])
        for _ in range(9):
            if not self.document("propose", run["run"], "-n", "1", "--proposer", f"replay:{self.rounds}")["pending"]:
                break
            ended = self.document("evaluate", run["run"], "--pending", "--no-torch")
        self.assertEqual(self.tried(run["run"]), self.tried(whole["run"], store=self.folder / "whole.db"))
        self.assertTrue(ended["confirmed"])

    def test_2_who_is_asked_and_where_is_the_runs(self):
        run = self.new_run("--prepare")["run"]
        self.assertIn("name it with --proposer", self.refused("propose", run, "-n", "1"))
        self.assertIn("another one is of another run", self.refused("propose", run, "-n", "1", "--proposer", "expert"))
        self.assertIn("has no run 'zz'", self.refused("evaluate", "zz", "--pending"))
        self.assertIn("hone evaluate RUN --pending", self.refused("evaluate", run, self.rounds, "--pending"))

    def test_3_two_stores_and_a_bundle_between_them_are_one_run(self):
        login, node = self.folder / "login.db", self.folder / "node.db"
        there, back = self.folder / "there.bundle", self.folder / "back.bundle"
        run = self.new_run("--prepare", store=node)["run"]
        for _ in range(2):
            self.run_hone("bundle", run, "-o", there, store=node, code=0)
            self.run_hone("merge", there, store=login, code=0)
            self.document("propose", run, "-n", "1", "--proposer", f"replay:{self.rounds}", store=login)
            self.run_hone("bundle", self.folder / "p.json", "-o", back, store=login, code=0)
            self.assertEqual(self.document("merge", back, store=node)["changed"], 1)
            self.assertEqual(self.document("merge", back, store=node)["unchanged"], 1)
            ended = self.document("evaluate", run, "--pending", "--no-torch", store=node)
        self.assertGreaterEqual(ended["attempts"], 2)
        there.write_bytes(back.read_bytes()[:5000])
        self.assertIn("is damaged", self.refused("merge", there, store=node))
        self.assertIn("is no bundle", self.refused("merge", self.rounds, store=node))


if __name__ == "__main__":
    unittest.main(verbosity=1)
