"""The program's end: the modes, and what is asked of them.

Part of hone_baseline.py, whose names it uses.
"""


def lend_vector_functions():
    """What Inductor writes for a CPU calls SLEEF, which some builds of PyTorch keep to themselves: then the code that it
    tries does not load, and it writes scalar code, which flatters whoever is compared with it."""
    sleef = "libsleef.so.3"
    try:
        ctypes.CDLL(sleef, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return
    given = os.environ.get("LD_PRELOAD", "")
    if sleef not in given.replace(":", " ").split():  # another mode may have asked before
        os.environ["LD_PRELOAD"] = (sleef + " " + given).strip()  # the trial is a child's


def samples(clock, run, inputs, flush, runs, most_ms):
    """The answer to a question. `flush`: None for warm runs."""
    answer = {"ns": []}
    end = time.monotonic() + most_ms / 1e3
    for done in range(runs):
        if done > 0 and time.monotonic() > end:
            break
        if DEVICE == "cpu":
            answer["ns"].append(clock.time(run, inputs, flush))
            continue
        answer["ns"].append(clock.time(run, inputs, flush, True))
        if flush is None:
            answer.setdefault("dispatched_ns", []).append(clock.time(run, inputs, None, False))
    return answer


def profile(torch, run, inputs, runs):
    """What a run consists of, what takes longest first."""
    from torch.profiler import ProfilerActivity, profile as watch

    cuda = DEVICE == "cuda"
    with watch(activities=[ProfilerActivity.CUDA if cuda else ProfilerActivity.CPU]) as seen:
        begin = time.perf_counter_ns()
        for _ in range(runs):
            run(*inputs)
        if cuda:
            torch.cuda.synchronize()
        end = time.perf_counter_ns()
    kind = torch.autograd.DeviceType.CUDA if cuda else torch.autograd.DeviceType.CPU
    # Not what was only marked on the device, as compiled code marks its parts.
    parts = [one for one in seen.events() if one.device_type == kind and not getattr(one, "is_user_annotation", False)]
    kernels = {}
    for one in parts:
        kernel = kernels.setdefault(one.name, {"name": one.name, "us": 0.0, "calls": 0.0})
        kernel["us"] += (one.time_range.elapsed_us() if cuda else one.self_cpu_time_total) / runs
        kernel["calls"] += 1 / runs
    span = (end - begin) / 1e3
    if cuda and parts:
        span = max(one.time_range.end for one in parts) - min(one.time_range.start for one in parts)
    return {"span_us": span / runs, "kernels": sorted(kernels.values(), key=lambda one: -one["us"])}


def captured(torch, model, inputs):
    """The model as one CUDA graph on the inputs where they are."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(*inputs)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = model(*inputs)
    return lambda *ignored: (graph.replay(), result)[1]


def room(torch):
    """Bytes of memory that nobody uses, where the tensors are."""
    if DEVICE == "cuda":
        return torch.cuda.mem_get_info()[0]
    with open("/proc/meminfo") as file:
        return next((int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:")), 0)


class State:
    """What the model holds beside its parameters, and what it is given, as it was before the first call: what calls write into is
    put back before each one that is timed, as a candidate finds it."""

    def __init__(self, torch, model, inputs):
        held = []
        for part in model.modules() if hasattr(model, "modules") else []:
            held += [part._buffers, {name: value for name, value in vars(part).items() if not name.startswith("_")}]
        self.torch, self.settled = torch, False
        tensors = tensors_in(torch, [held, inputs])
        if sum(t.numel() * t.element_size() for t in tensors) > room(torch) // 4:
            tensors = []  # gigabytes stay as calls leave them
        self.kept = [(t, t.detach().clone()) for t in tensors]

    def settle(self):
        """After a first call: keeps those alone that are others by now."""
        if not self.settled:
            self.kept = [(t, kept) for t, kept in self.kept if not self.torch.equal(t, kept)]
            if DEVICE == "cuda":
                self.torch.cuda.empty_cache()  # others measure beside us
        self.settled = True

    def restore(self):
        for tensor, kept in self.kept if self.settled else []:
            tensor.detach().copy_(kept)


def ready(torch, mode, model, inputs):
    """What runs once in this mode."""
    if mode not in MODES:
        raise ValueError("mode is %s; known are %s" % (mode, ", ".join(MODES)))
    if mode.startswith("compile") and not hasattr(torch, "compile"):
        raise RuntimeError("torch %s has no torch.compile; it needs torch 2" % torch.__version__)
    if mode == "eager_graph":
        if DEVICE != "cuda":
            raise ValueError("a CUDA graph needs a GPU")
        return captured(torch, model, inputs)
    if mode.startswith("compile") and DEVICE == "cpu":
        lend_vector_functions()
    if mode == "compile":
        model = torch.compile(model)
    if mode == "compile_max_autotune":
        model = torch.compile(model, mode="max-autotune")
    for _ in range(3):
        model(*inputs)
    return model


def main():
    import torch

    torch.set_num_threads(THREADS)
    limit_processes()
    if DEVICE == "cuda":
        if not sys.stdin.readline():
            return  # nobody needs it
        open_device(torch)
    else:
        limit_memory()
    own = Own(torch) if OWN else None
    if own:
        model, inputs = own.model, None
    else:
        module = load_problem(torch)
        if DEVICE == "cpu":
            model, inputs = made(torch, module.Model, module), inputs_of(torch, module)
        else:
            model = on_the_device(torch, made_there(torch, DEVICE, lambda: made(torch, module.Model, module)))
            inputs = [one.cuda() if isinstance(one, torch.Tensor) else one for one in inputs_at(torch, module, DEVICE)]
    flush = state = None
    modes, clocks, failed = {}, {}, {}
    with torch.no_grad():
        say({"ready": True, "torch": torch.__version__.split("+")[0], "mode": MODE})
        for line in sys.stdin:
            request = json.loads(line)
            if "give" in request:
                inputs, state, answer = own.give(request["give"])
                say(answer)
                continue
            mode = request.get("mode", MODE)
            if not own:  # who brings a module says so there
                torch.backends.cuda.matmul.allow_tf32 = mode == "eager_tf32"
            if mode not in modes and mode not in failed:
                try:
                    state = state or State(torch, model, inputs)
                    state.restore()
                    modes[mode] = ready(torch, mode, model, inputs)
                    state.settle()
                    clocks[mode] = (DeviceClock if DEVICE == "cuda" else HostClock)(torch, inputs, state)
                except Exception as error:
                    failed[mode] = words(error)
            if mode in failed:
                say({"error": failed[mode], "goes_on": True})
                continue
            if "profile" in request:
                say(profile(torch, modes[mode], inputs, int(request["profile"])))
                continue
            cold = bool(request.get("cold"))
            if cold and flush is None:
                flush = torch.zeros(max(FLUSH_BYTES, 64), dtype=torch.uint8, device=DEVICE)
            say(samples(clocks[mode], modes[mode], inputs, flush if cold else None, int(request["runs"]),
                        float(request.get("ms", 1e9))))


try:
    main()
except BaseException as error:
    fail(error)
os._exit(0)  # no destructors or exit handlers of the user's file
