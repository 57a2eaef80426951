"""What a notebook shows: HTML of each kind of object, and bars of progress where tqdm is installed, nothing where it is not."""

import contextlib
import io
import os
import sys
import tempfile
import types
import unittest
from html.parser import HTMLParser
from unittest import mock

import ptxgraft
from support import Case, emulator, kernel, skeleton

ALONE = {"br", "hr", "img", "meta", "link", "input"}
TASK = {
    "signature": "in f32 x, out f32 y",
    "set": ["add.f32", "mul.f32"],
    "reference": "y = x + x",
    "bound": 1e-6,
    "inputs": {"x": {"from": -2, "to": 2, "count": 16}},
    "options": {"block": 64, "islands": 1},
    "budget": {"candidates": 200},
}


class Tags(HTMLParser):
    """Says whether every tag is closed, and what text there is."""

    def __init__(self, html):
        super().__init__()
        self.open, self.wrong, self.text, self.attributes = [], [], "", {}
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.attributes[tag] = dict(attributes)
        if tag not in ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.text += data


class Html(Case):
    def assertShows(self, shown, *texts):
        tags = Tags(shown._repr_html_())
        self.assertEqual((tags.open, tags.wrong), ([], []), shown)
        for text in texts:
            self.assertIn(text, tags.text)
        return tags

    def test_skeletons_sites_and_stubs(self):
        site = skeleton().site("activation")
        self.assertShows(skeleton(), "apply", "activation")
        self.assertShows(site, "activation", "value", "scale", "f32")
        self.assertShows(site.stub("value scale setp.lt.f32 value scale selp.f32 -> value"), "setp.lt.f32")

    def test_kernels_and_machine_code(self):
        self.assertShows(kernel(), "apply", "emulator", "f32", ".visible .entry apply")
        code = skeleton().assemble({"activation": "value scale mul.f32 -> value"})
        self.assertShows(code, "apply", "registers", str(code.functions[0].registers), "activation inline")

    def test_profiles_and_reports(self):
        device = ptxgraft.Device("emulator", profile=True, keep_going=10)
        nothing_written, y = device.allocate(32), device.allocate(32)
        skeleton().graft({"activation": "value scale mul.f32 -> value"}, device).launch(1, 16, nothing_written, y, 1.0, 8)
        self.assertShows(device.profile(), "ld.global.f32", "warps")
        self.assertShows(device.take_report(), "memory_not_written")

    def test_searches_and_archives(self):
        with tempfile.TemporaryDirectory() as folder:
            archive = os.path.join(folder, "archive.db")
            search = ptxgraft.search.Search(TASK, archive, seed=1)
            search.run(candidates=200, threads=1)
            self.assertShows(search, "elites of", "->")
            search.close()
            page = ptxgraft.search.page(archive, "A <title>")
        self.assertTrue(page.lstrip().startswith("<!"))
        frame = self.assertShows(page).attributes["iframe"]
        self.assertEqual(frame["srcdoc"], page)


class Bars(Case):
    """A stand-in for tqdm, so that what it is told can be seen."""

    def setUp(self):
        self.made = made = []

        class Bar:
            def __init__(self, total=None, unit=""):
                self.total, self.unit, self.count, self.closed = total, unit, 0, False
                made.append(self)

            def update(self, count):
                self.count += count

            def close(self):
                self.closed = True

        modules = {"tqdm": types.ModuleType("tqdm"), "tqdm.auto": types.SimpleNamespace(tqdm=Bar)}
        patch = mock.patch.dict(sys.modules, modules)
        patch.start()
        self.addCleanup(patch.stop)
        self.candidates = [{"activation": f"value {i}.0 add.f32 -> value"} for i in range(5)]

    def assertBar(self, total, unit, count):
        (bar,) = self.made
        self.assertEqual((bar.total, bar.unit, bar.count, bar.closed), (total, unit, count, True))

    def test_many_kernels(self):
        skeleton().graft_many(self.candidates, emulator(), progress=True)
        self.assertBar(5, " kernels", 5)

    def test_much_machine_code(self):
        skeleton().assemble_many(self.candidates, progress=True)
        self.assertBar(5, " candidates", 5)

    def test_a_search(self):
        summary = ptxgraft.search.Search(TASK, seed=1).run(candidates=200, threads=1, progress=True)
        self.assertBar(200, " candidates", summary.judged)

    def test_none_is_shown_unasked_or_without_tqdm(self):
        skeleton().graft_many(self.candidates, emulator())
        self.assertEqual(self.made, [])
        with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}), contextlib.redirect_stderr(io.StringIO()) as shown:
            self.assertEqual(len(skeleton().graft_many(self.candidates, emulator(), progress=True)), 5)
            ptxgraft.search.Search(TASK, seed=1).run(candidates=200, threads=1, progress=True)
        self.assertEqual((self.made, shown.getvalue()), ([], ""))

    def test_a_function_is_called_and_what_it_raises_ends_the_work(self):
        seen = []
        skeleton().graft_many(self.candidates, emulator(), progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(seen, [(i, 5) for i in range(1, 6)])

        def fail(done, total):
            raise ZeroDivisionError

        self.assertRaises(ZeroDivisionError, skeleton().assemble_many, self.candidates, progress=fail)
        with self.assertRaises(ZeroDivisionError):
            skeleton().graft_many(self.candidates, emulator(), on_result=lambda i, k: 1 / 0, progress=True)
        self.assertTrue(self.made[0].closed)


if __name__ == "__main__":
    unittest.main()
