"""What PyTorch's refusals mean for whoever wrote the file: the cause in the line, and what to write instead.

Part of hone_import.py, whose names it uses.
"""

TAKES_A_NUMBER = ("makes a Python number of a tensor's value, but tensors are traced without values: keep it a tensor "
                  "(y.max(), not y.max().item()), or pass it to Model through get_init_inputs()")
LEAVES_TORCH = ("hands a tensor to NumPy or to a Python list, where hone cannot follow: use the function of that name in torch "
                "(torch.exp for numpy.exp)")
# By the first that the text of the line fits: why it asks for values.
ASKING = (
    (r"^\s*print\b|[\"'{].*:.*\}|\.format\(", "formats a tensor's values, but tensors are traced without values: leave the print out"),
    (r"^\s*assert\b", "asserts something of a tensor's values, but tensors are traced without values: leave the assertion out"),
    (r"^\s*while\b", "loops until a tensor's values say so, but tensors are traced without values: loop a fixed number of times, "
     "and keep what is done with torch.where(condition, new, old)"),
    (r"^\s*(if|elif)\b|\bif\b.*\belse\b|\b(and|or|not)\b", "branches on a tensor's values, but tensors are traced without values: "
     "compute both sides and choose with torch.where(condition, a, b)"),
    (r"\.item\(|\b(int|float|range)\(", TAKES_A_NUMBER),
    (r"\.tolist\(|\.numpy\(", LEAVES_TORCH),
    (r"", "needs a tensor's values, but tensors are traced without values: write it with torch's operators on tensors alone"),
)
# Operators whose results are as many as the data say.
SHAPED_BY_DATA = ("nonzero", "nonzero_numpy", "argwhere", "masked_select", "_unique2", "_unique", "unique_dim", "unique_consecutive")


def asks_for_values(error):
    text = str(error)
    return type(error).__name__ in ("GuardOnDataDependentSymNode", "DataDependentOutputException") or any(
        part in text for part in ("value out of a tracing tensor", "data-dependent expression", "_local_scalar_dense", "Tensor.__format__"))


def refusal(error, line):
    """What is to be said of the error instead of its own text, or None."""
    text = str(error)
    if asks_for_values(error):
        source = linecache.getline(PATH, line) if line else ""
        return next(why for pattern, why in ASKING if re.search(pattern, source))
    if ".numpy() is not supported" in text:
        return LEAVES_TORCH
    if any(part in text for part in ("not compiled with CUDA", "No CUDA GPUs", "NVIDIA driver")):
        return "moves a tensor to a GPU, which an import does without: leave .cuda() and device=\"cuda\" out, hone places tensors itself"
    return None


def shaped_by_data(name, given):
    """Whether the data decide the shape of an operator's results."""
    if name == "index":
        return any(isinstance(i, torch.fx.Node) and tensor_of(i).dtype in (torch.bool, torch.uint8) for i in given.get("indices", ()))
    if name == "repeat_interleave":
        repeats = given.get("repeats")
        return isinstance(repeats, torch.fx.Node) and "output_size" not in given
    return name in SHAPED_BY_DATA


def refuse_results(name, given, line):
    """An operator that gives what no kernel can."""
    if shaped_by_data(name, given):
        raise Complaint("aten.%s gives as many elements as the data say, and kernels are made for fixed shapes: keep all elements, "
                        "with 0 for those that are not meant: torch.where(mask, x, 0)" % name, line)
    if name == "_local_scalar_dense":
        raise Complaint(TAKES_A_NUMBER, line)


def line_now():
    """The line of the user's file that is being run, or None."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != CODE:
        frame = frame.f_back
    return frame and frame.f_lineno


def line_of(node):
    """The line of the user's file that a traced node is of, or None."""
    if "hone_line" in node.meta:
        return node.meta["hone_line"]
    trace = node.meta.get("stack_trace") or ""
    lines = re.findall(r'File "%s", line (\d+)' % re.escape(CODE), trace)
    return int(lines[-1]) if lines else None


@contextlib.contextmanager
def lines_noted():
    """Nodes know their lines: make_fx tells none in torch 1.13, and takes a third of its time to tell them in torch 2."""
    from torch.fx.proxy import TracerBase

    create = TracerBase.create_node

    def create_node(self, *args, **kwargs):
        node = create(self, *args, **kwargs)
        node.meta["hone_line"] = line_now()
        return node

    TracerBase.create_node = create_node
    try:
        yield
    finally:
        TracerBase.create_node = create


@contextlib.contextmanager
def leaving_refused():
    """torch 1.13 does not tell when a traced tensor's values are taken, which then would be constants."""
    from torch.fx.experimental import proxy_tensor

    leaving = {name: getattr(torch.Tensor, name) for name in ("numpy", "tolist", "__array__")}

    def watched(original):
        def leave(self, *args, **kwargs):
            traced = proxy_tensor.get_proxy(self)
            if traced is not None and traced.constant is None:
                raise Complaint(LEAVES_TORCH, line_now())
            return original(self, *args, **kwargs)
        return leave

    for name, original in leaving.items():
        setattr(torch.Tensor, name, watched(original))
    try:
        yield
    finally:
        for name, original in leaving.items():
            setattr(torch.Tensor, name, original)


@contextlib.contextmanager
def counting_refused():
    """Refuses a forward that counts in its module: a trace holds what it computes at the first call."""
    assign = nn.Module.__setattr__

    def watched(self, name, value):
        before = self.__dict__.get(name)
        if isinstance(before, (bool, int, float)) and value != before and type(self).__module__ == "hone_problem_file":
            raise Complaint("forward changes self.%s (from %s to %s), so that no two calls compute the same: make it an input or a "
                            "constant" % (name, before, value), line_now())
        assign(self, name, value)

    nn.Module.__setattr__ = watched
    try:
        yield
    finally:
        nn.Module.__setattr__ = assign
