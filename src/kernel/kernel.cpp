#include "ptxgraft/kernel.hpp"
