/* The baseline of the benches: every expression on every event, one after the other.

   What somebody would write in an hour: expressions as flat arrays, the event scattered by
   attribute first, so that a predicate finds its value in one step; an expression is left at
   its first predicate that fails. Comparisons are intervals by then: a switch over nine operators
   takes half as long again, for nothing. Compiled and called by c_scan.py. */

#include <stdint.h>

/* Twice whether it is a list, plus whether it is negated: so c_scan.py makes them. */
enum { WITHIN, OUTSIDE, IN, NOT_IN };

typedef struct {
    int32_t attribute;
    int32_t kind;
    int32_t first;  /* the lower bound; of lists where their values begin */
    int32_t second; /* the upper bound, included; of lists how many values they have */
} predicate;

static const int64_t ABSENT = INT64_MIN; /* no value is so small: they have 32 bits */

static int is_in(int64_t value, const int32_t *list, int32_t length) {
    for (int32_t i = 0; i < length; i++)
        if (list[i] == value)
            return 1;
    return 0;
}

static int holds(const predicate *p, int64_t value, const int32_t *lists) {
    if (value == ABSENT)
        return 0;
    if (p->kind == WITHIN || p->kind == OUTSIDE)
        return (p->first <= value && value <= p->second) == (p->kind == WITHIN);
    return is_in(value, lists + p->first, p->second) == (p->kind == IN);
}

/* Expression i has the predicates starts[i] up to starts[i + 1], event e the pairs pairs[e] up
   to pairs[e + 1]. Writes the numbers of the expressions that match, event by event, as long
   as they find room, and to ends[e] how many there are up to and with event e.
   `scratch` has a place per attribute. */
void scan(int64_t expressions, const int32_t *starts, const predicate *predicates,
          const int32_t *lists, int64_t events, const int32_t *pairs, const int32_t *attributes,
          const int32_t *values, int64_t attribute_count, int64_t *scratch, int64_t room,
          int32_t *matches, int64_t *ends) {
    int64_t found = 0;
    for (int64_t a = 0; a < attribute_count; a++)
        scratch[a] = ABSENT;
    for (int64_t e = 0; e < events; e++) {
        for (int32_t i = pairs[e]; i < pairs[e + 1]; i++)
            scratch[attributes[i]] = values[i];
        for (int64_t x = 0; x < expressions; x++) {
            int32_t p = starts[x], end = starts[x + 1];
            while (p < end && holds(predicates + p, scratch[predicates[p].attribute], lists))
                p++;
            if (p == end) {
                if (found < room)
                    matches[found] = (int32_t)x;
                found++;
            }
        }
        ends[e] = found;
        for (int32_t i = pairs[e]; i < pairs[e + 1]; i++)
            scratch[attributes[i]] = ABSENT;
    }
}
