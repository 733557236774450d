from __future__ import annotations

import re

import pytest

from docgraph.formats.literals import LITERAL, PLACEHOLDER, is_only_literal, web_address


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        (
            "Write to ann.lee+x@mail.example.org, or see https://x.org/a_b?c=1.",
            ["ann.lee+x@mail.example.org", "https://x.org/a_b?c=1"],
        ),
        ("(www.example.org/page)", ["www.example.org/page"]),
        ("%s%d of %(total)lu, 5% down and 100%sure", ["%s", "%d", "%(total)lu"]),
        ("see %(folder)sindex.txt, %(count)d.", ["%(folder)s", "%(count)d"]),
        ("{} {0} {name} ${HOME} $HOME $name %1", ["{}", "{0}", "{name}", "${HOME}", "$HOME", "$name", "%1"]),
        ("{{ title }} {% include x %} {{< figure >}}", ["{{ title }}", "{% include x %}", "{{< figure >}}"]),
        ("a <b>bold</b> move :smile: at 10:30:15", ["<b>", "</b>", ":smile:"]),
        (
            "foo_bar, MAX_SIZE, read_file(), path.join() and __init__",
            ["foo_bar", "MAX_SIZE", "read_file()", "path.join()", "__init__"],
        ),
        ("with --prof-process or --all, but not -- this--one", ["--prof-process", "--all"]),
        ("-D<n> --max-depth=<n> of {Array<String>}", ["-D<n>", "--max-depth=<n>", "{Array<String>}"]),
        ("It costs $5, or 5 %.", []),
        ("<0>Read</0> %zu bytes, <1/> but 3 <4 and 5>2", ["<0>", "</0>", "%zu", "<1/>"]),
        (
            "peerDependencies, fs.readFile, innerHTML.length and maxAge_ of my iPhone at 5 kHz, 200 kB",
            ["peerDependencies", "fs.readFile", "innerHTML.length", "maxAge_"],
        ),
        (
            "Set response.writable. Run migrate:up, std::move and github:uuidjs/uuid.",
            ["response.writable", "migrate:up", "std::move", "github:uuidjs/uuid"],
        ),
        (
            'Enter =SUMIFS(C2:C6;A2:A6;"pen.*";"<"&MAX(B2:B6)) or =B2, where a==MAX(b) and F=MA(1).',
            ['=SUMIFS(C2:C6;A2:A6;"pen.*";"<"&MAX(B2:B6))'],
        ),
        (
            "The key AAAAB3NzaC1yc2EAAAADAQAB/x+= or 8F3K-22LQ-9XZZ-71AB, order AB-12345-X of F-16-A and COVID-19.",
            ["AAAAB3NzaC1yc2EAAAADAQAB/x+=", "8F3K-22LQ-9XZZ-71AB", "AB-12345-X"],
        ),
        (
            f"id 550e8400-e29b-41d4-a716-446655440000, {'ab' * 40}, 1914-1918 and a sixteen-letter-word",
            ["550e8400-e29b-41d4-a716-446655440000", "ab" * 40],
        ),
        (
            "Name: ______ Date: ____/____/____, (___) ___-____ Total: ..... of __init__.",
            ["______", "____/____/____", "(___) ___-____", ".....", "__init__"],
        ),
        ("At 3 p.m. or 10:30, e.g. at the end.Then, a.k.a. this", []),
        (
            r"Open C:\Program Files\Acme\bin (or D:\a.txt), \\server\share\x and C:\\b\\c. Not a\b, x\\y, C: or I: no.",
            ["C:\\Program Files\\Acme\\bin", "D:\\a.txt", r"\\server\share\x", r"C:\\b\\c"],
        ),
        ("1.2.3 Scope: 10.8.5, v4.1 (v2) or 1.2.3-beta.1, not 3.5.", ["10.8.5", "v4.1", "v2", "1.2.3-beta.1"]),
    ],
)
def test_literals(text: str, literals: list[str]) -> None:
    assert [match[0] for match in LITERAL.finditer(text)] == literals


@pytest.mark.parametrize("unit", ["aB", "a.", "a:", "a::b", "1.", "v1.", "a.b", "aBc.", "C:\\", "C:\\a a "])
def test_long_runs_take_linear_time(unit: str) -> None:
    assert len(list(LITERAL.finditer(unit * 50_000))) <= (1 if "\\" not in unit else 50_000)


def test_placeholders_of_prose_are_literals() -> None:
    text = "Set {name} to foo_bar with --long-option, %s, :smile: and {{ title }}."
    found = {match[0] for match in re.finditer(PLACEHOLDER, text)}
    assert found == {match[0] for match in LITERAL.finditer(text)}


def test_formats_restrict_the_characters_of_addresses() -> None:
    pattern = re.compile(web_address(stop="|", trailing="*"))
    assert pattern.findall("see https://x.org/a|b and **https://x.org/c**") == ["https://x.org/a", "https://x.org/c"]


@pytest.mark.parametrize(
    "text",
    [
        "https://x.org",
        "<ann@x.org>",
        "docs/results.md",
        "max_positions",
        " www.x.org ",
        "new Request(input[, options])",
        "fetch(url)",
    ],
)
def test_texts_that_are_only_a_literal(text: str) -> None:
    assert is_only_literal(text)


@pytest.mark.parametrize("text", ["Hello", "see https://x.org", "results of the day", "3.5", "file(s)", "one (or two)"])
def test_texts_that_are_more_than_a_literal(text: str) -> None:
    assert not is_only_literal(text)
