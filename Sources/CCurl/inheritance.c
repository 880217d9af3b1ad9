#include "inheritance.h"

#if defined(__linux__)

#include "library.h"
#include "system.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// How far from the lowest free descriptor those of a multi handle are looked for: other threads may open some at
// the same time.
enum { NEAR = 64 };

void ccurl_keep_from_children(int descriptor) {
    int flags = fcntl(descriptor, F_GETFD);
    if (flags >= 0 && !(flags & FD_CLOEXEC)) fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
}

static int lowest_free(void) {
    int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) close(descriptor);
    return descriptor;
}

static bool is_local_socket(int descriptor) {
    int domain = 0;
    socklen_t length = sizeof domain;
    return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX;
}

// Whether it is an end of two connected sockets or of a pipe, in which bytes are under way, or in which none are.
static bool is_pair(int descriptor, bool has_bytes) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) return false;
    if (!S_ISFIFO(status.st_mode) && !is_local_socket(descriptor)) return false;
    return has_bytes == (ccurl_unread(descriptor) > 0 || ccurl_unacknowledged(descriptor) > 0);
}

// libcurl does not say which they are. But when it is told to wake up, a byte is under way between these and no others
// that are new.
void *ccurl_new_multi(void) {
    int first = lowest_free();
    bool was_open[NEAR];
    for (int i = 0; i < NEAR && first >= 0; i++) was_open[i] = fcntl(first + i, F_GETFD) >= 0;
    void *multi = ccurl_api.multi_init();
    if (!multi || first < 0) return multi;
    bool was_silent[NEAR];
    for (int i = 0; i < NEAR; i++) was_silent[i] = !was_open[i] && is_pair(first + i, false);
    ccurl_api.multi_wakeup(multi);
    for (int i = 0; i < NEAR; i++)
        if (was_silent[i] && is_pair(first + i, true)) ccurl_keep_from_children(first + i);
    return multi;
}

#endif
