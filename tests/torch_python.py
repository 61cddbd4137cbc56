"""A check again, with a Python that has PyTorch, the package hone and folders of its own."""
import os
import subprocess
import sys
import tempfile

import tree


def run_again(file, program, mark, enough, why, **more):
    """Ends this process with what came of it. `mark`: the variable that says there that it is the second time, and names a folder;
    `enough`: a program that such a Python runs; `why`: there is none."""
    candidates = [os.environ.get("HONE_PYTHON")]
    if "HONE_ONE_TORCH" not in os.environ:
        candidates += [tree.ROOT / "build/venv/bin/python", "python3"]
    with tempfile.TemporaryDirectory(prefix="hone-python-") as folder:
        for python in filter(None, candidates):
            try:
                if subprocess.run([str(python), "-c", enough], capture_output=True).returncode != 0:
                    continue
            except OSError:
                continue
            environment = dict(os.environ, PYTHONPATH=str(tree.ROOT / "python"), HONE_PROGRAM=os.path.abspath(program), HONE_DATA=folder + "/data",
                               HONE_CACHE=folder + "/cache", OMP_WAIT_POLICY="passive", HONE_PYTHON=str(python), **more)
            environment[mark] = folder
            environment.pop("HONE_STORE", None)
            tree.lend_machine(program, folder + "/data")
            sys.exit(subprocess.run([str(python), "-B", file], env=environment).returncode)
    tree.skip(why)
