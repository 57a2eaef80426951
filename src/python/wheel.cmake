# What is in a wheel beside the files of Python: ptxgraft/_ptxgraft.abi3.so, ptxgraft/lib/libptxgraft.so.0 with the libraries of the system that
# it needs, ptxgraft/bin and ptxgraft/share. NVRTC, nvJitLink and CUDA's headers are those of NVIDIA's wheels in the same site-packages.
install(TARGETS ptxgraft_python LIBRARY DESTINATION . COMPONENT python)
set_target_properties(ptxgraft ptxgraft_python PROPERTIES INSTALL_RPATH_USE_LINK_PATH OFF)
# A wheel has no links: the library is there once, under the name that programs ask for.
set_target_properties(ptxgraft PROPERTIES VERSION ${PROJECT_VERSION_MAJOR} INSTALL_RPATH "$ORIGIN;$ORIGIN/../../nvidia/cu13/lib")
foreach(name libfmt libsqlite3 libxxhash)
  file(GLOB files /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/${name}.so.[0-9]* /usr/lib64/${name}.so.[0-9]* /usr/local/lib/${name}.so.[0-9]*)
  list(FILTER files INCLUDE REGEX "[.]so[.][0-9]+$")
  foreach(file IN LISTS files)
    cmake_path(GET file FILENAME soname)
    file(REAL_PATH ${file} real)
    install(FILES ${real} DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME ${soname} COMPONENT python)
  endforeach()
endforeach()
