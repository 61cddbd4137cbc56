"""Times a KernelBench-style Model, or a program that torch.export saved (FILE.pt2), in PyTorch, in one mode or in several, for as
long as it is asked to.

Run by hone as a child: python -I -c THIS FILE MODE THREADS FLUSH_BYTES cpu|cuda [OWN.py CLASS]. MODE is that of requests
that name none:
  eager                 PyTorch's defaults
  eager_tf32            matrix products in TF32 as well
  eager_graph           eager, captured in a CUDA graph
  compile               torch.compile
  compile_max_autotune  torch.compile(mode="max-autotune"); getting ready may take minutes
  own                   the module CLASS of OWN.py ("": the one that is there) in the Model's place, as it is
A mode gets ready when it is first asked for. Before each timed call all inputs are written anew, with the values that they
have: so that caches hold them as they hold a candidate's, whose inputs are new each time. On a GPU the times are between two
events of the device, and warm calls are timed twice, in turn: with the stream held until all launches of the call are queued,
and as they are. One JSON object a line:
  first, on cuda {"open": true}  ->  {"device": true}, or {"device": false, "error": "one line"}, and it ends: nothing of FILE.py
                 has run yet. Before that line PyTorch is imported and no device is touched: another may be measured on it
  then           {"ready": true, "torch": "2.13.0", "mode": "eager"}
  for each line  {"runs": N, "ms": M, "cold": false, "mode": "eager"}  ->  {"ns": [nanoseconds of each run]}, of warm runs on
                 cuda with {"dispatched_ns": [...]} beside them; fewer than N after M milliseconds, but one
                 {"profile": N, "mode": "eager"}  ->  {"span_us": of a run, "kernels": [{"name", "us", "calls"}]}: a run's, of N, as
                 PyTorch's profiler sees them; on cpu the operators by their own time
  before OWN.py's is timed  {"give": {"inputs": ROWS, "parameters": ROWS, "outputs": ROWS}}: a row is a tensor of the problem,
                 {"name", "dtype" (torch's), "shape", "bytes", "at"}, in the memory of descriptor 3; an output's "written" is the
                 buffer, or the number of the input, that it is left in. The module gets the inputs, by
                 name the parameters, is called once, and what it makes is put there  ->  {"made": true}, or {"unlike": "why it
                 does not fit"}; "strays": its parameters that are none of the problem's. FILE.py, which may be "", gives what
                 the class is made with and the arguments of forward that are no tensors
  on failure     {"error": "one line"}, and it ends, or {"error": "one line", "goes_on": true}: this mode cannot be had

This is how the program begins; the files of hone_baseline/ go on, one after the other in the order of problem/CMakeLists.txt.
"""
import ctypes
import json
import mmap
import os
import resource
import sys
import threading
import time
import types

# Lines go to our real standard output; whatever the user's file prints goes to standard error.
ANSWER = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

PATH, MODE, THREADS = sys.argv[1], sys.argv[2], int(sys.argv[3])
FLUSH_BYTES = int(sys.argv[4]) if len(sys.argv) > 4 else 256 << 20
DEVICE = sys.argv[5] if len(sys.argv) > 5 else "cpu"
OWN, CLASS = (sys.argv[6:8] + ["", ""])[:2]
MODES = ("eager", "eager_tf32", "eager_graph", "compile", "compile_max_autotune") if not OWN else ("own",)
MEMORY = 3  # the descriptor of what is given


def say(document):
    ANSWER.write(json.dumps(document) + "\n")
    ANSWER.flush()


class Complaint(Exception):
    """What is wrong with OWN.py, in our words."""


def words(error):
    """One line, with the line of OWN.py that was at work."""
    where, trace = OWN or PATH, error.__traceback__
    while trace is not None:
        if OWN and trace.tb_frame.f_code.co_filename == OWN:
            where = "%s:%d" % (OWN, trace.tb_lineno)
        trace = trace.tb_next
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    kind = "" if isinstance(error, Complaint) else type(error).__name__ + ": "
    return " ".join(("%s: %s%s" % (where, kind, first)).split())[:600]


def fail(error):
    say({"error": words(error)})
    os._exit(1)


def limit_processes():
    """In a sandbox, where nobody else's are counted. Threads are, too. It does not hold for root: there hone itself
    counts processes."""
    with open("/proc/self/uid_map") as file:
        if file.read().split() == ["0", "0", "4294967295"]:
            return
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    most = 4096 if hard == resource.RLIM_INFINITY else min(4096, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


def limit_memory():
    """Of what may be allocated, nine tenths of what the machine has: a file that takes all fails, and nobody else."""
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 9 // 10
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def open_device(torch):
    try:
        torch.cuda.init()
        torch.zeros(1, device="cuda")
    except Exception as error:
        say({"device": False, "error": words(error)})
        os._exit(1)
    say({"device": True})
