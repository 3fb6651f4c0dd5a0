/* A child of a rank's process has no part in its communicator: each call says so, and the ranks go on. */
#include "tests/support/test.h"
#include <stdint.h>
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include <dirent.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/parts.h"

static const char sentence[] = "this process was forked from it";

static int open_files(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

static int refuses_operations(const struct member *m, bg_comm *comm)
{
    int64_t number = 0, all[RANKS_MAX];
    EXPECT(bg_comm_rank(comm) == m->rank && bg_comm_size(comm) == m->size);
    EXPECT_SAID(bg_comm_barrier(comm, "x"), BG_ERROR_INVALID_ARGUMENT, "bg_comm_barrier");
    EXPECT_SAID(bg_comm_barrier(comm, "x"), BG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SAID(bg_comm_agree(comm, "x", "y"), BG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SAID(bg_comm_max(comm, "x", 1, &number), BG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SAID(bg_comm_gather(comm, "x", &number, sizeof number, all), BG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SAID(bg_comm_check(comm), BG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT(!bg_comm_nccl(comm));
    bg_comm_abort(comm, "a child gives up");
    return 0;
}

static int refuses_ranks(const bg_ranks *ranks)
{
    bool any;
    EXPECT_SAID(ranks->barrier(ranks->user, "x"), BG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SAID(ranks->agree(ranks->user, "x", "y"), BG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SAID(ranks->any(ranks->user, "x", true, &any), BG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SAID(ranks->enter(ranks->user, "bucket 8", 0, 1), BG_ERROR_INVALID_ARGUMENT, sentence);
    EXPECT_SAID(ranks->step(ranks->user, 0, "segment 0", NULL), BG_ERROR_INVALID_ARGUMENT, sentence);
    ranks->leave(ranks->user);
    return 0;
}

/* What holds the communicator is released first or last. */
static int be_child(const struct member *m, bg_comm *comm, bool destroy_first)
{
    const bg_ranks *ranks = bg_comm_ranks(comm);
    int before = open_files(), own = m->size > 1 ? 2 * (m->rank == 0 ? m->size - 1 : 1) : 0;
    alarm(20); /* a lock that nobody gives back */
    if (refuses_operations(m, comm) || refuses_ranks(ranks))
        return 1;
    ranks->retain(ranks->user);
    if (destroy_first)
        bg_comm_destroy(comm);
    ranks->release(ranks->user);
    ranks->release(ranks->user);
    EXPECT(destroy_first || open_files() == before);
    if (!destroy_first)
        bg_comm_destroy(comm);
    EXPECT(open_files() == before - own - 2); /* and two events */
    return 0;
}

/* By exec: what the parent's threads had is still in the child's memory, and valgrind would call it lost. */
static _Noreturn void end_child(bool good)
{
    if (good)
        (void)execl("/bin/true", "true", (char *)NULL);
    _exit(1);
}

/* As if the watchdog's thread, which the child does not have, held each lock at that moment. */
static void hold(bg_comm *comm, int (*how)(pthread_mutex_t *lock))
{
    (void)how(&comm->link.sending);
    (void)how(&comm->link.lock);
    (void)how(&comm->track.lock);
    (void)how(&comm->nccl_lock);
}

static int forks(struct member *m)
{
    bg_comm *comm = NULL;
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    bg_comm_ranks(comm)->retain(comm); /* as a graph does */
    for (int i = 0; i < 2; i++) {
        pid_t child;
        int status;
        hold(comm, pthread_mutex_lock);
        child = fork();
        if (child == 0)
            end_child(be_child(m, comm, i > 0) == 0);
        hold(comm, pthread_mutex_unlock);
        EXPECT(waitpid(child, &status, 0) == child);
        EXPECT(status == 0);
        EXPECT_BG(bg_comm_barrier(comm, "after the child"));
        EXPECT_BG(bg_comm_check(comm));
        EXPECT(bg_comm_nccl(comm) != NULL);
    }
    bg_comm_ranks(comm)->release(comm);
    bg_comm_destroy(comm);
    return 0;
}

TEST(test_forks)
{
    need_ranks(1);
    for (int size = 1; size <= ranks_possible(); size *= 2) {
        run_members(size, forks, NULL);
        for (int i = 0; i < size; i++)
            assert_non_null(strstr(members_said[i], "bg_comm_abort: the communicator is the parent's"));
    }
}

/* A child that forks again. */
static int later_process(struct member *m)
{
    bg_comm *comm = NULL;
    pid_t child;
    int status;
    EXPECT_BG(bg_comm_create(&comm, &m->options));
    bg_comm_ranks(comm)->retain(comm);
    child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0)
            end_child(be_child(m, comm, false) == 0);
        bg_comm_destroy(comm);
        bg_comm_ranks(comm)->release(comm);
        end_child(waitpid(grandchild, &status, 0) == grandchild && status == 0);
    }
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(status == 0);
    EXPECT_BG(bg_comm_barrier(comm, "after the child"));
    bg_comm_ranks(comm)->release(comm);
    bg_comm_destroy(comm);
    return 0;
}

TEST(test_later_process)
{
    need_ranks(2);
    run_members(2, later_process, NULL);
}
#else
SKIP_PROGRAM("there is no NCCL");
#endif
