"""Files of the user: a KernelBench-style one, a program that torch.export saved, a module of another file.

Part of hone_baseline.py, whose names it uses.
"""


def load(torch, path, name):
    """The file as a module of this name."""
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    torch.manual_seed(42)  # as KernelBench does before it makes the model
    exec(code, module.__dict__)
    return module


def load_program(torch, path):
    """What torch.export saved, with the names that a KernelBench-style file has: its operators one after another, on the inputs and
    parameters that it was exported with."""
    program = torch.export.load(path)
    given, named = program.example_inputs or ((), {})
    if named:
        raise Complaint("was exported with arguments by name (%s): export it with positional ones" % ", ".join(named))
    if DEVICE == "cuda":  # what it makes itself, too; its parameters go there later
        try:
            from torch.export.passes import move_to_device_pass
            program = move_to_device_pass(program, "cuda:%d" % torch.cuda.current_device())
        except ImportError:
            pass  # an older torch: such a program fails, and says so
    return types.SimpleNamespace(Model=program.module, get_inputs=lambda: given)


def load_problem(torch):
    return load_program(torch, PATH) if PATH.endswith(".pt2") else load(torch, PATH, "hone_problem_file")


def made(torch, kind, module):
    """An object of the class, with the arguments that the module has for it."""
    torch.manual_seed(42)
    init = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
    return kind(*init) if isinstance(init, (list, tuple)) else kind(**init)


def inputs_of(torch, module):
    torch.manual_seed(42)
    return list(module.get_inputs())


def made_there(torch, device, make):
    """What make() makes, on that device where the file does not mind: one core draws gigabytes in a minute."""
    try:
        with torch.device(device):
            return make()
    except Exception:
        return make()


def inputs_at(torch, module, device):
    return made_there(torch, device, lambda: inputs_of(torch, module))


def move_held(torch, value, seen):
    """Tensors that no .cuda() of a module moves: in lists, dicts and objects, as transformers' caches are."""
    if id(value) in seen or isinstance(value, torch.Tensor):
        return
    seen.add(id(value))
    if isinstance(value, (list, dict)):
        entries = value
    elif type(value).__module__ not in ("builtins", "torch") and hasattr(value, "__dict__") and not hasattr(value, "register_buffer"):
        entries = vars(value)
    else:
        return
    for key, one in list(entries.items() if isinstance(entries, dict) else enumerate(entries)):
        if isinstance(one, torch.Tensor):
            entries[key] = one.cuda()
        else:
            move_held(torch, one, seen)


def on_the_device(torch, model):
    """A model, there with all that it holds."""
    model = model.cuda()
    for part in model.modules() if hasattr(model, "modules") else []:
        for name, value in [entry for entry in vars(part).items() if not entry[0].startswith("_")]:
            if isinstance(value, torch.Tensor):
                setattr(part, name, value.cuda())
            else:
                move_held(torch, value, set())
    return model


def own_class(torch, module):
    """The one that is named, or the one that is there: KernelBench calls it ModelNew."""
    def is_module(value):
        return isinstance(value, type) and issubclass(value, torch.nn.Module)

    classes = {name: value for name, value in vars(module).items()
               if is_module(value) and value.__module__ == module.__name__}
    there = "it has " + ", ".join(classes) if classes else "it has none of its own"
    if CLASS:
        if not is_module(getattr(module, CLASS, None)):
            raise Complaint("has no torch.nn.Module %s; %s" % (CLASS, there))
        return getattr(module, CLASS)
    for name in ("ModelNew", "Model"):  # it may come from another file
        if is_module(getattr(module, name, None)):
            return getattr(module, name)
    if len(classes) == 1:
        return list(classes.values())[0]
    if not classes:
        raise Complaint("has no class that is a torch.nn.Module")
    raise Complaint("which of its classes is meant? %s; say --baseline FILE.py:CLASS" % there)
