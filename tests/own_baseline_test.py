#!/usr/bin/env python3
"""Modules that a user brings as baselines, on the processor. own_baseline_test.py HONE

Exit status 77: skipped, no torch.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import tree

HONE = os.path.abspath(sys.argv.pop(1))

PROBLEM = """import torch
class Model(torch.nn.Module):
    def __init__(self, width, scale):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
        self.scale = scale
    def forward(self, x, power):
        return torch.relu(self.linear(x)) ** power * self.scale
def get_inputs():
    return [torch.randn(16, 32), 2]
def get_init_inputs():
    return [32, 0.5]
"""

# Each with what is said of it; "right" and "wrong" are timed, a text is the end of a note.
MODULES = {
    # The class is the only one, its arguments and parameters are the problem's; inputs that are no tensors come along.
    "right.py": ("right", """import torch
import torch.nn as nn
class Fast(nn.Module):
    def __init__(self, width, scale):
        super().__init__()
        self.linear, self.scale = nn.Linear(width, width), scale
    def forward(self, x, power):
        assert power == 2
        y = torch.addmm(self.linear.bias, x, self.linear.weight.t()).clamp_(min=0)
        return y * y * self.scale
"""),
    "two_and_new.py": ("right", PROBLEM + "class ModelNew(Model): pass\n"),
    "wrong.py": ("is ", PROBLEM.replace("torch.relu", "torch.abs")),
    "other_names.py": ("have no name of the problem's, and keep their own values: fc.weight, fc.bias",
                       PROBLEM.replace("self.linear", "self.fc")),
    "half.py": ("'output' is float16 [16, 32], not float32 [16, 32]",
                PROBLEM.replace("return torch", "return (torch").replace("* self.scale", "* self.scale).half()")),
    "raises.py": ("raises.py:5: ValueError: not today", """import torch
class Model(torch.nn.Module):
    def __init__(self, *ignored): super().__init__()
    def forward(self, *ignored):
        raise ValueError("not today")
"""),
    "needs.py": ("needs.py:1: ModuleNotFoundError: No module named 'absent_package'", "import absent_package\n"),
    "none.py": ("has no class that is a torch.nn.Module", "import torch\n"),
    "several.py": ("which of its classes is meant? it has A, B; say --baseline FILE.py:CLASS",
                   "import torch\nclass A(torch.nn.Module): pass\nclass B(torch.nn.Module): pass\n"),
    "shapes.py": ("its parameter linear.weight is [7, 32], and the problem's [32, 32]",
                  PROBLEM.replace("Linear(width, width)", "Linear(width, 7)")),
    "writes.py": ("Read-only file system", "import os, torch\nopen(os.path.dirname(os.path.abspath(__file__)) + '/written', 'w')\n"),
}

EXPORTS = PROBLEM + """
if not hasattr(torch, "export"):
    print("no torch.export")
else:
    model = Model(32, 0.5)
    torch.export.save(torch.export.export(model, (torch.randn(16, 32), 2), strict=False), "program.pt2")
    torch.export.save(torch.export.export(model, (torch.randn(16, 32),), {"power": 2}, strict=False), "named.pt2")
"""


def python_with_torch():
    for name in (os.environ.get("HONE_PYTHON"), tree.ROOT / "build/venv/bin/python", "python3", "/usr/bin/python3"):
        path = shutil.which(name) if name else None
        if path and subprocess.run([path, "-c", "import torch"], capture_output=True).returncode == 0:
            return path
    return None


class OwnBaselines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="hone-own-", dir="/var/tmp")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.environment = dict(os.environ, HONE_DATA=str(cls.folder / "data"), HONE_PYTHON=PYTHON)
        tree.lend_machine(HONE, cls.folder / "data")
        (cls.folder / "model.py").write_text(PROBLEM)
        for name, (_, text) in MODULES.items():
            (cls.folder / name).write_text(text)
        cls.candidate = cls.folder / "first.hk"
        cls.candidate.write_text(cls.hone("propose", "model.py").stdout)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def hone(cls, *arguments):
        return subprocess.run([HONE, *map(str, arguments)], env=cls.environment, capture_output=True, text=True, timeout=600,
                              cwd=cls.folder)

    def evaluate(self, *baselines):
        words = [word for one in baselines for word in ("--baseline", one)]
        return self.hone("evaluate", "model.py", self.candidate, "--budget", "0.1", "--json", *words)

    def test_each_is_timed_or_says_in_one_line_why_not_and_the_others_go_on(self):
        done = self.evaluate("eager", *MODULES)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        against = {one["baseline"]: one for one in document["timing"]["against"]}
        self.assertIn("eager", against)
        self.assertNotIn("error_over_budget", against["eager"])
        for name, (said, _) in MODULES.items():
            with self.subTest(name):
                notes = [note for note in document.get("notes", []) if f"'{name}'" in note]
                if name not in against:
                    self.assertEqual(len(notes), 1, document.get("notes"))
                    self.assertIn(said, notes[0])
                    self.assertEqual(len(notes[0].splitlines()), 1)
                    continue
                self.assertEqual(notes, [])
                self.assertGreater(against[name]["baseline_warm"]["median_us"], 0)
                if said == "right":
                    self.assertNotIn("wrong", against[name])
                    self.assertLessEqual(against[name]["error_over_budget"], 1)
                else:
                    self.assertIn(said, against[name]["wrong"])
                    self.assertIsNone(against[name]["speedup"])
        if document["sandbox"].startswith("bubblewrap"):
            self.assertFalse((self.folder / "written").exists())

    def test_a_class_is_named_behind_the_file_and_one_that_is_not_there_is_said(self):
        document = json.loads(self.evaluate("two_and_new.py:Model", "several.py:C").stdout)
        self.assertEqual([one["baseline"] for one in document["timing"]["against"]], ["two_and_new.py"])
        self.assertTrue(document["notes"][0].endswith("has no torch.nn.Module C; it has A, B"), document["notes"])

    def test_people_are_told_of_its_error_and_that_a_wrong_one_is_no_measure(self):
        done = self.hone("evaluate", "model.py", self.candidate, "--budget", "0.1", "--baseline", "right.py", "--baseline", "wrong.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        line = next(line for line in done.stdout.splitlines() if line.strip().startswith("wrong.py"))
        self.assertIn("; wrong: output[", line)
        self.assertNotIn("than it", line)

    def test_a_search_goes_by_it(self):
        done = self.hone("optimize", "model.py", "--budget", "2", "--time", "0", "--baseline", "right.py", "--json", "--store", "s.db")
        document = json.loads(done.stdout)
        self.assertEqual([one["baseline"] for one in document["best"]["timing"]["against"]], ["right.py"])

    def test_what_cannot_be_had_is_refused_before_anything_runs(self):
        done = self.evaluate("absent.py")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--baseline absent.py: there is no file absent.py", done.stderr)
        done = self.evaluate("fast")
        self.assertEqual(done.returncode, 2)
        self.assertIn("or FILE.py[:CLASS]", done.stderr)

    def test_a_problem_without_a_file_of_its_own_gives_the_inputs_in_their_order(self):
        (self.folder / "plain.json").write_text(json.dumps({
            "hone_problem": 1, "name": "scaled", "contract": "fp32",
            "tensors": [
                {"name": "x", "shape": [64, 300], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
                {"name": "w", "shape": [300], "dtype": "f32", "role": "parameter", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
                {"name": "y", "shape": [64, 300], "dtype": "f32", "role": "output"}],
            "graph": [{"op": "aten.mul.Tensor", "args": {"self": "%x", "other": "%w"}, "outputs": ["y"]}]}))
        (self.folder / "plain.py").write_text("""import torch
class Scaled(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(width))
    def forward(self, x):
        return x * self.w
def get_init_inputs():
    return [300]
""")
        program = self.folder / "plain.hk"
        program.write_text(self.hone("propose", "plain.json").stdout)
        done = self.hone("evaluate", "plain.json", program, "--budget", "0.1", "--baseline", "plain.py", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        against = json.loads(done.stdout)["timing"]["against"]
        self.assertEqual(against[0]["baseline"], "plain.py")
        self.assertNotIn("wrong", against[0])

    def test_a_program_of_torch_export_is_timed_as_pytorch_runs_it(self):
        made = subprocess.run([PYTHON, "-c", EXPORTS], cwd=self.folder, capture_output=True, text=True, timeout=300)
        if "no torch.export" in made.stdout:
            self.skipTest("this torch has no torch.export")
        program = self.folder / "program.hk"
        program.write_text(self.hone("propose", "program.pt2").stdout)
        done = self.hone("evaluate", "program.pt2", program, "--budget", "0.1", "--baseline", "eager", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        against = json.loads(done.stdout)["timing"]["against"]
        self.assertEqual([one["baseline"] for one in against], ["eager"])
        self.assertGreater(against[0]["baseline_warm"]["median_us"], 0)
        done = self.hone("evaluate", "named.pt2", program, "--budget", "0.1", "--baseline", "eager", "--json")
        self.assertIn("named.pt2: was exported with arguments by name (power)", done.stdout + done.stderr)


PYTHON = python_with_torch()
if PYTHON is None:
    print("skipped: no Python with torch")
    sys.exit(77)
unittest.main(verbosity=0)
