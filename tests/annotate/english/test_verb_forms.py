"""The forms of English verbs."""

import pytest

from docgraph.annotate.english.verb_forms import verb_forms


@pytest.mark.parametrize(
    "forms",
    [
        "call calls called called calling",
        "stop stops stopped stopped stopping",
        "decide decides decided decided deciding",
        "try tries tried tried trying",
        "play plays played played playing",
        "die dies died died dying",
        "agree agrees agreed agreed agreeing",
        "visit visits visited visited visiting",
        "refer refers referred referred referring",
        "fix fixes fixed fixed fixing",
        "watch watches watched watched watching",
        "go goes went gone going",
        "have has had had having",
        "put puts put put putting",
        "quit quits quit quit quitting",
        "write writes wrote written writing",
        "be is was been being",
    ],
)
def test_forms(forms: str) -> None:
    base, *_ = forms.split()
    assert [*vars(verb_forms(base)).values()] == forms.split()
