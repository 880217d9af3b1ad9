// What the TLS library of a connection says about it, while libcurl works on a transfer.
#ifndef CCURL_TLS_H
#define CCURL_TLS_H

#include "transfer.h"

// Whether unread bytes of the other side are sure to be noticed on the transfer's connection. Under TLS they may be
// with its library, which cannot be asked for them if it names no session, if it is linked into libcurl, so that its
// functions are not found, and if it is one that the shim does not know. Plain http has a session if its proxy is
// reached over TLS; where libcurl may hide that, any proxy may be.
bool ccurl_tls_shows_unread(const ccurl_transfer *transfer);
// Whether the TLS library may hold unread bytes of the other side.
bool ccurl_tls_may_have_unread(const ccurl_transfer *transfer);
// Whether the connection has a session of a TLS library that cannot be asked for them.
bool ccurl_tls_hides_unread(const ccurl_transfer *transfer);
// Whether client and server have agreed on HTTP/2.
bool ccurl_tls_has_agreed_on_http2(const ccurl_transfer *transfer);

#endif
