"""How tensors reach the kernel of this folder and results come back, on a CUDA device. A part of hone_kernel.py.

A call queues the kernel's launches on the current stream of its inputs' device and returns. Results and scratch memory come from
PyTorch's allocator with each call, so calls on several streams, and threads, do not meet; what is prepared of parameters is shared,
and a call on another stream than the last waits for that on the device. It may be captured into a CUDA graph once its parameters are
prepared, by a first call; what a graph has captured stays as it was prepared.
"""
import ctypes
import threading
from collections import OrderedDict

import torch

ALIGNMENT = 512   # bytes, of every tensor that the kernel sees, as when it was judged
KEPT_STATES = 4   # sets of prepared parameters on all devices, the oldest goes first; release() drops all


class State:
    """What was prepared of parameters on one device."""

    def __init__(self, parameters, places, versions, kept, memory, stream):
        self.kept = kept          # addresses, for the launches
        self.memory = memory      # tensors that live as long: parameters as the kernel reads them, and what it prepared of them
        self.parameters = parameters  # they too, so that nothing else comes to lie at their addresses or takes their ids
        self.places = places      # their addresses
        self.versions = versions  # None: the kernel reads the parameters themselves, whose values may change
        self.stream = stream      # that used it last; None: the memory is the parameters' own
        self.captured = False


class Calls:
    """Safe from any thread."""

    DEVICE, PLACE = "cuda", "a CUDA device"

    def __init__(self, module, dtypes, check, in_place):
        self.module, self.dtypes, self.check, self.in_place = module, dtypes, check, in_place
        self.facts = module.EXPORT["cuda"]
        self.scratch_bytes = self.facts["scratch_bytes"]
        self.inputs, self.outputs = ([(self.dtypes[spec["dtype"]], tuple(spec["shape"])) for spec in specs]
                                     for specs in (module.INPUTS, in_place.fresh))
        self.addresses = ctypes.c_uint64 * (len(module.INPUTS) + len(module.OUTPUTS) + 1)
        self.states = OrderedDict()  # device and parameters' ids -> State
        self.captured = []  # states that a graph may still read
        self.lock = threading.Lock()  # who uses a state's own memory next is decided by one thread at a time
        self.function = None

    # What PyTorch says of the device, apart so that tests can stand in for it.
    current_device = staticmethod(lambda: torch.device("cuda", torch.cuda.current_device()))
    capturing = staticmethod(lambda: torch.cuda.is_current_stream_capturing())

    @staticmethod
    def stream_of(device):
        # As PyTorch's own generated code asks for it: an object of torch.cuda.Stream takes longer than a launch.
        return torch._C._cuda_getCurrentRawStream(device.index)

    def follow(self, state, device, stream):
        """What is queued on `stream` from now on comes after what the state's last stream has queued."""
        torch.cuda.current_stream(device).wait_stream(torch.cuda.ExternalStream(state.stream, device))
        for tensor in state.memory:
            tensor.record_stream(torch.cuda.current_stream(device))
        state.stream = stream

    def launch(self, at, kept, device, prepare, stream):
        if self.function is None:
            library = ctypes.CDLL(self.module.build())
            library.hone_launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
            library.hone_launch.restype = ctypes.c_char_p
            self.function = library.hone_launch
        error = self.function(at, kept, device.index or 0, prepare, stream)
        if error is not None:
            said = error.decode(errors="replace")
            if "NO_BINARY_FOR_GPU" in said:
                said = "it is machine code for %s, and %s is another device" % (self.facts["arch"], device)
            raise self.module.KernelError("the kernel failed: " + said)

    def prepare(self, key, parameters, device, stream):
        """Anew: a parameter was changed or replaced, or it is the first call."""
        self.check(parameters, self.module.PARAMETERS, "parameter", device)
        if self.capturing():
            raise self.module.KernelError("its parameters are not prepared: call it once before it is captured into a graph")
        self.states.pop(key, None)
        while len(self.states) >= KEPT_STATES:
            self.states.popitem(last=False)
        dense = [self.ready(parameter.detach()) for parameter in parameters]
        memory = [one for one, parameter in zip(dense, parameters) if one.data_ptr() != parameter.data_ptr()]
        if self.facts["kept_bytes"]:
            memory.append(torch.empty(self.facts["kept_bytes"], dtype=torch.uint8, device=device))
        places = [one.data_ptr() for one in dense] + [memory[-1].data_ptr() if self.facts["kept_bytes"] else 0]
        kept = (ctypes.c_uint64 * len(places))(*places)
        self.launch(self.addresses(), kept, device, 1, stream)  # loads the kernel, too
        counted = not any(parameter.is_inference() for parameter in parameters)  # else nobody counts their changes
        state = State(parameters, [parameter.data_ptr() for parameter in parameters],
                      [parameter._version for parameter in parameters] if memory and counted else None, kept, memory, stream if memory else None)
        if counted or not memory:
            self.states[key] = state
        return state

    @staticmethod
    def ready(tensor):
        """The same values, dense, where the kernel may read them in large words."""
        tensor = tensor.contiguous()
        return tensor if tensor.data_ptr() % ALIGNMENT == 0 else tensor.clone()

    def state_of(self, parameters, device, stream):
        """Prepared once, and again when a parameter was changed or replaced. A write through .data is not seen: call release()."""
        key = (device.index, *map(id, parameters))
        state = self.states.get(key)
        if state is None or [parameter.data_ptr() for parameter in parameters] != state.places or \
                (state.versions is not None and [parameter._version for parameter in parameters] != state.versions):
            state = self.prepare(key, parameters, device, stream)
        if state.stream is not None:  # memory of its own
            if self.capturing():
                if not state.captured:
                    state.captured = True
                    self.captured.append(state)
            elif state.stream != stream:
                self.follow(state, device, stream)
        return state

    def release(self):
        """Drops what was prepared; the next call prepares again."""
        self.states.clear()

    def empty_outputs(self, like=None):
        device = like.device if like is not None else self.current_device()
        return [torch.empty(shape, dtype=dtype, device=device) for dtype, shape in self.outputs]

    def compute(self, inputs, parameters):
        """A tensor, or a list of them if there are not one; of outputs that update inputs, none."""
        if len(inputs) != len(self.inputs):
            self.check(inputs, self.module.INPUTS, "input")
        device = inputs[0].device if inputs else parameters[0].device if parameters else self.current_device()
        if device.type != self.DEVICE:
            self.check(inputs, self.module.INPUTS, "input")
        in_place = self.in_place
        at, copies = [], []
        for tensor, (dtype, shape) in zip(inputs, self.inputs):
            if tensor.dtype is not dtype or tensor.shape != shape or tensor.device != device or tensor.layout is not torch.strided:
                self.check(inputs, self.module.INPUTS, "input", device)
            place = tensor.data_ptr()
            if place % ALIGNMENT or not tensor.is_contiguous():
                copies.append(self.ready(tensor.detach()))
                place = copies[-1].data_ptr()
            at.append(place)
        if in_place.places:
            in_place.check(inputs, parameters, ALIGNMENT)
        outputs = [torch.empty(shape, dtype=dtype, device=device) for dtype, shape in self.outputs]
        at += in_place.addresses(inputs, outputs)
        if self.scratch_bytes:
            scratch = torch.empty(self.scratch_bytes, dtype=torch.uint8, device=device)
            at.append(scratch.data_ptr())
        stream = self.stream_of(device)
        with self.lock:
            state = self.state_of(parameters, device, stream)
            self.launch(self.addresses(*at), state.kept, device, 0, stream)
        in_place.count(inputs)
        return outputs[0] if len(outputs) == 1 else outputs
