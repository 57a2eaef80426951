#include "ptxgraft/stub.hpp"
