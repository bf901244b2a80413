"""What every page in HTML is held to."""

import base64
import hashlib
from html.parser import HTMLParser
from typing import NamedTuple

from markdown_it import MarkdownIt

VOID = {"meta", "hr", "br", "link"}


class Page(NamedTuple):
    """A page as a browser reads it."""

    policy: dict[str, str]
    """The directives of its content security policy, by their names."""
    scripts: list[str]
    """The texts of its scripts that run."""
    data: list[str]
    """The texts of its JSON."""
    tags: set[str]


class Reader(HTMLParser):
    """The tags of a page or a part of one, of which none has a handler or a link elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.policies = [], [], []
        self.scripts, self.data = [], []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            assert not name.startswith("on"), f"{tag} has a handler"
            assert name not in ("src", "srcset", "action"), f"{tag} has an address"
            assert name != "href" or value.startswith("#"), f"{tag} leads to {value}"
        self.seen.append(tag)
        own = dict(attrs)
        if tag == "meta" and own.get("http-equiv") == "Content-Security-Policy":
            assert not {"script", "style"} & set(self.seen), "the policy is of what follows it"
            self.policies.append(own["content"])
        if tag == "script":
            (self.data if "type" in own else self.scripts).append("")
        if tag not in VOID:
            self.open.append((tag, "type" in own))

    def handle_data(self, data):
        if self.open[-1:] and self.open[-1][0] == "script":
            texts = self.data if self.open[-1][1] else self.scripts
            texts[-1] += data

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag


def read_part(text):
    """The tags of a part of a page, which are all closed."""
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def read_markdown(text):
    """The same of Markdown, as GitHub shows it, but for what it takes away from any page."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return read_part(markdown.render(text))


def read_page(text):
    """A page, of which only the scripts that its policy names by their hashes can run."""
    reader = read_part(text)
    (policy,) = reader.policies
    found = dict(one.split(" ", 1) for one in policy.split("; "))
    assert found["default-src"] == "'none'" and found["base-uri"] == "'none'"
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in reader.scripts
    ]
    assert found["script-src"] == (" ".join(hashes) or "'none'")
    assert not {"img", "iframe", "object", "embed", "base", "link", "form"} & set(reader.seen)
    return Page(found, reader.scripts, reader.data, set(reader.seen))
