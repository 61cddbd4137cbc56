"""The problem, put together from what the other parts found.

Part of hone_import.py, whose names it uses.
"""


# What makes places of places: their sums, remainders, shapes and types.
PLACES_OF_PLACES = ("add", "sub", "remainder", "fmod", "where", "lt", "ge", "clone", "view", "unsqueeze", "squeeze", "expand", "_to_copy", "clamp", "minimum")


class Weights:
    """Exact values, to be written as one safetensors file beside the problem."""

    def __init__(self, path):
        self.path, self.tensors = path, []

    def add(self, name, tensor):
        if not self.path:
            raise Complaint("%s holds values that no generator gives; name a file for them with -o or --weights" % name)
        self.tensors.append((name, tensor.detach().cpu().contiguous()))
        return {"kind": "file", "path": os.path.basename(self.path), "tensor": name}

    def write(self):
        if not self.tensors:
            return
        header, offset = {}, 0
        for name, tensor in self.tensors:
            size = tensor.numel() * tensor.element_size()
            header[name] = {"dtype": SAFETENSORS[DTYPES[tensor.dtype]], "shape": list(tensor.shape),
                            "data_offsets": [offset, offset + size]}
            offset += size
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(self.path, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for _, tensor in self.tensors:
                size = tensor.numel() * tensor.element_size()
                file.write(memoryview((ctypes.c_char * size).from_address(tensor.data_ptr())) if size else b"")


class Importer:
    def __init__(self, module, digest, built, graph, notes):
        self.module, self.digest, self.built = module, digest, built
        self.writer, self.inputs, self.weight_values, self.constants, self.outputs = graph
        self.weights = Weights(OPTIONS["weights_path"])
        self._real = None if built.fake else built
        self.notes = dict(notes, **ASSUMED)

    def real(self, why):
        if self._real is None:
            if total_bytes(self.built) > OPTIONS["memory_bytes"] // 2:
                raise Complaint("%s needs real values, and they do not fit the memory that an import may take" % why)
            self._real = Built(self.module, False)
        return self._real

    def generator(self, name, tensor, real_tensor):
        """tensor: maybe fake; real_tensor(): the same with data."""
        origin, known = self.built.recorder.of(tensor), None
        if not origin.random and self.built.fake:
            known = self.built.recorder.known.of(tensor)
        if known is not None:
            real_tensor = lambda: known
        if tensor.is_complex():  # nobody says how its parts came about
            origin, tensor, whole = Origin(random=origin.random), pairs(tensor), real_tensor
            real_tensor = lambda: pairs(whole())
        found = origin.generator()
        if origin.spread:
            self.notes["note " + name] = "whole numbers with gaps: drawn from all between the least and the greatest"
        if found is not None and not (found["kind"] in ("uniform", "normal") and not tensor.dtype.is_floating_point):
            return found
        if origin.kind == "empty":
            self.notes["note " + name] = "made by torch.empty and never filled: drawn from a normal distribution"
            return {"kind": "normal", "mean": 0.0, "deviation": 1.0}
        if origin.value is not None:
            values = origin.value.expand(tensor.shape) if origin.value.numel() == 1 else origin.value
            if tuple(values.shape) != tuple(tensor.shape):
                values = real_tensor()
        elif origin.random and self.built.fake and total_bytes(self.built) > OPTIONS["memory_bytes"] // 2:
            if origin.sample is not None:
                self.notes["note " + name] = "too large to be measured: as a sample of it is"
                return measured(origin.sample)
            self.notes["note " + name] = "too large to be measured: drawn from a normal distribution"
            return {"kind": "normal", "mean": 0.0, "deviation": 1.0}
        else:
            values = real_tensor()
        if origin.random:
            why = dependence(values)
            if origin.joint and why is None and values.numel() > 1 and whole_numbers(values) and constant_of(values) is None:
                why = "they come of torch.%s" % origin.joint.lstrip("_")
            if why is None:
                return measured(values)
            self.notes["note " + name] = "its numbers are no independent draws (%s): kept as the file gives them" % why
            return self.weights.add(name, values)
        constant = constant_of(values)
        if constant is not None:
            return {"kind": "constant", "value": constant}
        return self.weights.add(name, values)

    def state_generator(self, value, name, tensor, real_tensor):
        """Of what forward writes into. It begins as zeros, as a rule, and holds anything later: whoever is judged on zeros alone need
        not look at it. What counts places is any of those that there are."""
        found = self.generator(name, tensor, real_tensor)
        if found["kind"] != "constant":
            return found
        whole = {torch.int8: (-128, 128), torch.uint8: (0, 256)}.get(tensor.dtype)
        if tensor.dtype in (torch.int64, torch.int32):
            whole = self.places_counted(value)
            if whole is None:
                return found
        elif not tensor.is_floating_point() and whole is None:
            return found
        self.notes["note " + name] = "forward writes into it: any values, not %s alone" % found["value"]
        return {"kind": "integer", "low": whole[0], "high": whole[1]} if whole else {"kind": "normal", "mean": 0.0, "deviation": 1.0}

    def places_counted(self, counter):
        """(0, end) of the places that a counter of whole numbers may say, where it chooses among a tensor's; or None."""
        derived, ends = {counter}, []
        for op, arguments, results, _ in self.writer.calls:
            name = op.split(".")[1]
            if name in ("index_copy", "index_select", "scatter", "index_add"):
                chosen = [(arguments["dim"], arguments["index"])]
            elif name in ("index", "index_put"):
                chosen = list(enumerate(arguments["indices"]))
            else:
                chosen = []
                if name in PLACES_OF_PLACES and any(v in derived for a in arguments.values() for v in self.values_in(a)):
                    derived.update(v for v in results if v is not None)
            for dim, index in chosen:
                if index in derived and index.tensor is not None and arguments["self"].tensor is not None:
                    each = index.tensor.numel() if counter.tensor.numel() == 1 else 1
                    ends.append(int(arguments["self"].tensor.shape[dim]) - each + 1)
        return (0, min(ends)) if ends and min(ends) > 1 else None

    def problem(self):
        given = len(self.outputs)
        self.updates = self.find_updates()
        calls = self.live_calls()
        taken, tensors = set(), []

        def name_it(value, wanted):
            wanted, name, count = sanitized(wanted), sanitized(wanted), 0
            while name in taken:
                count += 1
                name = "%s_%d" % (wanted, count)
            taken.add(name)
            value.name = name
            return name

        def add(value, role, tensor, generator=None):
            row = {"name": value.name, "shape": [int(e) for e in tensor.shape], "dtype": dtype_name(tensor, value.name), "role": role}
            if generator is not None:
                row["generator"] = generator
            tensors.append(row)

        flat_inputs = tree_flatten(self.built.inputs)[0]
        names = forward_names(self.built.model)
        for i, value in sorted(self.inputs.items()):
            tensor = flat_inputs[i]
            flat = len(flat_inputs) == len(self.built.inputs) and i < len(names)
            name = name_it(value, names[i] if flat else "input_%d" % i)
            real = lambda i=i: tree_flatten(self.real(name).inputs)[0][i]
            written = ("input", i) in self.writer.after
            add(value, "input", tensor, self.state_generator(value, name, tensor, real) if written else self.generator(name, tensor, real))
        for key, value in self.weight_values.items():
            if ("weight", key) not in self.writer.after:
                continue
            name = name_it(value, key.replace(".", "_"))
            self.notes["parameter " + name] = self.built.paths.get(key, key)
            add(value, "input", self.built.weights[key],
                self.state_generator(value, name, self.built.weights[key], lambda key=key: self.real(key).weights[key]))
        self.note_writes()
        numbers = ["%s = %r" % (names[i] if i < len(names) else "input_%d" % i, x) for i, x in enumerate(flat_inputs)
                   if not isinstance(x, torch.Tensor)]
        if numbers:
            self.notes["constant arguments"] = ", ".join(numbers)
        used = self.used_values(calls)
        for key in self.built.weights:
            value = self.weight_values.get(key)
            if value is None or value not in used or ("weight", key) in self.writer.after:
                continue
            tensor = self.built.weights[key]
            name = name_it(value, key.replace(".", "_"))
            self.notes["parameter " + name] = self.built.paths.get(key, key)
            if OPTIONS["weights"]:
                generator = self.weights.add(key, pairs(self.real(key).weights[key]))
            else:
                generator = self.generator(name, tensor, lambda key=key: self.real(key).weights[key])
            add(value, "parameter", pairs(tensor), generator)
        for key, (value, tensor) in self.writer.assumed.items():
            if value in used:
                self.notes["fixed " + key] = "%d %d %d %d" % even_steps(tensor)
        for value, tensor in self.constants:
            if value not in used:
                continue
            if isinstance(tensor, FakeTensor):
                raise NeedsReal("a constant that forward makes")
            name = name_it(value, "constant")
            tensor = pairs(tensor)
            constant = constant_of(tensor)
            add(value, "parameter", tensor,
                {"kind": "constant", "value": constant} if constant is not None else self.weights.add(name, tensor))
        for i, value in enumerate(self.outputs):
            named = getattr(self.built.model, "output_names", [])
            source = self.updates[i]
            held = source and (self.inputs if source[0] == "input" else self.weight_values)[source[1]]
            if i >= given:
                name_it(value, held.name + "_after")
                self.notes["written " + value.name] = held.name if source[0] == "input" else "self." + self.built.paths.get(source[1], source[1])
            else:
                name_it(value, named[i] if i < len(named) else "output" if given == 1 else "output_%d" % i)
            if value.tensor is None:
                value.tensor = held and held.tensor
            if value.tensor is None:
                raise Complaint("torch %s does not tell the shape of output %d" % (torch.__version__, i))
            add(value, "output", value.tensor)
            if held:
                tensors[-1]["updates"] = held.name
        graph = []
        for op, arguments, results, _ in calls:
            for value in results:
                if value is not None and value.name is None and value in used:
                    name_it(value, value.hint)
            graph.append({"op": op, "args": {key: self.reference(a) for key, a in arguments.items()},
                          "outputs": [v.name if v is not None and v.name else "" for v in results]})
        self.weights.write()
        provenance = {"source": PATH, "source_sha256": self.digest, "torch": torch.__version__.split("+")[0],
                      "importer": KIND}
        if any(line for _, _, _, line in calls):
            provenance["lines"] = " ".join(str(line or 0) for _, _, _, line in calls)
        provenance.update(self.notes)
        self.shapes = {v.name: [int(e) for e in v.tensor.shape] for _, _, results, _ in calls for v in results
                       if v is not None and v.name and isinstance(v.tensor, torch.Tensor)}
        base = getattr(self.module, "name", None) or os.path.splitext(os.path.basename(PATH))[0]
        if KIND == "definition" and isinstance(OPTIONS.get("workload"), dict):
            provenance["workload"] = str(OPTIONS["workload"].get("uuid", OPTIONS.get("workload_where")))
        return {"hone_problem": 1, "name": base, "tensors": tensors, "graph": graph, "contract": OPTIONS["contract"],
                "provenance": provenance}

    def find_updates(self):
        """By output, what it is written into, or None: what forward leaves there are outputs, too, which come last. An output that is
        returned updates only what it is itself: a state that comes back in memory of its own is there when the next one is made."""
        updates = [None] * len(self.outputs)
        self.outputs = list(self.outputs)
        for source, value in self.writer.after.items():
            place = next((i for i, other in enumerate(self.outputs) if other is value and (i, source) in self.writer.itself),
                         len(updates))
            if place == len(updates):
                self.outputs.append(value)
                updates.append(None)
            updates[place] = source
        return updates

    def note_writes(self):
        """What kernels do not write. Running statistics of norms are nobody's result."""
        left = self.writer.written - set(self.writer.after)
        names = [self.inputs[what].name for kind, what in sorted(left, key=str) if kind == "input"]
        names += ["self." + what for what in self.built.weights
                  if ("weight", what) in left and what.split(".")[-1] not in STATISTICS]
        if names:
            self.notes["note writes"] = (
                "forward writes into %s, which kernels leave alone: what is written is part of the result only if forward returns it, "
                "too (return y, %s), and then the caller has to keep it" % (" and ".join(names), ", ".join(names)))

    def reference(self, argument):
        if isinstance(argument, Value):
            return "%" + argument.name
        if isinstance(argument, list):
            return [self.reference(item) for item in argument]
        return argument

    @staticmethod
    def values_in(argument):
        if isinstance(argument, Value):
            yield argument
        elif isinstance(argument, list):
            for item in argument:
                yield from Importer.values_in(item)

    def used_values(self, calls):
        used = set(self.outputs)
        for _, arguments, _, _ in calls:
            for argument in arguments.values():
                used.update(self.values_in(argument))
        return used

    def live_calls(self):
        # An output that is an input, or that is given twice, is a copy of its own.
        made = {v for _, _, results, _ in self.writer.calls for v in results if v is not None}
        seen, outputs = set(), []
        for value in self.outputs:
            if value not in made or value in seen:
                copy = Value("clone", value.tensor)
                self.writer.calls.append(("aten.clone.default", {"self": value}, [copy], None))
                value = copy
            seen.add(value)
            outputs.append(value)
        self.outputs = outputs
        needed, live = set(outputs), []
        for call in reversed(self.writer.calls):
            if any(v in needed for v in call[2] if v is not None):
                live.append(call)
                for argument in call[1].values():
                    needed.update(self.values_in(argument))
        return list(reversed(live))
