// Drives the circuit: events in as rows of words, matches out as rows of numbers.
// Compiled with -DDIGEST="..." of the manifest that the circuit belongs to.
#include <cstdint>
#include <cstring>
#include <memory>
#include "Vtop.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

struct Match {
    uint32_t sequence;
    uint32_t chunk;
    uint32_t bits;
};

struct Device {
    VerilatedContext context;
    std::unique_ptr<Vtop> top;
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> waves;
#endif
    uint64_t cycles = 0;
};

// Ports wider than 64 bits are arrays of words, the others are numbers.
template <typename Port>
static void set_words(Port& port, const uint32_t* words, int count) {
    if constexpr (sizeof(Port) > 8) {
        std::memcpy(&port, words, 4 * count);
    } else {
        uint64_t value = words[0];
        if (count > 1) value |= static_cast<uint64_t>(words[1]) << 32;
        port = value;
    }
}

template <typename Port>
static uint64_t get_bits(const Port& port, int offset, int width) {
    uint64_t value;
    if constexpr (sizeof(Port) > 8) {
        const uint32_t* words = reinterpret_cast<const uint32_t*>(&port);
        value = words[offset / 32] >> (offset % 32);
        if (offset % 32 + width > 32) {
            value |= static_cast<uint64_t>(words[offset / 32 + 1]) << (32 - offset % 32);
        }
    } else {
        value = static_cast<uint64_t>(port) >> offset;
    }
    return width >= 64 ? value : value & ((1ull << width) - 1);
}

static void tick(Device* device) {
    device->top->clk = 1;
    device->top->eval();
#if VM_TRACE
    if (device->waves) device->waves->dump(2 * device->cycles);
#endif
    device->top->clk = 0;
    device->top->eval();
#if VM_TRACE
    if (device->waves) device->waves->dump(2 * device->cycles + 1);
#endif
    device->cycles++;
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
    device->top->o___05Fready = 1;
    tick(device);
    tick(device);
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

uint32_t penstock_events(Device* device) { return device->top->events; }

uint32_t penstock_chunks(Device* device) { return device->top->chunks; }

uint32_t penstock_stalls(Device* device) { return device->top->stalls; }

// Sends words from *sent on until all `count` are sent and `events` events are answered, or until
// `room` matches are found. Returns the number of matches; -1 if nothing moved for too long.
int64_t penstock_run(Device* device, const uint32_t* words, int64_t count, int64_t* sent,
                     uint32_t events, Match* matches, int64_t room) {
    Vtop* top = device->top.get();
    int64_t found = 0, idle = 0;
    while (*sent < count || top->events != events) {
        if (found == room) break;
        // Both handshakes come from registers, so they are what they are before the inputs are set.
        const bool offered = *sent < count;
        const bool taken = offered && top->i___05Fready;
        bool moved = taken;
        if (top->o___05Fvalid) {
            matches[found].bits = get_bits(top->o___05Fpayload, 0, CHUNK_BITS);
            matches[found].chunk = get_bits(top->o___05Fpayload, CHUNK_BITS, INDEX_BITS);
            matches[found].sequence =
                get_bits(top->o___05Fpayload, CHUNK_BITS + INDEX_BITS, SEQUENCE_BITS);
            found++;
            moved = true;
        }
        top->i___05Fvalid = offered;
        if (offered) set_words(top->i___05Fpayload, words + *sent * EVENT_WORDS, EVENT_WORDS);
        *sent += taken;
        const uint32_t before = top->events;
        tick(device);
        moved |= top->events != before;
        idle = moved ? 0 : idle + 1;
        if (idle > IDLE_LIMIT) return -1;
    }
    top->i___05Fvalid = 0;
    return found;
}
}
