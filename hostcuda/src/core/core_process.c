#include "hostcuda/src/core/core_process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct process_facts {
    char state;
    unsigned long threads;
    unsigned long long started;
};

/* proc(5): the state is the third field. It follows the name, which may contain any characters. */
static bool parse_process(char *text, struct process_facts *process_facts)
{
    enum { STATE = 3, THREADS = 20, STARTED = 22 };
    char *rest = NULL, *at = strrchr(text, ')');
    if (!at)
        return false;
    char *word = strtok_r(at + 1, " ", &rest);
    for (int field = STATE; word && field <= STARTED; field++) {
        if (field == STATE)
            process_facts->state = *word;
        if (field == THREADS)
            process_facts->threads = strtoul(word, NULL, 10);
        if (field == STARTED)
            process_facts->started = strtoull(word, NULL, 10);
        if (field == STARTED)
            return true;
        word = strtok_r(NULL, " ", &rest);
    }
    return false;
}

static bool read_process(int pid, struct process_facts *process_facts)
{
    char path[48], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    ssize_t length = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    if (length <= 0)
        return false;
    text[length] = 0;
    return parse_process(text, process_facts);
}

uint64_t hc_process_start_time(int pid)
{
    struct process_facts process_facts = {0};
    return read_process(pid, &process_facts) ? process_facts.started : 0;
}

bool hc_process_alive(int pid, uint64_t started)
{
    struct process_facts process_facts = {0};
    if (!read_process(pid, &process_facts) || process_facts.started != started)
        return false;
    /* a process whose main thread has exited looks like a zombie, but has other threads */
    bool over = process_facts.state == 'Z' || process_facts.state == 'X';
    return !over || process_facts.threads > 1;
}
