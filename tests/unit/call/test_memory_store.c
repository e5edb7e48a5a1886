/* Tasks kept in memory: what is found again, what gives way to what, and for how long. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "call/task_store.h"
#include "support/test.h"

static struct owl_task_store *store;

struct asked {
    struct owl_task_op op;
    int rc;
    size_t n;
    bool more;
    struct owl_task *tasks[100]; /* counted */
};

static void on_done(struct owl_task_op *op, int rc)
{
    struct asked *a = OWL_CONTAINER(op, struct asked, op);
    a->rc = rc;
    a->n = op->n;
    a->more = op->more;
    for (size_t i = 0; i < op->n; i++)
        a->tasks[i] = owl_task_aref(op->tasks[i]);
}

static void let_go(struct asked *a)
{
    for (size_t i = 0; i < a->n; i++)
        owl_task_aunref(a->tasks[i]);
    a->n = 0;
}

static int put(const char *id, enum owl_task_status status, const char *payload)
{
    struct owl_task from = {.status = status, .created_ms = owl_wall_ms(), .ttl_ms = 60000};
    struct asked a = {.op.done = on_done, .rc = 1};
    snprintf(from.id, sizeof from.id, "%s", id);
    from.principal = OWL_STR("me");
    from.session = 7;
    if (payload)
        from.payload = owl_str_of(payload);
    struct owl_task *t = owl_task_new(&from);
    if (!t)
        return -OWL_ENOMEM;
    store->ops->put(store, t, &a.op);
    owl_task_aunref(t);
    return a.rc;
}

static int put_for(const char *id, uint64_t ttl_ms, int64_t created_ms)
{
    struct owl_task from = {.created_ms = created_ms, .ttl_ms = ttl_ms, .session = 7};
    struct asked a = {.op.done = on_done, .rc = 1};
    snprintf(from.id, sizeof from.id, "%s", id);
    struct owl_task *t = owl_task_new(&from);
    store->ops->put(store, t, &a.op);
    owl_task_aunref(t);
    return a.rc;
}

/* Whether it is there, with that payload (NULL: with any). */
static bool has(const char *id, const char *payload)
{
    struct asked a = {.op.done = on_done, .rc = 1};
    store->ops->get(store, owl_str_of(id), &a.op);
    assert_int_equal(a.rc, a.n ? 0 : -OWL_ENOTFOUND);
    bool found = a.n && strcmp(a.tasks[0]->id, id) == 0 &&
                 (!payload || owl_str_is(a.tasks[0]->payload, payload));
    let_go(&a);
    return found;
}

static struct asked list(uint64_t session, const char *after, size_t max)
{
    struct asked a = {.op.done = on_done, .rc = 1};
    store->ops->list(store, session, after ? owl_str_of(after) : (owl_str){NULL, 0}, max, &a.op);
    return a;
}

TEST(records_are_copies_with_their_texts, "")
{
    char payload[] = "{}", principal[] = "me";
    struct owl_task from = {.id = "x", .payload = {payload, 2}, .principal = {principal, 2}};
    struct owl_task *t = owl_task_new(&from);
    payload[0] = principal[0] = '?';
    assert_true(owl_str_is(t->payload, "{}"));
    assert_true(owl_str_is(t->principal, "me"));
    assert_ptr_equal(owl_task_aref(t), t);
    owl_task_aunref(t);
    owl_task_aunref(t);
    owl_task_aunref(NULL);
}

TEST(the_last_version_is_found, "")
{
    store = owl_task_store_memory_new(10, 100);
    assert_false(has("a", NULL));
    assert_int_equal(put("a", OWL_TASK_WORKING, NULL), 0);
    assert_true(has("a", NULL));
    assert_int_equal(put("a", OWL_TASK_INPUT, "{\"q\":1}"), 0);
    assert_int_equal(put("b", OWL_TASK_WORKING, NULL), 0);
    assert_true(has("a", "{\"q\":1}"));
    assert_int_equal(put("a", OWL_TASK_COMPLETED, "{}"), 0);
    assert_true(has("a", "{}"));
    store->ops->free(store);
}

TEST(the_oldest_that_are_over_give_way, "")
{
    store = owl_task_store_memory_new(3, 20);
    assert_int_equal(put("a", OWL_TASK_WORKING, NULL), 0);
    assert_int_equal(put("b", OWL_TASK_COMPLETED, "0123456789"), 0);
    assert_int_equal(put("c", OWL_TASK_FAILED, "0123456789"), 0);
    assert_int_equal(put("d", OWL_TASK_WORKING, NULL), 0); /* a fourth: the oldest that is over */
    assert_false(has("b", NULL));
    assert_true(has("c", NULL));
    assert_int_equal(put("a", OWL_TASK_COMPLETED, "01234567890"), 0); /* too many bytes together */
    assert_false(has("c", NULL));
    assert_true(has("a", NULL));
    assert_int_equal(put("a", OWL_TASK_COMPLETED, "0123456789012345678901"), -OWL_ELIMIT);
    assert_true(has("a", "01234567890")); /* what was there stays */
    assert_int_equal(put("e", OWL_TASK_CANCELLED, NULL), 0);
    assert_int_equal(put("f", OWL_TASK_WORKING, NULL), 0);
    assert_true(has("d", NULL) && has("e", NULL) && has("f", NULL) && !has("a", NULL));
    store->ops->free(store);
}

TEST(tasks_that_run_give_way_to_nobody, "")
{
    store = owl_task_store_memory_new(2, 20);
    assert_int_equal(put("a", OWL_TASK_WORKING, NULL), 0);
    assert_int_equal(put("b", OWL_TASK_INPUT, "01234567890123456789"), 0);
    assert_int_equal(put("c", OWL_TASK_WORKING, NULL), -OWL_ELIMIT);
    assert_int_equal(put("a", OWL_TASK_COMPLETED, "{}"), -OWL_ELIMIT);
    assert_true(has("a", NULL) && has("b", NULL) && !has("c", NULL));
    assert_int_equal(put("b", OWL_TASK_COMPLETED, "{}"), 0); /* its own bytes are free again */
    assert_int_equal(put("a", OWL_TASK_COMPLETED, "{}"), 0);
    store->ops->free(store);
}

TEST(what_has_no_room_anyway_pushes_nobody_out, "")
{
    store = owl_task_store_memory_new(10, 100);
    char sixty[61] = "";
    memset(sixty, '1', 60);
    assert_int_equal(put("over", OWL_TASK_COMPLETED, "{}"), 0);
    assert_int_equal(put("runs", OWL_TASK_INPUT, sixty), 0);
    assert_int_equal(put("more", OWL_TASK_INPUT, sixty), -OWL_ELIMIT);
    assert_true(has("over", "{}"));
    assert_true(has("runs", sixty));
    assert_int_equal(put("runs", OWL_TASK_COMPLETED, "{}"), 0);
    assert_int_equal(put("last", OWL_TASK_INPUT, sixty), 0);
    assert_true(has("over", "{}") && has("runs", "{}"));
    store->ops->free(store);
}

TEST(tasks_are_forgotten_when_their_time_is_over, "")
{
    store = owl_task_store_memory_new(3, 100);
    int64_t now = owl_wall_ms();
    assert_int_equal(put_for("gone", 1000, now - 1000), 0);
    assert_int_equal(put_for("soon", 60, now), 0);
    assert_int_equal(put_for("ahead", 60000, now + 5000), 0); /* the clock was set back */
    assert_false(has("gone", NULL));
    assert_true(has("soon", NULL) && has("ahead", NULL));
    struct asked a = list(7, NULL, 10);
    assert_int_equal(a.n, 2);
    assert_int_equal(owl_task_left(a.tasks[1]), 60000);
    let_go(&a);
    usleep(80000);
    assert_false(has("soon", NULL));
    assert_int_equal(put("new", OWL_TASK_WORKING, NULL), 0); /* in the place of one that is gone */
    store->ops->expire(store);
    assert_true(has("ahead", NULL) && has("new", NULL));
    assert_int_equal(put("newer", OWL_TASK_WORKING, NULL), 0);
    store->ops->free(store);
}

TEST(lists_go_on_behind_a_task, "")
{
    char id[8];
    store = owl_task_store_memory_new(100, 100);
    for (int i = 0; i < 25; i++) {
        snprintf(id, sizeof id, "t%02d", i);
        assert_int_equal(put(id, OWL_TASK_WORKING, NULL), 0);
    }
    struct asked a = list(7, NULL, 10);
    assert_int_equal(a.n, 10);
    assert_true(a.more);
    assert_string_equal(a.tasks[9]->id, "t09");
    let_go(&a);
    a = list(7, "t09", 15);
    assert_int_equal(a.n, 15);
    assert_false(a.more);
    assert_string_equal(a.tasks[0]->id, "t10");
    let_go(&a);
    a = list(7, "t24", 10);
    assert_int_equal(a.n, 0);
    assert_int_equal(a.rc, 0);
    a = list(7, "nothing", 10);
    assert_int_equal(a.rc, -OWL_ENOTFOUND);
    a = list(8, "t09", 10); /* of another session */
    assert_int_equal(a.rc, -OWL_ENOTFOUND);
    a = list(8, NULL, 10);
    assert_int_equal(a.n, 0);
    assert_int_equal(a.rc, 0);
    store->ops->free(store);
}

TEST(a_store_without_memory_says_so_and_goes_on, "")
{
    for (unsigned long n = 1; n < 4; n++) {
        store = owl_task_store_memory_new(10, 100);
        owl_alloc_fail_at(n);
        int rc = put("a", OWL_TASK_WORKING, NULL);
        struct asked a = list(7, NULL, 10);
        owl_alloc_fail_at(0);
        assert_true(rc == -OWL_ENOMEM || a.rc == -OWL_ENOMEM || n == 3);
        let_go(&a);
        assert_int_equal(put("a", OWL_TASK_WORKING, NULL), 0);
        assert_true(has("a", NULL));
        store->ops->free(store);
    }
    owl_alloc_fail_at(1);
    assert_null(owl_task_store_memory_new(1, 1));
    owl_alloc_fail_at(0);
}

static void *hammer(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    char id[8];
    for (int i = 0; i < 3000; i++) {
        snprintf(id, sizeof id, "t%d", rand_r(&seed) % 40);
        struct asked a = {.op.done = on_done, .rc = 1};
        switch (rand_r(&seed) % 6) {
        case 0: a = list(7, NULL, 20); break;
        case 1: a = list(7, id, 20); break;
        case 2: store->ops->expire(store); break;
        case 3: has(id, NULL); break;
        case 4: put(id, OWL_TASK_COMPLETED, "{\"some\":\"text\"}"); break;
        default: put(id, OWL_TASK_WORKING, NULL); break;
        }
        let_go(&a);
    }
    return NULL;
}

TEST(threads_share_a_store, "")
{
    pthread_t threads[4];
    store = owl_task_store_memory_new(20, 100);
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, hammer, (void *)(i + 1));
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    struct asked a = list(7, NULL, 50);
    assert_true(a.n <= 20);
    let_go(&a);
    store->ops->free(store);
}
