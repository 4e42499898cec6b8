#include "agent/psi.h"

#include <errno.h>
#include <string.h>

#include "agent/scan.h"

/* Two lines of four fields; the longest the kernel prints is under 200 bytes,
 * the rest is room for fields to come. */
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

static int scan_file(struct psi *out, const char *text, struct error *err)
{
	struct scan s = { .at = text };

	*out = (struct psi){
		.state = SOURCE_PRESENT,
		.some_us = REPORT_UNKNOWN,
		.full_us = REPORT_UNKNOWN,
	};
	while (!scan_end(&s)) {
		if (!scan_stall_line(&s, out)) {
			return error_set(err, -EBADMSG, "a line has no total");
		}
	}
	return 0;
}

int psi_parse(struct psi *out, const char *text, struct error *err)
{
	struct psi psi;
	int r = scan_file(&psi, text, err);

	if (r == 0 && psi.some_us == REPORT_UNKNOWN) {
		r = error_set(err, -EBADMSG, "no 'some' line");
	}
	if (r == 0) {
		*out = psi;
	}
	return r;
}

int psi_parse_irq(struct psi *out, const char *text, struct error *err)
{
	struct psi psi;
	int r = scan_file(&psi, text, err);

	if (r == 0 && psi.full_us == REPORT_UNKNOWN) {
		r = error_set(err, -EBADMSG, "no 'full' line");
	}
	if (r == 0) {
		*out = psi;
	}
	return r;
}

static void read_with(struct psi *out, struct kept_file *file,
	int (*parse)(struct psi *, const char *, struct error *),
	struct error *err)
{
	char text[PSI_FILE_MAX];
	struct error why = { 0 };
	int r = kept_file_read(file, text, sizeof(text), &why);

	*out = (struct psi){
		.some_us = REPORT_UNKNOWN,
		.full_us = REPORT_UNKNOWN,
	};
	if (r >= 0) {
		r = parse(out, text, &why);
	}
	out->state = kept_file_settle(file, r, &why, err);
}

void psi_read(struct psi *out, struct kept_file *file, struct error *err)
{
	read_with(out, file, psi_parse, err);
}

void psi_read_irq(struct psi *out, struct kept_file *file, struct error *err)
{
	read_with(out, file, psi_parse_irq, err);
}

void psi_files_init(struct psi_files *files, int dir)
{
	kept_file_init(&files->cpu, dir, "cpu.pressure");
	kept_file_init(&files->memory, dir, "memory.pressure");
	kept_file_init(&files->io, dir, "io.pressure");
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
	kept_file_fini(&files->cpu);
	kept_file_fini(&files->memory);
	kept_file_fini(&files->io);
}
