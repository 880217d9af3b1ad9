// What is left unread on a connection that requests share.
//
// A TLS library may read more from a socket than libcurl has taken from it; from 8.15 on, libcurl has OpenSSL do that.
// A request takes all there is, and leaves to others what is theirs. But it stops when its own response has ended, or
// when it is canceled. What is left then shows neither at the socket nor, with 8.23, to libcurl: the others would wait
// until something more comes. So the loop has libcurl read on, unless something comes at once.
#ifndef CCURL_UNREAD_H
#define CCURL_UNREAD_H

#include "watches.h"

// Notes that a request over TLS has ended, and reads no further on its connection.
void ccurl_unread_note(ccurl_sockets *sockets, const ccurl_connection *connection, int64_t now);
// Takes the next socket after `socket` on which libcurl is to read on; -1 if there is none.
int ccurl_unread_take(ccurl_sockets *sockets, int socket);

#endif
