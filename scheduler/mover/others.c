#include "scheduler/mover/others.h"

#include "scheduler/kubevirt/kubevirt.h"

/* NULL: moves leave its nodes alone. */
static const char *why_ignored(enum others_state state)
{
	switch (state) {
	case OTHERS_OVER_QUOTA:
		return "a ResourceQuota of its namespace admits no second "
		       "launcher pod";
	case OTHERS_LATE:
		return "it is older than --other-migrations-timeout";
	case OTHERS_GO_FIRST:
		break;
	}
	return NULL;
}

static void write_one(struct json *j, const struct kubevirt *kubevirt,
	const struct migration *migration)
{
	const char *why =
		why_ignored(kubevirt_others_state(kubevirt, migration));

	json_object(j, NULL);
	json_string(j, "namespace", migration->namespace);
	json_string(j, "name", migration->name);
	json_string(j, "vm", migration->vmi_name);
	json_string(j, "source", migration->source);
	json_string(j, "target", migration->target);
	if (why == NULL) {
		json_null(j, "ignored_because");
	} else {
		json_string(j, "ignored_because", why);
	}
	json_object_end(j);
}

void others_write(struct json *j, const struct kubevirt *kubevirt)
{
	const struct migration *migration;
	size_t count = 0;
	size_t at = 0;

	json_array(j, "migrations_of_others");
	while (kubevirt != NULL && count < OTHERS_MAX &&
		(migration = kubevirt_next_migration(kubevirt, &at)) != NULL) {
		if (!migration->is_ours && !migration_is_finished(migration)) {
			write_one(j, kubevirt, migration);
			count++;
		}
	}
	json_array_end(j);
}
