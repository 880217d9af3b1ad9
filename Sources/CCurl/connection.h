// What is known of the connection of a transfer. It is a part of the transfer; the records of sockets point to it.
#ifndef CCURL_CONNECTION_H
#define CCURL_CONNECTION_H

#include "ccurl.h"

// The connection on which libcurl has begun to send a request, where it says so (7.80 and later).
typedef enum { CCURL_UNCONNECTED = 0, CCURL_ON_NEW_CONNECTION, CCURL_ON_KEPT_CONNECTION } ccurl_connection_kind;

typedef struct {
    ccurl_connection_kind kind;
    // How many sockets were opened for it, and the errno with which the system refused one, or a connection to a Unix
    // socket; 0 if it did not.
    int opened, refusal;
    // When the first of them was, in microseconds; 0 if none was.
    int64_t opened_at;
    // The ports of the connection on which the request was sent last, where libcurl names them.
    int to_port, from_port;
    // The number of its socket's file, if that is one of HTTP/2 on which a response had come before; and how many
    // requests had begun on it by then, with this one. 0 if that does not matter.
    uint64_t shared;
    int64_t number;
    // The descriptor of the connection that was made for it, plus one; 0 if that is not known. Whether other requests
    // use it too, or might.
    int made_socket;
    bool is_joined;
    // The descriptor of the kept HTTP/1 connection that it runs on, plus one; 0 if there is none.
    int kept_socket;
    // Whether it ran on one.
    bool was_kept;
    // Whether it leaves one for the next request.
    bool is_left;
    // Whether the kept connection that it runs on is one of HTTP/1, or may be.
    bool may_be_http1;
    // Whether the server has certainly seen nothing of the request, although it was sent.
    bool is_unseen;
} ccurl_connection;

#endif
