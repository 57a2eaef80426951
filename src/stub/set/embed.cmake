# Writes a C++ file with the bytes of all files of a folder: cmake -DFOLDER=… -DOUTPUT=… -P embed.cmake
file(GLOB_RECURSE names RELATIVE ${FOLDER} ${FOLDER}/*.stub ${FOLDER}/*.set)
list(SORT names)
set(arrays "")
set(rows "")
set(index 0)
foreach(name IN LISTS names)
  file(READ ${FOLDER}/${name} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(......................................................................)" "\\1\n" bytes "${bytes}")
  # With a terminating zero, which is not part of the text.
  string(APPEND arrays "constexpr unsigned char bytes_${index}[] = {\n${bytes}0x00};\n")
  string(APPEND rows "    {\"${name}\", {reinterpret_cast<const char*>(bytes_${index}), sizeof bytes_${index} - 1}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"stub/set/data.hpp\"

namespace ptxgraft::stack {
namespace {

${arrays}
const LibraryFile files[] = {
${rows}};

}  // namespace

const std::span<const LibraryFile> embedded_files = files;

}  // namespace ptxgraft::stack
")
