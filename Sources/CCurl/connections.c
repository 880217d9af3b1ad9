#include "ccurl.h"

#if defined(__linux__)

#include "library.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define INFO_NEW_CONNECTIONS 0x20001A
#define INFO_TO_PORT 0x200028
#define INFO_FROM_PORT 0x20002A
#define INFO_SOCKET 0x50002C

// The sockets of connections that are kept, by their ports: libcurl tells the socket at the end of a transfer only. An entry
// may be out of date, so it is a hint.
static _Atomic int sockets[1 << 16];

static _Atomic int *socket_between(int to_port, int from_port) {
    return &sockets[(unsigned)(to_port * 31 ^ from_port) % (sizeof sockets / sizeof *sockets)];
}

void ccurl_remember_socket(ccurl_transfer *transfer) {
    int socket = -1;
    if (transfer->is_encrypted || ccurl_api.easy_getinfo(transfer->easy, INFO_SOCKET, &socket) != 0 || socket < 0) return;
    *socket_between(ccurl_get_long(transfer, INFO_TO_PORT), ccurl_get_long(transfer, INFO_FROM_PORT)) = socket;
}

static int has_port(int (*ask)(int, struct sockaddr *, socklen_t *), int socket, int port) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (ask(socket, (struct sockaddr *)&address, &length) != 0) return 0;
    if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port) == port;
    return address.ss_family == AF_INET6 && ntohs(((struct sockaddr_in6 *)&address)->sin6_port) == port;
}

// Whether bytes have come on a connection that is to be used again: libcurl 7.88 would take them for the next answer. On an
// encrypted one they may be TLS's own, or HTTP/2's.
int ccurl_is_stale(ccurl_transfer *transfer, int to_port, int from_port) {
    if (transfer->is_encrypted || ccurl_get_long(transfer, INFO_NEW_CONNECTIONS) > 0) return 0;
    int socket = *socket_between(to_port, from_port);
    char byte;
    if (socket <= 0 || recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) return 0;
    return has_port(getpeername, socket, to_port) && has_port(getsockname, socket, from_port);
}

#endif
