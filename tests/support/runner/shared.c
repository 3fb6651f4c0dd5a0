#include "shared.h"

#include <unistd.h>

void read_device(const fixture *f, void *host, const void *device, size_t bytes)
{
    EXPECT_CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDefault, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
}

float first_of(const fixture *f, const void *device)
{
    float first;
    read_device(f, &first, device, sizeof first);
    return first;
}

void expect_floats(const fixture *f, const void *device, size_t count, float value, const char *file, int line)
{
    float *host = malloc(count * sizeof *host);
    assert_non_null(host);
    read_device(f, host, device, count * sizeof *host);
    for (size_t i = 0; i < count; i++) {
        if (host[i] == value)
            continue;
        print_error("element %zu is %g, not %g\n", i, (double)host[i], (double)value);
        _fail(file, line);
    }
    free(host);
}

pthread_t start_thread(void *(*run)(void *), void *user)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, user), 0);
    return thread;
}

void *join_thread(pthread_t thread)
{
    void *result;
    assert_int_equal(pthread_join(thread, &result), 0);
    return result;
}

void *run_thread(void *(*run)(void *), void *user)
{
    return join_thread(start_thread(run, user));
}

static FILE *file_of_errors;
static int standard_error;

void hold_errors(void)
{
    file_of_errors = tmpfile();
    standard_error = dup(STDERR_FILENO);
    assert_non_null(file_of_errors);
    assert_true(standard_error >= 0 && fflush(stderr) == 0);
    assert_true(dup2(fileno(file_of_errors), STDERR_FILENO) >= 0);
}

const char *held_errors(void)
{
    static char text[8192];
    assert_int_equal(fflush(stderr), 0);
    assert_true(dup2(standard_error, STDERR_FILENO) >= 0);
    assert_int_equal(close(standard_error), 0);
    rewind(file_of_errors);
    text[fread(text, 1, sizeof text - 1, file_of_errors)] = '\0';
    assert_int_equal(fclose(file_of_errors), 0);
    return text;
}

void expect_text(const char *text, const char *part, const char *file, int line)
{
    if (strstr(text, part) != NULL)
        return;
    print_error("\"%s\" is not in: %s\n", part, text);
    _fail(file, line);
}

void fail_calls(const char *faults)
{
    assert_int_equal(hostcuda_fail(faults), 0);
}

int fault_teardown(void **state)
{
    fail_calls(NULL);
    return fixture_teardown(state);
}

void need_two_devices(void)
{
    int devices;
    EXPECT_CUDA(cudaGetDeviceCount(&devices));
    if (devices > 1)
        return;
    print_message("skipped: there is one device; with HOSTCUDA_DEVICES=2, or on two GPUs, this test runs\n");
    skip();
}
