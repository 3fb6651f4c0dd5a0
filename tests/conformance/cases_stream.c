/* Conformance: streams, their questions, and their ends. */
#include "case_gate.h"
#include "cases.h"

/* ---- making them ------------------------------------------------------------------------------------------------- */

CASE(create_without_place, {
    ASK(cudaStreamCreate(NULL));
    ASK(cudaStreamCreateWithFlags(NULL, cudaStreamNonBlocking));
    ASK(cudaStreamCreateWithPriority(NULL, cudaStreamNonBlocking, 0));
});

CASE(create_with_bad_flags, {
    ASK(cudaStreamCreateWithFlags(&s->stream, 2));
    ASK(cudaStreamCreateWithFlags(&s->stream, 3));
    ASK(cudaStreamCreateWithPriority(&s->stream, 2, 0));
    ANSWERED("a stream was written", s->stream != NULL);
});

CASE(priority_range, {
    int least = -1;
    int greatest = 1;
    ASK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    VALUE("least", least);
    VALUE("greatest", greatest);
    least = greatest = 7;
    ASK(cudaDeviceGetStreamPriorityRange(&least, NULL));
    ASK(cudaDeviceGetStreamPriorityRange(NULL, &greatest));
    ASK(cudaDeviceGetStreamPriorityRange(NULL, NULL));
    VALUE("least", least);
    VALUE("greatest", greatest);
});

CASE(priority_out_of_range, {
    int priority = 7;
    ASK(cudaStreamCreateWithPriority(&s->stream, cudaStreamNonBlocking, 100));
    ASK(cudaStreamGetPriority(s->stream, &priority));
    VALUE("priority", priority);
    STEP(cudaStreamDestroy(s->stream));
    ASK(cudaStreamCreateWithPriority(&s->stream, cudaStreamNonBlocking, -100));
    ASK(cudaStreamGetPriority(s->stream, &priority));
    VALUE("priority", priority);
});

CASE(priority_kept, {
    int priority = 7;
    ASK(cudaStreamCreateWithPriority(&s->stream, cudaStreamDefault, -3));
    ASK(cudaStreamGetPriority(s->stream, &priority));
    VALUE("priority", priority);
    ASK(cudaStreamGetPriority(s->a, &priority));
    VALUE("priority", priority);
    ASK(cudaStreamGetPriority(s->a, NULL));
});

/* ---- questions --------------------------------------------------------------------------------------------------- */

CASE(flags_of_streams, {
    unsigned flags = 7;
    ASK(cudaStreamGetFlags(s->a, &flags));
    VALUE("flags", flags);
    ASK(cudaStreamGetFlags(s->blocking, &flags));
    VALUE("flags", flags);
    ASK(cudaStreamGetFlags(s->a, NULL));
});

CASE(flags_of_default_streams, {
    unsigned flags = 7;
    ASK(cudaStreamGetFlags(NULL, &flags));
    VALUE("flags", flags);
    flags = 7;
    ASK(cudaStreamGetFlags(cudaStreamLegacy, &flags));
    VALUE("flags", flags);
    flags = 7;
    ASK(cudaStreamGetFlags(cudaStreamPerThread, &flags));
    VALUE("flags", flags);
});

CASE(priority_of_default_streams, {
    int priority = 7;
    ASK(cudaStreamGetPriority(NULL, &priority));
    VALUE("priority", priority);
    priority = 7;
    ASK(cudaStreamGetPriority(cudaStreamLegacy, &priority));
    VALUE("priority", priority);
    priority = 7;
    ASK(cudaStreamGetPriority(cudaStreamPerThread, &priority));
    VALUE("priority", priority);
});

CASE(device_of_streams, {
    int device = 7;
    ASK(cudaStreamGetDevice(s->a, &device));
    VALUE("device", device);
    device = 7;
    ASK(cudaStreamGetDevice(NULL, &device));
    VALUE("device", device);
    device = 7;
    ASK(cudaStreamGetDevice(cudaStreamLegacy, &device));
    VALUE("device", device);
    device = 7;
    ASK(cudaStreamGetDevice(cudaStreamPerThread, &device));
    VALUE("device", device);
});

static unsigned long long id_of_thread;
CALL_AS(per_thread_id, "cudaStreamGetId(cudaStreamPerThread, &id)",
        cudaStreamGetId(cudaStreamPerThread, &id_of_thread));

CASE(ids_of_streams, {
    unsigned long long id = 0;
    unsigned long long again = 0;
    unsigned long long other = 0;
    ASK(cudaStreamGetId(s->a, &id));
    ASK(cudaStreamGetId(s->a, &again));
    ASK(cudaStreamGetId(s->b, &other));
    ANSWERED("the first two are equal", id == again);
    ANSWERED("the third is another", id != other);
    ASK(cudaStreamGetId(s->a, NULL));
});

CASE(ids_of_default_streams, {
    unsigned long long null = 0;
    unsigned long long legacy = 0;
    unsigned long long per_thread = 0;
    ASK(cudaStreamGetId(NULL, &null));
    ASK(cudaStreamGetId(cudaStreamLegacy, &legacy));
    ASK(cudaStreamGetId(cudaStreamPerThread, &per_thread));
    case_ask_thread(s, &per_thread_id);
    ANSWERED("those of NULL and the legacy stream are equal", null == legacy);
    ANSWERED("those of NULL and the per-thread stream are equal", null == per_thread);
    ANSWERED("those of the two per-thread streams are equal", per_thread == id_of_thread);
});

/* ---- ends -------------------------------------------------------------------------------------------------------- */

CASE(destroy_default_streams, {
    ASK(cudaStreamDestroy(NULL));
    ASK(cudaStreamDestroy(cudaStreamLegacy));
    ASK(cudaStreamDestroy(cudaStreamPerThread));
    ASK_LAUNCH(NULL);
    ASK_LAUNCH(cudaStreamPerThread);
    VALUE("x", case_read_x(s));
});

CASE(destroy_with_work, {
    STEP(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    HOLD(s->stream);
    LAUNCH(s->stream);
    RECORD(s->e, s->stream);
    ASK(cudaStreamDestroy(s->stream));
    s->stream = NULL;
    RETURNED();
    ASK(cudaEventQuery(s->e));
    OPEN_GATE();
    ASK(cudaEventSynchronize(s->e));
    VALUE("x", case_read_x(s));
});

CASE(destroy_waited_for, {
    STEP(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    HOLD(s->stream);
    LAUNCH(s->stream);
    RECORD(s->e, s->stream);
    WAIT(s->b, s->e);
    ASK(cudaStreamDestroy(s->stream));
    s->stream = NULL;
    ASK(cudaStreamQuery(s->b));
    OPEN_GATE();
    ASK(cudaStreamSynchronize(s->b));
    VALUE("x", case_read_x(s));
});

static const struct case_rule create_rules[] = {
    {&create_without_place, "A stream needs a place for its handle."},
    {&create_with_bad_flags, "A flag that does not exist is refused."},
    {&priority_range, "The priorities of a device; either place may be missing."},
    {&priority_out_of_range, "A priority out of range is taken as the nearest one that exists."},
    {&priority_kept, "A priority in range is kept; a stream made without one has 0."},
    {&flags_of_streams, "A stream keeps the flags that it was made with."},
    {&flags_of_default_streams, "Those of the default streams."},
    {&priority_of_default_streams, "The default streams have priority 0."},
    {&device_of_streams, "Every stream, also a default one, has a device."},
    {&ids_of_streams, "A stream's id is its own."},
    {&ids_of_default_streams, "NULL and `cudaStreamLegacy` are one stream, each thread's default stream is another."},
};

const struct case_topic topic_stream =
    CASE_TOPIC("Streams", "What streams are made with, and what they tell about themselves.", create_rules);

static const struct case_rule destroy_rules[] = {
    {&destroy_default_streams, "The default streams cannot be destroyed, and work on."},
    {&destroy_with_work, "Destroying a stream does not wait for its work, and does not end it."},
    {&destroy_waited_for, "Who waits for an event of a destroyed stream waits on."},
};

const struct case_topic topic_stream_end =
    CASE_TOPIC("Destroyed streams", "What becomes of the work of a stream that is destroyed.", destroy_rules);
