#include "ptxgraft/device.hpp"
