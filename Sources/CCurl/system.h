// What the system says about a socket.
#ifndef CCURL_SYSTEM_H
#define CCURL_SYSTEM_H

#include "ccurl.h"

// Returns the number of the socket behind the descriptor, which no other open file has; 0 if there is none.
uint64_t ccurl_inode_of(int socket);
// Returns how many bytes the other side has acknowledged, or how many were received; -1 if the system does not know. It
// does since Linux 4.1.
int64_t ccurl_acknowledged(int socket);
int64_t ccurl_received(int socket);
// Returns how many bytes were sent and are not acknowledged, or have come and are unread; -1 if the system does not
// know.
int64_t ccurl_unacknowledged(int socket);
int64_t ccurl_unread(int socket);
// Returns the ports of a connection. Returns false for a socket that is not connected.
bool ccurl_ports_of(int socket, int *own_port, int *other_port);

#endif
