"""Times a KernelBench-style Model in PyTorch, eager or compiled, for as long as it is asked to.

Run by hone as a child: python -I -c THIS FILE.py eager|eager_tf32|compile THREADS FLUSH_BYTES cpu|cuda. On a GPU the times are
between two events of the device. One JSON object a line:
  first          {"ready": true, "torch": "2.13.0", "mode": "eager"}
  for each line  {"runs": N, "cold": false}  ->  {"ns": [nanoseconds of each run]}
  on failure     {"error": "one line"}, and it ends
"""
import ctypes
import json
import os
import sys
import time
import types

# Lines go to our real standard output; whatever the user's file prints goes to standard error.
ANSWER = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

PATH, MODE, THREADS = sys.argv[1], sys.argv[2], int(sys.argv[3])
FLUSH_BYTES = int(sys.argv[4]) if len(sys.argv) > 4 else 256 << 20
DEVICE = sys.argv[5] if len(sys.argv) > 5 else "cpu"


def say(document):
    ANSWER.write(json.dumps(document) + "\n")
    ANSWER.flush()


def fail(error):
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    say({"error": " ".join(("%s: %s: %s" % (PATH, type(error).__name__, first)).split())[:600]})
    os._exit(1)


def lend_vector_functions():
    """What Inductor writes for a CPU calls SLEEF, which some builds of PyTorch keep to themselves: then the code that it
    tries does not load, and it writes scalar code, which flatters whoever is compared with it."""
    sleef = "libsleef.so.3"
    try:
        ctypes.CDLL(sleef, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return
    os.environ["LD_PRELOAD"] = " ".join(filter(None, (sleef, os.environ.get("LD_PRELOAD"))))  # the trial is a child's


def build(torch):
    with open(PATH, "rb") as file:
        code = compile(file.read(), PATH, "exec")
    module = types.ModuleType("hone_problem_file")
    module.__file__ = PATH
    sys.modules["hone_problem_file"] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(PATH)))
    torch.manual_seed(42)  # as KernelBench does before it makes the model
    exec(code, module.__dict__)
    torch.manual_seed(42)
    init = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
    model = module.Model(*init) if isinstance(init, (list, tuple)) else module.Model(**init)
    torch.manual_seed(42)
    return model, list(module.get_inputs())


def main():
    import torch

    torch.set_num_threads(THREADS)
    if MODE not in ("eager", "eager_tf32", "compile"):
        raise ValueError("mode is %s; known are eager, eager_tf32, compile" % MODE)
    if MODE == "eager_tf32":
        torch.backends.cuda.matmul.allow_tf32 = True
    if MODE == "compile" and not hasattr(torch, "compile"):
        raise RuntimeError("torch %s has no torch.compile; it needs torch 2" % torch.__version__)
    model, inputs = build(torch)
    if DEVICE == "cuda":
        model = model.cuda()
        inputs = [one.cuda() if isinstance(one, torch.Tensor) else one for one in inputs]
    if MODE == "compile":
        if DEVICE == "cpu":
            lend_vector_functions()
        model = torch.compile(model)
    flush = None
    clock = time.perf_counter_ns
    if DEVICE == "cuda":
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.no_grad():
        for _ in range(3):
            model(*inputs)
        say({"ready": True, "torch": torch.__version__.split("+")[0], "mode": MODE})
        for line in sys.stdin:
            request = json.loads(line)
            cold = bool(request.get("cold"))
            if cold and flush is None:
                flush = torch.zeros(max(FLUSH_BYTES, 64), dtype=torch.uint8, device=DEVICE)
            times = []
            for _ in range(int(request["runs"])):
                if cold:
                    flush.add_(1)  # every cache line of it is written, so that the inputs' are gone
                if DEVICE == "cuda":
                    torch.cuda.synchronize()
                    start.record()
                    result = model(*inputs)
                    stop.record()
                    stop.synchronize()
                    times.append(int(start.elapsed_time(stop) * 1e6))
                else:
                    begin = clock()
                    result = model(*inputs)
                    end = clock()
                    times.append(end - begin)
                del result  # freed outside of the measured time
            say({"ns": times})


try:
    main()
except BaseException as error:
    fail(error)
os._exit(0)  # no destructors or exit handlers of the user's file
