#include "ccurl.h"

#if defined(__linux__)

#include "handles.h"
#include "library.h"
#include "sessions.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

// How many handles wait to be used, and how many to be freed, at most. Each is a few kilobytes; one to be freed has the
// head of its response, too.
enum { MOST_IN_STOCK = 64 };

typedef struct {
    int count;
    void *handles[MOST_IN_STOCK];
} stock;

struct ccurl_handles {
    ccurl_sessions *sessions;
    atomic_int holders;
    pthread_mutex_t guard;
    // Those to use, and those to free.
    stock fresh, spent;
};

static bool put(stock *stock, void *easy) {
    if (stock->count == MOST_IN_STOCK) return false;
    stock->handles[stock->count++] = easy;
    return true;
}

static void *take(stock *stock) { return stock->count > 0 ? stock->handles[--stock->count] : NULL; }

ccurl_handles *ccurl_handles_new(void) {
    ccurl_handles *handles = calloc(1, sizeof *handles);
    if (!handles) return NULL;
    handles->sessions = ccurl_sessions_new();
    atomic_init(&handles->holders, 1);
    pthread_mutex_init(&handles->guard, NULL);
    return handles;
}

ccurl_handles *ccurl_handles_hold(ccurl_handles *handles) {
    atomic_fetch_add_explicit(&handles->holders, 1, memory_order_relaxed);
    return handles;
}

static void clean_up(stock *stock) {
    for (void *easy; (easy = take(stock));) ccurl_api.easy_cleanup(easy);
}

void ccurl_handles_release(ccurl_handles *handles) {
    if (!handles || atomic_fetch_sub_explicit(&handles->holders, 1, memory_order_acq_rel) > 1) return;
    clean_up(&handles->fresh);
    clean_up(&handles->spent);
    ccurl_sessions_free(handles->sessions);
    pthread_mutex_destroy(&handles->guard);
    free(handles);
}

void *ccurl_handles_create(ccurl_handles *handles) {
    void *easy = ccurl_api.easy_init();
    if (easy) ccurl_sessions_use(handles->sessions, easy);
    return easy;
}

void *ccurl_handles_exchange(ccurl_handles *handles, void *spent) {
    pthread_mutex_lock(&handles->guard);
    if (put(&handles->spent, spent)) spent = NULL;
    void *easy = take(&handles->fresh);
    pthread_mutex_unlock(&handles->guard);
    if (spent) ccurl_api.easy_cleanup(spent);
    if (!easy) easy = ccurl_handles_create(handles);
    if (easy) return easy;
    // There may be memory once another is freed.
    pthread_mutex_lock(&handles->guard);
    spent = take(&handles->spent);
    pthread_mutex_unlock(&handles->guard);
    if (!spent) return NULL;
    ccurl_api.easy_cleanup(spent);
    return ccurl_handles_create(handles);
}

void ccurl_handles_renew(ccurl_handles *handles) {
    stock spent;
    pthread_mutex_lock(&handles->guard);
    spent.count = handles->spent.count;
    memcpy(spent.handles, handles->spent.handles, (size_t)spent.count * sizeof *spent.handles);
    handles->spent.count = 0;
    int lacking = MOST_IN_STOCK - handles->fresh.count;
    pthread_mutex_unlock(&handles->guard);
    if (spent.count < lacking) lacking = spent.count;
    clean_up(&spent);
    for (; lacking > 0; lacking--) {
        void *easy = ccurl_handles_create(handles);
        if (!easy) return;
        pthread_mutex_lock(&handles->guard);
        bool is_kept = put(&handles->fresh, easy);
        pthread_mutex_unlock(&handles->guard);
        if (!is_kept) ccurl_api.easy_cleanup(easy);
    }
}

#endif
