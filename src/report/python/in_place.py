"""What the kernel of this folder writes into tensors that it is given: a cache, a state, a position. A part of hone_kernel.py.

Such a tensor is input and output in one memory. Nothing of it is copied, since the caller would not see what is written into a copy:
one that does not lie as the kernel reads and writes it is refused.
"""
import torch

KEPT_PLACES = 64  # sets of addresses that were looked at

# By PyTorch's own count of changes, which autograd and caches look at. Before 2.1, a write of no element counts as one.
count_change = getattr(torch.autograd.graph, "increment_version", None) or (lambda tensor: tensor.detach().view(-1)[:0].zero_())


def memory_of(tensor):
    """The first address and the one behind the last."""
    begin = tensor.data_ptr()
    if tensor.layout is not torch.strided or tensor.numel() == 0:
        return begin, begin
    reach = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride()))
    return begin, begin + (reach + 1) * tensor.element_size()


class InPlace:
    """Of a problem's inputs, those that its outputs update. `places`: their numbers; none: all that follows is of no use."""

    def __init__(self, module):
        provenance = module.PROBLEM.get("provenance", {})
        self.module, self.updates = module, module.UPDATES
        self.places = sorted({place for place in self.updates if place is not None})
        self.fresh = [spec for spec, place in zip(module.OUTPUTS, self.updates) if place is None]  # outputs of memory of their own
        self.returned = ["written " + spec["name"] not in provenance for spec in module.OUTPUTS]  # by forward; others it leaves there
        self.held = [provenance.get("parameter " + spec["name"]) for spec in module.INPUTS]  # by the module, and under which name
        self.apart = {}  # addresses of a call's tensors, of which none lies in another that is written -> the inputs' strides
        self.arguments = [spec for spec, key in zip(module.INPUTS, self.held) if key is None]

    def check(self, inputs, parameters, alignment):
        """Refuses what cannot be written where it is. Most calls are on the same tensors as one before, and looked through in a hurry."""
        addresses = [tensor.data_ptr() for tensor in inputs]
        for place in self.places:
            tensor = inputs[place]
            if addresses[place] % alignment or not tensor.is_contiguous() or tensor.requires_grad or tensor.is_inference():
                self.check_one(self.module.INPUTS[place]["name"], tensor, alignment)
        key = tuple(addresses + [tensor.data_ptr() for tensor in parameters])
        layout = [tensor.stride() for tensor in inputs]
        if self.apart.get(key) != layout:
            self.check_apart(inputs, parameters)
            if len(self.apart) >= KEPT_PLACES:
                self.apart.clear()
            self.apart[key] = layout

    def check_one(self, name, tensor, alignment):
        why = None
        if not tensor.is_contiguous():
            why = "has the strides %s, where the kernel writes dense rows: keep it as .contiguous() makes it" % (tuple(tensor.stride()),)
        elif tensor.data_ptr() % alignment:
            why = "begins at no multiple of %d bytes: keep it as .clone() makes it" % alignment
        elif tensor.requires_grad and torch.is_grad_enabled():
            why = "wants gradients: call it under torch.no_grad()"
        elif tensor.is_inference() and not torch.is_inference_mode_enabled():
            why = "was made in inference mode: call it there, too"
        if why:
            raise self.module.KernelError("%s is written in place and %s" % (name, why))

    def check_apart(self, inputs, parameters):
        """What is written is nothing else of the call: nobody said in which order that would be read."""
        named = list(zip([*inputs, *parameters], self.module.INPUTS + self.module.PARAMETERS))
        for place in self.places:
            begin, end = memory_of(inputs[place])
            for number, (other, spec) in enumerate(named):
                first, behind = memory_of(other)
                if number != place and first < end and begin < behind:
                    raise self.module.KernelError("%s is written in place and shares memory with %s: give it memory of its own" %
                                                  (self.module.INPUTS[place]["name"], spec["name"]))

    def addresses(self, inputs, made):
        """Of all outputs; `made`: those of memory of their own."""
        own = iter(made)
        return [(next(own) if place is None else inputs[place]).data_ptr() for place in self.updates]

    def count(self, inputs):
        """As PyTorch counts what it writes in place itself."""
        for place in self.places:
            if not inputs[place].is_inference():
                count_change(inputs[place])

    def results(self, inputs, made):
        """What forward returns of a call: None, a tensor or a tuple of them."""
        own = iter(made)
        every = [next(own) if place is None else inputs[place] for place in self.updates]
        results = tuple([one for one, returned in zip(every, self.returned) if returned])
        return results if len(results) > 1 else results[0] if results else None

    def whole(self, read, written):
        """The inputs in their order, of those that are only read and of those that are written."""
        read, written = iter(read), iter(written)
        return [next(written if place in self.places else read) for place in range(len(self.module.INPUTS))]

    def parted(self, inputs):
        return [one for place, one in enumerate(inputs) if place not in self.places], [inputs[place] for place in self.places]
