"""Functions of PyTorch that a trace would show as kernels of its own, or as results as long as the data say: here they are
written with operators that say what an element is. Sums of 16-bit reals are of f32, rounded once, as PyTorch's kernels make them.

Part of hone_import.py, whose names it uses.
"""

ASSUMED = {}  # what is taken for granted of the data, for the problem's notes


def counts(input, weights=None, minlength=0):
    """torch.bincount, of values below minlength."""
    if minlength < 1:
        raise Complaint("torch.bincount gives as many elements as the data say, and kernels are made for fixed shapes: pass the "
                        "number of values that there can be, minlength=64", line_now())
    ASSUMED["note bincount"] = "its values are taken to be below minlength, %d; PyTorch's result would be longer otherwise" % minlength
    source = torch.ones_like(input, dtype=torch.int64) if weights is None else weights
    if weights is not None and weights.dtype != torch.float32:
        source = weights.double()
    return torch.zeros(minlength, dtype=source.dtype, device=input.device).scatter_add(0, input.long(), source)


def as_constant(function):
    """What is made of numbers alone, made now."""
    def made(*args, **named):
        named.pop("device", None)
        return real(lambda: function(*args, **named))
    return made


def wide(x):
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def bags(input, weight, offsets=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
         per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """torch.nn.functional.embedding_bag."""
    if max_norm is not None:
        raise Complaint("embedding_bag with max_norm changes its table in place: normalise the table beforehand", line_now())
    rows = wide(nn.functional.embedding(input.long(), weight))
    padding = None if padding_idx is None else input == padding_idx % weight.shape[0]
    if per_sample_weights is not None:
        rows = rows * wide(per_sample_weights)[..., None]
    made = rows_of_bags(rows, padding, mode) if input.dim() == 2 else rows_by_bag(rows, padding, mode, offsets, include_last_offset)
    return made.to(weight.dtype)


def rows_of_bags(rows, padding, mode):
    """Bags of one size: rows is [bags, size, columns]."""
    if padding is None:
        return rows.sum(1) if mode == "sum" else rows.mean(1) if mode == "mean" else rows.amax(1)
    if mode == "max":
        largest = rows.masked_fill(padding[..., None], -math.inf).amax(1)
        return torch.where(padding.all(1)[:, None], 0.0, largest)
    total = rows.masked_fill(padding[..., None], 0.0).sum(1)
    return total if mode == "sum" else total / (~padding).sum(1).clamp(min=1)[:, None]


def rows_by_bag(rows, padding, mode, offsets, include_last_offset):
    """Bags one after the other, which end where the next one begins: rows is [rows, columns]. What is behind the last is left out."""
    count = offsets.shape[0] - (1 if include_last_offset else 0)
    bag = torch.searchsorted(offsets[1:], torch.arange(rows.shape[0], dtype=offsets.dtype, device=rows.device), right=True)
    if padding is not None:
        rows = rows.masked_fill(padding[:, None], -math.inf if mode == "max" else 0.0)
    none = rows.new_zeros((offsets.shape[0], rows.shape[1]))
    if mode == "max":
        made = none.scatter_reduce(0, bag[:, None].expand(-1, rows.shape[1]), rows, "amax", include_self=False)[:count]
    else:
        made = none.index_add(0, bag, rows)[:count]
    if mode == "mean" or (mode == "max" and padding is not None):
        ones = torch.ones_like(bag) if padding is None else (~padding).long()
        sizes = torch.zeros(offsets.shape[0], dtype=torch.int64, device=rows.device).scatter_add(0, bag, ones)[:count, None]
        made = torch.where(sizes > 0, made, 0.0) if mode == "max" else made / sizes.clamp(min=1)
    return made


def gaussian_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """torch.nn.functional.gaussian_nll_loss, which asks whether a variance is below 0."""
    if isinstance(var, float):
        var = torch.full_like(input, var)
    elif var.shape == input.shape[:-1] and var.shape != input.shape:
        var = var[..., None]
    ASSUMED["note gaussian_nll_loss"] = "its variances are taken to be no less than 0; PyTorch would refuse others"
    var = var.clamp(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var) + (0.5 * math.log(2 * math.pi) if full else 0.0)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def covariance(input, correction=1, fweights=None, aweights=None):
    """torch.cov, which looks at what it divides by."""
    rows = input[None] if input.dim() < 2 else input
    weights = [w for w in (fweights, aweights) if w is not None]
    weight = math.prod(weights[1:], start=weights[0]).to(rows.dtype) if weights else None
    total = rows.shape[1] if weight is None else weight.sum()
    rows = rows - ((rows if weight is None else rows * weight).sum(1) / total)[:, None]
    left_out = correction if aweights is None else correction * (weight * aweights).sum() / total
    made = rows @ (rows if weight is None else rows * weight).t()
    freedom = total - left_out
    return (made / (freedom.clamp(min=0) if torch.is_tensor(freedom) else max(freedom, 0))).squeeze()


def correlation(input):
    """torch.corrcoef."""
    made = covariance(input)
    if made.dim() == 0:
        return made / made
    deviation = made.diagonal().sqrt()
    return (made / deviation[:, None] / deviation).clamp(-1, 1)


def identity(rows, columns=None, *, dtype=None, layout=None, device=None, pin_memory=None):
    """torch.eye, whose places newer torch counts in the fewest bits that hold them, unsigned ones of 16 among them."""
    down = torch.arange(rows, device=device)
    across = torch.arange(rows if columns is None else columns, device=device)
    return (down[:, None] == across).to(dtype or torch.get_default_dtype())


def margins_of_labels(x, target, reduction):
    """multilabel_margin_loss_forward, whose own decomposition also counts the margins of what fills a row behind its last label."""
    rows, labels = torch.atleast_2d(x), torch.atleast_2d(target)
    places = torch.arange(rows.shape[1], device=labels.device)
    count = torch.where(labels == -1, places, rows.shape[1]).amin(-1, keepdim=True)
    is_label = places < count
    of_label = torch.gather(rows, -1, torch.where(is_label, labels, 0))
    is_target = (places == torch.where(is_label, labels, -1)[:, :, None]).any(1)
    margins = (1 - of_label[:, :, None] + rows[:, None, :]).clamp_min(0) / rows.shape[1]
    loss = torch.where(is_label[:, :, None] & ~is_target[:, None, :], margins, 0).sum((1, 2))
    is_target = is_target.to(x.dtype).reshape(target.shape)
    if reduction == 0:
        return loss.reshape(target.shape[:-1]), is_target
    return loss.mean() if reduction == 1 else loss.sum(), is_target


def decompositions():
    """What torch.export takes operators apart into."""
    table = torch.export.default_decompositions()
    for op in (torch.ops.aten.eye.default, torch.ops.aten.eye.m):
        table[op] = identity
    table[torch.ops.aten.multilabel_margin_loss_forward.default] = margins_of_labels
    table.update({getattr(torch.ops.aten, name).default: transform for name, transform in FOURIER.items()})
    return table


@contextlib.contextmanager
def autocast_here():
    """torch.autocast("cuda") does nothing without a GPU, and the trace would be one of f32: it is taken for that of the processor."""
    autocast = torch.amp.autocast_mode.autocast
    original = autocast.__init__

    def init(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if device_type == "cuda":
            ASSUMED["note autocast"] = ("as torch.autocast casts on a processor: products are of 16 bits as on a GPU, but what it has in "
                                        "float32 there, such as softmax, stays in 16 bits")
            device_type, dtype = "cpu", dtype or torch.float16
        original(self, device_type, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)

    autocast.__init__ = init
    try:
        yield
    finally:
        autocast.__init__ = original


@contextlib.contextmanager
def composites_written():
    """While a model is traced."""
    if not NEW:
        yield
        return
    written = {torch.bincount: counts, torch.Tensor.bincount: counts, nn.functional.embedding_bag: bags,
               nn.functional.gaussian_nll_loss: gaussian_loss, torch.cov: covariance, torch.Tensor.cov: covariance,
               torch.corrcoef: correlation, torch.Tensor.corrcoef: correlation}
    written.update({function: without_imaginary(function) for function in (torch.fft.fft, torch.fft.fft2, torch.fft.fftn)})
    written.update({function: as_constant(function) for function in (torch.tril_indices, torch.triu_indices)})

    places = Places()
    written.update({torch.Tensor.__getitem__: places.read, torch.Tensor.__setitem__: places.write})

    class Written(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), named=None):
            places.note(function, args)
            return written.get(function, function)(*args, **(named or {}))

    ASSUMED.clear()
    with Written(), autocast_here():
        yield
    places.done()
