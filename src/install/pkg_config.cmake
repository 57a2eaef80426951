# Writes ptxgraft.pc, whose prefix is found from the folder that it is installed in: /usr/lib/x86_64-linux-gnu/pkgconfig is deeper than
# /usr/lib/pkgconfig.
file(RELATIVE_PATH prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/ptxgraft.pc.in ${CMAKE_CURRENT_BINARY_DIR}/ptxgraft.pc @ONLY)
