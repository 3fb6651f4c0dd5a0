#include "machine.h"

#include "ops.h"
#include "run.h"

machine the_machine;

static cudaError_t open_memory(void)
{
    cudaError_t error = cudaMalloc((void **)&the_machine.buffers, BUFFERS * sizeof(tensor_data));
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&the_machine.blocks, LENGTH * sizeof(tensor_data));
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&the_machine.inputs, sizeof the_machine.host_inputs);
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&the_machine.found, sizeof(results));
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&this_pass.own, LENGTH * OUTPUTS * 2 * sizeof(tensor_data));
    return error;
}

static cudaError_t open_streams(void)
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < STREAMS && error == cudaSuccess; i++)
        error = cudaStreamCreateWithFlags(&the_machine.streams[i], cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&the_machine.extra, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&this_pass.side, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&this_pass.teller, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaEventCreateWithFlags(&this_pass.joined, cudaEventDisableTiming);
    for (int i = 0; i < EVENTS && error == cudaSuccess; i++)
        error = cudaEventCreateWithFlags(&the_machine.bare[i], cudaEventDisableTiming);
    return error == cudaSuccess ? cudaEventCreateWithFlags(&the_machine.order, cudaEventDisableTiming) : error;
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
    cudaError_t error = open_memory();
    char name[24];

    if (error == cudaSuccess)
        error = open_streams();
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
    for (int i = 0; i < STREAMS; i++)
        released(cudaStreamDestroy(the_machine.streams[i]), "cudaStreamDestroy");
    released(cudaStreamDestroy(the_machine.extra), "cudaStreamDestroy");
    released(cudaStreamDestroy(this_pass.side), "cudaStreamDestroy");
    released(cudaStreamDestroy(this_pass.teller), "cudaStreamDestroy");
    released(cudaEventDestroy(this_pass.joined), "cudaEventDestroy");
    for (int i = 0; i < EVENTS; i++)
        released(cudaEventDestroy(the_machine.bare[i]), "cudaEventDestroy");
    for (int i = 0; i < EVENTS && this_pass.events[i] != NULL; i++)
        released(cudaEventDestroy(this_pass.events[i]), "cudaEventDestroy");
    released(cudaEventDestroy(the_machine.order), "cudaEventDestroy");
    released(cudaFree(the_machine.buffers), "cudaFree");
    released(cudaFree(the_machine.blocks), "cudaFree");
    released(cudaFree(the_machine.inputs), "cudaFree");
    released(cudaFree(the_machine.found), "cudaFree");
    released(cudaFree(this_pass.own), "cudaFree");
}
