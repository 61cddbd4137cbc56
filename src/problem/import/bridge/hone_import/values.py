"""Where values come from. Fake tensors have no data, so what is drawn into them is written down as it happens.

Part of hone_import.py, whose names it uses.
"""


class Origin:
    """How the elements of a storage came about: a generator where that is known, and whether chance was involved.

    `sample`: some elements as operators on such draws would make them, where no generator says it: a softmax of uniform numbers.
    `joint`: the operator on the way whose results hang on each other, if any.
    """

    def __init__(self, kind="unknown", a=0.0, b=0.0, random=False, value=None, spread=False, sample=None, joint=None):
        self.kind, self.a, self.b, self.random, self.value, self.spread, self.sample = kind, a, b, random, value, spread, sample
        self.joint = joint

    def drawn(self, count, seed):
        """`count` real elements, or None."""
        chance = torch.Generator().manual_seed(seed)
        if self.sample is not None:
            return self.sample[:count]
        if self.kind == "constant":
            return torch.full((count,), float(self.a), dtype=torch.float64)
        if self.kind == "uniform":
            return self.a + (self.b - self.a) * torch.rand(count, generator=chance, dtype=torch.float64)
        if self.kind == "normal":
            return self.a + self.b * torch.randn(count, generator=chance, dtype=torch.float64)
        if self.kind == "integer" and not self.spread:
            return torch.randint(int(self.a), int(self.b), (count,), generator=chance).double()
        return None

    def affine(self, scale, shift):
        if not (math.isfinite(scale) and math.isfinite(shift)) or scale == 0:
            return Origin(random=self.random, joint=self.joint)
        if self.kind == "constant":
            return Origin("constant", self.a * scale + shift)
        if self.kind == "uniform":
            low, high = self.a * scale + shift, self.b * scale + shift
            return Origin("uniform", min(low, high), max(low, high), True)
        if self.kind == "normal":
            return Origin("normal", self.a * scale + shift, self.b * abs(scale), True)
        if self.kind == "integer" and scale == int(scale) and shift == int(shift):
            # Spread by more than 1, as in 2 * randint(0, 2) - 1: the range has values that the file does not draw.
            ends = sorted((self.a * int(scale) + int(shift), (self.b - 1) * int(scale) + int(shift)))
            return Origin("integer", ends[0], ends[1] + 1, True, spread=self.spread or abs(scale) != 1)
        sample = None if self.sample is None else real(lambda: self.sample * scale + shift)
        return Origin(random=self.random, sample=sample, joint=self.joint)

    def generator(self):
        if self.kind == "constant":
            return {"kind": "constant", "value": number(float(self.a))}
        if self.kind == "uniform" and self.a < self.b:
            return {"kind": "uniform", "low": self.a, "high": self.b}
        if self.kind == "normal":
            return {"kind": "normal", "mean": self.a, "deviation": self.b}
        if self.kind == "integer":
            return {"kind": "integer", "low": int(self.a), "high": int(self.b)}
        return None


def number(value):
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def whole_storage(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def storage_of(tensor):
    storage = whole_storage(tensor)
    return storage._cdata, storage.nbytes()


SAMPLE = 1 << 14  # elements
FEW = 1 << 16  # elements that are kept as they are, where nothing is drawn
# Operators that a sample goes through: element by element, of one or of two tensors.
OF_ONE = {"abs", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "square", "reciprocal", "sigmoid", "tanh", "relu", "softplus",
          "sin", "cos", "floor", "ceil", "round", "neg"}
OF_TWO = {"mul", "add", "sub", "div", "maximum", "minimum", "pow"}


def real(work):
    """work() on real tensors, whatever modes are on."""
    with no_dispatch():
        return work()


def sampled(name, args, kwargs, origins, made):
    """What an operator makes of samples of what it reads, or None."""
    def draws(position, tensor):
        return origins[position].drawn(1 if tensor.numel() == 1 else SAMPLE, 1 + position)

    def work():
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        if not made.dtype.is_floating_point or len(tensors) != len(origins) or not any(o.random for o in origins):
            return None
        samples = [draws(i, tensor) for i, tensor in enumerate(tensors)]
        if any(sample is None for sample in samples):
            return None
        if name in ("_softmax", "softmax", "_log_softmax", "log_softmax") and len(samples) == 1 and len(args) > 1:
            extent, sample = int(made.shape[args[1]]), samples[0]
            powers = (sample - sample.max()).exp()
            if extent * 4 <= sample.numel():
                powers = powers[: sample.numel() // extent * extent].reshape(-1, extent)
                parts = (powers / powers.sum(1, keepdim=True)).reshape(-1)
            else:
                parts = powers / (powers.mean() * extent)
            return parts.log() if "log" in name else parts
        scalars = [a for a in args if isinstance(a, (int, float)) and not isinstance(a, bool)]
        if name in OF_ONE and len(args) == 1:
            return getattr(nn.functional if name == "softplus" else torch, name)(samples[0])
        if name in ("clamp", "clamp_min", "clamp_max") and len(samples) == 1:
            ends = (args[1:] + (None,))[:2] if name == "clamp" else (args[1], None) if name == "clamp_min" else (None, args[1])
            low, high = kwargs.get("min", ends[0]), kwargs.get("max", ends[1])
            return samples[0].clamp(low, high)
        if name in OF_TWO and not kwargs and len(args) == 2 and len(samples) + len(scalars) == 2:
            both = [samples.pop(0) if isinstance(a, torch.Tensor) else torch.tensor(float(a), dtype=torch.float64) for a in args]
            return getattr(torch, name)(*both)
        return None

    def finite():
        sample = work()
        return sample if sample is not None and bool(torch.isfinite(sample).all()) else None

    return real(finite)


# Elements of what these give hang on each other: offsets ascend, a permutation has each number once, counts have one sum.
JOINT = re.compile(r"^(cumsum|cummax|cummin|sort|argsort|topk|kthvalue|randperm|multinomial|bincount|histc|_?unique\w*|scatter_add|"
                   r"index_add)$")
RANDOM = re.compile(r"rand|bernoulli|multinomial|normal|uniform|exponential|cauchy|geometric|poisson|dropout|random_")


LARGEST_KNOWN = 1 << 21  # elements
MUCH_KNOWN = 1 << 28  # bytes


class Known:
    """What chance has no part in, computed beside the fake tensors that stand for it as long as it is small: frequencies, positions,
    masks. Otherwise a whole model would have to be made of real numbers for them."""

    def __init__(self):
        self.storages = {}  # of fake storages, by their address: a weak reference, and the real one
        self.bytes, self.much = 0, MUCH_KNOWN  # of the real ones; above so many those are let go that nobody holds

    def of(self, tensor):
        """The real tensor for a fake one, or None."""
        if not isinstance(tensor, FakeTensor):
            return tensor
        fake_and_real = self.storages.get(storage_of(tensor)[0])
        if fake_and_real is None:
            return None
        storage = fake_and_real[1]
        return real(lambda: torch.empty(0, dtype=tensor.dtype).set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride()))

    def see(self, func, args, kwargs, places, out):
        """An operator on fakes and what it gave; `places`: the storages that it read."""
        made = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
        new = [t for t in made if isinstance(t, FakeTensor) and storage_of(t)[0] not in places]
        writes = any(a.alias_info is not None and a.alias_info.is_write for a in func._schema.arguments)
        if not (new or writes) or not any(isinstance(t, FakeTensor) for t in made):
            return
        given, tree = tree_flatten((args, kwargs))
        values = [self.of(t) if isinstance(t, torch.Tensor) else t for t in given]
        whole = all(value is not None or t is None for t, value in zip(given, values))
        results = None
        if whole and not RANDOM.search(func._schema.name) and all(t.numel() <= LARGEST_KNOWN for t in new):
            def work():
                real_args, real_kwargs = tree_unflatten(values, tree)
                return [t for t in tree_flatten(func(*real_args, **real_kwargs))[0] if isinstance(t, torch.Tensor)]

            try:
                results = real(work)
            except Exception:
                pass
        if results is None:
            if writes:
                for place in places:
                    self.storages.pop(place, None)
            return
        for fake, value in zip(made, results):
            same = (fake.dtype, fake.size(), fake.stride(), fake.storage_offset()) == (
                value.dtype, value.size(), value.stride(), value.storage_offset())
            if same and any(fake is t for t in new):
                self.storages[storage_of(fake)[0]] = StorageWeakRef(whole_storage(fake)), value.untyped_storage()
                self.bytes += value.untyped_storage().nbytes()
        if self.bytes > self.much:
            self.storages = {place: pair for place, pair in self.storages.items() if not pair[0].expired()}
            self.bytes = sum(storage.nbytes() for _, storage in self.storages.values())
            self.much = max(MUCH_KNOWN, 2 * self.bytes)


class Recorder(TorchDispatchMode):
    """Sees every operator while the model and its inputs are made."""

    def __init__(self):
        super().__init__()
        self.origins = {}
        self.known = Known()
        self.keep = []  # weak references: a storage keeps its address to itself as long as there is one, but not its data

    def of(self, tensor):
        return self.origins.get(storage_of(tensor)[0]) or Origin()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        read = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        origins = [self.of(t) for t in read]
        places = {storage_of(t)[0] for t in read}
        out = func(*args, **kwargs)
        if NEW:
            self.known.see(func, args, kwargs, places, out)
        name = func._schema.name.split("::")[-1]
        if name.endswith("_") and not name.endswith("__") and read:
            target = args[0]
            place, size = storage_of(target)
            whole = target.numel() * target.element_size() == size
            origin = self.result(name[:-1], args, kwargs, origins, target)
            self.origins[place] = origin if whole else Origin(random=origin.random or origins[0].random,
                                                              joint=origin.joint or origins[0].joint)
        else:
            for made in tree_flatten(out)[0]:
                if isinstance(made, torch.Tensor) and storage_of(made)[0] not in places:
                    self.keep.append(StorageWeakRef(whole_storage(made)))
                    self.origins[storage_of(made)[0]] = self.result(name, args, kwargs, origins, made)
                elif isinstance(made, torch.Tensor) and name.startswith("lift") and not isinstance(args[0], FakeTensor):
                    self.origins[storage_of(made)[0]] = Origin(value=args[0])
        return out

    @staticmethod
    def result(name, args, kwargs, origins, made):
        def arg(i, key, default):
            return args[i] if len(args) > i else kwargs.get(key, default)

        base = name[:-5] if name.endswith("_like") else name
        if name in ("uniform",):
            return Origin("uniform", float(arg(1, "from", 0.0)), float(arg(2, "to", 1.0)), True)
        if name == "normal" and origins:
            return Origin("normal", float(arg(1, "mean", 0.0)), float(arg(2, "std", 1.0)), True)
        if base == "rand":
            return Origin("uniform", 0.0, 1.0, True)
        if base == "randn":
            return Origin("normal", 0.0, 1.0, True)
        if base == "randint":
            numbers = [a for a in args if isinstance(a, int) and not isinstance(a, bool)]
            low, high = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
            return Origin("integer", low, high, True)
        if name == "random" and len(args) >= 2 and all(isinstance(a, int) for a in args[1:3]):
            low, high = (0, args[1]) if len(args) == 2 else args[1:3]
            return Origin("integer", low, high, True)
        if base in ("ones", "new_ones"):
            return Origin("constant", 1.0)
        if base in ("zeros", "zero", "new_zeros"):
            return Origin("constant", 0.0)
        if base in ("full", "new_full", "fill", "scalar_tensor"):
            value = arg(0 if base == "scalar_tensor" else 2 if base == "new_full" else 1, "value", None)
            if isinstance(value, (int, float)):
                return Origin("constant", float(value))
        if base.startswith(("empty", "new_empty")):
            return Origin("empty")
        if name.startswith("lift") and not isinstance(args[0], FakeTensor):
            return Origin(value=args[0])
        if base == "arange" and made.numel() <= FEW:
            numbers = [a for a in args if isinstance(a, (int, float))]
            return Origin(value=real(lambda: torch.arange(*numbers, dtype=made.dtype)))
        source = origins[0] if origins else None
        if source is not None:
            if name in ("clone", "lift_fresh", "lift_fresh_copy", "contiguous", "repeat", "expand_copy"):
                return source
            if name == "copy" and len(origins) > 1:
                return origins[1]
            if name == "_to_copy" and source.value is not None:
                return Origin(value=real(lambda: source.value.to(made.dtype)))
            if name == "_to_copy":
                to_float = made.dtype.is_floating_point
                keeps = to_float or source.kind == "constant" and source.a == int(source.a) or source.kind == "integer"
                return source if keeps and made.dtype != torch.bool else Origin(random=source.random, joint=source.joint)
            scalars = [a for a in args if isinstance(a, (int, float)) and not isinstance(a, bool)]
            if len(origins) == 1 and len(args) == 2 and len(scalars) == 1 and not kwargs:
                s = float(scalars[0])
                if name == "mul":
                    return source.affine(s, 0.0)
                if name == "div" and s != 0:
                    return source.affine(1.0 / s, 0.0)
                if name == "add":
                    return source.affine(1.0, s)
                if name == "sub" and isinstance(args[0], torch.Tensor):
                    return source.affine(1.0, -s)
                if name == "rsub":
                    return source.affine(-1.0, s)
            if name == "neg":
                return source.affine(-1.0, 0.0)
        joint = name if JOINT.match(name) else next((o.joint for o in origins if o.joint), None)
        return Origin(random=any(o.random for o in origins) or bool(RANDOM.search(name)),
                      sample=sampled(name, args, kwargs, origins, made) if origins else None, joint=joint)


def whole_numbers(tensor):
    """Whether a tensor holds whole numbers alone, of a range that an integer generator would be made for."""
    if not tensor.dtype.is_floating_point:
        return True
    flat = tensor.double()
    return bool(torch.isfinite(flat).all()) and bool((flat == flat.round()).all()) and float(flat.max() - flat.min()) < 1 << 20


UNLIKELY = math.log(1e-3)


def dependence(tensor):
    """Why whole numbers are evidently no independent draws of a range, or None. What is drawn in their place then has values that the
    file never gives: a label between -100 and 0, or offsets that go back and forth."""
    if tensor.numel() < 2 or tensor.is_complex() or not whole_numbers(tensor):
        return None
    rows = tensor.detach().reshape(-1, tensor.shape[-1] if tensor.dim() else 1).double()
    rows = rows[: max(1, (1 << 20) // rows.shape[1])]
    values, counts = torch.unique(rows, return_counts=True)
    low, high, total, span = float(values[0]), float(values[-1]), rows.numel(), float(values[-1] - values[0]) + 1
    if low == high:
        return None
    if values.numel() * 4 <= span and values.numel() * 8 <= total:
        return "a few values far apart"
    for end, next_to_it, count in ((low, float(values[1]), int(counts[0])), (high, float(values[-2]), int(counts[-1]))):
        gap = abs(next_to_it - end) - 1
        often = math.lgamma(total + 1) - math.lgamma(count + 1) - math.lgamma(total - count + 1) - (count - 1) * math.log(span)
        left_out = (total - count) * math.log1p(-gap / span)
        if gap > 0 and (often < UNLIKELY or gap * 16 >= span and left_out < UNLIKELY):
            return "%d stands apart from the others" % end
    for table in (rows, rows.reshape(1, -1)):
        count, length = table.shape
        steps = table.diff(dim=1)
        sorted_by_chance = math.lgamma(length + span) - math.lgamma(length + 1) - math.lgamma(span) - length * math.log(span)
        if count * (sorted_by_chance + math.log(2)) < UNLIKELY and bool((steps >= 0).all() or (steps <= 0).all()):
            return "they are sorted"
        once_by_chance = math.lgamma(span + 1) - math.lgamma(span - length + 1) - length * math.log(span) if length <= span else 0
        if count * once_by_chance < UNLIKELY and bool((table.sort(dim=1)[0].diff(dim=1) > 0).all()):
            return "each of them is there once"
    return None


def measured(tensor):
    """A generator that resembles real data of which chance was a part."""
    if tensor.numel() == 0:
        return {"kind": "constant", "value": 0}
    flat = tensor.detach().reshape(-1)
    if flat.numel() > 1 << 22:
        flat = flat[:: flat.numel() >> 22]
    real = flat.double()
    low, high = real.min().item(), real.max().item()
    if low == high:
        return {"kind": "constant", "value": number(low)}
    if not (math.isfinite(low) and math.isfinite(high)):
        raise Complaint("a tensor that is drawn at random holds infinities or NaN; import it with --weights")
    if not tensor.dtype.is_floating_point or (bool((real == real.round()).all()) and high - low < 1 << 20):
        return {"kind": "integer", "low": int(low), "high": int(high) + 1}
    mean, deviation = real.mean().item(), real.std().item()
    # The fourth moment tells a uniform (1.8) from a normal (3).
    kurtosis = ((real - mean) / deviation).pow(4).mean().item()
    short = lambda x: float("%.5g" % x)
    if kurtosis < 2.2:
        return {"kind": "uniform", "low": short(low), "high": short(high)}
    if (low >= 0 or high <= 0) and abs(mean) < 5 * deviation:
        # A normal would leave the side of zero that all lie on, which a logarithm or a root may need.
        reach = math.sqrt(3) * deviation
        return {"kind": "uniform", "low": short(max(low, mean - reach)), "high": short(min(high, mean + reach))}
    return {"kind": "normal", "mean": short(mean), "deviation": short(deviation)}


def constant_of(tensor):
    """The one value that all elements have, or None."""
    if tensor.numel() == 0:
        return 0
    flat = tensor.detach().reshape(-1)
    first = flat[0]
    same = bool((flat == first).all()) or bool(torch.isnan(flat.double()).all())
    return number(float(first.item())) if same else None
