// The programs that errand-bench compares with: `wire-peer serve`, and `wire-peer loop <url> <transfers> <seconds>`,
// which a file of certificates to trust may follow.
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
#if defined(__linux__)
    if (count == 2 && strcmp(arguments[1], "serve") == 0) return peer_serve();
    if ((count == 5 || count == 6) && strcmp(arguments[1], "loop") == 0)
        return peer_loop(arguments[2], atoi(arguments[3]), atof(arguments[4]), count == 6 ? arguments[5] : NULL);
#endif
    (void)arguments;
    fprintf(stderr, "wire-peer is run by errand-bench, on Linux\n");
    return count > 0;
}
