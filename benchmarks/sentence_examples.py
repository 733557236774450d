"""A small hand-made set for sentence splitting: paragraphs of novels, reports, letters and notes, sentence by sentence.

The texts were written for this purpose, apart from the quotations of *Pride and Prejudice* (1813).
"""

NOVELS = [
    ["“My dear Mr. Bennet,” said his lady to him one day, “have you heard that Netherfield Park is let at last?”"],
    [
        "“Oh!",
        "Single, my dear, to be sure!",
        "A single man of large fortune; four or five thousand a year.",
        "What a fine thing for our girls!”",
    ],
    ["“How so?", "How can it affect them?”"],
    [
        "“My dear Mr. Bennet,” replied his wife, “how can you be so tiresome!",
        "You must know that I am thinking of his marrying one of them.”",
    ],
    ["“Is that his design in settling here?”", "Mr. Bennet made no answer."],
    ["It was settled altogether--Mr. Bingley would dine with them on Tuesday.", "Nobody objected."],
    ['"Really?" Tom asked.', '"Of course!" she said.', '"I saw it.', 'It was red."'],
    ['"Stop!" cried the old man.', "Nobody stopped."],
    ['He said, "I shall go.', 'You stay here."', "Then he left the room."],
    ["‘Don’t go out.", "It’s far too late,’ said the aunt.", "‘Wait until the morning.’"],
    ['"One.', "Two.", 'Three."', '"Four!"'],
    ["She opened the door...", "The room was empty."],
    ["I knocked (nobody answered) and went in.", "(The door had never been locked.)", "It was cold."],
    ["“Why not?” he whispered, and looked at Dr. J. K. Marsh.", "“Why not, indeed?”"],
    ['"No," said I.', '"No.', "I will not.", 'Ask Mrs. Hale."'],
]
REPORTS = [
    ["1. Summary"],
    ["2.1. Results of the first year"],
    ["Ms. Marsh joined the project on Jan. 3, 2021.", "It took approx. 5 months, i.e. less than planned."],
    ["The meeting is at 3 p.m.", "Then we travel to Leeds."],
    ["The train leaves at 5 p.m. on Monday.", "Be there at 4.30 p.m. at the latest."],
    ["Sales rose by 3.5% to $1.2 million (see Fig. 2 and pp. 3-5).", "Costs fell."],
    ["The firm moved to the U.S. in 2019.", "It is now run by Acme Inc. and others."],
    ["We tested cables, plugs, etc. and found no fault.", "Version 2.0 is out."],
    ["The limit (see section 4.2) applies.", "Contact Prof. Okafor, e.g. by mail."],
    ["No. 12 is closed.", "Is No. 14 open?", "No.", "It is not."],
    ['The board called the plan "sound."', "It was adopted in March."],
    ["What do we need?", "1. More time.", "2. More money."],
    ["The well is 12 m. deep at most, or 40 ft."],
    ["He was born in St. Louis and lives near Mt. Hood.", "His brother, John Jr., does not."],
]
NOTES = [
    ["Thanks for the quick answer! :)", "See you on Friday."],
    ["Does it work?", "yes it does.", "I tried it twice."],
    ["Dear Dr. Okafor,"],
    ["Run it first.", "Then read https://example.org/a.b?c=d for more.", "Good luck!"],
    ["The claim is wrong.[1]", "Later work agrees.[2]"],
    ["Wait...", "What?!", "OK."],
    ["Open the file config.yaml.", "Set the value to 0.5.", "Save it."],
    ["Yahoo! is a company, isn't it?", "I think so."],
]
EXAMPLES = [*NOVELS, *REPORTS, *NOTES]
