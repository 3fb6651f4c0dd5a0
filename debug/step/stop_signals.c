#include "stop_signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

/* The command and the terminal may send one each, and timeout(1) a third. */
enum { PATIENCE = 3 };

static const int signals[] = {SIGINT, SIGTERM};
static const char *const names[] = {"SIGINT", "SIGTERM"};
enum { SIGNALS = sizeof signals / sizeof *signals };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int held;
static struct sigaction before[SIGNALS];
static atomic_int noted; /* 1 + the place in signals of the first; 0: none */
static atomic_int count;

static int place_of(int signal)
{
    return signal == signals[0] ? 0 : 1;
}

static void note_signal(int signal, siginfo_t *info, void *context)
{
    int place = place_of(signal), none = 0;
    const struct sigaction *old = &before[place];

    (void)atomic_compare_exchange_strong(&noted, &none, place + 1);
    if (atomic_fetch_add(&count, 1) >= PATIENCE && old->sa_handler == SIG_DFL) {
        (void)sigaction(signal, old, NULL);
        (void)raise(signal); /* blocked until this handler returns */
    } else if ((old->sa_flags & SA_SIGINFO) != 0) {
        old->sa_sigaction(signal, info, context);
    } else if (old->sa_handler != SIG_DFL) {
        old->sa_handler(signal);
    }
}

void bg__stop_signals_hold(void)
{
    pthread_mutex_lock(&lock);
    if (held++ == 0) {
        atomic_store(&noted, 0);
        atomic_store(&count, 0);
        for (int i = 0; i < SIGNALS; i++) {
            struct sigaction action = {.sa_sigaction = note_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
            sigemptyset(&action.sa_mask);
            (void)sigaction(signals[i], NULL, &before[i]); /* the handler reads it */
            if (before[i].sa_handler != SIG_IGN)
                (void)sigaction(signals[i], &action, NULL);
        }
    }
    pthread_mutex_unlock(&lock);
}

void bg__stop_signals_release(void)
{
    int again = 0;

    pthread_mutex_lock(&lock);
    if (--held == 0) {
        int place = atomic_load(&noted) - 1;
        for (int i = 0; i < SIGNALS; i++)
            if (before[i].sa_handler != SIG_IGN)
                (void)sigaction(signals[i], &before[i], NULL);
        if (place >= 0 && before[place].sa_handler == SIG_DFL)
            again = signals[place];
        atomic_store(&noted, 0);
    }
    pthread_mutex_unlock(&lock);
    if (again != 0)
        (void)raise(again);
}

const char *bg__stop_signals_noted(void)
{
    int place = atomic_load_explicit(&noted, memory_order_relaxed) - 1;
    return place >= 0 ? names[place] : NULL;
}
