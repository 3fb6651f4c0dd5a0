/* A captured command and the plan of its callback are allocated for each graph. A user object of the graph frees the
 * command when the graph is destroyed; nothing frees the plan.
 *
 * expect: userdata never freed | userdata not freed | host never freed | host not freed
 * culprit: host function#0
 * innocent: scale#0
 * source: meta-pytorch/torchcomms#1097
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

#include <unistd.h>

enum { N = 64, BYTES = N * sizeof(float), GRAPHS = 100 };

typedef struct plan {
    struct command *command;
} plan;

typedef struct command {
    plan *plan; /* of its callback */
    int calls;
} command;

static _Atomic int plans; /* that live */

static void submit(void *data)
{
    ((plan *)data)->command->calls++;
}

static void destroy_command(void *data)
{
    command *c = data;
    if (zoo.correct) {
        free(c->plan);
        plans--;
    }
    free(c);
}

static void all_gather(void *user, cudaStream_t stream)
{
    command *c = calloc(1, sizeof *c);
    enum cudaStreamCaptureStatus status;
    cudaUserObject_t object;
    cudaGraph_t graph;

    if (c == NULL || (c->plan = calloc(1, sizeof *c->plan)) == NULL)
        exit(ZOO_ERROR);
    c->plan->command = c;
    plans++;
    CHECK(zoo_scale(user, user, 1, N, stream));
    /* CULPRIT */
    CHECK(cudaLaunchHostFunc(stream, submit, c->plan));
    CHECK(cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, NULL, NULL, NULL));
    CHECK(cudaUserObjectCreate(&object, c, destroy_command, 1, cudaUserObjectNoDestructorSync));
    CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    float *x;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&x, BYTES));
    CHECK(zoo_fill(x, 1, N, zoo.stream));
    for (int i = 0; i < GRAPHS; i++) {
        zoo_capture(&graph, all_gather, x);
        CHECK(cudaGraphLaunch(graph.exec, zoo.stream));
        zoo_destroy(&graph);
    }
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 1000 && plans > 0; i++) /* CUDA calls the destructors in a thread of its own, somewhat later */
        (void)usleep(1000);
    printf("plans that live: %d\n", plans);
    return plans == 0 ? ZOO_RIGHT : ZOO_WRONG;
}
