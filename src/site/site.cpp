#include "ptxgraft/site.hpp"
