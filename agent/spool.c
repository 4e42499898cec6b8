#include "agent/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "agent/segment.h"
#include "agent/spool_dir.h"
#include "lib/buffer.h"
#include "lib/memory.h"

enum { READ_BYTES = SEGMENT_BODY_MAX + SEGMENT_RECORD_BYTES };

struct file {
	TAILQ_ENTRY(file) link;
	char name[SPOOL_NAME_BYTES];
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	bool is_ours;	      /* of this run */
	uint64_t first, last; /* seqs, of this run's files only */
	uint64_t bytes;
	uint32_t lacking; /* consumers that want something of it, a bit each */
	uint64_t offsets[RING_CONSUMERS_MAX]; /* what they are done with */
};

struct pick {
	struct file *file; /* NULL: nothing was picked */
	uint64_t end;
	uint8_t *bytes; /* owned; what the batch points into */
};

struct spool {
	struct spool_options options;
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	struct spool_dir dir;
	TAILQ_HEAD(file_list, file) files; /* oldest first */
	struct file *active;		   /* being written, or NULL */
	int active_fd;
	uint64_t next_number;
	uint64_t bytes, dropped, found;
	uint64_t written; /* the highest seq that is on disk */
	bool is_behind;	  /* somebody lacks more than the newest report */
	struct error trouble;
	struct pick picks[RING_CONSUMERS_MAX];
};

/* ---- files ---- */

static void close_active(struct spool *spool)
{
	if (spool->active != NULL) {
		(void)close(spool->active_fd);
		spool->active = NULL;
	}
}

static void delete_file(struct spool *spool, struct file *file)
{
	if (file == spool->active) {
		close_active(spool);
	}
	for (size_t i = 0; i < spool->options.consumers; i++) {
		if (spool->picks[i].file == file) {
			spool->picks[i].file = NULL;
		}
	}
	(void)unlinkat(spool->dir.fd, file->name, 0);
	TAILQ_REMOVE(&spool->files, file, link);
	spool->bytes -= file->bytes;
	free(file);
}

static void insert(struct spool *spool, struct file *file)
{
	for (size_t i = 0; i < spool->options.consumers; i++) {
		file->offsets[i] = SEGMENT_HEADER_BYTES;
	}
	TAILQ_INSERT_TAIL(&spool->files, file, link);
}

/* The ring still holds some of it, so a kill would cost these. */
static bool holds_some(const struct spool *spool, const struct file *file)
{
	return file->is_ours &&
		file->last >= ring_oldest_seq(spool->options.ring);
}

static void trim(struct spool *spool)
{
	struct file *next = NULL;

	for (struct file *f = TAILQ_FIRST(&spool->files); f != NULL; f = next) {
		next = TAILQ_NEXT(f, link);
		if (f->lacking != 0 ||
			(spool->is_behind && holds_some(spool, f))) {
			continue;
		}
		if (holds_some(spool, f)) {
			/* What is not on disk any more may have to be again. */
			spool->written =
				ring_oldest_seq(spool->options.ring) - 1;
		}
		delete_file(spool, f);
	}
}

/* What is lost to somebody: not what the ring still holds. */
static uint64_t lost_with(const struct spool *spool, const struct file *file)
{
	uint64_t held = ring_oldest_seq(spool->options.ring);
	uint64_t end = file->last + 1 < held ? file->last + 1 : held;

	return file->is_ours && file->lacking != 0 && end > file->first
		? end - file->first
		: 0;
}

static void make_room(struct spool *spool, uint64_t bytes)
{
	struct file *next = NULL;

	for (struct file *f = TAILQ_FIRST(&spool->files);
		f != NULL && spool->bytes + bytes > spool->options.bytes_max;
		f = next) {
		next = TAILQ_NEXT(f, link);
		spool->dropped += lost_with(spool, f);
		delete_file(spool, f);
	}
}

static int begin_file(struct spool *spool, struct error *err)
{
	struct file *file = xcalloc(1, sizeof(*file));
	int fd;

	spool_dir_name(file->name, spool->next_number);
	fd = openat(spool->dir.fd, file->name,
		O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0) {
		free(file);
		return error_errno(err, "cannot spool into '%s'",
			spool->options.dir);
	}
	spool->next_number++;
	memcpy(file->run_id, spool->run_id, sizeof(file->run_id));
	file->is_ours = true;
	insert(spool, file);
	spool->active = file;
	spool->active_fd = fd;
	return 0;
}

/* All of it or nothing. */
static int write_whole(struct spool *spool, const struct buffer *bytes,
	struct error *err)
{
	ssize_t n = write(spool->active_fd, bytes->data, bytes->len);

	if (n == (ssize_t)bytes->len) {
		spool->active->bytes += bytes->len;
		spool->bytes += bytes->len;
		return 0;
	}
	errno = n < 0 ? errno : ENOSPC;
	(void)error_errno(err, "cannot spool into '%s'", spool->options.dir);
	if (n > 0 &&
		ftruncate(spool->active_fd, (off_t)spool->active->bytes) < 0) {
		/* A torn record would hide what is written behind it. */
		close_active(spool);
	}
	return err->code;
}

static int append(struct spool *spool, uint64_t seq,
	const struct packed_report *report, struct error *err)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(
		SEGMENT_HEADER_BYTES + SEGMENT_RECORD_BYTES + SEGMENT_BODY_MAX);
	bool is_new;
	int r = 0;

	if (spool->active != NULL &&
		spool->active->bytes >= SPOOL_SEGMENT_BYTES) {
		close_active(spool);
	}
	make_room(spool, SEGMENT_RECORD_BYTES + report->len);
	is_new = spool->active == NULL;
	if (is_new) {
		r = begin_file(spool, err);
	}
	if (r < 0) {
		return r;
	}
	assert(spool->active != NULL);
	if (is_new) {
		segment_put_header(&bytes, spool->run_id);
		spool->active->first = seq;
	}
	segment_put_record(&bytes, seq, report->bytes, report->len);
	r = write_whole(spool, &bytes, err);
	if (r == 0 && spool->active != NULL) {
		spool->active->last = seq;
		spool->written = seq;
	} else if (is_new && spool->active != NULL) {
		delete_file(spool, spool->active);
	}
	return r;
}

static void append_all(struct spool *spool)
{
	const struct ring *ring = spool->options.ring;
	uint64_t from = ring_oldest_seq(ring);
	struct error err = { 0 };
	int r = 0;

	if (from <= spool->written) {
		from = spool->written + 1;
	}
	for (uint64_t seq = from; r == 0 && seq < ring_next_seq(ring); seq++) {
		struct packed_report report;

		if (ring_get(ring, seq, &report) &&
			report.len <= SEGMENT_BODY_MAX) {
			r = append(spool, seq, &report, &err);
		}
	}
	spool->trouble = err;
}

/* The ring drops it. */
static bool keep(void *owner, uint64_t seq, uint32_t lacking)
{
	struct spool *spool = owner;
	struct file *f = NULL;

	TAILQ_FOREACH(f, &spool->files, link)
	{
		if (f->is_ours && seq >= f->first && seq <= f->last) {
			f->lacking |= lacking;
			return true;
		}
	}
	return false;
}

/* ---- what earlier runs left ---- */

static void take_found(void *owner, const struct spool_found *found)
{
	struct spool *spool = owner;
	struct file *file = xcalloc(1, sizeof(*file));

	memcpy(file->name, found->name, sizeof(file->name));
	memcpy(file->run_id, found->run_id, sizeof(file->run_id));
	file->bytes = found->bytes;
	file->lacking =
		(uint32_t)((UINT64_C(1) << spool->options.consumers) - 1);
	insert(spool, file);
	spool->bytes += file->bytes;
	spool->found++;
}

/* ---- sending ---- */

static size_t read_at(const struct spool *spool, const struct file *file,
	uint64_t offset, uint8_t *out)
{
	int fd = openat(spool->dir.fd, file->name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, out, READ_BYTES, (off_t)offset);

	if (fd >= 0) {
		(void)close(fd);
	}
	return n < 0 ? 0 : (size_t)n;
}

/* False: nothing of this file is to be sent now. */
static bool pick_from(struct spool_batch *out, struct spool *spool,
	struct file *file, size_t consumer)
{
	uint64_t held = ring_oldest_seq(spool->options.ring);
	uint64_t offset = file->offsets[consumer];
	struct pick *pick = &spool->picks[consumer];
	size_t len = read_at(spool, file, offset, pick->bytes);
	size_t at = 0;
	size_t size = 0;
	struct segment_record record;

	while (out->count < WIRE_REPORTS_MAX &&
		segment_get_record(&record, pick->bytes + at, len - at) &&
		(!file->is_ours || record.seq < held)) {
		size += wire_batched_size(record.len);
		if (out->count > 0 && size > SPOOL_BATCH_BYTES) {
			break;
		}
		out->reports[out->count++] = (struct packed_report){
			.bytes = record.body,
			.len = record.len,
		};
		at += SEGMENT_RECORD_BYTES + record.len;
	}
	memcpy(out->run_id, file->run_id, sizeof(out->run_id));
	pick->file = file;
	pick->end = offset + at;
	return out->count > 0;
}

void spool_pick(struct spool_batch *out, struct spool *spool, size_t consumer)
{
	uint32_t bit = UINT32_C(1) << consumer;
	struct pick *pick = &spool->picks[consumer];
	struct file *f = NULL;

	out->count = 0;
	if (pick->bytes == NULL && !TAILQ_EMPTY(&spool->files)) {
		pick->bytes = xcalloc(1, READ_BYTES);
	}
	TAILQ_FOREACH(f, &spool->files, link)
	{
		if ((f->lacking & bit) == 0) {
			continue;
		}
		if (pick_from(out, spool, f, consumer)) {
			return;
		}
		f->lacking &= ~bit;
	}
	/* Nothing is left, so the memory need not be held either. */
	pick->file = NULL;
	free(take_ptr(pick->bytes));
	trim(spool);
}

void spool_advance(struct spool *spool, size_t consumer)
{
	struct pick *pick = &spool->picks[consumer];

	if (pick->file != NULL) {
		pick->file->offsets[consumer] = pick->end;
		pick->file = NULL;
	}
}

/* ---- the whole ---- */

int spool_open(struct spool **out, const struct spool_options *options,
	struct error *err)
{
	struct spool *spool = xcalloc(1, sizeof(*spool));
	int r;

	spool->options = *options;
	memcpy(spool->run_id, options->run_id, sizeof(spool->run_id));
	spool->dir = (struct spool_dir)SPOOL_DIR_NONE;
	TAILQ_INIT(&spool->files);
	r = spool_dir_open(&spool->dir, options->dir, err);
	if (r == 0) {
		r = spool_dir_find(&spool->dir, &spool->next_number, take_found,
			spool, err);
	}
	if (r < 0) {
		spool_close(spool);
		return r;
	}
	make_room(spool, 0);
	ring_set_keeper(options->ring, keep, spool);
	*out = spool;
	return 0;
}

void spool_close(struct spool *spool)
{
	if (spool == NULL) {
		return;
	}
	ring_set_keeper(spool->options.ring, NULL, NULL);
	close_active(spool);
	for (struct file *f = TAILQ_FIRST(&spool->files), *next; f != NULL;
		f = next) {
		next = TAILQ_NEXT(f, link);
		free(f);
	}
	for (size_t i = 0; i < RING_CONSUMERS_MAX; i++) {
		free(spool->picks[i].bytes);
	}
	spool_dir_close(&spool->dir);
	free(spool);
}

void spool_before_add(struct spool *spool)
{
	spool->is_behind = ring_count(spool->options.ring) > 1;
	spool->trouble = (struct error){ 0 };
	trim(spool);
	if (spool->is_behind) {
		append_all(spool);
	}
}

void spool_after_add(struct spool *spool)
{
	if (spool->is_behind) {
		append_all(spool);
	}
}

void spool_keep_all(struct spool *spool)
{
	spool->is_behind = true;
	trim(spool);
	append_all(spool);
}

uint64_t spool_dropped(const struct spool *spool)
{
	return spool->dropped;
}

uint64_t spool_bytes(const struct spool *spool)
{
	return spool->bytes;
}

uint64_t spool_segments_found(const struct spool *spool)
{
	return spool->found;
}

const struct error *spool_trouble(const struct spool *spool)
{
	return &spool->trouble;
}
