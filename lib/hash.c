#include "lib/hash.h"

#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* The state v0 to v3 of the paper. */
struct state {
	uint64_t v[4];
};

static struct hash_key process_key;

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_round(struct state *s)
{
	uint64_t *v = s->v;

	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

static void add_word(struct state *s, uint64_t word)
{
	s->v[3] ^= word;
	sip_round(s);
	sip_round(s);
	s->v[0] ^= word;
}

uint64_t hash_with(struct hash_key key, const void *bytes, size_t len)
{
	/* "somepseudorandomlygeneratedbytes" */
	struct state s = { { key.k0 ^ UINT64_C(0x736f6d6570736575),
		key.k1 ^ UINT64_C(0x646f72616e646f6d),
		key.k0 ^ UINT64_C(0x6c7967656e657261),
		key.k1 ^ UINT64_C(0x7465646279746573) } };
	const unsigned char *at = bytes;
	size_t rest = len % 8;
	uint64_t word;

	for (size_t i = 0; i + 8 <= len; i += 8) {
		memcpy(&word, at + i, sizeof(word));
		add_word(&s, le64toh(word));
	}
	word = (uint64_t)len << 56;
	for (size_t i = 0; i < rest; i++) {
		word |= (uint64_t)at[len - rest + i] << (8 * i);
	}
	add_word(&s, word);
	s.v[2] ^= 0xff;
	for (int i = 0; i < 4; i++) {
		sip_round(&s);
	}
	return s.v[0] ^ s.v[1] ^ s.v[2] ^ s.v[3];
}

static void draw_key(void)
{
	if (getrandom(&process_key, sizeof(process_key), 0) !=
		(ssize_t)sizeof(process_key)) {
		abort(); /* the kernel has no random numbers */
	}
}

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct hash_key key;

	(void)pthread_once(&once, draw_key);
	key = process_key;
	key.k0 ^= seed;
	return hash_with(key, bytes, len);
}

uint64_t hash_text(uint64_t seed, const char *text)
{
	return hash_bytes(seed, text, text == NULL ? 0 : strlen(text));
}
