#include <ptxgraft/ptxgraft.h>
#include <stdio.h>

int main(void) {
    ptxgraft_device* device = NULL;
    if (ptxgraft_device_open(&device, "emulator") != PTXGRAFT_STATUS_ok) {
        fputs(ptxgraft_error_get_message(), stderr);
        return 1;
    }
    ptxgraft_device_destroy(device);
    printf("C: ptxgraft %s, %s\n", ptxgraft_library_get_version(), ptxgraft_library_get_assembler());
    return 0;
}
