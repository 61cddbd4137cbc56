"""The user's file: a definition of SOL-ExecBench or FlashInfer-Bench.

Part of hone_import.py, whose names it uses.
"""


# A definition calls the types as torch does. Others torch may know; hone does not.
DEFINED_TYPES = {str(dtype).partition(".")[2]: dtype for dtype in DTYPES}


class Definition:
    """A definition with one workload: axes have values, inputs a source."""

    def __init__(self, document, workload, where):
        self.document, self.where = document, where or PATH
        self.workload = workload if isinstance(workload, dict) else {}
        self.sources = self.workload.get("inputs", {})
        if not isinstance(self.sources, dict) or not isinstance(self.workload.get("axes", {}), dict):
            raise Complaint("%s: axes or inputs of the workload are no objects" % self.where)
        self.axes = {}
        for name, row in document["axes"].items():
            if not isinstance(row, dict):
                raise Complaint("/axes/%s: is not an object" % name)
            if row.get("type") == "const":
                self.axes[name] = self.extent(row.get("value"), "/axes/%s/value" % name)
            elif row.get("type") == "var":
                if name not in self.workload.get("axes", {}):
                    raise Complaint("/axes/%s: is variable, and %s" % (
                        name, "%s gives it no value" % self.where if self.workload else "there is no workload beside the file"))
                self.axes[name] = self.extent(self.workload["axes"][name], "%s: axis %s" % (self.where, name))
            elif row.get("type") != "expr":
                raise Complaint("/axes/%s/type: is %r; known are const, var, expr" % (name, row.get("type")))
        for name, row in document["axes"].items():
            if row.get("type") == "expr":
                place = "/axes/%s/expression" % name
                self.axes[name] = self.extent(self.evaluate(row.get("expression"), place), place)

    @staticmethod
    def extent(value, place):
        if isinstance(value, float) and value == int(value):
            value = int(value)
        if type(value) is not int or not 0 <= value < 1 << 40:
            raise Complaint("%s: is %r, not a size" % (place, value))
        return value

    def evaluate(self, text, place):
        import ast

        def value(node, depth=0):
            if depth > 50:
                raise Complaint("%s: nests too deep" % place)
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                return node.value
            if isinstance(node, ast.Name):
                row = self.document["axes"].get(node.id)
                if node.id in self.axes:
                    return self.axes[node.id]
                if isinstance(row, dict) and row.get("type") == "expr" and row.get("expression") != text:
                    return value(ast.parse(str(row.get("expression")), mode="eval").body, depth + 1)
                raise Complaint("%s: %s is no axis" % (place, node.id))
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
                inner = value(node.operand, depth + 1)
                return inner if isinstance(node.op, ast.UAdd) else -inner
            operators = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
                         ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow}
            if isinstance(node, ast.BinOp) and type(node.op) in operators:
                left, right = value(node.left, depth + 1), value(node.right, depth + 1)
                if isinstance(node.op, ast.Pow) and (abs(left) > 1 << 20 or abs(right) > 64):
                    raise Complaint("%s: a power is too large" % place)
                return operators[type(node.op)](left, right)
            raise Complaint("%s: %r is no expression of axes; known are + - * / // %% ** and brackets" % (place, text))

        try:
            return value(ast.parse(str(text), mode="eval").body)
        except (SyntaxError, ArithmeticError, RecursionError, MemoryError) as error:
            raise Complaint("%s: %r: %s" % (place, text, error))

    def shape(self, row, place):
        """A list of extents, or None for a plain number."""
        shape = row.get("shape") if isinstance(row, dict) else 0
        if shape is None:
            return None
        if not isinstance(shape, list):
            raise Complaint("%s/shape: is not a list of axes" % place)
        for name in shape:
            if not (isinstance(name, str) and name in self.axes):
                raise Complaint("%s/shape: %r is no axis" % (place, name))
        return [self.axes[name] for name in shape]

    def dtype(self, row, place):
        name = row.get("dtype") if isinstance(row, dict) else None
        if name not in DEFINED_TYPES:
            raise Complaint("%s/dtype: is %r, which hone does not know; it knows %s" % (place, name, ", ".join(DEFINED_TYPES)))
        return DEFINED_TYPES[name]

    def number(self, name, row):
        source = self.sources.get(name)
        if isinstance(source, dict) and source.get("type") == "scalar" and type(source.get("value")) in (int, float, bool):
            return source["value"]
        raise Complaint("%s: gives the number %s no value" % (self.where, name))

    def stored(self, name, source, shape, dtype):
        path = os.path.join(os.path.dirname(self.where.rsplit(":", 1)[0]), str(source.get("path")))
        try:
            with open(path, "rb") as file:
                header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
                row = header[source.get("tensor_key")]
                file.seek(-0, 1)
                begin, end = row["data_offsets"]
                file.seek(begin, 1)
                data = bytearray(file.read(end - begin))
            tensor = torch.frombuffer(data, dtype=dtype).reshape(shape)
        except Complaint:
            raise
        except Exception as error:
            raise Complaint("%s: input %s: %s cannot be read as %s: %s" % (self.where, name, path, shape, describe_error(error)))
        return tensor

    def inputs(self, module):
        rows = self.document["inputs"]
        if any(isinstance(s, dict) and s.get("type") == "custom" for s in self.sources.values()):
            entry = getattr(module.source, str(self.document.get("custom_inputs_entrypoint")), None)
            if not callable(entry):
                raise Complaint("%s: wants custom inputs, and the reference has no function %s" % (
                    self.where, self.document.get("custom_inputs_entrypoint")))
            known = dict(self.axes)
            known.update({name: source["value"] for name, source in self.sources.items()
                          if isinstance(source, dict) and source.get("type") == "scalar" and "value" in source})
            made = entry(known, torch.device("cpu"))
            if not isinstance(made, dict) or any(name not in made for name in rows):
                raise Complaint("/custom_inputs_entrypoint: gives no dict with all of %s" % ", ".join(rows))
            return [made[name] for name in rows]
        return [self.input(name, row) for name, row in rows.items()]

    def input(self, name, row):
        place = "/inputs/%s" % name
        shape = self.shape(row, place)
        if shape is None:
            return self.number(name, row)
        dtype, source = self.dtype(row, place), self.sources.get(name, {"type": "random"})
        kind = source.get("type") if isinstance(source, dict) else None
        if kind == "safetensors":
            return self.stored(name, source, shape, dtype)
        if kind != "random":
            raise Complaint("%s: input %s comes from %r; known are random, scalar, safetensors, custom" % (self.where, name, kind))
        if dtype == torch.bool:
            return torch.randint(0, 2, shape).to(torch.bool)
        if not dtype.is_floating_point:
            return torch.randint(0, 2, shape, dtype=dtype)  # the one range that is valid as an index, too
        # As the benchmark draws them: normal, but parameters at the scale that a trained model has.
        if re.search(r"(^|_)(norm|ln|gamma|rms)\w*weight|norm_weight|^weight$", name) and len(shape) == 1:
            return torch.ones(shape, dtype=dtype)
        wide = torch.float32 if torch.empty(0, dtype=dtype).element_size() == 1 else dtype  # torch draws none of 8 bits
        drawn = torch.randn(shape, dtype=wide)
        if re.search(r"weight|proj|^w_", name) and len(shape) >= 2 and shape[-1]:
            drawn = drawn / math.sqrt(shape[-1])
        return drawn.to(dtype)


def load_definition(source):
    try:
        document = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise Complaint("not JSON: %s" % error)
    definition = Definition(document, OPTIONS.get("workload"), OPTIONS.get("workload_where"))
    code = run_source(document["reference"])
    run = getattr(code, "run", None)
    if not callable(run):
        raise Complaint("/reference: has no function run")
    while hasattr(run, "__wrapped__"):  # torch.no_grad: nothing here asks for gradients
        run = run.__wrapped__

    class Model(nn.Module):
        input_names = list(document["inputs"])
        output_names = list(document["outputs"])

        def forward(self, *inputs):
            result = run(*inputs)
            return [result[name] for name in document["outputs"]] if isinstance(result, dict) else result

    module = types.SimpleNamespace(source=code, Model=Model, definition=definition, name=document.get("name"))
    module.get_inputs = lambda: definition.inputs(module)
    return module, hashlib.sha256(source).hexdigest()


def check_outputs(definition, problem):
    """The reference gives what the definition says that it gives."""
    made = [row for row in problem["tensors"] if row["role"] == "output"]
    rows = list(definition.document["outputs"].items())
    if len(made) != len(rows):
        raise Complaint("/outputs: names %d, and run() gives %d" % (len(rows), len(made)))
    for (name, row), tensor in zip(rows, made):
        place = "/outputs/%s" % name
        shape, dtype = definition.shape(row, place) or [], DTYPES[definition.dtype(row, place)]
        if tensor["shape"] != shape or tensor["dtype"] != dtype:
            raise Complaint("%s: is %s %s, and run() gives %s %s" % (place, dtype, shape, tensor["dtype"], tensor["shape"]))
