/* Reads an ELF file's dynamic linking information, without running the file. */
#ifndef TT_RUNNER_ELF_FILE_H
#define TT_RUNNER_ELF_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_elf_file tt_elf_file;

enum {
    TT_ELF_DEFINED = 1,  /* in the dynamic symbol table, with an address */
    TT_ELF_IMPORTED = 2, /* in the dynamic symbol table, without an address */
    TT_ELF_CALLED = 4,   /* a JUMP_SLOT or GLOB_DAT relocation names it: this file reaches
                            the symbol through a table the dynamic linker fills, so a
                            preloaded library can take its place */
    TT_ELF_STATIC = 8    /* defined, but only in the debuggers' symbol table */
};

typedef struct tt_elf_symbol {
    const char *name; /* owned by the file */
    unsigned flags;
} tt_elf_symbol;

/* Opens and reads the tables of `path`. TT_E_IO when it cannot be read,
 * TT_E_FORMAT when it is no ELF file, TT_E_UNSUPPORTED for 32-bit files.
 * The result is freed with tt_elf_close. */
tt_status tt_elf_open(const char *path, tt_elf_file **out, tt_error *err);
void tt_elf_close(tt_elf_file *elf); /* NULL is allowed */

/* Flags of the symbol; 0 when the file lacks it. */
unsigned tt_elf_symbol_flags(const tt_elf_file *elf, const char *name);
/* All symbols that belong to ggml, gguf, llama or an OpenMP run time, by name. */
size_t tt_elf_n_symbols(const tt_elf_file *elf);
const tt_elf_symbol *tt_elf_symbols(const tt_elf_file *elf);

const char *tt_elf_soname(const tt_elf_file *elf);  /* "" when absent */
const char *tt_elf_runpath(const tt_elf_file *elf); /* RUNPATH or RPATH, "" */
size_t tt_elf_n_needed(const tt_elf_file *elf);
const char *tt_elf_needed(const tt_elf_file *elf, size_t i);
/* The program interpreter (the dynamic linker); "" for libraries and static programs. */
const char *tt_elf_interpreter(const tt_elf_file *elf);
/* Whether its own symbols bind inside the library before any preloaded one (-Bsymbolic). */
bool tt_elf_is_symbolic(const tt_elf_file *elf);
uint16_t tt_elf_machine(const tt_elf_file *elf); /* EM_X86_64, EM_AARCH64, ... */

#endif
