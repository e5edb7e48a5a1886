/* Tests of Unix sockets: reactor/unix.c, and what reactor/listen.c does differently for them. */
#include "reactor/listen.h"
#include "unit/reactor/fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { MOST = 64 };

static struct {
    pthread_mutex_t mu;
    unsigned n, of[8];
    bool wrong;
    int fds[MOST];
    struct owl_reactor *by[MOST];
    struct owl_peer *of_peer[MOST];
} taken = {.mu = PTHREAD_MUTEX_INITIALIZER};

static char folder[] = "/tmp/owl-unix-XXXXXX";
static char path[64], address[80];

static void take(void *user, struct owl_reactor *r, int fd, struct owl_peer *peer)
{
    pthread_mutex_lock(&taken.mu);
    taken.wrong |= user != &taken || owl_reactor_self() != r ||
                   !(fcntl(fd, F_GETFL) & O_NONBLOCK) || !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    taken.of[owl_reactor_index(r)]++;
    taken.fds[taken.n] = fd;
    taken.by[taken.n] = r;
    taken.of_peer[taken.n++] = peer;
    pthread_mutex_unlock(&taken.mu);
}

static bool taken_wait(unsigned n)
{
    unsigned now = 0;
    for (unsigned i = 0; i < 20000 && now < n; i++) {
        pthread_mutex_lock(&taken.mu);
        now = taken.n;
        pthread_mutex_unlock(&taken.mu);
        usleep(1000);
    }
    return now == n && !taken.wrong;
}

/* A folder of its own for every test; each runs in a process of its own. */
static void begin(void)
{
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/s", folder);
    snprintf(address, sizeof(address), "unix:%s", path);
}

static void finish(void)
{
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left there */
}

static struct owl_runtime *runtime_of(unsigned reactors)
{
    const struct owl_runtime_options o = {.reactors = reactors, .workers = 1};
    return runtime_new(&o);
}

static int open_at(struct owl_runtime *rt, const char *at, struct owl_peers *peers,
                   struct owl_listener **ret, owl_error *e)
{
    const struct owl_listen_options o = {
        .address = owl_str_of(at), .max = 1000, .peers = peers, .accept = take, .user = &taken};
    return owl_listener_open(rt, &o, ret, e);
}

static struct owl_listener *listener(struct owl_runtime *rt, const char *at)
{
    struct owl_listener *l = NULL;
    owl_error e = {0};
    if (open_at(rt, at, NULL, &l, &e) != 0)
        fail_msg("%s", e.message);
    return l;
}

/* One that is not started: its owner may free it at any time. */
static struct owl_listener *bound(struct owl_runtime *rt)
{
    const struct owl_listen_options o = {
        .address = owl_str_of(address), .max = 1000, .accept = take, .user = &taken};
    struct owl_listener *l = NULL;
    owl_error e = {0};
    if (owl_listener_bind(rt, &o, &l, &e) != 0)
        fail_msg("%s", e.message);
    return l;
}

static void stop_on(struct owl_reactor *r, void *l)
{
    owl_listener_stop(l, r);
    owl_listener_stop(l, r); /* harmless */
}

static void end(struct owl_runtime *rt, struct owl_listener *l)
{
    for (unsigned i = 0; i < owl_runtime_count(rt); i++)
        on_reactor(owl_runtime_at(rt, i), stop_on, l);
    owl_runtime_stop(rt);
    owl_runtime_join(rt);
    for (unsigned i = 0; i < taken.n; i++) {
        close(taken.fds[i]);
        owl_conn_left(taken.by[i], taken.of_peer[i]);
    }
    owl_listener_free(l);
    owl_runtime_aunref(rt);
}

static int dial(const char *at)
{
    struct sockaddr_storage a;
    assert_int_equal(owl_address__parse(owl_str_of(at), &a, NULL), 0);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&a, owl_address__size(&a)) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool is_ended(int fd)
{
    char c;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 10000) == 1 && read(fd, &c, 1) == 0;
}

static bool exists(void)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

TEST(connections_arrive_on_all_reactors, "")
{
    begin();
    struct owl_runtime *rt = runtime_of(4);
    struct owl_listener *l = listener(rt, address);
    int fds[40];
    assert_int_equal(owl_listener_port(l), 0);
    assert_true(owl_listener_loopback(l));
    fds[0] = dial(address); /* waits for the start */
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    for (unsigned i = 1; i < 40; i++)
        assert_true((fds[i] = dial(address)) >= 0);
    assert_true(taken_wait(40));
    for (unsigned i = 0; i < 4; i++)
        assert_true(taken.of[i] >= 2 && taken.of[i] <= 25); /* the mean is 10; drawn by lot */
    end(rt, l);
    assert_false(exists());
    assert_int_equal(dial(address), -1);
    for (unsigned i = 0; i < 40; i++)
        close(fds[i]);
    finish();
}

TEST(only_the_owner_may_connect, "")
{
    begin();
    static const mode_t masks[] = {0, 022, 077};
    for (size_t i = 0; i < OWL_COUNT(masks); i++) {
        struct stat st;
        mode_t before = umask(masks[i]);
        struct owl_runtime *rt = runtime_of(2);
        struct owl_listener *l = bound(rt);
        umask(before);
        assert_int_equal(lstat(path, &st), 0);
        assert_true(S_ISSOCK(st.st_mode));
        assert_int_equal(st.st_mode & 07777, 0600);
        owl_listener_free(l);
        runtime_end(rt);
        assert_false(exists());
    }
    finish();
}

TEST(a_socket_that_was_left_behind_is_replaced, "")
{
    begin();
    struct sockaddr_storage a;
    int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(owl_address__parse(owl_str_of(address), &a, NULL), 0);
    assert_int_equal(bind(dead, (struct sockaddr *)&a, owl_address__size(&a)), 0);
    assert_int_equal(listen(dead, 1), 0);
    close(dead);
    assert_true(exists());

    struct owl_runtime *rt = runtime_of(2);
    struct owl_listener *l = listener(rt, address);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    int fd = dial(address);
    assert_true(fd >= 0);
    assert_true(taken_wait(1));
    end(rt, l);
    assert_false(exists());
    close(fd);
    finish();
}

TEST(a_socket_in_use_is_said_so, "")
{
    begin();
    struct owl_runtime *rt = runtime_of(2), *other = runtime_of(2);
    struct owl_listener *l = bound(rt), *second = NULL;
    owl_error e = {0};
    assert_int_equal(open_at(other, address, NULL, &second, &e), -OWL_EIO);
    assert_null(second);
    assert_non_null(strstr(e.message, address));
    assert_non_null(strstr(e.message, "a program listens there already"));
    int fd = dial(address); /* the first one is as it was */
    assert_true(fd >= 0);
    close(fd);
    runtime_end(other);
    owl_listener_free(l);
    runtime_end(rt);
    finish();
}

TEST(a_file_that_is_no_socket_is_left_alone, "")
{
    begin();
    struct owl_runtime *rt = runtime_of(2);
    struct owl_listener *l = NULL;
    owl_error e = {0};
    static const char kept[] = "kept";
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, kept, 4), 4);
    close(fd);
    assert_int_equal(open_at(rt, address, NULL, &l, &e), -OWL_EIO);
    assert_non_null(strstr(e.message, "no socket"));
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_size, 4);
    unlink(path);

    assert_int_equal(symlink("/nowhere/at/all", path), 0); /* nor is a link followed */
    assert_int_equal(open_at(rt, address, NULL, &l, &e), -OWL_EIO);
    assert_non_null(strstr(e.message, "no socket"));
    assert_true(exists());

    char nowhere[sizeof(address) + 8];
    snprintf(nowhere, sizeof(nowhere), "unix:%s/no/s", folder);
    assert_int_equal(open_at(rt, nowhere, NULL, &l, &e), -OWL_EIO);
    assert_non_null(strstr(e.message, "no such file"));
    assert_null(l);
    runtime_end(rt);
    finish();
}

TEST(a_file_that_took_its_place_is_not_removed, "")
{
    begin();
    struct owl_runtime *rt = runtime_of(1), *other = runtime_of(1);
    struct owl_listener *l = bound(rt);
    assert_int_equal(unlink(path), 0);
    struct owl_listener *second = bound(other);
    owl_listener_free(l);
    runtime_end(rt);
    assert_true(exists());
    int fd = dial(address);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(unlink(path), 0);
    owl_listener_free(second); /* nor does it mind that it has gone */
    runtime_end(other);
    finish();
}

TEST(abstract_sockets_need_no_file, "")
{
    char name[64];
    snprintf(name, sizeof(name), "unix:@owl-test-%d", (int)getpid());
    struct owl_runtime *rt = runtime_of(2), *other = runtime_of(2);
    struct owl_listener *l = listener(rt, name), *second = NULL;
    owl_error e = {0};
    assert_true(owl_listener_loopback(l));
    assert_int_equal(open_at(other, name, NULL, &second, &e), -OWL_EIO);
    assert_non_null(strstr(e.message, "address already in use"));
    runtime_end(other);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    int fd = dial(name);
    assert_true(fd >= 0);
    assert_true(taken_wait(1));
    end(rt, l);
    assert_int_equal(dial(name), -1);
    close(fd);
}

TEST(its_peers_are_one_peer_if_they_are_counted, "")
{
    begin();
    struct owl_peers *peers = owl_peers_new(
        &(struct owl_peers_options){.max = 2, .count_local = true});
    struct owl_runtime *rt = runtime_of(2);
    struct owl_listener *l = NULL;
    assert_int_equal(open_at(rt, address, peers, &l, NULL), 0);
    assert_int_equal(owl_runtime_start(rt, NULL), 0);
    int fds[3];
    for (unsigned i = 0; i < 3; i++)
        assert_true((fds[i] = dial(address)) >= 0);
    assert_true(is_ended(fds[2]));
    assert_true(taken_wait(2));
    end(rt, l);
    owl_peers_free(peers);
    for (unsigned i = 0; i < 3; i++)
        close(fds[i]);
    finish();
}

TEST(what_was_made_is_undone_if_opening_fails, "")
{
    begin();
    struct owl_runtime *rt = runtime_of(3);
    struct owl_listener *l = NULL;
    owl_alloc_fail_at(1);
    int rc = open_at(rt, address, NULL, &l, NULL);
    owl_alloc_fail_at(0);
    assert_int_equal(rc, -OWL_ENOMEM);
    assert_null(l);
    assert_false(exists());
    struct rlimit before, full;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(0);
    close(next);
    owl_error e = {0};
    full = before;
    full.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &full), 0);
    assert_int_equal(open_at(rt, address, NULL, &l, &e), -OWL_EIO);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_non_null(strstr(e.message, "too many open files"));
    runtime_end(rt);
    finish();
}
