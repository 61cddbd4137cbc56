"""How tensors reach the kernel of this folder and results come back, on the CPU. A part of hone_kernel.py."""
import threading
from collections import OrderedDict

import torch

KEPT_STATES = 8  # sets of prepared parameters, the oldest goes first; release() drops all


def version(tensor):
    # Inference tensors count no changes.
    return None if tensor.is_inference() else tensor._version


class Calls:
    """Safe from any thread."""

    DEVICE, PLACE = "cpu", "the CPU"

    def __init__(self, module, dtypes, check, in_place):
        self.module, self.dtypes, self.check, self.in_place = module, dtypes, check, in_place
        self.states = OrderedDict()  # what the parameters were -> State
        self.lock = threading.Lock()  # a state must not be released by one thread while another uses it

    def ready(self, tensor):
        """The same values, dense and aligned as include/hone/module.h promises."""
        tensor = tensor.detach().contiguous()
        return tensor if tensor.data_ptr() % self.module.ALIGNMENT == 0 else tensor.clone()

    def state_of(self, kernel, parameters, threads):
        """Prepared once, and again when a parameter was changed or replaced. A write through .data is not seen: call release()."""
        places = tuple(parameter.data_ptr() for parameter in parameters)
        versions = tuple(version(parameter) for parameter in parameters)
        key = (places, versions, threads)
        state = self.states.get(key)
        if state is not None and None not in versions:
            self.states.move_to_end(key)
            return state
        for other in [other for other in self.states if other[0] == places]:
            self.states.pop(other).release()
        while len(self.states) >= KEPT_STATES:
            self.states.popitem(last=False)[1].release()
        kept = [self.ready(parameter) for parameter in parameters]
        # The state holds on to the memory, so that no other tensor comes to lie at the addresses in its key.
        keep = (kept, [parameter.detach() for parameter in parameters])
        state = self.states[key] = kernel.prepare([tensor.data_ptr() for tensor in kept], threads, keep)
        return state

    def release(self):
        """Drops what was prepared; the next call prepares again."""
        while self.states:
            self.states.popitem()[1].release()

    def empty_outputs(self, like=None):
        device = like.device if like is not None else "cpu"
        return [torch.empty(spec["shape"], dtype=self.dtypes[spec["dtype"]], device=device) for spec in self.in_place.fresh]

    def compute(self, inputs, parameters):
        """A tensor, or a list of them if there are not one; of outputs that update inputs, none."""
        self.check(inputs, self.module.INPUTS, "input")
        self.check(parameters, self.module.PARAMETERS, "parameter")
        in_place = self.in_place
        if in_place.places:
            in_place.check(inputs, parameters, self.module.ALIGNMENT)
        given, inputs = inputs, [self.ready(tensor) for tensor in inputs]
        outputs = self.empty_outputs()
        threads = torch.get_num_threads()
        kernel = self.module.kernel()
        with self.lock:
            state = self.state_of(kernel, parameters, threads)
            kernel.run(state, [t.data_ptr() for t in inputs], in_place.addresses(inputs, outputs), threads)
        in_place.count(given)
        return outputs[0] if len(outputs) == 1 else outputs
