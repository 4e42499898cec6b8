#include "aggregator/store/pod_nodes.h"

#include "lib/memory.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>

struct places {
	struct sqlite3 *db;
	struct sqlite3_stmt *note, *identify;
};

int places_new(struct places **out, struct sqlite3 *db, struct error *err)
{
	struct places *places = xcalloc(1, sizeof(*places));
	int r;

	places->db = db;
	r = store_db_prepare(&places->note, db,
		"INSERT INTO place(pod_uid, node, first_ms, last_ms)"
		" VALUES (?1, ?2, ?3, ?4) ON CONFLICT(pod_uid, node)"
		" DO UPDATE SET first_ms = min(first_ms, ?3),"
		" last_ms = max(last_ms, ?4)",
		err);
	if (r == 0) {
		r = store_db_prepare(&places->identify, db,
			"INSERT OR REPLACE INTO identity(pod_uid, namespace,"
			" name, vmi_uid, seen_ms) VALUES (?, ?, ?, ?, ?)",
			err);
	}
	if (r < 0) {
		places_free(places);
		return r;
	}
	*out = places;
	return 0;
}

void places_free(struct places *places)
{
	if (places != NULL) {
		(void)sqlite3_finalize(places->note);
		(void)sqlite3_finalize(places->identify);
		free(places);
	}
}

static int run(struct places *places, struct sqlite3_stmt *statement,
	struct error *err)
{
	int r = 0;

	if (sqlite3_step(statement) != SQLITE_DONE) {
		r = store_db_error(places->db, err, "cannot write");
	}
	(void)sqlite3_reset(statement);
	(void)sqlite3_clear_bindings(statement);
	return r;
}

int places_note(struct places *places, const struct place_seen *seen,
	struct error *err)
{
	struct sqlite3_stmt *note = places->note;

	(void)sqlite3_bind_text(note, 1, seen->pod_uid, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(note, 2, seen->node);
	(void)sqlite3_bind_int64(note, 3, (int64_t)seen->first_ms);
	(void)sqlite3_bind_int64(note, 4, (int64_t)seen->last_ms);
	return run(places, note, err);
}

int places_identify(struct places *places,
	const struct store_identity *identity, int64_t node, uint64_t now_ms,
	struct error *err)
{
	const char *const texts[] = { identity->pod_uid, identity->namespace,
		identity->name, identity->vmi_uid };
	const struct place_seen seen = { identity->pod_uid, node, now_ms,
		now_ms };
	int r;

	for (int i = 0; i < (int)count_of(texts); i++) {
		(void)sqlite3_bind_text(places->identify, i + 1, texts[i], -1,
			SQLITE_STATIC);
	}
	(void)sqlite3_bind_int64(places->identify, 5, (int64_t)now_ms);
	r = run(places, places->identify, err);
	return r == 0 && node != 0 ? places_note(places, &seen, err) : r;
}

int places_forget(struct sqlite3 *db, uint64_t before_ms, struct error *err)
{
	scoped_free char *sql = xasprintf(
		"DELETE FROM place WHERE last_ms <"
		" %" PRIu64
		"; DELETE FROM identity WHERE"
		" seen_ms < %" PRIu64
		" AND pod_uid NOT IN"
		" (SELECT pod_uid FROM place)",
		before_ms, before_ms);

	return store_db_exec(db, sql, err);
}
