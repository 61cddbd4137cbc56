"""A module with a kernel for the calls that it was made for, which goes back to the module, and says so, for all others."""
import collections
import inspect
import itertools
import warnings

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten


class FallsBack(UserWarning):
    """A call went to the module and not to the kernel. `warnings.simplefilter("error", hone.FallsBack)` makes it an error."""


def find(module, dotted):
    for name in dotted.split("."):
        module = getattr(module, name)
    return module


def place_of(module, dotted):
    """(the dict that holds it, its name in there): for as long as the parts stay the same."""
    above, _, name = dotted.rpartition(".")
    owner = find(module, above) if above else module
    return owner._parameters if name in owner._parameters else owner._buffers, name


class Made:
    """What a kernel was made for. All of it is taken when it is made, from the module and from what torch.export said of it."""

    def __init__(self, module, leaves, structure, outputs, output_structure, keys, fixed, held=None):
        self.structure, self.output_structure = structure, output_structure
        self.constants = [None if isinstance(leaf, torch.Tensor) else (leaf,) for leaf in leaves]  # arguments that are no tensors
        self.tensors_alone = all(constant is None for constant in self.constants)
        self.outputs = outputs  # (value,) where the module gives what is no tensor, else None
        tensors = dict(itertools.chain(module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)))
        # Places are looked up once: an attribute of a module takes longer than all that is asked of it here.
        self.fixed = [(key, place_of(module, key), tensors[key].detach().cpu().clone()) for key in fixed]
        same = collections.defaultdict(list)
        for key, tensor in tensors.items():
            same[id(tensor)].append(key)
        self.tied = [(keys, [place_of(module, key) for key in keys]) for keys in same.values() if len(keys) > 1]
        # Most calls are tensors in a row and one tensor back: those are not taken apart and put together by pytree, which costs more
        # than a small kernel takes.
        self.in_a_row = structure == tree_flatten(tuple(range(len(leaves))))[1]
        self.one_result = outputs == [None] and output_structure == tree_flatten(0)[1]
        # Of the kernel's parameters, in the module; None: one that is part of the problem.
        self.places = [None if key is None else place_of(module, key) for key in keys]
        # Of a kernel that writes in place likewise its inputs; None: an argument of forward.
        self.held = None if held is None else [None if key is None else place_of(module, key) for key in held]
        self.parts = [(part, part._modules, tuple(part._modules.values()), part.training) for part in module.modules()]

    # A pytree's structure does not pickle for good: containers with numbers as their leaves do.
    def __getstate__(self):
        state = dict(self.__dict__)
        for name in ("structure", "output_structure"):
            state[name] = tree_unflatten(list(range(state[name].num_leaves)), state[name])
        return state

    def __setstate__(self, state):
        self.__dict__.update({"held": None, **state})  # what was saved before there was such a thing has none
        for name in ("structure", "output_structure"):
            self.__dict__[name] = tree_flatten(state[name])[1]


class Standing:
    """`module.hone` of an Optimized: how it goes. calls: of the kernel; fallbacks: calls of the module, counted by their reason."""

    def __init__(self, original, kernel, made, run):
        self.original, self.kernel, self.made, self.run = original, kernel, made, run
        self.calls, self.fallbacks = 0, collections.Counter()
        self._constants = {}
        self._python = None
        self._seen = {}  # of the fixed parameters: key -> (address, version) that was compared

    def __getstate__(self):  # a copy counts its own
        return {**self.__dict__, "calls": 0, "fallbacks": collections.Counter(), "_constants": {}, "_python": None, "_seen": {}}

    @property
    def python(self):
        """The module that computes: hone_kernel.py of the kernel's bundle."""
        if self._python is None:
            self._python = self.kernel.python
        return self._python

    def constant(self, number, device):
        """A parameter that is part of the problem and not of the module: a table that forward makes."""
        if (number, device) not in self._constants:
            kernel = self.python
            self._constants[number, device] = kernel.constant(kernel.PARAMETERS[number], device)
        return self._constants[number, device]

    def refresh(self):
        """After a write to a parameter through .data, which leaves no trace: the kernel prepares its parameters again."""
        self._seen.clear()
        self.python.release()

    def __repr__(self):
        lines = ["%d calls of the kernel, %d of the module" % (self.calls, sum(self.fallbacks.values()))]
        return "\n".join(lines + ["%7d: %s" % (count, reason) for reason, count in self.fallbacks.most_common()])


# What both objects have in common, so that names, states, moves and gradients are those of the original.
SHARED = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")


class Optimized(torch.nn.Module):
    """Stands in for `hone.original`: the same parameters, buffers and parts under the same names, the same state_dict. Where a call is
    not what the kernel was made for, the original is called, a FallsBack warns once for each reason, and `hone.fallbacks` counts.

    Attributes that it has not are the original's, and such as are set are set there.
    """

    def __init__(self, original, kernel, made, run=None):
        super().__init__()
        self._stand_in(Standing(original, kernel, made, run))

    def _stand_in(self, standing):
        self.__dict__["hone"] = standing
        for name in SHARED:
            self.__dict__[name] = standing.original.__dict__[name]
        self.__dict__["training"] = standing.original.training

    def __getstate__(self):
        return {key: value for key, value in self.__dict__.items() if key not in SHARED}

    def __setstate__(self, state):
        super().__init__()
        self.__dict__.update(state)
        self._stand_in(state["hone"])

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if "hone" not in self.__dict__:
                raise
            return getattr(self.hone.original, name)

    def __setattr__(self, name, value):
        if "hone" in self.__dict__:
            setattr(self.hone.original, name, value)
        if name == "training" or "hone" not in self.__dict__:
            super().__setattr__(name, value)

    def train(self, mode=True):
        self.hone.original.train(mode)
        self.__dict__["training"] = self.hone.original.training
        return self

    def state_dict(self, *arguments, **named):
        return self.hone.original.state_dict(*arguments, **named)

    def load_state_dict(self, *arguments, **named):
        return self.hone.original.load_state_dict(*arguments, **named)

    def _load_from_state_dict(self, *arguments, **named):  # of a module that this is a part of
        return self.hone.original._load_from_state_dict(*arguments, **named)

    def extra_repr(self):
        return "%s with a kernel of hone" % type(self.hone.original).__name__

    def forward(self, *arguments, **named):
        hone = self.hone
        given, reason = arguments, None
        if named:
            given, reason = positional(hone.original, arguments, named)
        if reason is None:
            leaves, reason = leaves_of(hone.made, given)
        if reason is None:
            reason = why_not(hone, leaves)
        if reason is None:
            kernel = hone.python
            made = hone.made
            tensors = list(leaves) if made.tensors_alone else [leaf for leaf, constant in zip(leaves, made.constants) if constant is None]
            device = tensors[0].device if tensors else torch.device(kernel.DEVICE)
            if made.held is not None:
                given = iter(tensors)
                tensors = [next(given) if place is None else place[0].get(place[1]) for place in made.held]
                device = device if tensors[0] is None else tensors[0].device
            parameters = [hone.constant(number, device) if place is None else place[0].get(place[1])
                          for number, place in enumerate(made.places)]
            if any([tensor is None for tensor in tensors + parameters]):
                reason = "a parameter that it had is none any more"
            elif torch.is_grad_enabled() and any(tensor.requires_grad for tensor in itertools.chain(tensors, parameters)):
                reason = "gradients are wanted, and the kernel computes forward only: call it under torch.no_grad()"
            else:
                try:  # what traces needs the operator; else it would cost twice what the call does
                    result = (kernel.run if made.held is not None or kernel.traced() else kernel.compute)(tensors, parameters)
                except kernel.KernelError as error:
                    reason = str(error)
        if reason is not None:
            return self._fall_back(reason, arguments, named)
        hone.calls += 1
        if hone.made.one_result:
            return result
        results = iter((result,) if isinstance(result, torch.Tensor) else result or ())
        return tree_unflatten([next(results) if constant is None else constant[0] for constant in hone.made.outputs],
                              hone.made.output_structure)

    def _fall_back(self, reason, arguments, named):
        hone = self.hone
        hone.fallbacks[reason] += 1
        if hone.fallbacks[reason] == 1:
            warnings.warn("%s is called without its kernel: %s" % (type(hone.original).__name__, reason), FallsBack, stacklevel=5)
        return hone.original(*arguments, **named)


def positional(module, arguments, named):
    """The arguments in forward's order, or why they have none."""
    try:
        bound = inspect.signature(module.forward).bind(*arguments, **named)
    except TypeError:
        return arguments, "the arguments are none of forward's"  # which will say so
    if bound.kwargs:
        return arguments, "%s is given by its name, and the kernel was made for arguments by their place" % next(iter(bound.kwargs))
    return bound.args, None


def leaves_of(made, arguments):
    """The arguments without their containers, or why they are none of the kernel's."""
    if made.in_a_row and len(arguments) == len(made.constants):
        return arguments, None  # containers among them are no tensors, which is seen next
    leaves, structure = tree_flatten(arguments)
    if structure != made.structure:
        return leaves, "the kernel was made for %d arguments, in other containers or not: got %d" % (len(made.constants), len(leaves))
    return leaves, None


def why_not(hone, leaves):
    """Why the kernel cannot do this call, but for what it says itself of shapes, types and devices; or None."""
    made = hone.made
    for place, (leaf, constant) in enumerate(zip(leaves, made.constants)):
        if constant is not None:
            if type(leaf) is not type(constant[0]) or leaf != constant[0]:
                return "argument %d is %.100r, the kernel was made for %r" % (place, leaf, constant[0])
        elif type(leaf) not in (torch.Tensor, torch.nn.Parameter):
            return "argument %d is a %s and no plain tensor" % (place, type(leaf).__name__)
        elif leaf.layout is torch.strided and not leaf.is_contiguous():
            return "argument %d has the strides %s, the kernel was made for dense rows: use .contiguous()" % (place, tuple(leaf.stride()))
    if torch.is_autocast_enabled(hone.python.DEVICE):
        return "autocast is on, and the kernel computes in the types that it was made for"
    for part, held, inside, training in made.parts:
        if part.training is not training:
            return "%s is in %s mode, the kernel was made in %s mode" % (
                type(part).__name__, *("training" if mode else "evaluation" for mode in (part.training, training)))
        if len(held) != len(inside) or (inside and tuple(held.values()) != inside):
            return "%s has other parts than when the kernel was made" % type(part).__name__
    for keys, places in made.tied:
        first = places[0][0].get(places[0][1])
        if any(held.get(name) is not first for held, name in places):
            return "%s are no longer one tensor" % " and ".join(keys)
    for key, (held, name), value in made.fixed:
        now = held.get(name)
        if now is None:
            return "a parameter that it had is none any more"
        seen = (now.data_ptr(), None if now.is_inference() else now._version)
        if hone._seen.get(key) == seen and seen[1] is not None:
            continue
        if now.is_cuda and torch.cuda.is_current_stream_capturing():
            return "%s was not compared with what it was when the kernel was judged: call it once before it is captured into a graph" % key
        if now.shape != value.shape or now.dtype != value.dtype or not torch.equal(now.detach().cpu(), value.cpu()):
            return "%s has other values than those that the kernel was judged with" % key
        hone._seen[key] = seen
    return None
