// The transfer, for the other files of the shim: only transfer.c and callbacks.c know its fields.
//
// A transfer is in one of these states:
//
//   PREPARING    Its options are set. libcurl does not know it.
//   CONNECTING   libcurl has it: it looks up the host, connects, or waits for a connection.
//   SENDING      libcurl has a connection, and sends the request. Before 7.80 it does not say so, and this state is
//                skipped.
//   RECEIVING    Bytes of a response have come. Some of the request may still have to be sent.
//   ENDED        libcurl has let go of it. What has come can be read.
//   LEFT     libcurl has kept the handle, whose lookup it cannot break off. The transfer has none.
//
// What moves it:
//
//   ccurl_transfer_start       PREPARING                        ->  CONNECTING
//   libcurl is about to send   CONNECTING                       ->  SENDING
//   bytes come                 CONNECTING, SENDING              ->  RECEIVING
//   ccurl_transfer_end         CONNECTING, SENDING, RECEIVING   ->  ENDED
//   ccurl_transfer_restart…    ENDED                            ->  CONNECTING
//   ccurl_transfer_leave      CONNECTING                       ->  LEFT
//   ccurl_transfer_reset       PREPARING, ENDED, LEFT       ->  PREPARING
#ifndef CCURL_TRANSFER_H
#define CCURL_TRANSFER_H

#include "head.h"
#include "loop.h"

// libcurl's handle; NULL once the transfer is without one.
void *ccurl_transfer_easy(const ccurl_transfer *transfer);
ccurl_loop *ccurl_transfer_loop(const ccurl_transfer *transfer);
const ccurl_hooks *ccurl_transfer_hooks(const ccurl_transfer *transfer);
const ccurl_head *ccurl_transfer_lines(const ccurl_transfer *transfer);
// What belongs to upload.c, to sockets.c and to fairness.c.
ccurl_upload *ccurl_transfer_upload(ccurl_transfer *transfer);
ccurl_connection *ccurl_transfer_connection(ccurl_transfer *transfer);
ccurl_rest *ccurl_transfer_rest(ccurl_transfer *transfer);
// libcurl's own words about a failure; they may be empty.
const char *ccurl_transfer_words(const ccurl_transfer *transfer);
ccurl_reason ccurl_transfer_reason(const ccurl_transfer *transfer);
ccurl_repetition ccurl_transfer_repetition(const ccurl_transfer *transfer);
ccurl_http3 ccurl_transfer_http3(const ccurl_transfer *transfer);
// Whether nothing of it was sent on its kept connection, which is one of HTTP/3, and it can begin again: only when it
// sends does libcurl notice that the server has closed such a connection.
bool ccurl_transfer_is_unsent_over_http3(ccurl_transfer *transfer);
// Notes that the kept connection that it was to use is not fit for it, which ends the transfer.
void ccurl_transfer_note_stale(ccurl_transfer *transfer);
// Notes that there is no connection of HTTP/3 for it, which ends the transfer.
void ccurl_transfer_note_lack_of_http3(ccurl_transfer *transfer);
// When it was added to the loop, in microseconds.
int64_t ccurl_transfer_started(const ccurl_transfer *transfer);
bool ccurl_transfer_is_encrypted(const ccurl_transfer *transfer);
// Whether the response is handed over as it comes.
bool ccurl_transfer_is_streamed(const ccurl_transfer *transfer);
// Whether the response is paused: by a hook, or because it has used up its share.
bool ccurl_transfer_is_paused(const ccurl_transfer *transfer);
// Whether the transfer, which runs, has no connection yet on which it can be sent.
bool ccurl_transfer_is_connecting(const ccurl_transfer *transfer);
// When the first socket was opened for it, in microseconds; 0 if none was.
int64_t ccurl_transfer_opened_at(const ccurl_transfer *transfer);
// Whether libcurl has begun to send the request on some connection.
bool ccurl_transfer_was_sent(const ccurl_transfer *transfer);
// Whether all bytes of the response's body have come by its Content-Length, and none is kept back.
bool ccurl_transfer_has_whole_body(const ccurl_transfer *transfer);
long ccurl_transfer_get_long(const ccurl_transfer *transfer, ccurl_info info);
int64_t ccurl_transfer_get_offset(const ccurl_transfer *transfer, ccurl_info info);

// Notifies the hook how far the transfer has come.
void ccurl_transfer_tell(ccurl_transfer *transfer, ccurl_step step);
// Notes that the request is about to be sent again, which ends the transfer.
void ccurl_transfer_refuse_repetition(ccurl_transfer *transfer);
// Sets an option that the next request does not set itself.
void ccurl_transfer_set_special_long(ccurl_transfer *transfer, ccurl_option option, long value);
// Has it sent over HTTP/1.1.
void ccurl_transfer_downgrade(ccurl_transfer *transfer);
// Resumes a paused response.
ccurl_code ccurl_transfer_resume(ccurl_transfer *transfer);
// Notes that the transfer is given to libcurl.
void ccurl_transfer_start(ccurl_transfer *transfer);
// Notes that libcurl has let go of it, and whether it came to its regular end.
void ccurl_transfer_end(ccurl_transfer *transfer, bool is_regular);
// Notes that a transfer whose kept connection was stale is given to libcurl again, for a new one.
void ccurl_transfer_restart(ccurl_transfer *transfer);
// Notes that a transfer that lacked a connection of HTTP/3 is given to libcurl again.
void ccurl_transfer_restart_without(ccurl_transfer *transfer);
// Notes that the handle is left to libcurl, and no longer the transfer's.
void ccurl_transfer_leave(ccurl_transfer *transfer);

#endif
