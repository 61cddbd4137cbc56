"""Reads with PyTorch what only PyTorch can read, and answers one JSON document: {"problem": ...} or {"error": "one line"}.

A KernelBench-style file, a definition of SOL-ExecBench or FlashInfer-Bench, or a program that torch.export saved. Run by hone as
a child: python -I -c THIS OPTIONS, where OPTIONS is a JSON object (see import/through_python.cc and import/importers/).
Works with torch 2.6 or newer, and with torch 1.13. Tensors are fake ones, without data, wherever that goes.

This is how the program begins; the files of hone_import/ go on, one after the other in the order of problem/CMakeLists.txt.
"""
import contextlib
import ctypes
import hashlib
import json
import linecache
import math
import operator
import os
import re
import resource
import sys
import traceback
import types

# The answer goes to our real standard output; whatever the user's file prints goes to standard error.
ANSWER = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

OPTIONS = json.loads(sys.argv[1])
PATH = OPTIONS["path"]
KIND = OPTIONS.get("kind", "kernelbench_py")
CODE = PATH + " (reference)" if KIND == "definition" else PATH  # the file name that tracebacks give the user's code


class Complaint(Exception):
    """One line for the user: PATH or PATH:LINE is put before it."""

    def __init__(self, message, line=None):
        super().__init__(message)
        self.line = line


def answer(document):
    ANSWER.write(json.dumps(document) + "\n")
    ANSWER.flush()
    os._exit(0)  # no destructors or exit handlers of the user's file


def fail(message, line=None):
    place = PATH if line is None else "%s: line %d of the reference" % (PATH, line) if KIND == "definition" else "%s:%d" % (PATH, line)
    answer({"error": "%s: %s" % (place, " ".join(str(message).split())[:600])})


def line_in_file(error):
    """The innermost line of the user's file that the error passed through, or None."""
    lines = [row.lineno for row in traceback.extract_tb(error.__traceback__) if row.filename == CODE]
    return lines[-1] if lines else None


def out_of_memory(error):
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error) or "not enough memory" in str(error)


def describe_error(error):
    first = next((row.strip() for row in str(error).splitlines() if row.strip()), "")
    text = "%s: %s" % (type(error).__name__, first) if first else type(error).__name__
    if isinstance(error, ModuleNotFoundError) and error.name:
        text += " (pip install %s)" % error.name.split(".")[0]
    if out_of_memory(error):
        text = "needs more than the %.1f GB of memory that an import may take; make its sizes smaller" % (OPTIONS["memory_bytes"] / 1e9)
    return text


def set_memory_limit():
    # Of data, not of addresses: PyTorch maps far more than it ever touches.
    # Large blocks are mapped by themselves: of a heap, what is let go leaves holes that the next of the size does not fit into.
    M_MMAP_THRESHOLD = -3
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 1 << 22)
    limit = OPTIONS["memory_bytes"]
    if limit:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def set_process_limit():
    # In a sandbox, where nobody else's are counted. Threads are, too. It does not hold for root: there hone itself counts
    # processes.
    with open("/proc/self/uid_map") as file:
        if file.read().split() == ["0", "0", "4294967295"]:
            return
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    most = 4096 if hard == resource.RLIM_INFINITY else min(4096, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


# One thread is all that an import uses, and libraries keep some 30 MB ready for each: on a hundred cores most of the limit.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

try:
    import torch
except ImportError as error:
    fail("%s has no torch: %s" % (sys.executable, error))

import torch.nn as nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

NEW = hasattr(torch, "export") and hasattr(torch.export, "default_decompositions")
if not NEW and int(torch.__version__.split(".")[0]) >= 2:
    fail("torch %s is too old to be traced: install 2.6 or newer (1.13 goes, too)" % torch.__version__.split("+")[0])
SEED = 42  # KernelBench's, before the model is made

# An older torch lacks some.
DTYPES = {getattr(torch, row["torch"]): name for name, row in OPTIONS["types"].items() if hasattr(torch, row["torch"])}
SAFETENSORS = {name: row["safetensors"] for name, row in OPTIONS["types"].items()}


def dtype_name(tensor, what):
    if tensor.dtype not in DTYPES:
        raise Complaint("%s is of type %s, which hone does not know" % (what, tensor.dtype))
    return DTYPES[tensor.dtype]
