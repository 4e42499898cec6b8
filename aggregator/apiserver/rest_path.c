#include "aggregator/apiserver/rest_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *plural;
	bool is_namespaced, has_history, has_outlook;
} kinds[] = {
	[API_NODE_LOADS] = { "nodeloads", false, true, false },
	[API_VM_LOADS] = { "vmloads", true, true, true },
	[API_DECISIONS] = { "decisions", true, false, false },
	[API_MOVES] = { "moves", true, false, false },
	[API_STATUS] = { "status", false, false, true },
	[API_PLACEMENTS] = { "placements", true, false, false },
	[API_PLANS] = { "plans", true, false, false },
};

const char *api_plural(enum api_kind kind)
{
	return kinds[kind].plural;
}

bool api_is_namespaced(enum api_kind kind)
{
	return kinds[kind].is_namespaced;
}

bool api_has_history(enum api_kind kind)
{
	return kinds[kind].has_history;
}

bool api_has_outlook(enum api_kind kind)
{
	return kinds[kind].has_outlook;
}

const char *rest_path_subresource(const struct rest_path *path)
{
	return path->is_history	   ? "history"
		: path->is_outlook ? "outlook"
				   : NULL;
}

bool api_is_question(enum api_kind kind)
{
	return kind >= API_PLACEMENTS;
}

enum { SEGMENTS_MAX = 5 };

struct segment {
	const char *at;
	size_t len;
};

/* The parts between slashes; 0: too many, or an empty one. */
static size_t split(struct segment out[SEGMENTS_MAX], const char *text)
{
	size_t count = 0;

	for (const char *at = text; count < SEGMENTS_MAX;) {
		size_t len = strcspn(at, "/");

		if (len == 0) {
			return 0;
		}
		out[count++] = (struct segment){ at, len };
		if (at[len] == '\0') {
			return count;
		}
		at += len + 1;
	}
	return 0;
}

static bool is(const struct segment *segment, const char *text)
{
	return segment->len == strlen(text) &&
		strncmp(segment->at, text, segment->len) == 0;
}

static bool copy(char *out, size_t size, const struct segment *segment)
{
	if (segment->len >= size) {
		return false;
	}
	memcpy(out, segment->at, segment->len);
	out[segment->len] = '\0';
	return true;
}

static bool find_kind(enum api_kind *out, const struct segment *segment)
{
	for (int i = 0; i < API_KINDS; i++) {
		if (is(segment, kinds[i].plural)) {
			*out = (enum api_kind)i;
			return true;
		}
	}
	return false;
}

/* RESOURCE[/NAME[/history|/outlook]] */
static bool read_resource(struct rest_path *out, const struct segment *s,
	size_t count)
{
	if (count == 0 || count > 3 || !find_kind(&out->kind, &s[0]) ||
		(count > 1 && !copy(out->name, sizeof(out->name), &s[1]))) {
		return false;
	}
	out->is_history = count > 2 && is(&s[2], "history");
	out->is_outlook = count > 2 && is(&s[2], "outlook");
	return count < 3 || (out->is_history && api_has_history(out->kind)) ||
		(out->is_outlook && api_has_outlook(out->kind));
}

/* An object, and a list with a namespace in its path, say whether the kind has
 * namespaces. */
static bool is_scope_right(const struct rest_path *path)
{
	if (path->namespace[0] != '\0') {
		return api_is_namespaced(path->kind);
	}
	return path->name[0] == '\0' || !api_is_namespaced(path->kind);
}

int rest_path_parse(struct rest_path *out, const char *path, struct error *err)
{
	static const char root[] = API_ROOT;
	struct rest_path read = { 0 };
	struct segment segments[SEGMENTS_MAX];
	const struct segment *at = segments;
	size_t count = 0;
	bool is_right = strncmp(path, root, sizeof(root) - 1) == 0;

	if (is_right) {
		count = split(segments, path + sizeof(root) - 1);
	}
	if (count > 2 && is(&segments[0], "namespaces")) {
		is_right = copy(read.namespace, sizeof(read.namespace),
			&segments[1]);
		at += 2;
		count -= 2;
	}
	if (!is_right || !read_resource(&read, at, count) ||
		!is_scope_right(&read)) {
		return error_set(err, -ENOENT,
			"the server could not find the requested resource");
	}
	*out = read;
	return 0;
}
