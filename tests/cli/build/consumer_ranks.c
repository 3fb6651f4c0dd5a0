/* A program against the installed libbreakgraph_nccl: the only rank of its job. Exit status 0: it ran; 3: there is no
 * device. */
#include <breakgraph/breakgraph.h>
#include <breakgraph/comm.h>
#include <stdio.h>

int main(void)
{
    bg_comm *comm = NULL;
    int64_t largest = 0;
    int devices = 0;
    bg_status status;

    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no GPU: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 3;
    }
    status = bg_comm_create(&comm, NULL);
    if (status == BG_OK)
        status = bg_comm_max(comm, "the largest", 7, &largest);
    if (status == BG_OK)
        printf("rank %d of %d: %d\n", bg_comm_rank(comm), bg_comm_size(comm), (int)largest);
    else
        fprintf(stderr, "%s\n", bg_last_error());
    bg_comm_destroy(comm);
    return status == BG_OK ? 0 : 1;
}
