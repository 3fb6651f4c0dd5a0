/* What a walk that notes SIGINT and SIGTERM leaves of the program's own handlers. Each case is a process of its own. */
#include "debug/step/stop_signals.h"
#include "tests/support/tools/finding_support.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t handled, on_stack, masked;
static char *stack;

static void count(int signal)
{
    char here;
    sigset_t mask;
    (void)signal;
    handled++;
    on_stack = &here >= stack && &here < stack + SIGSTKSZ; /* NOLINT: sysconf may be called here */
    masked = sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGTERM) == 1;
}

static void set_action(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGTERM);
    (void)sigaction(SIGINT, &action, NULL);
}

static void demand(bool condition)
{
    if (!condition)
        _exit(1);
}

static void default_with_info(void)
{
    set_action(SIG_DFL, SA_SIGINFO);
    int hold = bg__stop_signals_defer();
    (void)raise(SIGINT);
    demand(bg__stop_signals_received() != NULL);
    bg__stop_signals_release(hold);
}

static void install_meanwhile(void)
{
    int hold = bg__stop_signals_defer();
    (void)signal(SIGINT, count);
    bg__stop_signals_release(hold);
    (void)raise(SIGINT);
    demand(handled == 1);
}

static void install_default_meanwhile(void)
{
    set_action(count, 0);
    int hold = bg__stop_signals_defer();
    (void)signal(SIGINT, SIG_DFL);
    bg__stop_signals_release(hold);
    (void)raise(SIGINT);
}

static void handle_once(void)
{
    set_action(count, (int)SA_RESETHAND);
    int hold = bg__stop_signals_defer();
    (void)raise(SIGINT);
    bg__stop_signals_release(hold);
    demand(handled == 1);
    (void)raise(SIGINT);
}

static void handle_once_of_two(void)
{
    set_action(count, (int)SA_RESETHAND);
    int hold = bg__stop_signals_defer();
    (void)raise(SIGINT);
    (void)raise(SIGINT);
    demand(handled == 1);
    bg__stop_signals_release(hold);
}

/* A program that has saved the handler of a walk, and sets it again behind the walk. */
static void restore_late(void)
{
    void (*saved)(int);
    set_action(count, 0);
    int hold = bg__stop_signals_defer();
    saved = signal(SIGINT, SIG_IGN);
    bg__stop_signals_release(hold);
    (void)signal(SIGINT, saved);
    (void)raise(SIGINT);
    demand(handled == 1);
    hold = bg__stop_signals_defer();
    (void)raise(SIGINT);
    demand(handled == 2 && bg__stop_signals_received() != NULL);
    bg__stop_signals_release(hold);
}

static void keep_rules(void)
{
    struct sigaction now;
    stack = malloc(SIGSTKSZ);
    demand(stack != NULL && sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = SIGSTKSZ}, NULL) == 0);
    set_action(count, SA_ONSTACK | SA_NODEFER);
    int hold = bg__stop_signals_defer();
    demand(sigaction(SIGINT, NULL, &now) == 0 && (now.sa_flags & SA_RESTART) == 0); /* reads end with EINTR */
    demand((now.sa_flags & SA_NODEFER) != 0);
    (void)raise(SIGINT);
    bg__stop_signals_release(hold);
    demand(handled == 1 && on_stack && masked);
}

static void signal_child(void)
{
    int status;
    int hold = bg__stop_signals_defer();
    pid_t child = fork();
    if (child == 0) {
        (void)raise(SIGTERM);
        _exit(0);
    }
    demand(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    bg__stop_signals_release(hold);
}

/* Another walk begins before the one that the signal stops has ended. */
static void overlap(void)
{
    int first = bg__stop_signals_defer(), second;
    (void)raise(SIGTERM);
    second = bg__stop_signals_defer();
    bg__stop_signals_release(first);
    demand(false);
    bg__stop_signals_release(second);
}

/* The same with a handler: the second walk is not stopped by what came before it. */
static void overlap_handled(void)
{
    set_action(count, 0);
    int first = bg__stop_signals_defer();
    (void)raise(SIGINT);
    int second = bg__stop_signals_defer();
    demand(bg__stop_signals_received() != NULL);
    bg__stop_signals_release(first);
    demand(bg__stop_signals_received() == NULL);
    (void)raise(SIGINT);
    demand(handled == 2 && bg__stop_signals_received() != NULL);
    bg__stop_signals_release(second);
    (void)raise(SIGINT);
    demand(handled == 3);
}

TEST(test_default_with_info)
{
    EXPECT_CHILD(default_with_info, 128 + SIGINT);
}

TEST(test_handlers_of_the_program_stay)
{
    EXPECT_CHILD(install_meanwhile, 0);
    EXPECT_CHILD(install_default_meanwhile, 128 + SIGINT);
    EXPECT_CHILD(restore_late, 0);
}

TEST(test_handlers_for_one_signal)
{
    EXPECT_CHILD(handle_once, 128 + SIGINT);
    EXPECT_CHILD(handle_once_of_two, 128 + SIGINT);
}

TEST(test_rules_of_a_handler)
{
    EXPECT_CHILD(keep_rules, 0);
}

TEST(test_child)
{
    EXPECT_CHILD(signal_child, 0);
}

TEST(test_walks_that_overlap)
{
    EXPECT_CHILD(overlap, 128 + SIGTERM);
    EXPECT_CHILD(overlap_handled, 0);
}
