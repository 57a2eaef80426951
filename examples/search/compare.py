#!/usr/bin/env python3
"""Searches beside random search and hill climbing, with equal budgets: compare.py PROGRAM TASK... [--seeds N]
[--seconds S] [--without STRATEGY]. Of each strategy: how many seeds reached the task's target, and the quartiles of the candidates
that they judged until then, or, where a task has no target, of the lowest cost. With --enumerate N instead: the
length of the shortest program, found by trying all of at most N instructions, and the seconds that it took."""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import subprocess
import time

# What begins with an enumeration, the same without one, and the two baselines.
STRATEGIES = {"evolve": [], "evolve alone": ["--no-enumeration"], "random": ["--strategy", "random"],
              "climb": ["--strategy", "climb"]}


def run(program, task, strategy, seed, seconds):
    command = [program, "search", task, *STRATEGIES[strategy], "--seed", str(seed), "--jobs", "1", "--json"]
    if seconds:
        command += ["--budget", f"seconds={seconds}"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    end = json.loads(out.splitlines()[-1])
    costs = [float(elite["cost"]) for elite in end["elites"]]
    return {"reached": end["stop"] == "target", "judged": end["ledger"]["judged"], "cost": min(costs, default=math.inf)}


def enumerate_all(program, task, most, seconds):
    command = [program, "search", task, "--enumerate", str(most), "--budget", f"candidates=0,seconds={seconds or 60}", "--json"]
    begin = time.monotonic()
    end = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    spent = time.monotonic() - begin
    found = f"{end['instructions']} instructions, none shorter" if end["program"] else "none" if end["complete"] else "not in time"
    print(f"  {pathlib.Path(task).stem:32} {found}, {end['trials']:,} trials, {spent:.1f} s", flush=True)


def quartiles(values):
    values = sorted(values)
    return [values[round((len(values) - 1) * part)] for part in (0.25, 0.5, 0.75)]


def shown(values, form):
    return " .. ".join(format(value, form) for value in quartiles(values)) if values else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--enumerate", type=int, default=0)
    parser.add_argument("--without", choices=STRATEGIES, action="append", default=[])
    flags = parser.parse_args()
    if flags.enumerate:
        for task in flags.tasks:
            enumerate_all(flags.program, task, flags.enumerate, flags.seconds)
        return
    print(f"{flags.seeds} seeds; quartiles: lower .. median .. upper")
    for task in flags.tasks:
        has_target = "target" in json.loads(pathlib.Path(task).read_text())
        print(f"\n{pathlib.Path(task).stem}")
        for strategy in (one for one in STRATEGIES if one not in flags.without):
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                results = list(pool.map(lambda seed: run(flags.program, task, strategy, seed, flags.seconds),
                                        range(1, flags.seeds + 1)))
            reached = [result for result in results if result["reached"]]
            if has_target:
                print(f"  {strategy:12} {len(reached):2} of {flags.seeds} reached the target; candidates until then: "
                      f"{shown([result['judged'] for result in reached], ',.0f')}")
            else:
                print(f"  {strategy:12} lowest cost {shown([result['cost'] for result in results], '.4g')}")


if __name__ == "__main__":
    main()
