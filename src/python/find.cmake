# PTXGRAFT_PYTHON, and whether it can build the package: ptxgraft_python_include is where its headers are, or why it cannot is in
# ptxgraft_python_missing. Within `pip wheel` it is pip's Python, and the parts of CUDA are those that pyproject.toml requires.
if(SKBUILD)
  set(PTXGRAFT_PYTHON ${Python_EXECUTABLE} CACHE FILEPATH "Python" FORCE)
endif()
# Python with NumPy, for the Python package and tests: `./dev` makes one.
find_program(PTXGRAFT_PYTHON python3 HINTS ${PROJECT_SOURCE_DIR}/.cuda/venv/bin)
set(PTXGRAFT_PYTHON_PACKAGE AUTO CACHE STRING "Build the Python package: ON; OFF; AUTO: with the tests, where Python has its headers and cffi")

set(ptxgraft_python_missing "")
if(PTXGRAFT_PYTHON)
  execute_process(COMMAND ${PTXGRAFT_PYTHON} -c "import cffi, sysconfig; print(sysconfig.get_paths()['include'], end='')"
                  OUTPUT_VARIABLE ptxgraft_python_include ERROR_QUIET)
  if(NOT ptxgraft_python_include)
    set(ptxgraft_python_missing "${PTXGRAFT_PYTHON} has no cffi")
  elseif(NOT EXISTS ${ptxgraft_python_include}/Python.h)
    set(ptxgraft_python_missing "there is no ${ptxgraft_python_include}/Python.h (python3-dev)")
  endif()
  execute_process(COMMAND ${PTXGRAFT_PYTHON} -c "import sys; print('t' in sys.abiflags, end='')" OUTPUT_VARIABLE is_free_threaded ERROR_QUIET)
  if(is_free_threaded STREQUAL "True")
    set(ptxgraft_python_missing "${PTXGRAFT_PYTHON} is free-threaded, and has no stable ABI")
  endif()
else()
  set(ptxgraft_python_missing "there is no Python")
endif()
if(ptxgraft_python_missing AND PTXGRAFT_PYTHON_PACKAGE STREQUAL "ON")
  message(FATAL_ERROR "The Python package cannot be built: ${ptxgraft_python_missing}")
endif()

if(SKBUILD AND NOT DEFINED CACHE{PTXGRAFT_CUDA_ROOTS})
  execute_process(COMMAND ${PTXGRAFT_PYTHON} -c "import nvidia; print(*(p + '/cu13' for p in nvidia.__path__), sep=';', end='')"
                  OUTPUT_VARIABLE roots ERROR_QUIET)
  set(PTXGRAFT_CUDA_ROOTS "${roots}" CACHE STRING "Folders with CUDA 13 parts")
endif()
