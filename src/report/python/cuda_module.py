def hone_flatten(values):
    flat = []
    for value in values:
        flat.extend(hone_flatten(value) if isinstance(value, (list, tuple)) else [value])
    return flat


def hone_ready(name, tensor, dtype, shape, device):
    """The same values, dense, where a kernel may read them in large words."""
    if tensor.device != device or not tensor.is_cuda:
        raise RuntimeError("%s is on %s, the kernel computes on one CUDA device: move it there" % (name, tensor.device))
    if tensor.dtype != dtype or tuple(tensor.shape) != shape:
        raise RuntimeError("%s is %s %s, the kernel was made for %s %s" % (name, tensor.dtype, tuple(tensor.shape), dtype, shape))
    tensor = tensor.contiguous()
    return tensor if tensor.data_ptr() % 512 == 0 else tensor.clone()


def hone_in_place(name, tensor, dtype, shape, device):
    """Itself: what is written into a copy nobody would see."""
    if hone_ready(name, tensor, dtype, shape, device).data_ptr() != tensor.data_ptr():
        raise RuntimeError("%s is written in place, and does not lie in dense rows from a multiple of 512 bytes on: keep it as "
                           ".clone(memory_format=torch.contiguous_format) makes it" % name)
    return tensor


def hone_check_apart(inputs, parameters):
    """What is written is nothing else of the call. All are dense by now."""
    every = inputs + parameters
    for place in hone_updates:
        if place is None:
            continue
        begin = inputs[place].data_ptr()
        end = begin + inputs[place].numel() * inputs[place].element_size()
        for other in every[:place] + every[place + 1 :]:
            first = other.data_ptr()
            if first < end and begin < first + other.numel() * other.element_size():
                raise RuntimeError("%s is written in place and shares memory with another tensor of the call" % hone_inputs[place][0])


def hone_parameter(model, name, key, fill, dtype, shape, device):
    if key is None:  # part of the problem, and not of the module
        return torch.full(shape, fill, dtype=dtype, device=device)
    for part in key.split("."):
        model = model[part] if isinstance(model, dict) else model[int(part)] if isinstance(model, list) else getattr(model, part)
    return torch.view_as_real(model.resolve_conj()) if model.is_complex() else model


def hone_check_fixed(model):
    """Buffers whose numbers the kernel has: which tensors they are, and an end where others have come into them."""
    found = [hone_parameter(model, key, key, None, None, None, None) for key, *_ in hone_fixed]
    versions = [(tensor.data_ptr(), tensor._version) for tensor in found]
    if model.__dict__.get("hone_fixed") != versions:
        for tensor, (key, start, step, rows, each) in zip(found, hone_fixed):
            count = tensor.numel() // each
            wanted = torch.arange(start, start + count * step, step).reshape(rows, -1).t().reshape(-1, 1).expand(-1, each).flatten()
            if not torch.equal(tensor.detach().flatten().cpu().long(), wanted):
                raise RuntimeError("%s has other numbers than those that the kernel was made for" % key)
        model.__dict__["hone_fixed"] = versions


def hone_state(model, device, stream):
    """Parameters and workspace of a module, and what the plan prepares: once, and again when a parameter has changed."""
    places = [None if key is None else hone_parameter(model, name, key, fill, dtype, shape, device)
              for name, key, fill, dtype, shape in hone_parameters]
    found = [None if place is None else (place.data_ptr(), place._version) for place in places]
    state = model.__dict__.get("hone_state")
    if state is None or state[0] != (device, found):
        parameters = [hone_ready(row[0], place if place is not None else hone_parameter(model, *row, device), *row[3:], device)
                      for place, row in zip(places, hone_parameters)]
        buffers = [torch.empty(shape, dtype=dtype, device=device) for dtype, shape in hone_buffers]
        if hone_prepares:
            hone_extension.hone_launch(
                [0] * len(hone_inputs) + [tensor.data_ptr() for tensor in parameters] + [0] * len(hone_outputs) +
                [tensor.data_ptr() for tensor in buffers], True, stream)
            torch.cuda.synchronize()
        # It holds on to the parameters' memory, so that nothing else comes to lie at those addresses.
        state = ((device, found), parameters, buffers, places)
        model.__dict__["hone_state"] = state
    return state


@functools.lru_cache(maxsize=None)
def hone_defaults(forward):
    return {name: parameter.default for name, parameter in inspect.signature(forward).parameters.items()}


def hone_numbers(forward, flat, names):
    """The arguments that are no tensors, as the problem names them: those that its inputs give, not those left to their defaults."""
    defaults = hone_defaults(forward)
    numbers = []
    for i, value in enumerate(flat):
        if isinstance(value, torch.Tensor):
            continue
        name = names[i] if i < len(names) else "input_%d" % i
        text = "%s = %r" % (name, value)
        if text in hone_constant_arguments or name not in defaults or value != defaults[name]:
            numbers.append(text)
    return ", ".join(numbers)


def hone_on(model, inputs, device):
    """On the current device, which is theirs."""
    # As PyTorch's own generated code asks for the stream: an object of its class takes longer than the launch.
    stream = torch._C._cuda_getCurrentRawStream(device.index)
    _, parameters, buffers, _ = hone_state(model, device, stream)
    if any(place is not None for place in hone_updates):
        hone_check_apart(inputs, parameters)
    outputs = [torch.empty(shape, dtype=dtype, device=device) if place is None else inputs[place]
               for (_, dtype, shape), place in zip(hone_outputs, hone_updates)]
    hone_extension.hone_launch([tensor.data_ptr() for tensor in inputs + parameters + outputs + buffers], False, stream)
    for place in hone_updates:
        if place is not None and not inputs[place].is_inference():
            torch.autograd.graph.increment_version(inputs[place])
    results = tuple(tensor for tensor, returned in zip(outputs, hone_returned) if returned)
    return results if len(results) > 1 else results[0] if results else None


def hone_run(model, arguments, names):
    flat = hone_flatten(arguments)
    tensors = [value for value in flat if isinstance(value, torch.Tensor)]
    if hone_constant_arguments or len(tensors) < len(flat):
        numbers = hone_numbers(type(model).forward, flat, names)
        if numbers != hone_constant_arguments:
            raise RuntimeError("the kernel was made for the arguments %s, got %s" %
                               (hone_constant_arguments or "that are tensors", numbers or "none"))
    if hone_fixed:
        hone_check_fixed(model)
    if len(tensors) != hone_held.count(None):
        raise RuntimeError("the kernel takes %d tensors, got %d" % (hone_held.count(None), len(tensors)))
    if any(key is not None for key in hone_held):
        given = iter(tensors)
        tensors = [next(given) if key is None else hone_parameter(model, name, key, None, dtype, shape, None)
                   for key, (name, dtype, shape) in zip(hone_held, hone_inputs)]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        raise RuntimeError("the kernel computes forward only: use it under torch.no_grad()")
    current = torch.cuda.current_device()
    device = tensors[0].device if tensors else torch.device("cuda", current)
    inputs = [(hone_in_place if place in hone_updates else hone_ready)(name, tensor, dtype, shape, device)
              for place, (tensor, (name, dtype, shape)) in enumerate(zip(tensors, hone_inputs))]
    if device.index == current:
        return hone_on(model, inputs, device)
    with torch.cuda.device(device):
        return hone_on(model, inputs, device)
