"""The user's file: KernelBench's.

Part of hone_import.py, whose names it uses.
"""


def read_source():
    try:
        with open(PATH, "rb") as file:
            return file.read()
    except OSError as error:
        raise Complaint("cannot be read: %s" % error.strerror)


def run_source(source):
    """The user's module, after its code has run."""
    try:
        code = compile(source, CODE, "exec")
    except SyntaxError as error:
        raise Complaint("%s: %s" % (type(error).__name__, error.msg), error.lineno)
    except ValueError as error:
        raise Complaint("is no Python source: %s" % error)
    except RecursionError:
        raise Complaint("nests too deep for Python")
    write_attentions(source)
    linecache.checkcache(PATH)
    module = types.ModuleType("hone_problem_file")
    module.__file__ = PATH
    sys.modules["hone_problem_file"] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(PATH)))
    torch.manual_seed(SEED)
    exec(code, module.__dict__)
    return module


def load_source(source):
    if KIND == "definition":
        return load_definition(source)
    module = run_source(source)
    model = getattr(module, "Model", None)
    if model is None:
        own = [name for name, kind in vars(module).items()
               if isinstance(kind, type) and issubclass(kind, nn.Module) and kind.__module__ == module.__name__]
        raise Complaint("no class Model, the nn.Module to be optimized" + (": add the line `Model = %s`" % own[-1] if own else ""))
    match = re.search(rb"^class\s+Model\b", source, re.M)
    line = source[: match.start()].count(b"\n") + 1 if match else None
    if not (isinstance(model, type) and issubclass(model, nn.Module)):
        raise Complaint("Model is not a torch.nn.Module", line)
    if getattr(model, "forward", None) is getattr(nn.Module, "forward", None):
        raise Complaint("class Model has no forward", line)
    if not callable(getattr(module, "get_inputs", None)):
        raise Complaint("no get_inputs(): add a function of that name that returns a list of the tensors that forward takes")
    return module, hashlib.sha256(source).hexdigest()
