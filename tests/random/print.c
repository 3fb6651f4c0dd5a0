/* Programs as pseudo-code. */

#include "model.h"

static const char *cell(int c)
{
    static const char *const names[CELLS] = {"buffer0", "buffer1", "buffer2", "buffer3", "buffer4",
                                             "buffer5", "slot0",   "slot1",   "slot2",   "slot3"};
    return names[c];
}

static void print_outputs(FILE *file, const instruction *in)
{
    static const char *const without[] = {"", " (no memory, shape given)", " (no memory, no shape)"};
    for (int i = 0; i < op_shapes[in->op].out; i++)
        fprintf(file, "%s%s%s", i ? ", " : "", cell(in->out[i]), without[in->given[i]]);
}

static void print_call(FILE *file, const program *p, const instruction *in, int index)
{
    static const char *const places[PLACES] = {"", ", left in scratch", ", left in its own memory",
                                               ", left here and in scratch in turn",
                                               ", left here, in scratch and in its own memory in turn"};
    static const char *const failing[] = {"", ", fails in the capture and every third pass",
                                          ", fails in the first replay and every third pass"};
    static const char *const shorter[] = {"", ", shorter", ", shorter and not in turn"};
    const op_shape *shape = &op_shapes[in->op];
    char name[24];
    call_name call = {op_name(in->op, in->eager, name, sizeof name), index, NULL, 0};

    print_outputs(file, in);
    fprintf(file, " = %s#%d(", name, index);
    for (int i = 0; i < shape->in; i++)
        fprintf(file, "%s, ", cell(in->in[i]));
    if (shape->in_place)
        fprintf(file, "%s, ", cell(in->out[0]));
    fprintf(file, "%u)%s", in->k, places[in->place]);
    fprintf(file, "%s%s", shorter[in->shorter], failing[in->failing]);
    if (in->op == OP_LISTEN || in->op == OP_TELL)
        fprintf(file, ", %s event %d", in->op == OP_TELL ? "records" : "waits for", in->event);
    if (in->op == OP_NEST)
        fprintf(file, ", calls mix%s%s, bump%s%s", in->variant & NEST_OPEN ? " (no shape)" : "",
                in->variant & NEST_FAILS ? ", broken" : "", in->variant & NEST_EAGER ? ", eager_bump" : "",
                in->variant & NEST_SCRATCH ? ", in scratch" : "");
    if (in->line == HELPER_LINE)
        fprintf(file, ", in the helper's line");
    fprintf(file, model_is_eager(p, &call, in->eager) ? "; eager" : "; captured");
    if (in->change_value)
        fprintf(file, ", value changed");
    if (in->change_input >= 0)
        fprintf(file, ", input %s in turn", cell(in->change_input));
}

static void print_instruction(FILE *file, const program *p, const instruction *in, int index)
{
    fprintf(file, "  %2d  s%d: ", in->id, in->stream);
    switch (in->kind) {
    case CALL: print_call(file, p, in, index); break;
    case WAIT: fprintf(file, "wait for s%d", in->on); break;
    case BREAK: fprintf(file, "break"); break;
    case KERNEL:
        fprintf(file, "%s = kernel(%s, %s, %u)", cell(in->out[0]), cell(in->in[0]), cell(in->in[1]), in->k);
        break;
    case COPY: fprintf(file, "%s = copy of %s", cell(in->out[0]), cell(in->in[0])); break;
    case FILL: fprintf(file, "%s = bytes of %u", cell(in->out[0]), in->k); break;
    case RECORD: fprintf(file, "record event %d", in->event); break;
    case WAIT_EVENT: fprintf(file, "wait for event %d", in->event); break;
    case RECORD_BARE: fprintf(file, "record bare event %d", in->event); break;
    case WAIT_BARE: fprintf(file, "wait for bare event %d", in->event); break;
    case TAKE: fprintf(file, "%s = block of the pool, filled with %u", cell(in->out[0]), in->k); break;
    case RELEASE: fprintf(file, "release %s", cell(in->out[0])); break;
    }
    fputc('\n', file);
}

static void print_options(FILE *file, const program *p)
{
    static const char *const modes[] = {"global", "thread-local", "relaxed"};
    static const char *const debugs[] = {"", "off", "forward", "ops", "sync", "step"};
    static const char *const faulty[] = {"", ", bodies handle failures", ", the pass returns failures",
                                         ", the pass ignores failures"};
    char text[80];

    fprintf(file, "  %s, mode %s, debug %s%s%s%s%s%s%s\n",
            p->whole ? "bg_capture_forward" : "bg_capture_begin and bg_capture_end", modes[p->mode], debugs[p->debug],
            p->debug_from_environment ? " by BG_DEBUG" : "", p->launch ? "" : ", launch_segments false",
            p->state ? ", state" : "", p->join_at_end ? ", join_at_end" : "", p->breakable ? "" : ", BG_BREAKABLE=0",
            p->barriers ? ", ordered by breaks" : "");
    fprintf(file, "  %d worker threads%s%s%s%s%s\n", p->workers, p->upload ? ", upload" : "",
            p->zero_tail ? ", zero_tail" : "", p->pool ? ", pool" : "", p->inline_eager ? ", inline_eager" : "",
            faulty[p->faults]);
    for (int i = 0; i < p->pattern_count; i++) {
        pattern_text(&p->patterns[i], text, sizeof text);
        fprintf(file, "  %s \"%s\"\n", p->patterns_from_environment ? "BG_EAGER_OPS" : "bg_override_eager", text);
    }
}

void print_program(FILE *file, const program *p)
{
    int calls[OP_KINDS][2] = {{0}};

    fprintf(file, "program of seed %llu, %d instructions, s0 is the origin:\n", (unsigned long long)p->seed, p->length);
    print_options(file, p);
    for (int i = 0; i < p->length; i++) {
        const instruction *in = &p->list[i];
        print_instruction(file, p, in, in->kind == CALL ? calls[in->op][in->eager]++ : 0);
    }
    fprintf(file, "  %d replays%s on %d stream%s%s\n", p->replays, p->queued ? " in a row" : ", each waited for,",
            p->move, p->move == 1 ? "" : "s in turn", p->churn ? ", memory allocated and freed in between" : "");
    for (int w = 0; w < WAY_COUNT; w++) {
        program other;
        if (p->ways >> w & 1)
            fprintf(file, "  also: %s%s\n", way_texts[w], model_way(p, (way)w, &other) ? "" : " (is not legal)");
    }
}
