#!/usr/bin/env python3
"""hone mcp as its clients meet it: whole dialogues in each era, hostile lines, cancelled calls, closed input. mcp_test.py HONE

Every line that comes is held to the shapes below; where MCP_SCHEMAS names a folder with the schemas that the protocol
publishes (2026-07-28.json and so on), and jsonschema is here, to those as well.
"""
import importlib.util
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import tree

HONE = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.path.abspath("build/hone")
SCHEMAS = os.environ.get("MCP_SCHEMAS")
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}

PROBLEM = {
    "hone_problem": 1,
    "name": "small_softmax",
    "contract": "fp32",
    "tensors": [
        {"name": "x", "shape": [64, 300], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
        {"name": "y", "shape": [64, 300], "dtype": "f32", "role": "output"},
    ],
    "graph": [{"op": "_softmax", "args": {"self": "%x", "dim": 1, "half_to_float": False}, "outputs": ["y"]}],
}

# What the result of a method may have, and has to have ("!"); of a modern one the last line, too.
RESULTS = {
    "initialize": {"protocolVersion!", "capabilities!", "serverInfo!", "instructions"},
    "ping": set(),
    "server/discover": {"supportedVersions!", "capabilities!", "instructions", "ttlMs!", "cacheScope!"},
    "tools/list": {"tools!"}, "tools/call": {"content!", "structuredContent", "isError"},
    "resources/list": {"resources!"}, "resources/templates/list": {"resourceTemplates!"}, "resources/read": {"contents!"},
    "prompts/list": {"prompts!"}, "prompts/get": {"messages!", "description"},
}
KEPT = {"tools/list", "resources/list", "resources/templates/list", "resources/read", "prompts/list"}
DEFINITIONS = {
    "initialize": "InitializeResult", "ping": "EmptyResult", "server/discover": "DiscoverResult", "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult", "resources/list": "ListResourcesResult", "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult", "prompts/list": "ListPromptsResult", "prompts/get": "GetPromptResult",
}


def validate(version, definition, document):
    if not SCHEMAS:
        return
    import jsonschema
    schema = json.loads((pathlib.Path(SCHEMAS) / f"{version}.json").read_text())
    key = "$defs" if "$defs" in schema else "definitions"
    jsonschema.Draft202012Validator({key: schema[key], "$ref": f"#/{key}/{definition}"}).validate(document)


def processes_in(folder):
    """Processes whose environment names the folder: ours, and all that ours began."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(folder).encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            pass
    return found


def await_that(holds, seconds):
    """Until it does, or the time is up."""
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)


class Server:
    """One `hone mcp` and a client of one version; None: none yet."""

    def __init__(self, test, folder, version):
        self.test, self.version, self.next_id, self.asked = test, version, 0, {}
        # The machine is measured once for all tests; each has a store of its own, by which its processes are known.
        environment = dict(os.environ, HONE_DATA=f"{test.shared.name}/data", HONE_CACHE=f"{test.shared.name}/cache", HONE_STORE=f"{folder}/runs.sqlite")
        self.process = subprocess.Popen([HONE, "mcp", "--folder", str(folder)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if version and version < "2026":
            answer = self.ask("initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "test", "version": "1"})
            self.test.assertEqual(answer["result"]["protocolVersion"], version)
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def raw(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, message):
        self.raw(json.dumps(message).encode())

    def begin(self, method, meta=None, **params):
        self.next_id += 1
        if self.version == "2026-07-28":
            params["_meta"] = dict(MODERN, **(meta or {}))
        elif meta:
            params["_meta"] = meta
        self.asked[self.next_id] = method
        self.send({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        return self.next_id

    def next(self, timeout=120):
        message = self.lines.get(timeout=timeout)
        if message is not None:
            self.check(message)
        return message

    def ask(self, method, meta=None, notes=None, **params):
        number = self.begin(method, meta, **params)
        while True:
            message = self.next()
            if message.get("id") == number:
                return message
            self.test.assertIsNotNone(notes, message)
            notes.append(message)

    def check(self, message):
        test = self.test
        test.assertEqual(message["jsonrpc"], "2.0")
        if "method" in message:
            test.assertEqual(message["method"], "notifications/progress")
            test.assertEqual(set(message), {"jsonrpc", "method", "params"})
            test.assertEqual(set(message["params"]), {"progressToken", "progress", "message"})
            return validate(self.version or "2026-07-28", "ProgressNotification", message)
        if "error" in message:
            test.assertLessEqual(set(message), {"jsonrpc", "id", "error"})
            test.assertLessEqual(set(message["error"]), {"code", "message", "data"})
            test.assertNotIn("\n", message["error"]["message"])
            return None
        test.assertEqual(set(message), {"jsonrpc", "id", "result"})
        method, result = self.asked[message["id"]], message["result"]
        keys = set(RESULTS[method])
        if self.version == "2026-07-28":
            keys |= {"resultType!", "_meta!"} | ({"ttlMs!", "cacheScope!"} if method in KEPT else set())
            test.assertEqual(result["resultType"], "complete")
        test.assertLessEqual({key[:-1] for key in keys if key.endswith("!")}, set(result))
        test.assertLessEqual(set(result), {key.rstrip("!") for key in keys})
        if self.version:
            validate(self.version, DEFINITIONS[method], result)

    def tool(self, tool, /, error=False, **arguments):
        answer = self.ask("tools/call", name=tool, arguments=arguments)
        self.test.assertIn("result", answer, answer)
        result = answer["result"]
        self.test.assertEqual(result["isError"], error, result["content"])
        for block in result["content"]:
            self.test.assertEqual(set(block), {"type", "text"})
        if error:
            return result["content"][0]["text"]
        self.test.assertEqual(json.loads(result["content"][0]["text"]), result["structuredContent"])
        return result["structuredContent"]

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=30)
        self.test.assertEqual(self.process.stderr.read(), b"")
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return code


class Mcp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory(prefix="hone-mcp-data-")
        tree.lend_machine(HONE, cls.shared.name + "/data")

    @classmethod
    def tearDownClass(cls):
        cls.shared.cleanup()

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="hone-mcp-")
        self.folder = pathlib.Path(self.temporary.name)
        (self.folder / "p.json").write_text(json.dumps(PROBLEM))

    def tearDown(self):
        self.temporary.cleanup()

    def dialogue(self, version):
        server = Server(self, self.folder, version)
        if version == "2026-07-28":
            self.assertIn(version, server.ask("server/discover")["result"]["supportedVersions"])
        else:
            self.assertEqual(server.ask("ping")["result"], {})
        described = {verb["name"].replace("-", "_"): verb for verb in json.loads(subprocess.check_output([HONE, "help", "--json"]))["verbs"]}
        tools = {tool["name"]: tool for tool in server.ask("tools/list")["result"]["tools"]}
        answering = {name for name, verb in described.items() if not verb["json"].startswith("nothing: ")}
        self.assertEqual(answering, set(described) & set(tools))
        self.assertNotIn("mcp", answering)
        for name in set(described) & set(tools):
            self.assertEqual(tools[name]["inputSchema"], described[name]["arguments"])
        self.assertEqual(set(tools) - set(described), {"start_run", "run_status", "run_cancel", "run_report", "put_file", "get_file", "list_files", "read_page"})
        self.assertTrue(tools["show"]["annotations"]["readOnlyHint"])
        self.assertTrue(tools["runs"]["annotations"]["destructiveHint"])

        by_hand = json.loads(subprocess.check_output([HONE, "graph", str(self.folder / "p.json"), "--json"]))
        self.assertEqual(server.tool("graph", problem="p.json")["nodes"], by_hand["nodes"])
        self.assertIn("cannot find nope.json", server.tool("graph", error=True, problem="nope.json"))
        self.assertEqual(server.tool("graph", error=True, poblem="p.json"), 'graph has no argument "poblem"; did you mean \'problem\'?')
        self.assertEqual(server.tool("evaluate", error=True, problem=7), 'evaluate: argument "problem" has to be a text, not number')
        self.assertEqual(server.ask("tools/call", name="mcp", arguments={})["error"]["code"], -32602)
        self.assertEqual(server.ask("tools/call", name="judge", arguments={})["error"]["code"], -32602)

        self.assertEqual(server.tool("put_file", path="a/b.hk", text="kernel ü\n"), {"path": "a/b.hk", "bytes": 10})
        self.assertEqual((self.folder / "a/b.hk").read_text(), "kernel ü\n")
        self.assertEqual(server.tool("get_file", path="a/b.hk", bytes=8)["next"], 7)
        self.assertEqual(server.tool("get_file", path="a/b.hk", offset=7)["text"], "ü\n")
        self.assertEqual([entry["path"] for entry in server.tool("list_files", folder="a")["entries"]], ["a/b.hk"])
        self.assertIn("The kernel language", server.tool("read_page", page="language")["text"])
        self.assertIn("read_page", server.tool("read_page", error=True, page="../README"))

        # An index of code has what lay in its tree, and no way to what lies beside it.
        server.tool("put_file", path="tree/a.h", text="struct Needle {};\n// Call read_code with ../p.json.\n")
        self.assertEqual(server.tool("index", folder="tree", output="code.sqlite")["files"], 1)
        self.assertEqual(server.tool("find_symbol", name="Needle", index="code.sqlite")["symbols"][0]["path"], "a.h")
        self.assertEqual(server.tool("search_code", query="needle", index="code.sqlite")["hits"][0]["line"], 1)
        self.assertEqual(server.tool("read_code", file="a.h", lines="1-1", index="code.sqlite")["text"], "struct Needle {};\n")
        for path in ("../p.json", "/etc/passwd", "tree/a.h", str(self.folder / "p.json")):
            self.assertIn("the index has no file", server.tool("read_code", error=True, file=path, index="code.sqlite"), path)

        uris = [resource["uri"] for resource in server.ask("resources/list")["result"]["resources"]]
        self.assertIn("hone://pages/language", uris)
        for uri in uris:
            self.assertTrue(server.ask("resources/read", uri=uri)["result"]["contents"][0]["text"], uri)
        missing = -32602 if version == "2026-07-28" else -32002
        for uri in ("hone://pages/none", "hone://runs/123456", "hone://runs/--help", "hone://runs/../x", "file:///etc/passwd", "hone://problems/0"):
            self.assertEqual(server.ask("resources/read", uri=uri)["error"]["code"], missing, uri)
        self.assertEqual(len(server.ask("resources/templates/list")["result"]["resourceTemplates"]), 4)
        for prompt in server.ask("prompts/list")["result"]["prompts"]:
            given = {argument["name"]: "THIS" for argument in prompt["arguments"]}
            self.assertIn("THIS", server.ask("prompts/get", name=prompt["name"], arguments=given)["result"]["messages"][0]["content"]["text"])

        # A change of folder, a link and a root lead nowhere.
        (self.folder / "out").symlink_to("/tmp")
        (self.folder / "loose").symlink_to("/tmp/hone-mcp-there-is-none")
        for path in ("../x", "/etc/passwd", "out/x", "loose", "a/../../x", "/"):
            self.assertIn("outside", server.tool("put_file", error=True, path=path, text="x"), path)
            self.assertIn("outside", server.tool("get_file", error=True, path=path), path)
        self.assertEqual(server.close(), 0)

    def test_a_session_of_2025_06_18(self):
        self.dialogue("2025-06-18")

    def test_a_session_of_2025_11_25(self):
        self.dialogue("2025-11-25")

    def test_requests_of_2026_07_28(self):
        self.dialogue("2026-07-28")

    def test_hostile_lines_do_no_harm(self):
        server = Server(self, self.folder, None)
        for line in (b"", b"\0\0\0", b"\xff\xfe", b"{", b"[" * 100000, b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":' + b'{"a":' * 90 + b"1" + b"}" * 90 + b"}}",
                     b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}', b'"' + b"x" * (1 << 20), b"null", b'{"jsonrpc":"2.0","id":1}',
                     json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]).encode()):
            server.raw(line)
            if line:
                self.assertIn(server.next()["error"]["code"], (-32700, -32600, -32602), line[:80])
        server.version = "2025-11-25"
        server.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "x", "version": "1"})
        for name, arguments in (("graph", {"problem": "\0"}), ("graph", {"problem": "--ops"}), ("optimize", {"problem": "p.json", "budget": 1e300}),
                                ("optimize", {"problem": "p.json", "python": ["a"]}), ("runs", {"delete": [1]}), ("put_file", {"path": "a\0b", "text": ""}),
                                ("put_file", {"path": "a"}), ("start_run", {"verb": "mcp", "arguments": {}}), ("run_status", {"id": "x", "wait_s": 1e9}),
                                ("show", {"run": "; touch owned"}), ("export", {"run": "--store=/tmp/x"})):
            self.assertTrue(server.tool(name, error=True, **arguments), (name, arguments))
        self.assertFalse((self.folder / "owned").exists())
        self.assertEqual(server.ask("ping")["result"], {})
        self.assertEqual(server.close(), 0)

    def test_a_call_that_is_cancelled_ends_with_all_that_it_began(self):
        server = Server(self, self.folder, "2025-11-25")
        number = server.begin("tools/call", {"progressToken": 5}, name="optimize", arguments={"problem": "p.json", "budget": 1000, "time": 0, "headroom": 0})
        progress = []
        # Lines that come close to each other are one: on a busy machine that of the first attempt may be left out.
        while not any(re.search(r"\[[1-9][0-9]*/1000\]", note["params"]["message"]) for note in progress):
            progress.append(server.next())
        self.assertEqual([note["params"]["progress"] for note in progress], list(range(1, len(progress) + 1)))
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number, "reason": "enough"}})
        await_that(lambda: len(processes_in(self.folder)) <= 1, 20)
        self.assertEqual(len(processes_in(self.folder)), 1, processes_in(self.folder))
        number = server.begin("ping")
        answers = [server.next()]
        while answers[-1].get("id") != number:
            answers.append(server.next())
        self.assertTrue(all("method" in answer for answer in answers[:-1]), "no answer to what was cancelled")
        run = server.tool("runs")["runs"][0]
        self.assertEqual((run["state"], run["problem"]), ("interrupted", "small_softmax"))
        self.assertEqual(server.close(), 0)

    def test_closed_input_ends_everything(self):
        server = Server(self, self.folder, "2025-11-25")
        server.begin("tools/call", name="optimize", arguments={"problem": "p.json", "budget": 1000, "time": 0})
        server.tool("start_run", verb="optimize", arguments={"problem": "p.json", "budget": 1000, "time": 0, "seed": 2})
        await_that(lambda: len(processes_in(self.folder)) > 2, 60)
        self.assertGreater(len(processes_in(self.folder)), 2)
        self.assertEqual(server.close(), 0)
        self.assertEqual(processes_in(self.folder), [])

    def test_a_long_run_is_started_asked_about_cancelled_and_reported(self):
        server = Server(self, self.folder, "2026-07-28")
        self.assertIn("no argument", server.tool("start_run", error=True, verb="optimize", arguments={"problm": "p.json"}))
        self.assertIn("cannot find", server.tool("start_run", error=True, verb="optimize", arguments={"problem": "q.json"}))
        self.assertIn("no run optimize-7", server.tool("run_status", error=True, id="optimize-7"))
        long = server.tool("start_run", verb="optimize", arguments={"problem": "p.json", "budget": 1000, "time": 0, "headroom": 0})["id"]
        self.assertIn("still runs", server.tool("run_report", error=True, id=long))
        while not (status := server.tool("run_status", id=long, wait_s=1))["run"]:
            self.assertEqual(status["state"], "running", status)
        self.assertIn(status["run"], [run["id"] for run in server.tool("runs")["runs"]])
        self.assertEqual(server.tool("run_cancel", id=long), {"id": long})
        status = server.tool("run_status", id=long, wait_s=30)
        self.assertEqual((status["state"], status["exit_code"]), ("cancelled", 130))
        short = server.tool("start_run", verb="optimize", arguments={"problem": "p.json", "budget": 2, "time": 0, "headroom": 0, "seed": 3})["id"]
        while (status := server.tool("run_status", id=short, wait_s=50))["state"] == "running":
            pass
        self.assertEqual(status["state"], "done", status)
        report = server.tool("run_report", id=short)
        self.assertEqual((report["run"], report["attempts"], report["best"]["outcome"]), (status["run"], 2, "accepted"))
        uris = [resource["uri"] for resource in server.ask("resources/list")["result"]["resources"]]
        self.assertIn(f"hone://runs/{status['run']}", uris)
        problem = next(uri for uri in uris if uri.startswith("hone://problems/"))
        self.assertEqual(json.loads(server.ask("resources/read", uri=problem)["result"]["contents"][0]["text"])["name"], "small_softmax")
        attempt = server.ask("resources/read", uri=f"hone://runs/{status['run']}/attempts/best")["result"]["contents"][0]
        self.assertIn("source", json.loads(attempt["text"]))
        self.assertEqual(server.close(), 0)

    def test_the_guide_is_what_happens(self):
        """Each file and call of docs/agents.md, in its order."""
        text = (pathlib.Path(__file__).parent.parent / "docs/agents.md").read_text()
        server = Server(self, self.folder, "2026-07-28")
        known, answers = {"RUN": "", "ID": ""}, {}
        for kind, name, block in re.findall(r"(?ms)^```(\w+) ?(\S*)\n(.*?)^```$", text):
            if name:
                server.tool("put_file", path=name, text=block)
            for line in block.splitlines() if kind == "calls" else []:
                tool, arguments = line.split(" ", 1)
                arguments = json.loads(arguments.replace("RUN", known["RUN"]).replace('"ID"', json.dumps(known["ID"])))
                answer = server.tool(tool, **arguments)
                while tool == "run_status" and answer["state"] == "running":
                    answer = server.tool(tool, **arguments)
                known["ID"] = answer["id"] if tool == "start_run" else known["ID"]
                known["RUN"] = answer["run"] if tool == "run_report" else known["RUN"]
                answers.setdefault(tool, []).append(answer)
        self.assertGreater(answers["graph"][0]["bound"]["us"], 0)
        self.assertEqual([answer["outcome"] for answer in answers["evaluate"]], ["launch_error", "accepted"])
        self.assertIn("findings", answers["diagnose"][0])
        report = answers["run_report"][0]
        self.assertEqual((report["best"]["outcome"], report["confirmed"], report["attempts"]), ("accepted", True, 1))
        self.assertIn("accumulators: 2", answers["show"][0]["source"])
        self.assertIn("verify.py", " ".join(entry["path"] for entry in answers["list_files"][0]["entries"]))
        self.assertEqual(server.close(), 0)

    @unittest.skipUnless(importlib.util.find_spec("mcp"), "no Python SDK of the protocol is here (pip install mcp)")
    def test_the_python_sdk_is_content_in_both_eras(self):
        import asyncio
        import mcp

        async def talk(mode):
            environment = dict(os.environ, HONE_DATA=f"{self.shared.name}/data", HONE_CACHE=f"{self.shared.name}/cache", HONE_STORE=f"{self.folder}/runs.sqlite")
            async with mcp.Client(mcp.StdioServerParameters(command=HONE, args=["mcp", "--folder", str(self.folder)], env=environment), mode=mode) as client:
                self.assertIn("optimize", [tool.name for tool in (await client.list_tools()).tools])
                answer = await client.call_tool("graph", {"problem": "p.json"})
                self.assertFalse(answer.is_error)
                self.assertEqual(answer.structured_content["name"], "small_softmax")
                self.assertTrue((await client.call_tool("graph", {"problem": "none.json"})).is_error)
                self.assertIn("The kernel language", (await client.read_resource("hone://pages/language")).contents[0].text)
                self.assertEqual(len((await client.get_prompt("read_run", {"run": "ab"})).messages), 1)
                return client.protocol_version

        self.assertEqual(asyncio.run(talk("auto")), "2026-07-28")
        self.assertEqual(asyncio.run(talk("legacy")), "2025-11-25")


if __name__ == "__main__":
    unittest.main(verbosity=2)
