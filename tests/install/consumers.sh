#!/usr/bin/env bash
# consumers.sh BUILD CXX CC: installs the build tree to a new prefix and moves that; then builds and runs a consumer by find_package and, by
# pkg-config, one in C++ and one in C.
set -euo pipefail
build=$1 cxx=$2 cc=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" > "$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/prefix"  # an install tree may be moved
prefix=$work/prefix

"$prefix/bin/ptxgraft" --version
for name in "$prefix"/include/ptxgraft/{ptxgraft.h,ptxgraft.hpp,site.cuh,errc.def} "$prefix/share/ptxgraft/templates" "$prefix/share/ptxgraft/stubs"; do
    [[ -e $name ]] || { echo "not installed: ${name#"$prefix/"}"; exit 1; }
done
[[ ! -e $prefix/gpu ]] || { echo "a plain install holds parts of the bundle"; exit 1; }

cmake -S "$here/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_C_COMPILER="$cc" > "$work/cmake.log" ||
    { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/build"
"$work/build/consumer"
"$work/build/consumer_c"

pkg_config=$(command -v pkg-config || command -v pkgconf)
flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig "$pkg_config" --cflags --libs ptxgraft)
# Unquoted: the flags are words.
"$cxx" -std=c++20 -Wall -Wextra -Werror "$here/consumer/main.cpp" -o "$work/by_pkg_config" $flags
"$cc" -std=c99 -pedantic -Wall -Wextra -Werror "$here/consumer/main.c" -o "$work/by_pkg_config_c" $flags
LD_LIBRARY_PATH=$prefix/lib "$work/by_pkg_config"
LD_LIBRARY_PATH=$prefix/lib "$work/by_pkg_config_c"
