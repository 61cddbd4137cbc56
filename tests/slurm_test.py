#!/usr/bin/env python3
"""A suite as jobs of Slurm: two nodes on this machine's loopback, one of which is lost midway; before that a job of more
urgency takes the other one from a problem's, and somebody cancels one. slurm_test.py HONE [PROBLEMS]

The daemons are this test's own, with folders, ports and keys of their own. Skipped where Slurm is not installed.
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import tree
from suite import problem

HONE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/hone")
PROBLEMS = int(sys.argv[2]) if len(sys.argv) > 2 else 4
OPERATORS = ["relu", "exp", "abs", "sigmoid", "tanh", "neg", "sin", "cos"]
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo", "scontrol")

CONFIGURATION = """ClusterName=hone
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/run/munge.sock,cred_expire=5
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
ReturnToService=2
SlurmctldPort={ports[0]}
SlurmctldPidFile={root}/run/slurmctld.pid
SlurmdPidFile={root}/run/slurmd.%n.pid
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool.%n
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.%n.log
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdTimeout=5
KillWait=2
NodeName=a NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1 State=UNKNOWN
NodeName=b NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1 State=UNKNOWN
PartitionName=all Nodes=a,b Default=YES MaxTime=INFINITE PriorityTier=1 State=UP
PartitionName=urgent Nodes=a MaxTime=INFINITE PriorityTier=9 State=UP
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    def __init__(self, root):
        self.root = root
        for name in ("run", "state", "spool.a", "spool.b"):
            (root / name).mkdir()
        (root / "run").chmod(0o711)
        self.key = root / "munge.key"
        self.key.write_bytes(os.urandom(1024))
        self.key.chmod(0o400)
        self.configuration = root / "slurm.conf"
        self.configuration.write_text(CONFIGURATION.format(host=socket.gethostname().split(".")[0], root=root, ports=free_ports(3)))
        (root / "cgroup.conf").write_text("CgroupAutomount=no\n")
        self.environment = dict(os.environ, SLURM_CONF=str(self.configuration))
        self.daemons = []

    def start(self, *words):
        self.daemons.append(subprocess.Popen(list(map(str, words)), env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def begin(self):
        run = self.root / "run"
        self.start("munged", "--foreground", "--force", f"--key-file={self.key}", f"--socket={run}/munge.sock", f"--pid-file={run}/munged.pid",
                   f"--log-file={self.root}/munged.log", f"--seed-file={self.root}/munge.seed")
        time.sleep(1)
        self.start("slurmctld", "-D", "-f", self.configuration)
        self.start("slurmd", "-D", "-N", "a", "-f", self.configuration)
        self.start("slurmd", "-D", "-N", "b", "-f", self.configuration)
        for _ in range(60):
            nodes = subprocess.run(["sinfo", "-h", "-o", "%N %T", "-N"], env=self.environment, capture_output=True, text=True).stdout
            if {"a idle", "b idle"} <= set(nodes.splitlines()):
                return True
            time.sleep(0.5)
        return False

    def lose(self, node):
        """As when its power goes: its daemon and all that it runs."""
        self.daemons[3 if node == "b" else 2].kill()
        mine = f"SLURMD_NODENAME={node}".encode()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mine not in (process / "environ").read_bytes() or str(self.root).encode() not in (process / "environ").read_bytes():
                    continue
                parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
                if pathlib.Path(f"/proc/{parent}/comm").read_text().startswith("slurmstepd"):
                    os.kill(parent, signal.SIGKILL)
                os.kill(int(process.name), signal.SIGKILL)
            except (OSError, ValueError):
                continue

    def end(self):
        subprocess.run(["scancel", "-u", "root"], env=self.environment, capture_output=True, timeout=20)
        time.sleep(1)
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()


def table(document):
    return [(row["name"], row["solved"], row["attempts"], row["failure"]) for row in document["rows"]]


def check(root):
    found = []
    suite = root / "suite"
    suite.mkdir()
    for i in range(PROBLEMS):
        operator = OPERATORS[i % len(OPERATORS)]
        (suite / f"{i + 1}_{operator}.json").write_text(json.dumps(problem(operator, operator, 64 + 8 * i)))
    data = root / "data"
    tree.lend_machine(HONE, data)
    cluster = Cluster(root)
    environment = dict(cluster.environment, HONE_DATA=str(data), HONE_CACHE=str(root / "cache"))
    command = [HONE, "optimize", "--suite", str(suite), "--no-torch", "--budget", "2", "--helping", "2", "--headroom", "0", "--time", "9999", "--json"]
    if not os.path.isdir(data / "machines"):
        subprocess.run([HONE, "calibrate"], env=environment, capture_output=True)
    refused = subprocess.run([*command, "--executor", "slurm", "--store", str(root / "none.db")], env=environment, capture_output=True, text=True)
    if refused.returncode != 3 or "no controller of Slurm answers" not in refused.stderr:
        found.append(f"without a controller: {refused.returncode} {refused.stderr}")
    try:
        if not cluster.begin():
            tree.skip("Slurm's nodes do not come up here")
        began = time.monotonic()
        slurm = subprocess.Popen([*command, "--executor", "slurm", "--store", str(root / "slurm.db")], env=environment, stdout=subprocess.PIPE,
                                 stderr=open(root / "said", "w"), text=True, cwd=root)
        lost = preempted = cancelled = False
        while slurm.poll() is None and not lost:
            time.sleep(0.5)
            queue = subprocess.run(["squeue", "-h", "-t", "R", "-p", "all", "-o", "%N %i"], env=environment, capture_output=True, text=True)
            running = dict(line.split() for line in queue.stdout.splitlines())
            done = len(list((root / "slurm.db-suites").glob("jobs-*/*/*.rc")))
            if "a" in running and not preempted:
                preempted = running["a"]
                subprocess.run(["sbatch", "-p", "urgent", "-o", "/dev/null", "--wrap", "sleep 2"], env=environment, capture_output=True, cwd=root)
            elif "b" in running and not cancelled:
                cancelled = running["b"]
                subprocess.run(["scancel", cancelled], env=environment, capture_output=True)
            elif "b" in running and running["b"] != cancelled and done >= PROBLEMS // 4:
                time.sleep(1.5)  # in the midst of something
                cluster.lose("b")
                lost = True
        output = slurm.communicate(timeout=120 + 60 * PROBLEMS)[0]
        seconds = time.monotonic() - began
        again = subprocess.run(["scontrol", "-o", "show", "job", str(preempted)], env=environment, capture_output=True, text=True).stdout
        restarted = [path for path in (root / "slurm.db-suites").glob("jobs-*/*/*.slurm")]
    finally:
        cluster.end()
    if not output:
        return found + [f"no table: {(root / 'said').read_text()}"]
    jobs = json.loads(output)
    alone = subprocess.run([*command, "--store", str(root / "alone.db")], env=environment, capture_output=True, text=True)
    if table(jobs) != table(json.loads(alone.stdout)):
        found.append(f"by jobs: {table(jobs)}\nalone: {table(json.loads(alone.stdout))}")
    if not lost:
        found.append("node b was never seen at work")
    said = (root / "said").read_text()
    if f"job {cancelled} left no result: CANCELLED" not in said:
        found.append(f"nothing is said of the job {cancelled} that was cancelled: {said}")
    if "Restarts=" not in again or "Restarts=0" in again:
        found.append(f"job {preempted} was not put back: {again}")
    if len(restarted) != PROBLEMS:
        found.append(f"{len(restarted)} jobs for {PROBLEMS} problems")
    for row in jobs["rows"]:
        shown = subprocess.run([HONE, "show", row["run"], "--store", str(root / "slurm.db"), "--json"], env=environment, capture_output=True, text=True)
        if len(json.loads(shown.stdout)["attempts"]) != row["attempts"]:
            found.append(f"{row['name']}: the store has not what the table says")
    again = subprocess.run([*command, "--store", str(root / "slurm.db")], env=environment, capture_output=True, text=True)
    if table(json.loads(again.stdout)) != table(jobs):
        found.append("the same suite without Slurm does not go on with what the jobs found")
    print(f"{PROBLEMS} problems on two nodes, one of them lost: {seconds:.0f} s, {jobs['solved']} solved")
    return found


def main():
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        tree.skip(f"{', '.join(missing)} not installed: apt-get install slurm-wlm munge" if missing else "Slurm's daemons want to be root's")
    with tempfile.TemporaryDirectory(prefix="hone-slurm-") as folder:
        os.chmod(folder, 0o755)
        problems = check(pathlib.Path(folder))
    tree.finish(problems, "a suite on two nodes of Slurm")


main()
