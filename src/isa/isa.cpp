#include "ptxgraft/isa.hpp"
