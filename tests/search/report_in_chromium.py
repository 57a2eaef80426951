#!/usr/bin/env python3
"""Reports as a browser lays them out: report_in_chromium.py PROGRAM TASK.json [--keep FOLDER]. Searches the task, makes
the report, and opens it in headless Chromium, over its DevTools protocol, narrow and wide, light and dark: nothing is
wider than the window, the console has no message, and nothing is fetched. With --keep screenshots stay in FOLDER. With
--page a report that is there already is looked at. Returns 77 where there is no Chromium."""

import argparse
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
WIDTHS = (1200, 400)
OPENED = """(() => { for (const one of document.querySelectorAll('details')) one.open = true; })()"""
MEASURED = """(() => ({
    width: document.documentElement.scrollWidth, window: window.innerWidth, height: document.documentElement.scrollHeight,
    wide: [...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') && e.getBoundingClientRect().right > window.innerWidth + 1)
          .map(e => e.tagName + '.' + e.className).slice(0, 5),
    small: [...document.querySelectorAll('svg text')].map(e => e.getBoundingClientRect().height).filter(h => h && h < 9).length,
    figures: document.querySelectorAll('figure svg[role=img]').length, rows: document.querySelectorAll('tr').length,
    unnamed: [...document.querySelectorAll('figure svg[role=img]')].filter(e => !e.querySelector('title')?.textContent).length,
    paper: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color }))()"""


class Browser:
    """Chromium at the other end of two pipes: messages are JSON, each with a zero byte behind it."""

    def __init__(self, program, folder):
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()

        def connect():  # the protocol's pipes are 3 and 4
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, 3)
            os.dup2(b, 4)

        flags = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
                 "--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder}"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # Chromium has none for root
        self.process = subprocess.Popen([program, *flags, "about:blank"], preexec_fn=connect, close_fds=False,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.last, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.rest:
            part = os.read(self.read, 1 << 16)
            if not part:
                raise SystemExit("Chromium has ended")
            self.rest += part
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **parameters):
        self.last += 1
        asked = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            asked["sessionId"] = self.session
        os.write(self.write, json.dumps(asked).encode() + b"\0")
        while True:
            got = self.message()
            if got.get("id") == self.last:
                if "error" in got:
                    raise SystemExit(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def wait_for(self, event):
        while not any(one.get("method") == event for one in self.events):
            self.events.append(self.message())

    def evaluate(self, script):
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def close(self):
        self.process.terminate()
        self.process.wait(20)


def look(browser, page, width, colours, picture):
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": colours}])
    browser.events.clear()
    browser.call("Page.navigate", url=page.as_uri())
    browser.wait_for("Page.loadEventFired")
    if picture:
        shot = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        picture.write_bytes(base64.b64decode(shot["data"]))
    browser.evaluate(OPENED)
    found = browser.evaluate(MEASURED)
    methods = [event.get("method") for event in browser.events]
    fetched = [event["params"]["request"]["url"] for event in browser.events
               if event.get("method") == "Network.requestWillBeSent"]
    wrong = []
    if found["width"] > found["window"] or found["wide"]:
        wrong.append(f"{found['width']} wide: {found['wide']}")
    for method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
        if method in methods:
            wrong.append(f"{method}: {[e['params'] for e in browser.events if e.get('method') == method]}")
    if fetched != [page.as_uri()]:
        wrong.append(f"it fetched {fetched}")
    if found["figures"] < 1 or found["rows"] < 10 or found["unnamed"]:
        wrong.append(f"{found['figures']} figures, {found['unnamed']} without a title, {found['rows']} rows")
    if found["small"]:
        wrong.append(f"{found['small']} texts of figures are too small to be read")
    return wrong, (found["paper"], found["ink"])


def check(browser, page, keep, name):
    wrong, colours = [], {}
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            picture = keep / f"{name}_{width}_{scheme}.png" if keep else None
            found, colours[scheme] = look(browser, page, width, scheme, picture)
            wrong += [f"{name}, {width} px, {scheme}: {one}" for one in found]
    if colours["light"][0] == colours["dark"][0]:
        wrong.append(f"{name}: light and dark have one paper, {colours}")
    return wrong


def make(program, task, folder):
    archives = []
    for strategy, seed in [("evolve", 1), ("evolve", 2), ("evolve", 3), ("random", 1), ("climb", 1)]:
        archives.append(folder / f"{strategy}{seed}.sqlite")
        subprocess.run([program, "search", task, "--archive", archives[-1], "--strategy", strategy, "--seed", str(seed),
                        "--jobs", "1", "--budget", "candidates=3000"], check=True, stdout=subprocess.DEVNULL)
    page = folder / "report.html"
    subprocess.run([program, "search", "report", archives[0], "-o", page, "--beside", *archives[1:]], check=True)
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("task", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    flags = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        print("skipped: there is no Chromium")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        page = flags.page.resolve() if flags.page else make(flags.program, flags.task, folder)
        (folder / "profile").mkdir()
        browser = Browser(chromium, folder / "profile")
        try:
            wrong = check(browser, page, flags.keep, page.stem)
        finally:
            browser.close()
    for one in wrong:
        print(one)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
