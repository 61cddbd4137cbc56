#!/usr/bin/env python3
"""The pages of runs, suites and comparisons as a browser shows them: drawn, without errors, hostile text as text. report_page.py HONE

Skipped without Chromium (Debian: apt-get install chromium).
"""
import contextlib
import html
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import many_attempts
import tree

HONE = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else "build/hone")
BROWSER = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="hone-report-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.store = cls.folder / "runs.sqlite"
        cls.environment = dict(os.environ, HONE_STORE=str(cls.store), HONE_DATA=str(cls.folder / "data"))
        tree.lend_machine(HONE, cls.folder / "data")
        cls.run_id = many_attempts.write(cls.store, 60, hostile=True)
        cls.page = cls.folder / "run.html"
        cls.hone("report", cls.run_id, "-o", cls.page)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def hone(cls, *arguments):
        return subprocess.run([HONE, *map(str, arguments)], env=cls.environment, capture_output=True, text=True, check=True).stdout

    def browse(self, *options, page=None):
        with tempfile.TemporaryDirectory(prefix="hone-browser-") as profile:
            done = subprocess.run(
                [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", f"--user-data-dir={profile}",
                 "--enable-logging=stderr", "--virtual-time-budget=4000", *options, page if isinstance(page, str) else (page or self.page).as_uri()],
                capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        self.assertEqual(said, [])  # an error of ours, or something that the policy refused
        return done.stdout

    def written(self, option):
        self.hone("report", self.run_id, option, self.folder / "written")
        return (self.folder / "written").read_text().splitlines()

    def driven(self, script, width=1200, page="run.html"):
        """What a script says that looks at the page from a frame around it."""
        outside = self.folder / "outside.html"
        outside.write_text('<iframe id="f" width="%d" height="2000" src="%s"></iframe><pre id="out"></pre><script>'
                           "setTimeout(() => { const frame = document.getElementById('f'), inside = frame.contentWindow;"
                           "const said = ((document, KeyboardEvent, Event) => {%s})(frame.contentDocument, inside.KeyboardEvent, inside.Event);"
                           "document.getElementById('out').textContent = encodeURIComponent(JSON.stringify(said)); }, 1500)</script>" % (width, page, script))
        document = self.browse("--dump-dom", "--window-size=1400,2200", "--allow-file-access-from-files", page=outside)
        return json.loads(urllib.parse.unquote(re.search(r'<pre id="out">(.*?)</pre>', document)[1]))

    def test_every_section_is_drawn_and_nothing_foreign_runs(self):
        document = self.browse("--dump-dom", "--window-size=1280,900")
        for section in ("proof", "progress", "tree", "findings", "roofline", "way", "timeline", "made", "attempts"):
            self.assertRegex(document, f'<section id="{section}"')
        shown = document[document.index("<main"):document.index("</main>")]
        self.assertNotIn("<script", shown)
        self.assertNotIn("<img", shown)
        self.assertIn(html.escape(many_attempts.HOSTILE, quote=False), shown)
        self.assertNotIn(many_attempts.RAN, document)
        self.assertGreater(shown.count("<circle"), 20)
        self.assertIn("the fastest baseline", shown)
        self.assertIn("Roofline of NVIDIA H200", shown)
        self.assertIn("Measured again on fresh inputs", shown)
        self.assertIn("hone optimize scripted.py --target cuda --seed 1", shown)

    def test_in_a_notebooks_frame_it_is_drawn_and_out_of_the_notebooks_reach(self):
        program = "import sys; sys.path.insert(0, sys.argv[1]); import hone; print(hone.Run(sys.argv[2])._repr_html_())"
        cell = subprocess.run([sys.executable, "-B", "-c", program, tree.ROOT / "python", self.run_id], env=dict(self.environment, HONE_PROGRAM=HONE),
                              capture_output=True, text=True, check=True).stdout
        notebook = self.folder / "notebook.html"
        ask = ("<pre id='out'></pre><script>setTimeout(() => { const inside = document.querySelector('iframe').contentDocument;"
               "document.getElementById('out').textContent = inside ? inside.querySelectorAll('svg circle').length : 'not to be seen'; }, 1500)</script>")
        for frame, said in ((cell, "not to be seen"), (cell.replace('sandbox="allow-scripts" ', "", 1), None)):
            notebook.write_text("<body>" + frame + ask)
            shown = re.search(r'<pre id="out">(.*?)</pre>', self.browse("--dump-dom", page=notebook))[1]
            self.assertEqual(shown, said) if said else self.assertGreater(int(shown), 20)

    def test_the_tree_goes_by_keys_and_shows_sources_as_they_are(self):
        attempts = [json.loads(line) for line in self.written("--jsonl")]
        last = attempts[-1]
        source = self.hone("show", self.run_id, last["number"], "--json")
        driven = self.driven("""
          const tree = document.querySelector("[role=tree]"), key = (name) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
          const search = document.querySelector("input[type=search]");
          tree.querySelector("[tabindex='0']").focus();
          key("Home");
          const first = document.activeElement.dataset.number, levels = [];
          for (let i = 0; i < 6; ++i) { key("ArrowRight"); levels.push(document.activeElement.getAttribute("aria-level")); }
          key("ArrowLeft");
          const back = document.activeElement.getAttribute("aria-level");
          search.value = "wrong_result"; search.dispatchEvent(new Event("input"));
          const refused = tree.querySelectorAll("[role=treeitem]").length;
          search.value = ""; search.dispatchEvent(new Event("input"));
          const select = document.querySelector("#tree select");
          select.value = "way"; select.dispatchEvent(new Event("change"));
          const way = tree.querySelectorAll("[role=treeitem]").length;
          select.value = "all"; select.dispatchEvent(new Event("change"));
          search.value = "LAST "; search.dispatchEvent(new Event("input"));
          [...tree.querySelectorAll(".row")].pop().click();
          const shown = [...document.querySelectorAll(".panel pre")].pop();
          return {first, levels, back, refused, way, source: [...shown.childNodes].map((n) => n.nodeName === "MARK" ? n.textContent + "\\n" : n.textContent).join("")};
        """.replace("LAST", str(last["number"])))
        self.assertEqual(driven["first"], "1")
        self.assertGreater(int(max(driven["levels"])), 1)
        self.assertLessEqual(int(driven["back"]), int(driven["levels"][-1]))
        self.assertEqual(driven["refused"], sum(attempt["outcome"] == "wrong_result" for attempt in attempts))
        depth, number = 0, json.loads(self.hone("show", self.run_id, "--json"))["best_attempt"]
        while number:
            depth, number = depth + 1, attempts[number - 1]["parent"]
        self.assertEqual(driven["way"], depth)
        self.assertEqual(driven["source"], json.loads(source)["source"])

    def test_nothing_is_wider_than_the_window(self):
        for width in (1280, 390):  # a headless window is never narrower than 500 pixels, a frame is
            wide, there = self.driven("const root = document.documentElement; return [root.scrollWidth, root.clientWidth];", width)
            self.assertLessEqual(wide, there)
            self.assertLessEqual(there, width)

    def test_two_thousand_attempts_are_a_small_page_with_all_of_them(self):
        folder = self.folder / "many"
        folder.mkdir()
        many_attempts.write(folder / "runs.sqlite", 2000)
        page = folder / "run.html"
        self.hone("report", self.run_id, "-o", page, "--store", folder / "runs.sqlite")
        self.assertLess(page.stat().st_size, 5e6)
        document = self.browse("--dump-dom", "--window-size=1280,900", page=page)
        self.assertIn("2000 attempts", document)
        self.assertLess(document.count("<"), 30000)  # what is not asked for is not drawn

    def test_a_comparison_is_drawn(self):
        arms = [{"arm": name + many_attempts.HOSTILE, "quality": 0.9, "anytime": 0.8, "reached": 0.5, "to_95_attempts": 0, "to_95_seconds": 0,
                 "attempts": 40, "seconds": 80, "curve": [0.5, 0.7, 0.9], "by_problem": [0.9, quality]} for name, quality in (("greedy", 0.9), ("mcts", 0.99))]
        arms[1]["against"] = {what: {"ratio": 1.01, "low": 0.99, "high": 1.03, "p": 0.2, "wins": 1, "losses": 0, "equal": 1} for what in ("quality", "anytime")}
        file, page = self.folder / "comparison.json", self.folder / "comparison.html"
        file.write_text(json.dumps({"problems": ["softmax", many_attempts.HOSTILE], "arms": arms}))
        self.hone("report", file, "-o", page)
        document = self.browse("--dump-dom", "--window-size=1280,900", page=page)
        shown = document[document.index("<main"):document.index("</main>")]
        self.assertNotIn(many_attempts.RAN, document)
        self.assertIn(html.escape(many_attempts.HOSTILE, quote=False), shown)
        self.assertEqual(shown.count('<path class="curve'), 2)
        self.assertIn("not told apart", shown)

    def test_a_suite_is_drawn_searched_and_sorted(self):
        def row(name, group, speed, **more):
            return {"name": name, "group": group, "run": "3fa2", "kind": "program", "attempts": 4, "helpings": 2, "seconds": 3, "solved": speed > 0, "faster": speed > 1,
                    "best_us": 20 if speed else None, "bound_us": 10, "honest": None, "speedups": {"eager": speed} if speed else {}, "flags": [], "failure": "", **more}

        rows = [row("one/fast", "one", 3.0), row("one/slow", "one", 0.5), row("two/" + many_attempts.HOSTILE, "two", 2.0), row("two/bad", "two", 0, failure="import: torn")]
        rows += [row(f"three/{number}", "three", 1.0 + number / 100) for number in range(200)]
        document = {"suite": "problems", "stop": "the time is spent", "complete": True, "seconds": 620, "rows": rows,
                    "groups": [{"group": name, "problems": 2, "solved": 2, "over": {"eager": {"geomean": 1.2, "problems": 2, "slower": 1}}} for name in ("one", "two", "all")],
                    "helpings": [{"problem": "one/fast", "attempts": 2, "before_us": 40, "best_us": 30, "seconds": 2}, {"problem": "one/fast", "attempts": 4, "before_us": 30, "best_us": 20, "seconds": 3}]}
        file, page = self.folder / "suite.json", self.folder / "suite.html"
        file.write_text(json.dumps(document))
        self.hone("report", file, "-o", page)
        drawn = self.browse("--dump-dom", "--window-size=1280,900", page=page)
        shown = drawn[drawn.index("<main"):drawn.index("</main>")]
        self.assertNotIn(many_attempts.RAN, drawn)
        self.assertIn(html.escape(many_attempts.HOSTILE, quote=False), shown)
        for words in ("203 of 204 problems solved", "1.2\u00d7 of 2, 1 slower", "from 0.5\u00d7 (one/slow) to 3\u00d7 (one/fast)", "the best of 1 problem is 2\u00d7 as fast as", "104 more of 104"):
            self.assertTrue(words in shown, words)
        self.assertEqual(shown.count('<circle class="point'), 203)
        driven = self.driven("""
          const names = () => [...document.querySelectorAll("#suite tbody tr")].map((row) => row.firstChild.textContent);
          const search = document.querySelector("#suite input[type=search]"), find = (words) => { search.value = words; search.dispatchEvent(new Event("input")); return names(); };
          const torn = find("TORN import"), ones = find("one/");
          [...document.querySelectorAll("#suite .choice input")][1].click();
          const root = document.documentElement;
          return {torn, ones, sorted: names(), wide: root.scrollWidth - root.clientWidth};
        """, width=390, page="suite.html")
        self.assertEqual(driven, {"torn": ["two/bad"], "ones": ["one/fast", "one/slow"], "sorted": ["one/slow", "one/fast"], "wide": 0})

    def test_pages_are_served_and_follow_a_run_that_grows(self):
        store = self.folder / "growing.sqlite"
        many_attempts.write(store, 5, hostile=True)
        server = subprocess.Popen([HONE, "serve", "--store", str(store)], env=self.environment, stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        url = re.search(r"http://\S+:\d+/[0-9a-f]{32}/", server.stderr.readline())[0]

        def get(path):
            with urllib.request.urlopen(url + path) as answer:
                return answer.status, answer.read().decode()

        first = json.loads(get(f"run/{self.run_id}/data")[1])
        self.assertEqual(len(first["attempts"]), 5)
        since = f"run/{self.run_id}/data?since={first['stamp']}"
        self.assertEqual(get(since), (204, ""))
        for page, words in (("", "run/" + self.run_id), (f"run/{self.run_id}", "Measured again")):
            document = self.browse("--dump-dom", page=url + page)
            self.assertIn(words, document[document.index("<main"):document.index("</main>")])
            self.assertNotIn(many_attempts.RAN, document)
        def grow(words):
            with contextlib.closing(sqlite3.connect(store, timeout=20)) as rows, rows:
                rows.execute("UPDATE run SET updated_ms = updated_ms + 1, stop_reason = ?", (words,))

        ended = threading.Event()
        growing = threading.Thread(target=lambda: [grow(f"grown {n};") for n in itertools.takewhile(lambda _: not ended.wait(0.05), itertools.count())])
        growing.start()
        document = self.browse("--dump-dom", page=url + "run/" + self.run_id)
        ended.set()
        growing.join()
        had = int(re.search(r'"stop_reason":"grown (\d+);', document)[1])
        self.assertGreater(int(re.search(r"grown (\d+);", document[document.index("<main"):document.index("</main>")])[1]), had)
        grow("more")
        status, grown = get(since)
        self.assertEqual((status, json.loads(grown)["stop_reason"]), (200, "more"))
        for wrong in (url[:-10] + ("1" if url[-10] == "0" else "0") + url[-9:], url[:-34], url + "run/zzz"):
            with self.assertRaises(urllib.error.HTTPError):
                urllib.request.urlopen(wrong)
        server.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(timeout=20), 0)

    def served(self, store):
        """The address of a server, and what gets a path there."""
        server = subprocess.Popen([HONE, "serve", "--store", str(store)], env=self.environment, stderr=subprocess.PIPE, text=True)
        for end in (server.stderr.close, server.wait, server.kill):
            self.addCleanup(end)
        url = re.search(r"http://\S+:\d+/[0-9a-f]{32}/", server.stderr.readline())[0]
        return url, lambda path: urllib.request.urlopen(url + path).read().decode()

    def lists(self, get):
        """The rows of each list, by its name."""
        return {one["id"]: one["data"][one["id"]] for one in json.loads(get("data"))["sections"]}

    def until(self, holds):
        for _ in range(3000):
            found = holds()
            if found:
                return found
            time.sleep(0.1)
        self.fail("it never came to that")

    def fits(self, page):
        """Nothing of a page that was served is wider than a desk or a phone."""
        (self.folder / "served.html").write_text(re.sub(r'"live":"[^"]*",', "", page))  # in a file there is nobody to ask
        for width in (1280, 390):
            wide, there = self.driven("const root = document.documentElement; return [root.scrollWidth, root.clientWidth];", width, "served.html")
            self.assertLessEqual(wide, there)

    def problems(self, count):
        folder = self.folder / "problems"
        folder.mkdir(exist_ok=True)
        for number in range(count):
            rows = 64 + number
            (folder / f"relu{number}.json").write_text(json.dumps({
                "hone_problem": 1, "name": f"relu{number}", "contract": "fp32", "graph": [{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}],
                "tensors": [{"name": "x", "shape": [rows, 300], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
                            {"name": "y", "shape": [rows, 300], "dtype": "f32", "role": "output"}]}))
        return folder

    def test_a_suite_is_listed_and_its_page_follows_it(self):
        store = self.folder / "suites.sqlite"
        many_attempts.write(store, 5)
        url, get = self.served(store)
        self.assertEqual(list(self.lists(get)), ["runs"])
        command = [HONE, "optimize", "--suite", self.problems(3), "--budget", "2", "--helping", "1", "--store", store, "--no-torch"]
        suite = subprocess.Popen(list(map(str, command)), env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(suite.wait)
        self.addCleanup(suite.kill)
        row = self.until(lambda: next((one for one in self.lists(get).get("suites", []) if one["begun"]), None))
        self.assertEqual((row["state"], row["problems"]), ("running", 3))
        first = json.loads(get(f"suite/{row['id']}/data"))
        self.assertTrue(first["stop"].startswith("not yet: "), first["stop"])
        suite.kill()
        suite.wait()
        self.assertEqual(self.lists(get)["suites"][0]["state"], "killed")
        subprocess.run(list(map(str, command)), env=self.environment, capture_output=True, check=False)
        row = self.lists(get)["suites"][0]
        self.assertEqual((row["state"], row["begun"], row["solved"], row["attempts"]), ("ended", 3, 3, 6))
        grown = json.loads(get(f"suite/{row['id']}/data?since={first['stamp']}"))
        self.assertGreater(len(grown["helpings"]), len(first["helpings"]))
        self.assertEqual(grown["stop"], "every problem has had its attempts")
        self.assertEqual(get(f"suite/{row['id']}/data?since={grown['stamp']}"), "")
        for path, words in (("", "3 of 3"), (f"suite/{row['id']}", "3 of 3 problems solved")):
            drawn = self.browse("--dump-dom", page=url + path)
            self.assertIn(words, drawn[drawn.index("<main"):drawn.index("</main>")])
            self.fits(get(path))
        self.assertIn(f'href="../run/{grown["rows"][0]["run"]}"', drawn)
        for wrong in ("suite/abc", "suite/..%2f", "suite/", "comparison/" + row["id"]):
            with self.assertRaises(urllib.error.HTTPError):
                get(wrong)

    def test_a_comparison_is_listed_and_its_page_follows_it(self):
        store = self.folder / "comparisons.sqlite"
        many_attempts.write(store, 5)
        url, get = self.served(store)
        arms = ["greedy", "random"]
        command = [HONE, "compare", "--suite", self.problems(2), "--seeds", "2", "--budget", "2", "--store", store, *arms]
        compare = subprocess.Popen(list(map(str, command)), env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(compare.wait)
        self.addCleanup(compare.kill)
        row = self.until(lambda: next(iter(self.lists(get).get("comparisons", [])), None))
        self.assertEqual((row["state"], row["of"]), ("running", 8))
        first = json.loads(get(f"comparison/{row['id']}/data"))
        self.assertEqual(first["sections"][0]["id"], "far")
        early = self.browse("--dump-dom", page=url + f"comparison/{row['id']}")
        self.assertIn("of 8 searches are done", early[early.index("<main"):early.index("</main>")])
        self.assertEqual(compare.wait(timeout=120), 0)
        row = self.lists(get)["comparisons"][0]
        self.assertEqual((row["state"], row["searches"], row["problems"], row["arms"]), ("done", 8, 2, arms))
        grown = json.loads(get(f"comparison/{row['id']}/data?since={first['stamp']}"))
        self.assertEqual([arm["arm"] for arm in grown["arms"]], arms)
        self.assertNotIn("far", [one["id"] for one in grown["sections"]])
        for path, words in (("", "8 of 8"), (f"comparison/{row['id']}", "Side by side")):
            drawn = self.browse("--dump-dom", page=url + path)
            self.assertIn(words, drawn[drawn.index("<main"):drawn.index("</main>")])
            self.fits(get(path))

    def test_light_and_dark_differ(self):
        seen = set()
        for scheme in ("light", "dark"):
            picture = self.folder / f"{scheme}.png"
            self.browse(f"--screenshot={picture}", "--window-size=1280,900", *(["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []))
            self.assertTrue(picture.read_bytes().startswith(b"\x89PNG"))
            seen.add(picture.read_bytes())
        self.assertEqual(len(seen), 2)

    def test_attempts_are_written_for_other_programs(self):
        self.assertEqual([json.loads(line)["number"] for line in self.written("--jsonl")], list(range(1, 61)))
        trace = json.loads("".join(self.written("--trace")))
        spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(sum(event["name"].startswith("attempt") for event in spans), 60)
        self.assertTrue(self.written("--csv")[0].startswith("number,"))


if __name__ == "__main__":
    if not BROWSER:
        tree.skip("there is no Chromium in PATH")
    unittest.main()
