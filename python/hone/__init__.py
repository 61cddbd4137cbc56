"""hone from Python: it makes kernels faster and proves it. docs/python.md is the guide.

    hone.program()                  where the program lies that came with this package
    hone.call("doctor")             one verb's --json document
"""
from hone.program import Failure, call, program

__all__ = ["Failure", "call", "program"]
