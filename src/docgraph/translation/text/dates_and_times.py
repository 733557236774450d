"""English times and dates, rewritten for the model, and in French where no model is needed.

The model knows 18:00 and 4 March 2025, but not 6 p.m. and Mar 4, 2025.
"""

from __future__ import annotations

import re

WIDE = "\u00a0"
_CLOCK = r"(?<!\d[:.])\b(?P<{0}hour>1[0-2]|0?[1-9])(?:[:.](?P<{0}minute>[0-5]\d))?"
_HALF = r"\s?(?P<{0}half>[ap])(?:\.\s?m\.|m\b)"
_TIME = re.compile((_CLOCK + _HALF).format(""), re.IGNORECASE)
_RANGE = re.compile(
    r"(?<![\d/.,-])"
    + f"{_CLOCK}(?:{_HALF})?".format("first_")
    + r"(?P<dash>\s?[-–—]\s?|\s(?:to|and)\s)"
    + (_CLOCK + _HALF).format(""),
    re.IGNORECASE,
)
_BEFORE_RANGE = re.compile(r"\b(at|from|between) $", re.IGNORECASE)
_HOURS = re.compile(
    r"(?:\b(?P<before>at|between) |(?<![\d:.,/-]))(?P<first>(?:[01]?\d|2[0-3]):[0-5][05])\s?[-–—]\s?"
    r"(?P<last>(?:[01]?\d|2[0-4]):[0-5][05])(?![:.,-]?\d)",
    re.IGNORECASE,
)
"""A range of hours such as 14:00–15:30, in steps of five minutes: 21:19–21:15 is a score."""
_TWICE_TWELVE = re.compile(r"\b12(?:[:.]00)? (?=(?:noon|midnight)\b)")
_WRITTEN_HOUR = re.compile(r"(?<![\d:.,])(\d{1,2}):([0-5]\d)(?![\d:])")

_FRENCH_DAYS = {
    "Monday": "lundi", "Tuesday": "mardi", "Wednesday": "mercredi", "Thursday": "jeudi", "Friday": "vendredi",
    "Saturday": "samedi", "Sunday": "dimanche",
}  # fmt: skip
FRENCH_MONTHS = {
    "January": "janvier", "February": "février", "March": "mars", "April": "avril", "May": "mai", "June": "juin",
    "July": "juillet", "August": "août", "September": "septembre", "October": "octobre", "November": "novembre",
    "December": "décembre",
}  # fmt: skip
_DAYS = {day[:3]: day for day in _FRENCH_DAYS} | {"Tues": "Tuesday"} | dict.fromkeys(("Thur", "Thurs"), "Thursday")
_MONTHS = {month[:3]: month for month in FRENCH_MONTHS} | {"Sept": "September"}
_FRENCH_SHORT = {
    "janvier": "janv.", "février": "févr.", "juillet": "juil.", "septembre": "sept.", "octobre": "oct.",
    "novembre": "nov.", "décembre": "déc.",
}  # fmt: skip
_DAY, _MONTH = "|".join(_DAYS), "|".join(_MONTHS)
_FULL_MONTH = "|".join(FRENCH_MONTHS)
_NUMBER = r"(?:3[01]|[12]\d|0?[1-9])"
_DATE = re.compile(
    rf"\b({_FULL_MONTH}|(?:{_MONTH})\b\.?) ({_NUMBER})(?:st|nd|rd|th)?(?:, (\d{{4}})\b|\b(?![-–/:.,]?\d))"
)
_DATE_RANGE = re.compile(
    rf"(?:^|\b([Oo]n|[Ff]rom) )({_FULL_MONTH}|(?:{_MONTH})\b\.?) ({_NUMBER})[-–]({_NUMBER})\b(?:,? (\d{{4}})\b)?"
    r"(?![-–/:.,]?\d)"
)
_BEFORE_MAY = {"on", "by", "until", "from", "since", "before", "after", "and", "or", "to", "of"}
"""Words before "May 6" that make it a date; elsewhere May may be the verb."""
_COUNT_AFTER_MONTH = re.compile(
    rf"\b[Ii]n (?:{_FULL_MONTH})(?= {_NUMBER} (?!(?:and|at|he|it|of|or|she|they|through|to|until|we|you)\b)[a-z])"
    rf"|\b(?:[Bb]y|[Ss]ince) (?:{_FULL_MONTH})"
    rf"(?= {_NUMBER} (?:people|persons|men|women|children|countries|members|states) ha[ds]\b)"
)
"""In March 20 people died: a number after the month that counts something."""
_SHORT_MONTH = re.compile(
    rf"\b(?:(?P<day>{_NUMBER}) (?P<before>{_MONTH})\b\.?"
    r"(?=,? \d{4}\b|[,;:)]|\s?[-–]|\s(?:at|to|and|or|from|until)\b|$)"
    rf"|(?P<month>{_MONTH})\b\.?(?= (?:1[5-9]|20)\d\d\b))"
)
"""A short month after its day or before a year: 4 Mar 2025, Mar 2025."""
_SHORT_DAY = re.compile(
    rf"(?<![Tt]he )\b({_DAY})\b\.?(?=,? (?:{_NUMBER}(?:st|nd|rd|th)? (?:{_FULL_MONTH}|{_MONTH})\b"
    rf"|(?:{_FULL_MONTH}|{_MONTH})\b\.? {_NUMBER}\b|(?:(?:at|from) )?(?:\d{{1,2}}:\d\d|noon|midnight)\b))"
    r"|\b(?:(?<=[Oo]n )|(?<=[Bb]y )|(?<=[Uu]ntil )|(?<=[Ee]very ))(Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat)\b"
    r"(?=[.,;:!?)]|$| (?:at|from|to|and|or|until|before|after|morning|afternoon|evening|night)\b)"
)
"""A short day before a date or a time, or after on, by, until or every; the Sun is a star."""
_DAY_RANGE = re.compile(rf"\b({_DAY})\b\.?\s?[-–]\s?({_DAY})\b")
_BEFORE_TIME = re.compile(r"[,:]? (?:from )?\d{1,2}:\d\d")
_FULL_DAY = "|".join(dict.fromkeys(_DAYS.values()))
_FULL_DAY_RANGE = re.compile(
    rf"\b(?P<first>{_FULL_DAY})(?:\s?[-–]\s?| to | through )(?P<last>{_FULL_DAY})\b"
    r"(?=[,;:.!?)]|$| \d| (?:and|at|from|until)\b)"
)
_BEFORE_FROM = re.compile(
    r"(?:\(|, |\b(?!(?:an?|between|each|every|for|from|of|on|our|that|the|this|your) )[a-z]+ )$", re.IGNORECASE
)
"""What precedes days of the week before which "from" may stand: We work (from) Monday to Friday."""
_DAY_LIST = re.compile(rf"\b(?:{_DAY})\b(?:(?:, | and |, and | & | or |/)(?:{_DAY})\b)+")
_CALENDAR_LINE = re.compile(rf"(?:(?:{_DAY})|(?:{_MONTH}))\.?(?:[ ,;/|–-]+(?:(?:{_DAY})|(?:{_MONTH}))\b\.?)*")
_CALENDAR_WORD = re.compile(rf"\b(?:{_DAY}|{_MONTH})\b\.?")
_AMBIGUOUS = {"Jan", "Sun", "May"}
"""A person, a star and a verb: alone in a cell, they are days or months beside others only."""
_MAIL = re.compile(
    rf"On (?:({'|'.join(_FRENCH_DAYS)}), )?({_NUMBER}) ({_FULL_MONTH}) (\d{{4}}),? "
    r"(?:at )?(\d{1,2}:\d\d|noon|midnight),? (\S.*?) wrote:"
)


def read_times(text: str) -> str:
    """Returns an English text with times in 24 hours: 18:00 for 6 p.m., 9:00 to 10:30 for 9:00–10:30."""
    text = _HOURS.sub(_range_of_hours, text)
    text = _TIME.sub(_to_24_hours, _RANGE.sub(_range_to_24_hours, text))
    return _TWICE_TWELVE.sub("", text)


def read_dates(text: str) -> str:
    """Returns an English text with days before months, and both in full: Wednesday, 15 January for Wed, Jan 15."""
    text = _COUNT_AFTER_MONTH.sub(r"\g<0>,", text)
    text = _FULL_DAY_RANGE.sub(_from_day, _DAY_RANGE.sub(_full_days, text))
    text = _DAY_LIST.sub(lambda days: _CALENDAR_WORD.sub(lambda day: _DAYS[day[0]], days[0]), text)
    text = _SHORT_DAY.sub(lambda day: _DAYS[day[0].rstrip(".")], text)
    text = _DATE.sub(_day_first, _DATE_RANGE.sub(_days_first, text))
    return _SHORT_MONTH.sub(_full_month, text)


def full_calendar_words(texts: list[str]) -> dict[int, str]:
    """Returns the full form of Jan and Sun, by index, for a document that has other days or months in its cells."""
    cells = {text.rstrip(".") for text in texts}
    found = dict[int, str]()
    for names in (_DAYS, _MONTHS):
        if (cells & names.keys()) - _AMBIGUOUS:
            found |= {index: names[text.rstrip(".")] for index, text in enumerate(texts) if text.rstrip(".") in names}
    return found


def french_times(source: str, text: str) -> str:
    """Returns a French translation with the times of its source that the model left as 13:30 as 13 h 30."""
    read, written = ({match[0] for match in _WRITTEN_HOUR.finditer(each)} for each in (read_times(source), source))
    times = read - written
    return _WRITTEN_HOUR.sub(lambda match: _french_time(match[0]) if match[0] in times else match[0], text)


def french_only_times(source: str) -> str:
    """Returns a time or a range of times in French, and any other text as it is."""
    if match := _RANGE.fullmatch(source):
        return f"{_french_time(_first_hour(match))}{match['dash']}{_french_time(_hour(match))}"
    match = _TIME.fullmatch(source)
    return source if match is None else _french_time(_hour(match))


def french_calendar_line(source: str, translation: str) -> str:
    """Returns a line of short days or months in French: Lun. for Mon; empty for any other line.

    A star or a person (Sun, Jan) is a day or a month if the model has translated its full form.
    """
    if _CALENDAR_LINE.fullmatch(source) is None or _DAY_RANGE.fullmatch(source):
        return ""
    words = [word.rstrip(".") for word in _CALENDAR_WORD.findall(source)]
    first = _french_word(words[0])
    if len(words) == 1 and words[0] in _AMBIGUOUS and translation.lower() not in (first, _full_french(words[0])):
        return ""
    line = _CALENDAR_WORD.sub(lambda word: _french_word(word[0].rstrip(".")), source)
    return line[0].upper() + line[1:]


def french_mail_header(source: str) -> str:
    """Returns the French form of On Tue, Mar 4, 2025 at 10:15 AM, Sarah Hill wrote: and nothing for another line."""
    match = _MAIL.fullmatch(read_dates(read_times(source)))
    if match is None:
        return ""
    day, number, month, year, time, writer = match.groups()
    number = "1er" if int(number) == 1 else str(int(number))
    date = " ".join([*([_FRENCH_DAYS[day]] if day else []), number, FRENCH_MONTHS[month], year])
    hour = {"noon": "midi", "midnight": "minuit"}.get(time) or _french_time(time)
    return f"Le {date} à {hour}, {writer} a écrit{WIDE}:"


def _hour(time: re.Match[str]) -> str:
    """Returns 18:30 for a time (half past six p.m.)."""
    return f"{int(time['hour']) % 12 + (12 if time['half'] in 'pP' else 0)}:{time['minute'] or '00'}"


def _first_hour(times: re.Match[str]) -> str:
    """Returns the first time of a range; in 9-11 a.m. it has the half of the second, in 9-5 p.m. the other."""
    half = times["first_half"]
    if half is None:
        is_later = int(times["first_hour"]) % 12 > int(times["hour"]) % 12
        half = ("a" if times["half"] in "pP" else "p") if is_later else times["half"]
    return f"{int(times['first_hour']) % 12 + (12 if half in 'pP' else 0)}:{times['first_minute'] or '00'}"


def _to_24_hours(time: re.Match[str]) -> str:
    hour = {"0:00": "midnight", "12:00": "noon"}.get(_hour(time)) or _hour(time)
    return hour + _full_stop(time)


def _range_to_24_hours(times: re.Match[str]) -> str:
    joint, before = times["dash"].strip(), _BEFORE_RANGE.search(times.string, 0, times.start())
    if joint == "and" and times["first_half"] is None and before is None:  # rooms 1 and 5 p.m.
        return times[0][: times.start("hour") - times.start()] + _hour(times) + _full_stop(times)
    first, last = _first_hour(times), _hour(times) + _full_stop(times)
    if joint in ("to", "and") or times[0] == times.string:
        return first + times["dash"] + last
    if before:
        return f"{first} {'and' if before[1].lower() == 'between' else 'to'} {last}"
    return f"{'from' if times.start() else 'From'} {first} to {last}"


def _range_of_hours(times: re.Match[str]) -> str:
    """Returns 9:00 to 10:30 for 9:00–10:30; the same text if it is nothing else, or if the first hour is later."""
    first, last = (tuple(map(int, times[name].split(":"))) for name in ("first", "last"))
    if first >= last or times[0] == times.string.strip():
        return times[0]
    words = {"": ("", "to"), "at": ("from ", "to"), "between": (f"{times['before']} ", "and")}
    before, joint = words[(times["before"] or "").lower()]
    return f"{before}{times['first']} {joint} {times['last']}"


def _full_stop(time: re.Match[str]) -> str:
    """Returns the full stop of a sentence that ends with p.m."""
    ends_sentence = time[0].endswith(".") and not time.string[time.end() :].strip("\"'”’ ")
    return "." if ends_sentence else ""


def _day_first(date: re.Match[str]) -> str:
    month, day, year = date.groups()
    before = date.string[: date.start()].split()[-1:]
    if month == "May" and not year and not _BEFORE_MAY & {word.lower() for word in before}:
        return date[0]
    month = month.rstrip(".")
    return " ".join([day, _MONTHS.get(month, month), *([year] if year else [])])


def _days_first(dates: re.Match[str]) -> str:
    """Returns from 21 to 23 January 2024 for on Jan 21-23, 2024."""
    before, month, first, last, year = dates.groups()
    if int(first) >= int(last):
        return dates[0]
    month = month.rstrip(".")
    start = "from" if (before or "F").islower() else "From"
    return " ".join([start, first, "to", last, _MONTHS.get(month, month), *([year] if year else [])])


def _full_days(days: re.Match[str]) -> str:
    """Returns Monday to Friday for Mon-Fri, and From Monday to Friday before a time at the start of a text."""
    start = "From " if not days.start() and _BEFORE_TIME.match(days.string, days.end()) else ""
    return f"{start}{_DAYS[days[1]]} to {_DAYS[days[2]]}"


def _from_day(days: re.Match[str]) -> str:
    """Returns from Monday to Friday for Monday-Friday inside a sentence: the model knows it better."""
    start = "from " if _BEFORE_FROM.search(days.string, max(0, days.start() - 20), days.start()) else ""
    return f"{start}{days['first']} to {days['last']}"


def _full_month(match: re.Match[str]) -> str:
    if match["month"]:
        return _MONTHS[match["month"]]
    full_stop = "." if match[0].endswith(".") and match.end() == len(match.string) else ""
    return f"{match['day']} {_MONTHS[match['before']]}{full_stop}"


def _french_time(time: str) -> str:
    """Returns 13 h 30 for 13:30, and 13 h for 13:00."""
    hour, minute = time.split(":")
    return f"{int(hour)}{WIDE}h" + (f"{WIDE}{minute}" if minute != "00" else "")


def _full_french(word: str) -> str:
    return _FRENCH_DAYS[_DAYS[word]] if word in _DAYS else FRENCH_MONTHS[_MONTHS[word]]


def _french_word(word: str) -> str:
    """Returns the short form of a day or a month: mar. for Tue, mars for Mar."""
    full = _full_french(word)
    return f"{full[:3]}." if word in _DAYS else _FRENCH_SHORT.get(full, full)
