/* Inside a capture the host waits for a flag that a kernel sets. The kernel is being captured, and does not run: the
 * capture hangs.
 *
 * expect: captur wait | captur host
 * culprit: set_flag#0
 * innocent: -
 * source: kvcache-ai/Mooncake#1933
 * symptom: hang
 * needs: once */
#include "tests/zoo/zoo.h"

static volatile int *flag; /* of the host, and mapped for the device */

static void exchange(void *user, cudaStream_t stream)
{
    (void)user;
    /* CULPRIT */
    CHECK(zoo_set_flag((int *)flag, 1, stream));
    while (!zoo.correct && *flag == 0)
        if (zoo.eager)
            (void)cudaStreamQuery(stream); /* the host device runs work when somebody asks for it */
}

int main(int argc, char **argv)
{
    zoo_graph graph;

    zoo_begin(argc, argv);
    CHECK(cudaHostAlloc((void **)&flag, sizeof *flag, cudaHostAllocMapped));
    *flag = 0;
    zoo_capture(&graph, exchange, NULL);
    zoo_replay(&graph);
    CHECK(cudaStreamSynchronize(zoo.stream));
    zoo_destroy(&graph);
    printf("%s\n", *flag == 1 ? "right" : "wrong");
    return *flag == 1 ? ZOO_RIGHT : ZOO_WRONG;
}
