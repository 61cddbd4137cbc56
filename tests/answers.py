"""What somebody who proposes kernels for a small softmax writes, for the tests of whole runs. Written for the purpose: no model has
part in it. And what such tests share: a store of their own on a machine that was measured once."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import tree

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


def program(idea, settings=""):
    return candidate(idea, "program", PROGRAM.format(settings=settings))


def module(idea, body):
    return candidate(idea, "module", MODULE.replace("BODY", body))


def all_kinds(owned):
    """A good one, a wrong one, one that is no C++, and one that would write `owned`."""
    return (program("begin", " with {accumulators: 2}")
            + module("copies", "for (int i = 0; i < 64 * 300; ++i) y[i] = x[i];")
            + module("no C++", "for each row: normalise;")
            + module("mischief", f'std::system("touch {owned}"); std::ofstream("{owned}") << 1;'))


BETTER = program("wider", " with {accumulators: 4}")
AGAIN = candidate("the same in other words", "program", "# the first one\n" + PROGRAM.format(settings="  with  { accumulators : 2 }"))
OUTCOMES = {"begin": "accepted", "wider": "accepted", "copies": "wrong_result", "no C++": "compile_error"}


def hold_attempts(test, attempts, owned):
    """That the attempts on all_kinds and BETTER came to what they deserve."""
    attempts = {one["key"]: one for one in attempts}
    for key, outcome in OUTCOMES.items():
        test.assertEqual(attempts[key]["outcome"], outcome, key)
    test.assertNotEqual(attempts["mischief"]["outcome"], "accepted")
    test.assertFalse(owned.exists())
    test.assertEqual(attempts["wider"]["parent"], attempts["begin"]["number"])


class Runs(unittest.TestCase):
    """Runs `self.program` on p.json in a folder of the test's own."""
    program = None

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory(prefix="hone-answers-data-")
        tree.lend_machine(cls.program, cls.shared.name + "/data")

    @classmethod
    def tearDownClass(cls):
        cls.shared.cleanup()

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="hone-answers-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "p.json").write_text(json.dumps(PROBLEM))
        self.environment = dict(os.environ, HONE_DATA=f"{self.shared.name}/data", HONE_CACHE=f"{self.shared.name}/cache", HONE_STORE=f"{self.folder}/runs.sqlite")

    def command(self, proposer, *words):
        return [self.program, "optimize", str(self.folder / "p.json"), "--proposer", proposer, "--time", "0", "--headroom", "0", "--json", *words]

    def optimize(self, proposer, *words):
        """The report, and what was said on the way."""
        done = subprocess.run(self.command(proposer, *words), env=self.environment, capture_output=True, text=True, timeout=500)
        self.assertTrue(done.stdout, done.stderr)
        return json.loads(done.stdout), done.stderr

    def hone(self, *words):
        return json.loads(subprocess.run([self.program, *words, "--json"], env=self.environment, check=True, capture_output=True, text=True, timeout=300).stdout)
