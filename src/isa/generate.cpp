// The table's compiler, a host tool of the build: `generate ptx.isa table.cpp`. A bad row ends the build with
// its line.

#include <fstream>
#include <iostream>

#include "table_model.hpp"

int main(int argc, char** argv) {
    using namespace ptxgraft::isa::generator;
    if (argc != 3) {
        std::cerr << "usage: generate ptx.isa table.cpp\n";
        return 2;
    }
    std::ifstream in(argv[1]);
    if (!in) stop(0, "cannot be read");
    const Table table = read(in);
    std::ofstream out(argv[2]);
    write(out, table);
    out.close();
    return out ? 0 : 1;
}
