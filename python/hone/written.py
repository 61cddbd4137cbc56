"""What a module's forward writes into: tensors among its arguments, and such as it holds."""
import itertools

import torch
from torch.utils._pytree import tree_flatten

STATISTICS = ("running_mean", "running_var", "num_batches_tracked")  # of norms: kernels leave them alone


def held_by(module):
    """Parameters and buffers by their dotted names."""
    return dict(itertools.chain(module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)))


class Written:
    """By the program's signature, once it is functional. leaves: numbers of arguments without their containers; keys: names of what
    the module holds."""

    def __init__(self, signature):
        self.leaves = sorted(signature.user_inputs.index(name) for name in signature.user_inputs_to_mutate.values())
        self.keys = [*signature.buffers_to_mutate.values(), *getattr(signature, "parameters_to_mutate", {}).values()]

    def __len__(self):
        return len(self.leaves) + len(self.keys)

    def left(self, module, arguments):
        """What a call left there: copies."""
        flat, held = tree_flatten(tuple(arguments))[0], held_by(module)
        return [one.detach().clone() for one in [flat[leaf] for leaf in self.leaves] + [held[key] for key in self.keys]]


class Kept:
    """`with Kept(module, keys)`: what it holds under these names is afterwards as it was before."""

    def __init__(self, module, keys):
        held = held_by(module)
        self.tensors = [held[key] for key in keys]

    def __enter__(self):
        self.values = [tensor.detach().clone() for tensor in self.tensors]

    def __exit__(self, *ignored):
        with torch.no_grad():
            for tensor, value in zip(self.tensors, self.values):
                tensor.copy_(value)
