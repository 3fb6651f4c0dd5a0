/* Runs every conformance case on this machine's GPU and writes what CUDA answers: record FILE. Built for cuda alone. */
#include "cases.h"
#include "expected.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_MAX = 300, CASE_SECONDS_MAX = 60 };

static bool read_line(const char *command, char *text)
{
    FILE *pipe = popen(command, "r");
    bool read = pipe && fgets(text, TEXT_MAX, pipe);
    if (pipe && pclose(pipe) != 0)
        read = false;
    text[read ? strcspn(text, "\n") : 0] = 0;
    return read && text[0];
}

static bool describe_machine(char *gpu, char *driver)
{
    struct cudaDeviceProp properties;
    char number[TEXT_MAX];
    int driver_api = 0, runtime = 0;
    cudaError_t error = cudaGetDeviceProperties(&properties, 0);
    if (!error)
        error = cudaDriverGetVersion(&driver_api);
    if (!error)
        error = cudaRuntimeGetVersion(&runtime);
    if (error) {
        fprintf(stderr, "record: needs a GPU: %s\n", cudaGetErrorString(error));
        return false;
    }
    if (!read_line("nvidia-smi --id=0 --query-gpu=driver_version --format=csv,noheader", number)) {
        fprintf(stderr, "record: nvidia-smi does not tell the driver's version; put it on PATH\n");
        return false;
    }
    snprintf(gpu, TEXT_MAX, "%.200s (compute capability %d.%d)", properties.name, properties.major, properties.minor);
    snprintf(driver, TEXT_MAX, "%.100s, for CUDA %d.%d; runtime of CUDA %d.%d", number, driver_api / 1000,
             driver_api % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return true;
}

/* ---- the cases, in processes of their own ----------------------------------------------------------------------- */

/* The child: appends the rows of every case from the given one on, and says after each that it is done. It ends early,
 * with success, when a case has left the GPU unusable for this process. */
static int record_from(size_t first, const char *path)
{
    static struct scene scene;
    const struct case_rule *rule;
    FILE *file = fopen(path, "a");
    bool good = file != NULL;
    for (size_t i = first; good && (rule = case_rule_at(i)); i++) {
        const struct case_body *body = rule->body;
        alarm(CASE_SECONDS_MAX);
        case_run(body, &scene);
        if (scene.wrong[0])
            fprintf(stderr, "record: %s: %s\n", body->name, scene.wrong);
        expected_write(file, body, &scene);
        good = fflush(file) == 0;
        putchar(scene.wrong[0] ? '!' : '.');
        good = fflush(stdout) == 0 && good;
        if (cudaDeviceSynchronize() != cudaSuccess)
            break;
    }
    if (file && fclose(file) != 0)
        good = false;
    return good ? 0 : 1;
}

static pid_t start_child(size_t first, const char *path, int *pipe_end)
{
    char number[TEXT_MAX];
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    snprintf(number, sizeof number, "%zu", first);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "record", "--from", number, path, (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    *pipe_end = ends[0];
    if (child < 0)
        close(ends[0]);
    return child;
}

/* Runs cases from the given one on, in one child. Gives how many were run to their end; broken counts those that
 * mean nothing. -1: no child could be started. */
static long run_child(size_t first, const char *path, int *status, int *broken)
{
    int pipe_end = -1;
    long done = 0;
    char mark;
    pid_t child = start_child(first, path, &pipe_end);
    if (child < 0)
        return -1;
    while (read(pipe_end, &mark, 1) == 1) {
        done++;
        *broken += mark == '!';
    }
    close(pipe_end);
    return waitpid(child, status, 0) == child ? done : -1;
}

/* A case that ends its process, or hangs, is broken, and the next process goes on behind it. */
static bool record(const char *path)
{
    size_t next = 0;
    int broken = 0;
    while (case_rule_at(next)) {
        int status = 0;
        long done = run_child(next, path, &status, &broken);
        if (done < 0) {
            fprintf(stderr, "record: no process could be started\n");
            return false;
        }
        next += (size_t)done;
        if (!case_rule_at(next) || (done > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0))
            continue;
        fprintf(stderr, "record: %s ended its process, status %#x\n", case_rule_at(next)->body->name, (unsigned)status);
        broken++;
        next++;
    }
    printf("%zu cases, %d of them broken\n", next, broken);
    return !broken;
}

static int write_file(const char *path, const char *gpu, const char *driver)
{
    char fresh[TEXT_MAX + 8];
    snprintf(fresh, sizeof fresh, "%.*s.new", TEXT_MAX, path);
    FILE *file = fopen(fresh, "w");
    bool written = file != NULL;
    if (written) {
        expected_write_head(file, gpu, driver);
        written = fclose(file) == 0;
    }
    if (!written) {
        fprintf(stderr, "record: %s cannot be written\n", fresh);
        return 1;
    }
    if (!record(fresh)) {
        fprintf(stderr, "record: %s is left as it was; what was found lies in %s\n", path, fresh);
        return 1;
    }
    if (rename(fresh, path) == 0)
        return 0;
    fprintf(stderr, "record: %s cannot be renamed to %s\n", fresh, path);
    return 1;
}

int main(int argc, char **argv)
{
    char gpu[TEXT_MAX], driver[TEXT_MAX];
    if (argc == 4 && strcmp(argv[1], "--from") == 0)
        return record_from(strtoul(argv[2], NULL, 10), argv[3]);
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        fprintf(stderr, "usage: record [FILE]      (%s)\n", EXPECTED_FILE);
        return 2;
    }
    if (!describe_machine(gpu, driver))
        return 1;
    return write_file(argc == 2 ? argv[1] : EXPECTED_FILE, gpu, driver);
}
