"""Pages in HTML: the one place where heads, policies, data and scripts of pages are written.

Texts of run files and histories, such as names of operators, may be anything: in the data of a page
they cannot end its element, and the policy lets no script run but those that opperf put there."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

DIRECTIVES: Mapping[str, str] = {
    "default-src": "'none'",
    "script-src": "'none'",
    # Scripts of charts place their parts by styles of elements.
    "style-src": "'unsafe-inline'",
    "img-src": "data:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "require-trusted-types-for": "'script'",
}
"""The content security policy of a page in one file: nothing is loaded, and no text becomes markup
by a script."""

UNSAFE = re.compile("[<>&\u2028\u2029]")
"""Characters that could end a script element or begin markup in it, and line ends of old
JavaScript; in JSON they are in strings only, where an escape means the same."""

ENDS = re.compile(r"</(?:script|style)|<!--|\r", re.IGNORECASE)
"""Text that would end a script or a style, and line ends that a browser changes, so that the
script's hash would be another."""

NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot express; names and messages in a file may contain them."""


def policy(scripts: Iterable[str] = (), changes: Mapping[str, str] | None = None) -> str:
    """Returns a content security policy that allows these inline scripts, by their hashes, and no
    other; `changes` are of its directives, the empty text leaves one out."""
    hashes = " ".join(f"'{_hash(script)}'" for script in scripts)
    found = {**DIRECTIVES, **({"script-src": hashes} if hashes else {}), **(changes or {})}
    return "; ".join(f"{name} {value}" for name, value in found.items() if value)


def _hash(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def embedded(data: Any) -> str:
    """Returns values as JSON that can stand in a script element, whatever their texts are."""
    text = msgspec.json.encode(data).decode()
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def page_text(
    title: str,
    body: str,
    *,
    styles: Sequence[str] = (),
    data: Any = None,
    scripts: Sequence[str] = (),
    changes: Mapping[str, str] | None = None,
) -> str:
    """Returns a page in one file. `title` is text, `body` markup; `data`, unless None, is what
    scripts find as JSON in the element `data`; `changes` are those of `policy`. Raises
    `ValueError` for a style or script that would end its element."""
    for code in (*styles, *scripts):
        if found := ENDS.search(code):
            raise ValueError(f"a style or script of a page has {found[0]!r}")
    style = "\n".join(styles)
    elements = [f"<script>{script}</script>" for script in scripts]
    if data is not None:
        elements.insert(0, f'<script type="application/json" id="data">{embedded(data)}</script>')
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            # Before all that it is about.
            f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts, changes)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{html.escape(title)}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            body.strip("\n"),
            *elements,
            "</body>",
            "</html>",
            "",
        )
    )


def xml_text(text: str) -> str:
    """Returns text with a sign in place of each character that XML cannot express."""
    return NOT_IN_XML.sub("\ufffd", text)
