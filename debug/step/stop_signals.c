#include "stop_signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* The command and the terminal may send one signal each, and timeout(1) a third. */
enum { PATIENCE = 3 };

static const int signals[] = {SIGINT, SIGTERM};
static const char *const names[] = {"SIGINT", "SIGTERM"};
enum { SIGNALS = sizeof signals / sizeof *signals };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int held; /* of both generations */
static int holds[2];    /* by generation: the first hold after a signal begins a new one, so that overlapping walks
                           of several threads do not defer a signal for ever */
static int generation;
static bool turned;                      /* a new generation has begun since the signal came */
static pid_t process;                    /* the process that defers; forked children do not */
static struct sigaction before[SIGNALS]; /* the program's handlers */
static atomic_bool spent[SIGNALS];       /* a one-shot handler (SA_RESETHAND), which has run */
static atomic_int noted;                 /* 1 + index in signals of the first signal; 0: none */
static atomic_int ending;                /* the same for the first signal that would end the program */
static atomic_int count;

static int place_of(int signal)
{
    return signal == signals[0] ? 0 : 1;
}

static void note(atomic_int *first, int place)
{
    int none = 0;
    (void)atomic_compare_exchange_strong(first, &none, place + 1);
}

/* Whether the signal would end the program without a walk. In a child, or if the program restores note_signal after a
 * walk, the handler does only that. */
static bool is_default(int place)
{
    return before[place].sa_handler == SIG_DFL ||
           ((before[place].sa_flags & (int)SA_RESETHAND) != 0 && atomic_exchange(&spent[place], true));
}

static void end_program(int signal)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    (void)sigaction(signal, &action, NULL);
    (void)raise(signal); /* blocked until the handler returns */
}

static void note_signal(int signal, siginfo_t *info, void *context)
{
    const int place = place_of(signal);
    const struct sigaction *old = &before[place];
    const bool walks = atomic_load(&held) > 0 && process == getpid(), ends = is_default(place);

    if (walks)
        note(&noted, place);
    if (walks && ends)
        note(&ending, place);
    if (ends && (!walks || atomic_fetch_add(&count, 1) >= PATIENCE))
        end_program(signal);
    else if (ends || old->sa_handler == SIG_IGN)
        return;
    else if ((old->sa_flags & SA_SIGINFO) != 0)
        old->sa_sigaction(signal, info, context);
    else
        old->sa_handler(signal);
}

/* A program that uses signal() restores the handler without SA_SIGINFO, so only the address is compared. */
static bool is_noting(int signal, struct sigaction *now)
{
    return sigaction(signal, NULL, now) == 0 && now->sa_sigaction == note_signal;
}

/* The program's handler runs as the program installed it: with its mask, on its stack, with or without EINTR. */
static void install(int place)
{
    struct sigaction action = {.sa_flags = 0}, *old = &before[place];

    if (is_noting(signals[place], &action)) /* the program saved our handler in an earlier walk, and restored it */
        return;
    *old = action; /* note_signal reads it */
    atomic_store(&spent[place], false);
    if (old->sa_handler == SIG_IGN)
        return;
    if (old->sa_handler == SIG_DFL) {
        sigemptyset(&action.sa_mask);
        action.sa_flags = SA_RESTART;
    }
    action.sa_sigaction = note_signal;
    action.sa_flags = (action.sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
    (void)sigaction(signals[place], &action, NULL);
}

/* Keeps a handler that the program has installed during the walk. */
static void restore(int place)
{
    struct sigaction now = {.sa_flags = 0};

    if (!is_noting(signals[place], &now))
        return;
    if (atomic_load(&spent[place]))
        before[place].sa_handler = SIG_DFL;
    (void)sigaction(signals[place], &before[place], NULL);
}

static void forget_signals(void)
{
    atomic_store(&noted, 0);
    atomic_store(&ending, 0);
    atomic_store(&count, 0);
    turned = false;
}

int bg__stop_signals_hold(void)
{
    int hold;

    pthread_mutex_lock(&lock);
    if (atomic_load(&held) == 0) {
        forget_signals();
        process = getpid();
        for (int i = 0; i < SIGNALS; i++)
            install(i);
    } else if (atomic_load(&noted) != 0 && !turned) {
        turned = true;
        generation = 1 - generation;
    }
    hold = generation;
    holds[hold]++;
    atomic_fetch_add(&held, 1);
    pthread_mutex_unlock(&lock);
    return hold;
}

void bg__stop_signals_release(int hold)
{
    int again = 0;
    bool last;

    pthread_mutex_lock(&lock);
    holds[hold]--;
    last = atomic_fetch_sub(&held, 1) == 1;
    if (last || (turned && hold != generation && holds[hold] == 0)) {
        again = process == getpid() ? atomic_load(&ending) : 0;
        for (int i = 0; i < SIGNALS; i++)
            if (last || i == again - 1)
                restore(i);
        forget_signals();
    }
    pthread_mutex_unlock(&lock);
    if (again != 0)
        (void)kill(getpid(), signals[again - 1]); /* not raise(): this thread may block the signal */
}

const char *bg__stop_signals_noted(void)
{
    int place = atomic_load_explicit(&noted, memory_order_relaxed) - 1;
    return place >= 0 ? names[place] : NULL;
}
