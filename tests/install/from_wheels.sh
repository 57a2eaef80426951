#!/usr/bin/env bash
# from_wheels.sh SOURCE WHEELS: what takes too long for every test run, some ten minutes. From a copy of the sources and NVIDIA's wheels alone
# (WHEELS is a .cuda folder that has them all), as on a machine without a toolkit: builds and installs, moves the prefix, deletes sources,
# build tree and wheels, and runs what is left. Then builds the sources within another project by g++ and by clang, without a warning.
set -euo pipefail
source=$1 wheels=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=checks.sh
source "$here/checks.sh"
[[ -e $wheels/nvidia/cu13/lib/libnvrtc.so.13 && -e $wheels/nvidia/cu13/include/cccl ]] || fail "$wheels lacks wheels: PTXGRAFT_HIDE_TOOLKIT=1 ./dev install-test"

say() { printf '\n== %s\n' "$*"; }
# build FOLDER SETTING…: configures and builds, the output to FOLDER.log.
build() {
    local folder=$1
    shift
    cmake -G Ninja -B "$folder" -DCMAKE_BUILD_TYPE=Release "$@" > "$folder.log" 2>&1 && nice cmake --build "$folder" >> "$folder.log" 2>&1 ||
        { tail -40 "$folder.log"; fail "the build in $folder fails"; }
}
no_warnings() { ! grep -i -A5 "warning" "$1.log" || fail "the build in $1 warns"; }

# What runs without a toolkit on the machine and without the loader's cache, where the machine lets us hide them.
mkdir "$work/empty"
clean() {
    if unshare -m true 2> /dev/null; then
        unshare -m bash -c 'empty=$1; shift
            for toolkit in /usr/local/cuda*; do [[ ! -d $toolkit ]] || mount --bind "$empty" "$(realpath "$toolkit")"; done
            mount --bind /dev/null /etc/ld.so.cache
            exec env -i PATH=/usr/bin:/bin "$@"' hidden "$work/empty" "$@"
    else
        env -i PATH=/usr/bin:/bin "$@"
    fi
}

say "build, install, move, delete"
mkdir "$work/source"
tar -C "$source" --exclude './build*' --exclude ./.cuda --exclude ./.git -cf - . | tar -C "$work/source" -xf -
cp -rL "$wheels/nvidia" "$work/wheels"  # as wheels in the sources' own .cuda, which CMake keeps out of an RPATH
mkdir -p "$work/source/.cuda"
mv "$work/wheels" "$work/source/.cuda/nvidia"
roots=$work/source/.cuda/nvidia/cu13
build "$work/top" -S "$work/source" -DPTXGRAFT_DEVELOPER=OFF -DPTXGRAFT_CUDA_ROOTS="$roots"
no_warnings "$work/top"
cmake --install "$work/top" --prefix "$work/first" > "$work/install.log"
cmake -S "$work/source" -B "$work/top" -DPTXGRAFT_INSTALL_CUDA=OFF > /dev/null
cmake --build "$work/top" > /dev/null
cmake --install "$work/top" --prefix "$work/thin" > "$work/install.log"  # which needs the wheels where they are
loaded_by "$work/thin/bin/ptxgraft" --version | grep -qE "^$roots/.*libnvrtc[.]so[.]13$" ||
    fail "without PTXGRAFT_INSTALL_CUDA, the wheels are not found where they are"
g++ -std=c++20 "$here/consumer/main.cpp" -o "$work/consumer" "-I$work/first/include" "-L$work/first/lib" -lptxgraft
gcc -std=c99 "$here/consumer/main.c" -o "$work/consumer_c" "-I$work/first/include" "-L$work/first/lib" -lptxgraft
say "a Debian package: made, unpacked, run"
(cd "$work/top" && cmake -S "$work/source" -B . -DPTXGRAFT_INSTALL_CUDA=ON > /dev/null && cpack -G DEB > "$work/cpack.log" 2>&1) ||
    { cat "$work/cpack.log"; fail "no Debian package"; }
package=$(echo "$work"/top/ptxgraft_*.deb)
dpkg-deb --info "$package" | grep -E "Depends:.*libc6.*|Depends:.*libfmt" || fail "the package does not say what it depends on"
dpkg-deb --contents "$package" | awk '{print $6}' > "$work/contents"
for name in bin/ptxgraft bin/ptxgraft-worker lib/libptxgraft.so.0 include/ptxgraft/ptxgraft.h lib/pkgconfig/ptxgraft.pc share/doc/ptxgraft/LICENSE; do
    grep -qx "./usr/$name" "$work/contents" || fail "not in the package: $name"
done
dpkg-deb -x "$package" "$work/root"
check_stands_alone "$work/root/usr" "$work/source" "$work/top"
check_works "$work/root/usr" "$work"
check_whole "$work/root/usr"
rm -rf "$work/root"

mv "$work/first" "$work/prefix"
mkdir "$work/kept"
mv "$work/source" "$work/kept/"
rm -rf "$work/top"
check_stands_alone "$work/prefix" "$work/source" "$work/top"
check_works "$work/prefix" "$work"
check_consumers "$work/prefix" "$work/consumer" "$work/consumer_c"
mv "$work/prefix/lib/ptxgraft/cuda/include" "$work/include"
! clean "$work/prefix/bin/ptxgraft" compile "$work/kernel.cu" 2> "$work/error" || fail "CUDA's headers are found, though they are gone"
! clean "$work/prefix/bin/ptxgraft" doctor > "$work/doctor" || fail "the doctor finds nothing missing, though CUDA's headers are gone"
grep -qE "^absent +CUDA's headers" "$work/doctor" || { cat "$work/doctor"; fail "the doctor does not say which headers are missing"; }
grep -q "No folder with CUDA's headers (cuda_fp16.h) was found; searched: " "$work/error" || fail "nothing says which headers are missing"

mv "$work/kept/source" "$work/source"
for compilers in "g++ gcc" "clang++ clang"; do
    read -r cxx cc <<< "$compilers"
    command -v "$cxx" > /dev/null || { say "no $cxx"; continue; }
    say "within another project, by $cxx"
    build "$work/$cxx" -S "$here/subproject" -DPTXGRAFT_SOURCE="$work/source" -DPTXGRAFT_CUDA_ROOTS="$roots" -DCMAKE_CXX_COMPILER="$cxx" \
        -DCMAKE_C_COMPILER="$cc"
    no_warnings "$work/$cxx"
    clean "$work/$cxx/consumer"
    clean "$work/$cxx/consumer_c"
    rm -rf "$work/$cxx"
done
say "all as it should be"
