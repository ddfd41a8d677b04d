// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// The virtual board's timing model as a QEMU TCG plug-in: entry point and callbacks.
//
// Executing a block calls on_block; its anchors call on_access; stores that might ring the doorbell call
// on_store. All three run on the core's own thread and touch only that core's state.
#define _GNU_SOURCE // RTLD_DEFAULT
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "a64_decode.h"
#include "block.h"
#include "core.h"
#include "device_page.h"
#include "guest_register.h"
#include "hot_spots.h"
#include "options.h"
#include "qemu_plugin_api.h"
#include "races.h"
#include "report.h"
#include "user.h"

/// The interface version that is declared to QEMU. No constant suits all: 7.2 knows only 1, 9.0 and later
/// refuse it.
QEMU_PLUGIN_EXPORT int qemu_plugin_version = 1;

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                           char **argv);

/// Runs when QEMU loads this file, before it looks at the version. Scoreboards came with version 2, which all
/// later ones up to 5 accept.
__attribute__((constructor)) static void choose_version(void) {
    if (dlsym(RTLD_DEFAULT, "qemu_plugin_scoreboard_new"))
        qemu_plugin_version = 2;
}

static struct options options;
static bool insn_data_copies; // version 3 and later
static pthread_mutex_t translation = PTHREAD_MUTEX_INITIALIZER;

static inline void read_registers(unsigned vcpu, const struct register_read *read, unsigned count) {
    for (unsigned n = 0; __builtin_expect(n < count, 0); n++) {
        uint64_t *slot = &cores[vcpu].slot[read[n].slot];
        if (guest_register(vcpu, read[n].reg, slot))
            *slot -= (uint64_t)read[n].delta;
    }
}

static void on_block(unsigned int vcpu, void *begins) {
    const struct block *block = begins;
    struct core *core = &cores[vcpu];
    read_registers(vcpu, core->current->end_read, core->current->end_reads); // which has ended
    core_begin_block(core, block);
    read_registers(vcpu, block->read, block->reads);
}

/// User mode: threads come and go, and have other numbers than cores.
static void on_user_block(unsigned int vcpu, void *place) {
    user_block(vcpu, place);
}

static void on_user_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *slot) {
    (void)info;
    uint64_t *recorded = &user_core_of(vcpu)->slot[(uintptr_t)slot];
    if (!*recorded)
        *recorded = vaddr;
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *slot) {
    (void)info;
    uint64_t *recorded = &cores[vcpu].slot[(uintptr_t)slot];
    if (!*recorded) // the first of the pieces that QEMU splits an access into
        *recorded = vaddr;
}

static void on_store(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata) {
    const struct probe *probe = userdata;
    struct core *core = &cores[vcpu];
    if (probe->slot != SLOT_NONE && !core->slot[probe->slot])
        core->slot[probe->slot] = vaddr;
    if (__builtin_expect((vaddr & 4095) >= DOORBELL_BYTES, 1))
        return;
    const struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(info, vaddr);
    if (!place || qemu_plugin_hwaddr_is_io(place))
        return;
    const uint64_t physical = qemu_plugin_hwaddr_phys_addr(place);
    if ((physical & ~UINT64_C(4095)) == options.device_page)
        device_page_stored(core, physical & 4095, probe->segment + 1u);
}

/// verify=on: the real address of every access.
static void on_any_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *insn) {
    (void)info;
    uint64_t *first = &cores[vcpu].first_address[(uintptr_t)insn];
    if (!*first)
        *first = vaddr;
}

static void on_thread_begins(qemu_plugin_id_t id, unsigned int vcpu) {
    (void)id;
    user_thread_begins(vcpu);
}

static void on_thread_ends(qemu_plugin_id_t id, unsigned int vcpu) {
    (void)id;
    user_thread_ends(vcpu);
}

static void on_program_ends(qemu_plugin_id_t id, void *nothing) {
    (void)id;
    (void)nothing;
    user_end();
}

/// The current block is left behind the access of its instruction `last`.
static void cut_block(struct core *core, unsigned last, uint64_t vaddr) {
    const struct block *block = core->current;
    for (const struct probe *probe = block->probe; probe < block->probe + block->probes; probe++)
        if (probe->insn == last && probe->slot != SLOT_NONE)
            core->slot[probe->slot] = vaddr;
    core->first_address[last] = block->derivations ? vaddr : 0;
    pthread_mutex_lock(&translation);
    core->current = block_part(block, last + 1, &options);
    pthread_mutex_unlock(&translation);
}

/// `lone`, a block of one instruction, accesses memory. QEMU 9 and later leave a block in the middle for an
/// access to a device, execute that instruction again as a block of its own, of which they report nothing but
/// the access, and go on behind it: the block that was current is still, and ends here.
static void on_lone_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata) {
    const struct block *lone = userdata;
    struct core *core = &cores[vcpu];
    const uint64_t last = (lone->vaddr - core->current->vaddr) / 4;
    if (core->current != lone) {
        if (last < core->current->insns)
            cut_block(core, (unsigned)last, vaddr);
        return;
    }
    if (lone->derivations)
        on_any_access(vcpu, info, vaddr, NULL);
    if (lone->probe->doorbell)
        on_store(vcpu, info, vaddr, lone->probe);
    else
        on_access(vcpu, info, vaddr, (void *)(uintptr_t)lone->probe->slot);
}

static uint32_t word_of(const struct qemu_plugin_insn *insn) {
    uint32_t word = 0;
    const uintptr_t result = qemu_plugin_insn_data(insn, &word, sizeof word);
    if (!insn_data_copies)
        memcpy(&word, (const void *)result, sizeof word);
    return word; // A64 instructions are little-endian on every host that QEMU's copy comes from
}

static void follow_in_user_mode(struct qemu_plugin_tb *tb, struct place *place) {
    const struct block *block = place->block;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_user_block, QEMU_PLUGIN_CB_NO_REGS, place);
    for (const struct probe *probe = block->probe; probe < block->probe + block->probes; probe++)
        if (probe->slot != SLOT_NONE)
            qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, probe->insn), on_user_access,
                                             QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                             (void *)(uintptr_t)probe->slot);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    uint32_t words[BLOCK_INSNS];
    const size_t insns = qemu_plugin_tb_n_insns(tb);
    if (!insns || insns > BLOCK_INSNS) {
        fprintf(stderr, "maxconsole plug-in: a block of %zu instructions is not modeled\n", insns);
        return;
    }
    for (size_t i = 0; i < insns; i++)
        words[i] = word_of(qemu_plugin_tb_get_insn(tb, i));
    pthread_mutex_lock(&translation);
    bool created;
    struct block *block = block_find(qemu_plugin_tb_vaddr(tb), words, (unsigned)insns, &options, &created);
    if (created)
        report_block(block);
    struct place *place = options.results_path ? user_place(block) : NULL;
    pthread_mutex_unlock(&translation);
    if (place) {
        follow_in_user_mode(tb, place);
        return;
    }
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
    if (insns == 1 && block->probes) {
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, 0), on_lone_access,
                                         QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, block);
        return;
    }
    for (struct probe *probe = block->probe; probe < block->probe + block->probes; probe++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, probe->insn);
        if (probe->doorbell)
            qemu_plugin_register_vcpu_mem_cb(insn, on_store, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_W,
                                             probe);
        else
            qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                             (void *)(uintptr_t)probe->slot);
    }
    if (options.check)
        races_follow(tb, words, (unsigned)insns);
    for (unsigned d = 0; d < block->derivations; d++) {
        const uintptr_t index = block->derivation[d].insn;
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, index), on_any_access,
                                         QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, (void *)index);
    }
}

static int refuse(const char *why) {
    fprintf(stderr, "maxconsole plug-in: %s\n", why);
    return 1;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
    static char message[256];
    const char *error = options_parse(&options, argc, argv, message, sizeof message);
    if (error)
        return refuse(error);
    if (strcmp(info->target_name, "aarch64") != 0)
        return refuse("this plug-in models AArch64");
    if (info->system_emulation != !options.results_path)
        return refuse("a system needs ram=, a program results=");
    if (info->system_emulation && info->system.max_vcpus > MODEL_CORES)
        return refuse("at most 4 cores are modeled");
    if (options.threads > MODEL_CORES)
        return refuse("at most 4 threads at once are modeled");
    if (options.parent) { // QEMU must not outlive the console, however that ends
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != options.parent)
            return refuse("the console is gone");
    }
    insn_data_copies = info->version.cur >= 3;
    // A program's memset also clears by DC ZVA, but where threads come and go registers are not read.
    options.registers = info->system_emulation && guest_register_open();
    a64_init();
    core_init(&options);
    if (options.check && (error = races_open(&options)))
        return refuse(error);
    if ((error = hot_spots_open(&options)))
        return refuse(error);
    if ((error = report_open(&options, info->version.cur)) ||
        (error = options.results_path ? user_open(&options) : device_page_open(&options)))
        return refuse(error);
    if (options.results_path) {
        qemu_plugin_register_vcpu_init_cb(id, on_thread_begins);
        qemu_plugin_register_vcpu_exit_cb(id, on_thread_ends);
        qemu_plugin_register_atexit_cb(id, on_program_ends, NULL);
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
