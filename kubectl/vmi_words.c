#include "kubectl/vmi_words.h"

#include "kube/json_value.h"
#include "kubectl/fields.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <string.h>

/* KubeVirt's reasons of the condition LiveMigratable. */
static const struct {
	const char *reason, *words;
} reasons[] = {
	{ "DisksNotLiveMigratable",
		"a disk cannot be reached from another node" },
	{ "InterfaceNotLiveMigratable",
		"a network interface cannot move to another node" },
	{ "HotplugNotLiveMigratable",
		"a disk that was plugged in cannot be reached from another "
		"node" },
	{ "VirtIOFSNotLiveMigratable", "it shares a file system by virtiofs" },
	{ "HostDeviceNotLiveMigratable", "it uses a device of its node" },
	{ "SEVNotLiveMigratable", "its memory is encrypted with SEV" },
	{ "TDXNotLiveMigratable", "its memory is encrypted with TDX" },
	{ "SecureExecutionNotLiveMigratable", "it runs in Secure Execution" },
	{ "HypervPassthroughNotLiveMigratable",
		"it passes Hyper-V features of its node through" },
	{ "PersistentReservationNotLiveMigratable",
		"a disk uses persistent reservations" },
	{ "NoTSCFrequencyNotLiveMigratable",
		"the frequency of its clock is not known" },
	{ "MemoryDumpInProgress", "its memory is being dumped" },
};

static const char *words_of(const char *reason)
{
	for (size_t i = 0; i < count_of(reasons); i++) {
		if (strcmp(reason, reasons[i].reason) == 0) {
			return reasons[i].words;
		}
	}
	return NULL;
}

static void put_reason(struct buffer *why, const struct json_value *condition)
{
	scoped_free char *reason = field_text(condition, "reason", "");
	scoped_free char *message = field_text(condition, "message", "");
	const char *words = words_of(reason);

	if (words != NULL && *message != '\0') {
		buffer_printf(why, "%s (%s)", words, message);
	} else if (words != NULL) {
		buffer_text(why, words);
	} else if (*message != '\0') {
		buffer_text(why, message);
	} else if (*reason != '\0') {
		buffer_text(why, reason);
	} else {
		buffer_text(why, "KubeVirt does not say that it can");
	}
}

static bool is_moving(const struct json_value *vmi)
{
	const struct json_value *state =
		json_value_at(vmi, "status/migrationState");

	return *json_value_text_at(state, "migrationUid", "") != '\0' &&
		!field_true(state, "completed") && !field_true(state, "failed");
}

bool vmi_words_can_move(struct buffer *why, const struct json_value *vmi)
{
	const struct json_value *condition =
		field_condition(vmi, "LiveMigratable");
	const char *phase = json_value_text_at(vmi, "status/phase", "Pending");

	if (*json_value_text_at(vmi, "metadata/deletionTimestamp", "") !=
		'\0') {
		buffer_text(why, "it is being stopped");
		return false;
	}
	if (strcmp(phase, "Running") != 0) {
		scoped_free char *words =
			field_text(vmi, "status/phase", "Pending");

		buffer_printf(why, "it is not running (%s)", words);
		return false;
	}
	if (is_moving(vmi)) {
		buffer_text(why, "it is moving already");
		return false;
	}
	if (strcmp(json_value_text_at(condition, "status", ""), "True") != 0) {
		put_reason(why, condition);
		return false;
	}
	return true;
}
