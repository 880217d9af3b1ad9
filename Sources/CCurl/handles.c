#include "ccurl.h"

#if defined(__linux__)

#include "handles.h"
#include "library.h"
#include "origins.h"
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
    // Those to use, and those to free, of each loop.
    stock fresh[CCURL_MOST_LOOPS], spent[CCURL_MOST_LOOPS];
    // Those that asked for HTTP/1.1, and whether there are any, which is known without the guard.
    ccurl_origins http1;
    atomic_bool has_http1;
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
    for (int loop = 0; loop < CCURL_MOST_LOOPS; loop++) ccurl_handles_clean_up(handles, loop);
    ccurl_share_free(handles->share);
    pthread_mutex_destroy(&handles->guard);
    free(handles);
}

void *ccurl_handles_create(ccurl_handles *handles) {
    void *easy = ccurl_api.easy_init();
    if (easy) ccurl_share_use(handles->share, easy);
    return easy;
}

void *ccurl_handles_exchange(ccurl_handles *handles, void *spent, int loop) {
    if (!put(handles, &handles->spent[loop], spent)) ccurl_api.easy_cleanup(spent);
    void *easy = take(handles, &handles->fresh[loop]);
    if (!easy) easy = ccurl_handles_create(handles);
    // There may be memory once another is freed.
    if (!easy && clean_up(handles, &handles->spent[loop])) easy = ccurl_handles_create(handles);
    return easy;
}

void ccurl_handles_renew(ccurl_handles *handles, int loop) {
    while (clean_up(handles, &handles->spent[loop])) {
        void *easy = ccurl_handles_create(handles);
        if (easy && !put(handles, &handles->fresh[loop], easy)) ccurl_api.easy_cleanup(easy);
    }
}

void ccurl_handles_clean_up(ccurl_handles *handles, int loop) {
    while (clean_up(handles, &handles->fresh[loop]) || clean_up(handles, &handles->spent[loop])) {}
}

void ccurl_handles_note_http1(ccurl_handles *handles, uint64_t origin) {
    pthread_mutex_lock(&handles->guard);
    ccurl_origins_add(&handles->http1, origin);
    pthread_mutex_unlock(&handles->guard);
    atomic_store_explicit(&handles->has_http1, true, memory_order_release);
}

bool ccurl_handles_have_http1(ccurl_handles *handles, uint64_t origin) {
    if (!atomic_load_explicit(&handles->has_http1, memory_order_acquire)) return false;
    pthread_mutex_lock(&handles->guard);
    bool is_known = ccurl_origins_contains(&handles->http1, origin);
    pthread_mutex_unlock(&handles->guard);
    return is_known;
}

#endif
