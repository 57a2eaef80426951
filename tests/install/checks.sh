# What the scripts of this folder check of an install tree. Functions; to be sourced.

fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# clean COMMAND…: runs it with nothing in the environment that could lead it to another CUDA, and without a cache.
clean() { env -i PATH=/usr/bin:/bin "$@"; }

# loaded_by COMMAND…: the libraries that it loads, also those that it opens itself.
loaded_by() { clean LD_DEBUG=libs "$@" 2>&1 > /dev/null | sed -n 's/.*calling init: //p'; }

# check_stands_alone PREFIX FOLDER…: the program finds every library without the loader's cache, CUDA's in the prefix itself, and neither
# program nor library looks for any below the folders.
check_stands_alone() {
    local prefix=$1 found library file folder
    shift
    found=$(clean /lib64/ld-linux-x86-64.so.2 --inhibit-cache --list "$prefix/bin/ptxgraft")
    ! grep "not found" <<< "$found" || fail "a library is not found"
    found=$(loaded_by "$prefix/bin/ptxgraft" --version)
    for library in libptxgraft libnvrtc libnvJitLink; do
        file=$(grep "/$library[.]so" <<< "$found" || true)
        [[ -n $file && $(realpath "$file") == "$(realpath "$prefix")"/* ]] || fail "$library is found at '$file', not in $prefix"
    done
    for file in "$prefix"/bin/ptxgraft{,-worker} "$prefix"/lib/libptxgraft.so; do
        for folder in "$@"; do
            ! readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -F "$folder" || fail "$file looks for libraries in $folder"
        done
    done
}

# check_works PREFIX WORK: the program compiles a kernel with CUDA's headers, and assembles it, also in a worker.
check_works() {
    local prefix=$1 work=$2
    cat > "$work/kernel.cu" <<'END'
#include <cuda_bf16.h>
#include <cuda/std/limits>
extern "C" __global__ void k(float* p) { *p = __bfloat162float(__float2bfloat16(*p)) + cuda::std::numeric_limits<float>::max(); }
END
    clean "$prefix/bin/ptxgraft" --version
    # NVRTC opens a library of its own when it compiles.
    loaded_by "$prefix/bin/ptxgraft" compile "$work/kernel.cu" | grep "libnvrtc-builtins" > "$work/loaded" ||
        fail "NVRTC's builtins are not loaded"
    ! grep -vF "$prefix" "$work/loaded" || fail "NVRTC's builtins are taken from elsewhere"
    clean "$prefix/bin/ptxgraft" graft "$work/kernel.cu" --target sm_90a -o "$work/kernel.cubin"
    [[ $(head -c 4 "$work/kernel.cubin" | tail -c 3) == ELF ]] || fail "no cubin"
    clean "$prefix/bin/ptxgraft" graft "$work/kernel.cu" --target sm_90a -o "$work/by_worker.cubin" --assembler workers:1
    cmp "$work/kernel.cubin" "$work/by_worker.cubin" || fail "a worker makes another cubin"
}

# check_consumers PREFIX CXX_PROGRAM C_PROGRAM: they work, with the headers and libraries of the prefix.
check_consumers() {
    local prefix=$1 said
    said=$(clean LD_LIBRARY_PATH="$prefix/lib" "$2") || fail "$2 fails: $said"
    printf '%s\n' "$said"
    grep -q "^headers: $prefix/lib/ptxgraft/cuda/include$" <<< "$said" || fail "$2 takes headers from elsewhere"
    grep -q "^headers: $prefix/lib/ptxgraft/cuda/include/cccl$" <<< "$said" || fail "$2 takes C++ headers from elsewhere"
    grep -q "^2 4 6 $" <<< "$said" || fail "$2 is wrong"
    said=$(clean LD_LIBRARY_PATH="$prefix/lib" "$3") || fail "$3 fails: $said"
    printf '%s\n' "$said"
}

# check_whole PREFIX: what runs finds its data, what is read is there, and libgpuocelot.so runs a kernel.
check_whole() {
    local prefix=$1 name
    for name in "$prefix"/share/doc/ptxgraft/{LICENSE,CHANGELOG.md} "$prefix"/share/ptxgraft/{templates/gemm/simt.cu,stubs,examples/01_first.cpp} \
        "$prefix"/share/bash-completion/completions/ptxgraft "$prefix"/share/zsh/site-functions/_ptxgraft "$prefix"/lib/ptxgraft/libgpuocelot.so; do
        [[ -e $name ]] || fail "not installed: ${name#"$prefix/"}"
    done
    clean HOME="$work" "$prefix/bin/ptxgraft" doctor > "$work/doctor" || { cat "$work/doctor"; fail "the doctor finds that the main job does not work"; }
    grep -qE "^ok +templates +[0-9]+ in $prefix/share/ptxgraft/templates$" "$work/doctor" || { cat "$work/doctor"; fail "templates are found elsewhere"; }
    ! grep "^broken" "$work/doctor" || fail "something is broken"
    clean python3 "$here/../ocelot/ptx_run.py" "$prefix/lib/ptxgraft/libgpuocelot.so" || fail "libgpuocelot.so does not work"
    clean bash -c 'source "$1"; COMP_WORDS=(ptxgraft dev) COMP_CWORD=1; _ptxgraft; [[ ${COMPREPLY[*]} == devices ]]' bash \
        "$prefix/share/bash-completion/completions/ptxgraft" || fail "bash completes nothing"
}

# check_c_alone PREFIX CC: a project in C, by CMake, wants no C++ package; by pkg-config its headers include none of C++.
check_c_alone() {
    local prefix=$1 cc=$2
    cmake -S "$here/c_consumer" -B "$work/build_c" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" > "$work/cmake.log" 2>&1 &&
        cmake --build "$work/build_c" > "$work/build.log" 2>&1 || { cat "$work/cmake.log" "$work/build.log"; fail "a project in C does not build"; }
    clean LD_LIBRARY_PATH="$prefix/lib" "$work/build_c/c_consumer" || fail "a program in C does not run"
    ! "$cc" -M "$here/consumer/main.c" "-I$prefix/include" | grep -E '/c[+][+]/|/tl/|/fmt/|[.]hpp' || fail "the C header includes C++"
}
