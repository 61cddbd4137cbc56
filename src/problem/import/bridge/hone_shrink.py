"""Cuts the sizes in a KernelBench-style file until a CPU can run it at once, and keeps its operators.

Part of hone_import.py, whose names it uses. The file's integer constants are cut by trial: a trial runs the model on fake tensors
and is accepted if it calls the same operators in the same order with the same kernel sizes, strides, dimensions and groups, and
if every extent that was more than 1 still is.
"""
import ast

MOST_BYTES = 8 << 20        # inputs, parameters and outputs
ELEMENT_FLOP = 16           # an element of a result counts as so many: exp and the memory traffic are not free
MOST_TRIALS = 150           # not a time limit: what comes out shall not depend on how busy the machine is
SMALLEST = 4                # what is cut is not cut below, a batch not below 2
CUT_IN_MODEL = 16           # constants inside of classes: those of channels are at least so large

# Constants by whose names they are structure. (Sizes named like these would be found out by the trial; heads would not.)
STRUCTURE = re.compile(r"(^|_)(n|num)_?(heads?|layers?|groups?|blocks?)$|^heads?$|^groups?$|kernel|stride|padding|dilation|patch|"
                       r"window|ratio|^depths?$|^layers$|^num_layers|block_config|repeat|reduction|divisor|padding|seed")
SIZE_OF_INPUT = re.compile(r"img_?size|image_?size|resolution")
# Arguments of operators that follow the sizes of tensors.
SIZES = {"size", "sizes", "shape", "start", "end", "split_size", "split_sizes", "length", "index", "output_size", "repeats",
         "normalized_shape", "N", "C", "HxW", "group", "groups", "input_size", "self", "other", "value", "fill_value", "high", "low",
         "steps", "n", "m", "storage_offset", "shifts", "num_layers", "step"}
VIEWS = {"view", "_unsafe_view", "reshape", "t", "transpose", "permute", "expand", "slice", "select", "unsqueeze", "squeeze", "split",
         "split_with_sizes", "detach", "alias", "as_strided", "chunk", "unbind", "narrow", "unfold", "diagonal", "_reshape_alias"}


def pattern(tensor):
    return tuple([str(tensor.dtype)] + [min(int(e), 2) for e in tensor.shape])


def kind_of_groups(groups, channels):
    return "all" if groups == channels and groups > 1 else groups


class Observer(TorchDispatchMode):
    """What the model does, apart from sizes, and what it costs."""

    def __init__(self):
        super().__init__()
        self.steps, self.flops = [], 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        name = func._schema.name.split("::")[-1]
        reads = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        makes = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
        step = [name] + [pattern(t) for t in reads + makes]
        for i, parameter in enumerate(func._schema.arguments):
            value = args[i] if i < len(args) else kwargs.get(parameter.name)
            layout = parameter.name == "stride" and name.rstrip("_") in VIEWS  # of memory, which follows sizes
            if parameter.name in SIZES or layout or any(isinstance(v, (torch.Tensor, float)) for v in tree_flatten(value)[0]):
                continue
            step.append((parameter.name, str(value)))
        if name == "convolution":
            weight, groups = args[1], args[8]
            step += [tuple(weight.shape[2:]), kind_of_groups(groups, args[0].shape[1])]
        if name == "native_group_norm":
            step.append(kind_of_groups(args[6], args[4]))
        self.steps.append(tuple(step))
        self.flops += self.cost(name, args, makes)
        return out

    @staticmethod
    def cost(name, args, makes):
        elements = sum(t.numel() for t in makes)
        if name == "convolution":
            reached = args[0] if args[6] else makes[0]  # transposed: each input element goes to all of a kernel
            return 2 * reached.numel() * args[1].numel() // max(args[1].shape[0], 1) + ELEMENT_FLOP * elements
        if name in ("mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot"):
            left = args[1] if name.startswith(("add", "badd")) else args[0]
            return 2 * elements * left.shape[-1] + ELEMENT_FLOP * elements
        if name in RECURRENT:
            steps = args[0].numel() // max(args[0].shape[-1], 1)
            return 2 * steps * sum(t.numel() for t in args[2]) + ELEMENT_FLOP * elements * args[4]
        if "pool" in name and len(args) > 1 and isinstance(args[1], (list, tuple)):
            return max(ELEMENT_FLOP, math.prod(args[1])) * elements
        return 0 if name in VIEWS else ELEMENT_FLOP * elements


class Variable:
    """One or several constants of the file that are cut together."""

    def __init__(self, name, sites, value):
        self.name, self.sites, self.value, self.first, self.twins = name, sites, value, value, []
        self.least = 2 if "batch" in name else SMALLEST

    def halved(self):
        """Odd sizes stay odd: a problem of odd sizes is about them."""
        half = self.value // 2 if self.first % 2 == 0 else (self.value // 2) | 1
        return half if self.least <= half < self.value else None


def constant_value(node):
    """The value of an expression of whole numbers, or None."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Pow)):
        left, right = constant_value(node.left), constant_value(node.right)
        if left is None or right is None or abs(left) > 1 << 40 or abs(right) > 1 << 40:
            return None
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.FloorDiv):
            return left // right if right else None
        return left**right if 0 <= right < 64 and abs(left) < 1 << 10 else None
    return None


def sites_in(node, name=""):
    """(name, node, value) of the largest expressions of whole numbers below a node. Ratios, indices and counts are none."""
    value = constant_value(node)
    if value is not None:
        yield name, node, value
        return
    if isinstance(node, ast.keyword):
        name = node.arg or name
    if isinstance(node, ast.Subscript):
        yield from sites_in(node.value, name)
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Div, ast.Mod, ast.Pow)):
        yield from sites_in(node.left, name)
        return
    if isinstance(node, ast.Compare) or isinstance(node, ast.Call) and getattr(node.func, "id", "") == "range":
        return
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        names = ", ".join(ast.unparse(t) for t in node.targets)
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(node.value, (ast.Tuple, ast.List)) and \
                len(target.elts) == len(node.value.elts):
            for one, item in zip(target.elts, node.value.elts):
                yield from sites_in(item, ast.unparse(one))
        else:
            yield from sites_in(node.value, names)
        return
    if isinstance(node, ast.arguments):
        given = node.args[len(node.args) - len(node.defaults):]
        for argument, default in list(zip(given, node.defaults)) + list(zip(node.kwonlyargs, node.kw_defaults)):
            if default is not None:
                yield from sites_in(default, argument.arg)
        return
    for child in ast.iter_child_nodes(node):
        yield from sites_in(child, name)


def variables_of(tree):
    """(those of the problem's sizes, sites inside of classes and functions)"""
    variables, inner, images = [], [], []
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            groups = {}
            for name, node, value in sites_in(statement):
                if value >= SMALLEST and not STRUCTURE.search(name):
                    groups.setdefault((name, value), []).append(node)
            variables += [Variable(name, nodes, value) for (name, value), nodes in groups.items()]
        elif isinstance(statement, ast.FunctionDef) and statement.name in ("get_inputs", "get_init_inputs"):
            groups = {}
            for name, node, value in sites_in(statement):
                if value >= SMALLEST and not STRUCTURE.search(name):
                    groups.setdefault(value, []).append(node)
            variables += [Variable("%s's %d" % (statement.name, value), nodes, value) for value, nodes in groups.items()]
        elif isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            for name, node, value in sites_in(statement):
                if SIZE_OF_INPUT.search(name):
                    images.append((node, value))
                elif value >= CUT_IN_MODEL and value % 2 == 0 and not STRUCTURE.search(name):
                    inner.append((node, value))
    for variable in variables:  # what a model has as the default of its image's size, and compares
        variable.twins = [node for node, value in images if value == variable.first]
    return variables, inner


class Shrinking:
    def __init__(self, source, most_flops):
        self.source, self.most_flops, self.trials, self.fake = source, most_flops, 0, True
        self.tree = ast.parse(source)
        self.variables, self.inner = variables_of(self.tree)
        self.divisor, self.divided = 1, list(self.inner)

    def values(self):
        """{site: new value}"""
        found = {}
        for variable in self.variables:
            if variable.value != variable.first:
                found.update((site, variable.value) for site in variable.sites)
        if self.divisor > 1:
            found.update((node, value // self.divisor) for node, value in self.divided
                         if value % self.divisor == 0 and value // self.divisor >= 2)
        return found

    def text(self):
        """The file with the new values in their places; lines stay where they are."""
        lines = self.source.split(b"\n")
        for site, value in sorted(self.values().items(), key=lambda item: (item[0].lineno, item[0].col_offset), reverse=True):
            first, last = site.lineno - 1, site.end_lineno - 1
            if first != last:
                continue
            line = lines[first]
            lines[first] = line[: site.col_offset] + str(value).encode() + line[site.end_col_offset:]
        return b"\n".join(lines)

    def observe(self):
        """(steps, bytes, flops), or raises what the model raises."""
        self.trials += 1
        module, _ = load_source(self.text())
        built = Built(module, self.fake, record=False)
        observer = Observer()
        if self.fake:
            mode = built.mode
        else:  # real weights still run on shapes alone, where torch can mix
            mode = FakeTensorMode(allow_non_fake_inputs=True) if NEW else contextlib.nullcontext()
        with torch.no_grad(), recurrences_whole(), contextlib.nullcontext() if NEW else old_gaps_filled(), mode, observer:
            result = built.model(*built.inputs)
        size = total_bytes(built) + sum(t.numel() * t.element_size() for t in tree_flatten(result)[0] if isinstance(t, torch.Tensor))
        return observer.steps, size, observer.flops

    def first(self):
        try:
            return self.observe()
        except Complaint:
            raise
        except Exception as error:
            fake_error = error
        self.fake = False  # looks at values while it is built
        try:
            return self.observe()
        except Exception as error:
            raise fake_error if out_of_memory(error) else error

    def excess(self, size, flops):
        return max(size / MOST_BYTES, flops / self.most_flops)

    def accept(self):
        """Whether the model with the values as they now are is the same one, smaller."""
        if self.trials >= MOST_TRIALS:
            return False
        try:
            steps, size, flops = self.observe()
        except Complaint:
            raise
        except Exception as error:
            if out_of_memory(error):
                raise
            return False
        if steps != self.steps or self.excess(size, flops) > 0.99 * self.now:
            return False
        self.size, self.flops, self.now = size, flops, self.excess(size, flops)
        return True

    def cut_variables(self):
        frozen = set()
        while self.now > 1:
            open_ones = [v for v in self.variables if id(v) not in frozen and v.halved()]
            if not open_ones:
                return
            variable = max(open_ones, key=lambda v: (v.value, v.name))
            before, variable.value = variable.value, variable.halved()
            if self.accept():
                continue
            if variable.twins:
                variable.sites, variable.twins = variable.sites + variable.twins, []
                if self.accept():
                    continue
            # Perhaps sizes that are equal have to stay equal.
            equal = [v for v in open_ones if v is not variable and v.value == before]
            for other in equal:
                other.value = variable.value
            if equal and self.accept():
                continue
            for other in equal + [variable]:
                other.value = before
            frozen.add(id(variable))

    def cut_inner(self):
        """All channel counts inside of the model by the same power of two, so that their ratios stay."""
        units = {}
        for node, value in self.inner:
            units.setdefault(node.lineno, []).append((node, value))
        for divisor in (2, 4, 8, 16, 32):
            if self.now <= 1:
                return
            before = self.divisor, self.divided
            self.divisor = divisor
            if self.accept():
                continue
            # Perhaps one line holds other numbers than channels: a depth, a window.
            for line in units:
                self.divided = [site for site in before[1] if site[0].lineno != line]
                if len(self.divided) < len(before[1]) and self.accept():
                    break
            else:
                self.divisor, self.divided = before

    def run(self):
        self.steps, self.size, self.flops = self.first()
        self.now = self.excess(self.size, self.flops)
        self.cut_variables()
        if self.now > 1 and self.inner:
            self.cut_inner()
            self.cut_variables()
        said = ["%s %d -> %d" % (v.name, v.first, v.value) for v in self.variables if v.value != v.first]
        if self.divisor > 1:
            cut = sorted({(value, value // self.divisor) for node, value in self.divided if node in self.values()})
            said.append("inside of the model, divided by %d: %s" % (self.divisor, ", ".join(str(value) for value, _ in cut)))
        notes = {"shrunk": ", ".join(said) or "nothing: it is small as it is", "shrunk_from": PATH,
                 "shrunk_from_sha256": hashlib.sha256(self.source).hexdigest()}
        if self.now > 1:
            notes["shrunk_remains"] = "%.0f MFLOP (an element counts as %d) on %.1f MiB: what is left is the structure" % (
                self.flops / 1e6, ELEMENT_FLOP, self.size / (1 << 20))
        return self.text(), notes
