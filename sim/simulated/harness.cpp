// Drives the circuit: events in as rows of words, matches out as rows of numbers, and where the
// circuit ranks (RANKS) the best of each event as rows of their own.
//
// A model has LANES copies of the circuit side by side (see lanes.py), each with events of its
// own; or, if LANES is 1, it is the circuit itself. Compiled with -DDIGEST="..." of the manifest
// that the circuit belongs to.
#include <cstdint>
#include <cstring>
#include <memory>
#include "Vtop.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

constexpr int EVENT_BLOCKS = (EVENT_WORDS + 1) / 2;
constexpr int MATCH_BLOCKS = (CHUNK_BITS + INDEX_BITS + SEQUENCE_BITS + 63) / 64;
#if RANKS
constexpr int BEST_BLOCKS = (RANK_BITS + SCORE_BITS + SEQUENCE_BITS + 63) / 64;
#else
constexpr int BEST_BLOCKS = 1;
#endif
constexpr int MOST_BLOCKS = MATCH_BLOCKS > BEST_BLOCKS ? MATCH_BLOCKS : BEST_BLOCKS;

struct Match {
    int64_t event;
    uint32_t chunk;
    uint32_t bits;
};

// One of the best of an event; ranking circuits have memories, so there is one lane of them.
struct Best {
    int64_t event;
    int64_t score;
    uint32_t rank;
    uint32_t unused;
};

// What a lane does in one call: rows from `row` to `end`, of which `events` are events; the first
// has the number `first`.
struct Work {
    int64_t row;
    int64_t end;
    int64_t first;
    int64_t events;
};

struct Device {
    VerilatedContext context;
    std::unique_ptr<Vtop> top;
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> waves;
#endif
    uint64_t time = 0;
    uint64_t cycles = 0;  // in which a lane had work, summed over lanes
    uint32_t answered[LANES] = {};
    uint64_t rows[EVENT_BLOCKS][64] = {};
};

// Bit n of row m becomes bit m of row n.
static void transpose(uint64_t rows[64]) {
    uint64_t mask = 0x00000000FFFFFFFFull;
    for (int width = 32; width != 0; width >>= 1, mask ^= mask << width) {
        for (int row = 0; row < 64; row = (row + width + 1) & ~width) {
            const uint64_t swapped = ((rows[row] >> width) ^ rows[row + width]) & mask;
            rows[row] ^= swapped << width;
            rows[row + width] ^= swapped;
        }
    }
}

// Rows of a lane each into a port.
template <typename Port>
static void set_rows(Port& port, const uint64_t rows[EVENT_BLOCKS][64]) {
    if constexpr (LANES == 1) {
        uint64_t words[EVENT_BLOCKS];
        for (int block = 0; block < EVENT_BLOCKS; block++) words[block] = rows[block][0];
        std::memcpy(&port, words, sizeof(Port) < sizeof(words) ? sizeof(Port) : sizeof(words));
    } else {
        for (int block = 0; block < EVENT_BLOCKS; block++) {
            uint64_t planes[64];
            std::memcpy(planes, rows[block], sizeof(planes));
            transpose(planes);
            const size_t offset = sizeof(planes) * block;
            const size_t rest = sizeof(Port) - offset;
            std::memcpy(reinterpret_cast<char*>(&port) + offset, planes,
                        rest < sizeof(planes) ? rest : sizeof(planes));
        }
    }
}

// A port into rows of a lane each, `blocks` of 64 bits.
template <typename Port>
static void get_rows(const Port& port, uint64_t rows[][64], int blocks) {
    if constexpr (LANES == 1) {
        uint64_t words[MOST_BLOCKS] = {};
        const size_t size = sizeof(uint64_t) * blocks;
        std::memcpy(words, &port, sizeof(Port) < size ? sizeof(Port) : size);
        for (int block = 0; block < blocks; block++) rows[block][0] = words[block];
    } else {
        for (int block = 0; block < blocks; block++) {
            const size_t offset = sizeof(uint64_t) * 64 * block;
            const size_t rest = sizeof(Port) - offset;
            std::memset(rows[block], 0, sizeof(rows[block]));
            std::memcpy(rows[block], reinterpret_cast<const char*>(&port) + offset,
                        rest < sizeof(rows[block]) ? rest : sizeof(rows[block]));
            transpose(rows[block]);
        }
    }
}

// A number of up to 63 bits.
static uint64_t number_of(const uint64_t rows[][64], int lane, int offset, int width) {
    uint64_t value = rows[offset / 64][lane] >> (offset % 64);
    if (offset % 64 + width > 64) value |= rows[offset / 64 + 1][lane] << (64 - offset % 64);
    return value & ((1ull << width) - 1);
}

static uint32_t bits_of(const uint64_t rows[][64], int lane, int offset, int width) {
    return static_cast<uint32_t>(number_of(rows, lane, offset, width));
}

// The lanes whose counter of events has come to what is expected of it.
template <typename Port>
static uint64_t finished(const Port& events, const uint64_t expected[64]) {
    if constexpr (LANES == 1) {
        return events == static_cast<uint32_t>(expected[0]);
    } else {
        const uint64_t* planes = reinterpret_cast<const uint64_t*>(&events);
        uint64_t differ = 0;
        for (int bit = 0; bit < 32; bit++) differ |= planes[bit] ^ expected[bit];
        return ~differ;
    }
}

#if RANKS
static Best best_of(Device* device, const Work& work) {
    uint64_t rows[BEST_BLOCKS][64];
    get_rows(device->top->best___05Fpayload, rows, BEST_BLOCKS);
    const uint32_t sequence = bits_of(rows, 0, RANK_BITS + SCORE_BITS, SEQUENCE_BITS);
    Best best = {};
    best.event = work.first + (sequence - device->answered[0]);
    best.score = static_cast<int64_t>(number_of(rows, 0, RANK_BITS, SCORE_BITS));
    best.rank = bits_of(rows, 0, 0, RANK_BITS);
    return best;
}
#endif

static void tick(Device* device) {
    device->top->clk = 1;
    device->top->eval();
#if VM_TRACE
    if (device->waves) device->waves->dump(2 * device->time);
#endif
    device->top->clk = 0;
    device->top->eval();
#if VM_TRACE
    if (device->waves) device->waves->dump(2 * device->time + 1);
#endif
    device->time++;
}

static uint32_t counter(Device* device, int lane, int which) {
    uint64_t rows[1][64];
    if (which == 0) get_rows(device->top->events, rows, 1);
    if (which == 1) get_rows(device->top->chunks, rows, 1);
    if (which == 2) get_rows(device->top->stalls, rows, 1);
    return static_cast<uint32_t>(rows[0][lane]);
}

extern "C" {

const char* penstock_digest() { return DIGEST; }

Device* penstock_open(const char* waves) {
    auto device = new Device;
    device->top = std::make_unique<Vtop>(&device->context);
#if VM_TRACE
    if (waves) {
        device->context.traceEverOn(true);
        device->waves = std::make_unique<VerilatedVcdC>();
        device->top->trace(device->waves.get(), 99);
        device->waves->open(waves);
    }
#endif
    device->top->rst = 1;
    device->top->i___05Fvalid = 0;
    device->top->o___05Fready = LANES == 1 ? 1 : ~0ull;
#if RANKS
    device->top->best___05Fready = 1;
#endif
    tick(device);
    tick(device);
    device->cycles = 2;
    device->top->rst = 0;
    device->top->eval();
    return device;
}

void penstock_close(Device* device) {
#if VM_TRACE
    if (device->waves) device->waves->close();
#endif
    delete device;
}

uint64_t penstock_cycles(Device* device) { return device->cycles; }

// The sum over all lanes of what the circuit counts: 0 events, 1 chunks, 2 stalls.
uint64_t penstock_counter(Device* device, int which) {
    uint64_t sum = 0;
    for (int lane = 0; lane < LANES; lane++) sum += counter(device, lane, which);
    return sum;
}

// Sends the rows of every lane and collects matches until all events are answered, or until there
// may be no room for those of another cycle. `work` is updated: what is left of it takes another
// call. Returns the number of matches, and in `ranked` that of the best, of which there is room for
// as many; -1 if nothing moved for too long.
int64_t penstock_run(Device* device, const uint32_t* words, Work* work, Match* matches,
                     int64_t room, Best* bests, int64_t* ranked) {
    Vtop* top = device->top.get();
    uint64_t expected[64] = {};
    uint64_t waiting = 0;  // lanes with rows to send
    for (int lane = 0; lane < LANES; lane++) {
        expected[lane] = static_cast<uint32_t>(device->answered[lane] + work[lane].events);
        waiting |= static_cast<uint64_t>(work[lane].row < work[lane].end) << lane;
    }
    if constexpr (LANES > 1) transpose(expected);
    const uint64_t all = LANES == 1 ? 1 : ~0ull;
    uint64_t fresh = waiting;  // lanes whose next row is not at the port yet
    int64_t found = 0, best = 0, idle = 0;
    *ranked = 0;
    while (true) {
        uint64_t busy = (waiting | ~finished(top->events, expected)) & all;
#if RANKS
        busy |= top->busy;
#endif
        if (!busy) break;
        if (found + LANES > room || best == room) return found;
        for (uint64_t left = fresh; left; left &= left - 1) {
            const int lane = __builtin_ctzll(left);
            const uint32_t* row = words + work[lane].row * EVENT_WORDS;
            for (int word = 0; word < EVENT_WORDS; word += 2) {
                const uint64_t high = word + 1 < EVENT_WORDS ? row[word + 1] : 0;
                device->rows[word / 2][lane] = row[word] | high << 32;
            }
        }
        if (fresh) set_rows(top->i___05Fpayload, device->rows);
        // Both handshakes come from registers: they are known before the inputs are set.
        const uint64_t taken = waiting & top->i___05Fready;
        const uint64_t given = top->o___05Fvalid;
        if (given) {
            uint64_t rows[MATCH_BLOCKS][64];
            get_rows(top->o___05Fpayload, rows, MATCH_BLOCKS);
            for (uint64_t left = given; left; left &= left - 1) {
                const int lane = __builtin_ctzll(left);
                const uint32_t sequence =
                    bits_of(rows, lane, CHUNK_BITS + INDEX_BITS, SEQUENCE_BITS);
                Match& match = matches[found++];
                match.event = work[lane].first + (sequence - device->answered[lane]);
                match.chunk = bits_of(rows, lane, CHUNK_BITS, INDEX_BITS);
                match.bits = bits_of(rows, lane, 0, CHUNK_BITS);
            }
        }
        bool is_given = given != 0;
#if RANKS
        if (top->best___05Fvalid) {
            bests[best++] = best_of(device, work[0]);
            *ranked = best;
            is_given = true;
        }
#endif
        top->i___05Fvalid = waiting;
        fresh = 0;
        for (uint64_t left = taken; left; left &= left - 1) {
            const int lane = __builtin_ctzll(left);
            const uint64_t bit = 1ull << lane;
            if (++work[lane].row < work[lane].end) {
                fresh |= bit;
            } else {
                waiting &= ~bit;
            }
        }
        tick(device);
        device->cycles += __builtin_popcountll(busy);
        idle = taken || is_given ? 0 : idle + 1;
        if (idle > IDLE_LIMIT) return -1;
    }
    top->i___05Fvalid = 0;
    for (int lane = 0; lane < LANES; lane++) {
        device->answered[lane] += static_cast<uint32_t>(work[lane].events);
        work[lane].events = 0;
    }
    return found;
}
}
