// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
// Loads and stores, by the fields of Arm Architecture Reference Manual C4.1 "Loads and Stores".
#include "a64_decode.h"

#define FIELD(word, high, low) ((word) >> (low) & ((1u << ((high) - (low) + 1)) - 1))

static int32_t sign_extend(uint32_t value, unsigned bits) {
    return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

/// `reg` is loaded; of a vector register the number among V0 to V31.
static void loads(struct a64_insn *insn, bool vector, unsigned reg) {
    if (vector || reg != 31) // as a data register, 31 is XZR
        a64_add_register(insn->operands.target, sizeof insn->operands.target, reg + (vector ? A64_V0 : 0));
}

/// `reg` is stored, or merged with what is loaded.
static void needs(struct a64_insn *insn, bool vector, unsigned reg) {
    if (vector || reg != 31)
        a64_add_register(insn->operands.data, sizeof insn->operands.data, reg + (vector ? A64_V0 : 0));
}

/// `reg` is part of the address; 31 is SP as a base, and XZR as an index.
static void addressed_by(struct a64_insn *insn, unsigned reg) {
    a64_add_register(insn->operands.source, sizeof insn->operands.source, reg);
}

static void set_class(struct a64_insn *insn, enum a64_class class, unsigned times) {
    insn->class = class;
    a64_cost_add(&insn->cost, &a64_class_cost[class], times);
}

static void moves_base(struct a64_insn *insn, bool known, int32_t by) {
    insn->access.writeback = true;
    insn->access.moved_known = known;
    insn->access.moved = by;
    a64_cost_add(&insn->cost, &a64_class_cost[A64_WRITEBACK], 1);
}

/// LD1 to LD4 and ST1 to ST4, whole registers or one lane.
static bool structures(uint32_t word, struct a64_insn *insn) {
    struct a64_access *access = &insn->access;
    const bool single = FIELD(word, 24, 24), post = FIELD(word, 23, 23), load = FIELD(word, 22, 22);
    unsigned registers, bytes, interleaved;
    if (!post && FIELD(word, 20, 16))
        return false;
    if (!single) {
        static const uint8_t count[16] = {[0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2};
        static const uint8_t ways[16] = {[0] = 4, [2] = 1, [4] = 3, [6] = 1, [7] = 1, [8] = 2, [10] = 1};
        const unsigned opcode = FIELD(word, 15, 12);
        registers = count[opcode];
        interleaved = ways[opcode];
        if (!registers || FIELD(word, 21, 21))
            return false;
        bytes = registers * (FIELD(word, 30, 30) ? 16 : 8);
        access->reports = interleaved == 1 ? bytes / 8 : bytes >> FIELD(word, 11, 10);
        access->units = registers;
    } else {
        const unsigned opcode = FIELD(word, 15, 13), size = FIELD(word, 11, 10);
        unsigned scale = opcode >> 1;
        registers = (opcode & 1) * 2 + FIELD(word, 21, 21) + 1;
        interleaved = registers > 1 ? registers : 1;
        if (scale == 3)
            scale = size; // replicate
        else if (scale == 2 && size & 1)
            scale = 3;
        bytes = registers << scale;
        access->reports = registers;
        access->units = 1;
    }
    access->kind = load ? ACCESS_LOAD : ACCESS_STORE;
    access->base = FIELD(word, 9, 5);
    access->bytes = bytes;
    const bool replicates = FIELD(word, 15, 14) == 3;
    for (unsigned r = 0; r < registers; r++) {
        if (load)
            loads(insn, true, (word + r) & 31);
        if (!load || (single && !replicates))
            needs(insn, true, (word + r) & 31);
    }
    if (load && interleaved == 4 && !single)
        set_class(insn, A64_LOAD_LD4, 1);
    else if (load && (interleaved > 1 || single))
        set_class(insn, registers > 2 ? A64_LOAD_LANE_LONG : A64_LOAD_LANE, registers);
    else if (load)
        set_class(insn, registers > 2 ? A64_LOAD_VECTORS_LONG : A64_LOAD_VECTORS, registers);
    else if (interleaved > 1 || single)
        set_class(insn, A64_STORE_LANE, registers);
    else
        set_class(insn, FIELD(word, 30, 30) ? A64_STORE_Q : A64_STORE_V, registers);
    if (post) {
        const unsigned rm = FIELD(word, 20, 16);
        if (rm != 31)
            addressed_by(insn, rm);
        moves_base(insn, rm == 31, (int32_t)bytes);
    }
    return true;
}

/// Load and store exclusive, compare and swap, load-acquire and store-release.
static bool ordered(uint32_t word, struct a64_insn *insn) {
    struct a64_access *access = &insn->access;
    const unsigned size = FIELD(word, 31, 30), rs = FIELD(word, 20, 16), rt2 = FIELD(word, 14, 10);
    const bool o2 = FIELD(word, 23, 23), load = FIELD(word, 22, 22), o1 = FIELD(word, 21, 21);
    access->base = FIELD(word, 9, 5);
    access->units = access->reports = 1;
    access->bytes = 1u << size;
    const unsigned rt = FIELD(word, 4, 0);
    if (o2 && !o1) { // LDAR, STLR
        access->kind = load ? ACCESS_LOAD : ACCESS_STORE;
        set_class(insn, load ? A64_LOAD : A64_STORE, 1);
        load ? loads(insn, false, rt) : needs(insn, false, rt);
        return true;
    }
    access->kind = ACCESS_ATOMIC;
    set_class(insn, load && !o2 ? A64_LOAD : A64_ATOMIC, 1);
    const bool swap =
        o1 && (o2 || size < 2); // CAS, CASP: what is loaded goes to Rs, which holds what is expected
    const bool pair = o1 && !o2;
    if (pair)
        access->bytes = swap ? 8u << size : 2u << size;
    if (swap) {
        needs(insn, false, rt);
        needs(insn, false, rs);
        loads(insn, false, rs);
        if (pair) {
            needs(insn, false, rt | 1);
            needs(insn, false, rs | 1);
            loads(insn, false, rs | 1);
        }
    } else if (load) { // LDXR, LDXP
        loads(insn, false, rt);
        if (pair)
            loads(insn, false, rt2);
    } else { // STXR, STXP: Rs gets the status
        loads(insn, false, rs);
        needs(insn, false, rt);
        if (pair)
            needs(insn, false, rt2);
    }
    return true;
}

static bool pair(uint32_t word, struct a64_insn *insn) {
    struct a64_access *access = &insn->access;
    const unsigned opc = FIELD(word, 31, 30), index = FIELD(word, 24, 23);
    const bool vector = FIELD(word, 26, 26), load = FIELD(word, 22, 22);
    if (opc == 3 || (opc == 1 && !vector && (!load || index == 0)))
        return false; // unallocated, or STGP
    const unsigned scale = vector ? 2 + opc : opc == 2 ? 3 : 2;
    const int32_t offset = (int32_t)((uint32_t)sign_extend(FIELD(word, 21, 15), 7) << scale);
    access->kind = load ? ACCESS_LOAD : ACCESS_STORE;
    access->base = FIELD(word, 9, 5);
    access->bytes = 2u << scale;
    access->units = scale == 4 ? 2 : 1;
    access->reports = scale == 4 ? 4 : 2;
    access->offset = index == 1 ? 0 : offset;
    for (unsigned low = 0; low <= 10; low += 10) { // Rt, Rt2
        const unsigned reg = FIELD(word, low + 4, low);
        load ? loads(insn, vector, reg) : needs(insn, vector, reg);
    }
    if (load && vector)
        set_class(insn, scale == 4 ? A64_LOAD_PAIR_Q : A64_LOAD_PAIR_V, 1);
    else if (load)
        set_class(insn, opc == 1 ? A64_LOAD_PAIR_SIGNED : scale == 2 ? A64_LOAD : A64_LOAD_PAIR, 1);
    else if (vector && scale == 4)
        set_class(insn, A64_STORE_PAIR_Q, 1);
    else if (vector)
        set_class(insn, A64_STORE_V, scale == 3 ? 2 : 1);
    else
        set_class(insn, scale == 2 ? A64_STORE : A64_STORE_PAIR, 1);
    if (index & 1) // post- and pre-index
        moves_base(insn, true, offset);
    return true;
}

static void prefetch(uint32_t word, struct a64_insn *insn) {
    insn->access.kind = FIELD(word, 2, 1) == 0 ? ACCESS_PREFETCH_L1 : ACCESS_PREFETCH_L2;
    insn->access.units = insn->access.reports = 0;
    insn->access.bytes = 1;
    set_class(insn, A64_PREFETCH, 1);
}

static bool literal(uint32_t word, struct a64_insn *insn) {
    struct a64_access *access = &insn->access;
    const unsigned opc = FIELD(word, 31, 30);
    const bool vector = FIELD(word, 26, 26);
    access->literal = true;
    access->offset = sign_extend(FIELD(word, 23, 5), 19) * 4;
    if (opc == 3) {
        if (vector)
            return false;
        prefetch(word, insn);
        return true;
    }
    access->kind = ACCESS_LOAD;
    access->bytes = vector ? 4u << opc : opc == 1 ? 8 : 4;
    access->units = 1;
    access->reports = access->bytes == 16 ? 2 : 1;
    loads(insn, vector, FIELD(word, 4, 0));
    set_class(insn, vector ? A64_LOAD_V : A64_LOAD, 1);
    return true;
}

/// LDADD and its group, SWP, LDAPR.
static bool atomic(uint32_t word, struct a64_insn *insn) {
    if (FIELD(word, 26, 26))
        return false;
    insn->access.kind = ACCESS_ATOMIC;
    insn->access.base = FIELD(word, 9, 5);
    insn->access.bytes = 1u << FIELD(word, 31, 30);
    insn->access.units = insn->access.reports = 1;
    loads(insn, false, FIELD(word, 4, 0));
    needs(insn, false, FIELD(word, 20, 16));
    set_class(insn, A64_ATOMIC, 1);
    return true;
}

/// LDR and STR of one register in all addressing modes.
static bool single(uint32_t word, struct a64_insn *insn) {
    struct a64_access *access = &insn->access;
    const unsigned size = FIELD(word, 31, 30), opc = FIELD(word, 23, 22), mode = FIELD(word, 11, 10);
    const bool vector = FIELD(word, 26, 26), unsigned_offset = FIELD(word, 24, 24),
               bit21 = FIELD(word, 21, 21);
    if (!unsigned_offset && bit21 && mode != 2)
        return mode == 0 && atomic(word, insn);
    const bool wide = vector && opc & 2;
    if (wide && size)
        return false;
    const unsigned scale = wide ? 4 : size;
    access->base = FIELD(word, 9, 5);
    access->bytes = 1u << scale;
    access->units = 1;
    access->reports = scale == 4 ? 2 : 1;
    if (unsigned_offset)
        access->offset = (int32_t)(FIELD(word, 21, 10) << scale);
    else if (bit21) {
        access->indexed = true;
        if (FIELD(word, 20, 16) != 31)
            addressed_by(insn, FIELD(word, 20, 16));
    } else if (mode != 1)
        access->offset = sign_extend(FIELD(word, 20, 12), 9);
    if (!vector && size == 3 && opc == 2) {
        if (!unsigned_offset && !bit21 && mode != 0)
            return false;
        prefetch(word, insn);
        return true;
    }
    if (!vector && size >= 2 && opc == 3)
        return false;
    const bool load = vector ? opc & 1 : opc != 0;
    access->kind = load ? ACCESS_LOAD : ACCESS_STORE;
    access->may_be_doorbell = !load && !vector && size >= 2 && access->base != A64_SP;
    load ? loads(insn, vector, FIELD(word, 4, 0)) : needs(insn, vector, FIELD(word, 4, 0));
    if (load && vector)
        set_class(insn, access->indexed && (scale == 1 || scale == 4) ? A64_LOAD_V_INDEXED : A64_LOAD_V, 1);
    else if (vector)
        set_class(insn, scale == 4 ? A64_STORE_Q : A64_STORE_V, 1);
    else
        set_class(insn, load ? A64_LOAD : A64_STORE, 1);
    if (!unsigned_offset && !bit21 && mode & 1) // post- and pre-index
        moves_base(insn, true, sign_extend(FIELD(word, 20, 12), 9));
    return true;
}

/// DC by virtual address. The maintenance of a line is an access of no size: QEMU reports none.
static bool cache_maintenance(uint32_t word, struct a64_insn *insn) {
    static const struct {
        uint32_t word;
        uint8_t kind, class, units;
    } known[] = {
        {0xd50b7420, ACCESS_ZERO_LINE, A64_STORE, 1},   // DC ZVA
        {0xd50b7a20, ACCESS_CLEAN, A64_SYSTEM, 0},      // DC CVAC
        {0xd50b7b20, ACCESS_CLEAN, A64_SYSTEM, 0},      // DC CVAU
        {0xd50b7e20, ACCESS_INVALIDATE, A64_SYSTEM, 0}, // DC CIVAC
        {0xd5087620, ACCESS_INVALIDATE, A64_SYSTEM, 0}, // DC IVAC
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if ((word & 0xffffffe0) != known[i].word)
            continue;
        insn->access.kind = known[i].kind;
        insn->access.base = FIELD(word, 4, 0) == 31 ? A64_NO_REGISTER : FIELD(word, 4, 0); // XZR
        insn->access.bytes = 1; // the line of any address inside it
        insn->access.units = known[i].units;
        set_class(insn, known[i].class, 1);
        return true;
    }
    return false;
}

bool a64_decode_memory(uint32_t word, struct a64_insn *insn) {
    bool known = false;
    if ((word & 0x0a000000) == 0x08000000) {
        switch (FIELD(word, 29, 28)) {
        case 0:
            if (!FIELD(word, 26, 26))
                known = FIELD(word, 25, 24) == 0 && ordered(word, insn);
            else
                known = !FIELD(word, 31, 31) && structures(word, insn);
            break;
        case 1:
            known = FIELD(word, 25, 24) == 0 && literal(word, insn);
            break;
        case 2:
            known = pair(word, insn);
            break;
        case 3:
            known = single(word, insn);
            break;
        }
    } else {
        known = cache_maintenance(word, insn);
    }
    if (known && insn->access.base != A64_NO_REGISTER)
        addressed_by(insn, insn->access.base);
    return known;
}
