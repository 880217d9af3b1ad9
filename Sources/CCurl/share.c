#include "ccurl.h"

#if defined(__linux__)

#include "library.h"
#include "transfer.h"

// A share, in microseconds: that of all transfers together where the pieces are small, and that of one transfer where
// they are large. A large download does not need as much as that for what libcurl reads at once, and is not paused.
#define LONGEST_SHARE 3000
#define LONGEST_LARGE_SHARE 20000
// How many pieces come between two looks at the clock.
#define PIECES 32
// The average size from which pieces are large, in bytes.
#define LARGE_PIECE 4096
// How many transfers are resumed in a turn.
#define RESUMED 2

void ccurl_shares_begin(ccurl_loop *loop) {
    ccurl_shares *shares = ccurl_loop_shares(loop);
    shares->served = NULL;
    shares->pieces = 0;
    shares->bytes = 0;
}

void ccurl_shares_begin_turn(ccurl_loop *loop) { ccurl_loop_shares(loop)->left = RESUMED; }

static void rest(ccurl_shares *shares, ccurl_transfer *transfer) {
    ccurl_rest *place = ccurl_transfer_rest(transfer);
    place->is_resting = true;
    place->previous = shares->last;
    place->next = NULL;
    if (shares->last) ccurl_transfer_rest(shares->last)->next = transfer;
    else shares->first = transfer;
    shares->last = transfer;
}

bool ccurl_shares_note(ccurl_transfer *transfer, size_t count) {
    ccurl_shares *shares = ccurl_loop_shares(ccurl_transfer_loop(transfer));
    if (shares->served != transfer) {
        shares->served = transfer;
        shares->since = ccurl_now();
        if (shares->pieces == 0) shares->began = shares->since;
    }
    shares->bytes += count;
    if (++shares->pieces % PIECES != 0) return true;
    bool is_large = shares->bytes / shares->pieces >= LARGE_PIECE;
    int64_t taken = ccurl_now() - (is_large ? shares->since : shares->began);
    if (taken < (is_large ? LONGEST_LARGE_SHARE : LONGEST_SHARE)) return true;
    rest(shares, transfer);
    return false;
}

void ccurl_shares_forget(ccurl_transfer *transfer) {
    ccurl_shares *shares = ccurl_loop_shares(ccurl_transfer_loop(transfer));
    ccurl_rest *place = ccurl_transfer_rest(transfer);
    if (shares->served == transfer) shares->served = NULL;
    if (!place->is_resting) return;
    if (place->next) ccurl_transfer_rest(place->next)->previous = place->previous;
    else shares->last = place->previous;
    if (place->previous) ccurl_transfer_rest(place->previous)->next = place->next;
    else shares->first = place->next;
    *place = (ccurl_rest){0};
}

ccurl_transfer *ccurl_loop_next_rested(ccurl_loop *loop) {
    ccurl_shares *shares = ccurl_loop_shares(loop);
    if (shares->left == 0 || !shares->first) return NULL;
    shares->left--;
    return shares->first;
}

#endif
