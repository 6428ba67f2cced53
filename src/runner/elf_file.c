#include "runner/elf_file.h"

#include "base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file with more symbols is damaged. */
#define SYMBOLS_MAX (1u << 20)
#define NEEDED_MAX 256

#if !defined(R_AARCH64_GLOB_DAT)
#define R_AARCH64_GLOB_DAT 1025
#define R_AARCH64_JUMP_SLOT 1026
#endif

struct tt_elf_file {
    int fd;
    Elf *elf;
    GElf_Ehdr header;
    tt_elf_symbol *symbols; /* sorted by name */
    size_t n_symbols, capacity;
    const char *needed[NEEDED_MAX];
    size_t n_needed;
    const char *soname, *runpath, *interpreter;
    bool symbolic;
};

static bool is_ours(const char *name)
{
    static const char *const prefixes[] = {"ggml_", "gguf_", "llama_", "GOMP_", "__kmpc_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) return true;
    return false;
}

static bool add_symbol(tt_elf_file *f, const char *name, unsigned flags)
{
    if (!tt_array_one_more_within(f->symbols, f->n_symbols, f->capacity,
                                  SYMBOLS_MAX * sizeof *f->symbols))
        return false;
    f->symbols[f->n_symbols++] = (tt_elf_symbol){name, flags};
    return true;
}

static bool read_symbols(tt_elf_file *f, Elf_Scn *section, const GElf_Shdr *header, bool dynamic)
{
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data || header->sh_entsize == 0) return true;
    size_t n = header->sh_size / header->sh_entsize;
    for (size_t i = 0; i < n && i < SYMBOLS_MAX; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol)) break;
        const char *name = elf_strptr(f->elf, header->sh_link, symbol.st_name);
        if (!name || !is_ours(name)) continue;
        bool defined = symbol.st_shndx != SHN_UNDEF;
        if (!dynamic && !defined) continue;
        unsigned flags = !dynamic ? TT_ELF_STATIC : defined ? TT_ELF_DEFINED : TT_ELF_IMPORTED;
        if (!add_symbol(f, name, flags)) return false;
    }
    return true;
}

static bool is_slot(uint16_t machine, uint64_t info)
{
    uint64_t type = GELF_R_TYPE(info);
    if (machine == EM_X86_64) return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
    if (machine == EM_AARCH64) return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
    return false;
}

static bool read_relocations(tt_elf_file *f, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    Elf_Scn *linked = elf_getscn(f->elf, header->sh_link);
    GElf_Shdr symbols_header;
    if (!data || !linked || !gelf_getshdr(linked, &symbols_header) || header->sh_entsize == 0 ||
        symbols_header.sh_type != SHT_DYNSYM)
        return true;
    Elf_Data *symbols = elf_getdata(linked, NULL);
    size_t n = header->sh_size / header->sh_entsize;
    for (size_t i = 0; symbols && i < n && i < SYMBOLS_MAX; i++) {
        GElf_Rela rela;
        GElf_Sym symbol;
        if (!gelf_getrela(data, (int)i, &rela)) break;
        if (!is_slot(f->header.e_machine, rela.r_info)) continue;
        if (!gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &symbol)) continue;
        const char *name = elf_strptr(f->elf, symbols_header.sh_link, symbol.st_name);
        if (name && is_ours(name) && !add_symbol(f, name, TT_ELF_CALLED)) return false;
    }
    return true;
}

static void read_dynamic(tt_elf_file *f, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data || header->sh_entsize == 0) return;
    size_t n = header->sh_size / header->sh_entsize;
    for (size_t i = 0; i < n; i++) {
        GElf_Dyn d;
        if (!gelf_getdyn(data, (int)i, &d) || d.d_tag == DT_NULL) break;
        const char *text = elf_strptr(f->elf, header->sh_link, (size_t)d.d_un.d_val);
        if (d.d_tag == DT_NEEDED && text && f->n_needed < NEEDED_MAX)
            f->needed[f->n_needed++] = text;
        if (d.d_tag == DT_SONAME && text) f->soname = text;
        if ((d.d_tag == DT_RUNPATH || (d.d_tag == DT_RPATH && !f->runpath[0])) && text)
            f->runpath = text;
        if (d.d_tag == DT_SYMBOLIC || (d.d_tag == DT_FLAGS && (d.d_un.d_val & DF_SYMBOLIC)))
            f->symbolic = true;
    }
}

static void read_interpreter(tt_elf_file *f)
{
    size_t n = 0, size = 0;
    const char *raw = elf_rawfile(f->elf, &size);
    if (!raw || elf_getphdrnum(f->elf, &n) != 0) return;
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr p;
        if (!gelf_getphdr(f->elf, (int)i, &p) || p.p_type != PT_INTERP) continue;
        if (p.p_offset >= size || p.p_filesz == 0 || p.p_filesz > size - p.p_offset) return;
        if (raw[p.p_offset + p.p_filesz - 1] == '\0') f->interpreter = raw + p.p_offset;
        return;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tt_elf_symbol *)a)->name, ((const tt_elf_symbol *)b)->name);
}

/* Keeps one entry per name, with the flags of all its entries. */
static void merge_symbols(tt_elf_file *f)
{
    if (f->n_symbols == 0) return;
    qsort(f->symbols, f->n_symbols, sizeof *f->symbols, by_name);
    size_t kept = 0;
    for (size_t i = 1; i < f->n_symbols; i++) {
        if (by_name(&f->symbols[kept], &f->symbols[i]) == 0)
            f->symbols[kept].flags |= f->symbols[i].flags;
        else
            f->symbols[++kept] = f->symbols[i];
    }
    f->n_symbols = kept + 1;
    for (size_t i = 0; i < f->n_symbols; i++)
        if (f->symbols[i].flags & (TT_ELF_DEFINED | TT_ELF_IMPORTED))
            f->symbols[i].flags &= ~(unsigned)TT_ELF_STATIC;
}

static bool read_tables(tt_elf_file *f)
{
    bool ok = true;
    for (Elf_Scn *s = NULL; ok && (s = elf_nextscn(f->elf, s));) {
        GElf_Shdr h;
        if (!gelf_getshdr(s, &h)) continue;
        if (h.sh_type == SHT_DYNSYM || h.sh_type == SHT_SYMTAB)
            ok = read_symbols(f, s, &h, h.sh_type == SHT_DYNSYM);
        else if (h.sh_type == SHT_RELA)
            ok = read_relocations(f, s, &h);
        else if (h.sh_type == SHT_DYNAMIC)
            read_dynamic(f, s, &h);
    }
    read_interpreter(f);
    merge_symbols(f);
    return ok;
}

tt_status tt_elf_open(const char *path, tt_elf_file **out, tt_error *err)
{
    tt_elf_file *f = calloc(1, sizeof *f);
    if (!f) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    f->soname = f->runpath = f->interpreter = "";
    tt_status status = TT_OK;
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0)
        status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%.200s: %s", path, strerror(errno));
    else if (elf_version(EV_CURRENT) == EV_NONE ||
             !(f->elf = elf_begin(f->fd, ELF_C_READ_MMAP, NULL)) || elf_kind(f->elf) != ELF_K_ELF ||
             !gelf_getehdr(f->elf, &f->header))
        status = tt_error_set(err, TT_E_FORMAT, 0, "%.200s: not an ELF file", path);
    else if (gelf_getclass(f->elf) != ELFCLASS64)
        status = tt_error_set(err, TT_E_UNSUPPORTED, 4, "%.200s: a 32-bit program", path);
    else if (!read_tables(f))
        status = tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "%.200s: too many symbols", path);
    if (status != TT_OK)
        tt_elf_close(f);
    else
        *out = f;
    return status;
}

void tt_elf_close(tt_elf_file *f)
{
    if (!f) return;
    if (f->elf) (void)elf_end(f->elf);
    if (f->fd >= 0) (void)close(f->fd);
    free(f->symbols);
    free(f);
}

unsigned tt_elf_symbol_flags(const tt_elf_file *f, const char *name)
{
    tt_elf_symbol key = {name, 0};
    if (f->n_symbols == 0) return 0;
    const tt_elf_symbol *s = bsearch(&key, f->symbols, f->n_symbols, sizeof key, by_name);
    return s ? s->flags : 0;
}

size_t tt_elf_n_symbols(const tt_elf_file *f)
{
    return f->n_symbols;
}

const tt_elf_symbol *tt_elf_symbols(const tt_elf_file *f)
{
    return f->symbols;
}

const char *tt_elf_soname(const tt_elf_file *f)
{
    return f->soname;
}

const char *tt_elf_runpath(const tt_elf_file *f)
{
    return f->runpath;
}

size_t tt_elf_n_needed(const tt_elf_file *f)
{
    return f->n_needed;
}

const char *tt_elf_needed(const tt_elf_file *f, size_t i)
{
    return f->needed[i];
}

const char *tt_elf_interpreter(const tt_elf_file *f)
{
    return f->interpreter;
}

bool tt_elf_is_symbolic(const tt_elf_file *f)
{
    return f->symbolic;
}

uint16_t tt_elf_machine(const tt_elf_file *f)
{
    return f->header.e_machine;
}
