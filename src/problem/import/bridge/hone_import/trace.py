"""Tracing: with make_fx; with torch.export what that alone can, or can refuse.

Part of hone_import.py, whose names it uses.
"""


STATISTICS = ("running_mean", "running_var", "num_batches_tracked")  # of norms, which are nobody's result


class NeedsReal(Exception):
    """Fake tensors do not do: values are needed."""


def forward_names(model):
    if hasattr(model, "input_names"):
        return model.input_names
    code = getattr(type(model).forward, "__code__", None)
    return list(code.co_varnames[1 : code.co_argcount]) if code else []


def export_new(built):
    """torch 2.x: nodes, {placeholder node: ("input", index) | ("weight", name) | ("constant", tensor)}, outputs, of the inputs and
    weights that are written into what they hold afterwards, {("input", index) | ("weight", name): node}, and which outputs are such a
    tensor itself, and not what it was made of: {(place, source)}."""
    if isinstance(built, Archive):
        program = built.program
    else:
        program = torch.export.export(built.model, tuple(built.inputs), strict=False)
    table = decompositions()
    # Taken apart, attention in 16 bits would be one of f32 with casts around it: PyTorch's way without a kernel for it.
    whole = ["lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input", "scaled_dot_product_attention.default",
             "_safe_softmax.default"]
    whole += ["%s.%s" % (name, overload) for name in RESIZES for overload in ("default", "vec")]
    for name in whole:
        packet, overload = name.split(".")
        op = getattr(getattr(torch.ops.aten, packet), overload)
        for entry in [key for key in table if key == op]:
            table.pop(entry)
    from torch.export.graph_signature import InputKind, OutputKind

    found = [node for spec, node in zip(program.graph_signature.output_specs, results_of_graph(program.graph_module))
             if spec.kind == OutputKind.USER_OUTPUT]
    roots = [node.name if isinstance(node, torch.fx.Node) else None for node in map(written_root, found)]
    program = program.run_decompositions(table)
    refuse_effects(program.graph.nodes)
    sources, index = {}, 0
    flat_inputs = tree_flatten(built.inputs)[0]
    for spec, node in zip(program.graph_signature.input_specs, [n for n in program.graph.nodes if n.op == "placeholder"]):
        if spec.kind == InputKind.USER_INPUT:
            sources[node] = ("input", index)
            index += 1
        elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
            sources[node] = ("weight", spec.target)
        else:
            sources[node] = ("constant", program.constants[spec.target])
    if index != len(flat_inputs):
        raise Complaint("torch.export sees %d inputs where get_inputs() gives %d" % (index, len(flat_inputs)))
    results = next(n for n in program.graph.nodes if n.op == "output").args[0]
    specs = program.graph_signature.output_specs
    outputs = [result for spec, result in zip(specs, results) if spec.kind == OutputKind.USER_OUTPUT]
    after = {spec.target: result for spec, result in zip(specs, results) if spec.kind.name.endswith("_MUTATION")}
    written = {}
    for node, source in sources.items():
        target = node.name if source[0] == "input" else source[1]
        if source[0] != "constant" and target in after:
            written[source] = after[target]
    itself = {(place, sources[node]) for node in sources for place, root in enumerate(roots) if root == node.name}
    return program.graph_module, sources, outputs, written, itself


def written_root(node):
    """What operators that work in place, of which the node is the last, work on."""
    while isinstance(node, torch.fx.Node) and node.args and isinstance(node.args[0], torch.fx.Node) and writes(node, node.args[0]):
        node = node.args[0]
    return node


def refuse_effects(nodes):
    """An operator that does something beside its results: torch.export hands a token from one to the next."""
    for node in nodes:
        if node.op == "call_function" and getattr(node.target, "__name__", "") == "with_effects":
            raise Complaint("%s does something beside its results, as a check of values does, which no kernel can: use a form without "
                            "it, torch.linalg.inv_ex(x).inverse for torch.linalg.inv(x)" % (node.args[1],), line_of(node))


# What torch 1.13 keeps whole and core ATen takes apart.
OLD_DECOMPOSED = (
    "smooth_l1_loss", "mse_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "l1_loss",
    "softplus", "mish", "silu", "hardswish", "hardsigmoid", "hardshrink", "softshrink", "selu", "celu", "log_sigmoid_forward",
    "threshold", "addcmul", "addcdiv", "std", "logsumexp", "_softmin", "kl_div", "cosine_similarity",
    "hinge_embedding_loss", "margin_ranking_loss", "relu6",
)


def smooth_l1_loss(self, target, reduction=1, beta=1.0):
    distance = (self - target).abs()
    if beta > 0:
        distance = torch.where(distance < beta, distance**2 * 0.5 / beta, distance - 0.5 * beta)
    return distance.mean() if reduction == 1 else distance.sum() if reduction == 2 else distance


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    """scaled_dot_product_attention, which torch 2 has."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ key.transpose(-2, -1) * scale
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    weights = torch.softmax(scores, -1)
    return (nn.functional.dropout(weights, dropout_p) if dropout_p else weights) @ value


@contextlib.contextmanager
def old_gaps_filled():
    """What torch 1.13 lacks, or traces into operators that work in place."""
    functions = nn.functional
    added = not hasattr(functions, "scaled_dot_product_attention")
    dropout = functions.dropout
    if added:
        functions.scaled_dot_product_attention = attention

    def functional_dropout(input, p=0.5, training=True, inplace=False):
        return torch.native_dropout(input, p, training)[0] if training and p > 0 else input

    functions.dropout = functional_dropout
    try:
        yield
    finally:
        functions.dropout = dropout
        if added:
            del functions.scaled_dot_product_attention


def pooled_3d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """Shapes of max_pool3d_with_indices, which torch 1.13 has for real tensors only."""
    def three(value):
        value = list(value) if isinstance(value, (list, tuple)) else [value]
        return value * 3 if len(value) == 1 else value

    kernel, padding, dilation = three(kernel_size), three(padding), three(dilation)
    stride = three(stride) if stride or isinstance(stride, int) else kernel
    extents = []
    for size, k, s, p, d in zip(input.shape[-3:], kernel, stride, padding, dilation):
        reach = size + 2 * p - d * (k - 1) - 1
        count = (-(-reach // s) if ceil_mode else reach // s) + 1
        extents.append(count - 1 if ceil_mode and (count - 1) * s >= size + p else count)
    shape = list(input.shape[:-3]) + extents
    return input.new_empty(shape), input.new_empty(shape, dtype=torch.int64)


def define_old_shapes():
    if len(LIBRARY) < 2:
        LIBRARY.append(torch.library.Library("aten", "IMPL", "Meta"))
        LIBRARY[1].impl("max_pool3d_with_indices", pooled_3d)


def changed(tensor):
    """Whether a functional tensor has been written into."""
    inner = getattr(tensor, "elem", None)
    return NEW and isinstance(inner, torch.Tensor) and torch._is_functional_tensor(inner) and torch._functionalize_has_data_mutation(inner)


class Function:
    """forward as a function of weights, by their names, and of those inputs that are tensors; its results are a list."""

    def __init__(self, built, call):
        self.model, self.call = built.model, call
        self.flat_inputs, self.structure = tree_flatten(built.inputs)
        self.tensors = [t for t in self.flat_inputs if isinstance(t, torch.Tensor)]
        self.written = []  # sources, where tensors are functional ones; what they hold afterwards comes after the results
        self.itself = set()  # (place among the results, source) where that is the tensor that was written

        def current_weights(part, _):  # a recurrent layer keeps a list of its own, past which functional_call puts new values
            part._flat_weights = [getattr(part, name) for name in part._flat_weights_names]

        self.hooks = [part.register_forward_pre_hook(current_weights) for part in built.model.modules() if isinstance(part, nn.RNNBase)]

    def __call__(self, weights, *tensors):
        given = iter(tensors)
        inputs = tree_unflatten([next(given) if isinstance(t, torch.Tensor) else t for t in self.flat_inputs], self.structure)
        made = tree_flatten(self.call(self.model, weights, tuple(inputs)))[0]
        written = [(place, t) for place, t in zip(self.places(weights), [*weights.values(), *tensors]) if changed(t)]
        self.written = [place for place, _ in written]
        self.itself = {(i, place) for i, one in enumerate(made) for place, t in written if one is t}
        return made + [t for _, t in written]

    def close(self):
        for hook in self.hooks:
            hook.remove()

    def places(self, weights):
        inputs = [("input", i) for i, t in enumerate(self.flat_inputs) if isinstance(t, torch.Tensor)]
        return [("weight", name) for name in weights] + inputs

    def sources(self, weights, module):
        return dict(zip([n for n in module.graph.nodes if n.op == "placeholder"], self.places(weights)))


def results_of_graph(module):
    return list(next(n for n in module.graph.nodes if n.op == "output").args[0])


class Kept:
    """What the modules hold, to be put back: a forward that leaves other tensors there cannot be told from its result alone."""

    def __init__(self, model):
        self.before = [(part, dict(part.__dict__)) for part in model.modules()]
        held = [value for _, attributes in self.before for value in attributes.values()]
        self.dicts = [(value, dict(value)) for value in held if type(value) is dict]  # caches, say, which forward fills
        self.lists = [(value, list(value)) for value in held if type(value) is list]
        self.tensors = self.now()

    def now(self):
        return [(name, id(t)) for part, _ in self.before for name, value in part.__dict__.items()
                if name not in ("_modules", "_flat_weights") for t in tree_flatten(value)[0] if isinstance(t, torch.Tensor)]

    def restore(self):
        """Whether other tensors were left."""
        others = self.now() != self.tensors
        for part, attributes in self.before:
            part.__dict__.clear()
            part.__dict__.update(attributes)
        for value, entries in self.dicts:
            value.clear()
            value.update(entries)
        for value, entries in self.lists:
            value[:] = entries
        return others


def export_once(built):
    """What export_new gives, where forward is simple enough to be traced once: torch.export traces it three times. Else None."""
    if isinstance(built, Archive):
        return None
    kept = Kept(built.model)
    function = Function(built, torch.func.functional_call)
    try:
        from torch._subclasses.functional_tensor import FunctionalTensorMode, dispatch_functionalize
        from torch.fx.experimental.proxy_tensor import make_fx

        table = dict(decompositions().items())
        table.pop(torch.ops.aten._safe_softmax.default, None)  # that of flex_attention, which attention has whole
        functional = dispatch_functionalize(function, FunctionalTensorMode(export=True))
        with built.mode or FakeTensorMode(allow_non_fake_inputs=True) as mode, attention_whole(), resizes_whole(), lines_noted():
            fake = lambda t: t if isinstance(t, FakeTensor) else mode.from_tensor(t)
            weights = {name: fake(t.detach()) for name, t in built.weights.items()}
            module = make_fx(functional, decomposition_table=table)(weights, *map(fake, function.tensors))
    except Exception:
        return None  # what is wrong, torch.export says
    finally:
        function.close()
        left = kept.restore()
    if left:
        return None
    for node in module.graph.nodes:
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            return None  # chance is drawn in other ways where no gradients are wanted
        if node.op == "get_attr":  # a tensor that forward makes of numbers
            value = getattr(module, node.target)
            value = value.constant if isinstance(value, FakeTensor) else value
            if value is None:
                return None
            setattr(module, node.target, value)
    results, count = results_of_graph(module), len(function.written)
    given = results[: len(results) - count]
    return module, function.sources(weights, module), given, dict(zip(function.written, results[len(given) :])), function.itself


def export_old(built):
    from torch._decomp import decomposition_table
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.nn.utils.stateless import functional_call

    table = {op: rule for op, rule in decomposition_table.items()
             if op._schema.name.split("::")[-1] in OLD_DECOMPOSED and not op._schema.overload_name.endswith("out")}
    table.setdefault(torch.ops.aten.smooth_l1_loss.default, smooth_l1_loss)
    weights = {name: tensor.detach() for name, tensor in built.weights.items()}
    function = Function(built, functional_call)
    # Within the fake mode, tensors that forward itself makes are fake like those that it is given.
    with old_gaps_filled(), lines_noted(), leaving_refused(), built.mode or contextlib.nullcontext():
        module = make_fx(function, decomposition_table=table)(weights, *function.tensors)
    sources = function.sources(weights, module)
    # What torch 1.13 traces works in place: what a source holds afterwards its cell says.
    written = {source: node for node, source in sources.items() if any(writes(user, node) for user in node.users)}
    roots = list(map(written_root, results_of_graph(module)))
    itself = {(place, source) for node, source in sources.items() for place, root in enumerate(roots) if root is node}
    return module, sources, results_of_graph(module), written, itself


def writes(user, node):
    """Whether it works in place on the node, as what torch 1.13 traces does."""
    return user.op == "call_function" and getattr(user.target, "_schema", None) is not None and (
        user.target._schema.name.endswith("_") and user.args[:1] == (node,))


def part_of_graph(writer, value, tensor):
    """Whether a constant is part of the graph, and no parameter: one number, as in x[x < 0] = 0, or whole ones in even steps, as
    shifts and places are: what they choose is seen then."""
    if isinstance(tensor, FakeTensor) or tensor.dtype not in DTYPES or tensor.is_complex():
        return False
    if tensor.dim() == 0:
        writer.calls.append(("aten.full.default", {"size": [], "fill_value": writer.argument(tensor.item()), "dtype": DTYPES[tensor.dtype]},
                             [value], None))
        return True
    steps = even_steps(tensor)
    if steps is None:
        return False
    start, step, turned, each = steps
    count = tensor.numel() // each

    def call(op, shape, **arguments):
        made = Value("steps", torch.empty(shape, dtype=tensor.dtype, device="meta"))
        writer.calls.append(("aten." + op, arguments, [made], None))
        return made

    made = call("arange.start_step", [count], start=start, end=start + count * step, step=step, dtype=DTYPES[tensor.dtype])
    if turned > 1:
        made = call("view.default", [turned, count // turned], self=made, size=[turned, count // turned])
        made = call("transpose.int", [count // turned, turned], self=made, dim0=0, dim1=1)
        made = call("clone.default", [count // turned, turned], self=made)
    if each > 1:
        made = call("view.default", [count, 1], self=made, size=[count, 1])
        made = call("expand.default", [count, each], self=made, size=[count, each])
        made = call("clone.default", [count, each], self=made)
    writer.calls.append(("aten.view.default", {"self": made, "size": list(tensor.shape)}, [value], None))
    return True


def value_of(built, name):
    """What a weight holds in which chance has no part, if that is known."""
    tensor = built.weights[name]
    origin = built.recorder.of(tensor)
    if origin.random or not isinstance(tensor, FakeTensor):
        return None if origin.random else tensor
    known = built.recorder.known.of(tensor)
    if known is not None and known.dim() > 0:
        return known
    made = origin.value
    return None if made is None or made.numel() != tensor.numel() or not tensor.is_contiguous() else made.reshape(tensor.shape)


def is_fixed(built, name, value):
    """Whether a weight is what the constructor makes it. Of numbers that a checkpoint brings, too, that is taken for granted where
    they are places or shifts, in even steps, and exports look whether it is so."""
    return name in built.fixed or (name in built.buffers and value.dim() > 0)


def even_steps(tensor):
    """(start, step, rows, each) of start, start + step, ..., written in so many rows and read down their columns, each number so
    many times; None of other numbers."""
    if tensor.dtype not in (torch.int64, torch.int32) or tensor.numel() < 2:
        return None
    numbers = tensor.detach().cpu().flatten()
    others = (numbers != numbers[0]).nonzero()
    each = int(others[0]) if len(others) else 0
    if each > 1 and numbers.numel() % each == 0 and torch.equal(numbers, numbers[::each].repeat_interleave(each)):
        numbers = numbers[::each]
    else:
        each = 1
    ordered, count = numbers.sort().values, numbers.numel()
    start, step = ordered[0].item(), (ordered[1] - ordered[0]).item()
    if step == 0 or count * step >= 2 ** 31 or abs(start) >= 2 ** 31:
        return None
    even = torch.arange(start, start + count * step, step, dtype=tensor.dtype)
    if torch.equal(numbers, even):
        return start, step, 1, each
    if torch.equal(numbers, even.flip(0)):
        return start + (count - 1) * step, -step, 1, each
    for rows in range(2, count // 2 + 1):
        if count % rows == 0 and torch.equal(numbers, even.view(rows, -1).t().flatten()):
            return start, step, rows, each
    return None


def trace(built):
    with recurrences_whole(), counting_refused(), composites_written():
        try:
            traced = (export_once(built) or export_new(built)) if NEW else export_old(built)
        except RuntimeError as error:
            if "is mutated in the forward method" not in str(error) or isinstance(built, Archive) or not register_objects(built):
                raise
            traced = export_once(built) or export_new(built)
    module, sources, outputs, written, itself = traced
    writer = GraphWriter()
    inputs, weights, constants = {}, {}, []
    for node in module.graph.nodes:
        if node.op == "placeholder":
            kind, what = sources[node]
            value = Value(node.name, tensor_of(node))
            if kind == "input":
                if not isinstance(tree_flatten(built.inputs)[0][what], torch.Tensor):
                    continue  # a number: the trace holds its value
                if is_complex(tensor_of(node)):
                    raise Complaint("input %d of forward is complex, and kernels take real numbers: pass torch.view_as_real(z), and have "
                                    "forward begin with torch.view_as_complex" % what)
                inputs[what] = value
            elif kind == "weight":
                known = None if sources[node] in written else value_of(built, what)
                if known is None or not is_fixed(built, what, known) or not part_of_graph(writer, value, known):
                    weights[what] = value
                elif what not in built.fixed:
                    writer.assumed[what] = value, known
            elif not part_of_graph(writer, value, what):
                constants.append((value, what))
            writer.cells[node] = Cell(value_or_pair(writer, value))
        elif node.op == "get_attr":
            tensor = getattr(module, node.target)
            node.meta.setdefault("val", tensor)
            value = Value("constant", tensor)
            if not part_of_graph(writer, value, tensor):
                constants.append((value, tensor))
            writer.cells[node] = Cell(value_or_pair(writer, value))
        elif node.op == "call_function":
            if node.target is operator.getitem:
                parts = writer.cells[node.args[0]]
                writer.cells[node] = parts[node.args[1]]
            elif hasattr(node.target, "_schema"):
                writer.call(node)
            elif not isinstance(tensor_of(node), torch.Tensor):
                continue  # arithmetic on sizes, whose results are constants by now
            else:
                raise Complaint("the trace calls %s, which is no operator" % (node.target,))
    values, writer.itself = [], set()
    for place, node in enumerate(outputs):
        if node is None:
            continue
        writer.itself.update((len(values), source) for other, source in itself if other == place)
        if not isinstance(node, torch.fx.Node):
            raise Complaint("forward gives a %s beside tensors; hone checks tensors only" % type(node).__name__)
        values.append(writer.value(node))
        if isinstance(values[-1], Pair):
            raise Complaint("forward gives complex numbers, and kernels give real ones: return torch.view_as_real(z)", line_of(node))
    # What torch 1.13 traces still works in place.
    written = dict(written)
    written.update((sources[node], node) for node, cell in writer.cells.items()
                   if node.op == "placeholder" and isinstance(cell, Cell) and cell.written)
    writer.written, writer.after = set(written), {}  # sources; those whose values afterwards are known: Values
    for source, node in written.items():
        statistic = source[0] == "weight" and source[1].split(".")[-1] in STATISTICS
        if source[0] == "constant" or statistic or KIND == "definition":  # a definition says itself what it makes
            continue
        try:
            value = writer.value(node)
        except Complaint:  # views of it were written into, which torch 1.13 does not say how
            continue
        if not isinstance(value, Pair):
            writer.after[source] = value
    if not values and not writer.after:
        raise Complaint("forward gives no tensor")
    return writer, inputs, weights, constants, values
