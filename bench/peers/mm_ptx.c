// mm-ptx's Stack PTX, as its header is meant to be used: compiled once, here.
#define STACK_PTX_IMPLEMENTATION
#include <stack_ptx.h>
