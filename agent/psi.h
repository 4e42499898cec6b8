/* Pressure stall information (PSI): how long tasks waited for a resource.
 *
 * Only totals are read: the kernel's averages lag by seconds, and the
 * aggregator computes rates itself. */
#pragma once

#include "agent/kernel_file.h"
#include "lib/error.h"
#include "proto/report.h"

#include <stdbool.h>

/* The three files of a node or a cgroup. */
struct psi_files {
	struct kernel_file cpu, memory, io;
};

/* Parses the totals in a pressure file's text; unknown fields and lines are
 * skipped. full_us stays unknown without a 'full' line, which cpu lacks before
 * Linux 5.13. The file of irq has that line only. Pure. -EBADMSG: not the
 * kernel's format. */
must_check int psi_parse(struct psi *out, const char *text, bool is_irq,
	struct error *err);

/* Reads one pressure file. Always sets out->state: absent (no such file:
 * psi=0), disabled (CONFIG_PSI without psi=1 on some kernels), error, or
 * present. err is set only for an error. */
void psi_read(struct psi *out, struct kernel_file *file, struct error *err);

/* The same for the file of irq, which exists since Linux 6.1 on kernels that
 * account for the time of interrupts. */
void psi_read_irq(struct psi *out, struct kernel_file *file, struct error *err);

/* cpu.pressure, memory.pressure and io.pressure of the cgroup in dir. */
void psi_files_init(struct psi_files *files, int dir);
void psi_files_read(struct pressure *out, struct psi_files *files,
	struct error *err);

void psi_files_fini(struct psi_files *files); /* NULL and zeroed are fine */
