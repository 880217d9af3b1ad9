#include "ports.h"

#if defined(__linux__)

#include "system.h"

static void join_list(ccurl_sockets *sockets, int socket) {
    ccurl_watch *watch = &sockets->watches[socket];
    int *list = &sockets->lists[watch->from_port];
    watch->next = *list;
    *list = socket + 1;
}

static void leave_list(ccurl_sockets *sockets, int socket) {
    ccurl_watch *watch = &sockets->watches[socket];
    int *link = &sockets->lists[watch->from_port];
    while (*link > 0 && *link != socket + 1) link = &sockets->watches[*link - 1].next;
    if (*link > 0) *link = watch->next;
    watch->next = 0;
}

void ccurl_ports_join(ccurl_sockets *sockets, int socket) {
    join_list(sockets, socket);
    ccurl_watch *watch = &sockets->watches[socket];
    if (!watch->is_http3) return;
    watch->next_http3 = sockets->http3;
    sockets->http3 = socket + 1;
}

void ccurl_ports_leave(ccurl_sockets *sockets, int socket) {
    leave_list(sockets, socket);
    if (!sockets->watches[socket].is_http3) return;
    int *link = &sockets->http3;
    while (*link > 0 && *link != socket + 1) link = &sockets->watches[*link - 1].next_http3;
    if (*link > 0) *link = sockets->watches[socket].next_http3;
}

// Moves the sockets that are connected by now to the lists of their ports.
static void sort_connected(ccurl_sockets *sockets) {
    int socket = sockets->lists[0] - 1;
    while (socket >= 0) {
        int next = sockets->watches[socket].next - 1;
        int own = 0, other = 0;
        // The system is asked once for each connection.
        if (ccurl_ports_of(socket, &own, &other)) {
            leave_list(sockets, socket);
            sockets->watches[socket].from_port = own;
            sockets->watches[socket].to_port = other;
            join_list(sockets, socket);
        }
        socket = next;
    }
}

int ccurl_ports_next_known(const ccurl_sockets *sockets, const ccurl_connection *connection, int socket) {
    if (connection->from_port <= 0 || connection->from_port >= CCURL_PORTS) return -1;
    int i = socket < 0 ? sockets->lists[connection->from_port] : sockets->watches[socket].next;
    while (i > 0 && sockets->watches[i - 1].to_port != connection->to_port) i = sockets->watches[i - 1].next;
    return i - 1;
}

int ccurl_ports_next(ccurl_sockets *sockets, const ccurl_connection *connection, int socket) {
    if (socket < 0) sort_connected(sockets);
    return ccurl_ports_next_known(sockets, connection, socket);
}

#endif
