#include "ccurl.h"

#if defined(__linux__)

#include "library.h"
#include "sessions.h"

#include <pthread.h>
#include <stdlib.h>

struct ccurl_sessions {
    void *share;
    // libcurl guards the sessions and its own count of handles separately. Handles are made and freed on any thread.
    pthread_mutex_t guards[CCURL_LOCK_DATA_LAST];
};

static void lock(void *easy, int data, int access, void *context) {
    (void)easy, (void)access;
    ccurl_sessions *sessions = context;
    pthread_mutex_lock(&sessions->guards[data]);
}

static void unlock(void *easy, int data, void *context) {
    (void)easy;
    ccurl_sessions *sessions = context;
    pthread_mutex_unlock(&sessions->guards[data]);
}

ccurl_sessions *ccurl_sessions_new(void) {
    if (ccurl_shares_sessions()) return NULL;
    ccurl_sessions *sessions = calloc(1, sizeof *sessions);
    if (!sessions) return NULL;
    sessions->share = ccurl_api.share_init();
    if (!sessions->share) {
        free(sessions);
        return NULL;
    }
    for (int i = 0; i < CCURL_LOCK_DATA_LAST; i++) pthread_mutex_init(&sessions->guards[i], NULL);
    ccurl_api.share_setopt(sessions->share, CCURLSHOPT_USERDATA, sessions);
    ccurl_api.share_setopt(sessions->share, CCURLSHOPT_LOCKFUNC, lock);
    ccurl_api.share_setopt(sessions->share, CCURLSHOPT_UNLOCKFUNC, unlock);
    // A libcurl without TLS refuses, and then has nothing to share.
    ccurl_api.share_setopt(sessions->share, CCURLSHOPT_SHARE, CCURL_LOCK_DATA_SSL_SESSION);
    return sessions;
}

void ccurl_sessions_use(ccurl_sessions *sessions, void *easy) {
    if (sessions) ccurl_api.easy_setopt(easy, CCURLOPT_SHARE, sessions->share);
}

void ccurl_sessions_free(ccurl_sessions *sessions) {
    if (!sessions) return;
    ccurl_api.share_cleanup(sessions->share);
    for (int i = 0; i < CCURL_LOCK_DATA_LAST; i++) pthread_mutex_destroy(&sessions->guards[i]);
    free(sessions);
}

#endif
