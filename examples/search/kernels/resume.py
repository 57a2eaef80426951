#!/usr/bin/env python3
"""A search of a whole kernel that is killed on its way and goes on: resume.py PROGRAM TASK [--candidates N]
[--archive FILE] [--jobs N]. It is killed (SIGKILL) once, when a third is judged, and resumed. Then the first
candidates are judged again by a search that nobody kills, and have to export the same bytes. Last it says how
many candidates came to each gate and how they ended there, and which one is the smallest."""

import argparse
import collections
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import tempfile
import time


def exported(program, archive):
    return subprocess.run([program, "search", "export", archive], check=True, capture_output=True, text=True).stdout


def judged(archive):
    """Rows of an archive that a search is writing."""
    try:
        with sqlite3.connect(f"file:{archive}?mode=ro", uri=True, timeout=60) as database:
            return database.execute("SELECT count(*) FROM candidate").fetchone()[0]
    except sqlite3.OperationalError:  # not yet there
        return 0


def funnel(archive, gates):
    """For each gate: how many candidates came to it, and how those ended that got no further."""
    with sqlite3.connect(f"file:{archive}?mode=ro", uri=True) as database:
        rows = database.execute("SELECT gate, status, count(*) FROM candidate GROUP BY gate, status").fetchall()
    statuses = ["ok", "infeasible", "wrong", "rejected", "failed", "timed out", "crashed", "impossible", "noisy"]
    ended = collections.defaultdict(dict)
    for gate, status, count in rows:
        ended[gate][statuses[status]] = count
    left = sum(count for _, _, count in rows)
    for place, gate in enumerate(gates):
        ends = ", ".join(f"{count} {status}" for status, count in sorted(ended[place].items()))
        print(f"{gate:10} {left:8} in; of them here: {ends or 'none'}")
        left -= sum(ended[place].values())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("task")
    parser.add_argument("--candidates", type=int, default=100_000)
    parser.add_argument("--compared", type=int, default=2_000)
    parser.add_argument("--archive")
    parser.add_argument("--jobs", default="0")
    said = parser.parse_args()
    folder = tempfile.TemporaryDirectory()
    archive = said.archive or os.path.join(folder.name, "search.sqlite")

    def command(path, count, *more):
        return [said.program, "search", said.task, "--archive", path, "--jobs", said.jobs,
                "--budget", f"candidates={count}", "--json", *more]

    begin = time.monotonic()
    first = subprocess.Popen(command(archive, said.candidates), stdout=subprocess.DEVNULL)
    while first.poll() is None and judged(archive) < said.candidates // 3:
        time.sleep(0.5)
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = judged(archive)
    print(f"killed with {before} candidates judged, after {time.monotonic() - begin:.0f} s")
    end = subprocess.run(command(archive, said.candidates - before, "--resume"), check=True, capture_output=True, text=True)
    seconds = time.monotonic() - begin
    end = json.loads(end.stdout.splitlines()[-1])
    print(f"resumed, and ended by {end['stop']}: {end['ledger']['judged']} judged, {seconds:.0f} s altogether")

    whole = os.path.join(folder.name, "whole.sqlite")
    subprocess.run(command(whole, said.compared), check=True, capture_output=True)
    same = exported(said.program, archive).startswith(exported(said.program, whole))
    print(f"the first {said.compared} candidates of a search that nobody killed: {'the same bytes' if same else 'OTHERS'}")

    funnel(archive, [gate["name"] for gate in end["ledger"]["gates"]])
    best = min(end["elites"], key=lambda elite: float(elite["cost"]), default=None)
    if best:
        axes = list(json.loads(pathlib.Path(said.task).read_text())["axes"])
        shown = ", ".join(f"{axis} {value:.4g}" for axis, value in zip(axes, best["descriptor"]))
        print(f"smallest under the error bound: cost {best['cost']:g}, {shown}, {best['tunables']}")
        for site, text in best["programs"].items():
            print(f"  {site}: {text.strip()}")
    raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    main()
