# Finds the parts of CUDA 13 in PTXGRAFT_CUDA_ROOTS: an installed toolkit, NVIDIA's wheels.
#   ptxgraft_cuda::nvjitlink       the linker, the newest of the roots: it links no cubin of an assembler newer than itself
#   ptxgraft_cuda::nvrtc           the compiler, from the linker's root, else from the first that has it: one run path cannot name two
#                                  folders that each have both libraries. Wheels have only versioned file names
#   ptxgraft_cuda::nvptxcompiler   ptxas as a static library, the newest of the roots; the target exists only where the part was found
#   ptxgraft_cuda::headers         cuda.h and what kernels include; the folder is PTXGRAFT_CUDA_INCLUDE_DIR, and PTXGRAFT_CCCL_INCLUDE_DIR
#                                  that which has cccl/, the C++ headers
#   PTXGRAFT_NVCC, PTXGRAFT_PTXAS  programs that tests use, from the first root that has them; NOTFOUND where there are none
#   PTXGRAFT_NVDISASM              another one, from the linker's root first: it reads no cubin of an assembler newer than itself
set(PTXGRAFT_CUDA_ROOTS "/usr/local/cuda;${PROJECT_SOURCE_DIR}/.cuda/nvidia/cu13" CACHE STRING
    "Folders with CUDA 13 parts (each with include/ and lib/ or lib64/), searched in order for every part")
# 13.0.88 makes a rotation of `(x << 8) - (x >> 56)` on .u64; 13.5.37 does not. `./dev` reads this line.
set(PTXGRAFT_OLDEST_ASSEMBLER 13.5.37)
option(PTXGRAFT_REQUIRE_NVPTXCOMPILER "Stop when nvPTXCompiler is not found" OFF)

# ptxgraft_tools_version(<out> <file>): "13.5.37", as the file of a compiler or assembler says it; "0" when it does not. Reading takes a
# second or more, so the answer is kept as long as the file is the same.
function(ptxgraft_tools_version out file)
  string(SHA1 key "${file}")
  file(TIMESTAMP "${file}" time)
  set(kept "${PTXGRAFT_VERSION_OF_${key}}")
  if(NOT "${kept}" MATCHES "^${time} ")
    file(STRINGS "${file}" line REGEX "release [0-9.]+, V[0-9.]+" LIMIT_COUNT 1)
    set(kept "${time} 0")
    if(line MATCHES "release [0-9.]+, V([0-9.]+)")
      set(kept "${time} ${CMAKE_MATCH_1}")
    endif()
    set(PTXGRAFT_VERSION_OF_${key} "${kept}" CACHE INTERNAL "${file}")
  endif()
  string(REGEX REPLACE "^.* " "" version "${kept}")
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

# ptxgraft_cuda_part(<name> <SHARED|STATIC> <file> <header> [NEWEST]): one library as ptxgraft_cuda::<name>; its version, where NEWEST
# asks for it, as PTXGRAFT_<NAME>_VERSION. Library and header come from the same root.
function(ptxgraft_cuda_part name kind file header)
  cmake_parse_arguments(PARSE_ARGV 4 arg "NEWEST" "" "")
  string(TOUPPER ${name} part)
  set(best_version "")
  foreach(root IN LISTS cuda_roots)
    find_file(library ${file} PATHS ${root} PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib NO_DEFAULT_PATH NO_CACHE)
    find_path(include_dir ${header} PATHS ${root} PATH_SUFFIXES include targets/x86_64-linux/include NO_DEFAULT_PATH NO_CACHE)
    if(library AND include_dir)
      set(version 1)
      if(arg_NEWEST)
        ptxgraft_tools_version(version "${library}")
      endif()
      if("${best_version}" STREQUAL "" OR version VERSION_GREATER best_version)
        set(best_version ${version})
        set(best_root ${root})
        set(best_library ${library})
        set(best_include_dir ${include_dir})
      endif()
    endif()
    unset(library)
    unset(include_dir)
  endforeach()
  if(NOT "${best_version}" STREQUAL "")
    add_library(ptxgraft_cuda::${name} ${kind} IMPORTED GLOBAL)
    set_target_properties(ptxgraft_cuda::${name} PROPERTIES IMPORTED_LOCATION ${best_library}
                          INTERFACE_INCLUDE_DIRECTORIES ${best_include_dir})
    set(PTXGRAFT_${part}_ROOT ${best_root} PARENT_SCOPE)
    set(PTXGRAFT_${part}_VERSION ${best_version} PARENT_SCOPE)
    set(PTXGRAFT_${part}_LIBRARY ${best_library} PARENT_SCOPE)
    set(PTXGRAFT_${part}_INCLUDE_DIR ${best_include_dir} PARENT_SCOPE)
  endif()
endfunction()

set(cuda_roots ${PTXGRAFT_CUDA_ROOTS})
ptxgraft_cuda_part(nvjitlink SHARED libnvJitLink.so.13 nvJitLink.h NEWEST)
ptxgraft_cuda_part(nvptxcompiler STATIC libnvptxcompiler_static.a nvPTXCompiler.h NEWEST)
list(PREPEND cuda_roots ${PTXGRAFT_NVJITLINK_ROOT})
ptxgraft_cuda_part(nvrtc SHARED libnvrtc.so.13 nvrtc.h)
find_path(PTXGRAFT_CUDA_INCLUDE_DIR cuda_runtime.h PATHS ${cuda_roots} PATH_SUFFIXES include NO_DEFAULT_PATH NO_CACHE)
find_path(PTXGRAFT_CCCL_INCLUDE_DIR cccl/cuda/std/version PATHS ${cuda_roots} PATH_SUFFIXES include NO_DEFAULT_PATH NO_CACHE)
find_program(PTXGRAFT_NVCC nvcc PATHS ${PTXGRAFT_CUDA_ROOTS} PATH_SUFFIXES bin NO_DEFAULT_PATH NO_CACHE)
find_program(PTXGRAFT_PTXAS ptxas PATHS ${PTXGRAFT_CUDA_ROOTS} PATH_SUFFIXES bin NO_DEFAULT_PATH NO_CACHE)
find_program(PTXGRAFT_NVDISASM nvdisasm PATHS ${cuda_roots} PATH_SUFFIXES bin NO_DEFAULT_PATH NO_CACHE)

string(CONCAT ptxgraft_remedy "`./dev build` in ptxgraft's folder fetches what is missing. Without it: "
    "`pip install --no-deps --target DIR 'nvidia-nvptxcompiler>=${PTXGRAFT_OLDEST_ASSEMBLER},<14' 'nvidia-nvjitlink>=${PTXGRAFT_OLDEST_ASSEMBLER},<14'` "
    "(and nvidia-cuda-nvrtc, nvidia-cuda-runtime, nvidia-cuda-crt, nvidia-cuda-cccl where no toolkit has them), "
    "then -DPTXGRAFT_CUDA_ROOTS='/usr/local/cuda;DIR/nvidia/cu13'.")
if(NOT TARGET ptxgraft_cuda::nvrtc OR NOT TARGET ptxgraft_cuda::nvjitlink OR NOT PTXGRAFT_CUDA_INCLUDE_DIR)
  message(FATAL_ERROR "NVRTC, nvJitLink or CUDA's headers (CUDA 13) are in none of: ${PTXGRAFT_CUDA_ROOTS}. ${ptxgraft_remedy}")
endif()
if(NOT TARGET ptxgraft_cuda::nvptxcompiler)
  set(kind WARNING)
  if(PTXGRAFT_REQUIRE_NVPTXCOMPILER)
    set(kind FATAL_ERROR)
  endif()
  message(${kind} "nvPTXCompiler is in none of: ${PTXGRAFT_CUDA_ROOTS}. Without it nvJitLink assembles, and refuses modules with "
                  "setmaxnreg or wgmma. ${ptxgraft_remedy} PTXGRAFT_REQUIRE_NVPTXCOMPILER=ON makes this an error.")
else()
  find_package(Threads REQUIRED)
  target_link_libraries(ptxgraft_cuda::nvptxcompiler INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
  if(PTXGRAFT_NVPTXCOMPILER_VERSION VERSION_LESS PTXGRAFT_OLDEST_ASSEMBLER)
    message(WARNING "nvPTXCompiler ${PTXGRAFT_NVPTXCOMPILER_VERSION} makes wrong code of some shifts of 64-bit integers; "
                    "${PTXGRAFT_OLDEST_ASSEMBLER} and newer do not. ${ptxgraft_remedy}")
  endif()
  if(PTXGRAFT_NVJITLINK_VERSION VERSION_LESS PTXGRAFT_NVPTXCOMPILER_VERSION)
    message(WARNING "nvJitLink ${PTXGRAFT_NVJITLINK_VERSION} may not link cubins of nvPTXCompiler ${PTXGRAFT_NVPTXCOMPILER_VERSION}. "
                    "${ptxgraft_remedy}")
  endif()
endif()
message(STATUS "CUDA: nvPTXCompiler ${PTXGRAFT_NVPTXCOMPILER_VERSION}, nvJitLink ${PTXGRAFT_NVJITLINK_VERSION}, NVRTC ${PTXGRAFT_NVRTC_LIBRARY}")
add_library(ptxgraft_cuda::headers INTERFACE IMPORTED GLOBAL)
target_include_directories(ptxgraft_cuda::headers INTERFACE ${PTXGRAFT_CUDA_INCLUDE_DIR})
