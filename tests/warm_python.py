#!/usr/bin/env python3
"""A Python that has imported torch already, for tests that import many files and test no process.

    PYTHON warm_python.py FOLDER   imports torch, writes FOLDER/bin/python, says "ready", and serves until its standard input ends

`FOLDER/bin/python -I -c PROGRAM ARGUMENT...` does what `PYTHON -I -c PROGRAM ARGUMENT...` does, but in a child of the server:
torch is there at once instead of after two seconds. So a sandbox around that program does not hold what it runs.
"""
import array
import json
import os
import signal
import socket
import sys
import threading


def receive(connection):
    """The client's arguments, environment and folder, and its standard output and error."""
    descriptors, text = array.array("i"), b""
    while not text.endswith(b"\n"):
        part, beside, _, _ = connection.recvmsg(1 << 20, socket.CMSG_SPACE(2 * descriptors.itemsize))
        if not part:
            return None, ()
        text += part
        for _, _, bytes_of in beside:
            descriptors.frombytes(bytes_of[:2 * descriptors.itemsize])
    return json.loads(text), tuple(descriptors)


def run(request, descriptors):
    """In a child: becomes the program."""
    for theirs, descriptor in enumerate(descriptors, 1):
        os.dup2(descriptor, theirs)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    dash, flag, program, *arguments = request["arguments"]
    assert (dash, flag) == ("-I", "-c"), request["arguments"][:2]
    sys.argv = ["-c", *arguments]
    exec(compile(program, "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})


def attend(connection):
    """One client: a child for it, killed if the client goes away, and how the child ended."""
    with connection:
        request, descriptors = receive(connection)
        if not request:
            return
        child = os.fork()
        if child == 0:
            status = 1
            try:
                run(request, descriptors)
                status = 0
            except SystemExit as error:
                status = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                sys.stdout.flush()
                os._exit(status)
        for descriptor in descriptors:
            os.close(descriptor)
        over = threading.Event()

        def watch():
            if not connection.recv(1) and not over.is_set():
                os.kill(child, signal.SIGKILL)
        threading.Thread(target=watch, daemon=True).start()
        _, status = os.waitpid(child, 0)
        over.set()
        connection.sendall(b"%d\n" % status)
        connection.shutdown(socket.SHUT_RDWR)


def warm_up():
    import torch
    try:
        torch.export.export(torch.nn.Linear(2, 2), (torch.rand(1, 2),))  # what tracing imports
    except AttributeError:  # an old torch
        import torch.fx.experimental.proxy_tensor  # noqa: F401
        import torch._decomp  # noqa: F401


def serve(folder):
    warm_up()
    os.mkdir(os.path.join(folder, "bin"))
    path, client = os.path.join(folder, "socket"), os.path.join(folder, "bin", "python")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(16)
        with open(client, "w") as file:
            # The interpreter itself: a virtual environment's folder may not be there in a sandbox.
            file.write("#!%s -IS\n%s" % (os.path.realpath(sys.executable), CLIENT.replace("@PATH@", repr(path))))
        os.chmod(client, 0o755)
        print("ready", flush=True)
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
        while True:
            threading.Thread(target=attend, args=(listener.accept()[0],), daemon=True).start()


CLIENT = """
import array, json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect(@PATH@)
text = json.dumps({"arguments": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd()}).encode() + b"\\n"
sent = server.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1, 2]))])
server.sendall(text[sent:])
status = int(server.makefile().readline() or 1 << 8)
if status & 127:
    os.kill(os.getpid(), status & 127)
os._exit(status >> 8)
"""

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    serve(os.path.abspath(sys.argv[1]))
