"""Complex tensors, which hone has none of: each is a pair of real ones, its parts, and what is done with it is done with those.

Part of hone_import.py, whose names it uses.
"""

# What gives each part of its result from the same part of what it reads: views, and element by element.
BY_PART = {"view", "_unsafe_view", "reshape", "expand", "permute", "transpose", "t", "squeeze", "unsqueeze", "slice", "select", "flip",
           "roll", "repeat", "cat", "stack", "split", "split_with_sizes", "unbind", "index", "index_select", "gather", "unfold", "neg",
           "where", "as_strided", "sum", "mean", "slice_scatter", "select_scatter", "constant_pad_nd", "copy"}
MADE = {"zeros", "full", "zeros_like", "full_like", "new_zeros", "new_full", "empty", "empty_like", "new_empty"}
SAME_PAIR = {"clone", "contiguous", "detach", "alias", "lift_fresh_copy", "resolve_conj", "resolve_neg", "_conj_physical_copy"}


class Pair(Value):
    """A complex value: its parts are values of its shape."""

    def __init__(self, real, imaginary, tensor):
        super().__init__("complex", tensor)
        self.real, self.imaginary = real, imaginary


def is_complex(thing):
    return isinstance(thing, torch.Tensor) and thing.is_complex()


def pairs(tensor):
    """A tensor as hone has it: of a complex one the reals, the parts side by side in a last dimension."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def touches_complex(node):
    made = tree_flatten(node.meta.get("val"))[0]
    read = [tensor_of(a) for a in node.all_input_nodes]
    return any(is_complex(t) for t in made + read) or any(isinstance(a, complex) for a in node.args)


class ComplexWriter:
    """Writes the operators of one node to the graph."""

    def __init__(self, writer, node):
        self.writer, self.node, self.line = writer, node, line_of(node)
        self.name = node.target._schema.name.split("::")[-1]

    def emit(self, op, like, /, **arguments):
        """One operator more. `like`: a tensor of its result's shape, and of the type whose parts it is of."""
        shape = torch.empty(like.shape, dtype=like.dtype.to_real(), device="meta")
        made = Value(op.split(".")[0], shape)
        self.writer.calls.append(("aten." + op, arguments, [made], self.line))
        return made

    def refuse(self, what="does with complex numbers what hone cannot write with their parts"):
        raise Complaint("aten.%s %s: use torch.view_as_real(z) and operators on real tensors" % (self.name, what), self.line)

    def parts(self, argument):
        """Real and imaginary part of an operand: a value, or a number; None for an imaginary part of nothing."""
        if isinstance(argument, torch.fx.Node):
            value = self.writer.value(argument)
            return (value.real, value.imaginary) if isinstance(value, Pair) else (value, None)
        return (argument.real, argument.imag) if isinstance(argument, complex) else (argument, None)

    def binary(self, op, a, b, like):
        """Of values or numbers, at least one of them a value."""
        if not isinstance(a, Value):
            if op == "sub":
                return self.emit("rsub.Scalar", like, self=b, other=a)
            a, b = b, a
        return self.emit("%s.%s" % (op, "Tensor" if isinstance(b, Value) else "Scalar"), like, self=a, other=b)

    def whole(self, part, like):
        """A part in the shape of the result, which may be that of another operand."""
        if isinstance(part, Value) and tuple(part.tensor.shape) == tuple(like.shape):
            return part
        if isinstance(part, Value):
            return self.emit("expand.default", like, self=part, size=list(like.shape))
        return self.emit("full.default", like, size=list(like.shape), fill_value=float(part), dtype=DTYPES[like.dtype.to_real()])

    def product(self, like):
        (a, b), (c, d) = map(self.parts, self.node.args[:2])
        if b is None:
            (a, b), (c, d) = (c, d), (a, b)
        if d is None:
            return self.binary("mul", a, c, like), self.binary("mul", b, c, like)
        return self.product_of(a, b, c, d, like)

    def sum(self, like):
        (a, b), (c, d) = map(self.parts, self.node.args[:2])
        if self.node.kwargs.get("alpha", 1) != 1:
            self.refuse("with an alpha has no parts")
        minus = self.name == "sub"
        real = self.binary(self.name, a, c, like)
        if b is None:
            imaginary = self.emit("neg.default", like, self=self.whole(d, like)) if minus else self.whole(d, like)
        else:
            imaginary = self.whole(b, like) if d is None else self.binary(self.name, b, d, like)
        return real, imaginary

    def product_of(self, a, b, c, d, like):
        real = self.binary("sub", self.binary("mul", a, c, like), self.binary("mul", b, d, like), like)
        return real, self.binary("add", self.binary("mul", a, d, like), self.binary("mul", b, c, like), like)

    def quotient(self, like):
        (a, b), (c, d) = map(self.parts, self.node.args[:2])
        if len(self.node.args) != 2 or self.node.kwargs:
            self.refuse("with a rounding has no parts")
        if d is None and isinstance(a, Value):
            return self.binary("div", a, c, like), self.binary("div", b, c, like)
        if d is None:
            self.refuse("by real ones has no parts where a number is divided")
        c, d = self.inverse(c, d, like)
        return self.product_of(a, b, c, d, like) if b is not None else (self.binary("mul", a, c, like), self.binary("mul", a, d, like))

    def inverse(self, a, b, like):
        """1 / (a + i b): parts over what their squares sum to."""
        if not isinstance(a, Value):  # numbers
            return (1 / complex(a, b)).real, (1 / complex(a, b)).imag
        shape = a.tensor
        squares = self.binary("add", self.binary("mul", a, a, shape), self.binary("mul", b, b, shape), shape)
        return self.binary("div", a, squares, shape), self.emit("neg.default", shape, self=self.binary("div", b, squares, shape))

    def power(self, like):
        """Of what is given, or e to it."""
        a, b = self.parts(self.node.args[0])
        if self.name == "exp":
            length = self.emit("exp.default", like, self=a)
            return tuple(self.binary("mul", length, self.emit(turn + ".default", like, self=b), like) for turn in ("cos", "sin"))
        if self.name == "reciprocal":
            return self.inverse(a, b, like)
        if self.name == "pow" and self.node.args[1] != 2:
            self.refuse("with another exponent than 2 has no parts")
        return self.product_of(a, b, a, b, like)

    def matrix_product(self, like):
        (a, b), (c, d) = map(self.parts, self.node.args[:2])

        def of(left, right):
            return self.emit(self.name + ".default", like, self=left, mat2=right)

        if b is None or d is None:
            return (of(a, c), of(a, d)) if b is None else (of(a, c), of(b, c))
        real = self.binary("sub", of(a, c), of(b, d), like)
        return real, self.binary("add", of(a, d), of(b, c), like)

    def filled(self, like):
        given = next((argument for argument in self.node.args[1:] if isinstance(argument, (int, float, complex))), 0)
        given = complex(0 if "full" not in self.name else given)
        real = self.whole(given.real, like)
        return (real, self.whole(given.imag, like)) if is_complex(like) else real

    def polar(self, like):
        length, angle = (self.writer.value(argument) for argument in self.node.args)
        return tuple(self.binary("mul", length, self.emit(turn + ".default", angle.tensor, self=angle), like) for turn in ("cos", "sin"))

    def of_parts(self, like):
        """view_as_complex, of what lies side by side."""
        source = self.writer.value(self.node.args[0])
        return tuple(self.emit("select.int", like, self=source, dim=like.dim(), index=i) for i in (0, 1))

    def by_part(self, like):
        """The same operator for each part."""
        given = self.writer.arguments(self.node)
        if self.name == "constant_pad_nd" and given.get("value"):  # whose imaginary part is another number
            self.refuse("with other numbers than 0 beside them has no parts")
        overload = self.node.target._schema.overload_name or "default"
        several = isinstance(like, (list, tuple))

        def argument(value, which, may_be_real):
            if isinstance(value, (list, tuple)):
                return [argument(item, which, may_be_real) for item in value]
            found = self.writer.argument(value)
            if isinstance(found, Pair):
                return getattr(found, which)
            if not may_be_real and (isinstance(found, Value) or self.name == "where"):
                self.refuse("puts real and complex numbers together")
            return found

        def one(which):
            arguments = {key: argument(value, which, key in ("condition", "index", "indices")) for key, value in given.items()}
            made = [Value(self.name, torch.empty(t.shape, dtype=t.dtype.to_real(), device="meta")) for t in (like if several else [like])]
            self.writer.calls.append(("aten.%s.%s" % (self.name, overload), arguments, made, self.line))
            return made if several else made[0]

        return one("real"), one("imaginary")

    def made(self):
        """(real, imaginary) of a complex result, the value of a real one, or lists of the former."""
        like, args = self.node.meta["val"], self.node.args
        first = self.writer.value(args[0]) if args and isinstance(args[0], torch.fx.Node) else None
        if self.name in SAME_PAIR or self.name == "_to_copy" and is_complex(tensor_of(args[0])) and like.dtype == tensor_of(args[0]).dtype:
            return first.real, first.imaginary
        if self.name in ("_conj", "conj_physical", "conj"):
            return first.real, self.emit("neg.default", like, self=first.imaginary)
        if self.name == "view_as_real":
            return self.emit("stack.default", like, tensors=[first.real, first.imaginary], dim=-1)
        if self.name == "abs":
            return self.emit("hypot.default", like, self=first.real, other=first.imaginary)
        if self.name == "angle":
            return self.emit("atan2.default", like, self=first.imaginary, other=first.real)
        if self.name == "_to_copy" and not is_complex(tensor_of(args[0])):
            real = first if first.tensor.dtype == like.dtype.to_real() else self.emit(
                "_to_copy.default", like, self=first, dtype=DTYPES[like.dtype.to_real()])
            return real, self.whole(0.0, like)
        if self.name == "complex":
            return tuple(self.whole(self.writer.value(argument), like) for argument in args)
        written = {"view_as_complex": self.of_parts, "polar": self.polar, "mul": self.product, "add": self.sum, "sub": self.sum,
                   "div": self.quotient, "mm": self.matrix_product, "bmm": self.matrix_product}
        written.update(dict.fromkeys(("exp", "reciprocal", "square", "pow"), self.power))
        written.update(dict.fromkeys(MADE, self.filled))
        if self.name in BY_PART:
            return self.by_part(like)
        if self.name not in written:
            self.refuse()
        return written[self.name](like)

    def cell(self):
        if self.name == "_assert_tensor_metadata":  # checks at run time what hone knows
            return None
        like, made = self.node.meta["val"], self.made()
        if isinstance(made, Value):
            return Cell(made)
        if isinstance(like, (list, tuple)):
            return [Cell(Pair(real, imaginary, t)) for real, imaginary, t in zip(*made, like)]
        return Cell(Pair(*made, like))


def part_of_view(writer, node):
    """The part that a select takes of view_as_real, as z.real and z.imag do, or None."""
    source = node.args[0] if node.target is torch.ops.aten.select.int else None
    if source is None or source.target is not torch.ops.aten.view_as_real.default or node.args[1] not in (-1, tensor_of(source).dim() - 1):
        return None
    pair = writer.value(source.args[0])
    return Cell(pair.imaginary if node.args[2] in (1, -1) else pair.real)


def value_or_pair(writer, value):
    """What a parameter or a constant is to the nodes that read it: of a complex one hone has the pairs."""
    tensor, parts = value.tensor, []
    if not is_complex(tensor):
        return value
    for name, index in (("real", 0), ("imaginary", 1)):
        parts.append(Value(name, torch.empty(tensor.shape, dtype=tensor.dtype.to_real(), device="meta")))
        writer.calls.append(("aten.select.int", {"self": value, "dim": tensor.dim(), "index": index}, [parts[-1]], None))
    return Pair(*parts, tensor)
