// For sched_getaffinity.
#define _GNU_SOURCE
#include "system.h"

#if defined(__linux__)

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

int ccurl_bound_cores(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

uint64_t ccurl_inode_of(int socket) {
    struct stat status;
    return fstat(socket, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

// The kernel's struct tcp_info, whose end the C library's headers may lack: tcpi_bytes_acked is at byte 120, and
// tcpi_bytes_received follows.
typedef union {
    char bytes[256];
    struct {
        int64_t others[15], acknowledged, received;
    };
} connection_info;

static bool ask_info(int socket, connection_info *info) {
    socklen_t length = sizeof *info;
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, info, &length) == 0 && length >= 17 * sizeof(int64_t);
}

int64_t ccurl_acknowledged(int socket) {
    connection_info info;
    return ask_info(socket, &info) ? info.acknowledged : -1;
}

int64_t ccurl_received(int socket) {
    connection_info info;
    return ask_info(socket, &info) ? info.received : -1;
}

static int64_t ask_count(int socket, unsigned long question) {
    int count = 0;
    return ioctl(socket, question, &count) == 0 ? count : -1;
}

int64_t ccurl_unacknowledged(int socket) { return ask_count(socket, SIOCOUTQ); }
int64_t ccurl_unread(int socket) { return ask_count(socket, FIONREAD); }

bool ccurl_ports_of(int socket, int *own_port, int *other_port) {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } own, other;
    socklen_t own_length = sizeof own, other_length = sizeof other;
    if (getsockname(socket, &own.any, &own_length) != 0) return false;
    if (getpeername(socket, &other.any, &other_length) != 0) return false;
    // The port is at the same place in both.
    *own_port = ntohs(own.four.sin_port);
    *other_port = ntohs(other.four.sin_port);
    return *own_port > 0;
}

#endif
