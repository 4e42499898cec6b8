#include "agent/spool.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/segment.h"
#include "agent/spool_dir.h"
#include "lib/buffer.h"
#include "lib/memory.h"

enum { READ_BYTES = SEGMENT_BODY_MAX + SEGMENT_RECORD_BYTES };

struct file {
	char name[SPOOL_NAME_BYTES];
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	bool is_ours;	      /* of this run */
	bool is_identified;   /* the header was read and is a segment's */
	uint64_t first, last; /* seqs; for files of this run only */
	uint64_t bytes;
	uint32_t pending; /* a bit per consumer that lacks reports */
	struct {
		uint64_t offset, next_seq; /* of the first report to send */
	} done[RING_CONSUMERS_MAX];
};

struct pick {
	struct file *file; /* NULL: nothing was picked */
	uint64_t end, next_seq;
	size_t count;
	uint8_t *bytes; /* owned; what the batch points into */
};

struct spool {
	struct spool_options options;
	struct spool_dir dir;
	struct file **files; /* oldest first; owned, and so is each */
	size_t count, capacity;
	struct file *active; /* written to; NULL: none */
	int active_fd;
	uint64_t next_number;
	struct spool_stats stats;
	uint64_t written; /* the highest seq that is on disk */
	bool is_behind;	  /* a consumer lacks more than the newest report */
	struct error last_error; /* code 0: none */
	struct pick picks[RING_CONSUMERS_MAX];
};

static void close_active(struct spool *spool)
{
	if (spool->active != NULL && close(spool->active_fd) < 0) {
		(void)error_errno(&spool->last_error, "cannot close '%s/%s'",
			spool->options.dir, spool->active->name);
	}
	spool->active = NULL;
}

/* Leaves the file on disk. */
static void forget_file(struct spool *spool, size_t index)
{
	struct file *file = spool->files[index];

	spool->stats.bytes -= file->bytes;
	if (file == spool->active) {
		close_active(spool);
	}
	for (size_t i = 0; i < spool->options.consumers; i++) {
		if (spool->picks[i].file == file) {
			spool->picks[i].file = NULL;
		}
	}
	free(file);
	spool->count--;
	memmove(&spool->files[index], &spool->files[index + 1],
		(spool->count - index) * sizeof(struct file *));
}

/* A file that cannot be deleted stays in the list, as it does on disk. A file
 * that is no segment stays on disk only. */
static int delete_file(struct spool *spool, size_t index)
{
	int r = 0;

	if (spool->files[index]->is_identified) {
		r = spool_dir_delete(&spool->dir, spool->files[index]->name,
			&spool->last_error);
	}
	if (r == 0) {
		forget_file(spool, index);
	}
	return r;
}

static struct file *insert(struct spool *spool,
	const char name[SPOOL_NAME_BYTES])
{
	struct file *file = xcalloc(1, sizeof(*file));

	memcpy(file->name, name, sizeof(file->name));
	for (size_t i = 0; i < spool->options.consumers; i++) {
		file->done[i].offset = SEGMENT_HEADER_BYTES;
	}
	spool->files = xgrow(spool->files, spool->count, &spool->capacity,
		sizeof(struct file *));
	spool->files[spool->count++] = file;
	return file;
}

/* True: a kill would cost reports if the file were deleted. */
static bool holds_some(const struct spool *spool, const struct file *file)
{
	return file->is_ours &&
		file->last >= ring_oldest_seq(spool->options.ring);
}

static void trim(struct spool *spool)
{
	for (size_t i = 0; i < spool->count;) {
		const struct file *f = spool->files[i];
		bool is_held = holds_some(spool, f);

		if (f->pending != 0 || (spool->is_behind && is_held) ||
			delete_file(spool, i) < 0) {
			i++;
		} else if (is_held) {
			/* If consumers fall behind again, what the ring
			 * holds has to be written again. */
			spool->written =
				ring_oldest_seq(spool->options.ring) - 1;
		}
	}
}

/* How many reports from seq on are lost with the file: a consumer lacks them,
 * and the ring does not hold them any more. */
static uint64_t lost_with(const struct spool *spool, const struct file *file,
	uint64_t seq)
{
	uint64_t held = ring_oldest_seq(spool->options.ring);
	uint64_t end = file->last + 1 < held ? file->last + 1 : held;

	return file->is_ours && file->pending != 0 && end > seq ? end - seq : 0;
}

static int make_room(struct spool *spool, uint64_t bytes)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < spool->count &&
		spool->stats.bytes + bytes > spool->options.bytes_max;) {
		const struct file *f = spool->files[i];
		uint64_t lost = lost_with(spool, f, f->first);

		if (f->is_identified) {
			r = delete_file(spool, i);
			spool->stats.dropped += r == 0 ? lost : 0;
		} else {
			i++; /* the file may be no segment */
		}
	}
	return r;
}

static int begin_file(struct spool *spool, uint64_t seq)
{
	char name[SPOOL_NAME_BYTES] = "";
	struct file *file;
	int fd;

	spool_dir_name(name, spool->next_number++);
	fd = spool_dir_create(&spool->dir, name, &spool->last_error);
	if (fd < 0) {
		return fd;
	}
	file = insert(spool, name);
	memcpy(file->run_id, spool->options.run_id, sizeof(file->run_id));
	file->is_ours = true;
	file->is_identified = true;
	file->first = seq;
	spool->active = file;
	spool->active_fd = fd;
	return 0;
}

/* Writes all of bytes or, where that fails, none of them. */
static int write_whole(struct spool *spool, const struct buffer *bytes)
{
	struct file *file = spool->active;
	ssize_t n = write(spool->active_fd, bytes->data, bytes->len);

	if (n == (ssize_t)bytes->len) {
		file->bytes += bytes->len;
		spool->stats.bytes += bytes->len;
		return 0;
	}
	errno = n < 0 ? errno : ENOSPC;
	(void)error_errno(&spool->last_error, "cannot write to '%s/%s'",
		spool->options.dir, file->name);
	if (n > 0 && ftruncate(spool->active_fd, (off_t)file->bytes) < 0) {
		/* No record behind a torn one can be read. */
		close_active(spool);
	}
	return spool->last_error.code;
}

static int append(struct spool *spool, uint64_t seq,
	const struct packed_report *report)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(
		SEGMENT_HEADER_BYTES + SEGMENT_RECORD_BYTES + SEGMENT_BODY_MAX);
	struct file *file = NULL;
	int r;

	if (spool->active != NULL &&
		spool->active->bytes >= SPOOL_SEGMENT_BYTES) {
		close_active(spool);
	}
	r = make_room(spool, SEGMENT_RECORD_BYTES + report->len);
	if (r == 0 && spool->active == NULL) {
		r = begin_file(spool, seq);
	}
	if (r < 0) {
		return r;
	}
	file = spool->active;
	assert(file != NULL);
	if (file->bytes == 0) {
		segment_put_header(&bytes, file->run_id);
	}
	segment_put_record(&bytes, seq, report->bytes, report->len);
	r = write_whole(spool, &bytes);
	if (r == 0) {
		file->last = seq;
		spool->written = seq;
	} else if (file->bytes == 0) {
		close_active(spool);
		(void)delete_file(spool, spool->count - 1);
	}
	return r;
}

static void append_all(struct spool *spool)
{
	const struct ring *ring = spool->options.ring;
	struct packed_report report;
	int r = 0;

	for (uint64_t seq = ring_oldest_seq(ring);
		r == 0 && seq < ring_next_seq(ring); seq++) {
		if (seq > spool->written && ring_get(ring, seq, &report) &&
			report.len <= SEGMENT_BODY_MAX) {
			r = append(spool, seq, &report);
		}
	}
}

/* Called when the ring drops a report. */
static bool on_overflow(void *owner, uint64_t seq, uint32_t pending)
{
	struct spool *spool = owner;

	for (size_t i = 0; i < spool->count; i++) {
		struct file *f = spool->files[i];

		if (f->is_ours && seq >= f->first && seq <= f->last) {
			f->pending |= pending;
			return true;
		}
	}
	return false;
}

/* -EBADMSG: the file is no segment. It stays on disk, and the next trim()
 * removes it from the list. After any other error the header is read again. */
static int identify(struct spool *spool, struct file *file)
{
	int r = spool_dir_identify(&spool->dir, file->name, file->run_id,
		&file->bytes, &spool->last_error);

	if (r == -EBADMSG) {
		file->pending = 0;
	}
	if (r == 0) {
		file->is_identified = true;
		spool->stats.bytes += file->bytes;
	}
	return r;
}

static void add_found(void *owner, const char name[SPOOL_NAME_BYTES])
{
	struct spool *spool = owner;
	struct file *file = insert(spool, name);

	file->pending =
		(uint32_t)((UINT64_C(1) << spool->options.consumers) - 1);
	if (identify(spool, file) != -EBADMSG) {
		spool->stats.segments_found++;
	}
}

/* Nothing behind a damaged record can be read, so no consumer gets it. */
static void cut_damaged(struct spool *spool, struct file *file, size_t consumer)
{
	uint64_t seq = file->done[consumer].next_seq;

	(void)error_set(&spool->last_error, -EBADMSG,
		"'%s/%s' is damaged at byte %" PRIu64, spool->options.dir,
		file->name, file->done[consumer].offset);
	if (file == spool->active) {
		close_active(spool);
	}
	seq = seq > file->first ? seq : file->first;
	spool->stats.dropped += lost_with(spool, file, seq);
	file->last = seq - 1;
}

/* Fills *out from the first len of the consumer's bytes. False: they do not
 * begin with a sound record. */
static bool fill_batch(struct spool_batch *out, const struct spool *spool,
	struct pick *pick, size_t len, size_t max_bytes)
{
	uint64_t held = pick->file->is_ours
		? ring_oldest_seq(spool->options.ring)
		: UINT64_MAX;
	bool is_sound = false;
	size_t at = 0;
	size_t size = 0;
	struct segment_record record;

	while (out->count < WIRE_REPORTS_MAX &&
		segment_get_record(&record, pick->bytes + at, len - at)) {
		is_sound = true;
		size += wire_batched_size(record.len);
		if (record.seq >= held ||
			(out->count > 0 && size > max_bytes)) {
			break;
		}
		out->reports[out->count++] = (struct packed_report){
			.bytes = record.body,
			.len = record.len,
		};
		at += SEGMENT_RECORD_BYTES + record.len;
		pick->next_seq = record.seq + 1;
	}
	memcpy(out->run_id, pick->file->run_id, sizeof(out->run_id));
	pick->end += at;
	pick->count = out->count;
	return is_sound;
}

/* Fills *out with what the consumer lacks of the file. out->count stays 0 if
 * the consumer lacks nothing. After an error the file has to be read again. */
static int pick_from(struct spool_batch *out, struct spool *spool,
	struct file *file, size_t consumer, size_t max_bytes)
{
	struct pick *pick = &spool->picks[consumer];
	uint64_t offset = file->done[consumer].offset;
	uint64_t left = file->bytes > offset ? file->bytes - offset : 0;
	ssize_t len = spool_dir_read(&spool->dir, file->name, offset,
		pick->bytes, left < READ_BYTES ? (size_t)left : READ_BYTES,
		&spool->last_error);

	if (len < 0) {
		return (int)len;
	}
	pick->file = file;
	pick->end = offset;
	if (!fill_batch(out, spool, pick, (size_t)len, max_bytes) && left > 0) {
		cut_damaged(spool, file, consumer);
	}
	return 0;
}

void spool_pick(struct spool_batch *out, struct spool *spool, size_t consumer,
	size_t max_bytes)
{
	uint32_t bit = UINT32_C(1) << consumer;
	struct pick *pick = &spool->picks[consumer];

	out->count = 0;
	if (pick->bytes == NULL && spool->count > 0) {
		pick->bytes = xcalloc(1, READ_BYTES);
	}
	for (size_t i = 0; i < spool->count; i++) {
		struct file *f = spool->files[i];

		if ((f->pending & bit) == 0 ||
			(!f->is_identified && identify(spool, f) < 0) ||
			pick_from(out, spool, f, consumer, max_bytes) < 0) {
			continue;
		}
		if (out->count > 0) {
			return;
		}
		f->pending &= ~bit;
	}
	/* Nothing is left to send, so the memory is freed. */
	pick->file = NULL;
	free(take_ptr(pick->bytes));
	trim(spool);
}

void spool_advance(struct spool *spool, size_t consumer)
{
	struct pick *pick = &spool->picks[consumer];
	struct file *file = take_ptr(pick->file);

	if (file != NULL) {
		file->done[consumer].offset = pick->end;
		file->done[consumer].next_seq = pick->next_seq;
	}
}

void spool_drop(struct spool *spool, size_t consumer)
{
	const struct pick *pick = &spool->picks[consumer];

	if (pick->file != NULL && pick->file->is_ours) {
		spool->stats.dropped += pick->count;
	}
	spool_advance(spool, consumer);
}

int spool_open(struct spool **out, const struct spool_options *options,
	struct error *err)
{
	struct spool *spool = xcalloc(1, sizeof(*spool));
	int r;

	spool->options = *options;
	r = spool_dir_open(&spool->dir, options->dir, err);
	if (r == 0) {
		r = spool_dir_find(&spool->dir, &spool->next_number, add_found,
			spool, err);
	}
	if (r < 0) {
		spool_close(spool);
		return r;
	}
	(void)make_room(spool, 0);
	ring_set_overflow(options->ring, on_overflow, spool);
	*out = spool;
	return 0;
}

void spool_close(struct spool *spool)
{
	if (spool == NULL) {
		return;
	}
	ring_set_overflow(spool->options.ring, NULL, NULL);
	while (spool->count > 0) {
		forget_file(spool, spool->count - 1);
	}
	free(spool->files);
	for (size_t i = 0; i < RING_CONSUMERS_MAX; i++) {
		free(spool->picks[i].bytes);
	}
	spool_dir_close(&spool->dir);
	free(spool);
}

void spool_before_add(struct spool *spool)
{
	spool->is_behind = ring_count(spool->options.ring) > 1;
	trim(spool);
	spool_after_add(spool);
}

void spool_after_add(struct spool *spool)
{
	if (spool->is_behind) {
		append_all(spool);
	}
}

void spool_write_all(struct spool *spool)
{
	spool->is_behind = true;
	trim(spool);
	append_all(spool);
}

const struct spool_stats *spool_stats(const struct spool *spool)
{
	return &spool->stats;
}

int spool_take_last_error(struct error *out, struct spool *spool)
{
	*out = spool->last_error;
	spool->last_error = (struct error){ 0 };
	return out->code;
}
