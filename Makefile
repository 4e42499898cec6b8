# plimsoll: one plain Makefile, no recursion, no file lists.
#
# Rooms are found by wildcard. lib, proto, kube and auth become archives, so that
# a program carries only the objects (and the libraries) it really uses.

BUILD ?= release
OUT := build/$(BUILD)
GEN := build/gen
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := all

# CROSS=arm64 compiles for it into build/release-arm64, against the packages that
# `make sysroot CROSS=arm64` unpacks.
CROSS ?=
TRIPLET_arm64 = aarch64-linux-gnu
ifneq ($(CROSS),)
TRIPLET := $(TRIPLET_$(CROSS))
ifeq ($(TRIPLET),)
$(error CROSS is '$(CROSS)'; it can be arm64)
endif
OUT := build/$(BUILD)-$(CROSS)
SYSROOT := $(CURDIR)/build/ci/sysroot-$(CROSS)
IN_SYSROOT := --sysroot=$(SYSROOT)
PKG_CONFIG := env PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) \
	PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(TRIPLET)/pkgconfig pkg-config
CC = $(TRIPLET)-gcc
AR = $(TRIPLET)-ar
else
PKG_CONFIG := pkg-config
CC = $(if $(filter fuzz,$(BUILD)),clang-14,gcc)
endif
PKGS = libuv libprotobuf-c libcurl libcjson sqlite3 libmicrohttpd gnutls yaml-0.1 \
	zlib

PACKAGES_BUILD = gcc make pkg-config git ca-certificates \
	libuv1-dev libnng-dev libprotobuf-c-dev protobuf-c-compiler \
	libcurl4-openssl-dev libcjson-dev libsqlite3-dev libmicrohttpd-dev \
	libyaml-dev libsnappy-dev libmbedtls-dev libgnutls28-dev zlib1g-dev \
	libjs-dygraphs
PACKAGES_RUN = python3
PACKAGES_TEST = libcmocka-dev python3 python3-yaml python3-jsonschema procps \
	openssl zsh
PACKAGES_LINT = clang-14 clang-format-14 clang-tidy-14 cppcheck python3 \
	libcmocka-dev libc6-dev-arm64-cross
PACKAGES_FUZZ = clang-14 libclang-rt-14-dev
PACKAGES_IMAGES = mmdebstrap git python3
PACKAGES_DEPLOY = skopeo
PACKAGES_NODE = qemu-system-x86 python3
PACKAGES_NODE_ARM64 = qemu-system-arm qemu-user python3
# npm comes with Node.js, or as a package of its own.
PACKAGES_PAGE = chromium chromium-driver openssl \
	$(if $(shell command -v npm),,npm)
PACKAGES_CROSS_arm64 = gcc-aarch64-linux-gnu libc6-dev-arm64-cross mmdebstrap
# Unpacked below build/, not installed.
FETCHED_NODE = linux-image-cloud-amd64 busybox-static
FETCHED_NODE_ARM64 = linux-image-cloud-arm64 busybox-static
FETCHED_BENCH = prometheus-node-exporter
FETCHED_TEST = prometheus victoria-metrics
FETCHED_DEPLOY = containerd docker-registry
FETCHED_ARM64 = qemu-user-static

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wvla -Wcast-qual -Wformat=2 -Wundef -Werror
# make release gives its own: the version of the release without a v.
VERSION := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
COMMIT := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# Asked once, and only if something is compiled: the packages may be missing.
PKG_FLAGS = $(eval PKG_FLAGS := $$(shell $(PKG_CONFIG) --cflags $(PKGS)))$(PKG_FLAGS)
CPPFLAGS = $(IN_SYSROOT) -D_GNU_SOURCE -I. -isystem $(GEN) $(PKG_FLAGS) \
	$(if $(SOURCE_DATE_EPOCH),-ffile-prefix-map=$(CURDIR)=.)
CFLAGS_release = -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
LDFLAGS_release = -pie -Wl,-z,relro,-z,now
CFLAGS_asan = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize-recover=all
LDFLAGS_asan = -fsanitize=address,undefined
# For `make fuzz` alone: clang's libFuzzer.
CFLAGS_fuzz = -O1 -g -fno-omit-frame-pointer \
	-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
LDFLAGS_fuzz = -fsanitize=address,undefined
CFLAGS_tsan = -O1 -g -fno-omit-frame-pointer -fsanitize=thread
LDFLAGS_tsan = -fsanitize=thread
# For `make mutate` alone. gcov counts no calls of a function that is inlined, so
# the attribute always_inline is left out.
CFLAGS_mutate = -O1 -fno-inline -Dalways_inline= -fsanitize=address --coverage -w
LDFLAGS_mutate = -fsanitize=address --coverage
ifeq ($(CFLAGS_$(BUILD)),)
$(error BUILD is '$(BUILD)'; it can be release, asan or tsan)
endif
CFLAGS = -std=c17 $(CFLAGS_$(BUILD)) $(WARN)
# Code of unit tests is compiled for the speed of compiling, and for a debugger.
CFLAGS_UNIT = $(patsubst -O%,-O0,$(filter-out -D_FORTIFY_SOURCE=%,$(CFLAGS)))
LDFLAGS = $(IN_SYSROOT) $(LDFLAGS_$(BUILD)) -Wl,--as-needed

PROGRAMS = agent aggregator scheduler simulate
PLUGIN = $(BIN)/kubectl-plimsoll
BINS = $(PROGRAMS:%=$(BIN)/plimsoll-%) $(PLUGIN)
# bin/ is what people run: the release build. Other builds keep to themselves.
BIN = $(if $(filter build/release,$(OUT)),bin,$(OUT)/bin)

# A room's own files, and those of the rooms inside it.
objects = $(patsubst %.c,$(OUT)/%.o,$(wildcard $(1)/*.c $(1)/*/*.c)) \
	$(if $(filter aggregator,$(1)),$(OUT)/gen/page_files.o)
# The program whose headers a test includes: it links that one.
program_of = $(firstword $(filter simulate,$(1)) $(1))
INCLUDED := $(shell grep -oE '"(agent|aggregator|scheduler|kubectl|simulate)/' \
	$(wildcard tests/*/*.c tests/*/*/*.c tests/*/*/*/*.c) | \
	sed 's/:"\(.*\)\//:\1/' | uniq)
room_of = $(call program_of,$(patsubst $(1):%,%,$(filter $(1):%,$(INCLUDED))))
# The archive of a program, without its main, and of the one that it builds on. A
# test links what it calls.
archives_of = $(addsuffix /daemon.a,$(addprefix $(OUT)/,$(1) $(below_$(1))))
daemon_of = $(foreach room,$(room_of),$(call archives_of,$(room)))
below_simulate = scheduler
ARCHIVES = $(OUT)/auth.a $(OUT)/kube.a $(OUT)/proto.a $(OUT)/lib.a
LIBS = -lcurl -lcjson -lyaml -lprotobuf-c -lnng -lmbedtls -lmbedx509 -lmbedcrypto \
	-lmicrohttpd -lgnutls -lsqlite3 -lsnappy -lz -luv -lm -lpthread

# The files that protoc-c generates from proto/*.proto.
WIRE := $(patsubst proto/%.proto,%,$(wildcard proto/*.proto))
WIRE_HDRS := $(WIRE:%=$(GEN)/%.pb-c.h)

TEST_SRCS := $(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c)
TEST_BINS := $(TEST_SRCS:%.c=$(OUT)/%)
FUZZ_SRCS := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_NAMES := $(FUZZ_SRCS:tests/fuzz/fuzz_%.c=%)
REPLAYS := $(FUZZ_NAMES:%=$(OUT)/tests/fuzz/replay_%)
BENCH_SRCS := $(wildcard tests/bench/bench_*.c)
BENCH_BINS := $(BENCH_SRCS:%.c=$(OUT)/%)
ROOMS = lib proto kube auth kubectl $(PROGRAMS)
ROOM_SRCS := $(wildcard $(ROOMS:%=%/*.c) $(ROOMS:%=%/*/*.c))
ALL_SRCS := $(ROOM_SRCS) $(TEST_SRCS) $(wildcard tests/support/*.c \
	tests/fuzz/*.c tests/bench/*.c tests/e2e/*.c tests/chaos/*.c \
	tests/kubevirt/*.c)
ALL_HDRS := $(wildcard $(ROOMS:%=%/*.h) $(ROOMS:%=%/*/*.h) tests/support/*.h \
	tests/unit/*/*.h tests/unit/*/*/*.h tests/kubevirt/*.h)

# ---- help -----------------------------------------------------------------

.PHONY: help
help: ## what can be made
	@awk -F ':.*## ' '/^[a-z][a-z0-9.-]*:.*## / \
		{ printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "  BUILD=release|asan|tsan picks the build (now: $(BUILD))"

# ---- building -------------------------------------------------------------

.PHONY: all
all: $(BINS) ## build the programs into bin/

# Rebuilds everything when the flags change. The + makes `make -n` look as well.
FLAGS = $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(LIBS)
$(OUT)/flags: FORCE
	+@mkdir -p $(@D)
	+@echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' > $@
.PHONY: FORCE
FORCE:

# Written again only when it says something else.
VERSION_H = \#define PLIMSOLL_VERSION "$(VERSION)"\n\#define PLIMSOLL_COMMIT \
	"$(COMMIT)"\n
$(GEN)/version.h: FORCE
	@mkdir -p $(@D)
	@printf '$(VERSION_H)' | cmp -s - $@ || printf '$(VERSION_H)' > $@

$(GEN)/%.pb-c.c: proto/%.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=proto --c_out=$(GEN) $<
$(GEN)/%.pb-c.h: $(GEN)/%.pb-c.c ;

# deploy/preflight.sh as bytes: kubectl plimsoll preflight runs it.
$(GEN)/preflight_script.h: deploy/preflight.sh
	@mkdir -p $(@D)
	@(echo 'static const char preflight_script[] = {'; \
		od -An -v -tx1 $< | sed 's/ \(..\)/0x\1,/g'; \
		echo '0};') > $@
$(OUT)/kubectl/preflight.o: $(GEN)/preflight_script.h

# The files of the page, which plimsoll-aggregator serves. Those of dygraphs lose
# the names of files that are not served.
DYGRAPHS = /usr/share/javascript/dygraphs
PAGE_FILES := $(wildcard page/*.html page/*.css page/*.js page/*.svg) \
	$(GEN)/page/dygraph.js $(GEN)/page/dygraph.css
$(GEN)/page/dygraph.%: $(DYGRAPHS)/dygraph.min.%
	@mkdir -p $(@D)
	@sed '/sourceMappingURL=/d' $< > $@
$(GEN)/page_files.c: $(PAGE_FILES) page lib/embed_files.sh
	@lib/embed_files.sh page_files $(PAGE_FILES) > $@.new
	@mv $@.new $@
$(OUT)/gen/page_files.o: $(GEN)/page_files.c $(OUT)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -std=c17 $(CFLAGS_$(BUILD)) -c -o $@ $<

$(OUT)/%.o: %.c $(OUT)/flags | $(WIRE_HDRS) $(GEN)/version.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(if $(filter tests/unit/%,$<),$(CFLAGS_UNIT),$(CFLAGS)) \
		-MMD -MP -c -o $@ $<
	$(if $(PROGRESS),@echo $@ >&2)

# Generated headers count as the system's, which gcc leaves out of the .d files.
$(OUT)/lib/options.o: $(GEN)/version.h
$(patsubst %.c,$(OUT)/%.o,$(wildcard proto/*.c tests/unit/proto/*.c)): \
	$(WIRE_HDRS)

# $(call built,TARGETS): builds them with all CPUs and says how far it is. With
# PROGRESS=1 a rule prints the name of the file that it has compiled.
built = @n=$$($(MAKE) -n $(1) PROGRESS=1 | grep -c '^echo .* >&2$$' || :); \
	deploy/tools/progress.py --of=$$n \
	$(or $(patsubst BUILD=%,%,$(filter BUILD=%,$(1))),$(BUILD)) \
	$(MAKE) -s -j$(JOBS) $(1) PROGRESS=1

$(OUT)/gen/%.pb-c.o: $(GEN)/%.pb-c.c $(OUT)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -std=c17 $(CFLAGS_$(BUILD)) -w -c -o $@ $<

.SECONDEXPANSION:
$(OUT)/proto.a: $(WIRE:%=$(OUT)/gen/%.pb-c.o)
$(OUT)/%.a: $$(call objects,%)
	@rm -f $@
	$(AR) crs $@ $^

define daemon_rule
$(OUT)/$(1)/daemon.a: $(filter-out %/main.o,$(call objects,$(1)))
	@rm -f $$@
	$(AR) crs $$@ $$^
endef
$(foreach program,$(PROGRAMS) kubectl,$(eval $(call daemon_rule,$(program))))

$(BIN)/plimsoll-%: $$(call objects,$$*) $$(if $$(below_$$*), \
		$$(call archives_of,$$(below_$$*))) $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

$(PLUGIN): $(call objects,kubectl) $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

# A test links the daemon it is about, without main.c, and the rooms below.
# WRAP_test_x names the functions that it stands in for (ld's --wrap). The clock
# of a unit test is tests/support/fake_clock.h.
FAKE_CLOCK = clock_monotonic_us clock_wall_us uv_now uv_cond_timedwait
FAKE_TIMERS = timer_new timer_start timer_stop timer_close
FAKE_ISSUER = timer_new timer_start timer_close
IDLE_CLIENTS = MHD_get_connection_info
WRAP_test_faults = pread openat readdir inotify_init1
WRAP_test_kvm_faults = ioctl kvm_guest_is_known kvm_guest_run
WRAP_test_kvm_prober = pthread_create
WRAP_test_spool_faults = mkdir open openat flock fdopendir readdir fstatat \
	pread write ftruncate unlinkat close crc_add
WRAP_test_schedule = $(FAKE_TIMERS) aggregators_open
WRAP_test_backup_mark = rename pwrite fsync
WRAP_test_binder = $(FAKE_TIMERS)
WRAP_test_binding_cycle = $(FAKE_TIMERS)
WRAP_test_api_version = $(FAKE_TIMERS)
WRAP_test_informers = $(FAKE_TIMERS)
WRAP_test_node_log = log_write
WRAP_test_http = free realloc uv_poll_init_socket
WRAP_test_admission_check = timer_new timer_start timer_close log_write \
	webhook_certificate
WRAP_test_issuer = $(FAKE_ISSUER)
WRAP_test_issuer_renewal = $(FAKE_ISSUER)
WRAP_test_mq_unfinished = getsockopt mq_unfinished_check
WRAP_test_mq = mq_unfinished_end
WRAP_test_httpd = $(IDLE_CLIENTS)
WRAP_test_httpd_faults = MHD_start_daemon
WRAP_test_httpd_gzip = $(IDLE_CLIENTS)
WRAP_test_httpd_linger = $(FAKE_TIMERS)
WRAP_test_httpd_routes = $(IDLE_CLIENTS)
WRAP_test_httpd_static = $(IDLE_CLIENTS)
WRAP_test_httpd_stream = $(IDLE_CLIENTS)
WRAP_test_httpd_tls = $(IDLE_CLIENTS)
WRAP_test_httpd_trust = $(IDLE_CLIENTS)
WRAP_test_http_auth = $(IDLE_CLIENTS)
WRAP_test_api = $(IDLE_CLIENTS)
WRAP_test_api_records = $(IDLE_CLIENTS)
WRAP_test_load_wait = $(IDLE_CLIENTS)
WRAP_test_mq_tls = mq_file_end mq_unfinished_check
WRAP_test_tls_watch = log_write tls_load
WRAP_test_mover = $(FAKE_TIMERS) getrandom
WRAP_test_mover_pressure = $(WRAP_test_mover)
WRAP_test_reach = $(FAKE_TIMERS)
WRAP_test_mover_choice = $(WRAP_test_mover)
WRAP_test_mover_open_moves = $(WRAP_test_mover)
WRAP_test_mover_terms = $(WRAP_test_mover)
WRAP_test_mover_room = $(WRAP_test_mover)
WRAP_test_mover_placement = $(WRAP_test_mover) reach_stats reach_misplaced
WRAP_test_make_room = $(WRAP_test_mover)
WRAP_test_make_room_ends = $(WRAP_test_mover)
WRAP_test_make_room_leaders = $(WRAP_test_mover)
WRAP_test_make_room_plans = $(WRAP_test_mover)
WRAP_test_make_room_search = $(WRAP_test_mover)
WRAP_test_moves = mover_new mover_actions planner_new room_report_new \
	room_report_ask room_report_close question_client_tell \
	room_report_forget reach_new mover_use_reach
WRAP_test_sources_text = httpd_header_set
WRAP_test_answers = $(FAKE_TIMERS) reach_stats reach_vm
WRAP_test_vm_reach = $(FAKE_TIMERS) questions_ask questions_cancel \
	questions_has_leader
WRAP_test_load_list = vm_reach_nodes
WRAP_test_api_outlook = $(FAKE_TIMERS) questions_ask questions_cancel \
	httpd_reply httpd_reply_error vm_reach_new
WRAP_bench_cluster_copy = clock_monotonic_us
WRAP_test_hour_scan = chunk_open chunk_close chunk_bytes
WRAP_test_ingest = timer_start commit_interval_us sqlite3_busy_timeout
WRAP_test_selector = strcmp id_list_search
WRAP_test_maintenance = log_write
WRAP_test_store = sqlite3_busy_timeout sqlite3_step sqlite3_extended_errcode
WRAP_test_sqlite_faults = sqlite3_step sqlite3_prepare_v3 sqlite3_exec \
	sqlite3_extended_errcode sqlite3_errmsg
WRAP_test_request_body = store_names_find
WRAP_test_remote_read = $(FAKE_TIMERS) http_client_new http_client_close \
	http_send http_cancel log_write
WRAP_test_decision_upload = $(FAKE_TIMERS) log_allow log_write
WRAP_live_blocks = calloc reallocarray strdup strndup vasprintf __vasprintf_chk \
	free
WRAP_fake_kubectl = $(WRAP_live_blocks) call_run terminal_say \
	terminal_lines_to_error terminal_confirm getrandom poll
WRAP_test_api_client = $(WRAP_fake_kubectl) file_read_at
WRAP_test_migrations = $(WRAP_fake_kubectl)
WRAP_test_migrations_end = $(WRAP_fake_kubectl)
WRAP_test_migrate_command = $(WRAP_fake_kubectl) terminal_print \
	terminal_note migrations_run
WRAP_test_evacuation = $(WRAP_fake_kubectl) migrations_run
WRAP_test_node_vmis = $(WRAP_fake_kubectl)
WRAP_test_placement = $(WRAP_fake_kubectl)
WRAP_test_plan_view = $(WRAP_fake_kubectl)
WRAP_test_call = $(WRAP_live_blocks) uv_timer_start uv_loop_close terminal_lines_to_error
# $(call test_rule,PROGRAM,OBJECTS,FUNCTIONS): the objects stand in for these
# functions as well.
define test_rule
$(OUT)/$(1): $(OUT)/$(1).o $(2) $(call daemon_of,$(1).c) $(OUT)/tests/support.a \
		$(ARCHIVES)
	$$(CC) $(LDFLAGS) $(WRAP_$(notdir $(1)):%=-Wl,--wrap=%) \
		$(foreach name,$(3),-Wl,--wrap=$(name)) -o $$@ \
		$$(filter %.o %.a,$$^) -lcmocka $(LIBS)
endef
$(OUT)/tests/support.a: $(call objects,tests/support)
	@rm -f $@
	$(AR) crs $@ $^
$(foreach src,$(TEST_SRCS),$(eval $(call test_rule,$(src:%.c=%), \
	$(OUT)/tests/support/fake_clock.o,$(FAKE_CLOCK))))
$(foreach src,$(BENCH_SRCS),$(eval $(call test_rule,$(src:%.c=%))))

# A fuzz target without the fuzzer: it replays its corpus and what it is given.
define replay_rule
$(OUT)/tests/fuzz/replay_$(1): $(OUT)/tests/fuzz/fuzz_$(1).o \
		$(OUT)/tests/fuzz/replay.o $(call daemon_of,tests/fuzz/fuzz_$(1).c) $(ARCHIVES)
	$$(CC) $(LDFLAGS) -o $$@ $$(filter %.o %.a,$$^) $(LIBS)
$(OUT)/tests/fuzz/fuzz_$(1): $(OUT)/tests/fuzz/fuzz_$(1).o \
		$(call daemon_of,tests/fuzz/fuzz_$(1).c) $(ARCHIVES)
	$$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $$@ $$(filter %.o %.a,$$^) $(LIBS)
endef
$(foreach name,$(FUZZ_NAMES),$(eval $(call replay_rule,$(name))))
.SECONDARY:

# ---- installing what is missing -------------------------------------------

# $(call need,PACKAGES): installs those that dpkg does not know as installed.
need = @missing=$$(for p in $(1); do dpkg-query -W -f '$${Status}' $$p \
		2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -n "$$missing" ]; then \
		echo "installing:" $$missing; \
		sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$sudo apt-get update -q && $$sudo env \
			DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
			--no-install-recommends $$missing; \
	fi

.PHONY: packages-build packages-test packages-lint packages-fuzz packages-run \
	packages-node packages-node-arm64 packages-images packages-deploy \
	packages-page
packages-build:
	$(call need,$(PACKAGES_BUILD))
packages-run:
	$(call need,$(PACKAGES_BUILD) $(PACKAGES_RUN))
packages-test:
	$(call need,$(PACKAGES_BUILD) $(PACKAGES_TEST))
	@tests/support/fetch.sh build/ci/debian $(FETCHED_TEST)
packages-lint:
	$(call need,$(PACKAGES_BUILD) $(PACKAGES_LINT))
packages-fuzz:
	$(call need,$(PACKAGES_BUILD) $(PACKAGES_FUZZ))
packages-images:
	$(call need,$(PACKAGES_IMAGES))
packages-deploy: packages-test
	$(call need,$(PACKAGES_DEPLOY))
	@tests/support/fetch.sh build/ci/debian $(FETCHED_DEPLOY)
packages-page: packages-test
	$(call need,$(PACKAGES_PAGE))
packages-node:
	$(call need,$(PACKAGES_BUILD) $(PACKAGES_NODE))
	@tests/support/fetch.sh build/ci/debian $(FETCHED_NODE)
packages-node-arm64:
	$(call need,$(PACKAGES_NODE_ARM64))
	@tests/support/fetch.sh --architecture=arm64 build/ci/debian-arm64 \
		$(FETCHED_NODE_ARM64)

.PHONY: sysroot
sysroot: packages-build ## what CROSS=arm64 needs to compile, below build/ci
	@[ -n "$(CROSS)" ] || { echo "CROSS=arm64 is missing"; exit 2; }
	$(call need,$(PACKAGES_CROSS_$(CROSS)))
	@tests/support/sysroot.sh $(CROSS) $(SYSROOT) libc6-dev \
		$(filter %-dev,$(PACKAGES_BUILD))

# ---- running --------------------------------------------------------------

.PHONY: run
run: packages-run ## start it all on this machine and show it live
	$(call built,all)
	@python3 deploy/run_here.py

# ---- images ---------------------------------------------------------------

.PHONY: images
images: packages-images ## OCI archives of the programs, as root (SUITE, TAG)
	@deploy/images.py $(SUITE:%=--suite=%) $(TAG:%=--tag=%)

# ---- releases -------------------------------------------------------------

# The newest section of CHANGELOG.md, for tests.
LAST_RELEASE = $(shell sed -n 's/^\#\# \[\([0-9][^]]*\)\].*/\1/p' CHANGELOG.md \
	| head -n 1)
# Where a release says that its images are.
REGISTRY ?= registry.example.com/plimsoll
# And where its files are, for krew; VERSION in it becomes the version.
DOWNLOADS ?= https://downloads.example.com/plimsoll/VERSION
RELEASE = deploy/release.py $(VERSION) --registry=$(REGISTRY) \
	--downloads=$(DOWNLOADS) \
	$(SUITE:%=--suite=%) $(RELEASE_OPTIONS)

# kustomize, as kubectl has it, and helm.
KUSTOMIZE_CLI = sigs.k8s.io/kustomize/kustomize/v5
HELM_CLI = helm.sh/helm/v3/cmd/helm
build/kustomize: $(wildcard deploy/tools/go.*)
	@mkdir -p $(@D)
	deploy/tools/build.sh $@ $(KUSTOMIZE_CLI)
build/helm: $(wildcard deploy/tools/go.*)
	@mkdir -p $(@D)
	deploy/tools/build.sh $@ $(HELM_CLI)

.PHONY: release release-twice release-arm64
release: packages-images build/kustomize ## dist/VERSION, as root (needs Go)
	@$(RELEASE)

# The second build makes its own chroots. dist/.again is its result.
release-twice: release ## a second build of VERSION has the same bytes
	@rm -rf build/ci/images-again
	@$(RELEASE) --cache=build/ci/images-again --out=dist/.again
	@diff -r dist/$(VERSION) dist/.again/$(VERSION) && rm -rf dist/.again
	@echo "release-twice: the same bytes"

release-arm64: packages-test ## the arm64 programs of dist/VERSION in QEMU
	@[ -f "dist/$(VERSION)/SHA256SUMS" ] || { echo "there is no release in \
	dist/$(VERSION); make one with: make release VERSION=..." >&2; exit 2; }
	@tests/support/fetch.sh build/ci/debian $(FETCHED_ARM64)
	@env -u MAKEFLAGS $(MAKE) -s -j$(JOBS) all
	@python3 tests/deploy/arm64_qemu.py dist/$(VERSION)

# ---- testing --------------------------------------------------------------

JOBS := $(shell nproc)

# make test T=WORD runs the tests whose path or name contains WORD, with one
# build. The test programs among them are built, and no others.
MATCHING = $(foreach t,$(TEST_BINS) $(REPLAYS),$(if \
	$(findstring $(T),$(t:$(OUT)/%=%)),$(t)))

.PHONY: test check test-binaries
ifneq ($(T),)
test: packages-test
	@$(MAKE) -s -j$(JOBS) all $(MATCHING)
	@python3 tests/support/run_tests.py --match='$(T)' $(OUT)
else
test: packages-test ## unit and system tests, release and ASan (T=WORD: some)
	$(call built,all test-binaries bench-binaries BUILD=release)
	$(call built,all test-binaries BUILD=asan)
	@python3 tests/support/run_tests.py build/release build/asan
endif

check: packages-test ## release build, unit tests and the quick system tests
	$(call built,all test-binaries BUILD=release)
	@python3 tests/support/run_tests.py --quick build/release

test-binaries: $(TEST_BINS) $(REPLAYS)

# Stages that run side by side install nothing and compile no build twice.
.PHONY: ci-build
ci-build: packages-test packages-lint packages-fuzz packages-images \
		packages-deploy packages-node packages-page
	$(call built,all test-binaries bench-binaries BUILD=release)

.PHONY: test-tsan
test-tsan: packages-test ## the same tests under the thread sanitizer
	$(call built,all test-binaries BUILD=tsan)
	@python3 tests/support/run_tests.py build/tsan

.PHONY: stress
stress: packages-test ## test (three times) and e2e beside 16 busy loops
	@tests/support/busy.py 16 tests/support/stages.sh "test-1: make test" \
		"test-2: make test" "test-3: make test" "e2e: make e2e"

# Breaks the code and looks whether the unit tests notice; F is a file.
.PHONY: mutate
BREAKS ?= 200
mutate: packages-test ## BREAKS lines broken, one by one: do unit tests fail? (F)
	@python3 tests/support/mutate.py --seed=$(SEED) --breaks=$(BREAKS) $(F)

# The seeds are the date: each night tries other cases and other faults.
SCALE_NIGHTLY = --nodes 100 --vms 10 --pods-per-minute 300 --stay 20 \
	--minutes 1 --aggregators 2
.PHONY: nightly
nightly: ## what takes too long for .ci/run
	@tests/support/stages.sh \
		"stress: make stress" \
		"fuzz: make fuzz SECONDS=300" \
		"e2e-1.36: make e2e-1.36" \
		"e2e-1.30: make e2e-1.30" \
		"deploy-1.30: make e2e-deploy-1.30" \
		"node-arm64: make e2e-node-arm64" \
		"kubevirt-1.7: make e2e-kubevirt-1.7" \
		"launcher: make e2e-launcher CASES=20000 SEED=$(shell date +%Y%m%d)" \
		"launcher-1.7: make e2e-launcher-1.7" \
		"descheduler: make e2e-descheduler" \
		"cert-manager: make e2e-cert-manager" \
		"kubevirt-nightly: make e2e-kubevirt KUBEVIRT_TESTS='$(KUBEVIRT_NIGHTLY)'" \
		"release-twice: make release-twice VERSION=$(LAST_RELEASE)" \
		"release-arm64: make release-arm64 VERSION=$(LAST_RELEASE)" \
		"limits: make bench-limits" \
		"scale: make bench-scale SCALE='$(SCALE_NIGHTLY)'" \
		"parity: make e2e-parity CASES=50000 SEED=$(shell date +%Y%m%d)" \
		"parity-1.36: make e2e-parity-1.36 CASES=20000 SEED=$(shell date +%Y%m%d)" \
		"mutate: make mutate SEED=$(shell date +%Y%m%d)" \
		"chaos: make chaos MINUTES=60 SEED=$(shell date +%Y%m%d)"

.PHONY: cluster e2e demo
cluster: build/kubecluster ## the control plane that tests use (needs Go)
build/kubecluster: $(wildcard tests/cluster/*.go) tests/cluster/go.mod \
		tests/cluster/go.sum
	@mkdir -p build
	tests/cluster/build.sh $@

# kube-scheduler's own filters, for tests/e2e/parity.py.
build/parity: $(wildcard tests/cluster/parity/*.go) tests/cluster/go.mod \
		tests/cluster/go.sum
	@mkdir -p build
	tests/cluster/build.sh $@ ./parity
build/parity-1.36: $(wildcard tests/cluster/parity/*.go tests/cluster/go-1.36.*)
	@mkdir -p build
	tests/cluster/build.sh $@ ./parity go-1.36.mod

e2e: packages-test ## end-to-end tests on an API server (needs Go >= 1.26)
	@$(MAKE) -s -j$(JOBS) all
	@[ -n "$${E2E_KUBECONFIG:-}" ] || $(MAKE) -s cluster
	@$(MAKE) -s build/parity $(CLOCK_SHIFT) $(SLOW_DISK)
	@python3 tests/support/run_tests.py --e2e

# Preloaded by tests/e2e/wall_clock.py, tests/chaos/fleet.py and
# tests/kubevirt/rights_test.py.
CLOCK_SHIFT = build/release/tests/e2e/clock_shift.so
SLOW_DISK = build/release/tests/chaos/slow_disk.so
build/release/tests/%.so: tests/%.c tests/support/shared_number.h $(OUT)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

# The seed gives the faults and their times.
.PHONY: chaos
MINUTES ?= 60
chaos: packages-test ## 25 agents and random faults for MINUTES (60), by SEED
	@$(MAKE) -s -j$(JOBS) all cluster $(CLOCK_SHIFT) $(SLOW_DISK)
	@python3 tests/chaos/chaos.py $(MINUTES) $(SEED)

.PHONY: cluster-1.30 cluster-1.36 e2e-1.30 e2e-1.36
cluster-1.30: build/kubecluster-1.30 ## the control plane of Kubernetes 1.30
cluster-1.36: build/kubecluster-1.36 ## the control plane of Kubernetes 1.36
build/kubecluster-1.%: $(wildcard tests/cluster/*.go) tests/cluster/go-1.%.mod \
		tests/cluster/go-1.%.sum
	@mkdir -p build
	tests/cluster/build.sh $@ . go-1.$*.mod

# The other files compare with the newest filters (parity), need a field that
# 1.30 drops (resourceClaims, in unschedulable), or test faults and the test
# cluster, which do not depend on the version.
E2E_OLDER = placement vm_names volumes affinity identity kubelet vm_profile \
	webhook certificates questions kubectl_api kubectl_plugin versions
e2e-1.30: packages-test ## the same tests on Kubernetes 1.30
e2e-1.36: packages-test ## the same tests on Kubernetes 1.36
e2e-1.30 e2e-1.36: e2e-%:
	@$(MAKE) -s -j$(JOBS) all
	@$(MAKE) -s cluster-$*
	@KUBECLUSTER=$(CURDIR)/build/kubecluster-$* \
		python3 tests/support/run_tests.py --e2e $(E2E_OLDER)

.PHONY: kubevirt e2e-kubevirt e2e-kubevirt-1.7
# build/ci, so that a run of .ci/run builds them once, beside other stages.
KUBEVIRT = build/ci/kubevirt
KUBEVIRT_SRCS := $(wildcard tests/kubevirt/*/*.go tests/kubevirt/*/*.s \
	tests/kubevirt/build.sh)
kubevirt: $(KUBEVIRT)/virt-api ## virt-controller and virt-api, for tests
$(KUBEVIRT)/virt-api: $(KUBEVIRT_SRCS) $(wildcard tests/kubevirt/go.*)
	tests/kubevirt/build.sh $(@D)
$(KUBEVIRT)-1.7/virt-api: $(KUBEVIRT_SRCS) $(wildcard tests/kubevirt/go-1.7.*)
	tests/kubevirt/build.sh $(@D) go-1.7.0.mod

# make nightly runs the others, which take minutes.
KUBEVIRT_NIGHTLY = evacuate plan
KUBEVIRT_TESTS = $(filter-out $(KUBEVIRT_NIGHTLY),$(patsubst \
	tests/kubevirt/%_test.py,%,$(sort $(wildcard tests/kubevirt/*_test.py))))
e2e-kubevirt: packages-test ## tests with KubeVirt's own controllers (needs Go)
	@$(MAKE) -s -j$(JOBS) all
	@[ -x "$${KUBECLUSTER:-}" ] || $(MAKE) -s cluster
	@$(MAKE) -s kubevirt $(CLOCK_SHIFT) $(NEXT_PODS)
	@python3 tests/support/run_tests.py --kubevirt $(KUBEVIRT_TESTS)

e2e-kubevirt-1.7: packages-test ## the same tests with KubeVirt 1.7
	@$(MAKE) -s -j$(JOBS) all cluster
	@$(MAKE) -s $(KUBEVIRT)-1.7/virt-api $(CLOCK_SHIFT) $(NEXT_PODS)
	@KUBEVIRT=$(CURDIR)/$(KUBEVIRT)-1.7 KUBEVIRT_VERSION=v1.7.0 \
		python3 tests/support/run_tests.py --kubevirt $(KUBEVIRT_TESTS)

# The launcher pods that plimsoll derives, for tests/kubevirt/launcher.py.
NEXT_PODS = build/release/tests/kubevirt/next_pods
$(NEXT_PODS): $(call objects,tests/kubevirt) \
		$$(call daemon_of,tests/kubevirt/next_pods.c) $(ARCHIVES)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

.PHONY: e2e-launcher e2e-launcher-1.7
e2e-launcher: packages-test ## CASES random VMs: KubeVirt's launcher pods, and ours
	@$(MAKE) -s -j$(JOBS) $(NEXT_PODS)
	@$(MAKE) -s kubevirt
	@python3 tests/kubevirt/launcher.py --seed $(SEED) --cases $(CASES)

e2e-launcher-1.7: packages-test ## the same with KubeVirt 1.7
	@$(MAKE) -s -j$(JOBS) $(NEXT_PODS)
	@$(MAKE) -s $(KUBEVIRT)-1.7/virt-api
	@KUBEVIRT=$(CURDIR)/$(KUBEVIRT)-1.7 \
		python3 tests/kubevirt/launcher.py --seed $(SEED) --cases $(CASES)

# For this machine alone; of a checkout that may have changes.
.PHONY: release-test
RELEASE_TEST = $(LAST_RELEASE) --registry=registry.example.com/plimsoll --dirty \
	--architecture=$(shell dpkg --print-architecture)
release-test: packages-images build/kustomize build/helm
	@deploy/release.py $(RELEASE_TEST) --out=build/release-test

.PHONY: e2e-descheduler
# A cold build takes too long for .ci/run: make nightly runs it.
DESCHEDULER = build/ci/descheduler
$(DESCHEDULER)/descheduler: $(wildcard tests/descheduler/*.go \
		tests/descheduler/go.* tests/descheduler/build.sh)
	tests/descheduler/build.sh $(@D)
e2e-descheduler: packages-test ## the descheduler beside plimsoll (needs Go)
	@$(MAKE) -s -j$(JOBS) all
	@[ -x "$${KUBECLUSTER:-}" ] || $(MAKE) -s cluster
	@$(MAKE) -s kubevirt $(DESCHEDULER)/descheduler
	@tests/support/fetch.sh build/ci/debian prometheus
	@python3 tests/support/run_tests.py --descheduler

.PHONY: e2e-cert-manager
# As the descheduler: a cold build takes too long for .ci/run.
CERTMANAGER = build/ci/certmanager
$(CERTMANAGER)/certmanager: $(wildcard tests/certmanager/*.go \
		tests/certmanager/go.* tests/certmanager/build.sh)
	tests/certmanager/build.sh $(@D)
e2e-cert-manager: packages-deploy images ## cert-manager's controllers (needs Go)
	@$(MAKE) -s -j$(JOBS) all
	@[ -x "$${KUBECLUSTER:-}" ] || $(MAKE) -s cluster
	@$(MAKE) -s $(CERTMANAGER)/certmanager
	@python3 tests/support/run_tests.py --certmanager

.PHONY: e2e-deploy e2e-deploy-1.30
e2e-deploy: packages-deploy images release-test ## tests of deploy/, as root (needs Go)
	@$(MAKE) -s -j$(JOBS) all
	@[ -x "$${KUBECLUSTER:-}" ] || $(MAKE) -s cluster
	@python3 tests/support/run_tests.py --deploy

# The other files test overlays, images and documents.
DEPLOY_1_30 = installed upgrade release
e2e-deploy-1.30: packages-deploy images release-test ## the installation on Kubernetes 1.30
	@$(MAKE) -s -j$(JOBS) all
	@$(MAKE) -s cluster-1.30
	@KUBECLUSTER=$(CURDIR)/build/kubecluster-1.30 \
		python3 tests/support/run_tests.py --deploy $(DEPLOY_1_30)

.PHONY: e2e-parity e2e-parity-1.36
SEED ?= 1
CASES ?= 2000
e2e-parity: packages-test ## CASES random pods through both schedulers' filters
	@$(MAKE) -s -j$(JOBS) all build/parity
	@python3 tests/e2e/parity.py --seed $(SEED) --cases $(CASES)
e2e-parity-1.36: packages-test ## the same with the filters of Kubernetes 1.36
	@$(MAKE) -s -j$(JOBS) all build/parity-1.36
	@PARITY=$(CURDIR)/build/parity-1.36 \
		python3 tests/e2e/parity.py --seed $(SEED) --cases $(CASES)

.PHONY: e2e-node
e2e-node: packages-node ## the agent in a virtual machine (QEMU, no KVM)
	@$(MAKE) -s -j$(JOBS) all
	@python3 tests/support/run_tests.py --node node

.PHONY: e2e-node-arm64
e2e-node-arm64: packages-node-arm64 ## the same for arm64, and its KVM probe
	@$(MAKE) -s sysroot CROSS=arm64
	@$(MAKE) -s -j$(JOBS) all CROSS=arm64
	@python3 tests/support/run_tests.py --node arm64

# axe-core, which finds what is not accessible; in build/ci, so that a run of
# .ci/run fetches it once.
AXE = build/ci/page/node_modules/axe-core/axe.min.js
$(AXE): $(wildcard tests/page/package*.json) tests/page/.npmrc
	@mkdir -p build/ci/page
	@cp $^ build/ci/page
	@cd build/ci/page && npm ci --silent
	@touch $@

.PHONY: e2e-page
e2e-page: packages-page ## the page in Chromium (needs npm)
	@$(MAKE) -s -j$(JOBS) all $(FLEET) $(AXE)
	@python3 tests/support/run_tests.py --page

.PHONY: pictures
pictures: packages-page ## docs/images/page-*.png, of the demo (needs Go)
	@$(MAKE) -s -j$(JOBS) all
	@[ -n "$${KUBECLUSTER:-}" ] || $(MAKE) -s cluster
	@python3 tests/page/pictures.py

# KUBECLUSTER=FILE is a control plane that was built before: Go is not needed.
demo: ## the scheduler at work, shown step by step (needs Go)
	@tests/e2e/announce_demo.py
	@$(MAKE) -s packages-run
	$(call built,all)
	@[ -n "$${KUBECLUSTER:-}" ] || $(MAKE) -s cluster
	@python3 tests/e2e/demo.py

.PHONY: fuzz
SECONDS ?= 30
fuzz: packages-fuzz ## run every fuzz target for SECONDS (30)
	@$(MAKE) -s -j$(JOBS) BUILD=fuzz fuzz-binaries
	@python3 tests/support/fuzz.py $(SECONDS) $(FUZZ_NAMES)
.PHONY: fuzz-binaries
fuzz-binaries: $(FUZZ_NAMES:%=$(OUT)/tests/fuzz/fuzz_%)

.PHONY: bench
bench: packages-test ## print what a sample and a decision cost
	@$(MAKE) -s -j$(JOBS) all bench-binaries
	@for b in $(filter-out %/bench_store,$(BENCH_BINS)); do $$b; done
.PHONY: bench-binaries
bench-binaries: $(BENCH_BINS)

.PHONY: bench-agent
bench-agent: packages-node ## the agent beside node_exporter, and in QEMU
	@tests/support/fetch.sh build/ci/debian $(FETCHED_BENCH)
	@$(MAKE) -s -j$(JOBS) all
	@python3 tests/bench/agent_bench.py

FLEET = $(OUT)/tests/bench/fleet
$(FLEET): $(OUT)/tests/bench/fleet_main.o $(OUT)/tests/bench/fleet.o $(ARCHIVES)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

$(OUT)/tests/bench/bench_store: $(OUT)/tests/bench/synthetic.o
STORE_LINES = $(OUT)/tests/bench/store_lines
$(STORE_LINES): $(OUT)/tests/bench/store_lines_main.o \
	$$(call daemon_of,tests/bench/store_lines_main.c) $(ARCHIVES)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
bench-binaries: $(FLEET) $(STORE_LINES)

.PHONY: bench-aggregator
bench-aggregator: packages-node ## the aggregator beside Prometheus and others
	@tests/support/fetch.sh build/ci/debian $(FETCHED_TEST)
	@$(MAKE) -s -j$(JOBS) all $(FLEET) $(OUT)/tests/bench/bench_transport
	@python3 tests/bench/aggregator_bench.py

.PHONY: bench-churn
bench-churn: packages-test ## memory of the aggregator: 20 new VMs a second (MINUTES)
	@$(MAKE) -s -j$(JOBS) all $(FLEET)
	@python3 tests/bench/churn_bench.py --minutes $(MINUTES)

.PHONY: bench-remote-write
bench-remote-write: packages-node ## a backlog into victoria-metrics, prometheus
	@tests/support/fetch.sh build/ci/debian $(FETCHED_TEST)
	@$(MAKE) -s -j$(JOBS) all $(FLEET)
	@python3 tests/bench/remote_write_bench.py

.PHONY: bench-store
bench-store: packages-node ## bytes and reading, beside victoria-metrics
	@tests/support/fetch.sh build/ci/debian victoria-metrics
	@$(MAKE) -s -j$(JOBS) all $(OUT)/tests/bench/bench_store $(STORE_LINES)
	@python3 tests/bench/store_bench.py

.PHONY: bench-scheduler
bench-scheduler: packages-test ## the scheduler beside kube-scheduler (needs Go)
	@$(MAKE) -s -j$(JOBS) all cluster $(FLEET) \
		$(OUT)/tests/bench/bench_decide
	@python3 tests/bench/scheduler_bench.py
	@$(OUT)/tests/bench/bench_decide

.PHONY: bench-scale
bench-scale: packages-test ## an hour of 5,000 nodes, 150,000 VMs (needs Go)
	@$(MAKE) -s -j$(JOBS) all cluster $(FLEET)
	@python3 tests/bench/scale_bench.py $(SCALE)

.PHONY: bench-webhook
bench-webhook: packages-test ## what a review of a new pod takes
	@$(MAKE) -s -j$(JOBS) all
	@python3 tests/bench/webhook_bench.py

.PHONY: bench-limits
bench-limits: packages-test ## limits of time: while it is flooded, to the end
	@$(MAKE) -s -j$(JOBS) all
	@python3 tests/bench/limits_bench.py

.PHONY: bench-placement
bench-placement: packages-test ## what policies leave unserved: TRACES=DIR
	@[ -n "$(TRACES)" ] || { echo "TRACES=DIR is missing: days of VM CPU use" \
		"(*.csv.gz)"; exit 2; }
	@$(MAKE) -s -j$(JOBS) all
	@python3 tests/bench/placement.py $(TRACES) $(SEEDS:%=--seeds=%) \
		$(KINDS:%=--kind=%) $(LOADS:%=--load=%) $(POLICIES:%=--policy=%)

.PHONY: bench-rebalance bench-rule
bench-rebalance: packages-test ## what policies of moves leave: TRACES=DIR
	@[ -n "$(TRACES)" ] || { echo "TRACES=DIR is missing: days of VM CPU use" \
		"(*.csv.gz)"; exit 2; }
	@$(MAKE) -s -j$(JOBS) all
	@python3 tests/bench/rebalance.py $(TRACES) $(SEEDS:%=--seeds=%) \
		$(VMS:%=--vms=%) $(KINDS:%=--kind=%) $(LOADS:%=--load=%) $(POLICIES:%=--policy=%) \
		$(RESULTS:%=--results=%)

bench-rule: packages-test ## a round of moves over 1,000 nodes, 30,000 VMs
	@$(MAKE) -s -j$(JOBS) $(OUT)/tests/bench/bench_rule \
		$(OUT)/tests/bench/bench_mover $(OUT)/tests/bench/bench_reach
	@$(OUT)/tests/bench/bench_rule
	@$(OUT)/tests/bench/bench_mover
	@$(OUT)/tests/bench/bench_reach

.PHONY: bench-api
bench-api: packages-test ## lists of load.plimsoll.io, of 1,000 nodes, 30,000 VMs
	@$(MAKE) -s -j$(JOBS) $(OUT)/tests/bench/bench_load_list
	@$(OUT)/tests/bench/bench_load_list

.PHONY: bench-page
bench-page: packages-page ## the page before 1,000 nodes, 30,000 VMs
	@$(MAKE) -s -j$(JOBS) all $(FLEET)
	@python3 tests/bench/page_bench.py

.PHONY: bench-copy
bench-copy: packages-test ## the copy to plan on, of 1,000 nodes, 30,000 VMs
	@$(MAKE) -s -j$(JOBS) $(OUT)/tests/bench/bench_cluster_copy
	@$(OUT)/tests/bench/bench_cluster_copy

.PHONY: bench-vmis
bench-vmis: packages-test ## the memory of 150,000 VMIs in the scheduler
	@$(MAKE) -s -j$(JOBS) $(OUT)/tests/bench/bench_vmis
	@$(OUT)/tests/bench/bench_vmis

.PHONY: bench-plan
bench-plan: packages-test ## plans that make room: 1,000 nodes, 30,000 VMs
	@$(MAKE) -s -j$(JOBS) $(OUT)/tests/bench/bench_plan
	@$(OUT)/tests/bench/bench_plan

.PHONY: compare
compare: packages-test ## the answers of another checkout's build: OLD=DIR
	@[ -n "$(OLD)" ] || { echo "OLD=DIR is missing: a checkout in which" \
		"'make all bench-binaries' was run"; exit 2; }
	@$(MAKE) -s -j$(JOBS) all $(OUT)/tests/bench/bench_store
	@python3 tests/bench/compare_builds.py $(OLD) .

.PHONY: harvester
harvester: packages-test ## a published pile-up recomputed, and real-load
	@$(MAKE) -s -j$(JOBS) all
	@python3 tests/bench/harvester.py

# ---- looking after the code -----------------------------------------------

TIDY = clang-tidy-14 --quiet
# A file that is for arm64 alone is read as arm64 code.
tidy_flags = $(if $(filter %_arm64.c,$(1)),--target=$(TRIPLET_arm64) \
	-isystem /usr/$(TRIPLET_arm64)/include -D_GNU_SOURCE -I.,$(CPPFLAGS))
TIDY_DONE := $(ALL_SRCS:%=build/tidy/%)

.PHONY: lint format
lint: packages-lint ## format, clang-tidy, cppcheck, layers, banned calls
	@$(MAKE) -s -j$(JOBS) $(WIRE_HDRS) $(GEN)/version.h \
		$(GEN)/preflight_script.h
	@clang-format-14 --dry-run -Werror $(ALL_SRCS) $(ALL_HDRS)
	@python3 tests/support/lint.py
	@cppcheck --quiet --error-exitcode=1 --std=c11 -j$(JOBS) \
		--enable=warning,performance,portability \
		--inline-suppr -I. -D_GNU_SOURCE --suppress=missingInclude \
		$(ROOM_SRCS)
	@$(MAKE) -s -j$(JOBS) tidy
	@echo "lint: clean"

.PHONY: tidy
tidy: $(TIDY_DONE)
build/tidy/%: % .clang-tidy tests/.clang-tidy | $(WIRE_HDRS) $(GEN)/version.h \
		$(GEN)/preflight_script.h
	@mkdir -p $(@D)
	@$(TIDY) $< -- -std=c17 $(call tidy_flags,$<) 2> $@.err \
		|| { cat $@.err; exit 1; }
	@touch $@

format: ## lay out all C files as clang-format says
	clang-format-14 -i $(ALL_SRCS) $(ALL_HDRS)

.PHONY: clean
clean: ## remove what was built (not run/, which holds data)
	rm -rf bin build

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
