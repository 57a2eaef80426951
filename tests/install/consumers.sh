#!/usr/bin/env bash
# consumers.sh BUILD SOURCE CXX CC: installs the build tree to a new prefix and moves that. What is there needs no other CUDA, whatever the
# loader's cache and the environment say; then consumers are built and run, by find_package and by pkg-config, in C++ and in C.
set -euo pipefail
build=$1 source=$2 cxx=$3 cc=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=checks.sh
source "$here/checks.sh"

cmake --install "$build" --prefix "$work/first" > "$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/prefix"  # an install tree may be moved
prefix=$work/prefix

for name in "$prefix"/include/ptxgraft/{ptxgraft.h,c/batch.h,ptxgraft.hpp,site.cuh,errc.def} "$prefix"/share/ptxgraft/{templates,stubs} \
    "$prefix"/lib/ptxgraft/cuda/include/{cuda_fp16.h,crt/host_defines.h,cccl/cuda/std/version}; do
    [[ -e $name ]] || fail "not installed: ${name#"$prefix/"}"
done
[[ ! -e $prefix/gpu ]] || fail "a plain install holds parts of the bundle"
check_stands_alone "$prefix" "$source" "$build"
check_works "$prefix" "$work"
check_whole "$prefix"
check_c_alone "$prefix" "$cc"

cmake -S "$here/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_C_COMPILER="$cc" > "$work/cmake.log" ||
    { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/build" > "$work/build.log" || { cat "$work/build.log"; exit 1; }
check_consumers "$prefix" "$work/build/consumer" "$work/build/consumer_c"

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
pkg_config=$(command -v pkg-config || command -v pkgconf)
flags=$("$pkg_config" --cflags --libs ptxgraft)
standard=$("$pkg_config" --variable=cxx_standard ptxgraft)
# Unquoted: the flags are words.
"$cxx" "-std=c++$standard" -Wall -Wextra -Werror "$here/consumer/main.cpp" -o "$work/by_pkg_config" $flags
"$cc" -std=c99 -pedantic -Wall -Wextra -Werror "$here/consumer/main.c" -o "$work/by_pkg_config_c" $flags
check_consumers "$prefix" "$work/by_pkg_config" "$work/by_pkg_config_c"
! "$cxx" -std=c++17 -fsyntax-only "$here/consumer/main.cpp" $flags 2> "$work/cxx17.log" || fail "C++17 is enough"
grep -q "compile with -std=c++20" "$work/cxx17.log" || fail "nothing says that the headers are in C++20"
