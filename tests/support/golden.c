#include "tests/support/golden.h"

#include "lib/buffer.h"
#include "lib/files.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A test that tells more than TOLD_MAX is compared up to there. */
enum { GOLDEN_MAX = 8 << 20, TOLD_MAX = 12 << 10 };

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
}

static int line_length(const char *line)
{
	size_t length = strcspn(line, "\n");

	return length < 1000 ? (int)length : 1000;
}

/* The line in which the texts differ first. */
static void fail_at_difference(const char *path, const char *text,
	const char *expected)
{
	size_t same = 0, begin = 0, line = 1;

	while (text[same] != '\0' && text[same] == expected[same]) {
		same++;
		if (text[same - 1] == '\n') {
			begin = same;
			line++;
		}
	}
	begin = same - begin > 200 ? same - 200 : begin;
	fail_msg("%s, line %zu: '%.*s', not '%.*s'", path, line,
		line_length(text + begin), text + begin,
		line_length(expected + begin), expected + begin);
}

static bool is_to_write(void)
{
	const char *mode = getenv("PLIMSOLL_GOLDEN");

	return mode != NULL && strcmp(mode, "write") == 0;
}

/* An absent file is empty. */
static void read_file(struct buffer *out, const char *path)
{
	int r;

	buffer_text(out, "");
	r = file_read(out, path, NULL);
	assert_true(r >= 0 || r == -ENOENT);
}

void assert_golden(const char *name, const char *text)
{
	scoped_free char *path = xasprintf("tests/golden/%s", name);
	scoped_buffer struct buffer expected = BUFFER_MAX(GOLDEN_MAX);

	if (is_to_write()) {
		write_file(path, text);
	}
	read_file(&expected, path);
	if (strcmp(text, expected.data) != 0) {
		fail_at_difference(path, text, expected.data);
	}
}

/* Where the section with this head begins, or the text ends. */
static char *find_section(char *text, const char *head)
{
	char *found = strstr(text, head);

	while (found != NULL && found != text && found[-1] != '\n') {
		found = strstr(found + 1, head);
	}
	return found == NULL ? text + strlen(text) : found;
}

static void write_section(const char *path, char *all, const char *head,
	const char *text)
{
	scoped_buffer struct buffer out = BUFFER_MAX(GOLDEN_MAX);
	char *begin = find_section(all, head);
	const char *rest =
		*begin == '\0' ? begin : find_section(begin + 1, "== ");

	buffer_append(&out, all, (size_t)(begin - all));
	buffer_printf(&out, "%s%s%s", head, text, rest);
	write_file(path, out.data);
}

void assert_golden_section(const char *name, const char *title,
	const char *text)
{
	scoped_free char *path = xasprintf("tests/golden/%.*s.txt",
		(int)strcspn(name, "."), name);
	scoped_free char *head = xasprintf("== %s\n", title);
	scoped_buffer struct buffer all = BUFFER_MAX(GOLDEN_MAX);
	char *section;

	read_file(&all, path);
	if (is_to_write()) {
		write_section(path, all.data, head, text);
		buffer_clear(&all);
		read_file(&all, path);
	}
	section = find_section(all.data, head);
	section += *section == '\0' ? 0 : strlen(head);
	*find_section(section, "== ") = '\0';
	if (strcmp(text, section) != 0) {
		fail_at_difference(path, text, section);
	}
}

static struct buffer told = { .max = GOLDEN_MAX };

void golden_tell_text(char *text)
{
	if (told.len < TOLD_MAX) {
		buffer_text(&told, text);
	}
	free(text);
}

/* Cuts out parts that differ from run to run: the name of the machine, random
 * numbers. */
static void cut_after(char *text, const char *key, const char *ends)
{
	for (char *at = strstr(text, key); at != NULL; at = strstr(at, key)) {
		at += strlen(key);
		memmove(at, at + strcspn(at, ends),
			strlen(at + strcspn(at, ends)) + 1);
	}
}

static bool is_uuid(const char *at)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t i = 0;

	while (form[i] != '\0' &&
		(form[i] == '-' ? at[i] == '-' : isxdigit((uint8_t)at[i]))) {
		i++;
	}
	return form[i] == '\0';
}

/* Ids of moves are random; in their places is an X. */
static void cut_uuids(char *text)
{
	for (char *at = text; *at != '\0'; at++) {
		if (is_uuid(at)) {
			*at = 'X';
			memmove(at + 1, at + 36, strlen(at + 36) + 1);
		}
	}
}

void assert_golden_told(const char *name, const char *title)
{
	size_t len;
	scoped_free char *text = buffer_take(&told, &len);
	scoped_free char *section = NULL;

	cut_after(text, "\"reportingInstance\":\"", "\"");
	cut_after(text, "\"holderIdentity\":\"", "\"");
	cut_after(text, "&timeoutSeconds=", "& ");
	cut_uuids(text);
	len = strnlen(text, TOLD_MAX);
	section = xasprintf("%.*s%s", (int)len, text,
		len > 0 && text[len - 1] == '\n' ? "" : "\n");
	assert_golden_section(name, title, section);
}

/* Whether a line ends behind this character, which is not in a string. */
static bool ends_line(const char *at)
{
	return *at == ',' ||
		((*at == '{' || *at == '[') && at[1] != '}' && at[1] != ']');
}

void assert_golden_json(const char *name, const char *text)
{
	scoped_buffer struct buffer lines = BUFFER_MAX(GOLDEN_MAX);
	bool is_string = false;

	for (const char *at = text; *at != '\0'; at++) {
		buffer_char(&lines, *at);
		if (*at == '\\') {
			buffer_char(&lines, *++at);
		} else if (*at == '"') {
			is_string = !is_string;
		} else if (!is_string && ends_line(at)) {
			buffer_char(&lines, '\n');
		}
	}
	assert_golden(name, lines.data);
}

char *golden_replace(const char *text, const char *word, const char *other)
{
	struct buffer out = BUFFER_MAX(GOLDEN_MAX);
	const char *found;

	buffer_text(&out, "");
	while ((found = strstr(text, word)) != NULL) {
		buffer_append(&out, text, (size_t)(found - text));
		buffer_text(&out, other);
		text = found + strlen(word);
	}
	buffer_text(&out, text);
	return out.data;
}

void assert_golden_metrics(const char *name, const char *text)
{
	static const char build[] = "plimsoll_build_info{", own[] = "process_";
	scoped_buffer struct buffer lines = BUFFER_MAX(GOLDEN_MAX);

	for (const char *line = text; *line != '\0';) {
		size_t len = strcspn(line, "\n");

		len += line[len] != '\0';
		if (strncmp(line, own, strlen(own)) != 0 &&
			strncmp(line, build, strlen(build)) != 0) {
			buffer_append(&lines, line, len);
		}
		line += len;
	}
	assert_golden(name, lines.data);
}
