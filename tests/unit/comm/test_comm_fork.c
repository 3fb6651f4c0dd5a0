/* A child of a rank's process has no part in its communicator: each call says so, and the ranks go on. */
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include <dirent.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/parts.h"

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

#define EXPECT_REFUSED(call) EXPECT_SAID(call, BG_ERROR_INVALID_ARGUMENT, "this process was forked from it")

static void refuse_operations(const struct member *m)
{
    int64_t number = 0, all[RANKS_MAX];
    EXPECT(bg_comm_rank(m->comm) == m->rank && bg_comm_size(m->comm) == m->size);
    EXPECT_SAID(bg_comm_barrier(m->comm, "x"), BG_ERROR_INVALID_ARGUMENT, "bg_comm_barrier");
    EXPECT_REFUSED(bg_comm_barrier(m->comm, "x"));
    EXPECT_REFUSED(bg_comm_agree(m->comm, "x", "y"));
    EXPECT_REFUSED(bg_comm_max(m->comm, "x", 1, &number));
    EXPECT_REFUSED(bg_comm_gather(m->comm, "x", &number, sizeof number, all));
    EXPECT_REFUSED(bg_comm_check(m->comm));
    EXPECT(!bg_comm_nccl(m->comm));
    bg_comm_abort(m->comm, "a child gives up");
}

static void refuse_ranks(const bg_ranks *ranks)
{
    bool any;
    EXPECT_REFUSED(ranks->barrier(ranks->user, "x"));
    EXPECT_REFUSED(ranks->agree(ranks->user, "x", "y"));
    EXPECT_REFUSED(ranks->any(ranks->user, "x", true, &any));
    EXPECT_REFUSED(ranks->enter(ranks->user, "bucket 8", 0, 1));
    EXPECT_REFUSED(ranks->step(ranks->user, 0, "segment 0", NULL));
    ranks->leave(ranks->user);
}

/* By exec: what the parent's threads had is still in the child's memory, and valgrind would call it lost. */
static _Noreturn void end_child(void)
{
    (void)execl("/bin/true", "true", (char *)NULL);
    _exit(1);
}

/* What holds the communicator is released first or last. */
static _Noreturn void be_child(const struct member *m, bool destroy_first)
{
    const bg_ranks *ranks = m->ranks;
    int before = open_files(), own = m->size > 1 ? 2 * (m->rank == 0 ? m->size - 1 : 1) : 0;
    alarm(20); /* a lock that nobody gives back */
    refuse_operations(m);
    refuse_ranks(ranks);
    ranks->retain(ranks->user);
    if (destroy_first)
        bg_comm_destroy(m->comm);
    ranks->release(ranks->user);
    ranks->release(ranks->user);
    EXPECT(destroy_first || open_files() == before);
    if (!destroy_first)
        bg_comm_destroy(m->comm);
    EXPECT(open_files() == before - own - 2); /* and two events */
    end_child();
}

/* As if the watchdog's thread, which the child does not have, held each lock at that moment. */
static void hold(bg_comm *comm, int (*how)(pthread_mutex_t *lock))
{
    (void)how(&comm->link.sending);
    (void)how(&comm->link.lock);
    (void)how(&comm->track.lock);
    (void)how(&comm->nccl_lock);
}

static void expect_end(pid_t child)
{
    int status;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(status == 0);
}

static void forks(struct member *m)
{
    EXPECT_BG(join(m));
    m->ranks->retain(m->comm); /* as a graph does */
    for (int i = 0; i < 2; i++) {
        pid_t child;
        hold(m->comm, pthread_mutex_lock);
        child = fork();
        if (child == 0)
            be_child(m, i > 0);
        hold(m->comm, pthread_mutex_unlock);
        expect_end(child);
        EXPECT_BG(bg_comm_barrier(m->comm, "after the child"));
        EXPECT_BG(bg_comm_check(m->comm));
        EXPECT(bg_comm_nccl(m->comm) != NULL);
    }
    m->ranks->release(m->comm);
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
MEMBERS_TEST(test_later_process, 2)
{
    pid_t child;
    EXPECT_BG(join(m));
    m->ranks->retain(m->comm);
    child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0)
            be_child(m, false);
        bg_comm_destroy(m->comm);
        m->ranks->release(m->comm);
        expect_end(grandchild);
        end_child();
    }
    expect_end(child);
    EXPECT_BG(bg_comm_barrier(m->comm, "after the child"));
    m->ranks->release(m->comm);
}
#endif
