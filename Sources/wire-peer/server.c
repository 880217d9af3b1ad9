// A small HTTP/1.1 server for measurements, fast enough not to be the bottleneck. It supports five requests:
//   GET /small            a small JSON model
//   GET /list             a JSON array of 115 of those, ten kilobytes
//   GET /bytes/<count>    that many bytes
//   GET /silent           no response
//   POST or PUT, any      reads the body, responds with the model
#include "peer.h"

#if defined(__linux__)

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MODEL "{\"id\":7,\"name\":\"Ann Example\",\"mail\":\"ann@example.com\",\"friends\":[1,2,3],\"active\":true}"

// The buffer for a head and the beginning of a body; this server does not accept larger heads.
#define ROOM 65536

typedef struct {
    int socket;
    size_t length;
    char bytes[ROOM];
    // The number of bytes of a large response that are still to be sent.
    unsigned long long left;
    // The number of bytes of a body of known length that are still to be read.
    unsigned long long body;
    // Whether a chunked body is being read, and its last bytes: it ends with an empty chunk.
    int in_chunks;
    char tail[5];
} peer;

static char filler[1 << 18];

static int send_all(int socket, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return 0;
        bytes += sent;
        count -= (size_t)sent;
    }
    return 1;
}

static int send_model(peer *peer) {
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s";
    char bytes[512];
    int length = snprintf(bytes, sizeof bytes, answer, strlen(MODEL), MODEL);
    return send_all(peer->socket, bytes, (size_t)length);
}

static int send_list(peer *peer) {
    enum { COUNT = 115 };
    char bytes[COUNT * sizeof MODEL + 256];
    size_t size = COUNT * sizeof MODEL + 1;
    int length = snprintf(
        bytes, sizeof bytes, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", size);
    // Each model, of which the size counts the terminating zero, is followed by one byte.
    for (int i = 0; i < COUNT; i++)
        length += snprintf(bytes + length, sizeof bytes - (size_t)length, "%c%s", i == 0 ? '[' : ',', MODEL);
    bytes[length++] = ']';
    return send_all(peer->socket, bytes, (size_t)length);
}

static int begin_bytes(peer *peer, unsigned long long count) {
    char head[128];
    int length = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\n\r\n", count);
    peer->left = count;
    return send_all(peer->socket, head, (size_t)length);
}

// Consumes the received bytes of a request's body; returns 1 if the body is complete.
static int take_body(peer *peer) {
    if (peer->in_chunks) {
        for (size_t i = peer->length > 5 ? peer->length - 5 : 0; i < peer->length; i++) {
            memmove(peer->tail, peer->tail + 1, 4);
            peer->tail[4] = peer->bytes[i];
        }
        peer->length = 0;
        if (memcmp(peer->tail, "0\r\n\r\n", 5) != 0) return 0;
        peer->in_chunks = 0;
        return 1;
    }
    unsigned long long taken = peer->length < peer->body ? peer->length : peer->body;
    peer->body -= taken;
    memmove(peer->bytes, peer->bytes + taken, peer->length - taken);
    peer->length -= taken;
    return peer->body == 0;
}

static const char *field(const char *head, const char *name) {
    const char *found = strcasestr(head, name);
    return found ? found + strlen(name) : NULL;
}

// Responds to the requests that are complete; returns 0 if the connection is to be closed.
static int serve(peer *peer) {
    while (1) {
        if (peer->left > 0) return 1;
        if (peer->body > 0 || peer->in_chunks) {
            if (!take_body(peer)) return 1;
            if (!send_model(peer)) return 0;
            continue;
        }
        char *end = memmem(peer->bytes, peer->length, "\r\n\r\n", 4);
        if (!end) return peer->length < ROOM;
        *end = 0;
        size_t head = (size_t)(end - peer->bytes) + 4;
        unsigned long long count = 0;
        int is_bytes = sscanf(peer->bytes, "GET /bytes/%llu", &count) == 1;
        int is_list = strncmp(peer->bytes, "GET /list ", 10) == 0;
        int is_silent = strncmp(peer->bytes, "GET /silent", 11) == 0;
        int has_body = strncmp(peer->bytes, "POST", 4) == 0 || strncmp(peer->bytes, "PUT", 3) == 0;
        if (has_body) {
            const char *length = field(peer->bytes, "\nContent-Length:");
            peer->body = length ? strtoull(length, NULL, 10) : 0;
            peer->in_chunks = !length;
        }
        memmove(peer->bytes, peer->bytes + head, peer->length - head);
        peer->length -= head;
        int is_uploading = has_body && (peer->body > 0 || peer->in_chunks);
        int is_open = is_bytes  ? begin_bytes(peer, count)
                      : is_list ? send_list(peer)
                                : is_silent || is_uploading || send_model(peer);
        if (!is_open) return 0;
    }
}

static int pour(peer *peer) {
    while (peer->left > 0) {
        size_t count = peer->left < sizeof filler ? (size_t)peer->left : sizeof filler;
        ssize_t sent = send(peer->socket, filler, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) return errno == EAGAIN || errno == EINTR;
        peer->left -= (unsigned long long)sent;
    }
    return 1;
}

int peer_serve(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1024) ||
        getsockname(listener, (struct sockaddr *)&address, &length))
        return 1;
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    int poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    struct epoll_event events[128];
    while (1) {
        int count = epoll_wait(poll, events, 128, -1);
        for (int i = 0; i < count; i++) {
            peer *peer = events[i].data.ptr;
            if (!peer) {
                int socket = accept(listener, NULL, NULL);
                if (socket < 0 || !(peer = calloc(1, sizeof *peer))) continue;
                peer->socket = socket;
                int yes = 1;
                setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
                event = (struct epoll_event){.events = EPOLLIN, .data.ptr = peer};
                epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event);
                continue;
            }
            int is_open = 1;
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
                ssize_t got = recv(peer->socket, peer->bytes + peer->length, ROOM - peer->length, MSG_DONTWAIT);
                if (got > 0) peer->length += (size_t)got;
                is_open = got > 0 || (got < 0 && errno == EAGAIN);
            }
            int was_pouring = peer->left > 0;
            if (is_open) is_open = pour(peer) && serve(peer) && pour(peer);
            if (!is_open) {
                close(peer->socket);
                free(peer);
            } else if (was_pouring != (peer->left > 0)) {
                event = (struct epoll_event){.events = peer->left > 0 ? EPOLLOUT : EPOLLIN, .data.ptr = peer};
                epoll_ctl(poll, EPOLL_CTL_MOD, peer->socket, &event);
            }
        }
    }
}

#endif
