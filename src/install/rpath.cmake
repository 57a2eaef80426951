# Where installed files find each other. The parts of CUDA that are installed beside the library stand in a folder of their own, so that other
# programs on the machine do not meet them: PTXGRAFT_CUDA_DIR has lib/ and include/, as NVIDIA's wheels have.
set(PTXGRAFT_CUDA_DIR ${CMAKE_INSTALL_LIBDIR}/ptxgraft/cuda)
set(ptxgraft_library_rpath "$ORIGIN/ptxgraft/cuda/lib")
# The library opens NVRTC and nvJitLink by their names, which CMake does not see.
set(ptxgraft_build_rpath "")
foreach(library ${PTXGRAFT_NVJITLINK_LIBRARY} ${PTXGRAFT_NVRTC_LIBRARY})
  cmake_path(GET library PARENT_PATH folder)
  list(APPEND ptxgraft_build_rpath ${folder})
endforeach()
# CMake adds the folders that it linked from, unless they lie in the source or build tree, as the wheels of `./dev` do.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
if(NOT PTXGRAFT_INSTALL_CUDA)
  list(APPEND ptxgraft_library_rpath ${ptxgraft_build_rpath})
endif()
file(RELATIVE_PATH path /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set(CMAKE_INSTALL_RPATH "$ORIGIN/${path}")  # of programs
