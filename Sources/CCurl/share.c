#include "ccurl.h"

#if defined(__linux__)

#include "library.h"
#include "share.h"

#include <pthread.h>
#include <stdlib.h>

struct ccurl_share {
    void *libcurls;
    // libcurl guards what is shared and its own count of handles separately. Handles are made and freed on any thread.
    pthread_mutex_t guards[CCURL_LOCK_DATA_LAST];
};

static void lock(void *easy, int data, int access, void *context) {
    (void)easy, (void)access;
    ccurl_share *share = context;
    pthread_mutex_lock(&share->guards[data]);
}

static void unlock(void *easy, int data, void *context) {
    (void)easy;
    ccurl_share *share = context;
    pthread_mutex_unlock(&share->guards[data]);
}

ccurl_share *ccurl_share_new(void) {
    ccurl_share *share = calloc(1, sizeof *share);
    if (!share) return NULL;
    share->libcurls = ccurl_api.share_init();
    if (!share->libcurls) {
        free(share);
        return NULL;
    }
    for (int i = 0; i < CCURL_LOCK_DATA_LAST; i++) pthread_mutex_init(&share->guards[i], NULL);
    ccurl_api.share_setopt(share->libcurls, CCURLSHOPT_USERDATA, share);
    ccurl_api.share_setopt(share->libcurls, CCURLSHOPT_LOCKFUNC, lock);
    ccurl_api.share_setopt(share->libcurls, CCURLSHOPT_UNLOCKFUNC, unlock);
    ccurl_api.share_setopt(share->libcurls, CCURLSHOPT_SHARE, CCURL_LOCK_DATA_DNS);
    // A libcurl without TLS refuses, and then has nothing to share.
    ccurl_api.share_setopt(share->libcurls, CCURLSHOPT_SHARE, CCURL_LOCK_DATA_SSL_SESSION);
    return share;
}

void ccurl_share_use(ccurl_share *share, void *easy) {
    if (share) ccurl_api.easy_setopt(easy, CCURLOPT_SHARE, share->libcurls);
}

void ccurl_share_free(ccurl_share *share) {
    if (!share) return;
    ccurl_api.share_cleanup(share->libcurls);
    for (int i = 0; i < CCURL_LOCK_DATA_LAST; i++) pthread_mutex_destroy(&share->guards[i]);
    free(share);
}

#endif
