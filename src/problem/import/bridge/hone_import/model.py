"""The model and its inputs, on fake tensors where that goes.

Part of hone_import.py, whose names it uses.
"""


@contextlib.contextmanager
def fakes(wanted):
    """Fake tensors and what they need: initializers that look at data are replaced by ones that do not."""
    if not wanted:
        yield None
        return
    truncated = nn.init.trunc_normal_

    def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
        # The deviation of a normal cut at a and b; what is recorded is the normal with that deviation.
        density = lambda x: math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        share = lambda x: (1 + math.erf(x / math.sqrt(2))) / 2
        low, high = (a - mean) / std, (b - mean) / std
        mass = max(share(high) - share(low), 1e-12)
        shift = (density(low) - density(high)) / mass
        spread = 1 + (low * density(low) - high * density(high)) / mass - shift * shift
        with torch.no_grad():
            return tensor.normal_(mean + std * shift, std * math.sqrt(max(spread, 1e-12)))

    nn.init.trunc_normal_ = trunc_normal_
    # Where a module's numbers change their type, PyTorch swaps tensors, which it refuses if there are weak references to them; a
    # fake one has that of the mode that made it.
    swaps = hasattr(torch.utils, "swap_tensors")
    if swaps:
        references, torch.utils.weakref = torch.utils.weakref, types.SimpleNamespace(getweakrefs=lambda tensor: [])
    try:
        with (FakeTensorMode(allow_non_fake_inputs=True) if NEW else FakeTensorMode()) as mode:
            yield mode
    finally:
        nn.init.trunc_normal_ = truncated
        if swaps:
            torch.utils.weakref = references


# Recurrent layers are operators of PyTorch, but tracing takes them apart, step by step in time: tens of thousands of nodes.
# While a model runs, its layers call operators of our own instead, which are nothing but a schema and shapes.
RECURRENT = {
    "lstm": "(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
            "bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
    "gru": "(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
           "bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
}
RECURRENT["rnn_tanh"] = RECURRENT["rnn_relu"] = RECURRENT["gru"]
LIBRARY = []  # torch.library keeps definitions as long as the library lives


ATTENTION = "scaled_dot_product_attention"  # of torch 2, which tracing takes apart, too
# Taken apart, a resize has places that are rounded reals, of which rounding makes whole numbers.
RESIZES = ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d", "upsample_nearest1d",
           "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d", "_upsample_nearest_exact2d",
           "_upsample_nearest_exact3d")


def define_whole():
    if LIBRARY:
        return
    LIBRARY.append(torch.library.Library("hone_whole", "DEF"))
    for name, schema in RECURRENT.items():
        LIBRARY[0].define(name + schema)

        def shapes(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
            states = list(hx) if isinstance(hx, (list, tuple)) else [hx]
            out = input.new_empty(tuple(input.shape[:-1]) + (states[0].shape[-1] * (2 if bidirectional else 1),))
            return tuple([out] + [torch.empty_like(state) for state in states])

        LIBRARY[0].impl(name, shapes, "Meta")
        packet = getattr(torch.ops.aten, name)
        LIBRARY[0].impl(name, lambda *args, op=packet.input: op(*args), "CPU")
    if NEW:
        op = getattr(torch.ops.aten, ATTENTION).default
        for name, op in [(ATTENTION, op)] + [(name, getattr(torch.ops.aten, name).vec) for name in RESIZES]:
            LIBRARY[0].define(name + str(op._schema)[str(op._schema).index("(") :])
            for key in ("Meta", "CPU"):
                LIBRARY[0].impl(name, lambda *args, op=op, **named: op(*args, **named), key)


@contextlib.contextmanager
def recurrences_whole():
    define_whole()
    saved = {}

    def divert(name, original):
        op = getattr(torch.ops.hone_whole, name)

        def call(*args):
            if len(args) == 9 and not isinstance(args[3], torch.Tensor) and not isinstance(args[1], torch.Tensor) ^ (name != "lstm"):
                return op(*args)
            return original(*args)  # packed sequences

        return call

    for name in RECURRENT:
        saved[name] = getattr(torch._VF, name)
        setattr(torch._VF, name, divert(name, saved[name]))
    try:
        yield
    finally:
        for name in RECURRENT:
            setattr(torch._VF, name, saved[name])


@contextlib.contextmanager
def attention_whole():
    """Once recurrences are whole, so that there is an operator of our own to be called."""
    original = getattr(nn.functional, ATTENTION)
    operator = getattr(torch.ops.hone_whole, ATTENTION)

    @causal
    def whole(*args, **named):
        """Autocasting knows PyTorch's operators alone, not ours."""
        if not torch.is_autocast_enabled("cpu"):
            return operator(*args, **named)
        dtype = torch.get_autocast_dtype("cpu")
        cast = lambda t: t.to(dtype) if isinstance(t, torch.Tensor) and t.is_floating_point() and t.dtype != torch.float64 else t
        return operator(*map(cast, args), **{name: cast(value) for name, value in named.items()})

    class Elsewhere(TorchFunctionMode):  # where a file has the function under a name of its own
        def __torch_function__(self, function, types, args=(), named=None):
            return (whole if function is original else function)(*args, **(named or {}))

    setattr(nn.functional, ATTENTION, whole)
    try:
        with Elsewhere():
            yield
    finally:
        setattr(nn.functional, ATTENTION, original)


@contextlib.contextmanager
def resizes_whole():
    """Likewise."""
    saved = {name: getattr(torch._C._nn, name) for name in RESIZES}

    def divert(name):
        def call(*args, **named):
            whole = not torch.is_autocast_enabled("cpu") and len(args) + len(named) == len(operator._schema.arguments)
            return (operator if whole else saved[name])(*args, **named)

        operator = getattr(torch.ops.hone_whole, name).default
        return call

    for name in RESIZES:
        setattr(torch._C._nn, name, divert(name))
    try:
        yield
    finally:
        for name in RESIZES:
            setattr(torch._C._nn, name, saved[name])


def register_plain_tensors(model):
    """Tensors that a module merely holds are state as buffers are: torch.export wants them registered."""
    for part in model.modules():
        for name, value in list(part.__dict__.items()):
            if isinstance(value, torch.Tensor) and name not in part._buffers and name not in part._parameters:
                del part.__dict__[name]
                part.register_buffer(name, value, persistent=False)


def tensors_in_objects(value, path, depth=4):
    """(holder, key, path) of each tensor that a plain object holds, itself or in lists, dicts and other objects."""
    if isinstance(value, torch.Tensor) or isinstance(value, nn.Module) or depth == 0:
        return
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else vars(value).items() if hasattr(value, "__dict__") else ()
    for key, one in list(entries):
        if not isinstance(key, (str, int)):
            continue
        if isinstance(one, torch.Tensor):
            yield value, key, path + (str(key),)
        else:
            yield from tensors_in_objects(one, path + (str(key),), depth - 1)


class Built:
    def __init__(self, module, fake, record=True):
        self.fake = fake
        self.recorder = Recorder()
        torch.manual_seed(SEED)
        init = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
        if not NEW:
            define_whole()
            define_old_shapes()
        with fakes(fake) as self.mode, self.recorder if record else contextlib.nullcontext():
            self.model = module.Model(*init) if isinstance(init, (list, tuple)) else module.Model(**init)
            inputs = module.get_inputs()
        register_plain_tensors(self.model)
        if not isinstance(inputs, (list, tuple)):
            raise Complaint("get_inputs() gives a %s, not a list" % type(inputs).__name__)
        self.inputs = list(inputs)
        self.weights = dict(self.model.named_parameters())
        self.weights.update(self.model.named_buffers())
        self.buffers = {name for name, _ in self.model.named_buffers()}
        self.paths = {}  # of weights that lie in objects, by their names here: where
        # What no checkpoint changes: tensors that a module merely holds, and buffers that are not saved with its state.
        self.fixed = {(prefix + "." if prefix else "") + name
                      for prefix, part in self.model.named_modules() for name in part._non_persistent_buffers_set}


def register_objects(built):
    """Tensors of objects that modules hold, as a cache of transformers, become buffers, which are put into them before each call.
    Whether there are any."""
    bound = []
    own = vars(nn.Module())
    for prefix, part in built.model.named_modules():
        for name, held in list(vars(part).items()):
            if name in own or isinstance(held, (torch.Tensor, nn.Module, list, dict)) or not hasattr(held, "__dict__"):
                continue
            for holder, key, path in list(tensors_in_objects(held, (name,))):
                buffer = "_".join(path)
                if hasattr(part, buffer):
                    continue
                tensor = holder[key] if isinstance(holder, (list, dict)) else getattr(holder, key)
                part.register_buffer(buffer, tensor, persistent=False)
                whole = (prefix + "." if prefix else "") + buffer
                built.weights[whole] = tensor
                built.fixed.add(whole)
                built.buffers.add(whole)
                built.paths[whole] = (prefix + "." if prefix else "") + ".".join(path)
                bound.append((holder, key, part, buffer))

    def put(*_):
        for holder, key, part, buffer in bound:
            if isinstance(holder, (list, dict)):
                holder[key] = getattr(part, buffer)
            else:
                setattr(holder, key, getattr(part, buffer))

    if bound:
        built.model.register_forward_pre_hook(put)
    return bool(bound)


def total_bytes(built):
    tensors = [t for t in tree_flatten(built.inputs)[0] if isinstance(t, torch.Tensor)] + list(built.weights.values())
    return sum(t.numel() * t.element_size() for t in tensors)
