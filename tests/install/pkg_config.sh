#!/usr/bin/env bash
# Checks that ptxgraft.pc finds its prefix wherever CMAKE_INSTALL_LIBDIR puts it. Usage: pkg_config.sh SOURCE CMAKE
set -euo pipefail
source=$(realpath "$1")
cmake=$2
pkg_config=$(command -v pkg-config || command -v pkgconf)
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
for libdir in lib lib64 lib/x86_64-linux-gnu; do
    folder=$prefix/$libdir/pkgconfig
    mkdir -p "$folder"
    (cd "$folder" && "$cmake" -DCMAKE_INSTALL_LIBDIR=$libdir -DCMAKE_INSTALL_INCLUDEDIR=include -DCMAKE_INSTALL_DATADIR=share \
        -DPROJECT_VERSION=1.2.3 -P "$source/src/install/pkg_config.cmake")
    for expected in "prefix $prefix" "libdir $prefix/$libdir" "includedir $prefix/include" "stubs $prefix/share/ptxgraft/stubs"; do
        read -r variable path <<< "$expected"
        found=$(PKG_CONFIG_PATH=$folder "$pkg_config" --variable="$variable" ptxgraft)
        [[ $(realpath -m "$found") == "$path" ]] || { echo "$variable of $libdir is $found, not $path" >&2; exit 1; }
    done
done
