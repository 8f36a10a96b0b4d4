"""A directive that lists the fields of JSON answers from the schema that the package ships."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dpcalc.report.output import schema


def kind(about: Mapping[str, Any]) -> str:
    """What values a field has, in a few words; a reference as the name of its part."""
    if "$ref" in about:
        return about["$ref"].rpartition("/")[2].removeprefix("verb-").replace("_", " ")
    for several in ("anyOf", "oneOf"):
        if several in about:
            return " or ".join(dict.fromkeys(kind(one) for one in about[several]))
    if "const" in about:
        return f"“{about['const']}”"
    if "enum" in about:
        return ", ".join("null" if one is None else f"“{one}”" for one in about["enum"])
    found = about.get("type", "anything")
    if found == "array":
        return f"list of {kind(about['items'])}" if "items" in about else "list"
    if found == "object" and isinstance(about.get("additionalProperties"), dict):
        return f"object of {kind(about['additionalProperties'])}"
    return " or ".join(found) if isinstance(found, list) else str(found)


def rows(part: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Field, kind and meaning; fields of objects inside follow with their path."""
    needed = part.get("required", ())
    for name, about in part.get("properties", {}).items():
        if name in ("schema_version", "dpcalc_version", "verb"):
            continue
        meaning = about.get("description") or _meaning_of(about)
        yield name, kind(about) + ("" if name in needed else " (may lack)"), meaning
        inner = about.get("items", about)
        for field, type_, text in rows(inner) if "properties" in inner else ():
            yield f"{name}{'[]' if 'items' in about else ''}.{field}", type_, text


def _meaning_of(about: Mapping[str, Any]) -> str:
    name = about.get("$ref", "").rpartition("/")[2]
    return str(schema()["$defs"].get(name, {}).get("description", ""))


class JsonFields(SphinxDirective):
    """``{json-fields} PREFIX``: a section with a table for each part of the schema.

    The argument "verb-" lists the verbs, "shared" everything that they share.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The sections."""
        parts = schema()["$defs"]
        verbs = self.arguments[0] == "verb-"
        wanted = {k: v for k, v in parts.items() if k.startswith("verb-") == verbs}
        return [_section(name, part) for name, part in wanted.items()]


def _section(name: str, part: Mapping[str, Any]) -> nodes.section:
    title = name.removeprefix("verb-").replace("_", " ")
    found = nodes.section(ids=[f"json-{name.replace('_', '-')}"])
    found += nodes.title(text=title)
    found += nodes.paragraph(text=part.get("description", ""))
    fields = list(rows(part))
    if fields:
        found += _table(("field", "value", "meaning"), fields)
    return found


def _table(heads: tuple[str, ...], fields: list[tuple[str, str, str]]) -> nodes.table:
    group = nodes.tgroup(cols=len(heads))
    group += [nodes.colspec(colwidth=width) for width in (25, 25, 50)]
    head, body = nodes.thead(), nodes.tbody()
    head += _row([nodes.paragraph(text=text) for text in heads])
    for name, type_, meaning in fields:
        code = nodes.paragraph()
        code += nodes.literal(text=name)
        body += _row([code, nodes.paragraph(text=type_), nodes.paragraph(text=meaning)])
    group += [head, body]
    table = nodes.table()
    table += group
    return table


def _row(cells: list[nodes.paragraph]) -> nodes.row:
    row = nodes.row()
    for cell in cells:
        entry = nodes.entry()
        entry += cell
        row += entry
    return row


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("json-fields", JsonFields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
