"""The kernel of this folder for PyTorch: ModelNew, which stands in for the Model of model.py, and a torch.library operator.

    from hone_kernel import ModelNew
    model = ModelNew(...)                   # the constructor arguments of Model, the same parameters, the same state_dict
    y = model(x)

Needs the standard library, PyTorch (1.13 or newer; of a kernel for CUDA 2.4) and a C++ compiler. It computes the shapes, types and
constant arguments of problem.json, forward only, and refuses everything else with a KernelError of one line: nothing falls back to
PyTorch. hone_calls.py says on which device; inputs that do not lie as the kernel reads them are copied first.
Inputs that Model writes into, or buffers, are written where they are (hone_in_place.py).
"""
import hashlib
import importlib.util
import inspect
import json
import os
import re
import sys

import torch
from torch.utils._pytree import tree_flatten

HERE = os.path.dirname(os.path.abspath(__file__))


def load(name):
    """A file of this folder, as a module whose name no other folder's file has."""
    full = "hone_%s_%s" % (hashlib.sha256(HERE.encode()).hexdigest()[:12], name)
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, os.path.join(HERE, name + ".py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[full]
            raise
    return sys.modules[full]


hone_module = load("hone_module")
KernelError = hone_module.KernelError
PROBLEM, INPUTS, PARAMETERS, OUTPUTS = hone_module.PROBLEM, hone_module.INPUTS, hone_module.PARAMETERS, hone_module.OUTPUTS
PROVENANCE = PROBLEM.get("provenance", {})
WRITES = PROVENANCE.get("note writes", "")  # what Model's forward writes beside its results, and ModelNew's does not
DTYPES = {name: getattr(torch, row["torch"], None) for name, row in hone_module.TYPES.items()}  # an older torch lacks some
Calls = load("hone_calls").Calls
DEVICE = Calls.DEVICE
IN_PLACE = load("hone_in_place").InPlace(hone_module)  # which inputs it writes into
FRESH = IN_PLACE.fresh  # outputs of memory of their own


def check(given, specs, what, device=None):
    """Tensors that the kernel takes; `device`: where all of a call's are."""
    if len(given) != len(specs):
        raise KernelError("%s takes %d %ss (%s), got %d" % (PROBLEM["name"], len(specs), what, ", ".join(spec["name"] for spec in specs),
                                                            len(given)))
    for tensor, spec in zip(given, specs):
        if tensor.device.type != CALLS.DEVICE:
            raise KernelError("%s is on %s, the kernel computes on %s: move it with .%s()" %
                              (spec["name"], tensor.device, CALLS.PLACE, CALLS.DEVICE))
        if device is not None and tensor.device != device:
            raise KernelError("%s is on %s, and other tensors of this call on %s: move it there" % (spec["name"], tensor.device, device))
        if tensor.layout != torch.strided:
            raise KernelError("%s is %s, the kernel takes dense tensors: use .to_dense()" % (spec["name"], tensor.layout))
        if tensor.dtype != DTYPES[spec["dtype"]]:
            raise KernelError("%s is of type %s, the kernel was made for %s: convert it, or optimize for that type" %
                              (spec["name"], tensor.dtype, DTYPES[spec["dtype"]]))
        if list(tensor.shape) != spec["shape"]:
            raise KernelError("%s has the shape %s, the kernel was made for %s: optimize for that shape" %
                              (spec["name"], list(tensor.shape), spec["shape"]))


CALLS = Calls(hone_module, DTYPES, check, IN_PLACE)
compute, release, empty_outputs = CALLS.compute, CALLS.release, CALLS.empty_outputs


def fake(inputs, parameters):
    outputs = empty_outputs((list(inputs) + list(parameters) + [None])[0])
    return outputs[0] if len(outputs) == 1 else outputs


def in_rows(made):
    """As an operator gives it that writes in place: each result is one of the schema's."""
    return made if len(FRESH) == 1 else tuple(made) if made else None


def compute_in_place(inputs, parameters, written):
    return in_rows(compute(IN_PLACE.whole(inputs, written), parameters))


def fake_in_place(inputs, parameters, written):
    return in_rows(fake(IN_PLACE.whole(inputs, written), parameters))


def refuse_backward(*gradients):
    raise KernelError("the kernel of %s computes forward only: call it under torch.no_grad(), or use Model where gradients are "
                      "needed" % PROBLEM["name"])


def gradients_alike(gradients):
    """What a backward pass would give, for tracing: torch.compile looks at it though nobody may ever ask for gradients."""
    return [torch.empty(spec["shape"], dtype=DTYPES[spec["dtype"]], device=gradients[0].device) for spec in INPUTS + PARAMETERS]


# ---------------------------------------------------------------------------------------------------------------------
# The operator: torch.ops.hone_ID.NAME(inputs, parameters), or (inputs, parameters, written) where it writes into inputs.

NAMESPACE = "hone_" + hone_module.EXPORT["id"]
NAME = re.sub(r"\W", "_", "k_" + PROBLEM["name"] if not PROBLEM["name"][:1].isalpha() else PROBLEM["name"], flags=re.ASCII)
if IN_PLACE.places:  # torch.compile wants each result of such an operator by itself
    BODY, FAKE = compute_in_place, fake_in_place
    SCHEMA = "(Tensor[] inputs, Tensor[] parameters, Tensor(a!)[] written) -> %s" % (
        "Tensor" if len(FRESH) == 1 else "(%s)" % ", ".join(["Tensor"] * len(FRESH)))
else:
    BODY, FAKE = compute, fake
    SCHEMA = "(Tensor[] inputs, Tensor[] parameters) -> " + ("Tensor" if len(OUTPUTS) == 1 else "Tensor[]")
NEW = hasattr(torch.library, "custom_op")  # torch 2.4

if not hasattr(getattr(torch.ops, NAMESPACE), NAME):  # else another copy of this very export was loaded before
    if NEW:
        _definition = torch.library.custom_op("%s::%s" % (NAMESPACE, NAME), BODY, mutates_args=("written",) if IN_PLACE.places else (),
                                              schema=SCHEMA)
        _definition.register_fake(FAKE)
        # Backward is an operator of its own, which is traced like any other and refuses when it is run.
        _backward = torch.library.custom_op("%s::%s_backward" % (NAMESPACE, NAME), refuse_backward, mutates_args=(),
                                            schema="(Tensor[] gradients) -> Tensor[]")
        _backward.register_fake(gradients_alike)

        def backward(context, *gradients):
            flat = [one for one in tree_flatten(gradients)[0] if one is not None]
            made = [one if one.is_floating_point() else None for one in _backward(flat)]
            return made[: len(INPUTS)], made[len(INPUTS) :]

        if IN_PLACE.places:  # an operator that writes in place can have no backward: copies of what it makes have
            _wanting = torch.library.custom_op("%s::%s_wanting" % (NAMESPACE, NAME), lambda made, givers: [one.clone() for one in made],
                                               mutates_args=(), schema="(Tensor[] made, Tensor[] givers) -> Tensor[]")
            _wanting.register_fake(lambda made, givers: [torch.empty_like(one) for one in made])
            _wanting.register_autograd(lambda context, *gradients: ([None] * len(FRESH), sum(map(list, backward(context, *gradients)), [])))
        else:
            _definition.register_autograd(backward)
    else:
        _library = torch.library.Library(NAMESPACE, "DEF")
        _library.define(NAME + SCHEMA)
        _library.impl(NAME, BODY, "CompositeExplicitAutograd")
        _library.impl(NAME, FAKE, "Meta")
        _library.impl(NAME, FAKE, "AutogradMeta")  # the other devices' autograd passes through by itself
op = getattr(getattr(torch.ops, NAMESPACE), NAME).default


def operate(inputs, parameters):
    """By the operator, as compute does."""
    if not IN_PLACE.places:
        return op(inputs, parameters)
    read, written = IN_PLACE.parted(inputs)
    made = op(read, parameters, written)
    return () if made is None else made


class Forward(torch.autograd.Function):
    """Tells autograd of the operator where that has no backward: results ask for gradients, and backward refuses."""

    @staticmethod
    def forward(context, input_count, *tensors):
        made = operate(list(tensors[:input_count]), list(tensors[input_count:]))
        return made if len(FRESH) == 1 else tuple(made)

    backward = staticmethod(refuse_backward)


def traced():
    """Whether somebody looks at which operators are called."""
    return torch.compiler.is_compiling() or torch.jit.is_tracing() or torch.utils._python_dispatch._len_torch_dispatch_stack() > 0 or \
        torch._C._functorch.peek_interpreter_stack() is not None


def goes_without(tensors):
    """Whether the kernel can be called without the operator, which is for those who trace and differentiate, and takes longer than a
    small kernel."""
    if not tensors:
        return True  # a dispatcher needs one to go by
    if not NEW or traced() or any([type(tensor) is not torch.Tensor and type(tensor) is not torch.nn.Parameter for tensor in tensors]):
        return False
    return not (torch.is_grad_enabled() and any([tensor.requires_grad for tensor in tensors]))


def run_wanting(inputs, parameters):
    """Results that ask for gradients, of an operator that has no backward."""
    if NEW and traced():
        with torch.no_grad():
            made = operate(inputs, parameters)
        wanting = getattr(getattr(torch.ops, NAMESPACE), NAME + "_wanting")([made] if len(FRESH) == 1 else list(made), inputs + parameters)
        return wanting[0] if len(FRESH) == 1 else wanting
    check(inputs, INPUTS, "input")  # before the dispatcher, whose own words for another device fill a page
    IN_PLACE.check(inputs, parameters, 1)
    return Forward.apply(len(inputs), *inputs, *parameters) if FRESH else operate(inputs, parameters)


def run(inputs, parameters):
    """What forward returns: one tensor, a tuple of them if there are several, None if there is none."""
    inputs, parameters = list(inputs), list(parameters)
    if goes_without(inputs + parameters):
        made = compute(inputs, parameters)
    elif (not NEW or IN_PLACE.places) and torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs + parameters):
        made = run_wanting(inputs, parameters)
    else:
        made = operate(inputs, parameters)
    if IN_PLACE.places:
        return IN_PLACE.results(inputs, [made] if len(FRESH) == 1 else made)
    return made if len(OUTPUTS) == 1 else tuple(made)


# ---------------------------------------------------------------------------------------------------------------------
# ModelNew.

def read_values(path, name):
    """One tensor of a safetensors file of this folder."""
    with open(os.path.join(HERE, path), "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        start = file.tell()
        begin, end = header[name]["data_offsets"]
        file.seek(start + begin)
        return bytearray(file.read(end - begin))


def constant(spec, device="cpu"):
    """A parameter that is part of the problem and not of Model: a mask or a table that forward makes."""
    generator, dtype = spec["generator"], DTYPES[spec["dtype"]]
    if generator["kind"] == "constant":
        return torch.full(spec["shape"], float(generator["value"])).to(dtype).to(device)
    if generator["kind"] != "file":
        raise KernelError("%s: model.py does not say where this parameter comes from" % spec["name"])
    values = read_values(generator["path"], generator["tensor"])
    made = torch.frombuffer(values, dtype=dtype).reshape(spec["shape"]) if values else torch.empty(spec["shape"], dtype=dtype)
    return made.to(device)


def find_part(model, dotted):
    """What modules hold, and what objects, lists and dicts do that they hold."""
    for name in filter(None, dotted.split(".")):
        model = model[name] if isinstance(model, dict) else model[int(name)] if isinstance(model, list) else getattr(model, name)
    return model


def find(model, dotted):
    found = find_part(model, dotted)
    return reals(found) if found.is_complex() else found


def reals(found):
    """The pairs that hone has complex numbers as, in the same memory: the same tensor each time, so that it is known again."""
    pairs = getattr(found, "hone_reals", None)
    if pairs is None or pairs.data_ptr() != found.data_ptr():
        pairs = found.hone_reals = torch.view_as_real(found.detach().resolve_conj())
    return pairs


if os.path.exists(os.path.join(HERE, "model.py")):
    try:
        model = load("model")
    except ModuleNotFoundError as error:
        raise KernelError("model.py imports %s, which Python does not find here: add the folder that model.py was in to PYTHONPATH (%s)" %
                          (error.name, os.path.dirname(PROVENANCE.get("source", "")) or "unknown")) from None
    KEYS = [PROVENANCE.get("parameter " + spec["name"]) for spec in PARAMETERS]  # dotted names in Model; None: a constant
    CONSTANTS = {}  # device -> those of PARAMETERS that are none of the module's
    NUMBERS = PROVENANCE.get("constant arguments", "")

    def check_numbers(flat, names):
        given = ", ".join("%s = %r" % (names[i] if i < len(names) else "input_%d" % i, x) for i, x in enumerate(flat)
                          if not isinstance(x, torch.Tensor))
        if given != NUMBERS:
            raise KernelError("the kernel was made for the arguments %s, got %s" % (NUMBERS or "that are tensors", given or "none"))

    # Buffers whose numbers the kernel has, not the module: places and shifts, start, start + step, ..., written in so many rows and read
    # down their columns, each so many times.
    FIXED = {key[len("fixed "):]: [int(word) for word in text.split()] for key, text in PROVENANCE.items() if key.startswith("fixed ")}

    def check_fixed(self, *_):
        for key, (start, step, rows, each) in FIXED.items():
            found = find(self, key).detach().flatten()
            count = found.numel() // each
            wanted = torch.arange(start, start + count * step, step).reshape(rows, -1).t().reshape(-1, 1).expand(-1, each).flatten()
            if found.device.type != "meta" and not torch.equal(found.cpu().long(), wanted):
                raise KernelError("%s has other numbers than those that the kernel was made for: optimize with this checkpoint" % key)

    class ModelNew(model.Model):
        """Model with another forward: made like it, with the same parameters from the same random numbers."""

        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            check_fixed(self)
            if FIXED:
                self.register_load_state_dict_post_hook(check_fixed)

        def forward(self, *arguments, **named):
            if named:
                arguments = inspect.signature(model.Model.forward).bind(self, *arguments, **named).args[1:]
            flat = tree_flatten(arguments)[0]
            tensors = [x for x in flat if isinstance(x, torch.Tensor)]
            if len(tensors) != len(IN_PLACE.arguments):
                check(tensors, IN_PLACE.arguments, "input")  # which says so
            if NUMBERS or len(tensors) != len(flat):
                code = model.Model.forward.__code__
                check_numbers(flat, code.co_varnames[1 : code.co_argcount])
            given = iter(tensors)
            inputs = [next(given) if key is None else find(self, key) for key in IN_PLACE.held]
            where = inputs[0].device if inputs else torch.device(DEVICE)
            if where not in CONSTANTS:
                CONSTANTS[where] = [constant(spec, where) if key is None else None for key, spec in zip(KEYS, PARAMETERS)]
            parameters = [found if key is None else find(self, key) for key, found in zip(KEYS, CONSTANTS[where])]
            return run(inputs, parameters)

else:

    class ModelNew(torch.nn.Module):
        """The problem as a module; its parameters, and what it holds and writes into, are given by name: ModelNew(weight=...)."""

        def __init__(self, **parameters):
            super().__init__()
            held = [spec["name"] for spec, key in zip(INPUTS, IN_PLACE.held) if key is not None]
            wanted = [spec["name"] for spec in PARAMETERS] + held
            if sorted(parameters) != sorted(wanted):
                raise KernelError("ModelNew takes the parameters %s, got %s" % (", ".join(wanted) or "(none)",
                                                                               ", ".join(parameters) or "none"))
            for name in wanted:
                self.register_buffer(name, torch.as_tensor(parameters[name]))

        def forward(self, *tensors):
            if len(tensors) != len(IN_PLACE.arguments):
                check(tensors, IN_PLACE.arguments, "input")
            given = iter(tensors)
            inputs = [next(given) if key is None else getattr(self, spec["name"]) for spec, key in zip(INPUTS, IN_PLACE.held)]
            return run(inputs, [getattr(self, spec["name"]) for spec in PARAMETERS])

if WRITES:
    ModelNew.__doc__ += "\n\n        %s." % WRITES
