#include "ptxgraft/emulator.hpp"
