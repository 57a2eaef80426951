#!/usr/bin/env bash
# tinygrad.sh LIBRARY TINYGRAD [PYTEST ARGUMENT…]: runs tinygrad's tests of kernels with its mock GPU on libgpuocelot.so, and says how many pass.
# TINYGRAD is a checkout of its sources (the package of PyPI has no tests); PYTHON a Python with pytest, pytest-xdist, hypothesis, numpy and
# torch, by default python3. Without arguments test/backend but for several devices, as tinygrad's own CI; some ten minutes on 8 cores.
# Status 0 where nothing failed that fails for our reason: errors of ours begin a line with the entry's name and ".ptx:".
set -euo pipefail
library=$(realpath "$1") tinygrad=$2
shift 2
[[ $# -gt 0 ]] || set -- test/backend --ignore test/backend/test_multitensor.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$tinygrad"
OCELOT_PATH=$library FORWARD_ONLY=1 DEV=MOCK+CUDA:PTX "${PYTHON:-python3}" -m pytest -n "${JOBS:-auto}" -q -p no:cacheprovider --tb=short \
    "$@" > "$work/log" 2>&1 || true
tail -1 "$work/log"
grep -E '^(FAILED|ERROR) ' "$work/log" | cut -c1-160 || true
! grep -E '^[^ ]+\.ptx:[0-9]+:[0-9]+: error|^error: ' "$work/log" | sort | uniq -c | sort -rn | head -40
