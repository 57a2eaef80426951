#!/usr/bin/env bash
# subproject.sh SOURCE CUDA_ROOTS: configures a program that takes ptxgraft as sources: what it gets, and what it is told where parts of CUDA are
# missing. Building it is the work of from_wheels.sh.
set -euo pipefail
source=$1 roots=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { cat "$work/log" >&2; printf 'subproject.sh: %s\n' "$*" >&2; exit 1; }

# configure [SETTING…]
configure() { cmake -G Ninja -S "$here/subproject" -B "$work/build" -DPTXGRAFT_SOURCE="$source" "$@" > "$work/log" 2>&1; }

configure -DPTXGRAFT_CUDA_ROOTS="$roots" -DBY_FETCH_CONTENT=ON || fail "configuring by FetchContent fails"
! grep -i "warning" "$work/log" || fail "configuring by FetchContent warns"
rm -rf "$work/build"
configure -DPTXGRAFT_CUDA_ROOTS="$roots" || fail "configuring fails"
! grep -i "warning" "$work/log" || fail "configuring warns"
targets=$(ninja -C "$work/build" -t targets all)
for unwanted in ptxgraft_cli: ptxgraft_ocelot: set_test: ptxgraft_fuzzers: ptxgraft_benches: ptxgraft_examples:; do
    ! grep -q "^\(ptxgraft/\)\?$unwanted" <<< "$targets" || fail "a consumer builds $unwanted"
done
! grep -rq libptxgraft --include=cmake_install.cmake "$work/build" || fail "a consumer's install rules install ptxgraft"

# Roots with all but nvPTXCompiler: a warning with the remedy, or an error where it is required.
mkdir -p "$work/root/lib" "$work/root/include"
IFS=';' read -ra folders <<< "$roots"
for folder in "${folders[@]}"; do
    for file in "$folder"/lib*/libnvrtc* "$folder"/lib*/libnvJitLink*; do [[ ! -e $file ]] || ln -sf "$file" "$work/root/lib/"; done
    for file in "$folder"/include/*; do [[ ! -e $file || $file == *nvPTXCompiler* ]] || ln -sf "$file" "$work/root/include/"; done
done
configure -DPTXGRAFT_CUDA_ROOTS="$work/root" || fail "configuring without nvPTXCompiler fails"
grep -q "nvPTXCompiler is in none of" "$work/log" || fail "nothing says that nvPTXCompiler is missing"
tr -s ' \n' ' ' < "$work/log" | grep -q "pip install .*nvidia-nvptxcompiler" || fail "nothing says where to get nvPTXCompiler"
! configure -DPTXGRAFT_CUDA_ROOTS="$work/root" -DPTXGRAFT_REQUIRE_NVPTXCOMPILER=ON || fail "what is required may be missing"
! configure -DPTXGRAFT_CUDA_ROOTS="$work/nowhere" || fail "all of CUDA may be missing"
grep -q "pip install" "$work/log" || fail "nothing says where to get CUDA"
