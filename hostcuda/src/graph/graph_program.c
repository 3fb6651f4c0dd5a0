#include "hostcuda/src/graph/graph_program.h"

#include <stdlib.h>

struct hc_program *hc_program_make(size_t count)
{
    struct hc_program *program = calloc(1, sizeof *program + count * sizeof(struct hc_op *));
    if (program) {
        program->references = 1;
        program->count = count;
    }
    return program;
}

struct hc_program *hc_program_copy(const struct hc_program *program)
{
    struct hc_program *copy = hc_program_make(program->count);
    if (!copy)
        return NULL;
    copy->order = hc_order_retain(program->order);
    for (size_t i = 0; i < copy->count; i++)
        copy->ops[i] = hc_op_retain(program->ops[i]);
    if (hc_objects_copy(&program->objects, &copy->objects)) {
        hc_program_release(copy);
        copy = NULL;
    }
    return copy;
}

void hc_program_release(struct hc_program *program)
{
    if (!program || --program->references)
        return;
    for (size_t i = 0; i < program->count; i++)
        hc_op_release(program->ops[i]);
    hc_order_release(program->order);
    hc_objects_release(&program->objects);
    free(program);
}
