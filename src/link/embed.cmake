# Writes a C++ file with the bytes of a text file: cmake -DINPUT=… -DOUTPUT=… -DNAME=… -P embed.cmake
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(......................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"link/embedded.hpp\"

namespace ptxgraft::link {

// With a terminating zero, which is not part of the text.
static constexpr unsigned char bytes[] = {
${bytes}0x00};
const std::string_view ${NAME}{reinterpret_cast<const char*>(bytes), sizeof bytes - 1};

}  // namespace ptxgraft::link
")
