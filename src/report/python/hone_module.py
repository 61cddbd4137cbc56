"""The kernel of this folder without PyTorch: builds kernel.cc on first use and calls it, if it is one for the CPU. Standard library
only.

The shared object lies in build/, named after its source, flags, compiler and processor: a folder that was carried to another machine
builds again. HONE_CXX names another compiler than g++ (or clang++). Failures are a KernelError of one line.
"""
import ctypes
import hashlib
import json
import math
import os
import platform
import re
import shutil
import subprocess
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ABI_VERSION = 1  # of include/hone/module.h
ALIGNMENT = 64   # bytes, of every tensor that a module sees


class KernelError(RuntimeError):
    """What is wrong and the mend, in one line."""


def read_json(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return json.load(file)


PROBLEM = read_json("problem.json")
EXPORT = read_json("export.json")


def tensors(role):
    return [tensor for tensor in PROBLEM["tensors"] if tensor["role"] == role]


INPUTS, PARAMETERS, OUTPUTS = tensors("input"), tensors("parameter"), tensors("output")
# Of each output, the number of the input that it is written into, whose address is its own; or None.
UPDATES = [next((place for place, given in enumerate(INPUTS) if given["name"] == made.get("updates")), None) for made in OUTPUTS]
TYPES = EXPORT["types"]  # of elements: their size, layout and names


def count(tensor):
    return math.prod(tensor["shape"])


# ---------------------------------------------------------------------------------------------------------------------
# Building.

def find_compiler():
    wish = os.environ.get("HONE_CXX")
    for name in [wish] if wish else ["g++", "clang++"]:
        path = shutil.which(name)
        if path:
            return path
    raise KernelError("HONE_CXX is %s, which is no program here: set it to a C++ compiler or unset it" % wish if wish else
                      "no C++ compiler: install g++, or set HONE_CXX to one")


def processor():
    """What -march=native depends on."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            first = file.read().split("\n\n")[0]
    except OSError:
        return platform.processor()
    return "\n".join(line for line in first.splitlines()
                     if re.match(r"vendor_id|cpu family|model|stepping|flags|Features|CPU ", line))


def build():
    """The path of the shared object; compiles it if it is not there."""
    compiler = find_compiler()
    try:
        version = subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise KernelError("%s --version failed: %s" % (compiler, error)) from None
    flags = EXPORT["flags"]["clang" if "clang" in version.splitlines()[0] else "gcc"]
    if platform.machine() not in ("x86_64", "AMD64", "i686"):
        flags = [flag for flag in flags if not flag.startswith("-fcf-protection")]
    with open(os.path.join(HERE, "kernel.cc"), "rb") as file:
        source = file.read()
    key = hashlib.sha256("\0".join([version, processor(), *flags]).encode() + source).hexdigest()[:16]
    folder = os.path.join(HERE, "build")
    library = os.path.join(folder, "kernel-%s.so" % key)
    if os.path.exists(library):
        return library
    try:
        os.makedirs(folder, exist_ok=True)
        # Under another name first: whoever else loads it meanwhile sees all of it or nothing.
        handle, made = tempfile.mkstemp(suffix=".so", dir=folder)
    except OSError as error:
        raise KernelError("cannot write to %s: %s" % (folder, error.strerror)) from None
    os.close(handle)
    try:
        done = subprocess.run([compiler, *flags, "-I", os.path.join(HERE, "include"), os.path.join(HERE, "kernel.cc"), "-o", made],
                              cwd=HERE, capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["it said nothing"]
            raise KernelError("%s does not build kernel.cc: %s" % (compiler, lines[0]))
        os.replace(made, library)
    finally:
        if os.path.exists(made):
            os.unlink(made)
    return library


# ---------------------------------------------------------------------------------------------------------------------
# Calling: the structs of include/dlpack/dlpack.h and include/hone/module.h.

class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class HoneCall(ctypes.Structure):
    _fields_ = [("inputs", ctypes.POINTER(DLTensor)), ("input_count", ctypes.c_int32),
                ("parameters", ctypes.POINTER(DLTensor)), ("parameter_count", ctypes.c_int32),
                ("outputs", ctypes.POINTER(DLTensor)), ("output_count", ctypes.c_int32),
                ("threads", ctypes.c_int32), ("state", ctypes.c_void_p), ("stream", ctypes.c_void_p)]


CPU = 1


def describe(specs):
    """A C array of tensors without data, one a spec."""
    array = (DLTensor * len(specs))()
    for tensor, spec in zip(array, specs):
        shape = (ctypes.c_int64 * max(1, len(spec["shape"])))(*spec["shape"])
        row = TYPES[spec["dtype"]]
        tensor.device_type, tensor.ndim, tensor.lanes = CPU, len(spec["shape"]), 1
        tensor.code, tensor.bits = row["dlpack"], 8 * row["bytes"]
        tensor.shape = shape  # the pointer keeps the array alive
    return array


def point(array, pointers):
    for tensor, pointer in zip(array, pointers):
        tensor.data = pointer


class Kernel:
    """The loaded module. Safe from any thread: one call at a time."""

    def __init__(self):
        self.library = ctypes.CDLL(build())
        version = self.library.hone_abi_version()
        if version != ABI_VERSION:
            raise KernelError("kernel.cc has ABI version %d, this file knows %d: export it again" % (version, ABI_VERSION))
        self.prepares = hasattr(self.library, "hone_prepare")
        self.lock = threading.Lock()
        self.inputs, self.outputs = describe(INPUTS), describe(OUTPUTS)
        self.call = HoneCall(inputs=self.inputs, input_count=len(INPUTS), parameter_count=len(PARAMETERS), outputs=self.outputs,
                             output_count=len(OUTPUTS))

    def prepare(self, parameters, threads, keep=None):
        """A State for parameters at these addresses, whose values must stay until it is released. `keep` lives as long."""
        return State(self, parameters, threads, keep)

    def run(self, state, inputs, outputs, threads):
        """Addresses of dense row-major data, aligned to 64 bytes, in the order of problem.json. An output that updates an input has
        that one's."""
        with self.lock:
            if state.handle is None:
                raise KernelError("the kernel's state was released")
            point(self.inputs, inputs)
            point(self.outputs, outputs)
            call = self.call
            call.parameters, call.threads, call.state = state.parameters, threads, state.handle
            code = self.library.hone_run(ctypes.byref(call))
        if code != 0:
            raise KernelError("the kernel failed: hone_run returned %d" % code)


class State:
    """What hone_prepare made of the parameters."""

    def __init__(self, kernel, parameters, threads, keep):
        self.kernel, self.keep = kernel, keep
        self.parameters = describe(PARAMETERS)
        point(self.parameters, parameters)
        self.handle = ctypes.c_void_p()
        if kernel.prepares:
            call = HoneCall(parameters=self.parameters, parameter_count=len(PARAMETERS), threads=threads)
            with kernel.lock:
                code = kernel.library.hone_prepare(ctypes.byref(call), ctypes.byref(self.handle))
            if code != 0:
                self.handle = None
                raise KernelError("the kernel failed: hone_prepare returned %d" % code)

    def release(self):
        if self.handle is not None:
            with self.kernel.lock:
                handle, self.handle, self.keep = self.handle, None, None
                if self.kernel.prepares:
                    self.kernel.library.hone_release(handle)


_kernel = None
_kernel_lock = threading.Lock()


def kernel():
    """The one Kernel of this process, built and loaded when first asked for."""
    global _kernel
    with _kernel_lock:
        if _kernel is None:
            _kernel = Kernel()
        return _kernel


class Buffer:
    """Aligned memory for one tensor of problem.json, for those who have no PyTorch."""

    def __init__(self, spec, data=b""):
        size = count(spec) * TYPES[spec["dtype"]]["bytes"]
        self.memory = ctypes.create_string_buffer(size + ALIGNMENT)
        self.pointer = ctypes.addressof(self.memory) + -ctypes.addressof(self.memory) % ALIGNMENT
        self.view = (ctypes.c_char * size).from_address(self.pointer)
        if data:
            self.view[:] = data
