#include "watches.h"

#if defined(__linux__)

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

ccurl_watch *ccurl_watch_of(ccurl_sockets *sockets, int socket) {
    if ((size_t)socket >= sockets->capacity) {
        size_t capacity = (size_t)socket * 2 + 64;
        pthread_mutex_lock(&sockets->guard);
        ccurl_watch *moved = realloc(sockets->watches, capacity * sizeof *moved);
        if (moved) {
            memset(moved + sockets->capacity, 0, (capacity - sockets->capacity) * sizeof *moved);
            sockets->watches = moved;
            sockets->capacity = capacity;
        }
        pthread_mutex_unlock(&sockets->guard);
        if (!moved) return NULL;
    }
    return &sockets->watches[socket];
}

bool ccurl_sockets_watch(ccurl_sockets *sockets, int socket, ccurl_watch *watch, uint32_t events) {
    if (watch->watched == events) return true;
    struct epoll_event event = {.events = events, .data.fd = socket};
    bool is_done;
    if (!events) {
        // If this fails, the socket is gone and is not watched either.
        epoll_ctl(sockets->epoll, EPOLL_CTL_DEL, socket, &event);
        is_done = true;
    } else {
        // A socket that libcurl opened itself may be another one by now.
        int change = watch->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
        is_done = epoll_ctl(sockets->epoll, change, socket, &event) == 0;
        if (!is_done && errno == ENOENT) is_done = epoll_ctl(sockets->epoll, EPOLL_CTL_ADD, socket, &event) == 0;
        if (!is_done && errno == EEXIST) is_done = epoll_ctl(sockets->epoll, EPOLL_CTL_MOD, socket, &event) == 0;
    }
    watch->watched = is_done ? events : 0;
    return is_done;
}

#endif
