"""Checks the kernel of this folder again, without hone, then times it.

    python verify.py [--seconds S] [--threads N]

With model.py it needs PyTorch: ModelNew is held against Model in float64, element by element, on fresh parameters and inputs of
several seeds and scales, before and after the timing; both find the same in what they write into, and what they leave there is compared
like results. A kernel for CUDA is held against Model on the device that PyTorch has. Without model.py a kernel for the CPU needs
nothing but Python: it is held against the sample of inputs and double-precision results in sample.safetensors.
Exit status: 0 right, 1 wrong, 2 it could not be checked.
"""
import argparse
import array
import copy
import json
import math
import os
import statistics
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

try:
    import hone_module
    import hone_tolerance
    from hone_tolerance import Wrong
except (ImportError, OSError, ValueError, KeyError) as error:
    print("%s is not whole: %s; export it again" % (HERE, error))
    sys.exit(2)

ROUNDINGS = 3  # random roundings of the inputs that are tried, of each size
DRAWS = [("seed 1", 1, 1.0), ("seed 2", 2, 1.0), ("seed 3", 3, 1.0), ("scale 2^-10", 4, 2.0**-10), ("scale 2^10", 5, 2.0**10)]


def time_text(seconds):
    for unit, scale in (("us", 1e6), ("ms", 1e3)):
        if seconds * scale < 1000:
            return "%.3g %s" % (seconds * scale, unit)
    return "%.3g s" % seconds


# ---------------------------------------------------------------------------------------------------------------------
# Against Model.

def verify_model(options):
    try:
        import torch
    except ImportError as error:
        return could_not("model.py needs PyTorch (pip install torch, or apt install python3-torch): %s" % error)
    from torch.utils._pytree import tree_flatten, tree_map

    if options.threads:
        torch.set_num_threads(options.threads)
    import hone_kernel

    Model, ModelNew, source = hone_kernel.model.Model, hone_kernel.ModelNew, hone_kernel.model
    own_types, on_the_cpu = [], []  # anything: Model does not run in double precision; numbers are not drawn on the device
    in_place, device = hone_kernel.IN_PLACE, hone_kernel.DEVICE
    if device == "cuda" and not torch.cuda.is_available():
        return could_not("PyTorch %s sees no CUDA device" % torch.__version__)
    where = "%d threads" % torch.get_num_threads() if device == "cpu" else torch.cuda.get_device_name()
    unit = hone_tolerance.contract_unit()
    print("%s, torch %s, %s" % (hone_module.PROBLEM["name"], torch.__version__, where))
    print("tolerance of an element: %d x (2^%g |reference| + the effect of rounding inputs and parameters + PyTorch's own error)" %
          (hone_tolerance.FACTOR, math.log2(unit)))

    def drawn(seed, function):
        """What the function makes of random numbers: on the device, where that is fast, unless the file says that they are the CPU's."""
        if device != "cpu" and not on_the_cpu:
            torch.manual_seed(seed)
            try:
                with torch.device(device):
                    return function()
            except (RuntimeError, TypeError, ValueError):
                on_the_cpu.append(True)
        torch.manual_seed(seed)
        return function()

    def make(kind, seed):
        def made():
            init = source.get_init_inputs() if hasattr(source, "get_init_inputs") else []
            return kind(*init) if isinstance(init, (list, tuple)) else kind(**init)
        return drawn(seed, made).to(device)

    def draw(seed, scale):
        def scaled(x):
            x = x.to(device)
            return x * scale if x.is_floating_point() and x.element_size() > 1 else x
        inputs = drawn(1000 + seed, lambda: list(source.get_inputs()))
        return tree_map(lambda x: scaled(x) if isinstance(x, torch.Tensor) else x, inputs)

    def tensors(result):
        return [x for x in tree_flatten(result)[0] if isinstance(x, torch.Tensor)]

    def same_bytes(x, y):
        return torch.equal(x.contiguous().flatten().view(torch.uint8), y.contiguous().flatten().view(torch.uint8))

    def copies(inputs):
        return tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, inputs)

    def written(model, inputs):
        """The tensors that a call writes into, by the numbers of the kernel's inputs."""
        given = iter(tensors(inputs))
        every = [next(given) if key is None else hone_kernel.find(model, key) for key in in_place.held]
        return {place: every[place] for place in in_place.places}

    def everything(model, inputs, result):
        """Results and what is left where it was written, in the order of the problem's outputs; stays when that is written again."""
        returned, left = iter(tensors(result)), written(model, inputs)
        every = [next(returned, None) if by_forward else left[place] for by_forward, place in zip(in_place.returned, in_place.updates)]
        return [x.detach().clone() for x in [*every, *returned] if x is not None]

    def fill(model, seed, scale):
        """What it holds and writes into, with numbers of any sign, as later calls find them. Whole ones count on."""
        torch.manual_seed(2000 + seed)
        for place, key in enumerate(in_place.held):
            tensor = hone_kernel.find(model, key) if key is not None and place in in_place.places else None
            if tensor is not None and tensor.is_floating_point():
                tensor.copy_(torch.randn(tensor.shape) * scale)

    def rounded(tensor, units):
        """Each element up or down by chance. Of those that are stored in few bits, at least every other has a neighbour so near."""
        step = (2 if tensor.element_size() < 8 else 1) * unit * units
        wide = torch.float64 if tensor.element_size() > 2 else torch.float32
        up = torch.randint(0, 2, tensor.shape, device=tensor.device, dtype=torch.int8).to(wide)
        return up.mul_(2 * step).add_(1 - step).mul_(tensor.to(wide)).to(tensor.dtype)

    def reference(model, inputs, rounding=None, units=1):
        """Model in double precision; its own tensors are made in it, too. Where it does not run there, in its own types."""
        if not own_types:
            try:
                return computed(model, inputs, rounding, units, lambda tensor: False)
            except (RuntimeError, ValueError) as error:
                why = " ".join(str(error).split())
            # forward may say the type of what it writes, as in cache[place] = x.to(torch.bfloat16)
            bytes_of = [x.element_size() for x in [*tensors(inputs), *model.parameters(), *model.buffers()] if x.is_floating_point()]
            narrow = {x.dtype for x in written(model, inputs).values() if x.is_floating_point() and x.element_size() < max(bytes_of)}
            try:
                if narrow:
                    return computed(model, inputs, rounding, units, lambda tensor: tensor.dtype in narrow)
            except (RuntimeError, ValueError):
                pass
            print("Model does not run in double precision (%.100s): held against what it gives in its own" % why)
            own_types.append(True)
        return computed(model, inputs, rounding, units, lambda tensor: True)

    def computed(model, inputs, rounding, units, stays):
        """In double precision, but for tensors that stay in their types."""
        model = copy.deepcopy(model)
        change = (lambda tensor: rounded(tensor, units)) if rounding is not None else lambda tensor: tensor
        torch.manual_seed(rounding or 0)
        given = {id(x) for x in [*model.parameters(), *model.buffers(), *(hone_kernel.find(model, key) for key in in_place.held if key)]}
        own = {id(x): x for part in model.modules() for row in (part._parameters, part._buffers, vars(part)) for x in row.values()
               if isinstance(x, torch.Tensor) and x.is_floating_point()}
        held = [hone_kernel.find_part(model, key) for key in in_place.held if key]  # objects' that modules hold, too
        own.update((id(x), x) for x in held if x.is_floating_point())
        for x in own.values():  # stays the same object, which may be held under two names
            value = x.data if stays(x) else x.data.double()
            x.data = change(value) if id(x) in given else value
        inputs = tree_map(lambda x: change(x if stays(x) else x.double()) if isinstance(x, torch.Tensor) and x.is_floating_point() else x,
                          copies(inputs))
        usual = torch.get_default_dtype()
        torch.set_default_dtype(usual if own_types else torch.float64)
        try:
            return everything(model, inputs, model(*inputs))
        finally:
            torch.set_default_dtype(usual)

    def take_step(model):
        """A call, if it has room for one more."""
        inputs, trial = draw(9, 1.0), copy.deepcopy(model)
        try:
            trial(*copies(inputs))
        except (IndexError, RuntimeError):
            return
        for place, tensor in written(model, inputs).items():
            tensor.copy_(written(trial, inputs)[place])

    def call(model, inputs):
        return everything(model, inputs, model(*inputs))

    def compare(what, model, inputs, got):
        """`got`: of a call on the same inputs, by who held what `model` holds now."""
        exact = reference(model, inputs)
        effects = hone_tolerance.Effects(exact)
        for units in hone_tolerance.SIZES:
            for i in range(ROUNDINGS):
                effects.see(units, reference(model, inputs, 77 + i, units))
        own = call(copy.deepcopy(model), copies(inputs))
        if [tuple(x.shape) for x in got] != [tuple(x.shape) for x in own] or [x.dtype for x in got] != [x.dtype for x in own]:
            raise Wrong("%s: ModelNew gives %s, Model %s" % (what, [(tuple(x.shape), x.dtype) for x in got],
                                                            [(tuple(x.shape), x.dtype) for x in own]))
        reals = [x for x in exact if x.is_floating_point()]
        worst = (0.0, "")
        for spec, *result in zip(hone_module.OUTPUTS, got, own, exact, effects.found):
            if result[0].numel() == 0:
                continue
            if not result[0].is_floating_point():
                hone_tolerance.check_wholes(what, spec, *result, reals)
                continue
            ratio, text = hone_tolerance.check_reals(what, spec, *result, unit, not own_types)
            if ratio >= worst[0]:
                worst = (ratio, text)
        print("  %-22s largest error %.3f of its tolerance%s" % (what, worst[0], "; " + worst[1] if worst[1] else ""))

    def same_parameters(old, new):
        ours, theirs = new.state_dict(), old.state_dict()
        if list(ours) != list(theirs):
            raise Wrong("ModelNew has other parameters than Model: %s, not %s" % (list(ours), list(theirs)))
        for key, value in theirs.items():
            if not same_bytes(value, ours[key]) and not bool((value.double() if value.is_floating_point() else value).isnan().any()):
                raise Wrong("ModelNew draws other values for %s than Model" % key)

    arguments_written = {in_place.arguments.index(hone_module.INPUTS[place]) for place in in_place.places if in_place.held[place] is None}
    with torch.no_grad():
        for what, seed, scale in DRAWS:
            old, new = make(Model, seed), make(ModelNew, seed)
            same_parameters(old, new)
            inputs = draw(seed, scale)
            for one in (old, new):
                fill(one, seed, scale)
            given = copies(inputs)
            got = call(new, given)
            for place, (x, y) in enumerate(zip(tensors(given), tensors(inputs))):
                if place not in arguments_written and not same_bytes(x, y):
                    raise Wrong("%s: an input was modified" % what)
            compare(what, old, inputs, got)
        # The same ModelNew with other parameters has to see them.
        old = make(Model, 11)
        fill(old, 11, 1.0)
        new.load_state_dict(old.state_dict())

        def compare_now(what, inputs, goes_on=False):
            if goes_on:  # from what a call has left: a place has counted on
                take_step(old)
            for place, tensor in written(new, inputs).items():
                tensor.copy_(written(old, inputs)[place])
            compare(what, old, inputs, call(new, copies(inputs)))

        compare_now("changed parameters", draw(6, 1.0), goes_on=True)
        inputs = draw(7, 1.0)
        # Each call finds what the first one did: a place that counts on would soon be none of the cache's.
        kept = [(tensor, tensor.clone()) for one in (new, old) for tensor in written(one, inputs).values()]

        def put_back():
            for tensor, values in kept:
                tensor.copy_(values)

        timed = measure if device == "cpu" else measure_on_device
        ours, theirs = timed(options.seconds, lambda: new(*inputs), lambda: old(*inputs), before=put_back)
        put_back()
        compare_now("after the timing", inputs)
        compare_now("after it, fresh inputs", draw(8, 1.0), goes_on=True)
    print("right")
    if hone_kernel.WRITES:
        print("not checked: %s" % hone_kernel.WRITES)
    median, other = statistics.median(ours), statistics.median(theirs)
    print("ModelNew %s, Model %s: %.2fx as fast (medians of %d and %d calls, %s)" %
          (time_text(median), time_text(other), other / median, len(ours), len(theirs), where + " each" if device == "cpu" else "by events"))
    print("timed as a program calls them, through PyTorch and on the same inputs each time; the run that the kernel is from timed it\n"
          "alone, on inputs that change, and left out turns in which the machine was busy: docs/export.md of hone says more")
    for name, row in (("ModelNew", ours), ("Model", theirs)):
        row.sort()
        if statistics.median(row) > 2 * row[len(row) // 10]:
            print("disturbed: half of the calls of %s took more than %s, a tenth less than %s: run it again on a quiet machine" %
                  (name, time_text(statistics.median(row)), time_text(row[len(row) // 10])))
    return 0


def measure(seconds, *functions, before=lambda: None):
    """Seconds of each call, in alternating blocks, so that both see the same machine. `before` each it is not timed. The start of a
    block is not counted: threads of the other function's library may still spin, and caches hold its data."""
    times = [[] for _ in functions]
    once = []
    for function in functions:
        before()
        function()
        before()
        begin = time.perf_counter()
        function()
        once.append(time.perf_counter() - begin)
    block = max(0.05, 4 * max(once))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not all(len(row) >= 5 for row in times):
        for row, function in zip(times, functions):
            before()
            start = time.perf_counter()
            begin = start
            while begin - start < block:
                result = function()
                now = time.perf_counter()
                if begin - start >= block / 4 or now - begin > block / 4:
                    row.append(now - begin)
                del result
                before()
                begin = time.perf_counter()
    return times


def measure_on_device(seconds, *functions, before=lambda: None):
    """As measure does, between two events of the device, calls queued one behind another."""
    import torch

    def block(function, calls):
        events = []
        for _ in range(calls):
            before()
            events.append((torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)))
            events[-1][0].record()
            function()
            events[-1][1].record()
        torch.cuda.synchronize()
        return [begin.elapsed_time(end) / 1e3 for begin, end in events]

    calls = [max(4, min(400, int(0.05 / max(block(function, 2)[1], 1e-6)))) for function in functions]
    times = [[] for _ in functions]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not all(len(row) >= 5 for row in times):
        for row, function, count in zip(times, functions, calls):
            row += block(function, count)[count // 4:]
    return times


# ---------------------------------------------------------------------------------------------------------------------
# Against the stored sample.

CODES = {"f64": "d", "f32": "f", "i64": "q", "i32": "i", "i16": "h", "i8": "b", "u8": "B", "bool": "B"}


def number(row, bits):
    """A real of one or two bytes, laid out as IEEE 754 does; without infinities, only all ones are a NaN."""
    exponents, mantissas = (1 << row["exponent"]) - 1, (1 << row["mantissa"]) - 1
    exponent, mantissa = bits >> row["mantissa"] & exponents, bits & mantissas
    if exponent == exponents and (row["infinity"] or mantissa == mantissas):
        value = math.nan if mantissa else math.inf
    else:
        step = max(exponent, 1) - (exponents >> 1) - row["mantissa"]
        value = math.ldexp(mantissa + (mantissas + 1 if exponent else 0), step)
    return math.copysign(value, -1 if bits >> row["exponent"] + row["mantissa"] else 1)


def numbers(dtype, data):
    if dtype in CODES:
        return array.array(CODES[dtype], data)
    row = hone_module.TYPES[dtype]
    every = [number(row, bits) for bits in range(1 << 8 * row["bytes"])]
    return [every[bits] for bits in array.array("H" if row["bytes"] == 2 else "B", data)]


def verify_sample(options):
    path = os.path.join(HERE, "sample.safetensors")
    if not os.path.exists(path):
        return could_not("there is neither model.py nor sample.safetensors to check against: export it again with --model FILE.py")
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()

    def read(name):
        begin, end = header[name]["data_offsets"]
        return data[begin:end]

    threads = options.threads or hone_module.EXPORT["threads"]
    kernel = hone_module.kernel()
    print("%s, Python %s alone, %d threads" % (hone_module.PROBLEM["name"], sys.version.split()[0], threads))
    print("tolerance of an element: its error budget, stored with the sample")
    inputs = [hone_module.Buffer(spec, read(spec["name"])) for spec in hone_module.INPUTS]
    parameters = [hone_module.Buffer(spec, read(spec["name"])) for spec in hone_module.PARAMETERS]
    written = [(inputs[place], read(hone_module.INPUTS[place]["name"])) for place in hone_module.UPDATES if place is not None]
    outputs = [hone_module.Buffer(spec) if place is None else inputs[place] for spec, place in zip(hone_module.OUTPUTS, hone_module.UPDATES)]
    state = kernel.prepare([buffer.pointer for buffer in parameters], threads)

    def run():
        kernel.run(state, [b.pointer for b in inputs], [b.pointer for b in outputs], threads)

    def put_back():
        for buffer, data in written:
            buffer.view[:] = data

    def check(what):
        for buffer in outputs:
            buffer.view[:] = b"\xff" * len(buffer.view)
        put_back()
        run()
        for buffer, spec in zip(inputs + parameters, hone_module.INPUTS + hone_module.PARAMETERS):
            if buffer not in outputs and bytes(buffer.view) != read(spec["name"]):
                raise Wrong("%s: %s was modified" % (what, spec["name"]))
        worst = (0.0, "")
        for buffer, spec in zip(outputs, hone_module.OUTPUTS):
            values = numbers(spec["dtype"], bytes(buffer.view))
            expected = numbers("f64", read("expected." + spec["name"]))
            budget = numbers("f64", read("budget." + spec["name"]))
            for i, (got, want, most) in enumerate(zip(values, expected, budget)):
                error = abs(got - want)
                if error <= most or got == want or most == math.inf or (got != got and want != want):
                    if 0 < most < math.inf and error / most > worst[0]:
                        worst = (error / most, "; off by %.3g at %s, element %d" % (error, spec["name"], i))
                    continue
                raise Wrong("%s: element %d of %s is %.9g, expected %.9g, tolerance %.3g" % (what, i, spec["name"], got, want, most))
        print("  %-22s largest error %.3f of its tolerance%s" % (what, worst[0], worst[1]))

    check("the sample")
    (ours,) = measure(options.seconds, run, before=put_back)
    check("after the timing")
    print("right")
    print("the kernel takes %s (median of %d calls, %d threads); there is no model.py to compare its speed with" %
          (time_text(statistics.median(ours)), len(ours), threads))
    return 0


# ---------------------------------------------------------------------------------------------------------------------

def could_not(why):
    print("not checked: %s" % why)
    return 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="of timing (default 3)")
    parser.add_argument("--threads", type=int, default=0, help="of both sides (default: PyTorch's number)")
    options = parser.parse_args()
    try:
        if os.path.exists(os.path.join(HERE, "model.py")):
            return verify_model(options)
        return verify_sample(options)
    except Wrong as wrong:
        print("wrong: %s" % wrong)
        return 1
    except Exception as error:
        if type(error).__name__ == "KernelError":  # of hone_kernel.py's own copy of hone_module.py, too
            return could_not(error)
        traceback.print_exc()
        return could_not("%s: %s" % (type(error).__name__, error))


if __name__ == "__main__":
    sys.exit(main())
