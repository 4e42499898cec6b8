/* The result of an agent's test of KVM on its node: the values behind
 * plimsoll.proto's Kvm. */
#pragma once

#include "proto/report_fields.h"

#include <stdbool.h>
#include <stdint.h>

/* The same numbers as in plimsoll.proto. */
enum kvm_state {
	KVM_UNVERIFIED,
	KVM_OK,
	KVM_MISSING,
	KVM_API_MISMATCH,
	KVM_CREATE_FAILED,
	KVM_RUN_FAILED,
	KVM_STATES,
};

enum kvm_level {
	KVM_LEVEL_OFF,
	KVM_LEVEL_STAT,
	KVM_LEVEL_OPEN,
	KVM_LEVEL_VM,
	KVM_LEVEL_RUN,
};

enum known_bool { KNOWN_NOT, KNOWN_FALSE, KNOWN_TRUE };

struct kvm {
	KVM_FIELDS(REPORT_MEMBER, )
	KVM_DEVICES(REPORT_MEMBER, )
};

/* "ok", "missing", "api_mismatch", "create_failed", "run_failed",
 * "unverified"; the names of /v1/nodes. */
const char *kvm_state_name(enum kvm_state state);

/* "off", "stat", "open", "vm", "run". */
const char *kvm_level_name(enum kvm_level level);

/* A sentence fragment for people, such as "KVM_CREATE_VM: Device or resource
 * busy"; "" if there is nothing to add. out holds 80 bytes. */
char *kvm_detail(char *out, const struct kvm *kvm);
