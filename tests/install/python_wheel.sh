#!/usr/bin/env bash
# python_wheel.sh SOURCE [WHEEL]: builds the Python package's wheel (or takes one that was built), installs it in a fresh environment with what
# it requires from PyPI, and runs its examples and tests there, away from the sources' folder and from any toolkit that a variable names.
set -euo pipefail
source=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wheel=${2:-}
if [[ -z $wheel ]]; then
    python3 -m venv "$work/build"
    "$work/build/bin/pip" wheel --quiet --no-deps --wheel-dir "$work/dist" "$source"
    wheel=$(echo "$work"/dist/ptxgraft-*.whl)
fi
[[ $wheel == *-cp39-abi3-linux_x86_64.whl ]] || { echo "$wheel is not of the stable ABI from Python 3.9 on" >&2; exit 1; }
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet "$wheel"
run() { (cd "$work" && env -i PATH=/usr/bin:/bin HOME="$work" "$@"); }
run "$work/venv/bin/ptxgraft" --version
for program in "$source"/examples/python/*.py "$source"/tests/python/{core,arrays,tensor,threads,programs,versions,notebook,doctest}_test.py; do
    status=0
    run "$work/venv/bin/python" "$program" > "$work/log" 2>&1 || status=$?
    [[ $status -eq 0 || $status -eq 77 ]] || { cat "$work/log" >&2; echo "$program fails (status $status) with the wheel" >&2; exit 1; }
    echo "$(basename "$program"): $([[ $status -eq 0 ]] && echo right || tail -1 "$work/log")"
done
