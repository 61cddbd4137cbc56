#!/usr/bin/env python3
"""Many problems in one command, as a user meets it: `hone optimize --suite` on small problems of the processor. suite.py HONE

Some cannot be had; it is killed at random moments; it goes on. What it decides is tested in src/search/suite_test.cc.
"""
import csv
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

import tree

HONE = ""


def problem(name, op, rows):
    tensor = {"shape": [rows, 64], "dtype": "f32"}
    return {"hone_problem": 1, "name": name, "contract": "fp32",
            "tensors": [{"name": "x", **tensor, "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
                        {"name": "y", **tensor, "role": "output"}],
            "graph": [{"op": op, "args": {"self": "%x"}, "outputs": ["y"]}]}


class SuiteTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hone-suite-")
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        (self.root / "suite" / "one").mkdir(parents=True)
        (self.root / "suite" / "two").mkdir()
        for path, op in (("one/2_relu", "relu"), ("one/10_exp", "exp")):
            (self.root / "suite" / (path + ".json")).write_text(json.dumps(problem(path.split("_")[-1], op, 256)))
        (self.root / "suite" / "two" / "1_bad.json").write_text(json.dumps({**problem("bad", "no_such_operator", 8)}))
        (self.root / "suite" / "two" / "2_torn.json").write_text('{"hone_problem": 1,')

    def command(self, *words, store="runs.sqlite"):
        return [HONE, "optimize", "--suite", str(self.root / "suite"), "--no-torch", "--budget", "2", "--helping", "1",
                "--time", "90", "--store", str(self.root / store), *words]

    def ask(self, *words, store="runs.sqlite"):
        done = subprocess.run(self.command(*words, "--json", store=store), capture_output=True, text=True)
        return json.loads(done.stdout), done

    def test_every_problem_is_a_row_and_a_second_session_goes_on(self):
        table = self.root / "rows.csv"
        document, done = self.ask("--csv", str(table))
        self.assertEqual(done.returncode, 1, "two problems cannot be had")
        self.assertEqual([row["name"] for row in document["rows"]],
                         ["one/2_relu", "one/10_exp", "two/1_bad", "two/2_torn"])
        self.assertTrue(document["complete"])
        self.assertEqual((document["problems"], document["solved"]), (4, 2))
        for row in document["rows"][:2]:
            self.assertEqual(row["failure"], "", row)
            self.assertGreater(row["best_us"], 0)
            self.assertLessEqual(row["attempts"], 2)
            self.assertEqual(len(row["kernels"]), 1, row)
        self.assertIn("no_such_operator", document["rows"][2]["failure"])
        self.assertNotEqual(document["rows"][3]["failure"], "")
        self.assertEqual([group["group"] for group in document["groups"]], ["one", "two", "all"])
        self.assertEqual(document["groups"][2]["solved"], 2)
        self.assertGreater(document["seconds"], 0)
        with open(table) as file:
            self.assertEqual([row["name"] for row in csv.DictReader(file)], [row["name"] for row in document["rows"]])
        self.assertRegex(done.stderr, r"1/4 one/2_relu: 1 attempts at most, \d+ s")
        self.assertIn("[1/1] best ", done.stderr)
        self.assertNotIn("[1/2] ", done.stderr, "a later helping says nothing of what an earlier one tried")

        again, done = self.ask()
        self.assertEqual(again["signature"], document["signature"])
        self.assertEqual(again["rows"], document["rows"], "nothing is done twice")
        text = subprocess.run(self.command(), capture_output=True, text=True).stdout
        self.assertIn("| problem | best | of the bound |", text)
        self.assertIn("not solved: ", text)
        self.assertIn("4 problems: 2 solved, ", text)

        (self.root / "suite" / "two" / "1_bad.json").write_text(json.dumps(problem("good", "abs", 64)))
        mended, _ = self.ask("--time", "200")
        self.assertEqual(mended["solved"], 3, "another content is another problem")

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core has one problem at a time")
    def test_two_problems_at_a_time_have_cores_of_their_own(self):
        seen = set()
        words = ("--at-once", "2", "--time", "400")  # a machine of one core is measured first
        child = subprocess.Popen(self.command(*words, "--json"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        while child.poll() is None:
            for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
                try:
                    parent = int(stat.read_text().rpartition(")")[2].split()[1])
                    if parent == child.pid:
                        seen.add(frozenset(os.sched_getaffinity(int(stat.parent.name))))
                except (OSError, IndexError):
                    pass  # it has ended
            time.sleep(0.02)
        document = json.loads(child.communicate()[0])
        self.assertEqual((document["problems"], document["solved"], document["complete"]), (4, 2, True))
        self.assertGreaterEqual(len(seen), 2, seen)
        small = [cores for cores in seen if len(cores) < len(os.sched_getaffinity(0))]
        self.assertGreaterEqual(len(small), 2, seen)
        self.assertFalse(small[0] & small[1], "no core measures two problems")
        again, _ = self.ask(*words)
        self.assertEqual(again["rows"], document["rows"], "nothing is done twice")

    def test_a_list_of_problems_is_a_suite_and_all_well_is_0(self):
        suite = self.root / "suite" / "list.txt"
        suite.write_text("one/2_relu.json  # the first\n\n")
        done = subprocess.run([HONE, "optimize", "--suite", str(suite), "--no-torch", "--budget", "2", "--json", "--store",
                               str(self.root / "runs.sqlite")], capture_output=True, text=True)
        document = json.loads(done.stdout)
        self.assertEqual([row["name"] for row in document["rows"]], ["one/2_relu"])
        self.assertEqual(done.returncode, 0 if document["faster"] == 1 else 1)

    def test_what_is_wrong_is_one_line(self):
        def failure(*words):
            done = subprocess.run([HONE, "optimize", *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done)
            return done.stderr.strip()
        self.assertEqual(failure(), "hone: hone optimize takes one problem, or --suite with many")
        self.assertEqual(failure("--suite", "/", "x.json")[:5], "hone:")
        one = str(self.root / "suite" / "one" / "2_relu.json")
        self.assertEqual(failure("--suite", one), "hone: --suite %s: that is one problem, not a list of them: hone optimize %s" % (one, one))
        self.assertEqual(failure(one, "--csv", "x.csv"), "hone: --csv is of --suite")
        self.assertEqual(failure(one, "--at-once", "2"), "hone: --at-once is of --suite")
        many = ("--suite", str(self.root / "suite"), "--store", str(self.root / "runs.sqlite"))
        self.assertIn("and each problem is measured on cores of its own", failure(*many, "--at-once", "100000"))
        self.assertEqual(failure(*many, "--devices", "all"), "hone: --devices is of --target cuda")
        for words, said in ((("--search", "gredy"), "gredy"), (("--proposer", "exprt"), "exprt"), (("--tools", "no/where"), "no/where"),
                            (("--baseline", "eagr"), "--baseline eagr: what can be timed on cpu is naive, eager, compile"),
                            (("--target", "gpu"), "--target gpu"), (("--memory", "yes"), "--memory yes"),
                            (("--objective", "speed"), "speed"), (("--index", "x"), "--index"),
                            (("--proposer", "model:x", "--models", str(self.root / "no.toml")), "no.toml"),
                            (("--csv", "/proc/no/x.csv"), "--csv: cannot ")):
            self.assertIn(said, failure(*many, *words))
        self.assertFalse((self.root / "runs.sqlite-suites").exists(), "nothing was begun")
        empty = self.root / "empty"
        empty.mkdir()
        self.assertIn("no problem is there", failure("--suite", str(empty)))
        missing = self.root / "list.txt"
        missing.write_text("nowhere.json\n")
        self.assertIn("nowhere.json", failure("--suite", str(missing)))

    def test_kills_lose_nothing_that_ended(self):
        chance, attempts = random.Random(5), 0
        for _ in range(6):
            child = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.3 + 1.2 * chance.random())
            child.kill()
            child.wait()
            shown = subprocess.run([HONE, "runs", "--json", "--store", str(self.root / "runs.sqlite")], capture_output=True, text=True)
            runs = json.loads(shown.stdout) if shown.returncode == 0 else []
            now = sum(run.get("attempts", 0) for run in (runs["runs"] if isinstance(runs, dict) else runs))
            self.assertGreaterEqual(now, attempts)
            attempts = now
        document, _ = self.ask()
        self.assertEqual([(row["name"], bool(row["failure"])) for row in document["rows"]],
                         [("one/2_relu", False), ("one/10_exp", False), ("two/1_bad", True), ("two/2_torn", True)])
        self.assertGreaterEqual(sum(row["attempts"] for row in document["rows"]), attempts)

    def test_ctrl_c_ends_it_with_what_there_is(self):
        child = subprocess.Popen(self.command("--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 start_new_session=True)
        for line in child.stderr:
            if "[1/1] best" in line:
                break
        os.kill(child.pid, signal.SIGINT)
        out, _ = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 130)
        document = json.loads(out)
        self.assertEqual(document["stop"], "interrupted")
        self.assertEqual(len(document["rows"]), 4)
        self.assertGreater(document["seconds"], 0, "of the helping that was interrupted, too")
        self.assertGreaterEqual(document["rows"][0]["attempts"], 1)
        self.assertEqual(document["rows"][3]["failure"], "not looked at: interrupted")


if __name__ == "__main__":
    HONE = str(pathlib.Path(sys.argv.pop(1)).resolve())
    with tempfile.TemporaryDirectory(prefix="hone-suite-data-") as data:
        os.environ["HONE_DATA"] = data
        tree.lend_machine(HONE, data)
        well = unittest.main(exit=False).result.wasSuccessful()
    sys.exit(0 if well else 1)
