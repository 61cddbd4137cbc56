#!/usr/bin/env python3
"""The page of a run as a browser shows it: drawn, without errors, hostile text as text. report_page.py HONE

Skipped without Chromium (Debian: apt-get install chromium).
"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

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
                 "--enable-logging=stderr", "--virtual-time-budget=4000", *options, (page or self.page).as_uri()],
                capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        self.assertEqual(said, [])  # an error of ours, or something that the policy refused
        return done.stdout

    def test_every_section_is_drawn_and_nothing_foreign_runs(self):
        document = self.browse("--dump-dom", "--window-size=1280,900")
        for section in ("proof", "progress", "attempts"):
            self.assertRegex(document, f'<section id="{section}"')
        shown = document[document.index("<main"):document.index("</main>")]
        self.assertNotIn("<script", shown)
        self.assertNotIn("<img", shown)
        self.assertIn(html.escape(many_attempts.HOSTILE, quote=False), shown)
        self.assertNotIn(many_attempts.RAN, document)
        self.assertGreater(shown.count("<circle"), 20)
        self.assertIn("the fastest baseline", shown)

    def test_nothing_is_wider_than_the_window(self):
        for width in (1280, 390):
            measured = self.folder / f"measured_{width}.html"
            # The page in a frame of this width: a headless window is never narrower than 500 pixels.
            measured.write_text(f'<iframe id="f" width="{width}" height="2000" src="run.html"></iframe><pre id="out"></pre>'
                                "<script>setTimeout(() => { const d = document.getElementById('f').contentDocument;"
                                "document.getElementById('out').textContent = JSON.stringify([d.documentElement.scrollWidth, d.documentElement.clientWidth]);"
                                "}, 1500)</script>")
            document = self.browse("--dump-dom", "--window-size=1400,2200", "--allow-file-access-from-files", page=measured)
            wide, there = json.loads(re.search(r'<pre id="out">(.*?)</pre>', document)[1])
            self.assertLessEqual(wide, there)
            self.assertLessEqual(there, width)

    def test_light_and_dark_differ(self):
        seen = set()
        for scheme in ("light", "dark"):
            picture = self.folder / f"{scheme}.png"
            self.browse(f"--screenshot={picture}", "--window-size=1280,900", *(["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []))
            self.assertTrue(picture.read_bytes().startswith(b"\x89PNG"))
            seen.add(picture.read_bytes())
        self.assertEqual(len(seen), 2)

    def test_attempts_are_written_for_other_programs(self):
        self.hone("report", self.run_id, "--csv", self.folder / "a.csv", "--jsonl", self.folder / "a.jsonl")
        lines = [json.loads(line) for line in (self.folder / "a.jsonl").read_text().splitlines()]
        self.assertEqual([line["number"] for line in lines], list(range(1, 61)))
        self.assertTrue((self.folder / "a.csv").read_text().startswith("number,"))


if __name__ == "__main__":
    if not BROWSER:
        tree.skip("there is no Chromium in PATH")
    unittest.main()
