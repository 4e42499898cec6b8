#include "scheduler/kubevirt/kubevirt_version.h"

#include "scheduler/kubevirt/conditions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void copy(char *out, const struct json_value *status, const char *key)
{
	(void)snprintf(out, KUBEVIRT_VERSION_MAX, "%s",
		json_value_text_at(status, key, ""));
}

/* workloadUpdateMethods has LiveMigrate. */
static bool migrates_workloads(const struct json_value *object)
{
	const struct json_value *methods = json_value_at(object,
		"spec/workloadUpdateStrategy/workloadUpdateMethods");

	const struct json_value *at;

	for (at = json_value_first(methods); at != NULL;
		at = json_value_next(at)) {
		const char *method = json_value_text(at);

		if (method != NULL && strcmp(method, "LiveMigrate") == 0) {
			return true;
		}
	}
	return false;
}

static unsigned outdated_of(const struct json_value *object)
{
	double count;

	return json_value_number(&count,
		       json_value_at(object,
			       "status/"
			       "outdatedVirtualMachineInstanceWorkloads")) &&
			count >= 1 && migrates_workloads(object)
		? (unsigned)fmin(count, 1e9)
		: 0;
}

void kubevirt_version_read(struct kubevirt_version *out,
	const struct json_value *object)
{
	const struct json_value *status = json_value_get(object, "status");

	*out = (struct kubevirt_version){
		.is_deployed = strcmp(json_value_text_at(status, "phase", ""),
				       "Deployed") == 0,
		.is_progressing = condition_is_true(
			condition_find(status, "Progressing")),
		.is_deleting = json_value_at(object,
				       "metadata/deletionTimestamp") != NULL,
		.outdated = outdated_of(object),
		.limits = migration_limits_default,
	};
	copy(out->text, status, "observedKubeVirtVersion");
	copy(out->target, status, "targetKubeVirtVersion");
	(void)migration_limits_read(&out->limits,
		json_value_at(object, "spec/configuration/migrations"));
	launcher_settings_read(&out->launcher, object);
}

static bool is_upgrading(const struct kubevirt_version *version)
{
	return version->is_progressing ||
		(*version->target != '\0' &&
			strcmp(version->target, version->text) != 0);
}

bool kubevirt_version_may_order(const struct kubevirt_version *version,
	struct buffer *why)
{
	const struct launcher_settings *settings = &version->launcher;

	if (*version->text == '\0') {
		buffer_text(why, "KubeVirt is not known to be installed");
	} else if (version->is_deleting) {
		buffer_text(why, "KubeVirt is being removed");
	} else if (is_upgrading(version)) {
		buffer_text(why, "KubeVirt is being upgraded");
	} else if (version->outdated > 0) {
		buffer_printf(why,
			"KubeVirt migrates VMs to launchers of its new version "
			"(%u are outdated)",
			version->outdated);
	} else if (!version->is_deployed) {
		buffer_text(why, "KubeVirt is not in phase Deployed");
	} else if (!launcher_settings_is_from(settings, KUBEVIRT_MAJOR_MIN,
			   KUBEVIRT_MINOR_MIN)) {
		buffer_printf(why,
			settings->major > 0 || settings->minor > 0
				? "KubeVirt %s is older than %d.%d, which "
				  "introduced migrations to a chosen node"
				: "KubeVirt's version '%s' cannot be read, "
				  "%d.%d is needed",
			version->text, KUBEVIRT_MAJOR_MIN, KUBEVIRT_MINOR_MIN);
	} else {
		return true;
	}
	return false;
}
