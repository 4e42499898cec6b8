/* The kinds of a report's fields: C type, greatest value, and when a field is
 * absent from the wire and from JSON. For proto/report_fields.h. Kinds of one
 * width follow each other. */
#pragma once

enum report_kind {
	REPORT_U64,	    /* absent: REPORT_UNKNOWN */
	REPORT_CLOCK,	    /* as U64; a chunk stores it less monotonic_us */
	REPORT_PLAIN_U64,   /* always sent; JSON leaves 0 out */
	REPORT_PLAIN_U32,   /* always sent */
	REPORT_COUNT,	    /* absent: 0 */
	REPORT_ERRNO,	    /* absent: 0; a sentence in JSON */
	REPORT_EXIT_REASON, /* absent: 0; part of the errno's sentence */
	REPORT_STATE,	    /* enums: always sent; words in JSON */
	REPORT_CGROUP_MODE,
	REPORT_KVM_STATE,
	REPORT_KVM_LEVEL,
	REPORT_KNOWN_BOOL, /* absent: KNOWN_NOT */
	REPORT_BOOL,	   /* always sent */
	REPORT_DOUBLE,	   /* absent: negative or not finite */
};

/* The C type of each kind and its greatest value. */
#define REPORT_KIND_U64 uint64_t, UINT64_MAX
#define REPORT_KIND_CLOCK uint64_t, UINT64_MAX
#define REPORT_KIND_PLAIN_U64 uint64_t, UINT64_MAX
#define REPORT_KIND_PLAIN_U32 uint32_t, UINT32_MAX
#define REPORT_KIND_COUNT uint32_t, UINT32_MAX
#define REPORT_KIND_ERRNO int32_t, UINT32_MAX
#define REPORT_KIND_EXIT_REASON uint32_t, UINT32_MAX
#define REPORT_KIND_STATE enum source_state, SOURCE_ERROR
#define REPORT_KIND_CGROUP_MODE enum cgroup_mode, CGROUP_V1
#define REPORT_KIND_KVM_STATE enum kvm_state, KVM_STATES - 1
#define REPORT_KIND_KVM_LEVEL enum kvm_level, KVM_LEVEL_RUN
#define REPORT_KIND_KNOWN_BOOL enum known_bool, KNOWN_TRUE
#define REPORT_KIND_BOOL bool, 1
#define REPORT_KIND_DOUBLE double, UINT64_MAX

#define REPORT_TYPE(kind) REPORT_FIRST(REPORT_KIND_##kind)
#define REPORT_MOST(kind) REPORT_SECOND(REPORT_KIND_##kind)
#define REPORT_FIRST(...) REPORT_FIRST_OF(__VA_ARGS__)
#define REPORT_SECOND(...) REPORT_SECOND_OF(__VA_ARGS__)
#define REPORT_FIRST_OF(a, b) a
#define REPORT_SECOND_OF(a, b) b

/* A row of proto/report_fields.h as the member of a struct. */
#define REPORT_MEMBER(of, kind, name, ...) REPORT_TYPE(kind) name;
