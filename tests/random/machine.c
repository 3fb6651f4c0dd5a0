#include "machine.h"

#include "ops.h"
#include "run.h"

machine the_machine;

/* All that it has, in the order in which it is made; the program's events come and go with its passes. */
static cudaStream_t *const streams[] = {&the_machine.streams[0], &the_machine.streams[1], &the_machine.streams[2],
                                        &the_machine.streams[3], &the_machine.extra,      &this_pass.side,
                                        &this_pass.teller};
static cudaEvent_t *const events[] = {&this_pass.joined, &the_machine.bare[0], &the_machine.bare[1],
                                      &the_machine.bare[2], &the_machine.order};
static const struct {
    void *at; /* a pointer's address */
    size_t bytes;
} memory[] = {{&the_machine.buffers, BUFFERS * sizeof(tensor_data)},
              {&the_machine.blocks, LENGTH * sizeof(tensor_data)},
              {&the_machine.inputs, sizeof the_machine.host_inputs},
              {&the_machine.found, sizeof(results)},
              {&this_pass.own, LENGTH *OUTPUTS * 2 * sizeof(tensor_data)}};
#define COUNT(array) (sizeof(array) / sizeof *(array))
_Static_assert(COUNT(streams) == STREAMS + 3 && COUNT(events) == EVENTS + 2, "each is there");

static cudaError_t open_all(void)
{
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < COUNT(memory) && error == cudaSuccess; i++)
        error = cudaMalloc(memory[i].at, memory[i].bytes);
    for (size_t i = 0; i < COUNT(streams) && error == cudaSuccess; i++)
        error = cudaStreamCreateWithFlags(streams[i], cudaStreamNonBlocking);
    for (size_t i = 0; i < COUNT(events) && error == cudaSuccess; i++)
        error = cudaEventCreateWithFlags(events[i], cudaEventDisableTiming);
    return error;
}

static bool allow_fewer_rows(void)
{
    bg_op_attributes attributes = BG_OP_ATTRIBUTES_INIT;

    attributes.allow_fewer_rows = true;
    for (int op = 0; op < OP_KINDS; op++)
        for (int eager = 0; eager < 2; eager++)
            if (bg_op_set_attributes(the_machine.ops[op][eager]->name, &attributes) != BG_OK) {
                fprintf(stderr, "%s\n", bg_last_error());
                return false;
            }
    return true;
}

bool machine_open(void)
{
    cudaError_t error = open_all();
    char name[24];

    if (error != cudaSuccess)
        fprintf(stderr, "no streams or memory: %s\n", cudaGetErrorName(error));
    for (int op = 0; op < OP_KINDS; op++)
        for (int eager = 0; eager < 2; eager++)
            the_machine.ops[op][eager] = bg_op_find(op_name((op_kind)op, eager, name, sizeof name));
    return error == cudaSuccess && allow_fewer_rows();
}

void released(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorName(error));
}

void machine_close(void)
{
    for (size_t i = 0; i < COUNT(streams); i++)
        released(cudaStreamDestroy(*streams[i]), "cudaStreamDestroy");
    for (size_t i = 0; i < COUNT(events); i++)
        released(cudaEventDestroy(*events[i]), "cudaEventDestroy");
    for (int i = 0; i < EVENTS && this_pass.events[i] != NULL; i++)
        released(cudaEventDestroy(this_pass.events[i]), "cudaEventDestroy");
    for (size_t i = 0; i < COUNT(memory); i++)
        released(cudaFree(*(void **)memory[i].at), "cudaFree");
}
