#!/usr/bin/env python3
"""A whole run whose proposals are written by somebody else, through files: good answers, wrong, malformed, hostile and repeated
ones, and kill -9 in between. The answers are written for the purpose; no model has part in it. mailbox_test.py HONE
"""
import json
import os
import subprocess
import sys
import threading
import time
import unittest

import answers

HONE = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.path.abspath("build/hone")


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


class Mailbox(answers.Runs):
    program = HONE
    beside = ""  # who else is asked

    def setUp(self):
        super().setUp()
        self.box = self.folder / "box"

    def tearDown(self):
        self.answerer.over = True
        self.answerer.join()

    def command(self, *words):
        return super().command(f"{self.beside}mailbox:{self.box}", *words)

    def closed(self):
        return sorted(json.loads(path.read_text())["outcome"] for path in self.box.glob("*.closed.json"))

    def test_all_kinds_of_answers(self):
        owned = self.folder / "owned"
        begin = answers.all_kinds(owned)

        def script(number, repair):
            if number == 0:
                return begin if repair else "Certainly! Here are four kernels.\n" + begin
            return {1: answers.BETTER, 2: answers.AGAIN, 3: "I am not sure."}.get(number, "done")

        self.answerer = Answerer(self.box, script)
        report, said = self.optimize("--budget", "8")
        self.assertEqual(report["attempts"], 5, said)
        self.assertEqual((report["best"]["outcome"], report["confirmed"]), ("accepted", True))
        answers.hold_attempts(self, self.hone("show", report["run"])["attempts"], owned)
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

    def test_the_expert_and_somebody_share_a_run(self):
        self.beside = "expert,"
        self.answerer = Answerer(self.box, lambda number, _: answers.program("wider still", " with {accumulators: 3}") if number == 0 else "done")
        report, said = self.optimize("--budget", "4")
        attempts = self.hone("show", report["run"])["attempts"]
        self.assertEqual(attempts[0]["origin"].split(":")[0], "expert", "what costs nothing begins")
        self.assertIn("Improve on attempt", self.answerer.asked[0][1], said)
        ours = [one for one in attempts if one["key"] == "wider still"]
        self.assertEqual([one["origin"].split(":")[0] for one in ours], ["mailbox"], said)
        self.assertGreater(sum(one["origin"].startswith("expert: ") for one in attempts), 1, said)

    def test_a_kill_asks_nothing_twice(self):
        def script(number, _):
            return answers.program("begin") if number == 0 else None

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
                answer.write_text(answers.BETTER)
        self.answerer = Answerer(self.box, lambda *_: "done")
        self.answerer.asked = [(name, "") for name in asked]
        report, said = self.optimize("--budget", "4")
        self.assertEqual((report["attempts"], report["replayed"]), (2, 1), said)
        for name, then in asked.items():
            self.assertEqual((self.box / name).stat().st_mtime_ns, then, "asked again")
        self.assertEqual(len(self.hone("show", report["run"], "--rounds")["rounds"]), len(list(self.box.glob("*.prompt.md"))))


if __name__ == "__main__":
    unittest.main(verbosity=2)
