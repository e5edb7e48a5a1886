#!/usr/bin/env python3
"""The skills extension of everything-server: written with the public API alone."""

import hashlib

from client import *

SKILLS = "io.modelcontextprotocol/skills"
ENTRY = re.compile(r"skill://(?:[a-z-]+/)*([a-z0-9]+(?:-[a-z0-9]+)*)/SKILL\.md")


def read(uri):
    contents = modern("resources/read", {"uri": uri}).result["contents"]
    equal([c["uri"] for c in contents], [uri])
    equal(contents[0]["mimeType"], "text/markdown", uri)
    return contents[0]["text"]


def pages():
    """The results of skills/list, page by page."""
    params = {}
    while True:
        result = modern("skills/list", params).result
        yield result
        if "nextCursor" not in result:
            return
        params = {"cursor": result["nextCursor"]}


def listed():
    return [skill for page in pages() for skill in page["skills"]]


def frontmatter(text):
    """Of the simple kind that these skills have: a line a member."""
    head = re.match(r"---\n(.*?)\n---\n", text, re.S).group(1)
    return dict(line.split(": ", 1) for line in head.split("\n"))


def verify_entry(skill):
    name = ENTRY.fullmatch(skill["uri"]).group(1)
    equal(skill["frontmatter"], frontmatter(read(skill["uri"])), skill["uri"])
    equal(skill["frontmatter"]["name"], name)
    equal(skill["resources"][0]["uri"], skill["uri"])
    folder = skill["uri"].removesuffix("SKILL.md")
    for file in skill["resources"]:
        data = read(file["uri"]).encode()
        equal(file, {"uri": file["uri"], "size": len(data),
                     "digest": "sha256:" + hashlib.sha256(data).hexdigest()})
    served = [r["uri"] for r in modern("resources/list").result["resources"]
              if r["uri"].startswith(folder)]
    equal(sorted(f["uri"] for f in skill["resources"]), sorted(served), "every file, once")


@test("mcp:Z1")
def the_extension_is_declared_and_its_methods_are_served():
    for caps in (modern("server/discover").result["capabilities"], session().info["capabilities"]):
        equal(caps["extensions"][SKILLS], {"directoryRead": True})
        contains(caps, "resources")
    check(listed(), "there is no skill")
    equal(modern("skills/get", {"uri": listed()[0]["uri"]}).result["skill"], listed()[0])


@test("mcp:Z2 mcp:Z3")
def an_entry_describes_its_files_exactly():
    check(len(listed()) >= 3, "there are less than three skills")
    check(any(len(skill["resources"]) > 1 for skill in listed()), "no skill has two files")
    for skill in listed():
        verify_entry(skill)


@test("mcp:Z4")
def every_skill_can_be_asked_for():
    uris = [skill["uri"] for skill in listed()]
    hidden = "skill://testing/stray-output/SKILL.md"
    check(hidden not in uris, "it is listed")
    for uri in (*uris, hidden):
        verify_entry(modern("skills/get", {"uri": uri}).result["skill"])
    for uri in ("skill://nothing/SKILL.md", "skill://first-steps", "skill://first-steps/SKILL",
                "skill://first-steps/SKILL.md\0", "skill://first-steps/../first-steps/SKILL.md",
                "SKILL://first-steps/SKILL.md", "skill://testing/SKILL.md", "", 7, None):
        reply = modern("skills/get", {"uri": uri})
        equal((reply.status, reply.error["code"]), (200, -32602), show(uri))
    equal(modern("skills/get").error["code"], -32602)


@test("mcp:Z5")
def answers_have_cache_hints_and_pages_whole_entries():
    every = list(pages())
    check(len(every) > 1, "everything is on one page")
    uris = [skill["uri"] for page in every for skill in page["skills"]]
    equal(len(set(uris)), len(uris), "a skill is on two pages")
    equal({page["cacheScope"] for page in every}, {"public"}, "all pages are alike")
    for result in (*every, modern("skills/get", {"uri": uris[0]}).result):
        equal(result["resultType"], "complete")
        check(type(result["ttlMs"]) is int and result["ttlMs"] >= 0, "ttlMs")
        contains(("public", "private"), result["cacheScope"])
    for cursor in ("nonsense", "", "testing/stray-output", 5, None):
        equal(modern("skills/list", {"cursor": cursor}).error["code"], -32602, show(cursor))


def children(uri):
    result = modern("resources/directory/read", {"uri": uri}).result
    equal(result["resultType"], "complete")
    return {r["uri"]: r for r in result["resources"]}


@test("mcp:Z6")
def directories_are_read_level_by_level():
    top = children("skill://ask-the-user")
    equal({uri: r["mimeType"] for uri, r in top.items()}, {
        "skill://ask-the-user/SKILL.md": "text/markdown",
        "skill://ask-the-user/notes": "inode/directory",
        "skill://ask-the-user/references": "inode/directory"})
    resources = {r["uri"]: r for r in modern("resources/list").result["resources"]}
    for uri, child in top.items():
        if uri in resources:
            equal(child.items() <= resources[uri].items(), True, f"{child} and {resources[uri]}")
    equal(list(children("skill://ask-the-user/references")),
          ["skill://ask-the-user/references/questions.md"])
    equal(children("skill://ask-the-user/notes"), {}, "an empty directory")
    equal(list(children("skill://testing")),
          ["skill://testing/long-calls", "skill://testing/stray-output"])
    for uri in ("skill://ask-the-user/SKILL.md", "skill://nothing", "skill://ask-the-user/",
                "skill://", "skill://ask", "test://static-text", "file:///etc", "", None):
        equal(modern("resources/directory/read", {"uri": uri}).error["code"], -32602, show(uri))
    equal(modern("resources/directory/read", {"uri": "skill://testing", "cursor": "x"})
          .error["code"], -32602)


@test()
def a_legacy_session_sees_the_same_skills():
    s = session()
    first = s.request("skills/list").result
    equal([k for k in ("resultType", "ttlMs", "cacheScope") if k in first], [])
    equal(first["skills"], list(pages())[0]["skills"])
    equal(s.request("skills/get", {"uri": "skill://nothing/SKILL.md"}).error["code"], -32602)


main()
