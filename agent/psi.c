#include "agent/psi.h"

#include <errno.h>
#include <string.h>

#include "agent/scan.h"

/* The kernel prints under 200 bytes; the rest is room for future fields. */
enum { PSI_FILE_MAX = 1024 };

/* " avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", in any order. */
static bool scan_stall(struct scan *s, uint64_t *total_us)
{
	bool found = false;

	for (scan_blanks(s); *s->at != '\n' && !scan_end(s); scan_blanks(s)) {
		if (!scan_text(s, "total=")) {
			scan_word(s);
			continue;
		}
		found = scan_u64(s, total_us) && strchr(" \n", *s->at) != NULL;
		if (!found) {
			return false;
		}
	}
	return found && scan_text(s, "\n");
}

static bool scan_stall_line(struct scan *s, struct psi *psi)
{
	if (scan_text(s, "some ")) {
		return scan_stall(s, &psi->some_us);
	}
	if (scan_text(s, "full ")) {
		return scan_stall(s, &psi->full_us);
	}
	scan_line(s);
	return true;
}

static const struct psi unknown = {
	.some_us = REPORT_UNKNOWN,
	.full_us = REPORT_UNKNOWN,
};

int psi_parse(struct psi *out, const char *text, bool is_irq, struct error *err)
{
	struct scan s = { .at = text };
	struct psi psi = unknown;

	psi.state = SOURCE_PRESENT;
	while (!scan_end(&s)) {
		if (!scan_stall_line(&s, &psi)) {
			return error_set(err, -EBADMSG, "a line has no total");
		}
	}
	if ((is_irq ? psi.full_us : psi.some_us) == REPORT_UNKNOWN) {
		return error_set(err, -EBADMSG, "no '%s' line",
			is_irq ? "full" : "some");
	}
	*out = psi;
	return 0;
}

static void read_file(struct psi *out, struct kernel_file *file, bool is_irq,
	struct error *err)
{
	char text[PSI_FILE_MAX];
	struct error why = { 0 };
	int r = kernel_file_read(file, text, sizeof(text), &why);

	*out = unknown;
	if (r >= 0) {
		r = psi_parse(out, text, is_irq, &why);
	}
	out->state = kernel_file_state(file, r, &why, err);
}

void psi_read(struct psi *out, struct kernel_file *file, struct error *err)
{
	read_file(out, file, false, err);
}

void psi_read_irq(struct psi *out, struct kernel_file *file, struct error *err)
{
	read_file(out, file, true, err);
}

void psi_files_init(struct psi_files *files, int dir)
{
	kernel_file_init(&files->cpu, dir, "cpu.pressure");
	kernel_file_init(&files->memory, dir, "memory.pressure");
	kernel_file_init(&files->io, dir, "io.pressure");
}

void psi_files_read(struct pressure *out, struct psi_files *files,
	struct error *err)
{
	psi_read(&out->cpu, &files->cpu, err);
	psi_read(&out->memory, &files->memory, err);
	psi_read(&out->io, &files->io, err);
}

void psi_files_fini(struct psi_files *files)
{
	if (files == NULL) {
		return;
	}
	kernel_file_fini(&files->cpu);
	kernel_file_fini(&files->memory);
	kernel_file_fini(&files->io);
}
