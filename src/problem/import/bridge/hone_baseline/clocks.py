"""The time of a call, on the host or on a device, with inputs that were written anew.

Part of hone_baseline.py, whose names it uses.
"""


def tensors_in(torch, values):
    """All tensors among them that lie somewhere, also in objects that are no modules, as transformers' caches are."""
    found, open_ones, seen = [], [values], set()
    while open_ones:
        one = open_ones.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            open_ones += one.values()
        elif isinstance(one, (list, tuple)):
            open_ones += one
        elif isinstance(one, torch.Tensor) and one.layout == torch.strided and one.numel() > 0:
            found.append(one)
        elif type(one).__module__ not in ("builtins", "torch") and hasattr(one, "__dict__") and not hasattr(one, "register_buffer"):
            open_ones.append(vars(one))
    return found


def storages(torch, values):
    """The memory of all tensors among them, each once: {address: storage}."""
    found = {}
    for one in tensors_in(torch, values):
        storage = one.untyped_storage() if hasattr(one, "untyped_storage") else one.storage().untyped()
        found[storage.data_ptr()] = storage
    return found


class HostClock:
    """A candidate's inputs are written by another process, and its own thread reads them before the clock starts (the worker
    does): so here another thread writes, and ours reads."""
    CHUNK = 1 << 18
    REHEARSE_UP_TO_NS = 100_000  # below, waking up would be a part of the result
    READ_AGAIN_BYTES, PASSES = 1 << 20, 4  # what another core has just written stays in a small cache after some reads

    def __init__(self, torch, inputs, state):
        self.state = state
        libc = ctypes.CDLL(None)
        self.copy, self.read = libc.memcpy, libc.memcmp
        for function in (self.copy, self.read):
            function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        written = [tensor for tensor, _ in state.kept]
        self.places = [(at, storage.nbytes()) for at, storage in storages(torch, [inputs, written]).items()]
        self.chunk = ctypes.create_string_buffer(self.CHUNK)
        self.wanted, self.written = threading.Semaphore(0), threading.Semaphore(0)
        self.last_ns = 0
        threading.Thread(target=self.write, daemon=True).start()

    def write(self):
        kept = ctypes.addressof(self.chunk)
        while self.wanted.acquire():
            for at, size in self.places:
                for begin in range(0, size, self.CHUNK):
                    length = min(self.CHUNK, size - begin)
                    self.copy(kept, at + begin, length)
                    self.copy(at + begin, kept, length)
            self.written.release()

    def renew(self):
        self.wanted.release()
        self.written.acquire()
        small = sum(size for _, size in self.places) <= self.READ_AGAIN_BYTES
        for _ in range(self.PASSES if small else 1):
            for at, size in self.places:
                self.read(at, at, size)

    def time(self, run, inputs, flush):
        """Nanoseconds of a call. `flush` is written to before, so that the inputs are in no cache any more."""
        if self.last_ns < self.REHEARSE_UP_TO_NS:
            run(*inputs)
        self.state.restore()
        self.renew()
        if flush is not None:
            flush.add_(1)
        begin = time.perf_counter_ns()
        result = run(*inputs)
        end = time.perf_counter_ns()
        del result  # freed outside of the measured time
        self.last_ns = end - begin
        return self.last_ns


class DeviceClock:
    """Between two events of the device. Asking for a kernel takes Python longer than many a kernel runs: so the stream is held
    by a kernel that spins, until all launches of a call are queued behind the first event."""
    FIRST_HOLD, LAST_HOLD = 1 << 17, 1 << 28  # cycles: a tenth of a millisecond, a tenth of a second

    def __init__(self, torch, inputs, state):
        self.cuda, self.state = torch.cuda, state
        # Written as words of 8 bytes; the few at an end lie in a line that is written with those before.
        self.memory = []
        for storage in storages(torch, inputs).values():
            all_bytes = torch.empty(0, dtype=torch.uint8, device="cuda").set_(storage)
            self.memory.append(all_bytes[: len(all_bytes) // 8 * 8].view(torch.int64))
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.hold = self.FIRST_HOLD

    def hides(self):
        return self.hold <= self.LAST_HOLD

    def time(self, run, inputs, flush, hidden):
        """Nanoseconds of a call. A hold that was over before the last launch was asked for is made longer; a call that waits
        for the device in its midst cannot be hidden, and is timed as it is."""
        while True:
            for memory in self.memory:
                memory.bitwise_or_(0)
            self.state.restore()
            if flush is not None:
                flush.add_(1)
            self.cuda.synchronize()
            held = hidden and self.hides()
            if held:
                self.cuda._sleep(self.hold)
            self.start.record()
            result = run(*inputs)
            self.stop.record()
            late = held and self.start.query()
            self.stop.synchronize()
            del result
            if not late:
                return int(self.start.elapsed_time(self.stop) * 1e6)
            self.hold *= 4
