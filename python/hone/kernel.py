"""A kernel that `hone export` wrote, as bytes that can be pickled, loaded on first use."""
import hashlib
import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import threading


NOT_NEEDED = ("sample.safetensors", "verify.py", "README.md", "plan.json", "model.py", "model_new.py")  # of a bundle, to call its kernel


def cache_folder():
    """As the program has it: $HONE_CACHE, else hone in $XDG_CACHE_HOME or ~/.cache."""
    own = os.environ.get("HONE_CACHE")
    above = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(own or os.path.join(above, "hone"))


class Kernel:
    """The files of a bundle (docs/export.md). Safe from any thread. Pickles as these files; wherever it is loaded, they are put into
    the cache folder, and the kernel (of one for a CUDA device what launches it) is built there for the processor at hand on first use."""

    def __init__(self, files):
        self.files = files  # {path in the folder: bytes}
        self._python = None
        self._lock = threading.Lock()

    @classmethod
    def read(cls, folder):
        folder = pathlib.Path(folder)
        return cls({path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
                    if path.is_file() and path.name not in NOT_NEEDED and path.suffix != ".cu"})

    def __getstate__(self):
        return self.files

    def __setstate__(self, files):
        self.__init__(files)

    @property
    def problem(self):
        return json.loads(self.files["problem.json"])

    @property
    def python(self):
        """The module hone_kernel.py of the bundle."""
        with self._lock:
            if self._python is None:
                self._python = self._load()
            return self._python

    def _load(self):
        digest = hashlib.sha256(repr(sorted((name, hashlib.sha256(data).hexdigest()) for name, data in self.files.items())).encode())
        folder = cache_folder() / "python" / digest.hexdigest()[:32]
        for name, data in self.files.items():
            path = folder / name
            if path.is_file() and path.stat().st_size == len(data):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, made = tempfile.mkstemp(dir=path.parent)  # whoever else loads it meanwhile sees all of a file or none
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(made, path)
        name = "hone_bundle_" + digest.hexdigest()[:32]
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, folder / "hone_kernel.py")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules[name] = module
        return sys.modules[name]
