#include "unread.h"

#if defined(__linux__)

#include "ports.h"

#include <sys/epoll.h>

// How long the loop waits for something to come, in microseconds: on a busy connection, something does.
#define LONGEST_PAUSE 1000

void ccurl_unread_note(ccurl_sockets *sockets, const ccurl_connection *connection, int64_t now) {
    for (int i = ccurl_ports_next(sockets, connection, -1); i >= 0; i = ccurl_ports_next(sockets, connection, i)) {
        ccurl_watch *watch = &sockets->watches[i];
        // Only if another request is left. Of HTTP/3, libcurl takes all packets that have come.
        if (!(watch->wanted & EPOLLIN) || watch->is_http1 || watch->is_http3) continue;
        watch->may_have_unread = true;
        if (sockets->unread_due < 0) sockets->unread_due = now + LONGEST_PAUSE;
    }
}

int ccurl_unread_take(ccurl_sockets *sockets, int socket) {
    for (size_t i = (size_t)(socket + 1); i < sockets->capacity; i++) {
        ccurl_watch *watch = &sockets->watches[i];
        if (!watch->may_have_unread) continue;
        watch->may_have_unread = false;
        if (watch->wanted & EPOLLIN) return (int)i;
    }
    return -1;
}

#endif
