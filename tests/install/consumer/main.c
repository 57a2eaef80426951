#include <ptxgraft/ptxgraft.h>
#include <stdio.h>

int main(void) {
    puts("compiled as C");
    return 0;
}
