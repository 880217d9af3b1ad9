// Which descriptors of libcurl's own a program that is started inherits: none.
//
// Those that the shim opens are closed when a program is started. libcurl opens some by itself: two sockets, or a pipe,
// with each multi handle, for curl_multi_wakeup, which nothing here calls otherwise, and in older versions two sockets
// with each lookup. Newer versions close them, too. A program that is started within the microseconds until that is set
// inherits them.
#ifndef CCURL_INHERITANCE_H
#define CCURL_INHERITANCE_H

// Returns a multi handle; NULL if there is no memory, or no descriptor left.
void *ccurl_new_multi(void);
// Keeps a descriptor from programs that are started.
void ccurl_keep_from_children(int descriptor);

#endif
