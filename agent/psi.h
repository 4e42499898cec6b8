/* Pressure stall information: how long work waited for a resource.
 *
 * psi_parse() is pure. Only totals are taken: the kernel's averages lag by
 * seconds, and rates are the aggregator's business. */
#pragma once

#include "agent/kernel_file.h"
#include "lib/error.h"
#include "proto/report.h"

/* The three files of a node or a cgroup. */
struct psi_files {
	struct kept_file cpu, memory, io;
};

/* Takes the totals out of one pressure file's text; fields and lines it does
 * not know are skipped. full_us stays unknown without a 'full' line, which cpu
 * lacks before Linux 5.13. -EBADMSG: not the kernel's format. */
must_check int psi_parse(struct psi *out, const char *text, struct error *err);

/* Reads one pressure file. Always fills *out, if only with the reason why
 * nothing is known: absent (no such file: psi=0), disabled (CONFIG_PSI without
 * psi=1 on some kernels), error. Only for an error, err is set. */
void psi_read(struct psi *out, struct kept_file *file, struct error *err);

/* The same for irq's file, which has a full line only; it is there since Linux
 * 6.1 on kernels that account for interrupts' time. */
must_check int psi_parse_irq(struct psi *out, const char *text,
	struct error *err);
void psi_read_irq(struct psi *out, struct kept_file *file, struct error *err);

/* cpu.pressure, memory.pressure and io.pressure of the cgroup that dir is. */
void psi_files_init(struct psi_files *files, int dir);

/* Reads all three. */
void psi_files_read(struct pressure *out, struct psi_files *files,
	struct error *err);

void psi_files_fini(struct psi_files *files); /* NULL and zeroed are fine */
