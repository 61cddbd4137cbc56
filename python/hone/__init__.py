"""hone from Python: it makes kernels faster and proves it. docs/python.md is the guide.

    fast = hone.optimize(module, x)    the module with a kernel for calls like module(x)
    hone.Run("3fa2")                   a run, to be looked at; hone.runs() lists them
    hone.call("doctor")                one verb's --json document
"""
from hone.process import Failure, call, program
from hone.run import Run, runs

__all__ = ["FallsBack", "Failure", "Optimized", "Run", "call", "optimize", "program", "runs"]


def __getattr__(name):
    """What needs PyTorch is imported when it is asked for: the program on the command line does not wait for it."""
    places = {"optimize": "hone.from_module", "FallsBack": "hone.optimized", "Optimized": "hone.optimized"}
    if name not in places:
        raise AttributeError("module 'hone' has no attribute '%s'" % name)
    import importlib
    return getattr(importlib.import_module(places[name]), name)
