# What the library needs of CUDA when it runs, as files of its own: NVRTC with the library that it opens itself, nvJitLink, and the headers that
# kernels include. They are NVIDIA's, under NVIDIA's terms, and are copied from the installation that was built with.
cmake_path(GET PTXGRAFT_NVRTC_LIBRARY PARENT_PATH nvrtc_folder)
file(GLOB builtins ${nvrtc_folder}/libnvrtc-builtins.so.13.*)
foreach(library ${PTXGRAFT_NVRTC_LIBRARY} ${builtins} ${PTXGRAFT_NVJITLINK_LIBRARY})
  cmake_path(GET library FILENAME name)
  if(name MATCHES "[.]so[.][0-9]+([.][0-9]+)?$")  # the names that are asked for; a toolkit's may be links to longer ones
    file(REAL_PATH ${library} file)
    install(FILES ${file} DESTINATION ${PTXGRAFT_CUDA_DIR}/lib RENAME ${name} COMPONENT cuda)
  endif()
endforeach()

# The files of the wheels nvidia-cuda-runtime, -crt, -cccl, and cuRAND's for kernels: a toolkit's folder has those of many other libraries too.
foreach(pattern builtin_types.h channel_descriptor.h common_functions.h cooperative_groups.h cuComplex.h cuda.h cuda_* cudart_platform.h curand*.h
                device_* driver_* host_* library_types.h math_* mma.h sm_* surface_* texture_* vector_*)
  file(GLOB headers LIST_DIRECTORIES OFF ${PTXGRAFT_CUDA_INCLUDE_DIR}/${pattern})
  install(FILES ${headers} DESTINATION ${PTXGRAFT_CUDA_DIR}/include COMPONENT cuda)
endforeach()
foreach(folder crt cooperative_groups nv)
  install(DIRECTORY ${PTXGRAFT_CUDA_INCLUDE_DIR}/${folder} DESTINATION ${PTXGRAFT_CUDA_DIR}/include COMPONENT cuda OPTIONAL)
endforeach()
if(PTXGRAFT_CCCL_INCLUDE_DIR)
  install(DIRECTORY ${PTXGRAFT_CCCL_INCLUDE_DIR}/cccl DESTINATION ${PTXGRAFT_CUDA_DIR}/include COMPONENT cuda)
endif()
