// What a transfer may take of the loop's thread before it lets others go on.
//
// libcurl 7.88 reads a connection up to a hundred times in a row, ten megabytes, and hands each piece of a body over by
// itself. A server can make millions of pieces out of that, and keep the thread busy for seconds, on each of its
// connections in turn. So a transfer that has used up its share of a turn is paused, as for a slow reader: libcurl
// parses the rest of what it has read, which brings no more pieces, and does not read on. The loop resumes a few of
// those that rest in each turn, in the order in which they came to rest.
#ifndef CCURL_FAIRNESS_H
#define CCURL_FAIRNESS_H

#include "ccurl.h"

// A transfer's place in the list of those that rest. It is a part of the transfer.
typedef struct ccurl_rest {
    bool is_resting;
    struct ccurl_rest *next, *previous;
} ccurl_rest;

// Those of a loop, and the one whose pieces come now.
typedef struct {
    ccurl_rest *first, *last, *served;
    // When its pieces began to come, and when the first piece of any transfer came, in microseconds.
    int64_t since, began;
    // How many pieces came for all transfers, and their bytes.
    size_t pieces, bytes;
    // How many more may be resumed in this turn.
    int left;
} ccurl_fairness;

// Begins new shares: the thread has done something else.
void ccurl_fairness_begin(ccurl_fairness *fairness);
// Begins a new turn.
void ccurl_fairness_begin_turn(ccurl_fairness *fairness);
// Notes that a piece of so many bytes has come now. Returns false if its transfer has used up its share: then it rests,
// and has to be paused.
bool ccurl_fairness_note(ccurl_fairness *fairness, ccurl_rest *place, size_t count, int64_t now);
// Takes a transfer off the list of those that rest.
void ccurl_fairness_forget(ccurl_fairness *fairness, ccurl_rest *place);
// Returns the place of one that has to be resumed now; NULL if there is none, or if the next turn is early enough.
ccurl_rest *ccurl_fairness_next(ccurl_fairness *fairness);

#endif
