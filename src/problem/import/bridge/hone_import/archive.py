"""The user's file: a program that torch.export saved.

Part of hone_import.py, whose names it uses.
"""


class Archive:
    """What Built is, of a program that torch.export saved: its tensors are real, how they were drawn is not known."""

    fake = False

    def __init__(self):
        if not NEW:
            raise Complaint("is a program of torch.export, which torch %s cannot read; use torch 2" % torch.__version__)
        try:
            self.program = torch.export.load(PATH)
        except Exception as error:
            if out_of_memory(error):
                raise
            raise Complaint("is no program that torch %s can load: %s" % (torch.__version__.split("+")[0], describe_error(error)))
        given, named = self.program.example_inputs or ((), {})
        self.inputs = list(given) + list((named or {}).values())
        signature = self.program.graph_signature
        self.weights = dict(self.program.state_dict)
        self.buffers, self.paths = set(signature.buffers), {}
        # Buffers that are not saved with a module's state are kept apart from it.
        self.fixed = {name for name in signature.buffers if name not in self.weights}
        self.weights.update({name: self.program.constants[name] for name in self.fixed})
        drawn = {id(t) for t in tree_flatten(self.inputs)[0]}
        drawn |= {id(self.weights[name]) for name in signature.parameters if name in self.weights}
        self.recorder = types.SimpleNamespace(of=lambda tensor: Origin(random=id(tensor) in drawn))
        names = [spec.arg.name for spec in signature.input_specs if spec.kind.name == "USER_INPUT"]
        self.model = types.SimpleNamespace(input_names=names)
