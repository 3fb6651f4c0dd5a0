#include "watermark.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- host memory ---- */

/* Linux: the mark starts again from what is resident now. */
static bg_status reset_high_water_mark(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    bool bad = file == NULL || fputs("5", file) < 0;

    if (file != NULL)
        bad |= fclose(file) != 0;
    return bad ? bg__fail(BG_ERROR_IO, "/proc/self/clear_refs cannot be written: %s", strerror(errno)) : BG_OK;
}

static bg_status read_high_water_mark(double *kib)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    bool found = false;

    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "VmHWM:", 6) != 0)
            continue;
        *kib = strtod(line + 6, NULL);
        found = true;
    }
    if (file != NULL)
        (void)fclose(file); /* it was only read */
    return found ? BG_OK : bg__fail(BG_ERROR_IO, "/proc/self/status does not say VmHWM");
}

/* ---- device memory ---- */

typedef struct sampler {
    int device;
    size_t least_free;
    cudaError_t error;
    atomic_bool end;
} sampler;

static void *sample_free_memory(void *user)
{
    static const struct timespec a_millisecond = {.tv_nsec = 1000000};
    sampler *s = user;
    size_t left, total;

    s->error = cudaSetDevice(s->device);
    while (s->error == cudaSuccess && !atomic_load(&s->end)) {
        s->error = cudaMemGetInfo(&left, &total);
        if (s->error == cudaSuccess && left < s->least_free)
            s->least_free = left;
        (void)nanosleep(&a_millisecond, NULL); /* the interval between two samples; nothing waits for it */
    }
    return NULL;
}

static bg_status run_sampled(const contender *contender, double *kib)
{
    sampler s = {.end = false};
    size_t before, total;
    pthread_t thread;
    int error;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaGetDevice(&s.device));
    BG__TRY_CUDA(cudaMemGetInfo(&before, &total));
    s.least_free = before;
    error = pthread_create(&thread, NULL, sample_free_memory, &s);
    if (error != 0)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "no thread can be created: %s", strerror(error));
    status = contender->run(contender->state);
    atomic_store(&s.end, true);
    (void)pthread_join(thread, NULL);
    BG__TRY(status);
    BG__TRY_CUDA(s.error);
    *kib = (double)(before - s.least_free) / 1024;
done:
    return status;
}

bg_status watermark_measure(const contender *contender, watermark *most)
{
    bool on_gpu = strcmp(bg_device_kind(), "cuda") == 0;
    double before = 0, after = 0;

    most->device_kib = 0;
    (void)malloc_trim(0); /* what was freed before counts as new where it is used again */
    BENCH_TRY(reset_high_water_mark());
    BENCH_TRY(read_high_water_mark(&before));
    if (on_gpu)
        BENCH_TRY(run_sampled(contender, &most->device_kib));
    else
        BENCH_TRY(contender->run(contender->state));
    BENCH_TRY(read_high_water_mark(&after));
    most->host_kib = after - before;
    return BG_OK;
}
