#include "proto/profile.h"

#include "proto/wire_fields.h"

#include <errno.h>
#include <math.h>

static const struct wire_field figure_fields[] = {
#define X(field) WIRE_FIELD(Plimsoll__ProfileReply, vm_profile, DOUBLE, field),
	PROFILE_FIELDS(X)
#undef X
};

void vm_profile_init(struct vm_profile *profile)
{
#define X(field) profile->field = NAN;
	PROFILE_FIELDS(X)
#undef X
	for (size_t i = 0; i < PROFILE_HOURS; i++) {
		profile->mean_cores_by_hour[i] = NAN;
	}
}

void wire_pack_profile_request(struct buffer *out,
	const struct profile_request *request)
{
	Plimsoll__ProfileRequest wire = PLIMSOLL__PROFILE_REQUEST__INIT;
	struct profile_request copy = *request;

	wire.namespace_ = copy.namespace;
	wire.name = copy.name;
	wire_append_as(out, PLIMSOLL__REQUEST__KIND_PROFILE, &wire.base);
}

void wire_pack_profile(struct buffer *out, const struct vm_profile *profile)
{
	Plimsoll__ProfileReply wire = PLIMSOLL__PROFILE_REPLY__INIT;
	Plimsoll__ProfileHour hours[PROFILE_HOURS];
	Plimsoll__ProfileHour *pointers[PROFILE_HOURS];

	wire_put_fields(&wire, profile, WIRE_TABLE(figure_fields));
	for (uint32_t i = 0; i < PROFILE_HOURS; i++) {
		double cores = profile->mean_cores_by_hour[i];
		Plimsoll__ProfileHour *hour = &hours[wire.n_hours];

		if (!isfinite(cores) || cores < 0) {
			continue;
		}
		plimsoll__profile_hour__init(hour);
		hour->has_hour = true;
		hour->hour = i;
		hour->has_mean_cores = true;
		hour->mean_cores = cores;
		pointers[wire.n_hours] = hour;
		wire.n_hours++;
	}
	wire.hours = pointers;
	wire_append_as(out, PLIMSOLL__REPLY__KIND_PROFILE, &wire.base);
}

int wire_profile_request_from(struct profile_request *out,
	const Plimsoll__ProfileRequest *wire, struct error *err)
{
	int r = wire_get_name(out->namespace, sizeof(out->namespace),
		wire->namespace_, "namespace", err);

	return r == 0 ? wire_get_name(out->name, sizeof(out->name), wire->name,
				"name", err)
		      : r;
}

int wire_profile_from(struct vm_profile *out,
	const Plimsoll__ProfileReply *wire, struct error *err)
{
	struct vm_profile profile;
	int r;

	vm_profile_init(&profile);
	r = wire_get_fields(&profile, wire, WIRE_TABLE(figure_fields), err);
	for (size_t i = 0; r == 0 && i < wire->n_hours; i++) {
		const Plimsoll__ProfileHour *hour = wire->hours[i];

		if (!hour->has_hour || hour->hour >= PROFILE_HOURS ||
			!hour->has_mean_cores || !isfinite(hour->mean_cores) ||
			hour->mean_cores < 0) {
			return error_set(err, -EBADMSG,
				"a profile has an invalid hour of the day");
		}
		profile.mean_cores_by_hour[hour->hour] = hour->mean_cores;
	}
	if (r == 0) {
		*out = profile;
	}
	return r;
}
