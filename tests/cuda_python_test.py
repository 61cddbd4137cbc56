#!/usr/bin/env python3
"""hone.optimize for modules on a CUDA device. cuda_python_test.py HONE

Runs itself with a Python whose PyTorch sees a device. Exit status 77: skipped, there is none.
"""
import copy
import os
import pathlib
import subprocess
import sys
import threading
import unittest
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import torch_python  # noqa: E402
import tree  # noqa: E402

INSIDE = "HONE_CUDA_PYTHON_INSIDE"
ENOUGH = "import torch; assert hasattr(torch.library, 'custom_op') and torch.cuda.is_available()"

if INSIDE not in os.environ:
    torch_python.run_again(__file__, sys.argv[1], INSIDE, ENOUGH, "no Python with torch 2.4 or newer that sees a CUDA device")

import torch  # noqa: E402
from torch import nn  # noqa: E402

import hone  # noqa: E402

QUICK = {"budget": 2, "time": 0, "no_torch": True, "headroom": 0.99, "progress": None}


class Block(nn.Module):
    """Tied weights, a buffer that is not saved, a norm, a number among the arguments, a table of its own, containers around results."""

    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b, self.c = nn.Linear(96, 64), nn.BatchNorm1d(64), nn.Linear(64, 96), nn.Linear(64, 96)
        self.c.weight = self.b.weight
        self.register_buffer("table", torch.randn(96), persistent=False)

    def forward(self, x, scale=2.0):
        hidden = torch.relu(self.norm(self.a(x)))
        steps = torch.arange(96, device=x.device, dtype=x.dtype) / 96
        return {"y": self.b(hidden) * self.table + self.c(hidden) * scale + steps, "more": (hidden.sum(-1), None)}


class Shift(nn.Module):
    """Makes a tensor where its input is, and holds on to its type."""

    def forward(self, x):
        return x.to(torch.float32) + torch.arange(x.shape[-1], device=x.device, dtype=x.dtype)


class Cache(nn.Module):
    """Puts its input into a cache, at a place that counts on."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(4, 16, 64))
        self.register_buffer("place", torch.zeros(1, dtype=torch.int64))

    def forward(self, x):
        self.cache.index_copy_(1, self.place, x[:, None])
        self.place += 1
        return self.cache.sum(1)


def inputs(device="cuda"):
    return torch.randn(128, 96, device=device), 2.0


class OnADevice(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(7)
        torch.backends.cuda.matmul.allow_tf32 = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a run of two attempts shows no speed-up
            cls.fast_one = hone.optimize(Block().cuda().eval(), *inputs(), **QUICK)

    def setUp(self):
        torch.set_grad_enabled(False)
        self.fast = copy.deepcopy(self.fast_one)
        self.original = self.fast.hone.original

    def close(self, have, want):
        torch.testing.assert_close(have, want, rtol=2e-2, atol=2e-2)  # some products are made in TF32

    def same(self, fast, *arguments, by_kernel=True):
        before = fast.hone.calls
        have = fast(*arguments)
        self.close(have, fast.hone.original(*arguments))
        self.assertEqual(fast.hone.calls - before, int(by_kernel), fast.hone.fallbacks)
        return have

    def falls_back(self, word, *arguments):
        for said in (1, 0):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.same(self.fast, *arguments, by_kernel=False)
            texts = [str(one.message) for one in caught if issubclass(one.category, hone.FallsBack)]
            self.assertEqual(len(texts), said, texts)
            self.assertTrue(all(word in text for text in texts), texts)

    def test_results_are_the_modules_new_and_dense(self):
        first = self.same(self.fast, *inputs())["y"]
        kept = first.clone()
        second = self.same(self.fast, *inputs())["y"]
        self.assertTrue(torch.equal(first, kept) and first.data_ptr() != second.data_ptr() and second.is_contiguous())
        self.assertEqual(dict(self.fast.hone.fallbacks), {})
        self.assertEqual(self.fast.hone.run.document["target"], "cuda")

    def test_what_it_was_not_made_for_goes_to_the_module(self):
        x, scale = inputs()
        self.falls_back("the shape [5, 96]", x[:5], scale)
        self.falls_back("strides (1, 128)", torch.randn(96, 128, device="cuda").t(), scale)
        self.falls_back("argument 1 is 3.0", x, 3.0)
        with torch.autocast("cuda", dtype=torch.bfloat16), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertEqual(self.fast(x, scale)["y"].dtype, self.original(x, scale)["y"].dtype)
        self.assertEqual(self.fast.hone.calls, 0)
        with warnings.catch_warnings(), self.assertRaises(RuntimeError):
            warnings.simplefilter("ignore")
            self.fast(x.cpu(), scale)  # as the module itself
        self.assertTrue(any("x is on cpu" in reason for reason in self.fast.hone.fallbacks))
        torch.set_grad_enabled(True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.fast(x, scale)["y"].sum().backward()
        self.assertIsNotNone(self.original.a.weight.grad)

    def test_the_module_moves_and_the_kernel_waits_for_it_to_come_back(self):
        x, scale = inputs()
        self.fast.cpu()
        self.falls_back("x is on cpu", x.cpu(), scale)
        self.fast.cuda()
        self.same(self.fast, x, scale)

    def test_changes_of_parameters_are_followed(self):
        for change in (lambda: self.original.a.weight.mul_(2), lambda: setattr(self.fast.a, "bias", nn.Parameter(torch.randn(64, device="cuda"))),
                       lambda: self.fast.load_state_dict({**self.fast.state_dict(), "c.bias": torch.randn(96)})):
            change()
            self.same(self.fast, *inputs())
        self.original.a.weight.data.mul_(3)
        self.fast.hone.refresh()
        self.same(self.fast, *inputs())
        self.fast.norm.running_mean.add_(1)
        self.falls_back("norm.running_mean has other values", *inputs())

    def test_a_graph_captures_it(self):
        x, scale = inputs()
        self.same(self.fast, x, scale)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.fast(x, scale)["y"]
        self.assertEqual((self.fast.hone.calls, dict(self.fast.hone.fallbacks)), (2, {}))
        for _ in range(3):
            x.copy_(torch.randn_like(x))
            graph.replay()
            self.close(y, self.original(x, scale)["y"])
        self.fast.hone.refresh()  # what was captured stays
        torch.cuda.empty_cache()
        self.same(self.fast, x, scale)
        graph.replay()
        self.close(y, self.original(x, scale)["y"])

    def test_a_capture_without_a_first_call_is_the_modules(self):
        x, scale = inputs()
        self.original(x, scale)
        torch.cuda.synchronize()
        self.fast.hone.refresh()
        graph = torch.cuda.CUDAGraph()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with torch.cuda.graph(graph):
                y = self.fast(x, scale)["y"]
        self.assertIn("call it once before it is captured", " ".join(str(one.message) for one in caught))
        graph.replay()
        self.close(y, self.original(x, scale)["y"])

    def test_streams_and_threads_do_not_meet(self):
        given = [inputs() for _ in range(4)]
        want = [self.original(*one)["y"] for one in given]
        torch.cuda.synchronize()
        failed = []

        def many(one, expected):
            torch.set_grad_enabled(False)
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(50):
                    have = self.fast(*one)["y"]
                if not torch.allclose(have, expected, rtol=2e-2, atol=2e-2):
                    failed.append(one)

        threads = [threading.Thread(target=many, args=pair) for pair in zip(given, want)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.assertEqual((self.fast.hone.calls > 150, dict(self.fast.hone.fallbacks)), (True, {}))

    def test_it_is_saved_with_its_kernel(self):
        path = os.path.join(os.environ[INSIDE], "saved.pt")
        torch.save(self.fast, path)
        self.same(torch.load(path, weights_only=False), *inputs())
        other = subprocess.run([sys.executable, "-c", "import sys, torch; from torch import nn\n"
                                "source = open(sys.argv[1]).read(); begin = source.index('class Block')\n"
                                "exec(source[begin:source.index('def inputs')])\n"
                                "fast = torch.load(sys.argv[2], weights_only=False)\n"
                                "with torch.no_grad(): fast(torch.randn(128, 96, device='cuda'), 2.0)\n"
                                "print(fast.hone.calls)", __file__, path], capture_output=True, text=True, timeout=300)
        self.assertEqual(other.stdout.strip(), "1", other.stderr)

    def test_another_device_is_as_good(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("one device")
        self.fast.to("cuda:1")
        self.same(self.fast, *inputs("cuda:1"))
        self.assertEqual(torch.cuda.current_device(), 0)

    def test_torch_compile_takes_it(self):
        compiled = torch.compile(self.fast, backend="eager")
        x, scale = inputs()
        self.close(compiled(x, scale)["y"], self.original(x, scale)["y"])
        self.assertEqual(dict(self.fast.hone.fallbacks), {})

    def test_baselines_run_what_was_exported(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fast = hone.optimize(nn.Sequential(nn.Linear(96, 64), Shift()).cuda().eval(), inputs()[0], **{**QUICK, "no_torch": False, "time": 90})
        baselines = fast.hone.run.document["baselines"]
        for name in ("eager", "eager_graph"):
            self.assertGreater(baselines[name], 0)  # us


class InPlace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(9)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cls.fast_one = hone.optimize(Cache().cuda().eval(), torch.randn(4, 64, device="cuda"), **QUICK)

    def setUp(self):
        torch.set_grad_enabled(False)
        self.fast = copy.deepcopy(self.fast_one)
        self.model = copy.deepcopy(self.fast.hone.original)

    def same_state(self):
        torch.testing.assert_close(dict(self.fast.named_buffers()), dict(self.model.named_buffers()), rtol=1e-3, atol=1e-3)

    def same(self, calls=3):
        for _ in range(calls):
            x = torch.randn(4, 64, device="cuda")
            torch.testing.assert_close(self.fast(x), self.model(x), rtol=1e-3, atol=1e-3)
            self.same_state()

    def test_the_modules_own_memory_is_written_and_counted(self):
        place, version = self.fast.cache.data_ptr(), self.fast.cache._version
        self.same()
        self.assertEqual((self.fast.cache.data_ptr(), self.fast.cache._version), (place, version + 3))
        self.assertEqual((self.fast.hone.calls, dict(self.fast.hone.fallbacks)), (3, {}))

    def test_a_graph_goes_on_from_what_it_left(self):
        self.same(1)
        x = torch.randn(4, 64, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.fast(x)
        self.same_state()  # it was captured, and not run
        for _ in range(3):
            x.normal_()
            graph.replay()
            torch.testing.assert_close(y, self.model(x), rtol=1e-3, atol=1e-3)
            self.same_state()
        self.assertEqual(self.fast.place.item(), 4)

    def test_what_cannot_be_written_where_it_is_is_the_modules(self):
        for cache, word in ((torch.randn(4, 64, 16, device="cuda").transpose(1, 2), "has the strides"),
                            (torch.randn(4 * 16 * 64 + 1, device="cuda")[1:].view(4, 16, 64), "at no multiple of 512 bytes")):
            self.fast.cache = cache
            self.model.cache = cache.clone()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.same(1)
            self.assertIn(word, " ".join(str(one.message) for one in caught))

    def test_torch_compile_takes_it(self):
        compiled = torch.compile(self.fast, backend="aot_eager")
        x = torch.randn(4, 64, device="cuda")
        torch.testing.assert_close(compiled(x), self.model(x), rtol=1e-3, atol=1e-3)
        self.same_state()
        self.assertEqual(dict(self.fast.hone.fallbacks), {})


class Refused(unittest.TestCase):
    def test_tensors_on_two_devices_are_refused(self):
        with self.assertRaises(hone.Failure) as caught:
            hone.optimize(nn.Linear(4, 4), torch.randn(8, 4, device="cuda"), **QUICK)
        self.assertIn("are on cpu and cuda:0: move them to one device", str(caught.exception))


if __name__ == "__main__":
    unittest.main(verbosity=2)
