# plimsoll: one plain Makefile, no recursion, no file lists.
#
# Rooms are found by wildcard. lib, proto and kube become archives, so that a
# program carries only the objects (and the libraries) it really uses.

BUILD ?= release
OUT := build/$(BUILD)
GEN := build/gen
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := all

CC = gcc
CLANG = clang-14
PKGS = libuv libprotobuf-c libcurl libcjson sqlite3 libmicrohttpd yaml-0.1

PACKAGES_BUILD = gcc make pkg-config git ca-certificates \
	libuv1-dev libnng-dev libprotobuf-c-dev protobuf-c-compiler \
	libcurl4-openssl-dev libcjson-dev libsqlite3-dev libmicrohttpd-dev \
	libyaml-dev
PACKAGES_RUN = curl python3
PACKAGES_TEST = libcmocka-dev python3 curl
PACKAGES_LINT = clang-14 clang-format-14 clang-tidy-14 cppcheck python3 \
	libcmocka-dev
PACKAGES_FUZZ = clang-14 libclang-rt-14-dev

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wvla -Wcast-qual -Wformat=2 -Wundef -Werror
VERSION := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
CPPFLAGS = -D_GNU_SOURCE -I. -isystem $(GEN) $(shell pkg-config --cflags $(PKGS))
CFLAGS_release = -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
LDFLAGS_release = -pie -Wl,-z,relro,-z,now
CFLAGS_asan = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize-recover=all
LDFLAGS_asan = -fsanitize=address,undefined
CFLAGS_tsan = -O1 -g -fno-omit-frame-pointer -fsanitize=thread
LDFLAGS_tsan = -fsanitize=thread
ifeq ($(CFLAGS_$(BUILD)),)
$(error BUILD is '$(BUILD)'; it can be release, asan or tsan)
endif
CFLAGS = -std=c17 $(CFLAGS_$(BUILD)) $(WARN)
LDFLAGS = $(LDFLAGS_$(BUILD)) -Wl,--as-needed

PROGRAMS = agent aggregator scheduler
BINS = $(PROGRAMS:%=$(BIN)/plimsoll-%)
# bin/ is what people run: the release build. Other builds keep to themselves.
BIN = $(if $(filter release,$(BUILD)),bin,$(OUT)/bin)

objects = $(patsubst %.c,$(OUT)/%.o,$(wildcard $(1)/*.c))
ARCHIVES = $(OUT)/kube.a $(OUT)/proto.a $(OUT)/lib.a
LIBS = -lcurl -lcjson -lyaml -lprotobuf-c -lnng -lmicrohttpd -lsqlite3 -luv \
	-lm -lpthread

TEST_SRCS := $(wildcard tests/unit/*/test_*.c)
TEST_BINS := $(TEST_SRCS:tests/unit/%.c=$(OUT)/tests/unit/%)
ALL_SRCS := $(wildcard lib/*.c proto/*.c kube/*.c agent/*.c aggregator/*.c \
	scheduler/*.c tests/unit/*/*.c tests/support/*.c tests/fuzz/*.c)
ALL_HDRS := $(wildcard lib/*.h proto/*.h kube/*.h agent/*.h aggregator/*.h \
	scheduler/*.h tests/support/*.h)

# ---- help -----------------------------------------------------------------

.PHONY: help
help: ## what can be made
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1#\2/p' $(MAKEFILE_LIST) \
		| column -t -s '#'
	@echo "  BUILD=release|asan|tsan picks the build (now: $(BUILD))"

# ---- building -------------------------------------------------------------

.PHONY: all
all: $(BINS) ## build the three programs into bin/

# Rebuilds everything when the flags change.
FLAGS = $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(LIBS)
$(OUT)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' > $@
.PHONY: FORCE
FORCE:

# Written anew only when it says something else.
$(GEN)/version.h: FORCE
	@mkdir -p $(@D)
	@echo '#define PLIMSOLL_VERSION "$(VERSION)"' | cmp -s - $@ || \
		echo '#define PLIMSOLL_VERSION "$(VERSION)"' > $@

$(GEN)/plimsoll.pb-c.c: proto/plimsoll.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=proto --c_out=$(GEN) $<
$(GEN)/plimsoll.pb-c.h: $(GEN)/plimsoll.pb-c.c ;

$(OUT)/%.o: %.c $(OUT)/flags | $(GEN)/plimsoll.pb-c.h $(GEN)/version.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/gen/plimsoll.pb-c.o: $(GEN)/plimsoll.pb-c.c $(OUT)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -std=c17 $(CFLAGS_$(BUILD)) -w -c -o $@ $<

.SECONDEXPANSION:
$(OUT)/proto.a: $(OUT)/gen/plimsoll.pb-c.o
$(OUT)/%.a: $$(call objects,%)
	@rm -f $@
	$(AR) crs $@ $^

$(BIN)/plimsoll-%: $$(call objects,$$*) $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

# A unit test links its room without main.c, and the rooms below it.
$(OUT)/tests/unit/%: $(OUT)/tests/unit/%.o $$(filter-out %/main.o,$$(call \
		objects,$$(filter $(PROGRAMS),$$(firstword $$(subst /, ,$$*))))) \
		$$(call objects,tests/support) $(ARCHIVES)
	$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS)
.SECONDARY:

-include $(wildcard $(OUT)/*/*.d $(OUT)/*/*/*/*.d $(OUT)/*/*/*.d)
