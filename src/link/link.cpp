#include "ptxgraft/link.hpp"
