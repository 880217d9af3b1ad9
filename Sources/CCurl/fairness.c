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

void ccurl_fairness_begin(ccurl_loop *loop) {
    ccurl_fairness *fairness = ccurl_loop_fairness(loop);
    fairness->served = NULL;
    fairness->pieces = 0;
    fairness->bytes = 0;
}

void ccurl_fairness_begin_turn(ccurl_loop *loop) { ccurl_loop_fairness(loop)->left = RESUMED; }

static void rest(ccurl_fairness *fairness, ccurl_transfer *transfer) {
    ccurl_rest *place = ccurl_transfer_rest(transfer);
    place->is_resting = true;
    place->previous = fairness->last;
    place->next = NULL;
    if (fairness->last) ccurl_transfer_rest(fairness->last)->next = transfer;
    else fairness->first = transfer;
    fairness->last = transfer;
}

bool ccurl_fairness_note(ccurl_transfer *transfer, size_t count) {
    ccurl_fairness *fairness = ccurl_loop_fairness(ccurl_transfer_loop(transfer));
    if (fairness->served != transfer) {
        fairness->served = transfer;
        fairness->since = ccurl_now();
        if (fairness->pieces == 0) fairness->began = fairness->since;
    }
    fairness->bytes += count;
    if (++fairness->pieces % PIECES != 0) return true;
    bool is_large = fairness->bytes / fairness->pieces >= LARGE_PIECE;
    int64_t taken = ccurl_now() - (is_large ? fairness->since : fairness->began);
    if (taken < (is_large ? LONGEST_LARGE_SHARE : LONGEST_SHARE)) return true;
    rest(fairness, transfer);
    return false;
}

void ccurl_fairness_forget(ccurl_transfer *transfer) {
    ccurl_fairness *fairness = ccurl_loop_fairness(ccurl_transfer_loop(transfer));
    ccurl_rest *place = ccurl_transfer_rest(transfer);
    if (fairness->served == transfer) fairness->served = NULL;
    if (!place->is_resting) return;
    if (place->next) ccurl_transfer_rest(place->next)->previous = place->previous;
    else fairness->last = place->previous;
    if (place->previous) ccurl_transfer_rest(place->previous)->next = place->next;
    else fairness->first = place->next;
    *place = (ccurl_rest){0};
}

ccurl_transfer *ccurl_loop_next_rested(ccurl_loop *loop) {
    ccurl_fairness *fairness = ccurl_loop_fairness(loop);
    if (fairness->left == 0 || !fairness->first) return NULL;
    fairness->left--;
    return fairness->first;
}

#endif
