"""The program that this package carries, and calls of its verbs. Needs the standard library alone."""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

NO = 1  # exit status: done, but the answer is no


class Failure(RuntimeError):
    """A verb that failed: its one line, and its exit status (2 wrong usage or input, 3 the world failed, 130 interrupted)."""

    def __init__(self, message, status=2):
        super().__init__(message)
        self.status = status


def program():
    """The path of the program: $HONE_PROGRAM, else the one in the wheel, else the first `hone` of PATH."""
    named = os.environ.get("HONE_PROGRAM")
    if named:
        return named
    own = pathlib.Path(__file__).resolve().parent / "native" / "bin" / "hone"
    found = str(own) if own.is_file() else shutil.which("hone")
    if not found:
        raise Failure("there is no program hone: the package was not installed from a wheel (./dev wheel); set HONE_PROGRAM to it", 3)
    return found


def environment():
    """Ours, and this interpreter as the Python that has PyTorch, where it has and none was named."""
    given = dict(os.environ)
    if "HONE_PYTHON" not in given and importlib.util.find_spec("torch"):
        given["HONE_PYTHON"] = sys.executable
    return given


def main():
    """What `hone` on the command line is: the program in this process's place."""
    path = program()
    os.execve(path, ["hone", *sys.argv[1:]], environment())


def call(verb, *words, progress=None):
    """The JSON document of `hone VERB WORDS... --json`, in a process of its own, from any thread. Exit status 1, "done, but the answer
    is no", is an answer like others. Else a Failure with the line that it says.

    progress: called with each line that it says meanwhile, in this thread; None: nobody reads them. Whatever ends the call, Ctrl-C or
    an exception of `progress`, ends the process too: by SIGTERM, which it ends well by, and if that takes longer than 20 s by force.
    """
    command = [program(), verb, *(str(word) for word in words), "--json"]
    child = subprocess.Popen(command, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, errors="replace")
    answer, said = [], []
    reader = threading.Thread(target=lambda: answer.append(child.stdout.read()), daemon=True)
    reader.start()
    try:
        for line in child.stderr:
            said.append(line.rstrip())
            if progress:
                progress(said[-1])
        status = child.wait()
    finally:
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        reader.join()
        child.stdout.close()
        child.stderr.close()
    if status not in (0, NO) or not answer[0].strip():
        last = next((line for line in reversed(said) if line), "it ended with status %d and said nothing" % status)
        raise Failure(last[6:] if last.startswith("hone: ") else last, status)
    return json.loads(answer[0])
