#include "aggregator/store/pod_nodes.h"

#include "aggregator/store/db.h"
#include "lib/memory.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>

struct pod_nodes {
	struct sqlite3_stmt *note, *identify;
};

int pod_nodes_new(struct pod_nodes **out, struct sqlite3 *db, struct error *err)
{
	struct pod_nodes *pod_nodes = xcalloc(1, sizeof(*pod_nodes));
	const struct db_statement all[] = {
		{ &pod_nodes->note,
			"INSERT INTO place(pod_uid, node, first_ms, last_ms)"
			" VALUES (?1, ?2, ?3, ?4) ON CONFLICT(pod_uid, node)"
			" DO UPDATE SET first_ms = min(first_ms, ?3),"
			" last_ms = max(last_ms, ?4)" },
		{ &pod_nodes->identify,
			"INSERT INTO identity(pod_uid, namespace, name,"
			" vmi_uid, seen_ms, node)"
			" VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
			" ON CONFLICT(pod_uid) DO UPDATE SET namespace = ?2,"
			" name = ?3, vmi_uid = ?4, seen_ms = ?5,"
			" node = CASE ?6 WHEN 0 THEN node ELSE ?6 END" },
	};
	int r = db_prepare_all(db, all, count_of(all), err);

	if (r < 0) {
		pod_nodes_free(pod_nodes);
		return r;
	}
	*out = pod_nodes;
	return 0;
}

void pod_nodes_free(struct pod_nodes *pod_nodes)
{
	if (pod_nodes != NULL) {
		(void)sqlite3_finalize(pod_nodes->note);
		(void)sqlite3_finalize(pod_nodes->identify);
		free(pod_nodes);
	}
}

int pod_nodes_note(struct pod_nodes *pod_nodes,
	const struct pod_node_seen *seen, struct error *err)
{
	struct sqlite3_stmt *note = pod_nodes->note;

	db_bind_text(note, 1, seen->pod_uid);
	(void)sqlite3_bind_int64(note, 2, seen->node);
	(void)sqlite3_bind_int64(note, 3, (int64_t)seen->first_ms);
	(void)sqlite3_bind_int64(note, 4, (int64_t)seen->last_ms);
	return db_run(note, err);
}

int pod_nodes_identify(struct pod_nodes *pod_nodes,
	const struct store_identity *identity, int64_t node, uint64_t now_ms,
	struct error *err)
{
	const char *const texts[] = { identity->pod_uid, identity->namespace,
		identity->name, identity->vmi_uid };
	const struct pod_node_seen seen = { identity->pod_uid, node, now_ms,
		now_ms };
	int r;

	for (int i = 0; i < (int)count_of(texts); i++) {
		db_bind_text(pod_nodes->identify, i + 1, texts[i]);
	}
	(void)sqlite3_bind_int64(pod_nodes->identify, 5, (int64_t)now_ms);
	(void)sqlite3_bind_int64(pod_nodes->identify, 6, node);
	r = db_run(pod_nodes->identify, err);
	return r == 0 && node != 0 ? pod_nodes_note(pod_nodes, &seen, err) : r;
}

int pod_nodes_delete(struct sqlite3 *db, uint64_t before_ms, struct error *err)
{
	scoped_free char *sql = xasprintf(
		"DELETE FROM place WHERE last_ms <"
		" %" PRIu64
		"; DELETE FROM identity WHERE"
		" seen_ms < %" PRIu64
		" AND NOT EXISTS (SELECT 1 FROM place"
		" WHERE place.pod_uid = identity.pod_uid"
		" AND place.node = identity.node)",
		before_ms, before_ms);

	return db_exec(db, sql, err);
}
