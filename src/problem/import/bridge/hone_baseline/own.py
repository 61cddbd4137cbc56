"""A module of the user's own as a baseline, and what it is given.

Part of hone_baseline.py, whose names it uses.
"""


class Own:
    """The module of OWN.py, and what it is given."""

    def __init__(self, torch):
        from torch.utils._pytree import tree_flatten, tree_unflatten
        self.torch, self.flatten, self.unflatten = torch, tree_flatten, tree_unflatten
        problem = load_problem(torch) if PATH else None
        # Of what the arguments are made; its tensors need no data.
        self.structure = inputs_at(torch, problem, "meta") if problem else None
        module = load(torch, OWN, "hone_baseline_file")
        self.model = made(torch, own_class(torch, module), problem or module)
        if DEVICE == "cuda":
            self.model = self.model.cuda()

    def read(self, memory, row):
        torch = self.torch
        kind = getattr(torch, row["dtype"])
        if row["bytes"] == 0:
            return torch.empty(row["shape"], dtype=kind, device=DEVICE)
        seen = torch.frombuffer(memory, dtype=torch.uint8, count=row["bytes"], offset=row["at"])
        seen = seen.view(kind).reshape(row["shape"])
        return seen.cuda() if DEVICE == "cuda" else seen.clone()

    def take_inputs(self, memory, rows):
        """The arguments of forward: tensors of the problem in the places of those of FILE.py."""
        tensors = [self.read(memory, row) for row in rows]
        if self.structure is None:
            return tensors
        leaves, tree = self.flatten(self.structure)
        self.structure = None
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, self.torch.Tensor)]
        if len(places) != len(tensors):
            raise Complaint("get_inputs() of %s gives %d tensors, and the problem has %d: import it again"
                            % (PATH, len(places), len(tensors)))
        for place, tensor in zip(places, tensors):
            leaves[place] = tensor
        return self.unflatten(leaves, tree)

    def take_parameters(self, memory, rows):
        """By name. Answers which of the module's own are none of the problem's."""
        state = dict(self.model.named_buffers())
        state.update(self.model.named_parameters())
        for row in rows:
            if row["name"] not in state:
                continue
            own = state[row["name"]]
            own = self.torch.view_as_real(own) if own.is_complex() else own  # the problem has pairs
            if list(own.shape) != row["shape"]:
                raise Complaint("its parameter %s is %s, and the problem's %s"
                                % (row["name"], list(own.shape), row["shape"]))
            own.copy_(self.read(memory, row))
        self.state = state
        known = {row["name"] for row in rows}
        return [name for name, _ in self.model.named_parameters() if name not in known]

    def put_outputs(self, memory, rows, result, inputs):
        """Why they do not fit the rows, or None. Rows that say where it is written are what the call leaves there."""
        torch = self.torch
        tensors = [one for one in self.flatten(result)[0] if isinstance(one, torch.Tensor)]
        returned = sum("written" not in row for row in rows)
        if len(tensors) != returned:
            return "it makes %d tensors, not %d" % (len(tensors), returned)
        given = [one for one in self.flatten(inputs)[0] if isinstance(one, torch.Tensor)]
        for place, row in enumerate(rows):
            where = row.get("written")
            if isinstance(where, str) and where not in self.state:
                return "it holds no '%s', which the problem's module writes into" % where
            if where is not None:
                tensors.insert(place, self.state[where] if isinstance(where, str) else given[where])
        for one, row in zip(tensors, rows):
            kind = str(one.dtype).replace("torch.", "")
            if kind != row["dtype"] or list(one.shape) != row["shape"]:
                return "'%s' is %s %s, not %s %s" % (row["name"], kind, list(one.shape), row["dtype"], row["shape"])
            if row["bytes"] > 0:
                to = torch.frombuffer(memory, dtype=torch.uint8, count=row["bytes"], offset=row["at"])
                to.copy_(one.detach().contiguous().cpu().reshape(-1).view(torch.uint8))
        return None

    def give(self, sheet):
        """The inputs from now on, and the answer."""
        memory = mmap.mmap(MEMORY, 0)
        os.close(MEMORY)
        inputs = self.take_inputs(memory, sheet["inputs"])
        strays = self.take_parameters(memory, sheet["parameters"])
        state = State(self.torch, self.model, inputs)
        unlike = self.put_outputs(memory, sheet["outputs"], self.model(*inputs), inputs)
        answer = {"made": True} if unlike is None else {"unlike": unlike}
        if strays:
            answer["strays"] = strays[:8]
        state.settle()
        return inputs, state, answer
