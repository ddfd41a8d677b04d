// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
#include "races.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "guest_register.h"
#include "npu_check.h"

enum { GRANULE_SHIFT = 2, LOCKS = 1024, LISTED = 16 };

/// What the cores have done to a granule since the last barrier. Addresses of code lie below 4 GiB.
struct granule {
    uint32_t epoch;
    uint8_t readers, writers; // bit n: core n
    uint32_t reader, writer;  // the last instruction that did
};

/// An instruction under observation.
struct site {
    uint32_t pc;
    bool synchronizes;
};

/// What a block means for caches, besides its loads and stores.
struct cache_work {
    uint32_t pc;
    bool sets_table, sets_control; // TTBR0_EL1, SCTLR_EL1
    uint8_t cleans;   // DC CVAC, CIVAC or IVAC of x[cleans - 1], which the block has not changed before
    bool invalidates; // one of the latter two
};

static struct finding {
    enum finding_kind kind;
    uint64_t address; // the lowest one
    uint64_t count;
    uint32_t writer, other; // instructions; `writer` of the NPU's findings: number of the job
} finding[LISTED];

static const struct options *board;
static struct granule *granules;
static uint8_t *dirty; // by line; bit n: core n has written it through its cache
static pthread_spinlock_t lock[LOCKS];
static pthread_mutex_t findings_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned listed, found;
static bool table_set[MODEL_CORES], mmu_on[MODEL_CORES];

static void *reserve(size_t bytes) {
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

const char *races_open(const struct options *options) {
    board = options;
    granules = reserve((options->ram_bytes >> GRANULE_SHIFT) * sizeof *granules);
    dirty = reserve(options->ram_bytes >> LINE_SHIFT);
    if (!granules || !dirty)
        return "check=on: there is no address space for it";
    for (unsigned i = 0; i < LOCKS; i++)
        pthread_spin_init(&lock[i], PTHREAD_PROCESS_PRIVATE);
    const char *error = npu_check_open(options);
    if (error)
        return error;
    guest_register_open();
    return NULL;
}

/// Adds to what was found of the same two instructions.
static void note(struct finding new) {
    pthread_mutex_lock(&findings_lock);
    found++;
    const bool npu = new.kind >= FINDING_DIRTY_INPUT; // one job after the other does the same
    unsigned at = 0;
    while (at < listed && (finding[at].kind != new.kind || finding[at].other != new.other ||
                           (finding[at].writer != new.writer && !npu)))
        at++;
    if (at < listed) {
        finding[at].count++;
        finding[at].address = new.address < finding[at].address ? new.address : finding[at].address;
    } else if (listed < LISTED) {
        new.count = 1;
        finding[listed++] = new;
    }
    pthread_mutex_unlock(&findings_lock);
}

void races_note(enum finding_kind kind, uint64_t address, uint32_t sequence, uint32_t pc) {
    note((struct finding){kind, .address = address, .writer = sequence, .other = pc});
}

bool races_dirty(uint64_t address) {
    return dirty[(address - board->ram_base) >> LINE_SHIFT];
}

/// One granule, under its lock.
static void touch(struct granule *granule, const struct core *core, uint64_t address, uint32_t pc,
                  bool writes) {
    const uint8_t self = (uint8_t)(1u << (core - cores));
    if (granule->epoch != (uint32_t)core->epoch)
        *granule = (struct granule){.epoch = (uint32_t)core->epoch};
    const bool written = granule->writers & ~self, read = granule->readers & ~self;
    if (writes && written)
        note((struct finding){
            .kind = FINDING_WRITE, .address = address, .writer = granule->writer, .other = pc});
    else if (writes && read)
        note((struct finding){FINDING_READ, .address = address, .writer = pc, .other = granule->reader});
    else if (written)
        note((struct finding){FINDING_READ, .address = address, .writer = granule->writer, .other = pc});
    if (writes) {
        granule->writers |= self;
        granule->writer = pc;
    } else {
        granule->readers |= self;
        granule->reader = pc;
    }
}

static void on_any_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *userdata) {
    const struct site *site = userdata;
    const struct core *core = &cores[vcpu];
    const uint8_t self = (uint8_t)(1u << vcpu);
    const uint64_t offset = address - board->ram_base;
    const bool writes = qemu_plugin_mem_is_store(info);
    if (offset >= board->ram_bytes || !memory_cacheable(address >> LINE_SHIFT))
        return;
    uint8_t *line = &dirty[offset >> LINE_SHIFT];
    if (writes && mmu_on[vcpu] && !(*line & self))
        __atomic_fetch_or(line, self, __ATOMIC_RELAXED);
    if (!writes && !mmu_on[vcpu] && *line & ~self)
        note((struct finding){.kind = FINDING_STALE, .address = address & ~UINT64_C(63), .other = site->pc});
    npu_check_access(core, address, 1u << qemu_plugin_mem_size_shift(info), site->pc, writes);
    if (site->synchronizes || core->stopped || !core->epoch)
        return;
    const uint64_t last = (offset + (1u << qemu_plugin_mem_size_shift(info)) - 1) >> GRANULE_SHIFT;
    for (uint64_t at = offset >> GRANULE_SHIFT; at <= last; at++) {
        pthread_spinlock_t *held = &lock[at % LOCKS];
        pthread_spin_lock(held);
        touch(&granules[at], core, board->ram_base + (at << GRANULE_SHIFT), site->pc, writes);
        pthread_spin_unlock(held);
    }
}

static void on_cache_work(unsigned int vcpu, void *userdata) {
    const struct cache_work *work = userdata;
    uint64_t address;
    if (work->sets_control && table_set[vcpu])
        mmu_on[vcpu] = true;
    table_set[vcpu] |= work->sets_table;
    if (work->cleans && guest_register(vcpu, work->cleans - 1u, &address) &&
        address - board->ram_base < board->ram_bytes) {
        __atomic_store_n(&dirty[(address - board->ram_base) >> LINE_SHIFT], 0, __ATOMIC_RELAXED);
        if (work->invalidates)
            npu_check_forget(address);
    }
}

/// Exclusives, ordered ones, compare-and-swap; read-modify-writes and LDAPR.
static bool synchronizes(uint32_t word) {
    return (word & 0x3f000000) == 0x08000000 || (word & 0x3b200c00) == 0x38200000;
}

static void *allocate(size_t count, size_t bytes) {
    void *memory = calloc(count, bytes);
    if (!memory)
        abort();
    return memory; // never freed: translated code keeps pointers to it
}

void races_follow(struct qemu_plugin_tb *tb, const uint32_t *words, unsigned insns) {
    const uint32_t start = (uint32_t)qemu_plugin_tb_vaddr(tb);
    struct site *sites = allocate(insns, sizeof *sites);
    struct cache_work work = {.pc = start};
    uint64_t changed = 0; // registers
    for (unsigned i = 0; i < insns; i++) {
        const uint32_t word = words[i], reg = word & 31;
        sites[i] = (struct site){start + 4 * i, synchronizes(word)};
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), on_any_access,
                                         QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, &sites[i]);
        work.sets_table |= (word & ~31u) == 0xd5182000;
        work.sets_control |= (word & ~31u) == 0xd5181000;
        const bool invalidates = (word & ~31u) == 0xd50b7e20 || (word & ~31u) == 0xd5087620;
        if ((invalidates || (word & ~31u) == 0xd50b7a20) && !(changed >> reg & 1)) {
            work.cleans = (uint8_t)(reg + 1);
            work.invalidates = invalidates;
        }
        changed |= a64_decode(word).writes;
    }
    if (!work.sets_table && !work.sets_control && !work.cleans)
        return;
    struct cache_work *kept = allocate(1, sizeof *kept);
    *kept = work;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_cache_work, QEMU_PLUGIN_CB_R_REGS, kept);
}

unsigned races_found(void) {
    return __atomic_load_n(&found, __ATOMIC_RELAXED);
}

static int by_address(const void *a, const void *b) {
    const struct finding *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

size_t races_text(char *text, size_t room) {
    static const char *const names[] = {
        [FINDING_READ] = "race read",
        [FINDING_WRITE] = "race write",
        [FINDING_STALE] = "stale",
        [FINDING_DIRTY_INPUT] = "npu dirty-input",
        [FINDING_DIRTY_RESULT] = "npu dirty-result",
        [FINDING_INPUT_WRITTEN] = "npu input-written",
        [FINDING_RESULT_WRITTEN] = "npu result-written",
        [FINDING_EARLY] = "npu early",
        [FINDING_STALE_RESULT] = "npu stale-result",
    };
    struct finding sorted[LISTED];
    size_t length = 0;
    pthread_mutex_lock(&findings_lock);
    const unsigned count = listed;
    for (unsigned i = 0; i < count; i++)
        sorted[i] = finding[i];
    pthread_mutex_unlock(&findings_lock);
    qsort(sorted, count, sizeof sorted[0], by_address);
    for (unsigned i = 0; i < count && length < room; i++) {
        const struct finding *f = &sorted[i];
        const int n =
            snprintf(text + length, room - length, "%s 0x%llx 0x%x 0x%x %llu\n", names[f->kind],
                     (unsigned long long)f->address, f->writer, f->other, (unsigned long long)f->count);
        length += n > 0 && (size_t)n < room - length ? (size_t)n : 0;
    }
    return length;
}
