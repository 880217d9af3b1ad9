// The sockets that the shim opened, in lists by their own port, where the connection of a transfer is found.
#ifndef CCURL_PORTS_H
#define CCURL_PORTS_H

#include "watches.h"

// Adds a socket whose port is not known yet; and, if it is one of HTTP/3, to the list of those.
void ccurl_ports_join(ccurl_sockets *sockets, int socket);
void ccurl_ports_leave(ccurl_sockets *sockets, int socket);
// Returns the first socket in the list of its port that may be that connection, or the next one after
// `socket`; -1 if there is none. There may be several: two hosts can be reached from one port.
int ccurl_ports_next_known(const ccurl_sockets *sockets, const ccurl_connection *connection, int socket);
// The same, where the socket may have been connected a moment ago.
int ccurl_ports_next(ccurl_sockets *sockets, const ccurl_connection *connection, int socket);

#endif
