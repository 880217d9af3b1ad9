#include "fairness.h"

#if defined(__linux__)

#include "ccurl_decisions.h"
#include "library.h"

// How many pieces come between two looks at the clock.
#define PIECES 32
// How many transfers are resumed in a turn.
#define RESUMED 2

void ccurl_fairness_begin(ccurl_fairness *fairness) {
    fairness->served = NULL;
    fairness->pieces = 0;
    fairness->bytes = 0;
}

void ccurl_fairness_begin_turn(ccurl_fairness *fairness) { fairness->left = RESUMED; }

static void rest(ccurl_fairness *fairness, ccurl_rest *place) {
    if (place->is_resting) return;
    place->is_resting = true;
    place->previous = fairness->last;
    place->next = NULL;
    if (fairness->last) fairness->last->next = place;
    else fairness->first = place;
    fairness->last = place;
}

bool ccurl_fairness_note(ccurl_fairness *fairness, ccurl_rest *place, size_t count, int64_t now) {
    if (fairness->served != place) {
        fairness->served = place;
        fairness->since = now;
        if (fairness->pieces == 0) fairness->began = fairness->since;
    }
    fairness->bytes += count;
    if (++fairness->pieces % PIECES != 0) return true;
    int64_t alone = now - fairness->since, together = now - fairness->began;
    if (!ccurl_has_used_share(fairness->pieces, fairness->bytes, alone, together)) return true;
    rest(fairness, place);
    return false;
}

void ccurl_fairness_forget(ccurl_fairness *fairness, ccurl_rest *place) {
    if (fairness->served == place) fairness->served = NULL;
    if (!place->is_resting) return;
    if (place->next) place->next->previous = place->previous;
    else fairness->last = place->previous;
    if (place->previous) place->previous->next = place->next;
    else fairness->first = place->next;
    *place = (ccurl_rest){0};
}

ccurl_rest *ccurl_fairness_next(ccurl_fairness *fairness) {
    if (fairness->left == 0 || !fairness->first) return NULL;
    fairness->left--;
    return fairness->first;
}

#endif
