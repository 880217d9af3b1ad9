#include "ccurl.h"

#if defined(__linux__)

#include "handles.h"
#include "library.h"
#include "share.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

// How many handles wait to be used, and how many to be freed, at most. Each is a few kilobytes; one to be freed has the
// head of its response, too.
enum { MOST_IN_STOCK = 64 };

typedef struct {
    int count;
    void *handles[MOST_IN_STOCK];
} stock;

struct ccurl_handles {
    ccurl_share *share;
    atomic_int holders;
    pthread_mutex_t guard;
    // Those to use, and those to free.
    stock fresh, spent;
};

// Puts a handle into a stock. Returns false if the stock is full.
static bool put(ccurl_handles *handles, stock *stock, void *easy) {
    pthread_mutex_lock(&handles->guard);
    bool has_room = stock->count < MOST_IN_STOCK;
    if (has_room) stock->handles[stock->count++] = easy;
    pthread_mutex_unlock(&handles->guard);
    return has_room;
}

// Takes a handle out of a stock. Returns NULL if there is none.
static void *take(ccurl_handles *handles, stock *stock) {
    pthread_mutex_lock(&handles->guard);
    void *easy = stock->count > 0 ? stock->handles[--stock->count] : NULL;
    pthread_mutex_unlock(&handles->guard);
    return easy;
}

ccurl_handles *ccurl_handles_new(void) {
    ccurl_handles *handles = calloc(1, sizeof *handles);
    if (!handles) return NULL;
    handles->share = ccurl_share_new();
    atomic_init(&handles->holders, 1);
    pthread_mutex_init(&handles->guard, NULL);
    return handles;
}

ccurl_handles *ccurl_handles_hold(ccurl_handles *handles) {
    atomic_fetch_add_explicit(&handles->holders, 1, memory_order_relaxed);
    return handles;
}

// Frees a handle of a stock. Returns false if there is none.
static bool clean_up(ccurl_handles *handles, stock *stock) {
    void *easy = take(handles, stock);
    if (easy) ccurl_api.easy_cleanup(easy);
    return easy;
}

void ccurl_handles_release(ccurl_handles *handles) {
    if (!handles || atomic_fetch_sub_explicit(&handles->holders, 1, memory_order_acq_rel) > 1) return;
    while (clean_up(handles, &handles->fresh) || clean_up(handles, &handles->spent)) {}
    ccurl_share_free(handles->share);
    pthread_mutex_destroy(&handles->guard);
    free(handles);
}

void *ccurl_handles_create(ccurl_handles *handles) {
    void *easy = ccurl_api.easy_init();
    if (easy) ccurl_share_use(handles->share, easy);
    return easy;
}

void *ccurl_handles_exchange(ccurl_handles *handles, void *spent) {
    if (!put(handles, &handles->spent, spent)) ccurl_api.easy_cleanup(spent);
    void *easy = take(handles, &handles->fresh);
    if (!easy) easy = ccurl_handles_create(handles);
    // There may be memory once another is freed.
    if (!easy && clean_up(handles, &handles->spent)) easy = ccurl_handles_create(handles);
    return easy;
}

void ccurl_handles_renew(ccurl_handles *handles) {
    while (clean_up(handles, &handles->spent)) {
        void *easy = ccurl_handles_create(handles);
        if (easy && !put(handles, &handles->fresh, easy)) ccurl_api.easy_cleanup(easy);
    }
}

#endif
