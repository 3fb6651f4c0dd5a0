#include "stop_signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* The command and the terminal may send one signal each, and timeout(1) a third. */
enum { DEFERRED_MAX = 3 };

static const int signals[] = {SIGINT, SIGTERM};
static const char *const names[] = {"SIGINT", "SIGTERM"};
enum { SIGNALS = sizeof signals / sizeof *signals };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int deferral_count;   /* of both generations */
static int generation_deferrals[2]; /* the number of deferrals of each generation. The first deferral after a signal
                                     * begins a new generation, so that overlapping walks of several threads do not
                                     * defer a signal for ever */
static int generation;
static bool generation_switched;                  /* a new generation has begun since the signal came */
static pid_t process;                             /* the process that defers; forked children do not */
static struct sigaction program_actions[SIGNALS]; /* the program's handlers */
static atomic_bool handler_spent[SIGNALS];        /* a one-shot handler (SA_RESETHAND), which has run */
static atomic_int first_received;                 /* index in `signals` of the first signal, from 1; 0: none */
static atomic_int first_fatal;                    /* the same for the first signal that would end the program */
static atomic_int received_count;

static int signal_index(int signal)
{
    return signal == signals[0] ? 0 : 1;
}

static void store_first(atomic_int *first, int place)
{
    int none = 0;
    (void)atomic_compare_exchange_strong(first, &none, place + 1);
}

/* Whether the signal would end the program without a walk. In a child, or if the program restores handle_signal after a
 * walk, the handler does only that. */
static bool ends_program(int place)
{
    return program_actions[place].sa_handler == SIG_DFL ||
           ((program_actions[place].sa_flags & (int)SA_RESETHAND) != 0 && atomic_exchange(&handler_spent[place], true));
}

static void end_by_signal(int signal)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    (void)sigaction(signal, &action, NULL);
    (void)raise(signal); /* blocked until the handler returns */
}

static void handle_signal(int signal, siginfo_t *info, void *context)
{
    const int place = signal_index(signal);
    const struct sigaction *old = &program_actions[place];
    const bool walks = atomic_load(&deferral_count) > 0 && process == getpid(), ends = ends_program(place);

    if (walks)
        store_first(&first_received, place);
    if (walks && ends)
        store_first(&first_fatal, place);
    if (ends && (!walks || atomic_fetch_add(&received_count, 1) >= DEFERRED_MAX))
        end_by_signal(signal);
    else if (ends || old->sa_handler == SIG_IGN)
        return;
    else if ((old->sa_flags & SA_SIGINFO) != 0)
        old->sa_sigaction(signal, info, context);
    else
        old->sa_handler(signal);
}

/* A program that uses signal() restores the handler without SA_SIGINFO, so only the address is compared. */
static bool is_handler_installed(int signal, struct sigaction *now)
{
    return sigaction(signal, NULL, now) == 0 && now->sa_sigaction == handle_signal;
}

/* The program's handler runs as the program installed it: with its mask, on its stack, with or without EINTR. */
static void install_handler(int place)
{
    struct sigaction action = {.sa_flags = 0}, *old = &program_actions[place];

    if (is_handler_installed(signals[place],
                             &action)) /* the program saved our handler in an earlier walk, and restored it */
        return;
    *old = action; /* handle_signal reads it */
    atomic_store(&handler_spent[place], false);
    if (old->sa_handler == SIG_IGN)
        return;
    if (old->sa_handler == SIG_DFL) {
        sigemptyset(&action.sa_mask);
        action.sa_flags = SA_RESTART;
    }
    action.sa_sigaction = handle_signal;
    action.sa_flags = (action.sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
    (void)sigaction(signals[place], &action, NULL);
}

/* Keeps a handler that the program has installed during the walk. */
static void restore_handler(int place)
{
    struct sigaction now = {.sa_flags = 0};

    if (!is_handler_installed(signals[place], &now))
        return;
    if (atomic_load(&handler_spent[place]))
        program_actions[place].sa_handler = SIG_DFL;
    (void)sigaction(signals[place], &program_actions[place], NULL);
}

static void reset_signals_locked(void)
{
    atomic_store(&first_received, 0);
    atomic_store(&first_fatal, 0);
    atomic_store(&received_count, 0);
    generation_switched = false;
}

int bg__stop_signals_defer(void)
{
    int hold;

    pthread_mutex_lock(&lock);
    if (atomic_load(&deferral_count) == 0) {
        reset_signals_locked();
        process = getpid();
        for (int i = 0; i < SIGNALS; i++)
            install_handler(i);
    } else if (atomic_load(&first_received) != 0 && !generation_switched) {
        generation_switched = true;
        generation = 1 - generation;
    }
    hold = generation;
    generation_deferrals[hold]++;
    atomic_fetch_add(&deferral_count, 1);
    pthread_mutex_unlock(&lock);
    return hold;
}

void bg__stop_signals_release(int hold)
{
    int again = 0;
    bool last;

    pthread_mutex_lock(&lock);
    generation_deferrals[hold]--;
    last = atomic_fetch_sub(&deferral_count, 1) == 1;
    if (last || (generation_switched && hold != generation && generation_deferrals[hold] == 0)) {
        again = process == getpid() ? atomic_load(&first_fatal) : 0;
        for (int i = 0; i < SIGNALS; i++)
            if (last || i == again - 1)
                restore_handler(i);
        reset_signals_locked();
    }
    pthread_mutex_unlock(&lock);
    if (again != 0)
        (void)kill(getpid(), signals[again - 1]); /* not raise(): this thread may block the signal */
}

const char *bg__stop_signals_received(void)
{
    int place = atomic_load_explicit(&first_received, memory_order_relaxed) - 1;
    return place >= 0 ? names[place] : NULL;
}
