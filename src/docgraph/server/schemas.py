"""Bodies of requests and answers, validated by pydantic and shown in the OpenAPI description."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from docgraph.server.database import State
from docgraph.server.storage import JobRecord
from docgraph.translation.terms.formality import FormalityOption


def _encodable(text: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError("contains an unpaired surrogate, which is not a character") from None
    return text


Text = Annotated[str, AfterValidator(_encodable)]
Name = Annotated[Text, Field(max_length=500)]
Index = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Body(BaseModel):
    """A request body; unknown fields are refused, because they are most often misspelt."""

    model_config = ConfigDict(extra="forbid")


class GlossaryEntry(Body):
    """A term and its translation."""

    source: Annotated[Text, Field(min_length=1, max_length=1000)]
    target: Annotated[Text, Field(max_length=1000, description="Empty for a term that stays as it is.")]


class TextBody(Body):
    """A text, or the sentences of a document."""

    text: Text | None = Field(None, description="A text, which is split into sentences.")
    sentences: list[Text] | None = Field(None, description="The sentences of one document, in order.")

    @model_validator(mode="after")
    def _one_of_both(self) -> TextBody:
        if (self.text is None) == (self.sentences is None):
            raise ValueError("pass either text or sentences")
        return self

    @property
    def characters(self) -> int:
        """Number of characters."""
        return len(self.text or "") + sum(map(len, self.sentences or []))


Formality = Annotated[
    FormalityOption | None,
    Field(
        description="How the translation addresses people: formal (vous), informal (tu), auto (the one of both that the"
        " document mostly has), or any (default: as the server says)."
    ),
]


class TranslateBody(TextBody):
    """A text or sentences to translate, with known translations."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "The harbour master asked for a new seawall. He was refused."},
                {"text": "The seawall is old.", "glossary": [{"source": "seawall", "target": "digue"}]},
                {
                    "sentences": ["The seawall is old.", "The seawall must go."],
                    "known": ["La digue est vieille.", None],
                },
            ]
        }
    )
    glossary: Annotated[list[GlossaryEntry], Field(max_length=1000)] | None = Field(
        None, description="Terms that are translated as given, inflected as needed."
    )
    known: list[Text | None] | None = Field(
        None, description="A known translation or null for each sentence. Known translations are kept and are context."
    )
    formality: Formality = None

    @model_validator(mode="after")
    def _known_of_sentences(self) -> TranslateBody:
        if self.known is not None and len(self.known) != len(self.sentences or []):
            raise ValueError("known needs one entry for each of the sentences")
        return self


class JobBody(TextBody):
    """A document to translate as a job."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "The seawall is old. It must go.", "name": "letter.txt"}]}
    )
    name: Name = Field("text.txt", description="The name of the document.")
    force: bool = Field(False, description="Translate it even if it is in another language than the model's.")
    formality: Formality = None


class SentenceTranslationAnswer(BaseModel):
    """A translated sentence."""

    source: str
    translation: str
    score: float | None
    doubtful: list[str]


class TranslateAnswer(BaseModel):
    """A translated text."""

    translation: str
    """The whole text; with `sentences`, one line for each."""
    sentences: list[SentenceTranslationAnswer]


class Job(BaseModel):
    """A document being translated, or translated and corrected."""

    id: str
    name: str
    format: str
    state: State
    error: str | None
    sentences: int
    translated: int
    revision: int
    can_undo: bool
    can_redo: bool
    created: datetime
    updated: datetime
    languages: list[str | None]

    @classmethod
    def of(cls, record: JobRecord, languages: tuple[str, str] | None) -> Job:
        """Returns a job as clients see it."""
        fields = asdict(record)
        times = {name: datetime.fromtimestamp(fields[name], UTC) for name in ("created", "updated")}
        return cls(**{**fields, **times, "languages": list(languages or (None, None))})


class Block(BaseModel):
    """The part of a document that a sentence belongs to."""

    kind: str
    index: int
    label: str | None


class Sentence(BaseModel):
    """A sentence of a job."""

    model_config = ConfigDict(extra="allow")
    index: int
    source: str
    translation: str | None
    state: Literal["waiting", "translated", "confirmed"]
    proposal: str | None
    doubtful: list[str]
    score: float | None
    block: Block
    revision: int


class CorrectionBody(Body):
    """A correction of a sentence."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"translation": "La digue est vieille.", "confirm": True, "revision": 3}]}
    )
    translation: Annotated[Text, Field(max_length=100_000)] | None = Field(
        None, description="The new translation (default: the one there is)."
    )
    confirm: bool = Field(True, description="Keep it, and use it as context for other sentences.")
    revision: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = Field(
        None, description="The revision of the sentence that was corrected; 409 if there is a later one."
    )


class ProposalsBody(Body):
    """Sentences whose proposals are accepted or refused."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"accept": [4, 7]}]})
    accept: Annotated[list[Index], Field(max_length=100_000)] | None = None
    refuse: Annotated[list[Index], Field(max_length=100_000)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> ProposalsBody:
        if (self.accept is None) == (self.refuse is None):
            raise ValueError("pass either accept or refuse")
        return self


class Change(BaseModel):
    """A translation that changed, or would change: a proposal."""

    index: int
    before: str | None
    after: str | None


class ChangesAnswer(BaseModel):
    """The changes that a request caused."""

    changes: list[Change]
    job: Job


class CorrectionAnswer(ChangesAnswer):
    """A corrected sentence, and the proposals for others."""

    sentence: Sentence


class Error(BaseModel):
    """A code for programs and one sentence for people."""

    code: str
    message: str


class ErrorAnswer(BaseModel):
    """The body of an error."""

    error: Error


def error_answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Returns the OpenAPI description of error answers."""
    return {status: {"model": ErrorAnswer} for status in (401, 403, *statuses)}
