// The body of a request.
#ifndef CCURL_UPLOAD_H
#define CCURL_UPLOAD_H

#include "transfer.h"

// Whether there is no body, or one that is so small that it leaves with the head.
bool ccurl_upload_leaves_with_head(const ccurl_upload *upload);
// Whether some of the transfer's body is left to send. Of a stream this is not known.
bool ccurl_upload_has_more(const ccurl_transfer *transfer);

#endif
