/* A process ends, by a return from main, while its other threads capture, replay and destroy: what they use is still
 * there, and the process ends as main says. Each round is a process of its own, this program with arguments. */
#include "tests/support/test.h"
#include "tests/support/ops.h"

#include <cublas_v2.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* CUDA's own runtime promises nothing to threads that go on. */
TESTS_ON_HOST_DEVICE("a process that ends while its threads go on");

enum { THREADS = 4, SIDE = 160, ENDED = 42, FAILED = 43, LIMIT_S = 120, FORK_LIMIT_S = 30, ROUNDS = 8, STEP_US = 350 };

/* ---- the program ---- */

typedef struct worker {
    pthread_t thread;
    cudaStream_t stream;
    cublasHandle_t blas;
    bg_tensor x, y, matrix, product;
    bool multiplies;
} worker;

static atomic_int working;
static atomic_bool ending;

/* The stream is the handle's. */
BG_OP(square, BG_IN(x), BG_OUT(y), BG_VALUE(cublasHandle_t, blas))
{
    const float one = 1, zero = 0;
    const float *x = args->x.data;
    (void)stream;
    return cublasSgemm(args->blas, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one, x, SIDE, x, SIDE, &zero,
                       args->y.data, SIDE) == CUBLAS_STATUS_SUCCESS
               ? BG_OK
               : BG_ERROR_CUDA;
}

PASS(pass, const worker *w)
{
    BG_CALL(scale, stream, .x = w->x, .y = w->y, .factor = 3);
    BG_CALL(twice, stream, .x = w->y);
    if (w->multiplies)
        BG_CALL(square, stream, .x = w->matrix, .y = w->product, .blas = w->blas);
    return BG_CALL(scale, stream, .x = w->y, .y = w->y, .factor = 5);
}

static bg_status open_worker(worker *w)
{
    const int64_t count = (int64_t)SIDE * SIDE;
    const size_t bytes = 2 * (size_t)(count + N) * sizeof(float);
    float *memory = NULL;
    TRY_BG(from_cuda(cudaMalloc((void **)&memory, bytes)));
    TRY_BG(from_cuda(cudaMemset(memory, 0, bytes)));
    TRY_BG(from_cuda(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking)));
    if (cublasCreate(&w->blas) != CUBLAS_STATUS_SUCCESS || cublasSetStream(w->blas, w->stream) != CUBLAS_STATUS_SUCCESS)
        return BG_ERROR_CUDA;
    w->x = bg_tensor_1d(memory, BG_F32, N);
    w->y = bg_tensor_1d(memory + N, BG_F32, N);
    w->matrix = bg_tensor_1d(memory + 2 * N, BG_F32, count);
    w->product = bg_tensor_1d(memory + 2 * N + count, BG_F32, count);
    return BG_OK;
}

static bg_status one_round(worker *w)
{
    OWNED_GRAPH(graph);
    TRY_BG(pass(w, w->stream)); /* plain calls */
    TRY_BG(bg_capture_forward(&graph, pass, w, w->stream, NULL));
    for (int i = 0; i < 3; i++)
        TRY_BG(bg_replay(graph, w->stream));
    return from_cuda(cudaStreamSynchronize(w->stream));
}

/* To the end of the process. */
static void *work(void *user)
{
    worker *w = user;
    bg_status status = open_worker(w);

    for (int rounds = 0; status == BG_OK; rounds++) {
        status = one_round(w);
        if (rounds == 0)
            atomic_fetch_add(&working, 1);
    }
    if (!atomic_load(&ending)) {
        fprintf(stderr, "%s: %s\n", bg_status_name(status), bg_last_error());
        _exit(FAILED);
    }
    return NULL;
}

/* How a child ends. */
static int exit_status_of(pid_t child)
{
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

static int fork_some(void)
{
    for (int i = 0; i < THREADS; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(FORK_LIMIT_S);
            exit(ENDED);
        }
        if (exit_status_of(child) != ENDED)
            return FAILED;
    }
    return ENDED;
}

/* One round in a child that was forked before any call of the library or of CUDA. */
static int work_in_child(void)
{
    static worker w;
    pid_t child = fork();
    if (child == 0) {
        alarm(FORK_LIMIT_S);
        exit(open_worker(&w) == BG_OK && one_round(&w) == BG_OK ? ENDED : FAILED);
    }
    return exit_status_of(child);
}

/* Returns after so many microseconds, so that each round ends at another moment of the work. */
static int run_program(const char *microseconds, const char *what)
{
    static worker workers[THREADS]; /* it outlives main's frame */
    bool forks = strcmp(what, "forks") == 0, multiplies = forks || strcmp(what, "products") == 0;
    alarm(LIMIT_S);
    if (strcmp(what, "child") == 0)
        return work_in_child();
    for (int i = 0; i < THREADS; i++) {
        workers[i].multiplies = multiplies;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return FAILED;
    }
    while (atomic_load(&working) < THREADS)
        usleep(100);
    usleep((useconds_t)strtoul(microseconds, NULL, 10));
    atomic_store(&ending, true);
    return forks ? fork_some() : ENDED;
}

/* ---- the tests ---- */

static const char *program;
static char directory[64];

static void run_there(const char *variable, const char *value, const char *microseconds, const char *what)
{
    /* What threads hold is no leak, and the sanitizer does not see what they hold on the stacks of kernels. */
    if (setenv("LSAN_OPTIONS", "detect_leaks=0", 1) == 0 && (variable == NULL || setenv(variable, value, 1) == 0))
        (void)execl(program, program, microseconds, what, (char *)NULL);
    perror(program);
    _exit(FAILED);
}

static void expect_ends(const char *variable, const char *value, const char *what)
{
    for (int i = 0; i < ROUNDS; i++) {
        char microseconds[16];
        int status = 0;
        snprintf(microseconds, sizeof microseconds, "%d", i * STEP_US);
        fflush(NULL);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            run_there(variable, value, microseconds, what);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != ENDED)
            fail_msg("%s=%s: round %d of %d (%s) ended by %s %d, expected exit status %d", variable ? variable : "",
                     value ? value : "", i, ROUNDS, what, WIFSIGNALED(status) ? "signal" : "exit status",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), ENDED);
    }
}

TEST(test_plain)
{
    expect_ends(NULL, NULL, "graphs");
    expect_ends("HOSTCUDA_SEED", "3", "graphs");
}

TEST(test_products)
{
    expect_ends(NULL, NULL, "products");
}

/* Children that the process forks while its threads multiply end, too: no lock is held by who is not there. */
TEST(test_forks)
{
    expect_ends("OPENBLAS_NUM_THREADS", "1", "forks"); /* fork() may wait for ever for threads of its own */
}

TEST(test_tools)
{
    expect_ends("BG_SHADOW", "calls", "graphs");
    expect_ends("BG_TRACE", "/dev/null", "graphs");
    expect_ends("BG_CHECK", "replay", "graphs");
    expect_ends("BG_DEBUG", "step", "graphs");
}

static int setup_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/breakgraph-exit.XXXXXX");
    return mkdtemp(directory) == NULL;
}

/* Takes its files away, and counts those of processes that have told of their end. */
static int clear_directory(void)
{
    const struct dirent *entry;
    DIR *files = opendir(directory);
    int ended = 0;

    assert_non_null(files);
    while ((entry = readdir(files)) != NULL) {
        char path[sizeof directory + sizeof entry->d_name + 1], text[1024];
        FILE *file;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        file = fopen(path, "r");
        assert_non_null(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        assert_int_equal(ferror(file), 0);
        assert_int_equal(fclose(file), 0);
        ended += strncmp(entry->d_name, "process-", 8) == 0 && strstr(text, "\"ended\": true") != NULL;
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(closedir(files), 0);
    return ended;
}

static int teardown_directory(void **state)
{
    (void)state;
    (void)clear_directory();
    return rmdir(directory);
}

TEST_F(test_record, setup_directory, teardown_directory, void *state)
{
    expect_ends("BG_REPORT", directory, "graphs");
    assert_int_equal(clear_directory(), ROUNDS);
    expect_ends("BG_REPORT", directory, "child");
    assert_int_equal(clear_directory(), 2 * ROUNDS);
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return run_program(argv[1], argv[2]);
    program = argv[0];
    return run_registered_tests(NULL);
}
