"""Operators whose arguments hang together and are drawn whole, for tests/oracle_property.py: DRAWN_WHOLE. Wants a torch."""
import math

import torch

from oracle_drawer import Refused

EIGHT_BITS = {getattr(torch, long): short for long, short in (("float8_e4m3fn", "f8e4m3"), ("float8_e5m2", "f8e5m2")) if hasattr(torch, long)}


# Operators whose arguments hang together so closely that independent draws would hardly ever fit: {argument: value} by name.

def draw_recurrent(op, drawer):
    rng = drawer.rng
    steps, rows, width, units = rng.randint(1, 5), rng.randint(1, 3), rng.randint(1, 4), rng.randint(1, 4)
    layers, both, biased, first = rng.randint(1, 2), rng.random() < 0.3, rng.random() < 0.8, rng.random() < 0.5
    gates = {"lstm": 4, "gru": 3}.get(op, 1)
    outputs = rng.randint(1, 3) if op == "lstm" and rng.random() < 0.3 else units
    data = lambda *shape: drawer.data(list(shape), torch.float64) * 0.7
    params = []
    for layer in range(layers):
        for _ in range(1 + both):
            params += [data(gates * units, width if layer == 0 else outputs * (1 + both)), data(gates * units, outputs)]
            params += [data(gates * units), data(gates * units)] if biased else []
            params += [data(outputs, units)] if outputs != units else []
    states = [data(layers * (1 + both), rows, outputs)] + ([data(layers * (1 + both), rows, units)] if op == "lstm" else [])
    return {"input": data(rows, steps, width) if first else data(steps, rows, width), "hx": states if op == "lstm" else states[0],
            "params": params, "has_biases": biased, "num_layers": layers, "dropout": 0.0, "train": rng.random() < 0.5,
            "bidirectional": both, "batch_first": first}


def draw_cell(op, drawer):
    rng = drawer.rng
    rows, width, units, gates = rng.randint(1, 3), rng.randint(1, 4), rng.randint(1, 4), {"lstm_cell": 4, "gru_cell": 3}.get(op, 1)
    data = lambda *shape: drawer.data(list(shape), torch.float64)
    states = [data(rows, units), data(rows, units)]
    made = {"input": data(rows, width), "hx": states if op == "lstm_cell" else states[0],
            "w_ih": data(gates * units, width), "w_hh": data(gates * units, units)}
    return made | ({"b_ih": data(gates * units), "b_hh": data(gates * units)} if rng.random() < 0.7 else {})


def reals(drawer, *shape):
    return drawer.data(list(shape), torch.float64)


def wholes(drawer, shape, low, high):
    return torch.tensor([drawer.rng.randint(low, high) for _ in range(math.prod(shape))], dtype=torch.int64).reshape(shape)


def some(drawer, **arguments):
    """Of optional arguments, some."""
    return {name: value for name, value in arguments.items() if drawer.rng.random() < 0.5}


def draw_pad(op, drawer):
    rng, spatial = drawer.rng, int(op[-2])
    shape = [rng.randint(1, 3) for _ in range(rng.randint(1, 2))] + [rng.randint(1, 5) for _ in range(spatial)]
    return {"self": reals(drawer, *shape), "padding": [rng.randint(-1, 3) for _ in range(2 * spatial)]}


def draw_upsample(op, drawer):
    rng, spatial = drawer.rng, int(op.removesuffix("_aa")[-2])
    x = reals(drawer, rng.randint(1, 2), rng.randint(1, 2), *[rng.randint(1, 5) for _ in range(spatial)])
    made = {"self" if rng.random() < 0.5 else "input": x}
    if "linear" in op or "cubic" in op:
        made["align_corners"] = rng.random() < 0.5
    scales = [rng.choice([0.5, 2.0, 1.0, 3.0, 4.0]) for _ in range(spatial)]
    if "input" in made and rng.random() < 0.5:
        return made | {"scale_factors": scales, "output_size": None}
    if rng.random() < 0.3:
        names = ["scales"] if spatial == 1 else ["scales_d", "scales_h", "scales_w"][3 - spatial:]
        return {("self" if k == "input" else k): v for k, v in made.items()} | {
            "output_size": [int(n * f) for n, f in zip(x.shape[2:], scales)]} | dict(zip(names, scales))
    return made | {"output_size": [rng.randint(1, 9) for _ in range(spatial)]} | ({"scale_factors": None} if "input" in made else {})


def draw_smooth(op, drawer):
    """On a processor PyTorch 2.13 makes all rows of what is one pixel wide from its first window: wider ones."""
    while True:
        made = draw_upsample(op, drawer)
        image = made.get("self", made.get("input"))
        size = made["output_size"] or [int(n * f) for n, f in zip(image.shape[2:], made["scale_factors"])]
        if size[-1] > 1:
            return made


def draw_adaptive(op, drawer):
    rng, spatial = drawer.rng, int(op[-2])
    shape = [rng.randint(1, 2) for _ in range(rng.randint(1, 2))] + [rng.randint(1, 7) for _ in range(spatial)]
    return {"self": reals(drawer, *shape), "output_size": [rng.randint(1, 8) for _ in range(spatial)]}


def draw_unpool(op, drawer):
    rng, spatial = drawer.rng, int(op[-2])
    shape = [rng.randint(1, 2), rng.randint(1, 2)] + [rng.randint(1, 3) for _ in range(spatial)]
    size = [rng.randint(3, 5) for _ in range(spatial)]
    places = [rng.sample(range(math.prod(size)), math.prod(shape[2:])) for _ in range(shape[0] * shape[1])]
    made = {"self": reals(drawer, *shape), "indices": torch.tensor(places).reshape(shape), "output_size": size}
    return made | ({"stride": [1] * 3, "padding": [0] * 3} if spatial == 3 else {})


def draw_blocks(op, drawer):
    rng = drawer.rng
    pair = lambda low, high: [rng.randint(low, high) for _ in range(2)]
    made = {"kernel_size": pair(1, 3), "dilation": pair(1, 2), "padding": pair(0, 2), "stride": pair(1, 3)}
    size, channels = pair(2, 7), rng.randint(1, 3)
    outer = [rng.randint(1, 2)] if rng.random() < 0.8 else []
    if op == "im2col":
        return made | {"self": reals(drawer, *outer, channels, *size)}
    places = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(size, *made.values())]
    if min(places) < 1:
        raise Refused
    return made | {"self": reals(drawer, *outer, channels * math.prod(made["kernel_size"]), math.prod(places)), "output_size": size}


def draw_attention(op, drawer):
    rng = drawer.rng
    batch, heads, rows, columns, width = (rng.randint(1, 3) for _ in range(5))
    both = width if "flash" in op else rng.randint(1, 3)
    lead = (batch, heads)
    made = {"query": reals(drawer, *lead, rows, width), "key": reals(drawer, *lead, columns, width), "value": reals(drawer, *lead, columns, both)}
    mask = "attn_mask" if op in ("scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu") else "attn_bias"
    if rng.random() < 0.5:
        made["is_causal"] = True
    elif rng.random() < 0.6 and "for_cpu" not in op:
        made[mask] = reals(drawer, rows, columns) if rng.random() < 0.5 else drawer.data([batch, 1, rows, columns], torch.bool)
    return made | some(drawer, scale=0.7)


def draw_scatter(op, drawer):
    rng = drawer.rng
    rank = rng.randint(0, 3)
    shape = [rng.randint(1, 4) for _ in range(rank)]
    dim = rng.randrange(rank) if rank else 0
    index_shape = [rng.randint(1, n) if d != dim else rng.randint(1, 5) for d, n in enumerate(shape)]
    dtype = rng.choice([torch.float64, torch.float64, torch.int64, torch.uint8])
    source = drawer.data([n + rng.randint(0, 1) for n in index_shape], dtype)
    # Which of several writes to one place is last is not said: one each.
    high = shape[dim] if rank else 1
    index = wholes(drawer, index_shape, 0, high - 1)
    reduce = {"scatter_reduce": rng.choice(["sum", "prod", "mean", "amax", "amin"]), "scatter": rng.choice(["add", "multiply"])}.get(op)
    made = {"self": drawer.data(shape, dtype), "dim": dim - (rank if rank and rng.random() < 0.3 else 0), "index": index}
    if op == "scatter" and rng.random() < 0.7:
        reduce = None
    if op == "scatter" and reduce is None:
        index_shape = [min(n, shape[d]) for d, n in enumerate(index_shape)]
        order = torch.stack([torch.randperm(high, generator=torch.Generator().manual_seed(rng.randrange(10**6)))
                             for _ in range(max(math.prod(index_shape) // max(index_shape[dim] if rank else 1, 1), 1))])
        moved = [n for d, n in enumerate(index_shape) if d != dim] + ([high] if rank else [])
        made["index"] = (order.reshape(moved).movedim(-1, dim)[tuple(slice(0, n) for n in index_shape)] if rank else order.reshape([])).contiguous()
    made |= {"value": 2.5 if dtype == torch.float64 else drawer.wrapping()} if op == "scatter" and rng.random() < 0.3 else {"src": source}
    if op == "scatter_reduce":
        made |= some(drawer, include_self=False)
    return made | ({"reduce": reduce} if reduce else {})


def draw_index(op, drawer):
    rng = drawer.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 4))]
    picked = [rng.randint(1, 3) for _ in range(rng.randint(0, 2))]
    indices = [None if rng.random() < 0.4 else wholes(drawer, [n if rng.random() < 0.8 else 1 for n in picked], -high if rng.random() < 0.3 else 0, high - 1)
               for high in shape[:rng.randint(1, len(shape))]]
    if all(i is None for i in indices):
        raise Refused
    x = drawer.data(shape, rng.choice([torch.float64, torch.int64]))
    if op.endswith("index_put") and rng.random() < 0.3:  # a mask: the same is written to all of its places
        masked = rng.randint(1, len(shape))
        inner = shape[masked:] if rng.random() < 0.5 else []
        return {"self": x, "indices": [drawer.data(shape[:masked], torch.bool)], "accumulate": rng.random() < 0.5,
                "values": drawer.data(([1] if rng.random() < 0.3 and inner else []) + inner, x.dtype)}
    if not op.endswith("index_put"):
        return {"self": x, "indices": indices}
    result = torch.ops.aten.index.Tensor(x, indices)
    accumulate = rng.random() < 0.6
    if not accumulate:  # of several the last one is anybody's guess
        marks = torch.ops.aten.index.Tensor(torch.arange(x.numel()).reshape(shape), indices)
        if marks.unique().numel() != marks.numel():
            raise Refused
    values = drawer.data(list(result.shape) if rng.random() < 0.7 else [], x.dtype)
    return {"self": x, "indices": indices, "values": values, "accumulate": accumulate}


def draw_quantized(op, drawer):
    rng, shape = drawer.rng, [drawer.rng.randint(1, 4) for _ in range(drawer.rng.randint(1, 3))]
    low, high, axis = rng.randint(-8, 0), rng.randint(1, 15), rng.randrange(len(shape))
    count = shape[axis] if "per_channel" in op else 1
    scale = torch.tensor([rng.choice([0.125, 0.3, 0.7]) for _ in range(count)])
    zero_point = torch.tensor([rng.randint(low, high) for _ in range(count)], dtype=torch.int32)
    made = {"self": drawer.data(shape, torch.float32), "scale": scale, "zero_point": zero_point, "quant_min": low, "quant_max": high}
    if op == "fake_quantize_per_tensor_affine_cachemask":
        return made | {"scale": scale.item(), "zero_point": int(zero_point)}
    return made | ({"axis": axis} if "per_channel" in op else {"fake_quant_enabled": torch.tensor([rng.randint(0, 1)])})


def draw_rrelu(op, drawer):
    shape = [drawer.rng.randint(1, 4) for _ in range(drawer.rng.randint(0, 3))]
    return {"self": reals(drawer, *shape), "noise": reals(drawer, *shape)} | some(drawer, lower=0.1, upper=0.4, training=False)


def draw_index_along(op, drawer):
    rng = drawer.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    dim = rng.randrange(len(shape))
    many = op in ("index_add", "index_reduce")
    count = rng.randint(1, 5 if many else shape[dim])
    index = wholes(drawer, [count], 0, shape[dim] - 1) if many else torch.tensor(rng.sample(range(shape[dim]), count))
    dtype = rng.choice([torch.float64, torch.float64, torch.int8, torch.uint8])
    number = 2.5 if dtype == torch.float64 else drawer.wrapping()
    source = drawer.data([count if d == dim else n for d, n in enumerate(shape)], dtype)
    made = {"self": drawer.data(shape, dtype), "dim": dim, "index": index}
    if op == "index_reduce":
        made |= {"reduce": rng.choice(["prod", "mean", "amax", "amin"])} | some(drawer, include_self=False)
    return made | ({"value": number} if op == "index_fill" else {"source": source}) | (some(drawer, alpha=number) if op == "index_add" else {})


def draw_classes(op, drawer):
    rng = drawer.rng
    rows, classes = rng.randint(1, 4), rng.randint(1, 5)
    places = [] if op in ("multi_margin_loss", "nll_loss", "nll_loss_forward") else [rng.randint(1, 3) for _ in range(2 if "2d" in op else rng.randint(0, 2))]
    lead = [rows] if places or rng.random() < 0.8 else []
    target = wholes(drawer, lead + places, 0, classes - 1)
    made = {"self": reals(drawer, *lead, classes, *places), "target": target, "reduction": rng.randint(0, 2)}
    if op == "multi_margin_loss":
        return made | some(drawer, margin=0.5, p=2, weight=reals(drawer, classes).abs())
    weight = reals(drawer, classes).abs() + 0.5
    if op == "cross_entropy_loss":
        if rng.random() < 0.3:
            made["target"] = made["self"].softmax(1 if lead else 0)
        return made | some(drawer, weight=weight, label_smoothing=0.2, ignore_index=1)
    return made | ({"weight": weight} if rng.random() < 0.5 else {"weight": None}) | {"ignore_index": rng.choice([-100, 1])}


def draw_pair(op, drawer):
    rng = drawer.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 2) if "cosine" in op or "triplet" in op else rng.randint(0, 3))]
    x, y = reals(drawer, *shape), reals(drawer, *shape)
    reduction = {"reduction": rng.randint(0, 2)}
    sign = lambda s: torch.tensor([rng.choice([-1.0, 1.0]) for _ in range(math.prod(s))], dtype=torch.float64).reshape(s)
    if op == "binary_cross_entropy":
        made = {"self": x.sigmoid(), "target": y.sigmoid()} | some(drawer, weight=reals(drawer, *shape))
    elif op == "binary_cross_entropy_with_logits":
        made = {"self": x, "target": y.sigmoid()} | some(drawer, weight=reals(drawer, *shape), pos_weight=reals(drawer, *shape[-1:]).abs())
    elif op == "cosine_embedding_loss":
        made = {"input1": x, "input2": y, "target": sign(shape[:-1])} | some(drawer, margin=0.3)
    elif op == "triplet_margin_loss":
        made = {"anchor": x, "positive": y, "negative": reals(drawer, *shape)} | some(drawer, margin=0.5, p=rng.choice([1.0, 2.0, 3.0]), swap=True)
    elif op == "margin_ranking_loss":
        made = {"input1": x, "input2": y, "target": sign(shape)} | some(drawer, margin=0.5)
    elif op == "hinge_embedding_loss":
        made = {"self": x, "target": sign(shape)} | some(drawer, margin=0.5)
    elif op == "poisson_nll_loss":
        made = {"input": x.abs() + 0.1, "target": y.abs() * 3, "log_input": rng.random() < 0.5, "full": rng.random() < 0.5, "eps": 1e-8}
    elif op == "kl_div":
        made = {"self": x, "target": y.abs()} | some(drawer, log_target=True)
    else:
        made = {"self": x, "target": sign(shape)}
    return made | reduction


def draw_distance(op, drawer):
    rng = drawer.rng
    width = rng.randint(1, 4)
    if op == "_pdist_forward":
        return {"self": reals(drawer, rng.randint(1, 6), width), "p": rng.choice([0.0, 1.0, 2.0, 3.0, math.inf])}
    if "cdist" in op:
        lead = [rng.randint(1, 2)] if rng.random() < 0.5 else []
        made = {"x1": reals(drawer, *lead, rng.randint(1, 4), width), "x2": reals(drawer, *lead, rng.randint(1, 4), width),
                "p": rng.choice([0.0, 1.0, 2.0, 3.0, math.inf])}
        return made | {"compute_mode": 2}
    lead = [rng.randint(1, 3) for _ in range(rng.randint(1, 2))]
    made = {"x1": reals(drawer, *lead, width), "x2": reals(drawer, *(lead if rng.random() < 0.7 else [1] * len(lead)), width)}
    if op == "cosine_similarity":
        return made | some(drawer, dim=rng.randrange(len(lead) + 1))
    return made | some(drawer, p=rng.choice([1.0, 2.0, 3.0]), keepdim=True)


def draw_einsum(op, drawer):
    rng = drawer.rng
    extent = {letter: rng.randint(1, 4) for letter in "abcdijk"}
    equation = rng.choice(["ij,jk->ik", "bij,bjk->bik", "ij->ji", "ij,ij->", "i,j->ij", "ijk,kd->ijd", "ii->i", "ii", "ij,jk", "...ij,jk->...ik",
                           "abc,abc->b", "bij,bkj->bik", "a,ab,b->", "...i->...", "ij,kj->ik", "ab, bc -> ca"])
    lead = [rng.randint(1, 3) for _ in range(rng.randint(0, 2))]
    tensors = []
    for term in equation.split("->")[0].replace(" ", "").split(","):
        dots = term.startswith("...")
        tensors.append(reals(drawer, *(lead if dots else []), *[extent[c] for c in term.replace("...", "")]))
    return {"equation": equation, "tensors": tensors}


def draw_distinct(op, drawer):
    """Which of equal elements comes first is not said: none are equal."""
    rng = drawer.rng
    shape = [rng.randint(1, 6) for _ in range(rng.randint(0, 3))]
    x = torch.tensor(rng.sample(range(-400, 400), math.prod(shape)), dtype=torch.float64).reshape(shape)
    if rng.random() < 0.3:
        x = x.to(torch.int64)
    elif rng.random() < 0.2 and x.numel() > 1:
        x.view(-1)[rng.randrange(x.numel())] = math.nan
    made = {"self": x}
    if op == "topk":
        dim = rng.randrange(len(shape)) if shape else 0
        return made | {"k": rng.randint(0 if shape else 1, shape[dim] if shape else 1), "dim": dim, "largest": rng.random() < 0.5}
    if op == "kthvalue":
        dim = rng.randrange(len(shape)) if shape else 0
        return made | {"k": rng.randint(1, shape[dim] if shape else 1), "dim": dim} | some(drawer, keepdim=True)
    if op == "median":
        return made | ({"dim": rng.randrange(max(len(shape), 1))} | some(drawer, keepdim=True) if rng.random() < 0.7 else {})
    return made | some(drawer, descending=True)


def draw_sorted(op, drawer):
    rng = drawer.rng
    bounds = reals(drawer, rng.randint(1, 6)).sort()[0]
    x = reals(drawer, *[rng.randint(1, 4) for _ in range(rng.randint(0, 2))])
    return {"self": x, "boundaries" if op == "bucketize" else "sorted_sequence": bounds} | some(drawer, right=True, out_int32=True)


def draw_shuffle(op, drawer):
    rng, r = drawer.rng, drawer.rng.randint(1, 3)
    lead, c, h, w = [rng.randint(1, 2)], rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 3)
    if op == "pixel_shuffle":
        return {"self": reals(drawer, *lead, c * r * r, h, w), "upscale_factor": r}
    if op == "pixel_unshuffle":
        return {"self": reals(drawer, *lead, c, h * r, w * r), "downscale_factor": r}
    return {"self": reals(drawer, *lead, c * r, h, w), "groups": r}


def draw_sizes(op, drawer):
    rng = drawer.rng
    shape = [rng.randint(1, 6) for _ in range(rng.randint(1, 3))]
    dim, rest, sizes = rng.randrange(len(shape)), 0, []
    rest = shape[dim]
    while rest:
        sizes.append(rng.randint(0, rest))
        rest -= sizes[-1]
    return {"self": drawer.data(shape, rng.choice(drawer.dtypes)), "split_sizes" if op == "split_with_sizes" else "split_size": sizes, "dim": dim}


def draw_strided(op, drawer):
    rng = drawer.rng
    size, stride = ([rng.randint(0 if i else 1, 3) for _ in range(2)] for i in range(2))
    offset = rng.randint(0, 2)
    return {"self": reals(drawer, offset + sum((n - 1) * s for n, s in zip(size, stride)) + 1), "size": size, "stride": stride, "storage_offset": offset}


def draw_rms(op, drawer):
    rng = drawer.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    normalized = shape[rng.randrange(len(shape)):]
    return {"input": reals(drawer, *shape), "normalized_shape": normalized, "weight": None, "eps": 0.01} | some(drawer, weight=reals(drawer, *normalized))


def draw_repeats(op, drawer):
    """A number of repeats: of a negative one in a tensor, torch 1.13 dies."""
    shape = [drawer.rng.randint(1, 4) for _ in range(drawer.rng.randint(1, 3))]
    return {"self": drawer.data(shape, drawer.rng.choice(drawer.dtypes)), "repeats": drawer.rng.randint(0, 3)} | some(drawer, dim=-1)


def draw_reshape(op, drawer):
    shape = [drawer.rng.randint(1, 4) for _ in range(3)]
    size = [shape[0] * shape[1], shape[2]]
    return {"self": reals(drawer, *shape), "size": size, "stride": [size[1], 1]}


def draw_prelu(op, drawer):
    rng = drawer.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    weight = [shape[1] if len(shape) > 1 else 1] if rng.random() < 0.6 else [1]
    if op == "_prelu_kernel":
        return {"self": reals(drawer, *shape), "weight": reals(drawer, *[1] * len(shape))}
    return {"self": reals(drawer, *shape), "weight": reals(drawer, *weight)}


def draw_instance_norm(op, drawer):
    rng = drawer.rng
    channels = rng.randint(1, 3)
    x = reals(drawer, rng.randint(1, 3), channels, *[rng.randint(2, 4) for _ in range(rng.randint(1, 2))])
    given = some(drawer, weight=reals(drawer, channels), bias=reals(drawer, channels))
    given = {"weight": None, "bias": None} | given
    return given | {"input": x, "running_mean": None, "running_var": None, "use_input_stats": True, "momentum": 0.1, "eps": 1e-5, "cudnn_enabled": False}


def draw_masked(op, drawer):
    rng = drawer.rng
    shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    return {"self": reals(drawer, *shape), "mask": drawer.data(shape, torch.bool), "source": reals(drawer, math.prod(shape) + rng.randint(0, 2))}


def draw_one_hot(op, drawer):
    shape = [drawer.rng.randint(1, 4) for _ in range(drawer.rng.randint(0, 2))]
    classes = drawer.rng.randint(1, 5)
    return {"self": wholes(drawer, shape, 0, classes - 1), "num_classes": classes}


def draw_histc(op, drawer):
    rng = drawer.rng
    x = reals(drawer, *[rng.randint(1, 6) for _ in range(rng.randint(0, 2))])
    low = rng.choice([0, -1, -0.5])
    # Where bins meet, other roundings put an element into another one: at the ends there are, and nowhere else.
    made = {"self": torch.where(x > 1.2, low, x), "bins": rng.randint(1, 9)}
    return made | rng.choice([{}, {"min": low, "max": low + rng.choice([1, 1.7])}, {"min": low, "max": low}])


def draw_grid(op, drawer):
    rng, spatial, n = drawer.rng, 3 if op.endswith("3d") else 2, drawer.rng.randint(1, 2)
    x = reals(drawer, n, rng.randint(1, 2), *(rng.randint(1, 4) for _ in range(spatial)))
    grid = torch.tensor([rng.uniform(-1.6, 1.6) for _ in range(n * 36)], dtype=torch.float64).reshape(n, 3, 2, *(2,) * (spatial - 2), -1)
    return {"input": x, "grid": grid[..., :spatial], "interpolation_mode": rng.randint(0, 4 - spatial), "padding_mode": rng.randint(0, 2),
            "align_corners": rng.random() < 0.5}


def draw_scaled(op, drawer):
    """What is not of 8 bits PyTorch does not refuse on a processor: it reads past the end."""
    rng = drawer.rng
    if not EIGHT_BITS:
        raise Refused
    rows, depth, columns = (rng.randint(1, 5) for _ in range(3))
    single = rng.random() < 0.5
    scale = lambda *shape: torch.tensor([rng.choice([0.25, 0.5, 0.7, 2.0]) for _ in range(math.prod(shape))]).reshape(shape)
    a, b = (reals(drawer, *shape).to(rng.choice(list(EIGHT_BITS))) for shape in ((rows, depth), (columns, depth)))
    return {"self": a, "mat2": b.t(), "scale_a": scale() if single else scale(rows, 1), "scale_b": scale() if single else scale(1, columns)} | \
        some(drawer, out_dtype=rng.choice([torch.float32, torch.bfloat16]))


def draw_eight_bits(op, drawer):
    rows, depth, columns = (drawer.rng.randint(1, 5) for _ in range(3))
    bytes_of = lambda *shape: wholes(drawer, shape, -128, 127).to(torch.int8)
    if op == "_int_mm":
        return {"self": bytes_of(rows, depth), "mat2": bytes_of(depth, columns)}
    return {"self": reals(drawer, rows, depth).float(), "mat2": bytes_of(columns, depth), "scales": reals(drawer, columns).float()}


def draw_trilinear(op, drawer):
    rng = drawer.rng
    sizes = [rng.randint(1, 3) for _ in range(rng.randint(2, 4))]
    dims = range(len(sizes))
    new = [set(rng.sample(dims, rng.randint(0, len(sizes) - 1))) for _ in range(3)]
    new[0] -= new[1] & new[2]  # somebody has each dimension
    made = {"i%d" % (i + 1): reals(drawer, *(sizes[d] for d in dims if d not in new[i])) for i in range(3)}
    made.update(("expand%d" % (i + 1), sorted(new[i])) for i in range(3))
    return made | {"sumdim": sorted(rng.sample(dims, rng.randint(1, len(sizes)))), "unroll_dim": rng.choice(dims)}


def draw_diagonal_scatter(op, drawer):
    rng = drawer.rng
    x = reals(drawer, *[rng.randint(1, 4) for _ in range(rng.randint(2, 3))])
    dim1, dim2 = rng.sample(range(x.dim()), 2)
    where = {"offset": rng.randint(-2, 2), "dim1": dim1, "dim2": dim2}
    try:
        return {"self": x, "src": reals(drawer, *torch.diagonal(x, **where).shape)} | where
    except RuntimeError:  # an offset beyond x
        return draw_diagonal_scatter(op, drawer)


def by(draw, *ops):
    return dict.fromkeys(ops, draw)


DRAWN_WHOLE = {
    **by(draw_recurrent, "lstm", "gru", "rnn_tanh", "rnn_relu"),
    **by(draw_cell, "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"),
    **by(draw_pad, *("%s_pad%dd" % (how, d) for how in ("reflection", "replication") for d in (1, 2, 3))),
    **by(draw_upsample, *("upsample_nearest%dd" % d for d in (1, 2, 3)), *("_upsample_nearest_exact%dd" % d for d in (1, 2, 3)),
         "upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d"),
    **by(draw_smooth, "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"),
    **by(draw_adaptive, *("adaptive_%s_pool%dd" % (how, d) for how in ("avg", "max") for d in (1, 2, 3)),
         "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"),
    **by(draw_unpool, "max_unpool2d", "max_unpool3d"),
    **by(draw_blocks, "im2col", "col2im"),
    **by(draw_attention, "scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu"),
    **by(draw_scatter, "scatter", "scatter_add", "scatter_reduce"),
    **by(draw_index, "index", "_unsafe_index", "index_put", "_unsafe_index_put"),
    **by(draw_index_along, "index_add", "index_copy", "index_fill", "index_reduce"),
    **by(draw_rrelu, "rrelu_with_noise_functional"),
    **by(draw_quantized, "fake_quantize_per_tensor_affine_cachemask", "fake_quantize_per_channel_affine_cachemask",
         "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"),
    **by(draw_classes, "nll_loss", "nll_loss_forward", "nll_loss2d", "nll_loss2d_forward", "nll_loss_nd", "cross_entropy_loss", "multi_margin_loss"),
    **by(draw_pair, "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "triplet_margin_loss",
         "margin_ranking_loss", "hinge_embedding_loss", "poisson_nll_loss", "kl_div", "soft_margin_loss"),
    **by(draw_distance, "cosine_similarity", "pairwise_distance", "cdist", "_cdist_forward", "_pdist_forward"),
    **by(draw_einsum, "einsum"),
    **by(draw_distinct, "sort", "argsort", "topk", "kthvalue", "median"),
    **by(draw_sorted, "bucketize", "searchsorted"),
    **by(draw_shuffle, "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle"),
    **by(draw_sizes, "split_with_sizes"),
    **by(draw_strided, "as_strided"),
    **by(draw_repeats, "repeat_interleave"),
    **by(draw_rms, "rms_norm", "_fused_rms_norm"),
    **by(draw_reshape, "_reshape_alias"),
    **by(draw_prelu, "prelu", "_prelu_kernel"),
    **by(draw_instance_norm, "instance_norm"),
    **by(draw_masked, "masked_scatter"),
    **by(draw_one_hot, "one_hot"),
    **by(draw_histc, "histc"),
    **by(draw_grid, "grid_sampler_2d", "grid_sampler_3d"),
    **by(draw_scaled, "_scaled_mm"),
    **by(draw_trilinear, "_trilinear"),
    **by(draw_diagonal_scatter, "diagonal_scatter"),
    **by(draw_eight_bits, "_int_mm", "_weight_int8pack_mm"),
}
