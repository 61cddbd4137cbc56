"""The graph: PyTorch's nodes as calls of functional operators on named values.

Part of hone_import.py, whose names it uses.
"""


class Value:
    def __init__(self, hint, tensor=None):
        self.hint, self.tensor, self.name = hint, tensor, None


class Cell:
    """What a PyTorch node stands for. In-place operators give a cell a new value; then its views are out of date."""

    def __init__(self, value, base=None):
        self.value, self.views, self.stale, self.base, self.written = value, [], None, base, False
        if base is not None:
            base.views.append(self)

    def mutate(self, value, op):
        self.value = value
        whole = self
        while whole is not None:
            whole.written, whole = True, whole.base
        for view in self.views:
            view.make_stale(op)
        if self.base is not None:
            self.base.make_stale(op)
            for view in self.base.views:
                if view is not self:
                    view.make_stale(op)

    def make_stale(self, op):
        self.stale = op
        for view in self.views:
            view.make_stale(op)


SKIPPED_ARGUMENTS = ("device", "layout", "pin_memory", "memory_format", "generator", "implicit", "non_blocking")
IDENTITIES = ("detach", "alias", "lift", "lift_fresh", "lift_fresh_copy", "clone", "contiguous", "detach_copy")
SAME_SHAPE_IDENTITIES = ("slice", "view", "_unsafe_view", "reshape", "_reshape_alias", "expand", "view_copy", "expand_copy")


class GraphWriter:
    def __init__(self):
        self.cells = {}   # PyTorch node -> Cell, or a list of them for several results
        self.calls = []   # (op, arguments, [Value or None], line or None)
        self.assumed = {}  # buffer -> (Value, tensor): those whose numbers are part of the graph and in a checkpoint

    def value(self, node):
        cell = self.cells[node]
        if isinstance(cell, list):
            raise Complaint("the results of %s are used as one value" % node.name)
        if cell.stale:
            raise Complaint("%s changes a view in place, which torch %s cannot express; import with torch 2" %
                            (cell.stale, torch.__version__))
        return cell.value

    def argument(self, value):
        if isinstance(value, torch.fx.Node):
            return self.value(value)
        if isinstance(value, (list, tuple)):
            return [self.argument(item) for item in value]
        if isinstance(value, torch.dtype):
            if value not in DTYPES:
                raise Complaint("the type %s is one that hone does not know" % value)
            return DTYPES[value]
        if isinstance(value, float) and not math.isfinite(value):
            return {"real": number(value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return str(value)

    def arguments(self, node):
        given = {}
        for i, parameter in enumerate(node.target._schema.arguments):
            if i < len(node.args):
                value = node.args[i]
            elif parameter.name in node.kwargs:
                value = node.kwargs[parameter.name]
            else:
                continue
            if parameter.name in SKIPPED_ARGUMENTS:
                continue
            if parameter.has_default_value() and not isinstance(value, torch.fx.Node) and \
                    plain(value) == plain(parameter.default_value):
                continue
            given[parameter.name] = value
        return given

    def call(self, node):
        if NEW:
            part = part_of_view(self, node)
            if part is not None or touches_complex(node):
                self.cells[node] = part or ComplexWriter(self, node).cell()
                return
        schema = node.target._schema
        name = schema.name.split("::")[-1]
        overload = schema.overload_name or "default"
        namespace = schema.name.split("::")[0]
        given = self.arguments(node)
        first = node.args[0] if node.args and isinstance(node.args[0], torch.fx.Node) else None
        meta = results_of(node)
        in_place = name.endswith("_") and not name.endswith("__") and first is not None
        if in_place:
            name = name[:-1]
            functional = getattr(torch.ops.aten, name, None)
            if functional is None or overload not in functional.overloads():
                raise Complaint("%s_ works in place and has no functional form here; import with torch 2" % name, line_of(node))
        if namespace == "hone_whole":
            namespace, overload = "aten", "default" if name == ATTENTION else "vec" if name in RESIZES else "input"
        if (namespace, name) == ("prims", "scalar_tensor"):
            namespace = "aten"
        if name == "copy" and isinstance(given.get("src"), torch.fx.Node):
            source = tensor_of(given["src"])
            if tuple(source.shape) == tuple(meta.shape) and source.dtype == meta.dtype:  # all of it is written anew
                value = self.value(given["src"])
                if in_place:
                    self.cells[first].mutate(value, "aten.copy_")
                    self.cells[node] = self.cells[first]
                else:
                    self.cells[node] = Cell(value)
                return
        if self.is_identity(name, node, given, first, meta):
            if name in ("native_dropout",):
                self.cells[node] = [self.cells[first], None]
            elif name in ("clone", "lift_fresh_copy", "contiguous", "_to_copy"):
                self.cells[node] = Cell(self.value(first))
            else:
                self.cells[node] = self.cells[first]
            return
        refuse_results(name, given, line_of(node))
        name, overload, given = canonical(name, overload, given, first)
        arguments = {key: self.argument(value) for key, value in given.items()}
        if isinstance(meta, (list, tuple)):
            results = [Value(name, t) if isinstance(t, torch.Tensor) else None for t in meta]
        elif isinstance(meta, torch.Tensor) or meta is None:
            results = [Value(name, meta)]
        else:
            raise Complaint("%s gives something other than tensors" % node.target, line_of(node))
        # Some names of batch norm give new statistics too.
        kept = results[:3] if name == "native_batch_norm" else results
        self.calls.append(("%s.%s.%s" % (namespace, name, overload), arguments, kept, line_of(node)))
        if in_place:
            self.cells[first].mutate(results[0], "%s.%s_" % (namespace, name))
            self.cells[node] = self.cells[first]
            return
        alias = schema.returns[0].alias_info if schema.returns else None
        base = self.cells[first] if alias is not None and first is not None and isinstance(self.cells[first], Cell) else None
        cells = [Cell(value, base) for value in results]
        self.cells[node] = cells if isinstance(meta, (list, tuple)) else cells[0]

    @staticmethod
    def is_identity(name, node, given, first, meta):
        source = tensor_of(first) if first is not None else None
        if not isinstance(source, torch.Tensor):
            return False
        if name in IDENTITIES:
            return True
        if name in ("_to_copy", "to", "type_as"):
            return meta.dtype == source.dtype
        if name in SAME_SHAPE_IDENTITIES:
            return tuple(meta.shape) == tuple(source.shape)
        if name in ("dropout", "native_dropout", "feature_dropout", "alpha_dropout"):
            training = node.args[2] if len(node.args) > 2 else node.kwargs.get("train", True)
            p = node.args[1] if len(node.args) > 1 else node.kwargs.get("p", 0.5)
            return p == 0 or training is False
        return False


def tensor_of(node):
    """A tensor of the node's shape and type, or None. torch 1.13 keeps a fake one only where it traced fake ones."""
    found = node.meta.get("val")
    if found is None and hasattr(node.meta.get("tensor_meta"), "dtype"):
        meta = node.meta["tensor_meta"]
        found = node.meta["val"] = torch.empty(meta.shape, dtype=meta.dtype, device="meta")
    return found


def results_of(node):
    """The tensors that a node gives. torch 1.13 keeps none at nodes with several results, only at those that pick one."""
    found = tensor_of(node)
    if found is not None:
        return found
    picks = [user for user in node.users if user.target is operator.getitem]
    returns = node.target._schema.returns
    if len(returns) < 2 and not picks:
        return None
    found = [None] * max([len(returns)] + [pick.args[1] + 1 for pick in picks])
    for pick in picks:
        found[pick.args[1]] = tensor_of(pick)
    return found


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return (isinstance(value, bool), value) if isinstance(value, (bool, int, float)) else value


def canonical(name, overload, given, first):
    """Old torch's names for what core ATen calls otherwise, so that both torches give the same operators."""
    if name in ("_unsafe_view", "_reshape_alias", "reshape"):
        size = given.get("size", given.get("shape"))
        return "view", "default", {"self": first, "size": size}
    if name in ("t", "transpose", "numpy_T") and first is not None:
        rank = tensor_of(first).dim()
        order = list(range(rank))
        if name == "transpose":
            a, b = given["dim0"] % rank, given["dim1"] % rank
            order[a], order[b] = order[b], order[a]
        else:
            order.reverse()
        return "permute", "default", {"self": first, "dims": order}
    # Batch norm has several names, by what it does to the running statistics, which nobody checks.
    if name in ("_native_batch_norm_legit_functional", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training"):
        name, overload = "native_batch_norm", "default"
        given.setdefault("training", False)
    if name == "native_batch_norm" and given.get("training") is True:
        given = dict(given, running_mean=None, running_var=None)
    if name in ("norm", "frobenius_norm") and "dtype" not in given:
        p = given.get("p", 2) if name == "norm" else 2
        given = {key: given[key] for key in ("self", "dim", "keepdim") if key in given}
        if p not in (None, 2):
            given["ord"] = p
        return "linalg_vector_norm", "default", given
    if name == "sub" and isinstance(given.get("self"), (int, float)) and "alpha" not in given:
        return "rsub", "Scalar", {"self": given["other"], "other": given["self"]}
    return name, overload, given


def sanitized(text):
    text = re.sub(r"[^0-9A-Za-z_]", "_", text)[:150].strip("_") or "value"
    return "v_" + text if text[0].isdigit() else text
