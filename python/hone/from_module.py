"""hone.optimize: a torch.nn.Module in, one with a kernel out. docs/python.md is the guide."""
import collections
import contextlib
import copy
import io
import itertools
import logging
import os
import pathlib
import re
import shutil
import sys
import tempfile
import warnings

import torch
from torch.utils._pytree import tree_flatten, tree_map

from hone.kernel import Kernel
from hone.optimized import Made, Optimized
from hone.places import by_tensors
from hone.process import Failure, call
from hone.run import Run
from hone.written import STATISTICS, Kept, Written

LARGEST_DIFFERENCE = 0.05  # of the norm, between module and kernel: not about accuracy, which is judged, but about what goes where


def say(line):
    print(line, file=sys.stderr, flush=True)


def optimize(module, *inputs, target=None, progress=say, **options):
    """`module`, with the fastest kernel that was found for calls like module(*inputs): an Optimized, whose `.hone.run` is the Run.

    module    in the mode, with the parameters and of the types that it will be called with; it is not changed
    inputs    example arguments, in forward's order: their shapes, types and distributions are those that the kernel is made for;
              numbers and the like among them become part of it
    target    "cpu" or "cuda", where module and inputs have to be; where they are, if it is not said
    progress  called with each line that the run says; None: with nobody listening
    options   those of `hone optimize`, `budget=40` for `--budget 40`, with _ for -; True for those without a value, a list for such as
              may be repeated. Threads are PyTorch's if they are not said, and of several CUDA devices it is the module's.

    The run is made by the program in a process of its own, and kept in the run store: the same call goes on with it. Failure says in a
    line what cannot be done: what torch.export cannot express, what draws random numbers, what hone knows no operator for, or that no
    kernel was accepted. Where one was not shown to be faster, a UserWarning says so.
    """
    if not isinstance(module, torch.nn.Module):
        raise Failure("hone.optimize takes a torch.nn.Module, got a %s" % type(module).__name__)
    name = type(module).__name__
    device = where(module, inputs, target)
    program, written = exported(module, inputs)
    expected = called(module, inputs, written)
    if device.type == "cpu":
        options.setdefault("threads", torch.get_num_threads())
    elif not any(map(shutil.which, [os.environ["HONE_CXX"]] if os.environ.get("HONE_CXX") else ["g++", "clang++"])):
        raise Failure("a kernel's launches are built by a C++ compiler, and there is none: install g++, or set HONE_CXX to one", 3)
    elif torch.cuda.device_count() > 1:
        options.setdefault("devices", "GPU-%s" % torch.cuda.get_device_properties(device).uuid)
    options.setdefault("python", sys.executable)  # the torch that wrote the program reads it, whatever HONE_PYTHON names
    store = ["--store", options["store"]] if options.get("store") else []
    with tempfile.TemporaryDirectory(prefix="hone-optimize-") as folder:
        path = pathlib.Path(folder) / (re.sub(r"\W", "_", name) + ".pt2")
        torch.export.save(on_the_cpu(program, device), path)
        if device.type == "cuda":
            torch.cuda.empty_cache()  # what nothing lies in is the run's
        report = call("optimize", path, "--target", device.type, *words(options), progress=progress)
        if not report.get("best_attempt"):
            raise Failure("no kernel for %s: %s" % (name, why_none(report, store)), 1)
        call("export", report["run"], "-o", pathlib.Path(folder) / "bundle", *store)
        kernel = Kernel.read(pathlib.Path(folder) / "bundle")
    if "hone_kernel.py" not in kernel.files:
        raise Failure("the kernel of %s cannot be compiled here: hone export %s says why" % (name, report["run"]), 3)
    if not report.get("faster"):
        warnings.warn("%s: %s" % (name, "the best kernel was not shown to be faster than what it was timed beside" if report.get("confirmed") else
                                  "there was no time to confirm the best kernel: give it more (time=...)"), stacklevel=2)
    made = what_it_was_made_for(module, inputs, program, kernel)
    if sum("updates" in tensor for tensor in kernel.problem["tensors"]) != len(written):
        raise Failure("the kernel of %s does not write all that the module does: please report it" % name, 3)
    result = Optimized(module, kernel, made, Run(report["run"], options.get("store")))
    compare(expected, result, inputs, written)
    return result


def where(module, inputs, target):
    """The device of module and inputs, which is one, and of the kind that is wanted. Without tensors the one that is wanted, or the CPU."""
    if target not in (None, "cpu", "cuda"):
        raise Failure("hone.optimize knows the targets cpu and cuda, not %s" % target)
    name = type(module).__name__
    tensors = [one for one in tree_flatten(tuple(inputs))[0] if isinstance(one, torch.Tensor)]
    devices = {tensor.device for tensor in itertools.chain(tensors, module.parameters(), module.buffers())}
    if len(devices) > 1:
        raise Failure("%s and its inputs are on %s: move them to one device" % (name, " and ".join(sorted(map(str, devices)))))
    device = next(iter(devices), torch.device(target or "cpu"))
    if device.type not in ("cpu", "cuda"):
        raise Failure("%s or its inputs are on %s: hone.optimize makes modules for processors and CUDA devices" % (name, device))
    if target and device.type != target:
        raise Failure("%s and its inputs are on %s: for target=\"%s\" move them there first, with .%s()" % (name, device, target, target))
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    return device


def on_the_cpu(program, device):
    """The program as hone reads it: of the CPU, from where baselines go to the device that they are timed on."""
    if device.type == "cpu":
        return program
    from torch.export.passes import move_to_device_pass
    same = collections.defaultdict(list)
    for key, tensor in program.state_dict.items():
        same[id(tensor)].append(key)
    moved = move_to_device_pass(program, "cpu")
    for first, *others in same.values():  # what was one tensor stays one
        moved.state_dict.update(dict.fromkeys(others, moved.state_dict[first]))
    return moved


def words(options):
    """{"max_tokens": 5, "certify": True} as the program's options."""
    said = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                said.append(option)
            elif one is not False and one is not None:
                said += [option, one]
    return said


def why_none(report, store):
    stop = report.get("stop", "it ended")
    if not report.get("run") or not report.get("attempts"):
        return stop
    attempts = call("show", report["run"], *store)["attempts"]
    refused = next((one for one in attempts if one["outcome"] not in ("", "accepted")), None)
    return stop if refused is None else "%s; attempt %d: %s" % (stop, refused["number"], refused["outcome"])


@contextlib.contextmanager
def silent():
    """Without what PyTorch prints of what it cannot do beside raising it: graphs, and hints for who develops it."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def exported(module, inputs):
    """The module as torch.export's program, and what it writes into."""
    name = type(module).__name__
    if not (hasattr(torch, "export") and hasattr(torch.export, "default_decompositions")):
        raise Failure("hone.optimize needs PyTorch 2.6 or newer, and this is %s" % torch.__version__)
    try:
        with torch.no_grad(), silent(), by_tensors(module):
            program = torch.export.export(module, tuple(inputs), strict=False)
            written = Written(program.run_decompositions({}).graph_signature)
    except Failure:
        raise
    except Exception as error:  # what a module's code can raise is anything
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        raise Failure("torch.export cannot express %s: %s: %s" % (name, type(error).__name__, first[:300])) from error
    for key in written.keys:
        if key.split(".")[-1] in STATISTICS:
            raise Failure("%s changes its own %s when it is called, which a kernel does not: call .eval() first" % (name, key))
    return program, written


def what_it_was_made_for(module, inputs, program, kernel):
    """How calls of the module become calls of the kernel: its parameters by the module's names, results in the module's containers."""
    problem = kernel.problem
    parameters = [tensor for tensor in problem["tensors"] if tensor["role"] == "parameter"]
    keys = [problem["provenance"].get("parameter " + tensor["name"]) for tensor in parameters]
    # What was not drawn was always the same while it was judged: a kernel may have it built in.
    fixed = [key for key, tensor in zip(keys, parameters) if key and tensor["generator"]["kind"] in ("constant", "file")]
    held = [problem["provenance"].get("parameter " + tensor["name"]) for tensor in problem["tensors"] if tensor["role"] == "input"]
    if not any("updates" in tensor for tensor in problem["tensors"]):
        held = None
    outputs = [(spec.arg.value,) if hasattr(spec.arg, "value") else None for spec in program.graph_signature.output_specs
               if spec.kind.name == "USER_OUTPUT"]
    leaves, structure = tree_flatten(tuple(inputs))
    return Made(module, leaves, structure, outputs, program.call_spec.out_spec, keys, fixed, held)


def called(module, inputs, written):
    """Of a call, and of a second one if the module goes on from what the first left in it: the results, without their containers, and
    what is left where it was written. Inputs, what the module holds and random numbers are afterwards as they were."""
    copies = tree_map(lambda one: one.detach().clone() if isinstance(one, torch.Tensor) else copy.deepcopy(one), tuple(inputs))
    devices = sorted({tensor.device.index for tensor in itertools.chain(inputs, module.parameters(), module.buffers())
                      if isinstance(tensor, torch.Tensor) and tensor.is_cuda})
    before, calls = random_states(devices), []
    with torch.no_grad(), torch.random.fork_rng(devices, device_type="cuda"), Kept(module, written.keys):
        for _ in range(2 if written.keys else 1):
            try:
                results = tree_flatten(module(*copies))[0]
            except (IndexError, RuntimeError):
                if not calls:
                    raise
                break  # what it holds has room for one
            calls.append([one.clone() if isinstance(one, torch.Tensor) else one for one in results] + written.left(module, copies))
        drawn = not all(map(torch.equal, before, random_states(devices)))
    if drawn:
        raise Failure("%s draws random numbers when it is called, which a kernel does not: call .eval() first" % type(module).__name__)
    return calls


def random_states(devices):
    return [torch.get_rng_state()] + [torch.cuda.get_rng_state(device) for device in devices]


def compare(expected, result, inputs, written):
    """The kernel's first calls beside the module's own: names and places are right, and nothing falls back."""
    name = type(result.hone.original).__name__
    given = called(result, inputs, written)
    if result.hone.fallbacks:
        raise Failure("%s falls back on its own example inputs: %s" % (name, next(iter(result.hone.fallbacks))))
    for wanted, made in zip(expected, given):
        for place, (want, have) in enumerate(zip(wanted, made)):
            left = place >= len(wanted) - len(written)
            if isinstance(want, torch.Tensor) and not alike(want, have, left):
                raise Failure("%s of %s's kernel is not the module's: please report it" %
                              ("what is left in place" if left else "result %d" % place, name), 3)
    result.hone.calls = 0


def alike(want, have, exact):
    """Whether it is the same tensor but for roundings; whole numbers that are `exact` count on."""
    if want.shape != have.shape or want.dtype != have.dtype:
        return False
    if not want.is_floating_point():
        return not exact or torch.equal(want, have)
    if not want.isfinite().all():
        return True
    return bool((have.double() - want.double()).norm() <= LARGEST_DIFFERENCE * want.double().norm() + 1e-6 * want.numel() ** 0.5)
