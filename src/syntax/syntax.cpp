#include "ptxgraft/syntax.hpp"
