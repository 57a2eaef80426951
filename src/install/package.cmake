# `cpack -G DEB` in a build tree: a Debian package of a plain install, with what it needs of CUDA inside. NVIDIA's files in it are under
# NVIDIA's terms.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "ptxgraft")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)  # xz takes minutes for CUDA's parts
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
foreach(library ${PTXGRAFT_NVRTC_LIBRARY} ${PTXGRAFT_NVJITLINK_LIBRARY})
  cmake_path(GET library PARENT_PATH folder)
  list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${folder})
endforeach()
# What the C++ headers include, and no program in C wants; fmt and the others are in the library.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libexpected-dev)
include(CPack)
