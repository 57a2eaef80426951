#include "ptxgraft/ptxgraft.hpp"
