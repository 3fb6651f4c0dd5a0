/* A pass with a rule that is wrong in one place: rules KIND LAYER. Its exit status is 1 where a replay of the captured
 * pass gives other bits than the pass itself. */
#include "kernels/model/kernels.h"

#include <breakgraph/breakgraph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 32, ROWS = 65, LAYERS = 5, FLOATS = ROWS * WIDTH };

typedef enum kind { NONE, EPSILON, SWAPPED, IN_PLACE, PADDED, LARGE, KINDS } kind;
static const char *const kinds[KINDS] = {"none", "epsilon", "swapped", "in-place", "padded", "large"};

static kind wrong;
static const void *wrong_at; /* the weights of the layer */

static bg_status checked(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

BG_OP(plus, BG_INOUT(x), BG_IN(y))
{
    return checked(bgk_add(args->x.data, args->x.data, args->y.data, FLOATS, stream));
}

BG_OP(norm, BG_IN(x), BG_IN(weight), BG_OUT(n), BG_VALUE(float, epsilon))
{
    return checked(bgk_rms_norm(args->n.data, args->x.data, args->weight.data, ROWS, WIDTH, args->epsilon, stream));
}

BG_OP(plus_norm, BG_INOUT(x), BG_IN(y), BG_IN(weight), BG_OUT(n), BG_VALUE(float, epsilon))
{
    const kind what = args->weight.data == wrong_at ? wrong : NONE;
    float epsilon = what == EPSILON ? 2 * args->epsilon : what == PADDED ? 0 : args->epsilon;
    bg_status status = BG_OK;

    if (what == SWAPPED) {
        status = checked(bgk_add(args->x.data, args->x.data, args->y.data, FLOATS, stream));
        return status != BG_OK
                   ? status
                   : checked(bgk_rms_norm(args->n.data, args->y.data, args->weight.data, ROWS, WIDTH, epsilon, stream));
    }
    if (what == IN_PLACE)
        status = checked(bgk_fill(args->n.data, 7, FLOATS, stream));
    return status != BG_OK ? status
                           : checked(bgk_add_rms_norm(args->n.data, args->x.data, args->y.data, args->weight.data,
                                                      what == LARGE ? 64 : ROWS, WIDTH, epsilon, stream));
}

BG_RULE(plus_norm, plus, norm)
{
    if (a1->x.data != a0->x.data)
        return false;
    *args = (plus_norm_args){.x = a0->x, .y = a0->y, .weight = a1->weight, .n = a1->n, .epsilon = a1->epsilon};
    return true;
}

typedef struct model {
    float *memory; /* x, then y, n and weights of each layer */
    bg_tensor x, y[LAYERS], n[LAYERS], weight[LAYERS];
    size_t floats;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    const model *m = user;
    bg_status status = BG_OK;
    for (int i = 0; i < LAYERS && status == BG_OK; i++) {
        status = BG_CALL(plus, stream, .x = m->x, .y = m->y[i]);
        if (status == BG_OK)
            status = BG_CALL(norm, stream, .x = m->x, .weight = m->weight[i], .n = m->n[i], .epsilon = 1e-3f);
    }
    return status;
}

/* The last rows are zero, as padding may be. */
static void fill(const model *m, float *host)
{
    for (size_t i = 0; i < m->floats; i++)
        host[i] = i % FLOATS / WIDTH >= ROWS - 4 ? 0 : (float)(i % 17) / 8 - 1;
}

static bool allocate(model *m, int layer)
{
    float *at;
    m->floats = (1 + 2 * LAYERS) * FLOATS + LAYERS * WIDTH;
    if (cudaMalloc((void **)&m->memory, m->floats * sizeof(float)) != cudaSuccess)
        return false;
    at = m->memory;
    m->x = bg_tensor_2d(at, BG_F32, ROWS, WIDTH);
    for (int i = 0; i < LAYERS; i++) {
        m->y[i] = bg_tensor_2d(at + (1 + 2 * i) * FLOATS, BG_F32, ROWS, WIDTH);
        m->n[i] =
            wrong == IN_PLACE && i == layer ? m->y[i] : bg_tensor_2d(at + (2 + 2 * i) * FLOATS, BG_F32, ROWS, WIDTH);
        m->weight[i] = bg_tensor_1d(at + (1 + 2 * LAYERS) * FLOATS + i * WIDTH, BG_F32, WIDTH);
    }
    wrong_at = m->weight[layer].data;
    return true;
}

static bg_status set_memory(const model *m, float *host, cudaStream_t stream)
{
    fill(m, host);
    return checked(cudaMemcpyAsync(m->memory, host, m->floats * sizeof(float), cudaMemcpyHostToDevice, stream));
}

static bg_status get_memory(const model *m, float *host, cudaStream_t stream)
{
    bg_status status =
        checked(cudaMemcpyAsync(host, m->memory, m->floats * sizeof(float), cudaMemcpyDeviceToHost, stream));
    return status != BG_OK ? status : checked(cudaStreamSynchronize(stream));
}

static bg_status compare(model *m, float *first, float *second, cudaStream_t stream, bool *same)
{
    bg_rule_attributes attributes = BG_RULE_ATTRIBUTES_INIT;
    bg_graph *graph = NULL;
    bg_status status;

    attributes.in_place = true;
    if (wrong == PADDED)
        attributes.tolerance = "rel=0.1"; /* which other rows need */
    status = bg_rule_set_attributes("plus_norm", &attributes);
    if (status == BG_OK)
        status = set_memory(m, first, stream);
    if (status == BG_OK)
        status = bg_forward_run(forward, m, stream, NULL);
    if (status == BG_OK)
        status = get_memory(m, first, stream);
    if (status == BG_OK)
        status = set_memory(m, second, stream);
    if (status == BG_OK)
        status = bg_capture_forward(&graph, forward, m, stream, NULL);
    if (status == BG_OK)
        status = set_memory(m, second, stream);
    if (status == BG_OK)
        status = bg_replay(graph, stream);
    if (status == BG_OK)
        status = get_memory(m, second, stream);
    *same = status == BG_OK && memcmp(first, second, m->floats * sizeof(float)) == 0;
    bg_graph_destroy(graph);
    return status;
}

int main(int argc, char **argv)
{
    int layer = argc == 3 ? atoi(argv[2]) : -1;
    float *first, *second;
    cudaStream_t stream;
    model m;
    bool same = false;
    bg_status status;

    while (argc == 3 && wrong < KINDS && strcmp(kinds[wrong], argv[1]) != 0)
        wrong++;
    if (argc != 3 || wrong == KINDS || layer < 0 || layer >= LAYERS) {
        fprintf(stderr, "usage: rules none|epsilon|swapped|in-place|padded|large LAYER\n");
        return 2;
    }
    if (!allocate(&m, layer) || cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
        return 2;
    first = calloc(m.floats, sizeof *first);
    second = calloc(m.floats, sizeof *second);
    status = first != NULL && second != NULL ? compare(&m, first, second, stream, &same) : BG_ERROR_OUT_OF_MEMORY;
    if (status != BG_OK)
        fprintf(stderr, "%s: %s\n", bg_status_name(status), bg_last_error());
    else
        printf("a replay gives %s bits\n", same ? "the same" : "other");
    free(first);
    free(second);
    if (cudaFree(m.memory) != cudaSuccess || cudaStreamDestroy(stream) != cudaSuccess)
        return 2;
    return status != BG_OK ? 2 : !same;
}
