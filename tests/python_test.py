#!/usr/bin/env python3
"""The package hone with a PyTorch that has torch.export: modules with kernels, and runs. python_test.py HONE

Runs itself with that Python. Exit status 77: skipped, there is none.
"""
import contextlib
import copy
import html
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import torch_python  # noqa: E402
import tree  # noqa: E402

INSIDE = "HONE_PYTHON_TEST_INSIDE"
ENOUGH = "import torch; assert hasattr(torch, 'export') and hasattr(torch.export, 'default_decompositions')"


if INSIDE not in os.environ:
    torch_python.run_again(__file__, sys.argv[1], INSIDE, ENOUGH, "no Python with torch 2.6 or newer")

import torch  # noqa: E402
from torch import nn  # noqa: E402

import hone  # noqa: E402

QUICK = {"budget": 2, "time": 0, "no_torch": True, "headroom": 0.99, "progress": None}


class Block(nn.Module):
    """Tied weights, a buffer that is not saved, a norm, a number among the arguments, and containers around the results."""

    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b, self.c = nn.Linear(24, 32), nn.BatchNorm1d(32), nn.Linear(32, 24), nn.Linear(32, 24)
        self.c.weight = self.b.weight
        self.register_buffer("table", torch.randn(24), persistent=False)
        self.label = "first"

    def forward(self, x, scale=2.0):
        hidden = torch.relu(self.norm(self.a(x)))
        return {"y": self.b(hidden) * self.table + self.c(hidden) * scale, "more": (hidden.sum(-1), None)}


class Step(nn.Module):
    """Attention over a cache that it writes into at a place that counts on, and an argument that it writes into and returns."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.register_buffer("keys", torch.zeros(2, 12, 16))
        self.register_buffer("values", torch.zeros(2, 12, 16), persistent=False)
        self.register_buffer("place", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("last", torch.zeros(2, 16))

    def forward(self, x, total):
        q, k, v = self.qkv(x).chunk(3, -1)
        self.keys.index_copy_(1, self.place, k)
        self.values[:, 2:4] = v
        scores = torch.softmax(q @ self.keys.transpose(1, 2) / 4, -1)
        y = (scores @ self.values)[:, 0]
        self.last.copy_(y)
        self.place += 1
        return {"y": y, "total": total.add_(y)}


def inputs():
    return torch.randn(16, 24), 2.0


@contextlib.contextmanager
def heard():
    """What was warned of meanwhile: the reasons."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        texts = []
        yield texts
    texts += [str(one.message) for one in caught if issubclass(one.category, hone.FallsBack)]


class OptimizeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(7)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a run of two attempts shows no speed-up
            cls.inputs = inputs()
            cls.fast_one = hone.optimize(Block().eval(), *cls.inputs, **QUICK)

    def setUp(self):
        torch.set_grad_enabled(False)
        self.fast = copy.deepcopy(self.fast_one)
        self.original = self.fast.hone.original

    def same(self, fast, *arguments, by_kernel=True, **named):
        """The results are the module's, and who computed them."""
        before = fast.hone.calls
        have, want = fast(*arguments, **named), fast.hone.original(*arguments, **named)
        torch.testing.assert_close(have, want, rtol=1e-3, atol=1e-4)
        self.assertEqual(fast.hone.calls - before, int(by_kernel), fast.hone.fallbacks)

    def falls_back(self, word, *arguments, **named):
        """Once with a word about it, then without, counted twice."""
        for times, said in ((1, 1), (2, 0)):
            with heard() as texts:
                self.same(self.fast, *arguments, by_kernel=False, **named)
            self.assertEqual(len(texts), said, texts)
            self.assertTrue(all(word in text for text in texts), texts)
            self.assertEqual([count for reason, count in self.fast.hone.fallbacks.items() if word in reason], [times], self.fast.hone.fallbacks)

    def test_results_are_the_modules_in_the_same_containers(self):
        self.same(self.fast, *inputs())
        self.assertIsNone(self.fast(*inputs())["more"][1])
        self.same(self.fast, inputs()[0], scale=2.0)
        self.assertEqual(dict(self.fast.hone.fallbacks), {})

    def test_what_it_was_not_made_for_goes_to_the_module_with_a_word_a_reason(self):
        x, scale = inputs()
        for word, arguments in {"the shape [5, 24]": (x[:5], scale), "torch.float64": (x.double(), scale), "strides (1, 16)": (x.t().contiguous().t(), scale),
                                "argument 1 is 3.0": (x, 3.0), "argument 1 is 2,": (x, 2), "got 1": (x,)}.items():
            with self.subTest(word):
                if "float64" in word:
                    with heard() as texts, self.assertRaises(RuntimeError):
                        self.fast(*arguments)  # as the module itself
                    self.assertIn(word, texts[0])
                    continue
                self.falls_back(word, *arguments)

    def test_gradients_are_the_modules(self):
        torch.set_grad_enabled(True)
        with heard() as texts:
            self.fast(*inputs())["y"].sum().backward()
        self.assertIn("gradients are wanted", texts[0])
        self.assertIsNotNone(self.original.a.weight.grad)
        self.fast.requires_grad_(False)
        self.same(self.fast, *inputs())
        with heard() as texts:
            self.fast(inputs()[0].requires_grad_(), 2.0)
        self.assertEqual(self.fast.hone.calls, 1)

    def test_autocast_and_modes_are_the_modules(self):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.falls_back("autocast is on", *inputs())
        self.fast.norm.train()
        with heard() as texts:
            self.fast(*inputs())
        self.assertIn("BatchNorm1d is in training mode", texts[0])
        self.fast.eval()
        self.assertFalse(self.original.norm.training)
        self.fast.norm.running_mean.zero_()
        self.fast.norm.running_var.fill_(1)
        self.same(self.fast, *inputs())
        self.fast.train()
        self.assertTrue(self.original.training and self.fast.training and self.original.a.training)

    def test_changes_of_parameters_in_place_are_followed(self):
        for change in (lambda: self.original.a.weight.mul_(2), lambda: setattr(self.fast.a, "bias", nn.Parameter(torch.randn(32))),
                       lambda: self.fast.load_state_dict({**Block().state_dict(), **{f"norm.{k}": v for k, v in self.original.norm.state_dict().items()}})):
            change()
            self.same(self.fast, *inputs())
        self.original.a.weight.data.mul_(3)
        self.fast.hone.refresh()
        self.same(self.fast, *inputs())

    def test_what_was_the_same_while_it_was_judged_has_to_stay(self):
        for key in ("table", "norm.running_mean", "norm.weight"):
            with self.subTest(key):
                self.fast = copy.deepcopy(self.fast_one)
                self.original = self.fast.hone.original
                tensor = self.original.get_buffer(key) if key != "norm.weight" else self.original.norm.weight
                before = tensor.clone()
                tensor.add_(0.5)
                self.falls_back(key + " has other values", *inputs())
                tensor.copy_(before)
                self.same(self.fast, *inputs())

    def test_other_parts_and_weights_that_are_no_longer_tied_are_seen(self):
        self.fast.c.weight = nn.Parameter(self.fast.c.weight + 1)
        self.falls_back("b.weight and c.weight are no longer one tensor", *inputs())
        self.fast = copy.deepcopy(self.fast_one)
        plain = self.fast.a.bias.data
        del self.fast.a.bias
        self.fast.a.bias = plain
        self.falls_back("a parameter that it had is none any more", *inputs())
        self.fast = copy.deepcopy(self.fast_one)
        self.fast.a = nn.Sequential(nn.Linear(24, 32), nn.Tanh())
        self.assertIs(self.fast.hone.original.a, self.fast.a)
        self.falls_back("Block has other parts", *inputs())

    def test_names_states_and_attributes_are_the_modules(self):
        self.assertEqual(list(self.fast.state_dict()), list(self.original.state_dict()))
        self.assertEqual([name for name, _ in self.fast.named_parameters()], [name for name, _ in self.original.named_parameters()])
        self.assertIs(self.fast.a, self.original.a)
        self.fast.label = "second"
        self.assertEqual(self.original.label, "second")
        self.assertRaises(AttributeError, lambda: self.fast.surely_not_there)
        parent = nn.Sequential(self.fast)
        self.assertEqual(list(parent.state_dict()), ["0." + name for name in self.original.state_dict()])
        parent.load_state_dict({name: tensor.clone() for name, tensor in parent.state_dict().items()})
        self.same(self.fast, *inputs())
        self.fast.double()
        with heard():
            self.assertEqual(self.fast(inputs()[0].double(), 2.0)["y"].dtype, torch.float64)

    def test_it_is_saved_with_its_kernel(self):
        x, scale = inputs()
        file = io.BytesIO()
        torch.save(self.fast, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=False)
        self.same(loaded, x, scale)
        torch.testing.assert_close(loaded(x, scale)["y"], self.fast(x, scale)["y"])
        loaded.hone.original.a.weight.zero_()  # a copy has parameters of its own
        self.same(loaded, x, scale)
        self.same(self.fast, x, scale)
        other = subprocess.run([sys.executable, "-c", "import sys, torch, warnings; sys.path.insert(0, sys.argv[1]); import __main__\n"
                                "source = open(sys.argv[2]).read(); begin = source.index('class Block')\n"
                                "from torch import nn; exec(source[begin:source.index('def inputs')])\n"
                                "fast = torch.load(sys.argv[3], weights_only=False)\n"
                                "with torch.no_grad(): fast(torch.randn(16, 24), 2.0)\n"
                                "print(fast.hone.calls)", str(tree.ROOT / "python"), __file__, self.saved(self.fast)],
                               capture_output=True, text=True, timeout=120)
        self.assertEqual(other.stdout.strip(), "1", other.stderr)

    def saved(self, fast):
        path = os.path.join(os.environ[INSIDE], "saved.pt")
        torch.save(fast, path)
        return path

    def test_torch_compile_takes_it(self):
        if not hasattr(torch, "compile"):
            self.skipTest("no torch.compile")
        compiled = torch.compile(self.fast, backend="eager")
        x, scale = inputs()
        torch.testing.assert_close(compiled(x, scale), self.original(x, scale), rtol=1e-3, atol=1e-4)
        self.assertEqual(dict(self.fast.hone.fallbacks), {})

    def test_the_same_call_goes_on_with_its_run(self):
        attempts = len(self.fast.hone.run.rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = hone.optimize(self.original, *self.inputs, **QUICK)
        self.assertEqual(again.hone.run.id, self.fast.hone.run.id)
        self.assertEqual(len(again.hone.run.rows), attempts)

    def test_a_run_is_told_as_the_program_tells_it(self):
        run = self.fast.hone.run
        known = run.document
        self.assertEqual([row["number"] for row in run.rows], [one["number"] for one in known["attempts"]])
        self.assertEqual(len(run.attempts), len(run.rows))
        try:
            import pandas
            self.assertIsInstance(run.attempts, pandas.DataFrame)
            self.assertIn("median_us", run.attempts.columns)
        except ImportError:
            self.assertEqual(run.attempts, run.rows)
        self.assertEqual(run.best["number"], known["best_attempt"])
        self.assertIn("program Block", run.source())
        self.assertEqual(run.source(known["best_attempt"]), run.source())
        self.assertEqual(len(run.confirmations), len(known["confirmations"]))
        self.assertIn("for cpu: %d attempts" % len(run.rows), repr(run))
        self.assertIn(run.id, [one["id"] for one in hone.call("runs")["runs"]])
        self.assertEqual(len(hone.runs(problem="Block")), 1)
        self.assertEqual(len(hone.runs(problem="nothing")), 0)
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("kernel.cc", run.export(folder + "/kernel"))
            self.assertTrue(os.path.isfile(folder + "/kernel/kernel.cc"))
        self.assertIn("not-there", self.refused(hone.Run("not-there")))

    def refused(self, run):
        with self.assertRaises(hone.Failure) as caught:
            run.rows
        return str(caught.exception)

    def test_in_a_notebook_a_run_is_its_page_in_a_frame_that_reaches_nothing(self):
        shown = self.fast.hone.run._repr_html_()
        frame = re.fullmatch(r'<iframe sandbox="allow-scripts" style="[^"]*" srcdoc="([^"]*)"></iframe>', shown)
        page = html.unescape(frame[1])
        self.assertIn("<!DOCTYPE html>", page[:20] if page[:1] == "<" else page)
        self.assertIn("program Block", page)
        self.assertNotIn("<", frame[1])


class WritesInPlace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(8)
        cls.inputs = torch.randn(2, 1, 16), torch.randn(2, 16)
        model = Step().eval()
        cls.before = {key: tensor.clone() for key, tensor in model.named_buffers()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cls.fast_one = hone.optimize(model, *cls.inputs, **QUICK)

    def setUp(self):
        torch.set_grad_enabled(False)
        self.fast = copy.deepcopy(self.fast_one)
        self.model = copy.deepcopy(self.fast.hone.original)

    def same(self, fast, model, total=None, by_kernel=True, calls=3):
        """What is returned, what is left in the argument and in the module."""
        before = self.fast.hone.calls
        for _ in range(calls):
            x, mine = torch.randn(2, 1, 16), torch.randn(2, 16) if total is None else total
            other = mine.clone()
            have, want = fast(x, mine), model(x, other)
            for place in ("y", "total"):
                torch.testing.assert_close(have[place], want[place], rtol=1e-3, atol=1e-4)
            self.assertIs(have["total"], mine)
            torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-4)
            torch.testing.assert_close(dict(fast.named_buffers()), dict(model.named_buffers()), rtol=1e-3, atol=1e-4)
            kept = have["y"].clone()
            fast(torch.randn(2, 1, 16), torch.randn(2, 16))
            self.assertTrue(torch.equal(have["y"], kept))  # memory of its own, though the state has the same numbers
            model.load_state_dict(fast.state_dict())
            model.values.copy_(fast.values)
        self.assertEqual(self.fast.hone.calls - before, 2 * calls if by_kernel else 0, self.fast.hone.fallbacks)

    def test_making_it_changes_nothing(self):
        torch.testing.assert_close(dict(self.fast_one.named_buffers()), self.before)
        self.assertEqual((self.fast_one.hone.calls, dict(self.fast_one.hone.fallbacks)), (0, {}))

    def test_it_is_written_where_the_module_writes_and_counted(self):
        versions = [tensor._version for tensor in self.fast.buffers()]
        self.same(self.fast, self.model)
        self.assertEqual([tensor._version - version for tensor, version in zip(self.fast.buffers(), versions)], [6] * 4)

    def test_buffers_may_be_replaced(self):
        for one in (self.fast, self.model):
            one.keys = torch.ones(2, 12, 16)
        self.same(self.fast, self.model)
        self.fast.place.fill_(2)
        self.model.place.fill_(2)
        self.same(self.fast, self.model)

    def test_what_cannot_be_written_where_it_is_is_the_modules(self):
        x, pair = torch.randn(2, 1, 16), torch.randn(2, 17)
        for word, total in (("strides (17, 1)", pair[:, :16]), ("no multiple of", torch.randn(33)[1:].view(2, 16))):
            with self.subTest(word), heard() as texts:
                other = total.clone()
                have, want = self.fast(x, total), self.model(x, other)
                torch.testing.assert_close(total, other)
                torch.testing.assert_close(have, want)
            self.assertIn(word, texts[0])
        with heard() as texts:
            self.fast.keys = torch.randn(2, 16, 12).transpose(1, 2)
            self.fast(*self.inputs)
        self.assertIn("keys is written in place and has the strides", texts[0])
        with heard() as texts:
            self.fast.keys = torch.randn(2, 12, 16).double()
            with self.assertRaises((RuntimeError, IndexError)):  # as the module itself
                self.fast(*self.inputs)
        self.assertIn("keys is of type torch.float64", texts[0])
        self.assertEqual(self.fast.hone.calls, 0)

    def test_what_shares_memory_is_the_modules(self):
        memory = torch.randn(4, 16)
        self.fast.last = memory[:2]
        with heard() as texts:
            self.fast(torch.randn(2, 1, 16), memory[1:3])
        self.assertTrue("shares memory" in texts[0] or "no multiple" in texts[0], texts)

    def test_it_is_saved_with_what_it_holds(self):
        self.fast(*self.inputs)
        file = io.BytesIO()
        torch.save(self.fast, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=False)
        self.assertEqual(loaded.place.item(), self.fast.place.item())
        for _ in range(2):
            x, total = torch.randn(2, 1, 16), torch.randn(2, 16)
            torch.testing.assert_close(loaded(x, total.clone()), self.fast(x, total.clone()))
        torch.testing.assert_close(dict(loaded.named_buffers()), dict(self.fast.named_buffers()))
        self.assertEqual((loaded.hone.calls, dict(loaded.hone.fallbacks)), (2, {}))

    def test_torch_compile_takes_it(self):
        if not hasattr(torch, "compile"):
            self.skipTest("no torch.compile")
        compiled = torch.compile(self.fast, backend="aot_eager")
        x, total = torch.randn(2, 1, 16), torch.randn(2, 16)
        other = total.clone()
        torch.testing.assert_close(compiled(x, total), self.model(x, other), rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(total, other, rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(dict(self.fast.named_buffers()), dict(self.model.named_buffers()), rtol=1e-3, atol=1e-4)
        self.assertEqual(dict(self.fast.hone.fallbacks), {})


class PlacesByTensors(unittest.TestCase):
    """A tensor of one number as an index: PyTorch would take the number out of it."""

    def test_a_place_is_looked_up_and_written_by_the_tensor(self):
        class Put(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("cache", torch.zeros(2, 6, 4))

            def forward(self, k, at):
                self.cache[:, at] = k
                return self.cache.sum(1) + k[at]

        module, other = Put().eval(), Put().eval()
        fast = hone.optimize(module, torch.randn(2, 4), torch.tensor(1), **QUICK)
        self.assertNotIn("forward", vars(module))
        for at in (0, 1, 0):
            k = torch.randn(2, 4)
            torch.testing.assert_close(fast(k, torch.tensor(at)), other(k, torch.tensor(at)), rtol=1e-3, atol=1e-4)
            torch.testing.assert_close(fast.cache, other.cache)
        self.assertEqual(dict(fast.hone.fallbacks), {})

    def test_what_is_written_into_a_copy_of_an_element_is_refused(self):
        class ByName(nn.Module):
            def forward(self, x, at):
                row = x[at]
                row.add_(1)
                return x.sum(0)

        with self.assertRaisesRegex(hone.Failure, "ByName writes into an element that a tensor's value says, x.t., through a name of its own"):
            hone.optimize(ByName(), torch.randn(4, 4), torch.tensor(1), **QUICK)


class Refused(unittest.TestCase):
    def refused(self, module, *arguments, **options):
        with self.assertRaises(hone.Failure) as caught:
            hone.optimize(module, *arguments, **{**QUICK, **options})
        self.assertEqual(len(str(caught.exception).splitlines()), 1)
        return str(caught.exception)

    def test_what_a_kernel_would_not_do_is_refused_with_the_mend(self):
        x = torch.randn(8, 4)
        self.assertIn("Sequential changes its own 0.running_mean when it is called, which a kernel does not: call .eval() first",
                      self.refused(nn.Sequential(nn.BatchNorm1d(4)), x))

        class ByData(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x

        self.assertIn("Dropout draws random numbers when it is called, which a kernel does not: call .eval() first", self.refused(nn.Dropout(0.5), x))
        with tempfile.TemporaryFile() as said, contextlib.ExitStack() as stack:
            before = os.dup(2)
            stack.callback(os.close, before)
            stack.callback(os.dup2, before, 2)
            os.dup2(said.fileno(), 2)
            self.assertIn("torch.export cannot express ByData", self.refused(ByData(), x))
            said.seek(0)
            self.assertEqual(said.read(), b"", "a graph and hints of PyTorch's")
        self.assertIn("takes a torch.nn.Module, got a function", self.refused(lambda x: x, x))
        self.assertIn("ReLU and its inputs are on cpu: for target=\"cuda\" move them there first, with .cuda()", self.refused(nn.ReLU(), x, target="cuda"))
        self.assertIn("knows the targets cpu and cuda, not tpu", self.refused(nn.ReLU(), x, target="tpu"))
        self.assertIn("makes modules for processors and CUDA devices", self.refused(nn.ReLU(), x.to("meta")))
        self.assertIn("meta", self.refused(nn.Linear(4, 4, device="meta"), x))

    def test_what_the_program_says_is_said(self):
        self.assertIn("--certainly", self.refused(nn.ReLU(), torch.randn(8, 4), certainly=3))
        self.assertIn("aten.log", self.refused(type("Cepstrum", (nn.Module,), {"forward": lambda self, x: torch.fft.rfft(x).log().real})(), torch.randn(8, 4)))

    def test_whoever_stops_listening_ends_the_program(self):
        def stop(line):
            self.assertTrue([path for path in pathlib.Path("/proc").glob("[0-9]*/status") if self.is_ours(path)])
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            hone.optimize(nn.Softmax(-1), torch.randn(64, 64), **{**QUICK, "progress": stop, "budget": 50, "headroom": 0})
        self.assertEqual([path for path in pathlib.Path("/proc").glob("[0-9]*/status") if self.is_ours(path)], [])

    @staticmethod
    def is_ours(status):
        try:
            text = status.read_text()
        except OSError:  # it has ended
            return False
        return "Name:\thone\n" in text and "PPid:\t%d\n" % os.getpid() in text


class Documents(unittest.TestCase):
    def test_the_examples_run_one_after_another(self):
        blocks = re.findall(r"(?ms)^```python\n(.*?)^```", (tree.ROOT / "docs/python.md").read_text())
        self.assertGreaterEqual(len(blocks), 3)
        with tempfile.TemporaryDirectory() as folder:
            newcomer = {**os.environ, "HONE_DATA": folder}  # whose machine nobody has measured
            done = subprocess.run([sys.executable, "-c", "\n".join(blocks)], cwd=folder, capture_output=True, text=True, timeout=300,
                                  env=newcomer)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("there was no time to confirm", done.stderr)
        self.assertIn("FallsBack: Mlp is called without its kernel: x has the shape [7, 256]", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=0)
