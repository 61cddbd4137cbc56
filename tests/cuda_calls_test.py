#!/usr/bin/env python3
"""Calls of an exported kernel for a CUDA device, on a driver whose device is this processor. cuda_calls_test.py HONE

The plan of tests/data/host_driver is exported, its launches are built and loaded, and tensors of the CPU stand in for the device's:
what is asked of the driver, and when, is as on a device. Exit status 77: skipped, no PyTorch, no NVRTC or no C++ compiler.
"""
import copy
import ctypes
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import threading
import unittest
import warnings
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import torch_python  # noqa: E402
import tree  # noqa: E402

INSIDE = "HONE_CUDA_CALLS_INSIDE"
ENOUGH = "import torch; assert hasattr(torch.library, 'custom_op') and hasattr(torch, 'export')"
DATA = tree.ROOT / "tests/data/host_driver"

if INSIDE not in os.environ:
    compiler = os.environ.get("HONE_CXX") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        tree.skip("no C++ compiler")
    torch_python.run_again(__file__, sys.argv[1], INSIDE, ENOUGH, "no Python with torch 2.4 or newer")

FOLDER = pathlib.Path(os.environ[INSIDE])
LOG = FOLDER / "driver.log"
os.environ["HOST_DRIVER_LOG"] = str(LOG)

import torch  # noqa: E402
from torch import nn  # noqa: E402

import hone  # noqa: E402
from hone.from_module import exported, on_the_cpu, what_it_was_made_for  # noqa: E402
from hone.kernel import Kernel  # noqa: E402


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64))
        self.register_buffer("table", torch.ones(64))

    def forward(self, x):
        part = x * (2 * self.weight)
        return part + self.table + 0.5 * part.sum()


class Cache(nn.Module):
    """Puts its input into a cache, at a place that counts on."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(8, 64))
        self.register_buffer("place", torch.zeros(1, dtype=torch.int64))

    def forward(self, x):
        self.cache.index_copy_(0, self.place, x)
        self.place += 1
        return self.cache.sum(0)


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("%s: %s" % (command[0], done.stderr))
    return done


def made():
    """The module, exported through the program, and its Optimized with the kernel; None without NVRTC."""
    import ctypes
    run(os.environ.get("HONE_CXX") or shutil.which("g++") or shutil.which("clang++"), "-std=c++17", "-shared", "-fPIC", DATA / "driver.cc",
        "-Wl,-soname,libcuda.so.1", "-o", FOLDER / "libcuda.so.1")
    ctypes.CDLL(str(FOLDER / "libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)  # which is found by its name from now on
    return with_kernel(Scale().eval(), torch.randn(128, 64), "plan.json")


def with_kernel(module, x, plan):
    name = type(module).__name__
    program, _ = exported(module, (x,))
    torch.export.save(program, FOLDER / (name + ".pt2"))
    problem, bundle = FOLDER / (name + ".json"), FOLDER / name
    hone.call("import", FOLDER / (name + ".pt2"), "-o", problem)
    files = hone.call("export", "--problem", problem, "--program", DATA / plan, "-o", bundle)["files"]
    if "hone_kernel.py" not in files:
        return None
    kernel = Kernel.read(bundle)
    return hone.Optimized(module, kernel, what_it_was_made_for(module, (x,), program, kernel))


torch.manual_seed(3)
FAST = made()
IN_PLACE = FAST and with_kernel(Cache().eval(), torch.randn(1, 64), "in_place.json")


def on_the_host(fast):
    """The calls of its kernel, for tensors of the CPU on streams that the test numbers."""
    calls = fast.hone.kernel.python.CALLS
    calls.DEVICE = fast.hone.kernel.python.DEVICE = "cpu"
    calls.stream_of = lambda device: calls.stream
    calls.capturing = lambda: calls.is_capturing
    calls.follow = lambda state, device, stream: (calls.followed.append((state.stream, stream)), setattr(state, "stream", stream))
    calls.stream, calls.is_capturing, calls.followed = 7, False, []
    return calls


POOL, TAKEN = torch.empty(1 << 24), [0]


def fresh():
    """An input where none was before, at a multiple of 512 bytes, as a device's allocator gives."""
    TAKEN[0] += 128 * 64
    begin = -POOL.data_ptr() % 512 // 4 + TAKEN[0]
    return POOL[begin : begin + 128 * 64].view(128, 64).normal_()


def aligned(tensor):
    """It, where a device's allocator would put it."""
    memory = torch.empty(tensor.numel() * tensor.element_size() + 512, dtype=torch.uint8)
    begin = -memory.data_ptr() % 512
    return memory[begin : begin + tensor.numel() * tensor.element_size()].view(tensor.dtype).view(tensor.shape).copy_(tensor)


def asked():
    """What the driver was asked for since this was last asked."""
    lines = LOG.read_text().splitlines() if LOG.exists() else []
    LOG.write_text("")
    return lines


@unittest.skipIf(FAST is None, "no NVRTC")
class CallsTest(unittest.TestCase):
    def setUp(self):
        torch.set_grad_enabled(False)
        self.fast = copy.deepcopy(FAST)
        self.calls = on_the_host(self.fast)
        self.calls.release()
        self.x = fresh()
        asked()

    def same(self, x=None, by_kernel=True):
        x = self.x if x is None else x
        before = self.fast.hone.calls
        have, want = self.fast(x), self.fast.hone.original(x)
        torch.testing.assert_close(have, want, rtol=1e-3, atol=1e-2)
        self.assertEqual(self.fast.hone.calls - before, int(by_kernel), self.fast.hone.fallbacks)
        return have

    def falls_back(self, word, x):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.fast(x)
        self.assertIn(word, " ".join(str(one.message) for one in caught))

    def test_launches_are_the_plans(self):
        self.same()
        lines = asked()
        begin = "launch pack grid 1 shared 0 stream 7"
        self.assertEqual(lines[lines.index(begin):], [
            begin, "fill 4", "encode 7 3 64:256:32 128:0:8",
            "launch scale grid 32 shared 65536 stream 7 with 4:2",       # a cluster of two
            "launch finish grid 32 shared 0 stream 7 with 6:1"])         # begins early
        if "load" in lines:  # once a process
            self.assertIn("attribute scale 8 65536", lines)

    def test_parameters_are_prepared_once_and_again_when_they_change(self):
        for change, again in ((lambda: None, True), (lambda: None, False), (lambda: self.fast.weight.mul_(2), True),
                              (lambda: setattr(self.fast, "weight", nn.Parameter(torch.randn(64))), True), (lambda: None, False),
                              (lambda: self.fast.load_state_dict({"weight": torch.randn(64), "table": torch.ones(64)}), True)):
            change()
            asked()
            self.same()
            self.assertEqual(sum(line.startswith("launch pack") for line in asked()), int(again))
        self.fast.weight.data.mul_(3)
        self.fast.hone.refresh()
        self.same()

    def test_tensor_maps_are_encoded_once_an_address(self):
        self.same()
        asked()
        self.same()
        self.assertFalse([line for line in asked() if line.startswith("encode")])
        self.same(fresh())
        self.assertEqual(len([line for line in asked() if line.startswith("encode")]), 1)

    def test_results_are_new_and_dense(self):
        first = self.same()
        kept = first.clone()
        second = self.same(fresh())
        self.assertNotEqual(first.data_ptr(), second.data_ptr())
        self.assertTrue(torch.equal(first, kept))
        self.assertTrue(second.is_contiguous())

    def test_inputs_that_are_not_aligned_are_copied(self):
        memory = torch.randn(128 * 64 + 1)
        x = memory[1:].view(128, 64)
        self.assertNotEqual(x.data_ptr() % 512, 0)
        self.same(x)

    def test_what_it_was_not_made_for_goes_to_the_module(self):
        self.falls_back("x has the shape [5, 64]", self.x[:5])
        self.falls_back("x is of type torch.float64", self.x.double())
        self.falls_back("strides (1, 128)", torch.randn(64, 128).t())
        with self.assertRaises(RuntimeError):  # as the module itself
            self.falls_back("x is on meta", self.x.to("meta"))
        self.assertIn("x is on meta, the kernel computes", " ".join(self.fast.hone.fallbacks))
        self.fast.table.add_(1)
        self.falls_back("table has other values", self.x)
        self.fast.table.sub_(1)
        torch.set_grad_enabled(True)
        self.falls_back("gradients are wanted", self.x)
        self.assertEqual(self.fast.hone.calls, 0)

    def test_another_stream_waits_for_what_is_prepared(self):
        self.same()
        self.calls.stream = 8
        self.same()
        self.same()
        self.assertEqual(self.calls.followed, [(7, 8)])
        self.assertIn("stream 8", asked()[-1])

    def test_a_capture_needs_a_first_call_and_keeps_what_was_prepared(self):
        self.calls.is_capturing = True
        self.falls_back("call it once before it is captured", self.x)
        self.calls.is_capturing = False
        self.same()
        self.calls.is_capturing, self.calls.stream = True, 9
        self.same()
        self.assertEqual(self.calls.followed, [])
        state, = self.calls.captured
        self.calls.is_capturing, self.calls.stream = False, 7
        self.fast.weight.mul_(2)
        self.same()
        self.assertIs(self.calls.captured[0], state)  # a graph may read it

    def test_the_threads_context_is_as_it_was(self):
        self.same()
        results = []
        thread = threading.Thread(target=lambda: results.append(self.fast.hone.kernel.python.compute([self.x], [self.fast.weight, self.fast.table])))
        thread.start()
        thread.join()
        torch.testing.assert_close(results[0], self.fast.hone.original(self.x), rtol=1e-3, atol=1e-2)

    def test_few_sets_of_parameters_are_kept(self):
        for _ in range(9):
            self.fast.weight = nn.Parameter(torch.randn(64))
            self.same()
        self.assertLessEqual(len(self.calls.states), 4)

    def test_it_pickles_with_its_machine_code(self):
        kernel = pickle.loads(pickle.dumps(self.fast.hone.kernel))
        self.assertIn("kernels/0.cubin", kernel.files)
        self.assertNotIn("kernels/scale.cu", kernel.files)
        self.assertNotIn("plan.json", kernel.files)

    def test_the_operator_is_traced(self):
        compiled = torch.compile(self.fast, backend="eager")
        torch.testing.assert_close(compiled(self.x), self.fast.hone.original(self.x), rtol=1e-3, atol=1e-2)
        self.assertEqual(dict(self.fast.hone.fallbacks), {})


@unittest.skipIf(IN_PLACE is None, "no NVRTC")
class InPlaceTest(unittest.TestCase):
    def setUp(self):
        torch.set_grad_enabled(False)
        self.fast = copy.deepcopy(IN_PLACE)
        on_the_host(self.fast)
        self.fast.cache, self.fast.place = aligned(torch.randn(8, 64)), aligned(torch.zeros(1, dtype=torch.int64))
        self.model = copy.deepcopy(self.fast.hone.original)
        asked()

    def same(self, fast=None, calls=1):
        fast, before = self.fast if fast is None else fast, self.fast.hone.calls
        for _ in range(calls):
            x = torch.randn(1, 64)
            torch.testing.assert_close(fast(x), self.model(x))
            torch.testing.assert_close(dict(self.fast.state_dict()), dict(self.model.state_dict()))
        self.assertEqual((self.fast.hone.calls - before, dict(self.fast.hone.fallbacks)), (calls, {}))

    def refused(self, word):
        kept = {key: value.clone() for key, value in self.fast.state_dict().items()}
        with self.assertRaisesRegex(RuntimeError, word):
            self.fast.hone.kernel.python.compute([torch.randn(1, 64), self.fast.cache, self.fast.place], [])
        torch.testing.assert_close(dict(self.fast.state_dict()), kept)
        self.assertEqual([line for line in asked() if line.startswith("launch")], [])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = torch.randn(1, 64)
            torch.testing.assert_close(self.fast(x), self.model(x))  # by the module, which writes it
        torch.testing.assert_close(dict(self.fast.state_dict()), dict(self.model.state_dict()))

    def test_it_is_written_where_it_is_and_counted(self):
        places = self.fast.cache.data_ptr(), self.fast.place.data_ptr()
        versions = self.fast.cache._version, self.fast.place._version
        self.same(calls=3)
        self.assertEqual((self.fast.cache.data_ptr(), self.fast.place.data_ptr()), places)
        self.assertEqual((self.fast.cache._version, self.fast.place._version), tuple(version + 3 for version in versions))

    def test_what_cannot_be_written_where_it_is_is_refused(self):
        cache = self.fast.cache
        self.fast.cache = aligned(torch.randn(64, 8)).t()
        self.model.cache.copy_(self.fast.cache)
        self.refused("cache is written in place and has the strides")
        self.fast.cache = aligned(torch.randn(9 * 64))[1 : 1 + 8 * 64].view(8, 64)
        self.model.cache.copy_(self.fast.cache)
        self.refused("cache is written in place and begins at no multiple of 512 bytes")
        self.fast.cache, self.fast.place = cache, cache.view(torch.int64)[2, :1].zero_()  # a part of the cache
        with self.assertRaisesRegex(RuntimeError, "cache is written in place and shares memory with place"):
            self.fast.hone.kernel.python.compute([torch.randn(1, 64), self.fast.cache, self.fast.place], [])

    def test_the_operator_is_traced(self):
        self.same(torch.compile(self.fast, backend="eager"), calls=2)

    def test_one_file_writes_there_too(self):
        text = (FOLDER / "Cache" / "model_new.py").read_text().replace(" or not tensor.is_cuda", "")

        class Extension:
            def hone_launch(self, at, prepare, stream):
                x, cache, place, sums, *after = at
                assert after == [cache, place], at
                floats = lambda address, count: torch.frombuffer((ctypes.c_float * count).from_address(address), dtype=torch.float32)
                where = ctypes.c_int64.from_address(place)
                rows = floats(cache, 512).view(8, 64)
                rows[where.value] = floats(x, 64)
                floats(sums, 64).copy_(rows.sum(0))
                where.value += 1

        names = {}
        with mock.patch("torch.utils.cpp_extension.load_inline", lambda **_: Extension()):
            exec(text, names)
        new = names["ModelNew"](self.fast.cache, self.fast.place)
        with mock.patch("torch.cuda.current_device", lambda: None), mock.patch.object(torch._C, "_cuda_getCurrentRawStream", lambda _: 0, create=True):
            versions = new.cache._version, new.place._version
            for _ in range(3):
                x = aligned(torch.randn(1, 64))
                torch.testing.assert_close(new(x), self.model(x))
                torch.testing.assert_close(dict(new.state_dict()), dict(self.model.state_dict()))
            self.assertEqual((new.cache._version, new.place._version), tuple(version + 3 for version in versions))
            for cache, word in ((aligned(torch.randn(64, 8)).t(), "cache is written in place"), (new.cache[:4], "was made for"),
                                (new.cache.double(), "was made for")):
                with self.assertRaisesRegex(RuntimeError, word):
                    names["ModelNew"](cache, new.place)(x)
            with self.assertRaisesRegex(RuntimeError, "cache is written in place and shares memory"):
                new(new.cache[:1])


class ProgramTest(unittest.TestCase):
    def test_what_was_one_tensor_is_one_after_the_move(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
                self.b.weight = self.a.weight

            def forward(self, x):
                return self.b(self.a(x)) + torch.arange(4, device=x.device)

        program = on_the_cpu(exported(Tied().eval(), (torch.randn(2, 4),))[0], torch.device("cuda"))
        self.assertIs(program.state_dict["a.weight"], program.state_dict["b.weight"])
        self.assertIsNot(program.state_dict["a.bias"], program.state_dict["b.bias"])
        self.assertEqual({str(node.kwargs["device"]) for node in program.graph.nodes if "device" in node.kwargs}, {"cpu"})
        self.assertEqual(program.module()(torch.zeros(2, 4)).shape, (2, 4))


if __name__ == "__main__":
    unittest.main(verbosity=0)
